//! Cleanup policies: each becomes a DeletingPolicy, or a NamespacedDeletingPolicy.
//!
//! There is no request: what a condition says about one, it says about the stored object here.

use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_jmespath::JmesPathFunctions;
use kubewright_k8s::Operation;
use kubewright_kyverno::source::CleanupSource;
use kubewright_value::{Document, Map, Text, Value, json};

use super::constraints::put_optional;
use super::expressions::translate_cleanup_conditions;
use super::matching::{self, MatchSource};
use super::policy::{make_names_unique, named_value};
use super::resources::{self, KindLookup};
use super::vpol::{POLICIES_API_VERSION, successor_metadata};
use super::{
    Conversion, ConversionNote, ConversionRefusal, ConversionResult, ConvertedPolicy, SuccessorKind,
    UnconvertedRule, refuse_conversion,
};

/// What conditions of a match say about a request, and what that is of a stored object.
const OBJECT_FIELDS: [(&str, &str); 4] = [
    ("(has(request.name) ? request.name : object.metadata.generateName)", "object.metadata.name"),
    ("has(request.namespace)", "has(object.metadata.namespace)"),
    ("request.namespace", "object.metadata.namespace"),
    ("request.kind.kind", "object.kind"),
];

/// Converts the cleanup policy in `document`; nothing when it holds something else.
pub(super) fn convert_cleanup_policy(
    document: &Document,
    functions: &JmesPathFunctions,
) -> Option<Conversion> {
    let policy = kubewright_kyverno::read_cleanup_policy(document)?;
    let name = document.value.str_at(&["metadata", "name"]);
    let namespace = policy.as_ref().ok().and_then(|policy| policy.namespace.clone());
    let mut conversion = Conversion {
        policy: namespace.map_or_else(|| name.into(), |namespace| format!("{namespace}/{name}").into()),
        rules: 1,
        written: Vec::new(),
        refused: Vec::new(),
        notes: Vec::new(),
    };
    let converted = match policy {
        Ok(policy) => deleting_policy(document, &policy, functions).map(|written| (written, policy)),
        Err(problem) => {
            let why = format!("the policy is not valid: {}", problem.message);
            conversion.refused.push(UnconvertedRule {
                rule: Text::default(),
                why,
                location: problem.location,
            });
            return Some(conversion);
        }
    };
    match converted {
        Ok((written, policy)) => {
            conversion.notes = guesses(document, &policy);
            conversion.written.push(ConvertedPolicy {
                rules: vec![Text::default()],
                documents: vec![written],
                covers_controllers: true,
            });
        }
        Err(ConversionRefusal { why, path }) => {
            let location = document.locate(&path);
            conversion.refused.push(UnconvertedRule { rule: Text::default(), why, location });
        }
    }
    Some(conversion)
}

fn deleting_policy(
    document: &Document,
    policy: &CleanupSource,
    functions: &JmesPathFunctions,
) -> ConversionResult<Value> {
    let spec_path = child_path(&[], "spec");
    let made = matching::write_constraints(&MatchSource {
        matching: &policy.matching,
        exclude: policy.exclude.as_ref(),
        operations: &[Operation::Create],
        has_parts_of_pods: false,
        path: &child_path(&spec_path, "match"),
    })?;
    let mut conditions = object_conditions(document, &made.conditions)?;
    if let Some(written) = &policy.conditions {
        let written = Located { value: about_object(&written.value), path: written.path.clone() };
        let kinds = matched_kinds(policy);
        let test = translate_cleanup_conditions(&written, &policy.context, (&kinds, functions))?;
        conditions.extend(test.map(|test| (Text::new_static("conditions"), test)));
    }
    make_names_unique(&mut conditions);
    let written = |key: &str| document.value.at(&["spec", key]).cloned();
    let mut spec = Map::new();
    for key in ["schedule", "deletionPropagationPolicy"] {
        put_optional(&mut spec, key, written(key));
    }
    spec.insert("matchConstraints".into(), any_operation(made.value()));
    if !conditions.is_empty() {
        spec.insert("conditions".into(), Value::array(conditions.iter().map(named_value).collect()));
    }
    let prefix = if policy.namespace.is_some() { "Namespaced" } else { "" };
    let kind = format!("{prefix}{}", SuccessorKind::DeletingPolicy.name());
    Ok(Map::from([
        ("apiVersion", Value::from(POLICIES_API_VERSION)),
        ("kind", kind.into()),
        ("metadata", successor_metadata(document, policy.namespace.as_ref(), &policy.name.value)),
        ("spec", spec.into()),
    ])
    .into())
}

/// Returns the conditions of a match about the stored object.
fn object_conditions(
    document: &Document,
    conditions: &[(Text, String)],
) -> ConversionResult<Vec<(Text, String)>> {
    let path = child_path(&child_path(&[], "spec"), "match");
    let is_quoted = |key: &str| {
        let part = document.value.at(&["spec", key]).map(json::to_string).unwrap_or_default();
        part.contains("request.")
    };
    if ["match", "exclude"].into_iter().any(is_quoted) {
        return refuse_conversion("a name that reads like a field of a request", &path);
    }
    let about_object =
        |text: &str| OBJECT_FIELDS.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    let mut made = Vec::with_capacity(conditions.len());
    for (name, test) in conditions {
        let test = about_object(test);
        if test.contains("request.") {
            return refuse_conversion(&format!("`{name}` is about a request, and there is none"), &path);
        }
        made.push((name.clone(), test));
    }
    Ok(made)
}

/// Returns `value` with the name that the object has in rules: `target` is that of cleanup policies.
fn about_object(value: &Value) -> Value {
    match value {
        Value::String(text) => renamed_target(text).into(),
        Value::Array(items) => Value::array(items.iter().map(about_object).collect()),
        Value::Object(map) => {
            map.iter().map(|(key, item)| (key.clone(), about_object(item))).collect::<Map>().into()
        }
        other => other.clone(),
    }
}

/// A variable whose path begins with `target`. What is called so elsewhere stays, and has no equivalent.
fn renamed_target(text: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, variable)) = rest.split_once("{{") {
        made.push_str(before);
        made.push_str("{{");
        let path = variable.trim_start();
        rest = match path.strip_prefix("target").filter(|after| after.starts_with(['.', '[', ' ', '}'])) {
            Some(after) => {
                made.push_str(" request.object");
                after
            }
            None => variable,
        };
    }
    made.push_str(rest);
    made
}

/// Operations mean nothing for objects that are stored already.
fn any_operation(mut constraints: Value) -> Value {
    let rules = constraints.as_object_mut().and_then(|map| map.get_mut("resourceRules")?.as_array_mut());
    for rule in rules.into_iter().flatten().filter_map(Value::as_object_mut) {
        rule.insert("operations".into(), vec!["*"].into());
    }
    constraints
}

fn matched_kinds(policy: &CleanupSource) -> Vec<&str> {
    let matching = &policy.matching;
    let filters = matching.any.iter().chain(&matching.all).chain(&matching.flat);
    filters.flat_map(|filter| &filter.kinds).map(|kind| kind.value.as_str()).collect()
}

/// Returns notes on names of resources that are guesses.
fn guesses(document: &Document, policy: &CleanupSource) -> Vec<ConversionNote> {
    let guessed = |kind: &str| match resources::find_resources(kind) {
        KindLookup::Guessed(resource) => Some(format!("`{}` of `{kind}`", resource.name)),
        _ => None,
    };
    let note = |about: String| ConversionNote {
        rule: Text::default(),
        what: "the API server may have another name for this resource than the one that is guessed here"
            .to_owned(),
        about,
        location: document.locate(&policy.name.path),
    };
    matched_kinds(policy).into_iter().filter_map(guessed).map(note).collect()
}
