//! Which fields of objects are read: a tree of paths, and objects cut down to them.
//!
//! A long-lived graph holds objects of which everything is left out that nothing reads. What is left must answer every
//! question as the whole object does, so elements of arrays keep their places and what is asked for by its presence alone
//! leaves something behind.

use kubewright_value::{Map, Text, Value};

/// Fields that are read, by their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldTree {
    /// How much of the value at this path is read.
    read: Option<FieldExtent>,
    names: Vec<(Text, FieldTree)>,
    each: Option<Box<FieldTree>>,
}

/// How much of a value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FieldExtent {
    /// Whether it is there, whether it is empty, and how many elements an array has.
    Presence,
    /// The value if it is a scalar, the scalars of an array, the keys of an object.
    Scalars,
    /// Which fields called `…Ref` and `…Refs` it has, at any depth, and what these name.
    References,
    /// Text, of which only the beginning says something if it is the name of the volume with the token of an account.
    VolumeName,
    /// Everything.
    Whole,
}

/// One step of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldStep<'p> {
    /// A field of an object.
    Name(&'p str),
    /// Every element of an array, or every value of an object.
    Each,
}

/// The beginning of the names of volumes that Kubernetes adds to Pods, each with an end of its own.
const TOKEN_VOLUME_PREFIX: &str = "kube-api-access-";

/// What a reference may say, see `derive/guessed.rs`.
const REFERENCE_FIELDS: [&str; 6] = ["kind", "name", "namespace", "group", "apiGroup", "apiVersion"];

impl FieldTree {
    /// Adds the value at the end of `steps`.
    pub fn add(&mut self, steps: &[FieldStep<'_>], read: FieldExtent) {
        let Some((first, rest)) = steps.split_first() else {
            self.read = Some(match self.read {
                // Each asks for something that the other does not.
                Some(known) if is_particular(known) && known != read => FieldExtent::Whole,
                Some(known) if is_particular(read) && known != read => FieldExtent::Whole,
                known => known.map_or(read, |known| known.max(read)),
            });
            return;
        };
        match first {
            FieldStep::Each => self.each.get_or_insert_default().add(rest, read),
            FieldStep::Name(name) => {
                let place = self.names.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                    self.names.push((Text::new(name), Self::default()));
                    self.names.len() - 1
                });
                self.names.get_mut(place).into_iter().for_each(|(_, tree)| tree.add(rest, read));
            }
        }
    }

    /// Adds the value at a path that is written as `spec.containers[*].image`; no name in it has a dot or a bracket.
    pub(crate) fn add_path(&mut self, prefix: &[&str], path: &str, read: FieldExtent) {
        let mut steps: Vec<FieldStep<'_>> = prefix.iter().map(|name| FieldStep::Name(name)).collect();
        for part in path.split('.').filter(|part| !part.is_empty()) {
            match part.strip_suffix("[*]") {
                Some(name) => steps.extend([FieldStep::Name(name), FieldStep::Each]),
                None => steps.push(FieldStep::Name(part)),
            }
        }
        self.add(&steps, read);
    }

    /// Adds everything that `other` reads.
    pub fn merge(&mut self, other: &Self) {
        if let Some(read) = other.read {
            self.add(&[], read);
        }
        for (name, tree) in &other.names {
            match self.names.iter_mut().find(|(known, _)| known == name) {
                Some((_, known)) => known.merge(tree),
                None => self.names.push((name.clone(), tree.clone())),
            }
        }
        if let Some(each) = &other.each {
            self.each.get_or_insert_default().merge(each);
        }
    }

    /// Returns whether the field `inner` of the object `outer` is read, by itself or as a part of what is around it.
    #[must_use]
    pub fn reads_field(&self, outer: &str, inner: &str) -> bool {
        let is_named = |tree: &Self| tree.names.iter().any(|(name, _)| name == inner);
        self.reads_around(outer) || self.names.iter().any(|(name, tree)| name == outer && is_named(tree))
    }

    /// Returns whether all fields of the object `outer` are read, or which it has.
    #[must_use]
    pub fn reads_around(&self, outer: &str) -> bool {
        let is_read = |tree: &Self| tree.read.is_some() || tree.each.is_some();
        self.each.is_some()
            // That there is an object says nothing about its fields.
            || self.read.is_some_and(|read| read != FieldExtent::Presence)
            || self.names.iter().any(|(name, tree)| name == outer && is_read(tree))
    }

    /// Returns `value` without what is not read; none where nothing of it is.
    #[must_use]
    pub fn kept(&self, value: &Value) -> Option<Value> {
        match (self.read, value) {
            (Some(FieldExtent::Whole), _) => Some(value.clone()),
            (Some(FieldExtent::VolumeName), Value::String(text)) => Some(volume_name(text).into()),
            (Some(FieldExtent::References), Value::Object(_) | Value::Array(_)) => {
                let mut kept = kept_references(value, &mut GuessLimits::default());
                if let (Some(kept), Some(more)) = (&mut kept, self.kept_inside(value)) {
                    merge_kept(kept, &more);
                }
                kept.or_else(|| self.kept_inside(value))
            }
            (_, Value::Object(_) | Value::Array(_)) => self.kept_inside(value),
            // The same for all that have it, so that what is around it can be shared.
            (Some(FieldExtent::Presence), Value::String(text)) if !text.is_empty() => {
                Some(Value::String(Text::new_static("…")))
            }
            (Some(FieldExtent::Presence), Value::Bool(_) | Value::Number(_)) => Some(Value::Bool(true)),
            (Some(_), _) => Some(value.clone()),
            (None, _) => None,
        }
    }

    /// Returns whether something that is read differs between the two.
    #[must_use]
    pub fn differs(&self, one: &Value, other: &Value) -> bool {
        !one.is_same(other) && self.kept(one) != self.kept(other)
    }

    /// Returns whether it is read what the value is like, whatever is read inside of it.
    fn reads_shape(&self) -> bool {
        matches!(self.read, Some(FieldExtent::Presence | FieldExtent::Scalars))
    }

    fn kept_inside(&self, value: &Value) -> Option<Value> {
        match value {
            Value::Array(items) => {
                let element = |item: &Value| {
                    let kept = self.each.as_ref().and_then(|each| each.kept(item));
                    kept.unwrap_or_else(|| self.place_of(item))
                };
                let is_read = self.each.is_some() || self.reads_shape();
                is_read.then(|| Value::array(items.iter().map(element).collect()))
            }
            Value::Object(map) => self.kept_fields(map),
            _ => None,
        }
    }

    fn kept_fields(&self, map: &Map) -> Option<Value> {
        let mut kept: Vec<(Text, Value)> = Vec::new();
        for (key, value) in map.iter() {
            let named = self.names.iter().find(|(name, _)| name == key).map(|(_, tree)| tree);
            let mut found = named.and_then(|tree| tree.kept(value));
            if let Some(each) = &self.each {
                let more = each.kept(value).unwrap_or_else(|| self.place_of(value));
                match &mut found {
                    Some(found) => merge_kept(found, &more),
                    None => found = Some(more),
                }
            }
            if self.read == Some(FieldExtent::Scalars) && found.is_none() {
                found = Some(self.place_of(value));
            }
            kept.extend(found.map(|found| (key.clone(), found)));
        }
        if kept.is_empty() && self.reads_shape() {
            kept.extend(map.iter().next().map(|(key, value)| (key.clone(), self.place_of(value))));
        }
        let is_kept = !kept.is_empty() || self.reads_shape();
        is_kept.then(|| Value::object(Map::of_entries(kept)))
    }

    /// Returns what stands for an element of which nothing is read: where scalars are read, the scalar.
    fn place_of(&self, value: &Value) -> Value {
        match value {
            Value::Null => Value::Null,
            Value::Object(_) => Value::object(Map::new()),
            Value::Array(_) => Value::array(Vec::new()),
            scalar if self.read == Some(FieldExtent::Scalars) => scalar.clone(),
            _ => Value::Bool(true),
        }
    }
}

/// Returns whether a read keeps something else than the ones that come before it.
fn is_particular(read: FieldExtent) -> bool {
    matches!(read, FieldExtent::References | FieldExtent::VolumeName)
}

/// Returns the name of a volume without the part that differs from Pod to Pod.
fn volume_name(name: &Text) -> Text {
    if name.starts_with(TOKEN_VOLUME_PREFIX) { Text::new_static(TOKEN_VOLUME_PREFIX) } else { name.clone() }
}

/// How far references are looked for.
struct GuessLimits {
    depth: usize,
    fields: usize,
}

impl Default for GuessLimits {
    fn default() -> Self {
        Self { depth: crate::derive::MAX_GUESS_DEPTH, fields: crate::derive::MAX_GUESSED_FIELDS }
    }
}

/// Returns the containers of `value` that lead to a field called `…Ref` or `…Refs`, looking as far as
/// `derive/guessed.rs` does.
fn kept_references(value: &Value, limits: &mut GuessLimits) -> Option<Value> {
    if limits.depth == 0 || limits.fields == 0 {
        return None;
    }
    limits.depth -= 1;
    let kept = match value {
        Value::Object(map) => {
            let inner = map.iter().filter(|(_, value)| is_container(value));
            let kept: Vec<(Text, Value)> = inner
                .filter_map(|(key, value)| {
                    limits.fields = limits.fields.saturating_sub(1);
                    let found = kept_references(value, limits);
                    let named = match (key.ends_with("Ref"), key.ends_with("Refs"), value) {
                        (true, _, Value::Object(_)) => Some(reference_fields(value)),
                        (_, true, Value::Array(items)) => {
                            Some(Value::array(items.iter().map(reference_fields).collect()))
                        }
                        _ => None,
                    };
                    let kept = match (named, found) {
                        (Some(mut named), Some(found)) => {
                            merge_kept(&mut named, &found);
                            Some(named)
                        }
                        (named, found) => named.or(found),
                    };
                    Some((key.clone(), kept?))
                })
                .collect();
            (!kept.is_empty()).then(|| Value::object(Map::of_entries(kept)))
        }
        Value::Array(items) => {
            let mut is_any = false;
            let mut element = |item: &Value| {
                if !is_container(item) {
                    return Value::Null;
                }
                limits.fields = limits.fields.saturating_sub(1);
                let kept = kept_references(item, limits);
                is_any |= kept.is_some();
                kept.unwrap_or_else(|| FieldTree::default().place_of(item))
            };
            let kept: Vec<Value> = items.iter().map(&mut element).collect();
            is_any.then(|| Value::array(kept))
        }
        _ => None,
    };
    limits.depth += 1;
    kept
}

/// Returns what a reference says, if `value` is one.
fn reference_fields(value: &Value) -> Value {
    let Value::Object(map) = value else { return Value::Null };
    let fields = map.iter().filter(|(key, _)| REFERENCE_FIELDS.contains(&key.as_str()));
    Value::object(fields.map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Adds what `more` has of the same value to `kept`.
fn merge_kept(kept: &mut Value, more: &Value) {
    match (&mut *kept, more) {
        (Value::Object(_), Value::Object(more)) => {
            let Some(map) = kept.as_object_mut() else { return };
            for (key, value) in more.iter() {
                match map.get_mut(key) {
                    Some(known) => merge_kept(known, value),
                    None => drop(map.insert(key.clone(), value.clone())),
                }
            }
        }
        (Value::Array(_), Value::Array(more)) => {
            let items = kept.as_array_mut().into_iter().flatten();
            items.zip(more.iter()).for_each(|(known, value)| merge_kept(known, value));
        }
        // What only holds the place of a value gives way to the value.
        (Value::Null | Value::Bool(true), value) => *kept = value.clone(),
        _ => {}
    }
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::Object(_) | Value::Array(_))
}
