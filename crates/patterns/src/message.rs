//! Texts with placeholders: `Pod {{app.name}} mounts {{ app.spec.volumes[*].name }}`.
//!
//! A text is read once, and what is put in is never read again: labels are written by anybody.

use kubewright_value::bounded::BoundedText;
use kubewright_value::{Budget, Exhausted, Text, Value};

use super::key::{Anchor, Frame, Key, KeyError, KeyStep, collect_anchors};

/// A text with placeholders.
#[derive(Debug, Clone, Default)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Place(Place),
}

/// What a placeholder stands for.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A path of the object that fills the role.
    Role(usize, Key),
    /// `namespace/name` of the object that fills the role, its name alone where it is in no namespace.
    FullName(usize),
    /// How many objects fill the role.
    Count(usize),
    Score,
    /// A field of the pattern itself.
    Pattern(Text),
    /// What only later runs know.
    Nothing,
}

/// What is wrong with a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TemplateError {
    /// `{{` without `}}`
    Open,
    Unknown(String),
    Path(KeyError),
}

/// What fills the placeholders.
pub(crate) trait Values {
    fn object(&self, role: usize) -> Option<&Value>;
    /// Returns which elements are meant in the object that fills the role.
    fn frames(&self, role: usize, anchors: &[Anchor], budget: &mut Budget) -> Result<Vec<Frame>, Exhausted>;
    fn count(&self, role: usize) -> usize;
    fn score(&self) -> String;
    fn pattern(&self, field: &str) -> Text;
}

impl Template {
    /// Reads `text`; `roles` are the ids that placeholders may name.
    pub(crate) fn parse(text: &str, roles: &[Text]) -> (Self, Vec<TemplateError>) {
        let (mut pieces, mut errors) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            pieces.push(Piece::Text(before.to_owned()));
            let Some((inner, behind)) = after.split_once("}}") else {
                errors.push(TemplateError::Open);
                rest = "";
                break;
            };
            match place(inner.trim(), roles) {
                Ok(place) => pieces.push(Piece::Place(place)),
                Err(error) => errors.push(error),
            }
            rest = behind;
        }
        pieces.push(Piece::Text(rest.to_owned()));
        (Self { pieces }, errors)
    }

    /// Returns whether a placeholder tells how many objects fill `role`.
    pub(crate) fn counts(&self, role: usize) -> bool {
        self.pieces
            .iter()
            .any(|piece| matches!(piece, Piece::Place(Place::Count(counted)) if *counted == role))
    }

    /// Returns the roles that placeholders name.
    pub(crate) fn roles(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Place(Place::Role(role, _) | Place::FullName(role) | Place::Count(role)) => Some(*role),
            _ => None,
        })
    }

    /// Returns the text, and the placeholders that have no value.
    pub(crate) fn render(
        &self,
        values: &dyn Values,
        budget: &mut Budget,
    ) -> Result<(String, Vec<String>), Exhausted> {
        let (mut text, mut empty) = (String::new(), Vec::new());
        for piece in &self.pieces {
            let before = text.len();
            match piece {
                Piece::Text(literal) => text.push_str(literal),
                Piece::Place(Place::Count(role)) => text.push_str(&values.count(*role).to_string()),
                Piece::Place(Place::Score) => text.push_str(&values.score()),
                Piece::Place(Place::Pattern(field)) => text.push_str(&values.pattern(field)),
                Piece::Place(Place::Nothing) => {}
                Piece::Place(Place::FullName(role)) => match values.object(*role) {
                    Some(object) => text.push_str(&full_name(object)),
                    None => empty.push(FULL_NAME.to_owned()),
                },
                Piece::Place(Place::Role(role, key)) => {
                    let found = match values.object(*role) {
                        Some(object) => at(key, values, (*role, object), budget)?,
                        None => Vec::new(),
                    };
                    // A cluster-scoped object has no namespace, and that is no mistake.
                    let is_namespace = *key.text == *"metadata.namespace";
                    if found.is_empty() && !(is_namespace && values.object(*role).is_some()) {
                        empty.push(key.text.to_string());
                    }
                    text.push_str(&shown(&found, budget)?);
                }
            }
            budget.produce(text.len() - before)?;
        }
        Ok((text, empty))
    }
}

fn full_name(object: &Value) -> String {
    let field = |name| object.str_at(&["metadata", name]);
    match field("namespace") {
        "" => field("name").to_owned(),
        namespace => format!("{namespace}/{}", field("name")),
    }
}

/// Returns the values at `key`; where elements are meant, those of each of them, none twice.
fn at<'v>(
    key: &Key,
    values: &dyn Values,
    (role, object): (usize, &'v Value),
    budget: &mut Budget,
) -> Result<Vec<&'v Value>, Exhausted> {
    let mut anchors = Vec::new();
    collect_anchors(key, &mut anchors);
    if anchors.is_empty() {
        return key.values(object, &Frame::default(), budget);
    }
    let mut found: Vec<&Value> = Vec::new();
    for frame in values.frames(role, &anchors, budget)? {
        for value in key.values(object, &frame, budget)? {
            budget.step(found.len() as u64)?;
            if !found.contains(&value) {
                found.push(value);
            }
        }
    }
    Ok(found)
}

/// Returns values as people read them: several joined by `, `, objects as JSON.
fn shown(values: &[&Value], budget: &mut Budget) -> Result<String, Exhausted> {
    let mut out = BoundedText::new(budget);
    let mut between = "";
    for value in values {
        let items = match value.as_array() {
            Some(items) => items.iter().filter(|item| !item.is_null()).collect(),
            None => vec![*value],
        };
        for item in items {
            out.push_str(std::mem::replace(&mut between, ", "))?;
            match super::operator::text_of(item) {
                Some(text) => out.push_str(&text)?,
                None => out.push_json(item)?,
            }
        }
    }
    Ok(out.into_string())
}

fn place(text: &str, roles: &[Text]) -> Result<Place, TemplateError> {
    let unknown = || TemplateError::Unknown(text.to_owned());
    let role = |id: &str| roles.iter().position(|role| *role == id);
    if let Some(id) = text.strip_prefix("count(").and_then(|rest| rest.strip_suffix(')')) {
        return role(id.trim()).map(Place::Count).ok_or_else(unknown);
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (id, path) = text.split_at(end);
    let Some(role) = role(id.trim()) else {
        let field = path.strip_prefix('.').unwrap_or_default();
        return match id {
            "score" if path.is_empty() => Ok(Place::Score),
            "pattern" if PATTERN_FIELDS.contains(&field) => Ok(Place::Pattern(field.into())),
            "smell" if matches!(field, "since" | "phase") => Ok(Place::Nothing),
            _ => Err(unknown()),
        };
    };
    if path.is_empty() {
        return Err(unknown());
    }
    if path.strip_prefix('.') == Some(FULL_NAME) {
        return Ok(Place::FullName(role));
    }
    let mut key = Key::parse(path).map_err(TemplateError::Path)?;
    if let Some(KeyStep::Name(first)) = key.steps.first()
        && SHORT.contains(&first.as_str())
    {
        let in_metadata = !matches!(first.as_str(), "kind" | "apiVersion");
        if in_metadata {
            key.steps.insert(0, KeyStep::Name("metadata".into()));
        }
    }
    if matches!(key.steps.as_slice(), [KeyStep::Name(a), KeyStep::Name(b)] if a == "metadata" && b == "namespace")
    {
        key.text = "metadata.namespace".into();
    } else {
        key.text = text.into();
    }
    Ok(Place::Role(role, key))
}

/// What `namespace/name` is called.
const FULL_NAME: &str = "fullName";

/// What may follow an id without `metadata`.
const SHORT: [&str; 5] = ["name", "namespace", "uid", "labels", "annotations"];

/// What may follow `pattern`.
const PATTERN_FIELDS: [&str; 7] =
    ["name", "displayName", "severity", "category", "description", "docUrl", "patternType"];

#[cfg(test)]
mod tests;
