use kubewright_engine::{
    AdmissionPhase, CompiledPolicy, DecisionSettings, Dialect as _, Engine, EvaluationMode, FailurePolicy,
    KindOrResource, Needs, OpenWorld, Query, Recompile, WebhookPlan, WebhookRule,
};
use kubewright_k8s::Operation;
use kubewright_value::{Source, yaml};

use super::*;

fn document(text: &str) -> Document {
    yaml::read(&Source::new("policy.yaml", text)).documents.into_iter().next().expect("a document")
}

/// Returns a policy with one rule that matches `matching` and has `more`.
fn policy(spec: &str, matching: &str, more: &str) -> Document {
    document(&format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  rules:\n  - name: r\n    \
         match: {matching}\n    validate: {{message: wrong, pattern: {{metadata: {{name: good}}}}}}\n    {more}\n  {spec}\n"
    ))
}

fn dialect() -> Kyverno {
    Kyverno::new(&[], Default::default())
}

fn compiled(document: &Document) -> CompiledPolicy {
    dialect().compile(document, &[])
}

/// Returns the only webhook of the policy.
fn webhook(document: &Document) -> WebhookPlan {
    let [webhook] = <[_; 1]>::try_from(compiled(document).webhooks).expect("one phase");
    webhook
}

/// Returns the rules of the webhook, each `group/version/Kind/subresource OPERATIONS`.
fn webhook_rules(document: &Document) -> Vec<String> {
    let shown = |target: WebhookRule| {
        let name = match &target.name {
            KindOrResource::Kind(kind) => kind.to_string(),
            KindOrResource::Resource(resource) => resource.to_string(),
        };
        let operations = Operation::ALL.into_iter().filter(|one| target.operations.contains(*one));
        let operations: String = operations.filter_map(|one| one.name().chars().next()).collect();
        format!("{}/{}/{name}/{} {operations}", target.group, target.version, target.subresource)
    };
    webhook(document).rules.into_iter().map(shown).collect()
}

#[test]
fn the_kinds_of_a_policy_and_their_controllers_are_asked_about() {
    let found = webhook_rules(&policy("", "{any: [{resources: {kinds: [Pod]}}]}", ""));
    let want = [
        "/v1/pods/ephemeralcontainers CUDC",
        "/v1/pods/resize CUDC",
        "*/*/Pod/ CUDC",
        "*/v1/ReplicationController/ CUDC",
        "apps/v1/DaemonSet/ CUDC",
        "apps/v1/Deployment/ CUDC",
        "apps/v1/ReplicaSet/ CUDC",
        "apps/v1/StatefulSet/ CUDC",
        "batch/v1/CronJob/ CUDC",
        "batch/v1/Job/ CUDC",
    ];
    assert_eq!(found, want);
}

#[test]
fn kinds_may_be_written_in_many_ways() {
    let of = |kind: &str| {
        webhook_rules(&policy(
            "background: false",
            &format!("{{any: [{{resources: {{kinds: ['{kind}']}}}}]}}"),
            "",
        ))
    };
    assert_eq!(of("apps/v1/Deployment"), ["apps/v1/Deployment/ CUDC"]);
    assert_eq!(of("Pod/exec"), ["*/*/Pod/exec CUDC"]);
    assert_eq!(of("Deployment.apps"), ["apps/*/Deployment/ CUDC"]);
    assert_eq!(of("Deployment.v1.apps"), ["apps/v1/Deployment/ CUDC"]);
    assert_eq!(of("*/*/Deployment"), ["*/*/Deployment/ CUDC"]);
    assert_eq!(of("*.apps"), ["apps/*/*/ CUDC"]);
    assert_eq!(of("v1/Pod.status"), ["*/v1/Pod/status CUDC"]);
    assert_eq!(of("*/*"), ["*/*/*/* CUDC"]);
    assert_eq!(of("*/scale"), ["*/*/*/scale CUDC"]);
    assert_eq!(of("*"), ["/v1/pods/ephemeralcontainers CUDC", "/v1/pods/resize CUDC", "*/*/*/ CUDC"]);
}

#[test]
fn an_entry_without_kinds_is_about_those_of_others_or_about_all() {
    let of = |matching: &str| webhook_rules(&policy("background: false", matching, ""));
    let users = "{subjects: [{kind: User, name: a}]}";
    assert_eq!(
        of(&format!("{{all: [{{resources: {{kinds: [Service]}}}}, {users}]}}")),
        ["*/*/Service/ CUDC"]
    );
    let every = ["/v1/pods/ephemeralcontainers CUDC", "/v1/pods/resize CUDC", "*/*/*/ CUDC"];
    assert_eq!(of(&format!("{{any: [{users}]}}")), every);
    assert_eq!(of(&format!("{{all: [{users}]}}")), every);
}

#[test]
fn operations_are_those_that_are_left() {
    let of = |filter: &str, exclude: &str| {
        webhook_rules(&policy(
            "",
            &format!("{{any: [{{resources: {{kinds: [Service]{filter}}}}}]}}"),
            exclude,
        ))
    };
    assert_eq!(of(", operations: [CREATE, UPDATE]", ""), ["*/*/Service/ CU"]);
    assert_eq!(of("", "exclude: {any: [{resources: {operations: [DELETE]}}]}"), ["*/*/Service/ CUC"]);
    assert_eq!(of("", "exclude: {any: [{resources: {kinds: [Service]}}]}"), Vec::<String>::new());
    let other = "exclude: {any: [{resources: {operations: [DELETE], namespaces: [a]}}]}";
    assert_eq!(of("", other), ["*/*/Service/ CUDC"]);
}

#[test]
fn a_policy_says_how_it_fails_and_how_long_it_may_take() {
    let kinds = "{any: [{resources: {kinds: [Service]}}]}";
    let of = |spec: &str| webhook(&policy(spec, kinds, ""));
    let plain = of("");
    assert_eq!((plain.phase, plain.failure_policy), (AdmissionPhase::Validating, FailurePolicy::Fail));
    assert_eq!((plain.timeout_seconds, plain.dedicated_name), (5, None));
    assert_eq!(of("failurePolicy: Ignore").failure_policy, FailurePolicy::Ignore);
    let inside = of("webhookConfiguration: {failurePolicy: Ignore}");
    assert_eq!(inside.failure_policy, FailurePolicy::Ignore);
    assert_eq!(of("webhookConfiguration: {timeoutSeconds: 12}").timeout_seconds, 12);
    assert_eq!(of("webhookTimeoutSeconds: 90").timeout_seconds, 30);
    assert!(of("admission: false").rules.is_empty());
    let own = of("webhookConfiguration: {matchConditions: [{name: c, expression: 'true'}]}");
    assert_eq!(own.dedicated_name.as_deref(), Some("cpol.p"));
    assert_eq!(own.match_conditions, [("c".into(), "true".into())]);
}

#[test]
fn roles_are_needed_only_where_they_are_asked_for() {
    let kinds = "{any: [{resources: {kinds: [Service]}}]}";
    let needs = |matching: &str, more: &str| compiled(&policy("background: false", matching, more)).needs;
    assert_eq!(needs(kinds, ""), Needs::default());
    assert!(needs("{any: [{resources: {kinds: [Service]}, clusterRoles: [admin]}]}", "").role_bindings);
    assert!(needs(kinds, "exclude: {any: [{roles: ['a:b']}]}").role_bindings);
    assert!(
        needs(
            kinds,
            "preconditions: {all: [{key: '{{request.clusterRoles}}', operator: AnyIn, value: [a]}]}"
        )
        .role_bindings
    );
    let composed = "context: [{name: c, variable: {jmesPath: \"request.roles[?@ == '{{ element }}']\"}}]";
    assert!(needs(kinds, composed).role_bindings);
    let other = "context: [{name: c, variable: {jmesPath: request.object.roles}}]";
    assert!(!needs(kinds, other).role_bindings);
    assert!(!needs(kinds, "exclude: {any: [{subjects: [{kind: User, name: a}]}]}").role_bindings);
    let context = "context: [{name: m, configMap: {name: m, namespace: a}}, {name: n, configMap: {name: '{{x}}', namespace: a}}]";
    assert_eq!(needs(kinds, context).config_maps, [("a".into(), "m".into())]);
}

/// Decides about a Service called `bad`, and returns the message for the requester.
fn reply(spec: &str) -> (bool, ResponseParts) {
    let dialect = dialect();
    let document = policy(spec, "{any: [{resources: {kinds: [Service]}}]}", "");
    let engine = Engine::new(dialect.compile(&document, &[]).rules);
    let service =
        yaml::parse("{apiVersion: v1, kind: Service, metadata: {name: bad, namespace: shop}}").expect("YAML");
    let mut world = OpenWorld::default();
    let namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {tier: one}}}";
    world.learn(Query::namespace("shop"), Some(yaml::parse(namespace).expect("YAML")));
    let request = AdmissionRequest::for_object(service, Operation::Create, "default");
    let settings =
        DecisionSettings { evaluation_mode: Some(EvaluationMode::Admission), ..DecisionSettings::default() };
    let decision = engine.decide(&request, &world, &settings);
    (decision.is_allowed, dialect.response(&request, &decision.outcomes.iter().collect::<Vec<_>>()))
}

#[test]
fn a_refusal_is_told_in_the_words_of_the_original() {
    let (is_allowed, reply) = reply("validationFailureAction: Enforce");
    assert!(!is_allowed);
    assert_eq!(
        reply.message,
        "\n\nresource Service/shop/bad was blocked due to the following policies \n\np:\n  r: 'validation error: wrong. \
         rule r failed at path /metadata/name/'\n"
    );
    assert!(reply.warnings.is_empty() && reply.annotations.is_empty());
}

#[test]
fn what_is_only_reported_is_let_pass() {
    let (is_allowed, reply) = reply("validationFailureAction: Audit");
    assert!(is_allowed);
    assert_eq!(reply.message, "");
    assert!(reply.warnings.is_empty());
    assert_eq!(reply.annotations, [("violations".into(), "p.r".into())]);
}

#[test]
fn a_policy_may_want_warnings() {
    let (is_allowed, reply) = reply("emitWarning: true");
    assert!(is_allowed);
    assert_eq!(
        reply.warnings,
        ["policy p.r: validation error: wrong. rule r failed at path /metadata/name/"]
    );
}

#[test]
fn another_action_may_hold_in_some_namespaces() {
    let overrides = |action: &str, of: &str, namespaces: &str| {
        reply(&format!(
            "validationFailureAction: {action}\n  validationFailureActionOverrides: [{{action: {of}, {namespaces}}}]"
        ))
        .0
    };
    assert!(overrides("Enforce", "Audit", "namespaces: [shop]"));
    assert!(overrides("Enforce", "Audit", "namespaceSelector: {matchLabels: {tier: one}}"));
    assert!(!overrides("Enforce", "Audit", "namespaces: [other]"));
    assert!(!overrides("Audit", "Enforce", "namespaces: ['sh*']"));
}

#[test]
fn a_rule_that_only_reports_refuses_nothing_when_it_cannot_answer() {
    let broken = "applyRules: All\n  rules: [{name: r, match: {any: [{resources: {kinds: [Service]}}]}, validate: {deny: {conditions: {all: [{key: '{{nothing}}', operator: Equals, value: a}]}}}}]";
    let decide = |spec: &str| {
        let dialect = dialect();
        let text = format!(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: p}}\nspec:\n  {broken}\n  {spec}\n"
        );
        let engine = Engine::new(dialect.compile(&document(&text), &[]).rules);
        let service = yaml::parse("{apiVersion: v1, kind: Service, metadata: {name: bad}}").expect("YAML");
        let request = AdmissionRequest::for_object(service, Operation::Create, "default");
        let decision = engine.decide(&request, &OpenWorld::default(), &DecisionSettings::default());
        assert!(decision.with_status(RuleStatus::Error).next().is_some());
        decision.is_allowed
    };
    assert!(!decide("validationFailureAction: Enforce"));
    assert!(decide("validationFailureAction: Enforce\n  failurePolicy: Ignore"));
    assert!(decide("validationFailureAction: Audit"));
}

#[test]
fn an_exception_ends_when_it_says_so() {
    let of = |text: &str| expires(&document(&format!("kind: PolicyException\n{text}")));
    assert_eq!(of("metadata: {name: a}"), None);
    assert_eq!(of("spec: {expiresAt: '1970-01-01T00:00:01Z'}"), Some(1_000_000_000));
    assert_eq!(of("spec: {expiresAt: never}"), Some(i128::MIN));
    assert_eq!(of("metadata: {labels: {cleanup.kyverno.io/ttl: '1970-01-02'}}"), Some(86_400_000_000_000));
    let made = "metadata: {creationTimestamp: '1970-01-01T00:00:00Z', labels: {cleanup.kyverno.io/ttl: 1m}}";
    assert_eq!(of(made), Some(60_000_000_000));
}

#[test]
fn both_kinds_of_policies_are_defined_alike() {
    let definitions = dialect().custom_resource_definitions();
    let names: Vec<&str> = definitions
        .iter()
        .filter_map(|text| text.lines().find(|line| line.starts_with("  name: ")))
        .collect();
    let want = [
        "clusterpolicies",
        "policies",
        "policyexceptions",
        "globalcontextentries",
        "clustercleanuppolicies",
        "cleanuppolicies",
    ];
    assert_eq!(names, want.map(|name| format!("  name: {name}.kyverno.io")));
    assert!(!POLICIES.contains("ClusterPolicy") && !POLICIES.contains("clusterpolic"));
    assert!(!CLEANUP_POLICIES.contains("ClusterCleanup") && !CLEANUP_POLICIES.contains("clustercleanup"));
}

#[test]
fn a_policy_that_captures_the_time_is_compiled_periodically() {
    let stale = |more: &str| {
        let policy = policy("", "{any: [{resources: {kinds: [Pod]}}]}", more);
        compiled(&policy).recompile == Recompile::Periodically
    };
    let condition =
        |key: &str| format!("preconditions: {{all: [{{key: \"{key}\", operator: Equals, value: x}}]}}");
    assert!(!stale(&condition("{{ request.operation }}")));
    assert!(stale(&condition("{{ time_now_utc() }}")));
    assert!(stale(&condition("{{ time_since('', request.object.metadata.creationTimestamp, '') }}")));
    assert!(stale(&condition("{{ time_add(time_now(), '{{ request.object.spec.ttl }}') }}")));
    assert!(!stale(&condition("it is not time_now()")));
}
