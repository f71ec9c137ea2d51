//! Checks of a policy or binding whose fields are all readable: most of these mistakes are refused by the API server.

use kubewright_engine::Diagnostic;
use kubewright_k8s::{
    GroupVersionKind, Operation, group_of_resource, is_built_in_group, is_cluster_scoped, kind_of_resource,
};
use kubewright_value::{Document, Step, Text, Value};

use super::diagnostics as code;
use super::source::{CelPolicySource, ConstraintsSource, ResourceRule};
use kubewright_cel_rules::source::NamedExpression;
use kubewright_dialect_kit::selector::{LabelOperator, SelectorSource};

/// The reasons a validation may give.
const DENIAL_REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];

/// Reserved words of CEL, which cannot be names.
const RESERVED_CEL_WORDS: [&str; 18] = [
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let",
    "loop", "null", "package", "return", "true", "while",
];

/// Returns the diagnostics of `constraints`; `home` is the namespace of a namespaced policy.
pub(super) fn check_constraints(
    constraints: &ConstraintsSource,
    home: Option<&Text>,
    document: &Document,
) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let selectors = [&constraints.namespace_selector, &constraints.object_selector];
    found.extend(selectors.into_iter().flatten().filter_map(|one| check_selector(one, document)));
    for rule in constraints.rules.iter().chain(&constraints.exclude) {
        found.extend(check_wildcards(rule, document));
    }
    found.extend(constraints.rules.iter().flat_map(|rule| check_matches_nothing(rule, home, document)));
    found
}

/// Returns the diagnostics of the names and messages of `policy`, by the API server's rules.
pub(super) fn check_wording(policy: &CelPolicySource, document: &Document) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let name = |one: &NamedExpression, wanted: &str| {
        let message = format!("`{}` cannot be a name here", one.name.value);
        Diagnostic::new(&code::BAD_NAME, message, document.locate(&one.name.path)).help(wanted)
    };
    let variables = policy.variables.iter().filter(|one| !is_cel_identifier(&one.name.value));
    found.extend(variables.map(|one| name(one, "use letters, digits and `_`, and no word of CEL")));
    let others = policy.conditions.iter().chain(&policy.annotations);
    let others = others.filter(|one| !is_qualified_name(&one.name.value));
    found.extend(others.map(|one| name(one, "use letters, digits, `-`, `_` and `.`, at most 63")));
    for one in policy.validations.iter().filter_map(|one| one.message.as_ref()) {
        let text = one.value.trim();
        let message = match text {
            "" => "a blank message".to_owned(),
            _ if text.contains('\n') => "a message of several lines".to_owned(),
            _ => continue,
        };
        let help = "the API server refuses it: write one line";
        found.push(Diagnostic::new(&code::BAD_MESSAGE, message, document.locate(&one.path)).help(help));
    }
    found.extend(check_reasons(policy, document));
    let late = policy.conditions.iter().filter(|one| one.expression.value.contains("namespaceObject"));
    found.extend(late.map(|one| {
        let message = "`namespaceObject` is null in `matchConditions` of the API server".to_owned();
        let help = "use `namespaceSelector`, or test it in `validations`";
        Diagnostic::new(&code::NULL_NAMESPACE, message, document.locate(&one.expression.path)).help(help)
    }));
    found
}

fn check_reasons(policy: &CelPolicySource, document: &Document) -> Vec<Diagnostic> {
    let validations = document.value.at(&["spec", "validations"]).and_then(Value::as_array);
    let mut found = Vec::new();
    for (index, one) in validations.into_iter().flatten().enumerate() {
        let Some(reason) = one.get("reason").and_then(Value::as_str) else { continue };
        if reason.is_empty() || DENIAL_REASONS.contains(&reason) {
            continue;
        }
        let mut path = policy.path.clone();
        path.extend(["validations".into(), Step::Index(index), "reason".into()]);
        let message = format!("`{reason}` is not a valid `reason`");
        let help = format!("use one of {}", DENIAL_REASONS.map(|one| format!("`{one}`")).join(", "));
        found.push(Diagnostic::new(&code::BAD_MESSAGE, message, document.locate(&path)).help(help));
    }
    found
}

/// Returns the diagnostic of a policy that matches deletions, where `object` is null.
pub(super) fn check_deletions(policy: &CelPolicySource, document: &Document) -> Option<Diagnostic> {
    let rules = policy.constraints.iter().flat_map(|constraints| &constraints.rules);
    let rule = rules.into_iter().find(|rule| rule.operations.contains(Operation::Delete))?;
    let named = policy.conditions.iter().chain(&policy.variables).map(|one| &one.expression);
    let texts: Vec<&Text> =
        named.chain(policy.validations.iter().map(|one| &one.expression)).map(|one| &one.value).collect();
    let says = |words: &[&str]| texts.iter().any(|text| words.iter().any(|word| text.contains(word)));
    let knows = says(&["oldObject", "request.operation", "object == null", "object != null", "has(object"]);
    if !says(&["object."]) || knows {
        return None;
    }
    let mut path = rule.path.clone();
    path.push("operations".into());
    let message = "on a deletion `object` is null, and every expression that reads it fails".to_owned();
    let help = "leave out `DELETE`, or read `oldObject`";
    Some(Diagnostic::new(&code::NULL_OBJECT, message, document.locate_key(&path)).help(help))
}

/// Wildcards in labels are Kyverno's, and only in ClusterPolicies.
fn check_selector(selector: &SelectorSource, document: &Document) -> Option<Diagnostic> {
    let labels = selector.labels.iter().flat_map(|(key, value)| [(key, true), (value, false)]);
    let expressions = selector.expressions.iter().flat_map(|one| {
        std::iter::once((&one.key, true)).chain(one.values.iter().map(|value| (value, false)))
    });
    let is_bad = |(text, is_key): &(&Text, bool)| match is_key {
        true => !is_qualified_name(text),
        false => !text.is_empty() && !is_dns_label_text(text),
    };
    let message = match labels.chain(expressions).find(is_bad) {
        Some((text, true)) => format!("`{text}` cannot be the key of a label"),
        Some((text, false)) => format!("`{text}` cannot be the value of a label"),
        None => {
            let needs = LabelOperator::takes_values;
            let wrong =
                selector.expressions.iter().find(|one| needs(one.operator) == one.values.is_empty())?;
            match needs(wrong.operator) {
                true => format!("there are no `values` for the label `{}`", wrong.key),
                false => {
                    format!("there are `values` for the label `{}`, and the operator has none", wrong.key)
                }
            }
        }
    };
    let help = "the API server refuses the policy";
    Some(Diagnostic::new(&code::BAD_SELECTOR, message, document.locate_key(&selector.path)).help(help))
}

fn check_wildcards(rule: &ResourceRule, document: &Document) -> Vec<Diagnostic> {
    let resources: Vec<Text> = rule.resources.iter().map(|one| one.value.clone()).collect();
    let mut found = Vec::new();
    for (key, list) in
        [("apiGroups", &rule.groups), ("apiVersions", &rule.versions), ("resources", &resources)]
    {
        let has = |text: &str| list.iter().any(|one| one == text);
        let others = list.iter().filter(|one| match key {
            "resources" => *one != "*" && (has("*/*") || !one.contains('/')),
            _ => *one != "*",
        });
        let others = others.filter(|one| *one != "*/*").count();
        if others > 0 && (has("*") || has("*/*")) {
            let mut path = rule.path.clone();
            path.push(key.into());
            let message = format!("`*` in `{key}` already includes the other entries");
            let help = "remove the others; the API server refuses both together";
            let location = document.locate_key(&path);
            found.push(Diagnostic::new(&code::WILDCARD_AND_OTHERS, message, location).help(help));
        }
    }
    found
}

/// An unknown API group may have any resource.
fn check_matches_nothing(rule: &ResourceRule, home: Option<&Text>, document: &Document) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for resource in &rule.resources {
        let name = resource.value.split('/').next().unwrap_or_default();
        let Some(group) = group_of_resource(name) else { continue };
        let is_foreign = |one: &Text| is_built_in_group(one) && one != group;
        let is_cluster_wide = kind_of_resource(name).is_some_and(|kind| {
            is_cluster_scoped(&GroupVersionKind {
                group: group.into(),
                version: "v1".into(),
                kind: kind.into(),
            })
        });
        let (message, help) = if !rule.groups.is_empty() && rule.groups.iter().all(is_foreign) {
            (
                format!("there are no `{name}` in these `apiGroups`"),
                format!("they are in the group `{group}`"),
            )
        } else if home.is_some() && is_cluster_wide {
            let help = "use a ValidatingPolicy, which matches the whole cluster".to_owned();
            (format!("`{name}` have no namespace, but the policy matches only its own namespace"), help)
        } else if rule.is_namespaced == Some(is_cluster_wide) {
            let scope = if is_cluster_wide { "Cluster" } else { "Namespaced" };
            (format!("`scope` leaves out all `{name}`"), format!("write `scope: {scope}`, or leave it out"))
        } else {
            continue;
        };
        let location = document.locate(&resource.path);
        found.push(Diagnostic::new(&code::FITS_NOTHING, message, location).help(help));
    }
    found
}

fn is_cel_identifier(name: &str) -> bool {
    let is_start = |first: char| first.is_ascii_alphabetic() || first == '_';
    name.chars().next().is_some_and(is_start)
        && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
        && !RESERVED_CEL_WORDS.contains(&name)
}

/// Returns whether `name` is a name, behind a domain and a slash if there is one.
fn is_qualified_name(name: &str) -> bool {
    let is_domain = |domain: &str| {
        let is_allowed = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || ".-".contains(one);
        !domain.is_empty() && domain.len() <= 253 && domain.chars().all(is_allowed)
    };
    match name.split_once('/') {
        Some((domain, name)) => is_domain(domain) && is_dns_label_text(name),
        None => is_dns_label_text(name),
    }
}

fn is_dns_label_text(text: &str) -> bool {
    let is_end = |end: Option<char>| end.is_some_and(|one| one.is_ascii_alphanumeric());
    text.len() <= 63
        && is_end(text.chars().next())
        && is_end(text.chars().next_back())
        && text.chars().all(|one| one.is_ascii_alphanumeric() || "-_.".contains(one))
}
