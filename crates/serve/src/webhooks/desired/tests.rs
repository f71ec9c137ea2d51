use kubewright_cluster::{ApiResource, ApiSubresource};
use kubewright_engine::{KindOrResource, WebhookRule};

use super::*;

const OWN: WatchedResource = WatchedResource {
    group: "rules.test",
    version: "v1",
    resource: "checks",
    kind: "Check",
    role: WatchRole::Rule,
};

fn discovery() -> DiscoveredResources {
    let resource =
        |group: &str, version: &str, resource: &str, kind: &str, parts: &[(&str, &str)]| ApiResource {
            group: group.into(),
            version: version.into(),
            resource: resource.into(),
            kind: kind.into(),
            subresources: parts
                .iter()
                .map(|(name, kind)| ApiSubresource {
                    name: (*name).into(),
                    group: group.into(),
                    version: version.into(),
                    kind: (*kind).into(),
                    ..ApiSubresource::default()
                })
                .collect(),
            ..ApiResource::default()
        };
    let pods =
        [("status", "Pod"), ("exec", "PodExecOptions"), ("ephemeralcontainers", "Pod"), ("resize", "Pod")];
    DiscoveredResources::of(vec![
        resource("", "v1", "pods", "Pod", &pods),
        resource("", "v1", "nodes", "Node", &[("status", "Node")]),
        resource("", "v1", "events", "Event", &[]),
        resource("", "v1", "services", "Service", &[]),
        resource("apps", "v1", "deployments", "Deployment", &[("scale", "Scale")]),
        resource("apps", "v1", "daemonsets", "DaemonSet", &[]),
        resource("batch", "v1", "cronjobs", "CronJob", &[]),
        resource("batch", "v1beta1", "cronjobs", "CronJob", &[]),
        resource("coordination.k8s.io", "v1", "leases", "Lease", &[]),
        resource("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", &[]),
        resource("networking.k8s.io", "v1", "ingresses", "Ingress", &[]),
        resource("rules.test", "v1", "checks", "Check", &[]),
    ])
}

fn target(text: &str, is_kind: bool, operations: &[Operation]) -> WebhookRule {
    let mut parts = text.split('/');
    let mut part = || parts.next().unwrap().into();
    let (group, version, name, subresource) = (part(), part(), part(), part());
    let name = if is_kind { KindOrResource::Kind(name) } else { KindOrResource::Resource(name) };
    WebhookRule { group, version, name, subresource, operations: operations.iter().copied().collect() }
}

fn webhook(phase: AdmissionPhase, fails: bool, rules: Vec<WebhookRule>) -> WebhookPlan {
    WebhookPlan::new(phase, if fails { FailurePolicy::Fail } else { FailurePolicy::Ignore }, rules)
}

fn wanted<'w>(hooks: Vec<(&'w str, &'w WebhookPlan)>) -> WebhookInputs<'w> {
    WebhookInputs {
        name: "kubewright",
        namespace: "kubewright-system",
        address: WebhookAddress::Service {
            namespace: "kubewright-system".to_owned(),
            name: "kubewright".to_owned(),
        },
        bundle: Some("-----BEGIN CERTIFICATE-----"),
        hooks,
        kinds: vec![OWN],
        checked: vec![OWN],
        labels: vec![("rules.test/ignore", "true")],
        observes_pod_bindings: false,
        exempt: &[],
        owner: None,
        injected_from: None,
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.str_at(&[key])
}

fn entries(configuration: &Value) -> &[Value] {
    configuration.get("webhooks").and_then(Value::as_array).unwrap()
}

fn texts<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    value.get(key).and_then(Value::as_array).unwrap().iter().filter_map(Value::as_str).collect()
}

/// The rules of every webhook that comes of a judging one for `targets`, each `name: groups versions resources operations`.
#[track_caller]
fn check(fails: bool, targets: &[WebhookRule], want: &[&str]) {
    let webhook = webhook(AdmissionPhase::Validating, fails, targets.to_vec());
    let [_, validating] = desired_configurations(&wanted(vec![("validate/x", &webhook)]), &discovery());
    let judging = entries(&validating).iter().filter(|entry| text(entry, "name").starts_with("validate"));
    let rules = judging.flat_map(|entry| {
        entry.get("rules").and_then(Value::as_array).unwrap().iter().map(|rule| {
            let part = |key| texts(rule, key).join(",");
            let name = text(entry, "name").trim_end_matches(".kubewright.dev");
            format!(
                "{name}: {:?} {} {} {}",
                part("apiGroups"),
                part("apiVersions"),
                part("resources"),
                part("operations")
            )
        })
    });
    assert_eq!(rules.collect::<Vec<_>>(), want);
}

use Operation::{Connect, Create, Update};

#[test]
fn kinds_become_resources_with_the_parts_of_pods() {
    check(
        true,
        &[target("*/*/Pod/", true, &[Create, Update]), target("apps/v1/D*/", true, &[Create])],
        &[
            r#"validate-fail: "" * pods,pods/ephemeralcontainers,pods/resize CREATE,UPDATE"#,
            r#"validate-fail: "apps" v1 daemonsets,deployments CREATE"#,
        ],
    );
}

#[test]
fn resources_are_taken_as_they_are() {
    check(true, &[target("*/*/pods/", false, &[Create])], &[r#"validate-fail: "*" * pods CREATE"#]);
    check(
        true,
        &[target("a.b/v9/things/*", false, &[Create])],
        &[r#"validate-fail: "a.b" v9 things/* CREATE"#],
    );
}

#[test]
fn groups_and_versions_may_have_wildcards() {
    check(
        true,
        &[target("b*/v1*/CronJob/", true, &[Create])],
        &[
            r#"validate-fail: "batch" v1 cronjobs CREATE"#,
            r#"validate-fail: "batch" v1beta1 cronjobs CREATE"#,
        ],
    );
    check(
        true,
        &[target("*.k8s.io/*/ingresses/", false, &[Create])],
        &[r#"validate-fail: "networking.k8s.io" * ingresses CREATE"#],
    );
}

#[test]
fn parts_are_asked_for_by_their_names_and_by_their_kinds() {
    check(true, &[target("*/*/Pod/exec", true, &[Connect])], &[r#"validate-fail: "" * pods/exec CONNECT"#]);
    check(
        true,
        &[target("*/*/PodExecOptions/", true, &[Connect])],
        &[r#"validate-fail: "" * pods/exec CONNECT"#],
    );
    check(
        true,
        &[target("*/*/Deployment/*", true, &[Update])],
        &[r#"validate-fail: "apps" * deployments/* UPDATE"#],
    );
    check(
        true,
        &[target("*/*/Scale/", true, &[Update])],
        &[r#"validate-fail: "apps" * deployments/scale UPDATE"#],
    );
}

#[test]
fn every_kind_is_one_rule_and_the_parts_of_pods() {
    check(
        true,
        &[target("*/*/*/", true, &Operation::ALL)],
        &[r#"validate-fail: "" v1 pods/ephemeralcontainers,pods/resize *"#, r#"validate-fail: "*" * * *"#],
    );
}

#[test]
fn wildcards_stand_alone() {
    let all = |texts: &[&str]| texts.iter().map(|text| target(text, false, &[Create])).collect::<Vec<_>>();
    check(
        true,
        &all(&[
            "*/*/*/",
            "*/*/pods/",
            "*/*/pods/exec",
            "*/*/pods/*",
            "*/*/things/log",
            "*/*/*/log",
            "*/*/jobs/x",
        ]),
        &[r#"validate-fail: "*" * *,*/log,jobs/x,pods/* CREATE"#],
    );
    check(true, &all(&["*/*/*/*", "*/*/*/", "*/*/pods/exec"]), &[r#"validate-fail: "*" * */* CREATE"#]);
}

#[test]
fn what_is_not_there_is_not_asked_about() {
    check(true, &[target("*/*/Nonsense/", true, &[Create])], &[]);
    check(true, &[target("*/*/Pod/", true, &[])], &[]);
}

#[test]
fn what_the_cluster_lives_by_is_asked_for_by_a_twin_that_never_refuses() {
    check(
        true,
        &[
            target("*/*/Node/", true, &[Update]),
            target("*/*/Pod/", true, &[Update]),
            target("*/*/leases/", false, &[Update]),
        ],
        &[
            r#"validate-fail: "" * pods,pods/ephemeralcontainers,pods/resize UPDATE"#,
            r#"validate-fail-exempt: "" * nodes UPDATE"#,
            r#"validate-fail-exempt: "*" * leases UPDATE"#,
        ],
    );
    check(false, &[target("*/*/Node/", true, &[Update])], &[r#"validate-ignore: "" * nodes UPDATE"#]);
}

#[test]
fn every_default_is_written_out() {
    let webhook = webhook(AdmissionPhase::Mutating, false, vec![target("*/*/pods/", false, &[Create])]);
    let [mutating, validating] =
        desired_configurations(&wanted(vec![("mutate/ignore", &webhook)]), &discovery());
    let want = r#"{"name":"mutate.kubewright.dev","clientConfig":{"service":{"namespace":"kubewright-system","name":"kubewright","path":"/mutate/ignore","port":443},"caBundle":"LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t"},"rules":[{"apiGroups":["*"],"apiVersions":["*"],"operations":["CREATE"],"resources":["pods"],"scope":"*"}],"failurePolicy":"Ignore","matchPolicy":"Equivalent","namespaceSelector":{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"NotIn","values":["kubewright-system"]},{"key":"rules.test/ignore","operator":"NotIn","values":["true"]}]},"objectSelector":{},"sideEffects":"None","timeoutSeconds":5,"admissionReviewVersions":["v1"],"reinvocationPolicy":"IfNeeded","matchConditions":[{"name":"not-ourselves","expression":"!(has(request.userInfo.username) && request.userInfo.username.startsWith(\"system:serviceaccount:kubewright-system:\"))"}]}"#;
    assert_eq!(kubewright_value::json::to_string(&entries(&mutating)[0]), want);
    let names: Vec<&str> = entries(&validating).iter().map(|entry| text(entry, "name")).collect();
    assert_eq!(names, ["rules.kubewright.dev", "guard.kubewright.dev"]);
}

#[test]
fn a_timeout_is_that_of_the_policy_up_to_thirty_seconds() {
    for (timeout, want) in [(0, 5), (1, 1), (10, 10), (200, 30)] {
        let webhook = WebhookPlan {
            timeout_seconds: timeout,
            ..webhook(AdmissionPhase::Validating, true, vec![target("*/*/pods/", false, &[Create])])
        };
        let [_, validating] =
            desired_configurations(&wanted(vec![("validate/fail", &webhook)]), &discovery());
        assert_eq!(entries(&validating)[0].get("timeoutSeconds").and_then(Value::as_i64), Some(want));
    }
}

#[test]
fn conditions_beyond_what_the_api_server_takes_are_joined() {
    let own: Vec<(Text, Text)> =
        (0..64).map(|n| (format!("c{n}").into(), format!("x == {n}").into())).collect();
    let webhook = WebhookPlan {
        dedicated_name: Some("mine".into()),
        match_conditions: own,
        ..webhook(AdmissionPhase::Validating, true, vec![target("*/*/pods/", false, &[Create])])
    };
    let [_, validating] =
        desired_configurations(&wanted(vec![("validate/own/mine", &webhook)]), &discovery());
    let conditions = entries(&validating)[0].get("matchConditions").and_then(Value::as_array).unwrap();
    assert_eq!(conditions.len(), 64);
    assert!(text(&conditions[63], "expression").starts_with("(x == 63) && (!("));
    assert_eq!(text(&entries(&validating)[0], "name"), "mine.validate.kubewright.dev");
}

#[test]
fn names_that_are_no_domains_are_told_apart() {
    assert_eq!(dns_label("require-labels.v2"), "require-labels.v2");
    assert_ne!(dns_label("shop/a"), dns_label("shop/b"));
    for name in ["shop/Policy", "-x", "", "a..b", &"a".repeat(300), "ä", "."] {
        let label = dns_label(name);
        assert!(label.len() < 100 && !label.contains("..") && label.starts_with('x'), "{label}");
    }
}

#[test]
fn desired_configuration_omits_an_injected_ca_bundle() {
    let wanted = WebhookInputs { bundle: None, injected_from: Some("shop/serving"), ..wanted(Vec::new()) };
    let [_, validating] = desired_configurations(&wanted, &discovery());
    assert!(entries(&validating)[0].at(&["clientConfig", "caBundle"]).is_none());
    let annotation = validating.at(&["metadata", "annotations", "cert-manager.io/inject-ca-from"]);
    assert_eq!(annotation.and_then(Value::as_str), Some("shop/serving"));
}

/// Numbers that are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % end
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn target(&mut self) -> WebhookRule {
        let groups =
            ["", "*", "apps", "coordination.k8s.io", "authorization.k8s.io", "*.k8s.io", "rules.test"];
        let names = [
            "*",
            "Pod",
            "Node",
            "Lease",
            "Event",
            "Check",
            "SubjectAccessReview",
            "*s",
            "N?de",
            "Deployment",
        ];
        let resources =
            ["*", "pods", "nodes", "leases", "events", "checks", "subjectaccessreviews", "deployments"];
        let is_kind = self.below(2) == 0;
        let name = if is_kind { self.one(&names) } else { self.one(&resources) };
        let (group, part) = (self.one(&groups), self.one(&["", "", "*", "status", "exec"]));
        let operations: Vec<Operation> = Operation::ALL.into_iter().filter(|_| self.below(2) == 0).collect();
        target(&format!("{group}/{}/{name}/{part}", self.one(&["*", "v1"])), is_kind, &operations)
    }

    fn webhook(&mut self) -> WebhookPlan {
        let phase = if self.below(2) == 0 { AdmissionPhase::Mutating } else { AdmissionPhase::Validating };
        let targets = (0..self.below(6)).map(|_| self.target()).collect();
        let namespaces = ["a", "b", "kube-system"].into_iter().take(self.below(4)).map(Text::new).collect();
        let dedicated_name = (self.below(3) == 0).then(|| Text::from(format!("own-{}", self.below(1000))));
        WebhookPlan { dedicated_name, namespaces, ..webhook(phase, self.below(2) == 0, targets) }
    }
}

#[test]
fn no_webhook_that_refuses_touches_what_the_cluster_lives_by() {
    let mut random = Random(1);
    let mut refusing = 0;
    for _ in 0..2000 {
        let hooks: Vec<WebhookPlan> = (0..4).map(|_| random.webhook()).collect();
        let wanted = wanted(hooks.iter().map(|hook| ("validate/fail", hook)).collect());
        for configuration in desired_configurations(&wanted, &discovery()) {
            for entry in entries(&configuration) {
                if text(entry, "failurePolicy") == "Fail" && text(entry, "name") != "rules.kubewright.dev" {
                    refusing += 1;
                    check_refusing(entry);
                }
            }
        }
    }
    assert!(refusing > 1000, "{refusing}");
}

#[track_caller]
fn check_refusing(entry: &Value) {
    let is_guard = text(entry, "name") == "guard.kubewright.dev";
    let expressions = entry.at(&["namespaceSelector", "matchExpressions"]).and_then(Value::as_array).unwrap();
    let leaves_out = |key: &str, values: &[&str]| {
        expressions.iter().any(|expression| {
            text(expression, "key") == key
                && text(expression, "operator") == "NotIn"
                && values.iter().all(|value| texts(expression, "values").contains(value))
        })
    };
    assert!(leaves_out(
        "kubernetes.io/metadata.name",
        &["kubewright-system", "kube-system", "kube-node-lease"]
    ));
    let conditions = entry.get("matchConditions").and_then(Value::as_array).unwrap();
    let conditions: String = conditions.iter().map(|condition| text(condition, "expression")).collect();
    let rules = entry.get("rules").and_then(Value::as_array).unwrap();
    if is_guard {
        assert_eq!(rules.len(), 1);
        assert_eq!(texts(&rules[0], "resources"), ["namespaces", "namespaces/finalize", "namespaces/status"]);
        return;
    }
    assert!(leaves_out("rules.test/ignore", &["true"]));
    for spared in
        ["leases.coordination.k8s.io", "events.", "events.events.k8s.io", "nodes.", "checks.rules.test"]
    {
        assert!(conditions.contains(&format!("\"{spared}\"")), "{spared} in {conditions}");
    }
    for spared in ["\"authorization.k8s.io\"", "\"authentication.k8s.io\"", "'system:nodes'"] {
        assert!(conditions.contains(spared), "{spared} in {conditions}");
    }
    assert!(conditions.contains("certificatesigningrequests.certificates.k8s.io"));
    assert!(conditions.contains("'clusterroles'") && conditions.contains("request.name == \"kubewright\""));
    for rule in rules {
        for resource in texts(rule, "resources") {
            let (group, resource) = (texts(rule, "apiGroups")[0], resource.split('/').next().unwrap());
            let spared = match resource {
                "leases" => "coordination.k8s.io",
                "subjectaccessreviews" => "authorization.k8s.io",
                "checks" => "rules.test",
                "events" | "nodes" => "",
                _ => continue,
            };
            assert!(group != spared && group != "*", "{resource}.{group}");
        }
    }
}

#[test]
fn a_webhook_for_one_policy_has_a_name_that_no_other_has() {
    let plan = |dedicated: Option<&str>| WebhookPlan {
        dedicated_name: dedicated.map(Into::into),
        shared_name: Some("vpol.validate.example.com".into()),
        ..WebhookPlan::new(AdmissionPhase::Validating, FailurePolicy::Fail, Vec::new())
    };
    let name = |dedicated: Option<&str>| webhook_name(&plan(dedicated), false);
    assert_eq!(name(None), "vpol.validate.example.com-fail");
    assert_eq!(name(Some("vpol.a.b")), "vpol.validate.example.com-fail-finegrained-a.b");
    assert_eq!(name(Some("nvpol.a.b")), "vpol.validate.example.com-fail-finegrained.a.b");
}

#[test]
fn a_webhook_for_policies_of_namespaces_sees_nothing_else() {
    let pods = target("/v1/pods/", false, &[Operation::Create]);
    let mut plan = webhook(AdmissionPhase::Validating, true, vec![pods]);
    plan.namespaces = vec!["a".into(), "b".into()];
    assert_eq!(webhook_name(&plan, false), "a.validate-fail.kubewright.dev");
    let [_, validating] = desired_configurations(&wanted(vec![("validate/fail", &plan)]), &discovery());
    let entry = &entries(&validating)[0];
    let first = entry.at(&["namespaceSelector", "matchExpressions"]).and_then(|all| all.item(0)).unwrap();
    assert_eq!((text(first, "key"), text(first, "operator")), ("kubernetes.io/metadata.name", "In"));
    assert_eq!(texts(first, "values"), ["a", "b"]);
    // The selector is not asked about objects outside of namespaces.
    let rule = entry.get("rules").and_then(|rules| rules.item(0)).unwrap();
    assert_eq!(text(rule, "scope"), "Namespaced");
    plan.shared_name = Some("vpol.validate.example.com".into());
    assert_eq!(webhook_name(&plan, true), "vpol.validate.example.com-fail-exempt-namespaced.a");
}

#[test]
fn a_webhook_is_called_again_only_where_its_policies_ask() {
    let pods = target("/v1/pods/", false, &[Operation::Create]);
    let mut plan = webhook(AdmissionPhase::Mutating, false, vec![pods]);
    for (is_reinvoked, want) in [(true, "IfNeeded"), (false, "Never")] {
        plan.is_reinvoked = is_reinvoked;
        let [mutating, _] = desired_configurations(&wanted(vec![("mutate", &plan)]), &discovery());
        assert!(
            entries(&mutating).iter().all(|entry| text(entry, "reinvocationPolicy") == want),
            "{mutating}"
        );
    }
}
