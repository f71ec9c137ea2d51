//! Webhook configurations on a real control plane: written, restored, removed, and harmless without a server.

use std::time::{Duration, Instant};

use kubewright_cluster::{Discovery, GroupVersionResource};
use kubewright_controlplane::{Balancer, ControlPlaneComponent, TestCluster};
use kubewright_engine::{
    AdmissionPhase, FailurePolicy, KindOrResource, WatchRole, WatchedResource, WebhookPlan, WebhookRule,
};
use kubewright_k8s::Operation;
use kubewright_serve::webhooks::{
    WEBHOOKS_ANNOTATION, WebhookAddress, WebhookInputs, desired_configurations,
};
use kubewright_value::{Text, Value};

use crate::replica::{POLICY, Replica, client, get, settings, time};

const VALIDATING: &str = "validatingwebhookconfigurations";
const MUTATING: &str = "mutatingwebhookconfigurations";

/// A rule that patches, so that there is a webhook of that sort too.
const RULE: &str = "
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: colour, namespace: default}
spec:
  type: Patch
  match: [{select: '$.kind', matchValue: ConfigMap}]
  patch: [{op: add, path: /metadata/labels/colour, value: blue}]
";

/// A cluster with a namespace and a ClusterRole of the name, and replicas that are all ready.
struct Installed {
    replicas: Vec<Replica>,
    balancer: Balancer,
    cluster: TestCluster,
    name: &'static str,
}

fn install(name: &'static str, count: usize) -> Option<Installed> {
    let cluster = TestCluster::start()?;
    cluster.create_namespace(name);
    cluster.kubectl(&["create", "clusterrole", name, "--verb=get", "--resource=pods"], "").expect_success();
    let balancer = Balancer::start().expect("a balancer");
    let rules = format!("{POLICY}---{RULE}");
    let settings = settings(&balancer, name, name);
    let replicas =
        (0..count).map(|_| Replica::start(&cluster, &balancer, settings.clone(), &rules)).collect();
    let installed = Installed { replicas, balancer, cluster, name };
    let cluster = &installed.cluster;
    cluster.wait_until("all are ready", || installed.balancer.ready() == count);
    let written = time(cluster, "the webhooks are there", || installed.exist());
    println!("written {written:?} after the replicas were ready");
    Some(installed)
}

impl Installed {
    fn configuration(&self, resource: &str) -> Option<Value> {
        get(&self.cluster, &[resource, self.name])
    }

    fn webhooks(&self, resource: &str) -> Value {
        let configuration = self.configuration(resource);
        configuration.and_then(|configuration| configuration.get("webhooks").cloned()).unwrap_or_default()
    }

    /// The names of the webhooks that judge.
    fn names(&self) -> Vec<String> {
        let webhooks = self.webhooks(VALIDATING);
        let webhooks = webhooks.as_array().unwrap_or_default().iter();
        webhooks.filter_map(|webhook| webhook.get("name")?.as_str().map(str::to_owned)).collect()
    }

    fn exist(&self) -> bool {
        [MUTATING, VALIDATING].into_iter().all(|resource| self.configuration(resource).is_some())
    }

    fn are_gone(&self) -> bool {
        [MUTATING, VALIDATING].into_iter().all(|resource| self.configuration(resource).is_none())
    }

    /// Changes a configuration by a JSON patch, and says how long it took to be put right.
    #[track_caller]
    fn check_patched(&self, resource: &str, patch: &str) {
        let before = self.webhooks(resource);
        let patch = ["patch", resource, self.name, "--type=json", "-p", patch];
        self.cluster.kubectl(&patch, "").expect_success();
        let back = time(&self.cluster, "it is put right", || self.webhooks(resource) == before);
        println!("{}: put right after {back:?}", patch[5]);
        assert!(back < Duration::from_secs(5), "{back:?}");
    }

    #[track_caller]
    fn stays_gone(&self) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            assert!(self.are_gone(), "made again after {:?}", begun.elapsed());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

#[test]
fn configurations_are_put_right_within_five_seconds_and_replicas_do_not_fight() {
    let Some(installed) = install("mending", 3) else { return };
    let owner = installed.configuration(VALIDATING).expect("it");
    let owner = owner.at(&["metadata", "ownerReferences"]).and_then(|list| list.item(0)).cloned();
    assert_eq!(owner.expect("an owner").get("kind").and_then(Value::as_str), Some("ClusterRole"));

    installed.check_patched(
        VALIDATING,
        r#"[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]"#,
    );
    let never = r#"[{"op":"add","path":"/webhooks/0/matchConditions/-","value":{"name":"never","expression":"false"}}]"#;
    installed.check_patched(VALIDATING, never);
    let never = r#"[{"op":"add","path":"/webhooks/0/matchConditions","value":[{"name":"never","expression":"false"}]}]"#;
    installed.check_patched(MUTATING, never);
    installed.check_patched(MUTATING, r#"[{"op":"remove","path":"/webhooks/0"}]"#);

    let before = installed.webhooks(VALIDATING);
    installed.cluster.kubectl(&["delete", VALIDATING, installed.name], "").expect_success();
    let back = time(&installed.cluster, "it is made again", || installed.webhooks(VALIDATING) == before);
    println!("deleted: made again after {back:?}");
    assert!(back < Duration::from_secs(5), "{back:?}");

    installed.cluster.kill(ControlPlaneComponent::ApiServer);
    installed.cluster.start_again(ControlPlaneComponent::ApiServer).expect("it starts");
    installed.check_patched(VALIDATING, r#"[{"op":"remove","path":"/webhooks/0"}]"#);

    let version = |resource: &str| {
        let configuration = installed.configuration(resource).expect("it");
        configuration.at(&["metadata", "resourceVersion"]).cloned()
    };
    std::thread::sleep(Duration::from_secs(1));
    let before = [version(MUTATING), version(VALIDATING)];
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!([version(MUTATING), version(VALIDATING)], before, "nothing is written without a difference");
}

#[test]
fn what_the_rules_want_is_written_soon_after_they_change() {
    let Some(installed) = install("changing", 2) else { return };
    let names = || installed.names();
    assert!(names().contains(&"validate-fail.kubewright.dev".to_owned()), "{:?}", names());
    assert!(installed.webhooks(MUTATING).item(0).is_some());
    let other = POLICY.replace("failurePolicy: Fail", "failurePolicy: Ignore");
    installed.replicas[0].learn(&other);
    let changed = time(&installed.cluster, "the webhook that refuses is gone", || {
        names().contains(&"validate-ignore.kubewright.dev".to_owned())
    });
    println!("changed after {changed:?}");
    assert!(changed < Duration::from_secs(2), "{changed:?}");
    // The one that hears of it a moment later takes nothing back.
    installed.replicas[1].learn(&other);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(2) {
        assert!(names().contains(&"validate-ignore.kubewright.dev".to_owned()), "{:?}", names());
    }
    assert!(!names().contains(&"validate-fail.kubewright.dev".to_owned()));
    installed.cluster.wait_until("nothing patches", || installed.webhooks(MUTATING).item(0).is_none());
}

#[test]
fn restoring_backs_off_after_five_foreign_changes() {
    let Some(installed) = install("fought", 3) else { return };
    let patch = r#"[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]"#;
    let is_ours = || {
        let policy =
            installed.webhooks(VALIDATING).item(0).and_then(|first| first.get("failurePolicy")).cloned();
        policy.as_ref().and_then(Value::as_str) == Some("Fail")
    };
    let (begun, mut times) = (Instant::now(), 0);
    while begun.elapsed() < Duration::from_secs(20) {
        if is_ours() {
            times += 1;
            let patch = ["patch", VALIDATING, installed.name, "--type=json", "-p", patch];
            installed.cluster.kubectl(&patch, "").expect_success();
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("put right {} times in 20 s by 3 replicas together", times - 1);
    assert!((5..=6).contains(&(times - 1)), "{times}");
    let events = || get(&installed.cluster, &["events", "-n", "default"]).expect("a list");
    installed.cluster.wait_until("an Event says so", || {
        events()
            .get("items")
            .and_then(Value::as_array)
            .unwrap_or_default()
            .iter()
            .any(|event| event.get("reason").and_then(Value::as_str) == Some("WebhookConfigurationFought"))
    });
}

#[test]
fn configurations_go_with_the_role_that_owns_them_and_come_back_with_it() {
    let Some(installed) = install("leaving", 2) else { return };
    installed.cluster.kubectl(&["delete", "clusterrole", "leaving"], "").expect_success();
    let gone = time(&installed.cluster, "they are gone", || installed.are_gone());
    println!("gone after {gone:?}");
    installed.stays_gone();
    let again = ["create", "clusterrole", "leaving", "--verb=get", "--resource=pods"];
    installed.cluster.kubectl(&again, "").expect_success();
    installed.cluster.wait_until("they are back", || installed.exist());

    let off = format!("{WEBHOOKS_ANNOTATION}=off");
    installed.cluster.kubectl(&["annotate", "clusterrole", "leaving", &off], "").expect_success();
    let gone = time(&installed.cluster, "they are gone", || installed.are_gone());
    println!("switched off after {gone:?}");
    installed.stays_gone();
    installed
        .cluster
        .kubectl(&["annotate", "clusterrole", "leaving", &format!("{WEBHOOKS_ANNOTATION}-")], "")
        .expect_success();
    installed.cluster.wait_until("they are back", || installed.exist());

    installed.cluster.kubectl(&["delete", "namespace", "leaving", "--wait=false"], "").expect_success();
    let gone = time(&installed.cluster, "they are gone", || installed.are_gone());
    println!("gone {gone:?} after the namespace was deleted");
    installed.stays_gone();
}

#[test]
fn a_cluster_lives_while_no_replica_does_and_is_judged_again_when_one_is_back() {
    let Some(mut installed) = install("absent", 2) else { return };
    let settings = installed.replicas[0].state.settings.clone();
    installed.replicas.clear();
    let cluster = &installed.cluster;
    let create = |manifest: &str| cluster.kubectl(&["create", "-f", "-"], manifest);
    let map = |namespace: &str, name: &str| {
        create(&format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}}}}}"
        ))
    };
    let refusal = map("default", "refused").failure();
    let bound = ["create", "clusterrolebinding", "absent", "--clusterrole=absent", "--user=absent"];
    assert!(refusal.contains("failed calling webhook"), "{refusal}");

    cluster.kubectl(&bound, "").expect_success();
    map("kube-system", "let-through").expect_success();
    map("absent", "let-through").expect_success();
    map("kube-node-lease", "let-through").expect_success();
    let deployment = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: back, namespace: absent}, spec: {selector:
        {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}}}";
    create(deployment).expect_success();
    cluster.wait_until("a pod of ours is bound", || {
        let pods = get(cluster, &["pods", "-n", "absent"]).expect("a list");
        pods.get("items")
            .and_then(|items| items.item(0))
            .is_some_and(|pod| pod.at(&["spec", "nodeName"]).is_some())
    });
    create("{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: l, namespace: default}, spec: {holderIdentity: me}}").expect_success();
    create("{apiVersion: v1, kind: Event, metadata: {name: e, namespace: default}, involvedObject: {kind: Pod, namespace: default}}").expect_success();
    create("{apiVersion: v1, kind: Node, metadata: {name: fresh}}").expect_success();
    let status = r#"{"status":{"conditions":[{"type":"Ready","status":"True","reason":"r","message":"m"}]}}"#;
    cluster.kubectl(&["patch", "node", "fresh", "--subresource=status", "-p", status], "").expect_success();
    cluster.kubectl(&["label", "node", "fresh", "a=b"], "").expect_success();
    let csr = "{apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, metadata: {name: c}, spec: {signerName: example.com/x, usages: [client auth], request: bm9uc2Vuc2U=}}";
    let said = create(csr);
    assert!(!said.stderr.contains("webhook"), "{said}");
    cluster.kubectl(&["auth", "can-i", "get", "pods"], "").expect_success();
    let token = cluster.kubectl(&["create", "token", "default", "-n", "absent"], "");
    assert!(token.is_success(), "{token}");

    installed.replicas.push(Replica::start(cluster, &installed.balancer, settings, POLICY));
    let back = time(cluster, "one is back", || map("default", "let-through").is_success());
    println!("judged again {back:?} after one replica was started");
    let agent = create(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: bond, namespace: default, labels: {agent: 'yes'}}}",
    );
    assert!(agent.failure().contains("agents are not welcome"));
}

#[test]
fn a_policy_of_a_namespace_holds_up_no_other_while_no_replica_answers() {
    let Some(mut installed) = install("tenants", 1) else { return };
    installed.cluster.create_namespace("greedy");
    installed.cluster.create_namespace("modest");
    let greedy = POLICY
        .replace("kind: ClusterPolicy", "kind: Policy")
        .replace("no-secret-agents", "greedy, namespace: greedy")
        .replace("failurePolicy: Fail", "failurePolicy: Fail\n  webhookTimeoutSeconds: 30");
    let modest =
        greedy.replace("greedy", "modest").replace("'*'", "Service").replace("Seconds: 30", "Seconds: 2");
    installed.replicas[0].learn(&format!("{greedy}---{modest}"));
    installed.cluster.wait_until("each has its own", || {
        let names = installed.names();
        let has = |name: &str| names.iter().any(|one| one == name);
        has("greedy.validate-fail.kubewright.dev")
            && has("modest.validate-fail.kubewright.dev")
            && !has("validate-fail.kubewright.dev")
    });
    let cluster = &installed.cluster;
    let create = |kind: &str, namespace: &str, more: &str| {
        let object = format!("{{kind: {kind}, metadata: {{generateName: a-, {namespace}}}, {more}}}");
        cluster.kubectl(&["create", "-f", "-"], &object)
    };
    let map =
        |namespace: &str| create("ConfigMap, apiVersion: v1", &format!("namespace: {namespace}"), "data: {}");
    let agent = || {
        let metadata = "namespace: greedy, labels: {agent: 'yes'}";
        create("ConfigMap, apiVersion: v1", metadata, "data: {}").stderr
    };
    cluster.wait_until("the policy is in force", || agent().contains("agents are not welcome"));

    installed.replicas.clear();
    let cluster = &installed.cluster;
    cluster.wait_until("it is refused", || !map("greedy").is_success());
    assert!(map("greedy").failure().contains("failed calling webhook"));
    let service = |namespace: &str| {
        create("Service, apiVersion: v1", &format!("namespace: {namespace}"), "spec: {ports: [{port: 80}]}")
    };
    assert!(service("modest").failure().contains("failed calling webhook"));
    map("modest").expect_success();
    map("default").expect_success();
    service("default").expect_success();
    // Objects outside of namespaces are in none of a tenant's.
    let role = "ClusterRole, apiVersion: rbac.authorization.k8s.io/v1";
    create(role, "labels: {agent: 'yes'}", "rules: []").expect_success();
    cluster.kubectl(&["create", "namespace", "new"], "").expect_success();
    cluster.kubectl(&["label", "namespace", "greedy", "a=b"], "").expect_success();
}

#[test]
fn match_conditions_belong_to_one_policy_and_a_wrong_one_does_not_block_others() {
    let Some(installed) = install("choosing", 1) else { return };
    let policy = |name: &str, condition: &str| {
        let conditions =
            format!("webhookConfiguration: {{matchConditions: [{{name: c, expression: \"{condition}\"}}]}}");
        let policy =
            POLICY.replace("no-secret-agents", name).replace("agents are not", &format!("{name}s are not"));
        policy.replace("background: false", &format!("background: false\n  {conditions}"))
    };
    let good = policy("spy", "request.name.startsWith('spy')");
    let wrong = policy("mole", "request.nonsense == 'x'");
    installed.replicas[0].learn(&format!("{wrong}---{good}---{RULE}"));
    installed.cluster.wait_until("the webhook of the one is there", || {
        installed.names().iter().any(|name| name.starts_with("cpol.spy.validate"))
    });
    assert!(!installed.names().iter().any(|name| name.contains("mole")), "{:?}", installed.names());
    let create = |name: &str| {
        let agent = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: default, labels: {{agent: 'yes'}}}}}}"
        );
        installed.cluster.kubectl(&["create", "-f", "-"], &agent)
    };
    installed.cluster.wait_until("the condition counts", || !create("spy-1").is_success());
    let refusal = create("spy-2").failure();
    assert!(refusal.contains("spys are not welcome"), "{refusal}");
    create("bond").expect_success();

    installed.replicas[0].learn(&format!("{}---{good}", policy("mole", "request.name.startsWith('mole')")));
    installed.cluster.wait_until("that of the other too, once it is right", || {
        installed.names().iter().any(|name| name.starts_with("cpol.mole.validate"))
    });
}

#[test]
fn where_the_program_of_a_language_is_installed_its_rules_are_left_to_it() {
    let Some(cluster) = TestCluster::builder().api_server_only().start() else { return };
    cluster.kubectl(&["create", "namespace", "beside"], "").expect_success();
    let theirs = "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration,
        metadata: {name: kyverno-policy-validating-webhook-cfg}, webhooks: []}";
    cluster.kubectl(&["create", "-f", "-"], theirs).expect_success();
    let balancer = Balancer::start().expect("a balancer");
    let replica = Replica::start(&cluster, &balancer, settings(&balancer, "beside", "beside"), POLICY);
    cluster.wait_until("the webhooks are there", || get(&cluster, &[VALIDATING, "beside"]).is_some());
    let ours = get(&cluster, &[VALIDATING, "beside"]).expect("it");
    let webhooks = ours.get("webhooks").and_then(Value::as_array).expect("webhooks");
    let checking =
        webhooks.iter().find(|one| one.get("name").and_then(Value::as_str) == Some("rules.kubewright.dev"));
    let groups = kubewright_value::json::to_string(checking.expect("it").get("rules").expect("rules"));
    assert!(groups.contains("api.kubemod.io") && !groups.contains("kyverno.io"), "{groups}");
    let theirs = get(&cluster, &[VALIDATING, "kyverno-policy-validating-webhook-cfg"]).expect("it");
    assert_eq!(theirs.at(&["metadata", "generation"]).and_then(Value::as_i64), Some(1), "left alone");
    drop(replica);
}

#[test]
fn every_configuration_is_one_that_the_api_server_takes() {
    let Some(cluster) = TestCluster::builder().api_server_only().start() else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let client = client(&cluster);
    let resources = runtime.block_on(Discovery::new(client.clone()).refreshed()).expect("discovery");
    let kind = WatchedResource {
        group: "rules.test",
        version: "v1",
        resource: "checks",
        kind: "Check",
        role: WatchRole::Rule,
    };
    let exempt = ["user:a'\"b".to_owned(), "group:c".to_owned()];
    let mut state = 1_u64;
    let mut below = move |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("small") % end
    };
    for _ in 0..60 {
        let hooks: Vec<WebhookPlan> = (0..4).map(|number| any_webhook(&mut below, number)).collect();
        let wanted = WebhookInputs {
            name: "any",
            namespace: "kubewright-system",
            address: WebhookAddress::Service { namespace: "a".to_owned(), name: "b".to_owned() },
            bundle: None,
            hooks: hooks.iter().map(|hook| ("validate/own/x.y", hook)).collect(),
            kinds: vec![kind],
            checked: vec![kind],
            labels: vec![("rules.test/ignore", "true")],
            observes_pod_bindings: true,
            exempt: &exempt,
            owner: None,
            injected_from: Some("a/b"),
        };
        for (wanted, plural) in desired_configurations(&wanted, &resources).iter().zip([MUTATING, VALIDATING])
        {
            let mut path = GroupVersionResource::new("admissionregistration.k8s.io", "v1", plural).all();
            path.query.push(("dryRun".into(), "All".into()));
            let made = runtime.block_on(client.create(&path, wanted)).expect("it is taken");
            // What is wanted says every default, so it comes back as it was sent.
            let none = Value::array(Vec::new());
            assert_eq!(made.get("webhooks").unwrap_or(&none), wanted.get("webhooks").expect("webhooks"));
        }
    }
}

fn any_webhook(below: &mut impl FnMut(usize) -> usize, number: usize) -> WebhookPlan {
    let mut one = |of: &[&str]| of.get(below(of.len())).map_or(Text::default(), |text| Text::from(*text));
    let mut target = || {
        let name = match one(&["kind", "resource"]).as_str() {
            "kind" => KindOrResource::Kind(one(&["*", "Pod", "Node", "D*", "?ob", "Scale", "Lease"])),
            _ => KindOrResource::Resource(one(&["*", "pods", "nodes", "deployments", "events"])),
        };
        WebhookRule {
            group: one(&["", "*", "apps", "*.k8s.io"]),
            version: one(&["*", "v1", "v?"]),
            name,
            subresource: one(&["", "", "*", "status", "exec", "s*"]),
            operations: Operation::ALL.into_iter().filter(|_| one(&["", "x"]).is_empty()).collect(),
        }
    };
    let rules = (0..5).map(|_| target()).collect();
    let phase = if number.is_multiple_of(2) { AdmissionPhase::Mutating } else { AdmissionPhase::Validating };
    let failure_policy = if one(&["", "x"]).is_empty() { FailurePolicy::Ignore } else { FailurePolicy::Fail };
    WebhookPlan {
        dedicated_name: Some(format!("own-{number}").into()),
        timeout_seconds: 7,
        match_conditions: vec![("c".into(), "request.operation != 'x'".into())],
        ..WebhookPlan::new(phase, failure_policy, rules)
    }
}
