//! What each check says about installations with one thing wrong.

use std::sync::Arc;

use kubewright_cluster::{ApiResource, ApiStatus, DiscoveredResources, Error};
use kubewright_dialects::DialectOptions;
use kubewright_value::{Map, Value, yaml};

use super::finding::{DoctorGrade, DoctorGrade::*};
use super::view::{ClusterView, KindObjects};
use super::{run_checks, webhooks};

fn value(text: &str) -> Value {
    yaml::parse(text).unwrap()
}

/// The resource of OpenReports about the cluster.
fn report_resource() -> ApiResource {
    ApiResource {
        group: "openreports.io".into(),
        version: "v1alpha1".into(),
        resource: "clusterreports".into(),
        kind: "ClusterReport".into(),
        ..ApiResource::default()
    }
}

/// An installation in which all is well but what needs certificates, which are left out.
fn healthy() -> ClusterView {
    let dialects = kubewright_dialects::all_dialects(&DialectOptions::default());
    let dialects: Vec<_> =
        dialects.into_iter().filter(|dialect| dialect.cluster_support().is_some()).collect();
    let watched = dialects.iter().flat_map(|dialect| dialect.cluster_support().unwrap().watched_resources());
    let kinds =
        watched.map(|watched| KindObjects { watched: *watched, objects: Ok(Some(Vec::new())) }).collect();
    let pod = |node: &str| value(&format!("spec: {{nodeName: {node}}}"));
    let image = concat!("kubewright:", env!("CARGO_PKG_VERSION"));
    let mut view = ClusterView {
        name: "kubewright".to_owned(),
        namespace: "kubewright-system".to_owned(),
        now: 0,
        version: "v1.36.3".to_owned(),
        configurations: Ok(Vec::new()),
        deployment: Ok(Some(value(&format!(
            "spec: {{replicas: 3, template: {{spec: {{containers: [{{image: '{image}', args: [serve, --tls-dir=/tls]}}]}}}}}}\n\
             status: {{readyReplicas: 3}}"
        )))),
        scan_deployment: Ok(Some(value("{spec: {replicas: 2}, status: {readyReplicas: 2}}"))),
        scan_lease: Ok(Some(value(
            "spec: {holderIdentity: kubewright-scan-a, renewTime: '1970-01-01T00:00:00.000000Z'}",
        ))),
        summary_report: Ok(None),
        pods: Ok(vec![pod("a"), pod("b"), pod("c")]),
        budgets: Ok(vec![value("spec: {maxUnavailable: 1}")]),
        role: Ok(Some(value("metadata: {name: kubewright, uid: '1'}"))),
        secret: Ok(None),
        namespaces: Ok(Vec::new()),
        resources: Ok(Arc::new(DiscoveredResources::of(vec![report_resource()]))),
        kinds,
        dialects,
        answer: Some(Ok(())),
    };
    let owner = value("[{uid: '1'}]");
    let mut wanted = webhooks::wanted_configurations(&view, &DiscoveredResources::of(Vec::new()));
    for configuration in &mut wanted {
        let metadata = configuration.as_object_mut().unwrap().get_mut("metadata").unwrap();
        metadata.as_object_mut().unwrap().insert("ownerReferences".into(), owner.clone());
    }
    view.configurations = Ok(wanted.to_vec());
    view
}

/// What is said about `what` when one thing is changed.
#[track_caller]
fn check(change: impl FnOnce(&mut ClusterView), what: &str, grade: DoctorGrade, says: &str) {
    let mut view = healthy();
    change(&mut view);
    let findings = run_checks(&view);
    let about: Vec<_> = findings.0.iter().filter(|finding| finding.what == what).collect();
    assert!(
        about.iter().any(|finding| finding.grade == grade && finding.why.contains(says)),
        "nothing {grade:?} about {what} that says {says:?}: {about:#?}"
    );
    assert!(
        about.iter().all(|finding| finding.grade == Well || !finding.mend.is_empty()),
        "no remedy: {about:#?}"
    );
}

fn put(value: &mut Value, path: &[&str], new: Value) {
    let (last, parents) = path.split_last().unwrap();
    let parent =
        parents.iter().fold(value, |value, key| value.as_object_mut().unwrap().get_mut(key).unwrap());
    parent.as_object_mut().unwrap().insert((*last).into(), new);
}

/// The n-th webhook of the configuration of webhooks that judge.
fn webhook<'v>(view: &'v mut ClusterView, name: &str) -> &'v mut Value {
    let all = view.configurations.as_mut().unwrap();
    let webhooks = all.iter_mut().flat_map(|one| {
        one.as_object_mut().unwrap().get_mut("webhooks").unwrap().as_array_mut().unwrap().iter_mut()
    });
    webhooks.into_iter().find(|one| one.get("name").unwrap().as_str().unwrap().starts_with(name)).unwrap()
}

fn deployment(view: &mut ClusterView) -> &mut Value {
    view.deployment.as_mut().unwrap().as_mut().unwrap()
}

#[test]
fn healthy_installation_has_only_certificate_findings() {
    let findings = run_checks(&healthy());
    let wrong: Vec<_> = findings.0.iter().filter(|finding| finding.grade != Well).collect();
    assert!(wrong.iter().all(|finding| finding.what == "certificates"), "{wrong:#?}");
}

#[test]
fn absent_few_or_colocated_servers_are_reported() {
    check(|view| view.deployment = Ok(None), "servers", Bad, "there is no Deployment");
    check(
        |view| put(deployment(view), &["status", "readyReplicas"], 0_i64.into()),
        "servers",
        Bad,
        "none of 3",
    );
    check(
        |view| put(deployment(view), &["status", "readyReplicas"], 2_i64.into()),
        "servers",
        Warn,
        "2 of 3",
    );
    check(|view| put(deployment(view), &["spec", "replicas"], 0_i64.into()), "servers", Bad, "0 replicas");
    check(|view| view.budgets = Ok(Vec::new()), "disruption budget", Warn, "all replicas at once");
    let together = value("spec: {nodeName: a}");
    check(|view| view.pods = Ok(vec![together.clone(), together]), "spread", Warn, "on one node");
}

#[test]
fn absent_changed_or_foreign_webhooks_are_reported() {
    check(|view| view.configurations = Ok(Vec::new()), "webhooks", Bad, "no rule is evaluated");
    check(
        |view| put(webhook(view, "rules."), &["failurePolicy"], "Ignore".into()),
        "webhooks",
        Bad,
        "failurePolicy",
    );
    check(
        |view| put(webhook(view, "rules."), &["name"], "other.example.com".into()),
        "webhooks",
        Bad,
        "is missing",
    );
    check(
        |view| put(webhook(view, "rules."), &["name"], "other.example.com".into()),
        "webhooks",
        Bad,
        "no rule needs",
    );
    let all = Value::from(Map::new());
    check(
        |view| put(webhook(view, "guard."), &["namespaceSelector"], all),
        "exempt namespaces",
        Bad,
        "kube-system",
    );
    let hold = value("metadata: {uid: '1', annotations: {kubewright.dev/webhooks: 'off'}}");
    check(|view| view.role = Ok(Some(hold)), "held", Bad, "held off");
    check(|view| view.role = Ok(Some(value("metadata: {uid: '2'}"))), "uninstalling", Warn, "stays");
}

#[test]
fn dry_run_shows_whether_servers_answer() {
    let said = |message: &str| {
        Some(Err(Error::Status(ApiStatus { code: 500, message: message.to_owned(), ..ApiStatus::default() })))
    };
    check(
        |view| view.answer = said("failed calling webhook \"rules\": refused"),
        "answers",
        Bad,
        "no answer",
    );
    check(
        |view| view.answer = said("admission webhook \"rules\" denied the request"),
        "answers",
        Well,
        "gets an answer",
    );
    check(|view| view.answer = said("forbidden"), "answers", Unseen, "forbidden");
    check(|view| view.answer = None, "answers", Well, "no rule");
}

#[test]
fn rules_that_are_not_in_force_are_reported() {
    let with = |status: &str| {
        let rule = value(&format!("metadata: {{name: a, namespace: shop}}\nstatus: {status}"));
        move |view: &mut ClusterView| view.kinds.first_mut().unwrap().objects = Ok(Some(vec![rule]))
    };
    check(
        with("{conditions: [{type: Ready, status: 'False', message: no select}]}"),
        "rule",
        Bad,
        "shop/a: no select",
    );
    let failed = "{conditions: [{type: Ready, status: 'True'}], lastFailure: {time: t, object: Pod x, message: no key}}";
    check(with(failed), "rule failure", Warn, "no key");
    check(with("{}"), "rules", Warn, "1 of 1 rules have no status");
    check(
        |view| view.kinds.first_mut().unwrap().objects = Ok(None),
        "rules",
        Bad,
        "no CustomResourceDefinition",
    );
}

#[test]
fn unreadable_objects_are_reported_as_unseen() {
    fn no<T>() -> Result<T, String> {
        Err("forbidden".to_owned())
    }
    check(|view| view.deployment = no(), "servers", Unseen, "forbidden");
    check(|view| view.configurations = no(), "webhooks", Unseen, "forbidden");
    check(|view| view.namespaces = no(), "excluded namespaces", Unseen, "forbidden");
    check(|view| view.pods = no(), "spread", Unseen, "forbidden");
}

#[test]
fn exclusions_are_listed() {
    let (key, label) = kubewright_dialects::all_dialects(&DialectOptions::default())
        .iter()
        .find_map(|dialect| dialect.cluster_support()?.ignore_label())
        .unwrap();
    let labelled = value(&format!("metadata: {{name: legacy, labels: {{{key}: '{label}'}}}}"));
    check(|view| view.namespaces = Ok(vec![labelled]), "excluded namespaces", Warn, "legacy by the label");
    let flags = |flag: &str| {
        let containers = value(&format!("[{{image: 'a:1', args: [serve, '{flag}']}}]"));
        move |view: &mut ClusterView| {
            put(deployment(view), &["spec", "template", "spec", "containers"], containers);
        }
    };
    check(flags("--exceptions-from=*"), "exceptions", Warn, "any namespace");
    check(flags("--guard-exempt=alice"), "exempt users", Warn, "alice");
}

#[test]
fn missing_admission_policy_of_a_rule_is_reported() {
    let policy = |status: &str| {
        let rest = format!(
            "kind: ClusterPolicy, metadata: {{name: asks, uid: '1'}}, spec: {{rules: [{{name: r, \
             match: {{any: [{{resources: {{kinds: [Service]}}}}]}}, validate: {{cel: {{generate: true, expressions: [{{expression: 'true'}}]}}}}}}]}}, \
             status: {{validatingadmissionpolicy: {status}}}"
        );
        move |view: &mut ClusterView| {
            let kind = view.kinds.iter_mut().find(|kind| kind.watched.kind == "ClusterPolicy").unwrap();
            let version = format!("{}/{}", kind.watched.group, kind.watched.version);
            kind.objects = Ok(Some(vec![value(&format!("{{apiVersion: {version}, {rest}}}"))]));
        }
    };
    let off = policy("{generated: false, message: it is off}");
    check(off, "admission policies", Warn, "requests one and has none: it is off");
    check(policy("{generated: true, message: ''}"), "admission policies", Well, "enforces 1 rule itself");
}

#[test]
fn webhooks_of_others_that_may_lock_the_cluster_are_told() {
    let other = |more: &str| {
        let text = format!(
            "kind: ValidatingWebhookConfiguration\nmetadata: {{name: other}}\n\
             webhooks: [{{name: w.example.com, failurePolicy: Fail, clientConfig: {{service: {{namespace: others}}}}, {more}}}]"
        );
        let configuration = value(&text);
        move |view: &mut ClusterView| view.configurations.as_mut().unwrap().push(configuration)
    };
    let pods = "rules: [{apiGroups: [''], resources: [pods], operations: [CREATE]}]";
    check(other(pods), "other webhooks", Warn, "its own among them");
    let exempt = "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [others, kube-system]}]}";
    check(other(&format!("{pods}, {exempt}")), "other webhooks", Well, "none");
    check(
        other("rules: [{apiGroups: ['*'], resources: ['*'], operations: ['*']}]"),
        "other webhooks",
        Warn,
        "w.example.com",
    );
    check(
        other(&format!("{pods}, failurePolicy: Ignore").replace("failurePolicy: Fail, ", "")),
        "other webhooks",
        Well,
        "none",
    );
}

#[test]
fn absent_or_inactive_scanner_is_reported() {
    check(|view| view.scan_deployment = Ok(None), "scan", Warn, "there is no scanner");
    let none_ready = value("{spec: {replicas: 2}, status: {}}");
    check(|view| view.scan_deployment = Ok(Some(none_ready)), "scan", Bad, "none of 2");
    check(|view| view.scan_lease = Ok(None), "scan leader", Bad, "ever been active");
    check(|view| view.now = 100, "scan leader", Bad, "has not renewed its Lease for 100 s");
    let released = value("spec: {holderIdentity: '', renewTime: '1970-01-01T00:00:00.000000Z'}");
    check(|view| view.scan_lease = Ok(Some(released)), "scan leader", Bad, "no replica is active");
    let nothing = Arc::new(DiscoveredResources::of(Vec::new()));
    check(|view| view.resources = Ok(nothing), "reports", Warn, "cannot be stored");
    let full = value("metadata: {annotations: {kubewright.dev/left-out-objects: '3'}}");
    check(|view| view.summary_report = Ok(Some(full)), "report cap", Warn, "more failing objects");
}
