//! What an update of a policy must not change in its generate rules, and what it changes with consequences: what was made
//! is found by the name of its rule, and belongs to the triggers that the rule had.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Map, Step, Value};

use crate::diagnostics as code;

/// The fields of `generate` that say which object is made, and of which object it is a copy.
const TARGET_FIELDS: [&str; 7] = ["apiVersion", "kind", "name", "namespace", "uid", "clone", "cloneList"];

const STALE_TARGET_WORDS: &str =
    "no synchronization will be performed to the old target resource upon policy updates";

const IMMUTABLE_WORDS: &str = "changes of immutable fields of a rule spec in a generate rule is disallowed";

/// Returns what is wrong with replacing the policy `old` by `new`.
pub(super) fn update_problems(old: &Document, new: &Document) -> Vec<Diagnostic> {
    let (before, after) = (generate_rules(&old.value), generate_rules(&new.value));
    if before.is_empty() || after.is_empty() {
        return Vec::new();
    }
    let mut problems: Vec<Diagnostic> = Vec::new();
    if let Some(path) = changed_rule(&before, &after) {
        let message = "only `generate` and `context` may change in a rule that generates";
        let help = "add a rule under another name, or delete the policy and create it again";
        let location = new.locate_key(&path);
        problems.push(
            Diagnostic::new(&code::IMMUTABLE_RULE, message, location).help(help).upstream(IMMUTABLE_WORDS),
        );
    }
    for (place, rule) in &after {
        let is_other = |(_, other): &&(usize, &Value)| {
            other.str_at(&["name"]) == rule.str_at(&["name"]) && target_of(other) != target_of(rule)
        };
        if before.iter().any(|one| is_other(&one)) {
            let message = "the rule makes another object than before, and what it made before stays as it is";
            let location = new.locate_key(&[rule_path(*place), vec!["generate".into()]].concat());
            problems
                .push(Diagnostic::new(&code::STALE_TARGET, message, location).upstream(STALE_TARGET_WORDS));
        }
    }
    problems
}

/// Returns the path of a rule that was changed where it must not be, or of the list that lacks one.
fn changed_rule(before: &[(usize, &Value)], after: &[(usize, &Value)]) -> Option<Vec<Step>> {
    let is_true =
        |rule: &Value, key: &str| rule.at(&["generate", key]).and_then(Value::as_bool) == Some(true);
    // What is kept equal goes when its trigger no longer matches, so another match would delete.
    let keeps_match = before.iter().any(|(_, rule)| is_true(rule, "synchronize"));
    let fixed = |rules: &[(usize, &Value)]| -> Vec<Value> {
        rules.iter().map(|(_, rule)| fixed_part(rule, keeps_match)).collect()
    };
    let (old_parts, new_parts) = (fixed(before), fixed(after));
    let unknown = after.iter().zip(&new_parts).find(|(_, part)| !old_parts.contains(part));
    let is_missing = || old_parts.iter().any(|part| !new_parts.contains(part));
    match (before.len() <= after.len(), unknown) {
        (true, _) if !is_missing() => None,
        (false, None) => None,
        (_, Some(((place, _), _))) => Some(rule_path(*place)),
        (_, None) => Some(vec!["spec".into(), "rules".into()]),
    }
}

fn rule_path(place: usize) -> Vec<Step> {
    vec!["spec".into(), "rules".into(), Step::Index(place)]
}

/// Returns the rules that generate, each with its place.
fn generate_rules(policy: &Value) -> Vec<(usize, &Value)> {
    let rules = policy.at(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| rule.get("generate").is_some_and(|it| !it.is_null()))
        .collect()
}

/// Returns the part of a rule that an update must not change.
fn fixed_part(rule: &Value, keeps_match: bool) -> Value {
    let is_free = |key: &str| matches!(key, "generate" | "context") || (key == "match" && !keeps_match);
    let is_default = |key: &str, value: &Value| match key {
        "skipBackgroundRequests" => value.as_bool() == Some(true),
        _ => value.is_null(),
    };
    let fields = rule.as_object().into_iter().flat_map(Map::iter);
    fields
        .filter(|(key, value)| !is_free(key) && !is_default(key, value))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect::<Map>()
        .into()
}

/// Returns which object a rule makes.
fn target_of(rule: &Value) -> Vec<Option<&Value>> {
    TARGET_FIELDS.iter().map(|key| rule.at(&["generate", key])).collect()
}
