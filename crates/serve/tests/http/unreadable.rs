//! A rule that cannot be read refuses what it is about, as its action and its failure policy say.

use kubewright_dialects::DialectOptions;
use kubewright_serve::Snapshot;
use kubewright_value::{Source, yaml};

use crate::server::{Running, review};

const POD: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"a"},"spec":{}}"#;
const SERVICE: &str =
    r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"a"},"spec":{}}"#;

/// Returns a policy with `spec` beside one rule.
fn policy(spec: &str, rule: &str) -> String {
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: broken}}, spec: {{{spec}, rules: [{rule}]}}}}"
    )
}

/// Returns whether a Pod and a Service are allowed.
#[track_caller]
fn allows(policy: &str) -> [bool; 2] {
    let server = Running::with_rules(policy);
    [POD, SERVICE].map(|object| {
        let answer = server.post("/validate", review("CREATE", object));
        assert!(answer.is_allowed() || answer.message().contains("the rule is not valid"), "{}", answer.text);
        answer.is_allowed()
    })
}

const ENFORCE: &str = "validationFailureAction: Enforce";
const PODS: &str = "match: {any: [{resources: {kinds: [Pod]}}]}";
const TRUE: &str = "validate: {pattern: {metadata: {name: '?*'}}}";

#[test]
fn a_mistake_anywhere_in_a_rule_refuses_what_the_rule_matches() {
    for rule in [
        format!("{{name: r, {PODS}, validate: {{patern: {{spec: {{a: b}}}}}}}}"),
        format!("{{name: r, {PODS}, validte: {{pattern: {{spec: {{a: b}}}}}}}}"),
        format!("{{name: r, {PODS}}}"),
        format!("{{name: r, {PODS}, contxt: [], {TRUE}}}"),
        format!("{{name: r, {PODS}, {TRUE}, preconditions: 7}}"),
        format!("{{{PODS}, {TRUE}}}"),
        format!("{{name: r, {PODS}, {TRUE}, mutate: {{x: 1}}}}"),
        // Users are known only at admission, and the rule does not say that it is for admission alone.
        format!(
            "{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}, subjects: [{{kind: User, name: ada}}]}}]}}, {TRUE}}}"
        ),
    ] {
        assert_eq!(allows(&policy(ENFORCE, &rule)), [false, true], "{rule}");
    }
}

#[test]
fn what_can_be_read_of_match_decides_what_is_refused() {
    for (matching, want) in [
        // The entry is about more than it says, never about less.
        ("match: {any: [{resources: {kinds: [Pod], nmaes: [x]}}]}", [false, true]),
        ("match: {any: [{resources: {kind: [Pod]}}]}", [false, true]),
        ("match: {any: [{resorces: {kinds: [Pod]}}]}", [false, true]),
        ("match: {ayn: [{resources: {kinds: [Pod]}}]}", [false, true]),
        ("match: {any: {resources: {kinds: [Pod]}}}", [false, true]),
        ("mtach: {any: [{resources: {kinds: [Pod]}}]}", [false, true]),
        ("match: {any: [{resources: {kinds: [Pod]}}, {resources: {kid: Service}}]}", [false, false]),
        // Without a kind it matches nothing, so that a typo cannot lock a cluster.
        ("match: {any: [{resources: {nmaes: [x]}}]}", [true, true]),
        ("match: 7", [true, true]),
        // What is excluded for certain stays excluded; what has a mistake in it excludes nothing.
        (
            "match: {any: [{resources: {kinds: [Pod]}}]}, exclude: {any: [{resources: {kinds: [Pod], x: 1}}]}",
            [false, true],
        ),
        (
            "match: {any: [{resources: {kinds: [Pod], x: 1}}]}, exclude: {any: [{resources: {namespaces: [a]}}]}",
            [true, true],
        ),
    ] {
        let rule = format!("{{name: r, {matching}, {TRUE}}}");
        assert_eq!(allows(&policy(ENFORCE, &rule)), want, "{matching}");
    }
}

#[test]
fn action_and_failure_policy_are_those_of_the_policy_and_the_rule() {
    let rule = |more: &str| format!("{{name: r, {PODS}, validate: {{patern: {{spec: {{a: b}}}}{more}}}}}");
    for (spec, more, is_allowed) in [
        (ENFORCE, "", false),
        ("validationFailureAction: Audit", "", true),
        ("background: true", "", true),
        ("background: true", ", failureAction: Enforce", false),
        (ENFORCE, ", failureAction: Audit", true),
        // What the author wanted cannot be read, and was not nothing.
        ("background: true", ", failureAction: Enfroce", false),
        ("validationFailureAction: Enforce, failurePolicy: Ignore", "", true),
        ("validationFailureAction: Enforce, failurePolicy: Fail", "", false),
        ("validationFailureAction: Enforce, webhookConfiguration: {failurePolicy: Ignore}", "", true),
        (
            "validationFailureAction: Enforce, validationFailureActionOverrides: [{action: Audit, namespaces: [a]}]",
            "",
            true,
        ),
    ] {
        assert_eq!(allows(&policy(spec, &rule(more))), [is_allowed, true], "{spec}{more}");
    }
}

#[test]
fn a_mistake_in_the_settings_is_one_of_every_rule() {
    let rule = format!("{{name: r, {PODS}, {TRUE}}}");
    assert_eq!(allows(&policy(&format!("{ENFORCE}, backgroud: false"), &rule)), [false, true]);
    let misplaced = policy(&format!("{ENFORCE}, ruels: [{rule}]"), "").replace(", rules: []", "");
    assert_eq!(allows(&misplaced), [false, true]);
}

#[test]
fn unsupported_rule_types_refuse_nothing() {
    for rule in [
        format!("{{name: r, {PODS}, verifyImages: [{{imageReferences: ['*']}}]}}"),
        format!("{{name: r, {PODS}, generate: {{kind: ConfigMap}}, typo: 1}}"),
    ] {
        assert_eq!(allows(&policy(ENFORCE, &rule)), [true, true], "{rule}");
    }
}

#[test]
fn a_rejecting_modrule_with_a_mistake_refuses_where_rules_fail_closed() {
    let rule = |criteria: &str, more: &str| {
        format!(
            "{{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {{name: r, namespace: a}}, \
             spec: {{type: Reject, match: [{criteria}]{more}}}}}"
        )
    };
    let pods = "{select: '$.kind', matchValue: Pod}";
    for (rule, fails_closed, want) in [
        (rule(&format!("{pods}, {{select: '$.[', matchValue: x}}"), ""), true, [false, true]),
        (rule(&format!("{pods}, {{select: '$.[', matchValue: x}}"), ""), false, [true, true]),
        (rule(pods, ", rejectMessage: '{{ .Target'"), true, [false, true]),
        (rule(pods, ", typo: 1"), true, [false, true]),
        // It would be about everything in the namespace.
        (rule("{select: '$.[', matchValue: x}", ""), true, [true, true]),
        (rule(pods, ", typo: 1").replace("Reject", "Patch"), true, [true, true]),
    ] {
        let documents = yaml::read(&Source::new("rules.yaml", rule.as_str())).documents;
        let mut options = DialectOptions::default();
        options.modrule.fails_closed = fails_closed;
        let server = Running::start(Snapshot::of(&options, &[], &documents, 1), |_| {});
        let allowed = [POD, SERVICE].map(|object| {
            let answers =
                ["/mutate", "/validate"].map(|door| server.post(door, review("CREATE", object)).is_allowed());
            answers == [true, true]
        });
        assert_eq!(allowed, want, "{rule}, {fails_closed}");
    }
}
