//! Rewrites expressions on Pods for the objects that make Pods, and for old objects.
//!
//! Works on the text, so that the author's formatting is kept.

use kubewright_value::Value;

use super::expressions::TARGET_OBJECT;
use kubewright_k8s::PodTemplatePath;

/// The variable that replaces [`TARGET_OBJECT`] in generated expressions.
const TARGET_VARIABLE: &str = "variables.target";

/// The part of an object that is in the template of its controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateReach {
    /// All of it: patterns move as a whole.
    Everything,
    /// The Pod template; name and namespace are the controller's.
    Description,
    /// Nothing: its author has kept the paths from being rewritten.
    Nothing,
}

/// The quotes with which authors exclude a path from rewriting.
const QUOTED_ROOTS: [&str; 3] = ["\"request\"", "\"object\"", "\"oldObject\""];

/// Returns how far the variables in `value` reach, which are in JMESPath; nothing where they do not agree.
pub(super) fn template_reach(value: &Value) -> Option<TemplateReach> {
    let mut found: Vec<bool> = Vec::new();
    find_quoted_paths(value, 0, &mut found);
    let has_quotes = found.contains(&true);
    match has_quotes && found.contains(&false) {
        true => None,
        false => Some(if has_quotes { TemplateReach::Nothing } else { TemplateReach::Description }),
    }
}

/// Finds out of each variable in `value` whether its path is quoted.
fn find_quoted_paths(value: &Value, depth: usize, found: &mut Vec<bool>) {
    const DEPTH: usize = 64;
    match value {
        Value::String(text) => {
            let variables = text.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
            let objects = variables.filter(|variable| variable.contains("bject"));
            found.extend(objects.map(|variable| QUOTED_ROOTS.iter().any(|quoted| variable.contains(quoted))));
        }
        Value::Array(items) if depth < DEPTH => {
            items.iter().for_each(|item| find_quoted_paths(item, depth + 1, found));
        }
        Value::Object(map) if depth < DEPTH => {
            map.values().for_each(|value| find_quoted_paths(value, depth + 1, found));
        }
        _ => {}
    }
}

/// The metadata that a template has.
const TEMPLATE_METADATA_KEYS: [&str; 2] = ["labels", "annotations"];

/// Returns `expression` for the object that makes the Pod; `None` where its paths cannot be determined.
pub(super) fn rebase_expression(
    expression: &str,
    to: PodTemplatePath,
    reach: TemplateReach,
) -> Option<String> {
    if reach == TemplateReach::Nothing || is_target(expression) {
        return Some(expression.to_owned());
    }
    let below: String = to.keys().iter().map(|key| format!(".{key}")).collect();
    let mut text = String::with_capacity(expression.len() + 32);
    let mut rest = 0;
    for (start, root) in find_object_names(expression) {
        let end = start + root.len();
        text.push_str(expression.get(rest..end)?);
        rest = end;
        let after = expression.get(end..)?;
        let is_moved = match (reach, next_access(after)) {
            (TemplateReach::Everything, _) => true,
            (_, AccessStep::Key("spec", _)) => true,
            (_, AccessStep::Key("metadata", after)) => match next_access(after) {
                AccessStep::Key(key, _) => TEMPLATE_METADATA_KEYS.contains(&key),
                AccessStep::End => true,
                AccessStep::Unknown => return None,
            },
            (_, AccessStep::Key(..)) => false,
            (_, AccessStep::End) if is_compared_with_null(after) => false,
            (_, AccessStep::End | AccessStep::Unknown) => return None,
        };
        if is_moved {
            text.push_str(&below);
        }
    }
    text.push_str(expression.get(rest..)?);
    Some(text)
}

/// Returns `expression` as a ValidatingPolicy rewrites it by itself for controllers.
pub(super) fn autogen_rewrite(expression: &str, to: PodTemplatePath) -> String {
    let below: String = to.keys().iter().map(|key| format!("{key}.")).collect();
    let mut text = expression.to_owned();
    for key in ["spec", "metadata"] {
        for root in ["object.", "oldObject."] {
            text = replace_root(&text, &format!("{root}{key}"), &format!("{root}{below}{key}"));
        }
    }
    text
}

/// Replaces `from`, except before `.namespace`.
fn replace_root(text: &str, from: &str, to: &str) -> String {
    let mut parts = text.split(from);
    let mut moved = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_kept =
            part.strip_prefix(".namespace").is_some_and(|rest| !rest.starts_with(is_identifier_character));
        moved.push_str(if is_kept { from } else { to });
        moved.push_str(part);
    }
    moved
}

/// Returns whether `expression` is the one that [`TARGET_VARIABLE`] replaces.
fn is_target(expression: &str) -> bool {
    TARGET_OBJECT.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) == Some(expression)
}

fn is_compared_with_null(after: &str) -> bool {
    let after = after.trim_start();
    let compared = after.strip_prefix("!=").or_else(|| after.strip_prefix("=="));
    compared.is_some_and(|value| value.trim_start().starts_with("null"))
}

/// The access that follows a name.
enum AccessStep<'t> {
    /// A key, and the text behind it.
    Key(&'t str, &'t str),
    /// Nothing of this value.
    End,
    /// A key that is only known later.
    Unknown,
}

fn next_access(text: &str) -> AccessStep<'_> {
    let name = text.strip_prefix(".?").or_else(|| text.strip_prefix('.'));
    if let Some(name) = name {
        let end = name.find(|c| !is_identifier_character(c)).unwrap_or(name.len());
        let (key, rest) = name.split_at(end);
        return if rest.starts_with('(') { AccessStep::End } else { AccessStep::Key(key, rest) };
    }
    let Some(inside) = text.strip_prefix('[') else { return AccessStep::End };
    let inside = inside.strip_prefix('?').unwrap_or(inside);
    let quote = inside.chars().next().filter(|c| ['"', '\''].contains(c));
    let found = quote.and_then(|quote| inside.get(1..)?.split_once(quote));
    match found {
        Some((key, rest)) => {
            rest.strip_prefix(']').map_or(AccessStep::Unknown, |rest| AccessStep::Key(key, rest))
        }
        None => AccessStep::Unknown,
    }
}

/// Returns the positions of the variables `object` and `oldObject`, outside of string literals.
fn find_object_names(expression: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut before = [' '; 2];
    let mut at = 0;
    while let Some(rest) = expression.get(at..).filter(|rest| !rest.is_empty()) {
        let character = rest.chars().next().unwrap_or_default();
        let length = match character {
            '"' | '\'' => literal_length(rest, character),
            '(' if rest.starts_with(TARGET_OBJECT) => {
                found.push((at, TARGET_OBJECT));
                TARGET_OBJECT.len()
            }
            'v' if starts_with_alias(rest) && !is_field_name(before) => {
                found.push((at, TARGET_VARIABLE));
                TARGET_VARIABLE.len()
            }
            c if is_identifier_character(c) => {
                let length = rest.find(|c| !is_identifier_character(c)).unwrap_or(rest.len());
                let word = rest.get(..length).unwrap_or_default();
                if ["object", "oldObject"].contains(&word) && !is_field_name(before) {
                    found.push((at, word));
                }
                length
            }
            c => c.len_utf8(),
        };
        if !character.is_whitespace() {
            before = [before[1], character];
        }
        at += length.max(1);
    }
    found
}

fn starts_with_alias(text: &str) -> bool {
    text.strip_prefix(TARGET_VARIABLE).is_some_and(|rest| !rest.starts_with(is_identifier_character))
}

/// Returns whether the two signs before a name make it the name of a field.
fn is_field_name(before: [char; 2]) -> bool {
    matches!(before, [_, '.'] | ['.', '?'])
}

/// Returns how long the text literal is that `text` begins with. Three quotes open one that may have quotes in it.
fn literal_length(text: &str, quote: char) -> usize {
    let triple: String = std::iter::repeat_n(quote, 3).collect();
    if let Some(inside) = text.strip_prefix(&triple) {
        return inside.find(&triple).map_or(text.len(), |end| end + 6);
    }
    let mut is_escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return place + 1,
            _ => {}
        }
    }
    text.len()
}

fn is_identifier_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, want: &str) {
        assert_eq!(
            rebase_expression(expression, PodTemplatePath::Template, TemplateReach::Description).as_deref(),
            Some(want),
            "{expression}"
        );
    }

    #[test]
    fn what_describes_the_pod_moves_into_the_template() {
        check("object.spec.containers.all(c, c.x)", "object.spec.template.spec.containers.all(c, c.x)");
        check("has(object.metadata.labels)", "has(object.spec.template.metadata.labels)");
        check("object.?spec.?a", "object.spec.template.?spec.?a");
    }

    #[test]
    fn what_is_judged_on_deletions_too_moves_as_well() {
        check("variables.target.spec.x", "variables.target.spec.template.spec.x");
        check(
            "has((object != null ? object : oldObject).spec.x)",
            "has((object != null ? object : oldObject).spec.template.spec.x)",
        );
        check("object != null ? object : oldObject", "object != null ? object : oldObject");
    }

    #[test]
    fn an_object_that_is_handed_on_as_a_whole_cannot_be_rewritten() {
        assert_eq!(
            rebase_expression("f(object)", PodTemplatePath::Template, TemplateReach::Description),
            None
        );
        check("object == null || object.spec.x", "object == null || object.spec.template.spec.x");
    }

    #[test]
    fn names_and_texts_stay() {
        check("object.metadata.name == 'object.spec'", "object.metadata.name == 'object.spec'");
        check("request.object.spec", "request.object.spec");
        check("object.kind == \"a\\\"object.spec\"", "object.kind == \"a\\\"object.spec\"");
    }

    #[test]
    fn a_ternary_has_names_of_its_own_behind_the_question_mark() {
        check(
            "true ? object.spec : oldObject.spec",
            "true ? object.spec.template.spec : oldObject.spec.template.spec",
        );
    }
}
