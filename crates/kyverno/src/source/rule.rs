//! Reads one rule: its match and its check.

use kubewright_engine::Diagnostic;
use kubewright_value::{Step, Text, Value};

use super::super::diagnostics as code;
use super::{
    FailureAction, Foreach, Match, Method, RuleSource, Validate, cel, context, filter, generate, images,
    manifests, mutate, owned_value, pod_security, policy,
};
use kubewright_cel_rules::source::read_named_expressions;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

pub(super) const RULE_FIELDS: &[&str] = &[
    "name",
    "match",
    "exclude",
    "validate",
    "context",
    "preconditions",
    "celPreconditions",
    "mutate",
    "generate",
    "verifyImages",
    "imageExtractors",
    "skipBackgroundRequests",
    "reportProperties",
    "cel",
    "podSecurity",
    "manifests",
];

const VALIDATE_FIELDS: &[&str] = &[
    "message",
    "pattern",
    "anyPattern",
    "deny",
    "foreach",
    "cel",
    "podSecurity",
    "manifests",
    "failureAction",
    "failureActionOverrides",
    "allowExistingViolations",
    "assert",
];

const IN_VALIDATE: &str = "it goes into `validate`";
const IN_RULE: &str = "it goes into the rule, beside `validate`";
const IN_SPEC: &str = "it goes into `spec`, beside `rules`";
const GENERATE: &str =
    "set `validate.cel.generate: true`; `kubewright generate vap` writes the policy offline";

/// Where fields belong that people write into a rule.
const NOT_IN_RULE: &[(&str, &str)] = &[
    ("message", IN_VALIDATE),
    ("pattern", IN_VALIDATE),
    ("anyPattern", IN_VALIDATE),
    ("deny", IN_VALIDATE),
    ("foreach", IN_VALIDATE),
    ("failureAction", IN_VALIDATE),
    ("failureActionOverrides", IN_VALIDATE),
    ("allowExistingViolations", IN_VALIDATE),
    ("validationFailureAction", "it goes into `spec`; for one rule, set `validate.failureAction`"),
    ("background", IN_SPEC),
    ("admission", IN_SPEC),
    ("failurePolicy", IN_SPEC),
    ("conditions", "they go into `validate.deny` or `preconditions`"),
    ("validatingadmissionpolicy", GENERATE),
    ("validatingAdmissionPolicy", GENERATE),
];

/// Where fields belong that people write into `validate`.
const NOT_IN_VALIDATE: &[(&str, &str)] = &[
    ("context", IN_RULE),
    ("preconditions", IN_RULE),
    ("celPreconditions", IN_RULE),
    ("match", IN_RULE),
    ("exclude", IN_RULE),
    ("conditions", "they go into `deny`"),
    ("expressions", "they go into `cel`"),
    ("list", "it goes into an entry of `foreach`"),
    ("elementScope", "it goes into an entry of `foreach`"),
    ("level", "it goes into `podSecurity`"),
    ("attestors", "they go into `manifests`"),
    ("validationFailureAction", "here it is called `failureAction`"),
    ("validatingadmissionpolicy", GENERATE),
    ("validatingAdmissionPolicy", GENERATE),
];

/// The readable parts of a rule.
pub(super) struct RuleDraft {
    pub(super) name: Option<Located<Text>>,
    pub(super) matching: Option<Match>,
    pub(super) exclude: Option<Match>,
    /// All of it; nothing when a part that it needs is missing.
    pub(super) rule: Option<RuleSource>,
}

/// Reads a rule; unreadable parts are reported and left out.
pub(super) fn read_rule<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> RuleDraft {
    reader.only_or(fields, RULE_FIELDS, NOT_IN_RULE);
    let name = reader.required_string(fields, "name");
    let matching = reader.required_object(fields, "match").map(|fields| filter::read_match(reader, &fields));
    let exclude = reader.object(fields, "exclude").map(|fields| filter::read_match(reader, &fields));
    let context = context::read_context(reader, fields);
    let preconditions = read_conditions(reader, fields, "preconditions");
    let cel_preconditions = read_named_expressions(reader, fields, "celPreconditions");
    let properties = reader.texts(fields, "reportProperties").unwrap_or_default();
    let report_properties = properties.into_iter().map(|(name, text)| (name, text.value)).collect();
    let skips_background_requests = reader.boolean(fields, "skipBackgroundRequests").unwrap_or(true);
    let validate = read_validate(reader, fields);
    let rule = match (&name, &matching, validate) {
        (Some(name), Some(matching), Some(validate)) => Some(RuleSource {
            name: name.clone(),
            path: fields.path.clone(),
            matching: matching.clone(),
            exclude: exclude.clone(),
            context,
            preconditions,
            cel_preconditions,
            report_properties,
            skips_background_requests,
            stops_autogen: stops_autogen(reader, fields),
            validate,
        }),
        _ => None,
    };
    RuleDraft { name, matching, exclude, rule }
}

/// Reads what the rule does.
fn read_validate<'d>(reader: &mut DocumentReader<'d>, rule: &DocumentFields<'d>) -> Option<Validate> {
    let types = ["validate", "mutate", "generate", "verifyImages"];
    let given: Vec<&'static str> = types.into_iter().filter(|key| is_filled(reader, rule, key)).collect();
    let beside = given_methods(reader, rule, &BESIDE);
    match given.as_slice() {
        [] | ["validate"] if !(given.is_empty() && beside.is_empty()) => checks(reader, rule, &beside),
        [] => {
            report_rule_type(reader, rule, "the rule does nothing".to_owned());
            None
        }
        ["generate"] => {
            let generate = generate::read_generate(reader, rule)?;
            Some(Validate::bare(rule.path.clone(), Method::Generate(Box::new(generate))))
        }
        ["mutate"] => {
            let mutate = mutate::read_mutate(reader, rule)?;
            Some(Validate::bare(rule.path.clone(), Method::Mutate(Box::new(mutate))))
        }
        ["verifyImages"] => {
            let images = images::read_images(reader, rule)?;
            let failure_action = images_action(&images);
            let validate = Validate::bare(rule.path.clone(), Method::Images(Box::new(images)));
            Some(Validate { failure_action, ..validate })
        }
        [_] => None,
        [first, second, ..] => {
            report_rule_type(reader, rule, format!("the rule has both `{first}` and `{second}`"));
            None
        }
    }
}

/// Returns the action of all entries: one that refuses makes the rule refuse.
fn images_action(images: &images::ImagesSource) -> Option<FailureAction> {
    let actions = || images.entries.iter().map(|entry| entry.failure_action);
    match actions().any(|action| action == Some(FailureAction::Enforce)) {
        true => Some(FailureAction::Enforce),
        false if actions().all(|action| action.is_some()) => actions().next().flatten(),
        false => None,
    }
}

fn report_rule_type(reader: &mut DocumentReader<'_>, rule: &DocumentFields<'_>, message: String) {
    let location = reader.place(&rule.path);
    reader.report(
        Diagnostic::new(&code::RULE_TYPE, message, location)
            .help("a rule has exactly one of `validate`, `mutate`, `generate`, `verifyImages`"),
    );
}

impl Validate {
    /// Returns the fields that only select the method of the check.
    fn bare(path: Vec<Step>, method: Method) -> Self {
        Self {
            path,
            message: None,
            failure_action: None,
            failure_action_overrides: Vec::new(),
            allows_existing_violations: true,
            method,
        }
    }
}

/// A way to check: its key.
type ValidateKey = &'static str;

const WAYS: [ValidateKey; 7] =
    ["pattern", "anyPattern", "deny", "foreach", "cel", "podSecurity", "manifests"];

/// The methods that may also be written beside `validate`, which then has only the message.
const BESIDE: [ValidateKey; 3] = ["cel", "podSecurity", "manifests"];

fn given_methods(
    reader: &DocumentReader<'_>,
    fields: &DocumentFields<'_>,
    ways: &[ValidateKey],
) -> Vec<ValidateKey> {
    ways.iter().copied().filter(|key| reader.any(fields, key).is_some()).collect()
}

/// Reads `validate`, with the methods written `beside` it.
fn checks<'d>(
    reader: &mut DocumentReader<'d>,
    rule: &DocumentFields<'d>,
    beside: &[ValidateKey],
) -> Option<Validate> {
    let Some(fields) = reader.object(rule, "validate") else {
        let way = only_one(reader, rule, beside)?;
        let method = read_method(reader, rule, way)?;
        return Some(Validate::bare(rule.path.clone(), method));
    };
    reader.only_or(&fields, VALIDATE_FIELDS, NOT_IN_VALIDATE);
    let inside = given_methods(reader, &fields, &WAYS);
    let all: Vec<ValidateKey> = inside.iter().chain(beside).copied().collect();
    let method = match all.as_slice() {
        [whole @ ("pattern" | "anyPattern" | "deny"), "foreach"] => both(reader, &fields, whole),
        all => only_one(reader, &fields, all)
            .and_then(|way| read_method(reader, if inside.is_empty() { rule } else { &fields }, way)),
    };
    let validate = Validate {
        message: reader.string(&fields, "message"),
        failure_action: policy::action(reader, &fields, "failureAction"),
        failure_action_overrides: policy::read_action_overrides(reader, &fields, "failureActionOverrides"),
        allows_existing_violations: reader.boolean(&fields, "allowExistingViolations").unwrap_or(true),
        path: fields.path.clone(),
        method: method?,
    };
    if let Some(ignored) = reader.any(&fields, "assert") {
        let location = reader.document.locate_key(&ignored.path);
        reader.report(Diagnostic::new(&code::IGNORED_FIELD, "`assert` has no effect", location));
    }
    Some(validate)
}

/// Reads `foreach` and the methods beside it, which Kyverno treats as a mistake.
fn both<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    whole: ValidateKey,
) -> Option<Method> {
    let location = reader.document.locate_key(&child_path(&fields.path, "foreach"));
    let message = format!("`foreach` beside `{whole}`: both must hold here, but Kyverno refuses the policy");
    let help = "for Kyverno too, make two rules of it";
    reader.report(Diagnostic::new(&code::CHECK_BESIDE_FOREACH, message, location).help(help));
    let (whole, loops) = (read_method(reader, fields, whole), read_method(reader, fields, "foreach"));
    Some(Method::Both(Box::new([whole?, loops?])))
}

fn only_one(
    reader: &mut DocumentReader<'_>,
    fields: &DocumentFields<'_>,
    ways: &[ValidateKey],
) -> Option<ValidateKey> {
    let message = match ways {
        [way] => return Some(*way),
        [] => "there is nothing to check".to_owned(),
        [first, second, ..] => format!("there are both `{first}` and `{second}`"),
    };
    let location = reader.document.locate_key(&fields.path);
    let known = WAYS.map(|key| format!("`{key}`")).join(", ");
    let help = format!("give exactly one of {known}; several checks are several rules");
    reader.report(Diagnostic::new(&code::METHOD, message, location).help(help));
    None
}

fn read_method<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: ValidateKey,
) -> Option<Method> {
    match key {
        "pattern" => reader.any(fields, key).map(owned_value).map(Method::Pattern),
        "anyPattern" => {
            let path = reader.array(fields, key)?.path;
            reader.any(fields, key).map(|found| Method::AnyPattern(Located { path, ..owned_value(found) }))
        }
        "deny" => {
            let deny = reader.object(fields, key)?;
            reader.only(&deny, &["conditions"]);
            Some(Method::Deny(read_conditions(reader, &deny, "conditions")))
        }
        "foreach" => {
            let items = reader.objects(fields, key)?;
            Some(Method::Foreach(items.iter().filter_map(|item| read_foreach(reader, item)).collect()))
        }
        "cel" => {
            reader.object(fields, key).map(|fields| Method::Cel(Box::new(cel::read_cel(reader, &fields))))
        }
        "podSecurity" => pod_security::read_pod_security(reader, fields, key).map(Method::PodSecurity),
        "manifests" => manifests::read_manifests(reader, fields, key)
            .map(|manifests| Method::Manifests(Box::new(manifests))),
        _ => None,
    }
}

/// Reads a loop, and the loops in it; how deep they are is bounded by the depth of the document.
fn read_foreach<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<Foreach> {
    let ways = WAYS.get(..4).unwrap_or_default();
    reader.only(
        item,
        &["list", "context", "preconditions", "elementScope", "pattern", "anyPattern", "deny", "foreach"],
    );
    let context = context::read_context(reader, item);
    let preconditions = read_conditions(reader, item, "preconditions");
    let element_scope = reader.boolean(item, "elementScope");
    let given = given_methods(reader, item, ways);
    let method = only_one(reader, item, &given).and_then(|way| read_method(reader, item, way));
    let list = reader.required_string(item, "list")?;
    Some(Foreach { path: item.path.clone(), list, element_scope, context, preconditions, method: method? })
}

/// Reads conditions as they are written; the older form is a list.
pub(super) fn read_conditions<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<Located<Value>> {
    let found = reader.any(fields, key)?;
    match found.value {
        Value::Object(_) | Value::Array(_) => Some(owned_value(found)),
        // The reader reports that an object is expected.
        _ => reader.object(fields, key).and(None),
    }
}

fn is_filled(reader: &DocumentReader<'_>, fields: &DocumentFields<'_>, key: &str) -> bool {
    reader.any(fields, key).is_some_and(|found| match found.value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    })
}

fn stops_autogen(reader: &DocumentReader<'_>, rule: &DocumentFields<'_>) -> Option<&'static str> {
    if is_filled(reader, rule, "generate") {
        return Some("generate");
    }
    has_json_patch(reader.any(rule, "mutate")?.value).then_some("mutate.patchesJson6902")
}

/// Returns whether a `mutate` has a JSON patch, itself or in a loop; as deep as the document is.
fn has_json_patch(mutate: &Value) -> bool {
    let loops = mutate.get("foreach").and_then(Value::as_array).unwrap_or_default();
    let patch = mutate.get("patchesJson6902").and_then(Value::as_str);
    patch.is_some_and(|text| !text.is_empty()) || loops.iter().any(has_json_patch)
}
