//! Texts with placeholders: `Pod {{app.name}} mounts {{ app.spec.volumes[*].name }}`.
//!
//! A text is parsed once, and inserted values are never parsed: they come from untrusted manifests.

use kubewright_value::bounded::BoundedText;
use kubewright_value::{Budget, Exhausted, Text, Value};

use super::key::{ArrayAnchor, ElementFrame, FieldKey, KeyError, KeyStep, collect_anchors};

/// How many elements of a list, such as containers, a placeholder names.
const MAX_SHOWN_ELEMENTS: usize = 10;

/// A text with placeholders.
#[derive(Debug, Clone, Default)]
pub(crate) struct MessageTemplate {
    pieces: Vec<MessagePiece>,
}

#[derive(Debug, Clone)]
enum MessagePiece {
    Text(String),
    Place(Placeholder),
}

/// The value that a placeholder inserts.
#[derive(Debug, Clone)]
pub(crate) enum Placeholder {
    /// A path of the object that fills the role.
    Role(usize, FieldKey),
    /// `namespace/name` of the object that fills the role, its name alone where it is in no namespace.
    FullName(usize),
    /// How many objects fill the role.
    Count(usize),
    Score,
    /// A field of the pattern itself.
    Pattern(Text),
    /// A value that a single run does not have; always empty.
    Nothing,
}

/// A mistake in a placeholder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MessageTemplateError {
    /// `{{` without `}}`
    Open,
    Unknown(String),
    Path(KeyError),
}

/// The source of the values of placeholders.
pub(crate) trait PlaceholderValues {
    fn object(&self, role: usize) -> Option<&Value>;
    /// Returns which elements are meant in the object that fills the role.
    fn frames(
        &self,
        role: usize,
        anchors: &[ArrayAnchor],
        budget: &mut Budget,
    ) -> Result<Vec<ElementFrame>, Exhausted>;
    fn count(&self, role: usize) -> usize;
    fn score(&self) -> String;
    fn pattern(&self, field: &str) -> Text;
}

impl MessageTemplate {
    /// Reads `text`; `roles` are the ids that placeholders may name.
    pub(crate) fn parse(text: &str, roles: &[Text]) -> (Self, Vec<MessageTemplateError>) {
        let (mut pieces, mut errors) = (Vec::new(), Vec::new());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            pieces.push(MessagePiece::Text(before.to_owned()));
            let Some((inner, behind)) = after.split_once("}}") else {
                errors.push(MessageTemplateError::Open);
                rest = "";
                break;
            };
            match parse_placeholder(inner.trim(), roles) {
                Ok(place) => pieces.push(MessagePiece::Place(place)),
                Err(error) => errors.push(error),
            }
            rest = behind;
        }
        pieces.push(MessagePiece::Text(rest.to_owned()));
        (Self { pieces }, errors)
    }

    /// Returns whether a placeholder inserts the number of objects that fill `role`.
    pub(crate) fn counts(&self, role: usize) -> bool {
        self.pieces.iter().any(
            |piece| matches!(piece, MessagePiece::Place(Placeholder::Count(counted)) if *counted == role),
        )
    }

    /// Returns the paths of the object that fills `role` that placeholders insert.
    pub(crate) fn keys(&self, role: usize) -> impl Iterator<Item = &FieldKey> {
        self.pieces.iter().filter_map(move |piece| match piece {
            MessagePiece::Place(Placeholder::Role(named, key)) if *named == role => Some(key),
            _ => None,
        })
    }

    /// Returns the roles that placeholders name.
    pub(crate) fn roles(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            MessagePiece::Place(
                Placeholder::Role(role, _) | Placeholder::FullName(role) | Placeholder::Count(role),
            ) => Some(*role),
            _ => None,
        })
    }

    /// Returns the text, and the placeholders that have no value.
    pub(crate) fn render(
        &self,
        values: &dyn PlaceholderValues,
        budget: &mut Budget,
    ) -> Result<(String, Vec<String>), Exhausted> {
        let (mut text, mut empty) = (String::new(), Vec::new());
        for piece in &self.pieces {
            let before = text.len();
            match piece {
                MessagePiece::Text(literal) => text.push_str(literal),
                MessagePiece::Place(Placeholder::Count(role)) => {
                    text.push_str(&values.count(*role).to_string());
                }
                MessagePiece::Place(Placeholder::Score) => text.push_str(&values.score()),
                MessagePiece::Place(Placeholder::Pattern(field)) => text.push_str(&values.pattern(field)),
                MessagePiece::Place(Placeholder::Nothing) => {}
                MessagePiece::Place(Placeholder::FullName(role)) => match values.object(*role) {
                    Some(object) => text.push_str(&full_name(object)),
                    None => empty.push(FULL_NAME_FIELD.to_owned()),
                },
                MessagePiece::Place(Placeholder::Role(role, key)) => {
                    let found = match values.object(*role) {
                        Some(object) => values_at_key(key, values, (*role, object), budget)?,
                        None => Vec::new(),
                    };
                    // A cluster-scoped object has no namespace, which is not a mistake.
                    let is_namespace = *key.text == *"metadata.namespace";
                    if found.is_empty() && !(is_namespace && values.object(*role).is_some()) {
                        empty.push(key.text.to_string());
                    }
                    let most = if has_elements(key) { MAX_SHOWN_ELEMENTS } else { usize::MAX };
                    text.push_str(&shown_values(&found, most, budget)?);
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
fn values_at_key<'v>(
    key: &FieldKey,
    values: &dyn PlaceholderValues,
    (role, object): (usize, &'v Value),
    budget: &mut Budget,
) -> Result<Vec<&'v Value>, Exhausted> {
    let mut anchors = Vec::new();
    collect_anchors(key, &mut anchors);
    if anchors.is_empty() {
        return key.values(object, &ElementFrame::default(), budget);
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

/// Returns whether a key means one element of a list after the other.
fn has_elements(key: &FieldKey) -> bool {
    let mut anchors = Vec::new();
    collect_anchors(key, &mut anchors);
    !anchors.is_empty()
}

/// Returns values as text: several joined by `, `, objects as JSON. Those after the first `most` are counted.
fn shown_values(values: &[&Value], most: usize, budget: &mut Budget) -> Result<String, Exhausted> {
    let mut out = BoundedText::new(budget);
    let mut between = "";
    for value in values.iter().take(most) {
        let items = match value.as_array() {
            Some(items) => items.iter().filter(|item| !item.is_null()).collect(),
            None => vec![*value],
        };
        for item in items {
            out.push_str(std::mem::replace(&mut between, ", "))?;
            match super::operator::scalar_text(item) {
                Some(text) => out.push_str(&text)?,
                None => out.push_json(item)?,
            }
        }
    }
    if values.len() > most {
        out.push_str(&format!(" and {} more", values.len() - most))?;
    }
    Ok(out.into_string())
}

fn parse_placeholder(text: &str, roles: &[Text]) -> Result<Placeholder, MessageTemplateError> {
    let unknown = || MessageTemplateError::Unknown(text.to_owned());
    let role = |id: &str| roles.iter().position(|role| *role == id);
    if let Some(id) = text.strip_prefix("count(").and_then(|rest| rest.strip_suffix(')')) {
        return role(id.trim()).map(Placeholder::Count).ok_or_else(unknown);
    }
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (id, path) = text.split_at(end);
    let Some(role) = role(id.trim()) else {
        let field = path.strip_prefix('.').unwrap_or_default();
        return match id {
            "score" if path.is_empty() => Ok(Placeholder::Score),
            "pattern" if PATTERN_FIELDS.contains(&field) => Ok(Placeholder::Pattern(field.into())),
            "smell" if matches!(field, "since" | "phase") => Ok(Placeholder::Nothing),
            _ => Err(unknown()),
        };
    };
    if path.is_empty() {
        return Err(unknown());
    }
    if path.strip_prefix('.') == Some(FULL_NAME_FIELD) {
        return Ok(Placeholder::FullName(role));
    }
    let mut key = FieldKey::parse(path).map_err(MessageTemplateError::Path)?;
    if let Some(KeyStep::Name(first)) = key.steps.first()
        && METADATA_SHORTHANDS.contains(&first.as_str())
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
    Ok(Placeholder::Role(role, key))
}

/// The field that is `namespace/name`.
const FULL_NAME_FIELD: &str = "fullName";

/// The fields of `metadata` that may follow an id directly.
const METADATA_SHORTHANDS: [&str; 5] = ["name", "namespace", "uid", "labels", "annotations"];

/// The fields that may follow `pattern`.
const PATTERN_FIELDS: [&str; 7] =
    ["name", "displayName", "severity", "category", "description", "docUrl", "patternType"];

#[cfg(test)]
mod tests;
