//! References such as `$(../b)` and `<=$(/spec/b)`: a text of the same document, put in when it is read.

use kubewright_value::{Text, Value};

use super::place::TemplatePath;

/// A reference that leads nowhere.
#[derive(Debug, Clone)]
pub(super) struct BrokenReference {
    /// The reference, as it is written.
    pub(super) reference: String,
    /// Why.
    pub(super) reason: String,
    /// Where it starts in its text, in bytes.
    pub(super) at: usize,
}

/// Returns `text`, which is at `place` of `document`, with its references resolved.
pub(super) fn resolve_references(
    text: &str,
    document: &Value,
    place: &TemplatePath,
) -> Result<Text, BrokenReference> {
    if !text.contains("$(") {
        return Ok(text.into());
    }
    let mut out = String::new();
    let mut at = 0;
    while let Some((start, end)) = next_reference(text, at) {
        out.push_str(text.get(at..start).unwrap_or_default());
        if text.get(..start).is_some_and(|before| before.ends_with('\\')) {
            out.pop();
            out.push_str(text.get(start..end).unwrap_or_default());
        } else {
            let reference = text.get(start..end).unwrap_or_default();
            let broken = |reason| BrokenReference { reference: reference.to_owned(), reason, at: start };
            out.push_str(&find_reference(reference, document, place).map_err(broken)?);
        }
        at = end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Ok(out.into())
}

/// Returns where the next reference starts and ends: it has no space in it, and reaches as far as it can.
fn next_reference(text: &str, from: usize) -> Option<(usize, usize)> {
    let mut from = from;
    loop {
        let start = from + text.get(from..)?.find("$(")?;
        let inside = text.get(start + 2..)?;
        let word = inside.split(' ').next().unwrap_or_default();
        match word.rfind(')').filter(|end| *end > 0) {
            Some(end) => return Some((start, start + 2 + end + 1)),
            None => from = start + 2,
        }
    }
}

/// Longer ones first.
const OPERATORS: [&str; 5] = [">=", "<=", ">", "<", "!"];

fn find_reference(reference: &str, document: &Value, place: &TemplatePath) -> Result<String, String> {
    let path = reference.trim_matches(['$', '(', ')']);
    let operator = OPERATORS.into_iter().find(|operator| path.starts_with(operator)).unwrap_or_default();
    let path = path.get(operator.len()..).unwrap_or_default();
    if path.is_empty() {
        return Err(format!(
            "failed to resolve {reference} at path {}: expected path, found empty reference",
            place.text
        ));
    }
    let target = if path.starts_with('/') {
        clean_absolute_path(path)
    } else {
        clean_absolute_path(&format!("{}/{path}", place.text))
    };
    let found = leaf(document, &target);
    match (found, operator) {
        (None | Some(Value::Null), _) => {
            Err(format!("got nil resolved variable {reference} at path {}: <nil>", place.text))
        }
        (Some(Value::String(text)), operator) => Ok(format!("{operator}{text}")),
        (Some(_), "") => {
            Err(format!("NotResolvedReferenceErr,reference {reference} not resolved at path {}", place.text))
        }
        (Some(Value::Number(number)), operator) => Ok(format!("{operator}{number}")),
        (Some(value), operator) => Err(format!(
            "failed to resolve {reference} at path {}: incorrect expression: operator {operator} does not match with value {value}",
            place.text
        )),
    }
}

/// Returns the scalar at `path`, which names keys without their anchors.
fn leaf<'v>(document: &'v Value, path: &str) -> Option<&'v Value> {
    let found =
        path.split('/').filter(|part| !part.is_empty()).try_fold(document, |value, part| match value {
            Value::Object(map) => {
                map.iter().find(|(key, _)| without_anchor(key) == part).map(|(_, value)| value)
            }
            Value::Array(items) => part.parse().ok().and_then(|index: usize| items.get(index)),
            _ => None,
        })?;
    (!matches!(found, Value::Array(_) | Value::Object(_))).then_some(found)
}

/// Returns the key in `(key)`, `=(key)`, `^(key)` and the like.
fn without_anchor(key: &str) -> &str {
    let inner = key.trim().strip_suffix(')').and_then(|key| {
        let key = key.strip_prefix(['+', '<', '=', 'X', '^']).unwrap_or(key);
        key.strip_prefix('(')
    });
    inner.filter(|inner| !inner.is_empty()).unwrap_or(key)
}

/// Returns an absolute path without `.` and `..`.
fn clean_absolute_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use kubewright_value::json;

    use super::*;

    #[track_caller]
    fn resolves(text: &str, want: &str) {
        let document = json::parse(r#"{"spec":{"a":"","(b)":"x","n":5,"l":[{"c":"y"}],"m":{}}}"#);
        let place = TemplatePath::of(&["spec".into(), "a".into()], false);
        let found = resolve_references(text, &document.expect("JSON"), &place);
        let shown = found.map_or_else(|broken| format!("! {}", broken.reason), |text| text.to_string());
        assert_eq!(shown, want, "{text}");
    }

    #[test]
    fn references_are_replaced_by_the_text_they_lead_to() {
        resolves("$(../b)", "x");
        resolves("<=$(../b)", "<=x");
        resolves("$(<=../n)", "<=5");
        resolves("a $(./../l/0/c) z", "a y z");
        resolves("$(/spec/b)", "x");
        resolves(r"\$(../b) $ $( )", "$(../b) $ $( )");
    }

    #[test]
    fn references_that_lead_nowhere_say_so() {
        resolves("$(../z)", "! got nil resolved variable $(../z) at path /spec/a: <nil>");
        resolves("$(../m)", "! got nil resolved variable $(../m) at path /spec/a: <nil>");
        resolves("$(../n)", "! NotResolvedReferenceErr,reference $(../n) not resolved at path /spec/a");
        resolves("$(<)", "! failed to resolve $(<) at path /spec/a: expected path, found empty reference");
    }
}
