//! The webhook configurations as they should be, with every default written out: then equal means equal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_cluster::DiscoveredResources;
use kubewright_engine::{AdmissionPhase, FailurePolicy, WatchRole, WatchedResource, WebhookPlan};
use kubewright_k8s::{Operation, Operations};
use kubewright_value::{Map, Text, Value};

use super::exempt::Exemptions;
use super::json_object;
use super::targets::WebhookRules;
use crate::guard;

/// The longest timeout that the API server accepts.
const MAX_TIMEOUT_SECONDS: u8 = 30;
/// How many conditions a webhook may have.
const MAX_MATCH_CONDITIONS: usize = 64;

/// The domain of the names of webhooks.
const WEBHOOK_DOMAIN: &str = "kubewright.dev";

/// By what our configurations are known: a selector of their labels.
pub const CONFIGURATION_SELECTOR: &str =
    "app.kubernetes.io/name=kubewright,app.kubernetes.io/component=webhooks";

/// What the configurations are made from.
#[derive(Debug, Clone)]
pub struct WebhookInputs<'w> {
    /// The name of both configurations.
    pub name: &'w str,
    /// Our own namespace.
    pub namespace: &'w str,
    /// Where the API server finds us.
    pub address: WebhookAddress,
    /// Whom it should believe, in PEM; without any, whatever stands there is left.
    pub bundle: Option<&'w str>,
    /// What the rules want, each with its path.
    pub hooks: Vec<(&'w str, &'w WebhookPlan)>,
    /// The kinds of our own: those that rules are never asked about.
    pub kinds: Vec<WatchedResource>,
    /// Those of them that are checked when they are stored.
    pub checked: Vec<WatchedResource>,
    /// The labels by which namespaces keep out, each a key and the value that counts.
    pub labels: Vec<(&'w str, &'w str)>,
    /// Whether a dialect observes Pods being bound to Nodes.
    pub observes_pod_bindings: bool,
    /// Who may give a namespace such a label.
    pub exempt: &'w [String],
    /// What the configurations belong to.
    pub owner: Option<OwnerRole>,
    /// The Certificate, as `namespace/name`, from which cert-manager puts in whom to believe.
    pub injected_from: Option<&'w str>,
}

/// Where the API server finds us.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookAddress {
    /// At an address, such as `https://127.0.0.1:9443`.
    Url(String),
    /// Behind a Service.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// The ClusterRole with which the configurations go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnerRole {
    /// Its name.
    pub name: Text,
    /// Its uid.
    pub uid: Text,
}

/// Returns the configurations: the mutating, then the validating one.
#[must_use]
pub fn desired_configurations(wanted: &WebhookInputs<'_>, discovery: &DiscoveredResources) -> [Value; 2] {
    let WebhookInputs { name, namespace, labels, kinds, .. } = wanted;
    let exemptions = Exemptions { name, namespace, labels, kinds };
    let (mut mutating, mut validating) = (Vec::new(), Vec::new());
    for (path, webhook) in &wanted.hooks {
        let entries = match webhook.phase {
            AdmissionPhase::Mutating => &mut mutating,
            AdmissionPhase::Validating => &mut validating,
        };
        entries.extend(rule_webhooks(wanted, path, webhook, discovery, &exemptions));
    }
    validating.extend(rule_object_webhook(wanted));
    if wanted.observes_pod_bindings {
        validating.push(pod_binding_webhook(wanted, &exemptions));
    }
    validating.extend(guard_webhook(wanted, &exemptions));
    [
        configuration_object(wanted, "MutatingWebhookConfiguration", mutating),
        configuration_object(wanted, "ValidatingWebhookConfiguration", validating),
    ]
}

/// A webhook that is being made.
struct WebhookEntry<'e> {
    name: String,
    path: &'e str,
    rules: WebhookRules,
    failure_policy: FailurePolicy,
    phase: AdmissionPhase,
    timeout_seconds: u8,
    namespace_selector: Value,
    /// A selector of namespaces does not keep out objects that are in none.
    is_namespaced: bool,
    object_selector: Value,
    match_conditions: Vec<(Text, Text)>,
    is_reinvoked: bool,
    side_effects: &'static str,
}

/// Returns the webhook of rules, and its twin for what must not be refused for want of an answer.
fn rule_webhooks(
    wanted: &WebhookInputs<'_>,
    path: &str,
    webhook: &WebhookPlan,
    discovery: &DiscoveredResources,
    exemptions: &Exemptions<'_>,
) -> Vec<Value> {
    let (mut asked, kept_apart) = WebhookRules::of(&webhook.rules, discovery, exemptions);
    if webhook.failure_policy == FailurePolicy::Ignore {
        asked.extend(&kept_apart);
    }
    let timeout_seconds = match webhook.timeout_seconds {
        0 => WebhookPlan::DEFAULT_TIMEOUT_SECONDS,
        seconds => seconds.min(MAX_TIMEOUT_SECONDS),
    };
    let entry = |rules: WebhookRules, failure_policy: FailurePolicy, is_twin: bool| {
        let fails = failure_policy == FailurePolicy::Fail;
        let conditions = webhook.match_conditions.iter().cloned().chain([exemptions.not_ourselves()]);
        WebhookEntry {
            name: webhook_name(webhook, is_twin),
            path,
            rules,
            failure_policy,
            phase: webhook.phase,
            timeout_seconds,
            namespace_selector: exemptions.namespaces(&webhook.namespaces, fails),
            is_namespaced: !webhook.namespaces.is_empty(),
            object_selector: webhook.object_selector.clone(),
            match_conditions: conditions.chain(fails.then(|| exemptions.condition())).collect(),
            is_reinvoked: webhook.is_reinvoked,
            side_effects: "None",
        }
    };
    let mut entries = vec![entry(asked, webhook.failure_policy, false)];
    if webhook.failure_policy == FailurePolicy::Fail {
        entries.push(entry(kept_apart, FailurePolicy::Ignore, true));
    }
    entries.into_iter().filter(|entry| !entry.rules.is_empty()).map(|entry| entry.value(wanted)).collect()
}

/// Rule objects are checked before they are stored. Only kinds of ours are asked about, so nothing else can be held
/// up, and no namespace is left out: a rule that does not compile must not be stored anywhere.
fn rule_object_webhook(wanted: &WebhookInputs<'_>) -> Option<Value> {
    let mut rules = WebhookRules::default();
    let operations: Operations = [Operation::Create, Operation::Update].into_iter().collect();
    for kind in wanted.checked.iter().filter(|kind| kind.role != WatchRole::Shared) {
        rules.add(&kind.group.into(), &"*".into(), kind.resource, "", operations);
    }
    let entry = WebhookEntry {
        failure_policy: FailurePolicy::Fail,
        ..plain_entry(format!("rules.{WEBHOOK_DOMAIN}"), "rules", rules)
    };
    (!entry.rules.is_empty()).then(|| entry.value(wanted))
}

fn pod_binding_webhook(wanted: &WebhookInputs<'_>, exemptions: &Exemptions<'_>) -> Value {
    let mut rules = WebhookRules::default();
    rules.add(&"".into(), &"v1".into(), "pods", "binding", [Operation::Create].into_iter().collect());
    let entry = plain_entry(format!("binding.{WEBHOOK_DOMAIN}"), "binding", rules);
    let namespace_selector = exemptions.namespaces(&[], false);
    // What is written is written to the pod, and not when the binding is only tried.
    WebhookEntry { namespace_selector, side_effects: "NoneOnDryRun", ..entry }.value(wanted)
}

/// Returns the webhook that guards the labels that exempt a namespace from all rules.
fn guard_webhook(wanted: &WebhookInputs<'_>, exemptions: &Exemptions<'_>) -> Option<Value> {
    let condition = guard::guard_condition(&wanted.labels, wanted.exempt)?;
    let mut rules = WebhookRules::default();
    let operations = [Operation::Create, Operation::Update].into_iter().collect();
    // A write of a subresource can change the labels too.
    for part in ["", "status", "finalize"] {
        rules.add(&"".into(), &"v1".into(), "namespaces", part, operations);
    }
    let entry = WebhookEntry {
        failure_policy: FailurePolicy::Fail,
        // Not by labels: the selector sees the labels that the namespace is about to have.
        namespace_selector: exemptions.named_namespaces(),
        match_conditions: vec![
            ("label-added-or-changed".into(), condition.into()),
            exemptions.not_ourselves(),
        ],
        ..plain_entry(format!("guard.{WEBHOOK_DOMAIN}"), "guard", rules)
    };
    Some(entry.value(wanted))
}

fn plain_entry(name: String, path: &str, rules: WebhookRules) -> WebhookEntry<'_> {
    WebhookEntry {
        name,
        path,
        rules,
        failure_policy: FailurePolicy::Ignore,
        phase: AdmissionPhase::Validating,
        timeout_seconds: WebhookPlan::DEFAULT_TIMEOUT_SECONDS,
        namespace_selector: json_object([]),
        is_namespaced: false,
        object_selector: Value::Null,
        match_conditions: Vec::new(),
        is_reinvoked: false,
        side_effects: "None",
    }
}

impl WebhookEntry<'_> {
    fn value(&self, wanted: &WebhookInputs<'_>) -> Value {
        let objects = &self.object_selector;
        let objects = if objects.is_null() { json_object([]) } else { objects.clone() };
        let failure_policy = match self.failure_policy {
            FailurePolicy::Fail => "Fail",
            FailurePolicy::Ignore => "Ignore",
        };
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| map.insert(key.into(), value);
        put("name", self.name.as_str().into());
        put("clientConfig", client_config(wanted, self.path));
        put("rules", self.rules.value(if self.is_namespaced { "Namespaced" } else { "*" }));
        put("failurePolicy", failure_policy.into());
        put("matchPolicy", "Equivalent".into());
        put("namespaceSelector", self.namespace_selector.clone());
        put("objectSelector", objects);
        put("sideEffects", self.side_effects.into());
        put("timeoutSeconds", u64::from(self.timeout_seconds).into());
        put("admissionReviewVersions", Value::array(vec!["v1".into()]));
        if self.phase == AdmissionPhase::Mutating {
            put("reinvocationPolicy", if self.is_reinvoked { "IfNeeded" } else { "Never" }.into());
        }
        if !self.match_conditions.is_empty() {
            put("matchConditions", match_conditions(&self.match_conditions));
        }
        map.into()
    }
}

/// Returns `matchConditions`; those beyond what the API server accepts are joined into the last one.
fn match_conditions(all: &[(Text, Text)]) -> Value {
    let one = |(name, expression): &(Text, Text)| {
        json_object([("name", name.clone().into()), ("expression", expression.clone().into())])
    };
    if all.len() <= MAX_MATCH_CONDITIONS {
        return Value::array(all.iter().map(one).collect());
    }
    let (first, last) = all.split_at(MAX_MATCH_CONDITIONS - 1);
    let joined: Vec<String> = last.iter().map(|(_, expression)| format!("({expression})")).collect();
    let name = last.first().map(|(name, _)| name.clone()).unwrap_or_default();
    let last = one(&(name, joined.join(" && ").into()));
    Value::array(first.iter().map(one).chain([last]).collect())
}

fn client_config(wanted: &WebhookInputs<'_>, path: &str) -> Value {
    let mut map = Map::new();
    match &wanted.address {
        WebhookAddress::Url(url) => {
            map.insert("url".into(), format!("{}/{path}", url.trim_end_matches('/')).into());
        }
        WebhookAddress::Service { namespace, name } => {
            let service = json_object([
                ("namespace", namespace.as_str().into()),
                ("name", name.as_str().into()),
                ("path", format!("/{path}").into()),
                ("port", 443_u64.into()),
            ]);
            map.insert("service".into(), service);
        }
    }
    if let Some(bundle) = wanted.bundle {
        map.insert("caBundle".into(), STANDARD.encode(bundle).into());
    }
    map.into()
}

fn configuration_object(wanted: &WebhookInputs<'_>, kind: &str, webhooks: Vec<Value>) -> Value {
    let mut metadata = Map::new();
    metadata.insert("name".into(), wanted.name.into());
    metadata.insert(
        "labels".into(),
        json_object([
            ("app.kubernetes.io/name", "kubewright".into()),
            ("app.kubernetes.io/instance", wanted.name.into()),
            ("app.kubernetes.io/component", "webhooks".into()),
            ("app.kubernetes.io/managed-by", "kubewright".into()),
        ]),
    );
    if let Some(certificate) = wanted.injected_from {
        let annotation = json_object([("cert-manager.io/inject-ca-from", certificate.into())]);
        metadata.insert("annotations".into(), annotation);
    }
    if let Some(owner) = &wanted.owner {
        let reference = json_object([
            ("apiVersion", "rbac.authorization.k8s.io/v1".into()),
            ("kind", "ClusterRole".into()),
            ("name", owner.name.clone().into()),
            ("uid", owner.uid.clone().into()),
        ]);
        metadata.insert("ownerReferences".into(), Value::array(vec![reference]));
    }
    json_object([
        ("apiVersion", "admissionregistration.k8s.io/v1".into()),
        ("kind", kind.into()),
        ("metadata", metadata.into()),
        ("webhooks", Value::array(webhooks)),
    ])
}

/// Returns the name of the webhook, or of its twin.
pub(super) fn webhook_name(webhook: &WebhookPlan, is_twin: bool) -> String {
    let verb = match webhook.phase {
        AdmissionPhase::Mutating => "mutate",
        AdmissionPhase::Validating => "validate",
    };
    let twin = if is_twin { "-exempt" } else { "" };
    // Webhooks of the same name are about different namespaces.
    let namespace = webhook.namespaces.first();
    if let Some(shared) = &webhook.shared_name {
        let failure = if webhook.failure_policy == FailurePolicy::Fail { "fail" } else { "ignore" };
        // The name of a policy in a namespace follows a dot, so that it is no other policy's.
        let own = match webhook.dedicated_name.as_ref().map(|name| name.split_once('.').unwrap_or(("", name)))
        {
            None => namespace.map(|namespace| format!("-namespaced.{namespace}")).unwrap_or_default(),
            Some((short, name)) if short.starts_with('n') => format!("-finegrained.{}", dns_label(name)),
            Some((_, name)) => format!("-finegrained-{}", dns_label(name)),
        };
        return format!("{}-{failure}{twin}{own}", dns_label(shared));
    }
    if let Some(name) = &webhook.dedicated_name {
        return format!("{}.{verb}{twin}.{WEBHOOK_DOMAIN}", dns_label(name));
    }
    let namespace = namespace.map(|namespace| format!("{namespace}.")).unwrap_or_default();
    match (webhook.phase, webhook.failure_policy) {
        (AdmissionPhase::Mutating, FailurePolicy::Ignore) => format!("{namespace}{verb}.{WEBHOOK_DOMAIN}"),
        (_, FailurePolicy::Fail) => format!("{namespace}{verb}-fail{twin}.{WEBHOOK_DOMAIN}"),
        (AdmissionPhase::Validating, FailurePolicy::Ignore) => {
            format!("{namespace}{verb}-ignore.{WEBHOOK_DOMAIN}")
        }
    }
}

/// Returns `name` as part of a domain: unchanged if it can be one, else told apart from others by a number.
fn dns_label(name: &str) -> String {
    const MAX_LABEL_BYTES: usize = 180;
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let (first, last) = (part.bytes().next(), part.bytes().last());
        first.is_some_and(is_letter)
            && last.is_some_and(is_letter)
            && part.bytes().all(|byte| is_letter(byte) || byte == b'-')
    };
    if name.len() <= MAX_LABEL_BYTES && name.split('.').all(is_part) {
        return name.to_owned();
    }
    // FNV-1a: the same in every replica and every version.
    let number = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |number, byte| {
        (number ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let plain = |byte: u8| if is_letter(byte) { char::from(byte) } else { '-' };
    let start: String = name.to_ascii_lowercase().bytes().take(60).map(plain).collect();
    format!("x{}-{number:016x}", start.trim_end_matches('-'))
}

#[cfg(test)]
mod tests;
