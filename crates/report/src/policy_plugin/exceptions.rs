//! Exceptions that a person copies from the UI: exact for the object that was asked about, and for the Pods it makes.

use kubewright_golib::naming::{MAX_SUBDOMAIN_CHARS, hashed_name};
use kubewright_k8s::WorkloadKind;
use kubewright_value::{Map, Text, Value};

use super::request::{ExceptionRequest, RequestedPolicy};
use super::responses::find_policy;
use super::{PluginError, PluginPolicy, PluginPolicyKind};
use crate::render::yaml_text;
use crate::suppression::{IGNORE_REASON_ANNOTATION, IGNORED_PATTERNS_ANNOTATION};

/// The Kyverno that knows `kyverno.io/v2` PolicyExceptions.
const RULE_EXCEPTION_VERSION: &str = "1.13";
/// The Kyverno that knows `policies.kyverno.io/v1` PolicyExceptions.
const CEL_EXCEPTION_VERSION: &str = "1.17";

/// Returns the response to `POST /v1/policies/exception`: one YAML document for each way in which the policies allow
/// exceptions. `namespace` is the one from which exceptions are read; if it is empty, they are beside the object.
///
/// # Errors
/// When the request is not valid, names a policy that `policies` does not have, or one that has no exceptions.
pub fn policy_exceptions(
    policies: &[PluginPolicy],
    body: &[u8],
    namespace: &str,
) -> Result<Value, PluginError> {
    let request = ExceptionRequest::parse(body)?;
    let wanted = ExceptedPolicies::sort(policies, &request)?;
    let mut documents = Vec::new();
    let mut version = "";
    let namespace = if namespace.is_empty() { request.namespace.as_str() } else { namespace };
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    if !wanted.rules.is_empty() {
        version = RULE_EXCEPTION_VERSION;
        documents.push(yaml_text(&rule_exception(&request, &wanted.rules, namespace)));
    }
    if !wanted.cel.is_empty() {
        version = CEL_EXCEPTION_VERSION;
        documents.push(yaml_text(&cel_exception(&request, &wanted.cel, namespace)));
    }
    if !wanted.patterns.is_empty() {
        documents.push(ignored_patterns(&request, &wanted.patterns));
    }
    let resource = documents.join("---\n");
    Ok(Map::from([("minVersion", Value::from(version)), ("resource", resource.into())]).into())
}

/// The policies of a request, by the way in which they allow exceptions.
#[derive(Default)]
struct ExceptedPolicies<'r> {
    rules: Vec<(&'r PluginPolicy, &'r RequestedPolicy)>,
    cel: Vec<&'r PluginPolicy>,
    patterns: Vec<&'r PluginPolicy>,
}

impl<'r> ExceptedPolicies<'r> {
    fn sort(policies: &'r [PluginPolicy], request: &'r ExceptionRequest) -> Result<Self, PluginError> {
        let mut sorted = Self::default();
        for requested in &request.policies {
            let name = &requested.name;
            let Some(policy) = find_policy(policies, name) else {
                return Err(PluginError { status: 404, message: format!("there is no policy `{name}`") });
            };
            match policy.policy_kind {
                PluginPolicyKind::RulePolicy => sorted.rules.push((policy, requested)),
                PluginPolicyKind::ValidatingPolicy | PluginPolicyKind::NamespacedValidatingPolicy => {
                    sorted.cel.push(policy);
                }
                PluginPolicyKind::Pattern => sorted.patterns.push(policy),
                PluginPolicyKind::Other => {
                    let message = format!(
                        "{} `{name}` has no exceptions: change what the policy is about",
                        policy.kind
                    );
                    return Err(PluginError::bad_request(message));
                }
            }
        }
        Ok(sorted)
    }
}

/// Returns the kinds of objects that one of `kind` makes; their names begin with its own.
fn made_kinds(kind: &str) -> &'static [&'static str] {
    WorkloadKind::named(kind).map_or(&[], WorkloadKind::made_kinds)
}

fn rule_exception(
    request: &ExceptionRequest,
    policies: &[(&PluginPolicy, &RequestedPolicy)],
    namespace: &str,
) -> Value {
    let exceptions = policies.iter().map(|(policy, requested)| {
        Map::from([
            ("policyName", Value::from(policy.key())),
            ("ruleNames", excepted_rules(request, policy, requested)),
        ])
    });
    let exceptions: Vec<Map> = exceptions.collect();
    let mut any = vec![resource_filter(request, &[&request.kind], request.name.to_string())];
    let made = made_kinds(&request.kind);
    if !made.is_empty() {
        any.push(resource_filter(request, made, format!("{}-*", request.name)));
    }
    let spec = Map::from([
        ("exceptions", Value::from(exceptions)),
        ("match", Map::from([("any", Value::from(any))]).into()),
    ]);
    exception_object("kyverno.io/v2", request, namespace, spec)
}

/// Returns the rules by all names that they have for the object and the Pods it makes.
fn excepted_rules(request: &ExceptionRequest, policy: &PluginPolicy, requested: &RequestedPolicy) -> Value {
    let given: Vec<&str> = match requested.rules.is_empty() {
        true => policy.rules.iter().map(|(name, _)| name.as_str()).collect(),
        false => requested.rules.iter().map(Text::as_str).collect(),
    };
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: String| {
        if !names.contains(&name) {
            names.push(name);
        }
    };
    for name in given {
        let base = name.strip_prefix("autogen-cronjob-").or_else(|| name.strip_prefix("autogen-"));
        let base = base.unwrap_or(name);
        add(base.to_owned());
        if !made_kinds(&request.kind).is_empty() {
            add(format!("autogen-{base}"));
        }
        if WorkloadKind::named(&request.kind) == Some(WorkloadKind::CronJob) {
            add(format!("autogen-cronjob-{base}"));
        }
    }
    Value::array(names.into_iter().map(Value::from).collect())
}

fn resource_filter(request: &ExceptionRequest, kinds: &[&str], name: String) -> Map {
    let kinds: Vec<Value> = kinds.iter().map(|kind| Value::from(*kind)).collect();
    let mut resources =
        Map::from([("kinds", Value::array(kinds)), ("names", Value::array(vec![name.into()]))]);
    if !request.namespace.is_empty() {
        resources.insert("namespaces".into(), Value::array(vec![request.namespace.clone().into()]));
    }
    Map::from([("resources", Value::from(resources))])
}

fn cel_exception(request: &ExceptionRequest, policies: &[&PluginPolicy], namespace: &str) -> Value {
    let reference = |policy: &&PluginPolicy| {
        Map::from([("name", Value::from(policy.name.clone())), ("kind", policy.kind.clone().into())])
    };
    let references: Vec<Map> = policies.iter().map(reference).collect();
    let condition =
        Map::from([("name", Value::from("is-excepted")), ("expression", object_expression(request).into())]);
    let spec =
        Map::from([("policyRefs", Value::from(references)), ("matchConditions", vec![condition].into())]);
    // An exception from a policy of a namespace is in that namespace.
    let home = policies.iter().find(|policy| !policy.namespace.is_empty());
    let namespace = home.map_or(namespace, |policy| policy.namespace.as_str());
    exception_object("policies.kyverno.io/v1", request, namespace, spec)
}

/// Returns whether an object is the excepted one or made by it, in CEL. All names were checked to have no quote.
fn object_expression(request: &ExceptionRequest) -> String {
    let ExceptionRequest { kind, name, namespace, .. } = request;
    let own = format!("object.kind == '{kind}' && object.metadata.name == '{name}'");
    let made: Vec<String> = made_kinds(kind).iter().map(|kind| format!("'{kind}'")).collect();
    let is_one = match made.is_empty() {
        true => own,
        false => format!(
            "({own} || object.kind in [{}] && object.metadata.?name.orValue(object.metadata.?generateName.orValue('')).startsWith('{name}-'))",
            made.join(", ")
        ),
    };
    match namespace.as_str() {
        "" => is_one,
        namespace => format!("object.metadata.?namespace.orValue('') == '{namespace}' && {is_one}"),
    }
}

fn exception_object(api_version: &str, request: &ExceptionRequest, namespace: &str, spec: Map) -> Value {
    let parts = [request.kind.as_str(), request.name.as_str()];
    let name = hashed_name(&parts, &format!("{}/{api_version}", request.namespace), MAX_SUBDOMAIN_CHARS);
    let metadata =
        Map::from([("name", Value::from(name.unwrap_or_default())), ("namespace", namespace.into())]);
    Map::from([
        ("apiVersion", Value::from(api_version)),
        ("kind", "PolicyException".into()),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
    ])
    .into()
}

/// Returns the annotations by which the object takes findings out of the count.
fn ignored_patterns(request: &ExceptionRequest, patterns: &[&PluginPolicy]) -> String {
    let names: Vec<&str> = patterns.iter().map(|pattern| pattern.name.as_str()).collect();
    let annotations = Map::from([
        (IGNORED_PATTERNS_ANNOTATION, Value::from(names.join(","))),
        (IGNORE_REASON_ANNOTATION, "say why".into()),
    ]);
    let mut metadata = Map::from([("name", Value::from(request.name.clone()))]);
    if !request.namespace.is_empty() {
        metadata.insert("namespace".into(), request.namespace.clone().into());
    }
    metadata.insert("annotations".into(), annotations.into());
    let object = Map::from([
        ("apiVersion", Value::from(request.api_version.clone())),
        ("kind", request.kind.clone().into()),
        ("metadata", metadata.into()),
    ]);
    format!("# Add these annotations to the object itself.\n{}", yaml_text(&object.into()))
}
