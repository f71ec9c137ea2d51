//! Paths into objects: `spec.containers[*].image`, `metadata.labels['app']`, `spec.containers[@].livenessProbe`.
//!
//! A path starts at the root, whether or not it begins with `$` or a dot. It gives a list of values: `[*]` goes
//! into every element, what is absent gives nothing, and null is absent. `[@]` is one element that all
//! paths with the same beginning share; an [`ElementFrame`] chooses it. A path may have several: an element, and an element
//! inside of it. `podTemplate` at the beginning is the Pod template of a workload, wherever its kind has it, or a Pod itself.

use std::sync::Arc;

use kubewright_k8s::PodTemplatePath;
use kubewright_value::{Budget, Exhausted, Text, Value};

/// How many steps a path may have.
const MAX_KEY_STEPS: usize = 64;

/// A path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldKey {
    pub(crate) text: Text,
    pub(crate) steps: Vec<KeyStep>,
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyStep {
    Name(Text),
    /// Counted from the end where negative.
    Index(i64),
    /// `[*]`
    Each,
    /// `[@]`
    Same,
    /// `podTemplate` at the beginning.
    PodTemplate,
}

/// Why a text is not a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyError {
    pub(crate) message: String,
    pub(crate) help: &'static str,
}

/// A path to an array of which one element is meant.
pub(crate) type ArrayAnchor = Arc<[KeyStep]>;

/// Which element each `[@]` means, by the path to its array.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ElementFrame(Vec<(ArrayAnchor, usize)>);

impl FieldKey {
    pub(crate) fn parse(text: &str) -> Result<Self, KeyError> {
        let steps = KeyParser { rest: text.trim() }.path()?;
        let last = steps.iter().rposition(|step| *step == KeyStep::Same);
        let fans_out = steps.iter().take(last.unwrap_or(0)).any(|step| *step == KeyStep::Each);
        if fans_out {
            return Err(KeyError {
                message: format!("`[@]` after `[*]` in `{text}`"),
                help: "`[@]` needs one array to choose from; write `[@]` instead of `[*]`",
            });
        }
        if steps.len() > MAX_KEY_STEPS {
            return Err(KeyError { message: format!("a path has at most {MAX_KEY_STEPS} steps"), help: "" });
        }
        Ok(Self { text: text.into(), steps })
    }

    /// Returns whether its values may be, or be parts of, or have in them the name or the uid of the object.
    pub(crate) fn reads_name(&self) -> bool {
        let steps = match self.steps.as_slice() {
            // A Pod is its own template.
            [KeyStep::PodTemplate, rest @ ..] => rest,
            steps => steps,
        };
        match steps {
            [KeyStep::Name(first), KeyStep::Name(second), ..] if first == "metadata" => {
                matches!(second.as_str(), "name" | "uid")
            }
            [KeyStep::Name(first), ..] => first == "metadata",
            _ => true,
        }
    }

    /// Returns whether a name in it has a slash, which most likely is the end of a key with dots.
    pub(crate) fn has_unquoted_slash(&self) -> bool {
        let named = |step: &KeyStep| match step {
            KeyStep::Name(name) if name.contains('/') => !self.text.contains(&format!("['{name}']")),
            _ => false,
        };
        self.steps.iter().any(named) && !self.text.contains('"')
    }

    /// Returns the path to the array of each `[@]`.
    fn anchors(&self) -> impl Iterator<Item = &[KeyStep]> {
        let same = self.steps.iter().enumerate().filter(|(_, step)| **step == KeyStep::Same);
        same.filter_map(|(at, _)| self.steps.get(..at))
    }

    /// Returns the same path without every `[*]`.
    pub(crate) fn without_each(&self) -> Self {
        let steps = self.steps.iter().filter(|step| **step != KeyStep::Each).cloned().collect();
        Self { text: self.text.clone(), steps }
    }

    /// Returns the path up to the elements of the last `[*]`, and from there on; none where there is none.
    pub(crate) fn split_each(&self) -> Option<(Self, Self)> {
        let at = self.steps.iter().rposition(|step| *step == KeyStep::Each)?;
        let part = |steps: Option<&[KeyStep]>| Self {
            text: self.text.clone(),
            steps: steps.unwrap_or_default().to_vec(),
        };
        Some((part(self.steps.get(..=at)), part(self.steps.get(at + 1..))))
    }

    /// Returns the values at the path.
    pub(crate) fn values<'v>(
        &self,
        object: &'v Value,
        frame: &ElementFrame,
        budget: &mut Budget,
    ) -> Result<Vec<&'v Value>, Exhausted> {
        walk_key(&self.steps, object, frame, budget)
    }
}

/// Returns the values that `steps` lead to.
fn walk_key<'v>(
    steps: &[KeyStep],
    object: &'v Value,
    frame: &ElementFrame,
    budget: &mut Budget,
) -> Result<Vec<&'v Value>, Exhausted> {
    // Up to the first `[*]` there is one value, which needs no list.
    let mut only = object;
    let mut at = 0;
    while let Some(step) = steps.get(at).filter(|step| **step != KeyStep::Each) {
        budget.step(1)?;
        match step_into(only, step, || frame.element(steps.get(..at).unwrap_or_default())) {
            Some(next) => only = next,
            None => return Ok(Vec::new()),
        }
        at += 1;
    }
    let mut current = vec![only];
    for step in steps.get(at..).unwrap_or_default() {
        budget.step(current.len() as u64 + 1)?;
        match step {
            KeyStep::Each => {
                let fan: Vec<&Value> = current.into_iter().flat_map(elements_of).collect();
                budget.step(fan.len() as u64)?;
                current = fan;
            }
            single => current.retain_mut(|value| match step_into(value, single, || None) {
                Some(next) => {
                    *value = next;
                    true
                }
                None => false,
            }),
        }
        if current.is_empty() {
            break;
        }
    }
    Ok(current)
}

impl ElementFrame {
    /// Returns every choice of one element for each of `anchors` in `object`.
    pub(crate) fn all(
        anchors: &[ArrayAnchor],
        object: &Value,
        budget: &mut Budget,
    ) -> Result<Vec<Self>, Exhausted> {
        let mut frames = vec![Self::default()];
        // An array inside of an element comes after that of the element.
        for anchor in anchors {
            let mut longer = Vec::with_capacity(frames.len());
            for frame in frames {
                let array = walk_key(anchor, object, &frame, budget)?;
                let length = array.first().and_then(|value| value.as_array()).map_or(0, <[Value]>::len);
                budget.step(length as u64)?;
                longer.extend((0..length).map(|at| {
                    let mut elements = Vec::with_capacity(anchors.len());
                    elements.extend(frame.0.iter().cloned());
                    elements.push((Arc::clone(anchor), at));
                    Self(elements)
                }));
            }
            frames = longer;
        }
        Ok(frames)
    }

    /// Returns whether no element is meant.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn element(&self, anchor: &[KeyStep]) -> Option<usize> {
        self.0.iter().find(|(path, _)| **path == *anchor).map(|(_, at)| *at)
    }
}

/// Adds the anchors of `key` to `anchors`, each once.
pub(crate) fn collect_anchors(key: &FieldKey, anchors: &mut Vec<ArrayAnchor>) {
    for anchor in key.anchors() {
        if !anchors.iter().any(|known| **known == *anchor) {
            anchors.push(anchor.into());
        }
    }
}

/// Returns the elements or values inside of `value`, without nulls.
fn elements_of(value: &Value) -> impl Iterator<Item = &Value> {
    let items = value.as_array().unwrap_or_default().iter();
    let fields = value.as_object().into_iter().flat_map(|map| map.values());
    items.chain(fields).filter(|value| !value.is_null())
}

fn step_into<'v>(value: &'v Value, step: &KeyStep, element: impl Fn() -> Option<usize>) -> Option<&'v Value> {
    let next = match step {
        KeyStep::Name(name) => value.get(name),
        KeyStep::Index(index) => {
            let items = value.as_array()?;
            let from_end = || items.len().checked_sub(usize::try_from(index.unsigned_abs()).ok()?);
            items.get(usize::try_from(*index).ok().or_else(from_end)?)
        }
        KeyStep::Same => value.as_array()?.get(element()?),
        KeyStep::PodTemplate => pod_template(value),
        KeyStep::Each => None,
    };
    next.filter(|value| !value.is_null())
}

/// Returns what an object makes Pods of: itself, if it is one.
fn pod_template(object: &Value) -> Option<&Value> {
    let kind = object.get("kind").and_then(Value::as_str)?;
    if let Some(path) = PodTemplatePath::of_kind(kind) {
        return path.template(object);
    }
    let template = PodTemplatePath::Template.template(object)?;
    let is_one = super::types::has_pods(kind) || template.at(&["spec", "containers"]).is_some();
    is_one.then_some(template)
}

struct KeyParser<'t> {
    rest: &'t str,
}

impl KeyParser<'_> {
    fn path(mut self) -> Result<Vec<KeyStep>, KeyError> {
        if let Some(rest) = self.rest.strip_prefix('$') {
            if !rest.starts_with(['.', '[']) {
                return Err(key_error("`$` is followed by neither `.` nor `[`", "write `$.metadata.name`"));
            }
            self.rest = rest;
        }
        if self.rest.starts_with("..") {
            return Err(deep_search_error());
        }
        self.rest = self.rest.strip_prefix('.').unwrap_or(self.rest);
        // In quotes it is a field of that name.
        let is_plain = !self.rest.starts_with('[');
        let mut steps = vec![self.first()?];
        if let Some(first) = steps.first_mut()
            && is_plain
            && matches!(first, KeyStep::Name(name) if name == "podTemplate")
        {
            *first = KeyStep::PodTemplate;
        }
        while !self.rest.is_empty() {
            steps.push(self.next()?);
        }
        Ok(steps)
    }

    fn first(&mut self) -> Result<KeyStep, KeyError> {
        if self.rest.starts_with('[') { self.bracket() } else { self.name() }
    }

    fn next(&mut self) -> Result<KeyStep, KeyError> {
        if self.rest.starts_with("..") {
            return Err(deep_search_error());
        }
        match self.rest.strip_prefix('.') {
            Some(rest) => {
                self.rest = rest;
                self.first()
            }
            None => self.bracket(),
        }
    }

    fn name(&mut self) -> Result<KeyStep, KeyError> {
        let end = self.rest.find(['.', '[']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            return Err(key_error("a name is missing in the path", "write `metadata.name`"));
        }
        if name.contains([']', '(', ')', '?', '\'', '"']) {
            return Err(key_error(
                &format!("unexpected character in `{name}`"),
                "put keys in quotes: `labels['a.b/c']`",
            ));
        }
        self.rest = rest;
        Ok(if name == "*" { KeyStep::Each } else { KeyStep::Name(name.into()) })
    }

    fn bracket(&mut self) -> Result<KeyStep, KeyError> {
        let inner = self.rest.strip_prefix('[').ok_or_else(|| {
            key_error(&format!("expected `.` or `[` before `{}`", self.rest), "write `labels['app'].x`")
        })?;
        for quote in ['\'', '"'] {
            let Some(quoted) = inner.strip_prefix(quote) else { continue };
            let closing = format!("{quote}]");
            let (name, rest) = quoted
                .split_once(closing.as_str())
                .ok_or_else(|| key_error("a quoted key does not end", ""))?;
            self.rest = rest;
            return Ok(KeyStep::Name(name.into()));
        }
        let (content, rest) = inner.split_once(']').ok_or_else(|| key_error("`[` without `]`", ""))?;
        self.rest = rest;
        let help = "use `[*]` for every element, `[@]` for one, `[0]` for the first, `['key']` for a key";
        match content.trim() {
            "*" => Ok(KeyStep::Each),
            "@" => Ok(KeyStep::Same),
            text if text.starts_with('?') || text.contains(':') => {
                Err(key_error(&format!("`[{text}]` is neither an element nor a key"), help))
            }
            text => match text.parse() {
                Ok(index) => Ok(KeyStep::Index(index)),
                Err(_) => Err(key_error(&format!("`[{text}]` is neither an element nor a key"), help)),
            },
        }
    }
}

fn deep_search_error() -> KeyError {
    key_error("`..` searches at any depth, which paths here do not", "write the whole path from the root")
}

fn key_error(message: &str, help: &'static str) -> KeyError {
    KeyError { message: message.to_owned(), help }
}

#[cfg(test)]
mod tests;
