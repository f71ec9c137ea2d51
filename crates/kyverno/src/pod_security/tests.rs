//! Tests of levels on Pods, in Kyverno's wording.

use kubewright_engine::{ClosedWorld, DecisionSettings, Dialect as _, Engine, RuleOutcome, RuleStatus};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Source, Value, yaml};

use super::StandardsVersion;
use crate::Kyverno;

fn documents(text: &str) -> Vec<Document> {
    let reading = yaml::read(&Source::new("policy.yaml", text));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    reading.documents
}

/// Returns the rules of a policy with this `podSecurity`, with exceptions from it.
fn engine(profile: &str, exceptions: &str) -> Engine {
    let policy = format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: p}}, spec: {{background: false, rules: \
         [{{name: r, match: {{any: [{{resources: {{kinds: [Pod]}}}}]}}, validate: {{podSecurity: {profile}}}}}]}}}}"
    );
    let exceptions: Vec<Document> =
        documents(exceptions).into_iter().filter(|document| !document.value.is_null()).collect();
    let loaded = Kyverno::new(&exceptions, Default::default()).compile(&documents(&policy)[0], &[]);
    assert!(!loaded.diagnostics.iter().any(|found| found.is_error()), "{:?}", loaded.diagnostics);
    Engine::new(loaded.rules)
}

fn decide(engine: &Engine, object: Value, operation: Operation) -> Vec<RuleOutcome> {
    let mut request = AdmissionRequest::for_object(object.clone(), operation, "default");
    if operation == Operation::Delete {
        request.old_object = object;
    }
    engine.decide(&request, &ClosedWorld::default(), &DecisionSettings::default()).outcomes
}

/// Returns the result of a profile for the Pod with this `spec` and these `annotations`.
fn judged(profile: &str, spec: &str, annotations: &str) -> (RuleStatus, String) {
    let text = format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p, annotations: {annotations}}}, spec: {spec}}}"
    );
    let outcomes = decide(&engine(profile, ""), yaml::parse(&text).unwrap(), Operation::Create);
    let [outcome] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    let message = outcome.message.as_str();
    let findings = message.split_once("\": ").map_or(message, |(_, findings)| findings);
    (outcome.status, findings.to_owned())
}

#[track_caller]
fn passes(profile: &str, spec: &str) {
    let (status, message) = judged(profile, spec, "{}");
    assert_eq!(status, RuleStatus::Pass, "{message}");
}

#[track_caller]
fn fails(profile: &str, spec: &str, expected: &str) {
    assert_eq!(judged(profile, spec, "{}"), (RuleStatus::Fail, expected.to_owned()));
}

/// A container that meets `restricted`, and a Pod with it.
const GOOD: &str =
    "name: a, image: i, securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}";

fn good(more: &str) -> String {
    format!(
        "{{securityContext: {{runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}}, \
         containers: [{{{GOOD}}}]{more}}}"
    )
}

#[test]
fn privileged_forbids_nothing() {
    passes(
        "{level: privileged}",
        "{hostNetwork: true, containers: [{name: a, securityContext: {privileged: true}}]}",
    );
}

#[test]
fn a_bare_pod_meets_baseline_and_not_restricted() {
    passes("{level: baseline}", "{containers: [{name: a}]}");
    fails(
        "{level: restricted, version: latest}",
        "{containers: [{name: a}]}",
        "(Forbidden reason: allowPrivilegeEscalation != false, field error list: \
         [spec.containers[0].securityContext.allowPrivilegeEscalation: Required value])\
         (Forbidden reason: unrestricted capabilities, field error list: \
         [spec.containers[0].securityContext.capabilities.drop: Required value])\
         (Forbidden reason: runAsNonRoot != true, field error list: \
         [spec.containers[0].securityContext.runAsNonRoot: Required value])\
         (Forbidden reason: seccompProfile, field error list: \
         [spec.containers[0].securityContext.seccompProfile.type: Required value])",
    );
    passes("{level: restricted}", &good(""));
}

#[test]
fn the_message_names_level_and_version_as_they_are_written() {
    let pod = || yaml::parse("{kind: Pod, metadata: {name: p}, spec: {hostPID: true}}").unwrap();
    let message = |profile| decide(&engine(profile, ""), pod(), Operation::Create)[0].message.to_string();
    let say = |level: &str| {
        format!(
            "Validation rule 'r' failed. It violates PodSecurity \"{level}\": (Forbidden reason: host namespaces, \
             field error list: [spec.hostPID is forbidden, forbidden values found: true])"
        )
    };
    assert_eq!(message("{level: baseline, version: v1.24}"), say("baseline:v1.24"));
    assert_eq!(message("{level: baseline}"), say("baseline:"));
}

#[test]
fn every_list_of_containers_is_looked_at() {
    let bad = |list: &str| format!("{{{list}: [{{name: a, securityContext: {{privileged: true}}}}]}}");
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let expected = format!(
            "(Forbidden reason: privileged, field error list: [spec.{list}[0].securityContext.privileged is \
             forbidden, forbidden values found: true])"
        );
        fails("{level: baseline}", &bad(list), &expected);
    }
}

#[test]
fn checks_are_those_of_the_version() {
    let root = good("").replace("runAsNonRoot: true", "runAsNonRoot: true, runAsUser: 0");
    passes("{level: restricted, version: v1.22}", &root);
    fails(
        "{level: restricted, version: v1.23}",
        &root,
        "(Forbidden reason: runAsUser=0, field error list: [spec.securityContext.runAsUser is forbidden, forbidden \
         values found: 0])",
    );
    let escalates = "{securityContext: {runAsNonRoot: true}, containers: [{name: a}]}";
    passes("{level: restricted, version: v1.7}", escalates);
    assert_eq!(judged("{level: restricted, version: v1.8}", escalates, "{}").0, RuleStatus::Fail);
    let sysctl = "{securityContext: {sysctls: [{name: net.ipv4.tcp_rmem, value: '1'}]}}";
    passes("{level: baseline, version: v1.32}", sysctl);
    fails(
        "{level: baseline, version: v1.31}",
        sysctl,
        "(Forbidden reason: forbidden sysctls, field error list: [spec.securityContext.sysctls[0].name is forbidden, \
         forbidden values found: net.ipv4.tcp_rmem])",
    );
    let probe = "{containers: [{name: a, livenessProbe: {httpGet: {host: h, port: 1}}}]}";
    passes("{level: baseline, version: v1.33}", probe);
    fails(
        "{level: baseline, version: v1.34}",
        probe,
        "(Forbidden reason: probe or lifecycle host, field error list: [])",
    );
}

#[test]
fn before_fields_there_were_annotations() {
    let annotations = "{seccomp.security.alpha.kubernetes.io/pod: unconfined, \
         container.seccomp.security.alpha.kubernetes.io/a: docker/default}";
    let judge = |version: &str| {
        judged(&format!("{{level: baseline, version: {version}}}"), "{containers: [{name: a}]}", annotations)
    };
    assert_eq!(judge("v1.19").0, RuleStatus::Pass);
    let expected = "(Forbidden reason: seccompProfile, field error list: [spec.template.metadata.annotations\
         [seccomp.security.alpha.kubernetes.io/pod] is forbidden, forbidden values found: unconfined])";
    assert_eq!(judge("v1.18"), (RuleStatus::Fail, expected.to_owned()));
}

#[test]
fn windows_pods_need_not_say_what_only_linux_knows() {
    let windows = "{os: {name: windows}, securityContext: {runAsNonRoot: true}, containers: [{name: a}]}";
    passes("{level: restricted, version: v1.25}", windows);
    assert_eq!(judged("{level: restricted, version: v1.24}", windows, "{}").0, RuleStatus::Fail);
}

#[test]
fn a_pod_with_its_own_users_may_be_root_among_them() {
    let root = good(", hostUsers: false").replace("runAsNonRoot: true", "runAsUser: 0");
    passes("{level: restricted, version: v1.35}", &root);
    assert_eq!(judged("{level: restricted, version: v1.34}", &root, "{}").0, RuleStatus::Fail);
    let proc_mount = "{hostUsers: false, containers: [{name: a, securityContext: {procMount: Unmasked}}]}";
    passes("{level: baseline, version: latest}", proc_mount);
    assert_eq!(judged("{level: baseline, version: v1.34}", proc_mount, "{}").0, RuleStatus::Fail);
    assert!(judged("{level: restricted}", proc_mount, "{}").1.contains("reason: procMount"));
}

#[test]
fn a_volume_without_a_source_is_an_empty_dir() {
    passes("{level: restricted}", &good(", volumes: [{name: v}, {name: w, image: {}}]"));
    fails(
        "{level: restricted}",
        &good(", volumes: [{name: v, hostPath: {path: /x}}, {name: w, futureVolume: {}}]"),
        "(Forbidden reason: hostPath volumes, field error list: [spec.volumes[0].hostPath is forbidden, forbidden \
         values found: /x])(Forbidden reason: restricted volume types, field error list: [spec.volumes[0].hostPath: \
         Forbidden, spec.volumes[1].unknown: Forbidden])",
    );
}

#[test]
fn profiles_of_app_armor_are_counted() {
    let spec = "{securityContext: {appArmorProfile: {type: Unconfined}}, \
         containers: [{name: a, securityContext: {appArmorProfile: {type: Unconfined}}}]}";
    assert!(
        judged("{level: baseline}", spec, "{}")
            .1
            .starts_with("(Forbidden reason: forbidden AppArmor profile,")
    );
    let annotations = "{container.apparmor.security.beta.kubernetes.io/a: unconfined}";
    assert!(
        judged("{level: baseline}", spec, annotations)
            .1
            .starts_with("(Forbidden reason: forbidden AppArmor profiles,")
    );
}

#[test]
fn images_say_which_containers_are_excluded() {
    let profile = "{level: baseline, exclude: [{controlName: Privileged Containers, images: ['nginx*']}]}";
    let spec = |image: &str| {
        format!("{{containers: [{{name: a, image: '{image}', securityContext: {{privileged: true}}}}]}}")
    };
    passes(profile, &spec("nginx:1"));
    assert_eq!(judged(profile, &spec("redis"), "{}").0, RuleStatus::Fail);
}

#[test]
fn without_images_only_the_pod_is_excluded() {
    let profile = "{level: baseline, exclude: [{controlName: Seccomp}]}";
    let spec = "{securityContext: {seccompProfile: {type: Unconfined}}, \
         containers: [{name: a, securityContext: {seccompProfile: {type: Unconfined}}}]}";
    fails(
        profile,
        spec,
        "(Forbidden reason: seccompProfile, field error list: [spec.containers[0].securityContext.seccompProfile.type \
         is forbidden, forbidden values found: Unconfined])",
    );
}

#[test]
fn every_bad_value_must_be_excluded() {
    let profile = "{level: baseline, exclude: [{controlName: Capabilities, images: ['*'], restrictedField: \
         'spec.containers[*].securityContext.capabilities.add', values: ['NET_*']}]}";
    let spec = |add: &str| {
        format!(
            "{{containers: [{{name: a, image: i, securityContext: {{capabilities: {{add: [{add}]}}}}}}]}}"
        )
    };
    passes(profile, &spec("NET_ADMIN, NET_RAW"));
    fails(
        profile,
        &spec("NET_RAW, SYS_ADMIN, NET_RAW"),
        "(Forbidden reason: non-default capabilities, field error list: \
         [spec.containers[0].securityContext.capabilities.add is forbidden, forbidden values found: [NET_RAW \
         SYS_ADMIN]])",
    );
}

const EXCEPTION: &str = "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e, namespace: sec}, spec: \
     {exceptions: [{policyName: p, ruleNames: ['*']}], match: {any: [{resources: {kinds: [Pod]}}]}PODSECURITY}}";

#[test]
fn exceptions_exclude_controls_or_excuse_the_rule() {
    let judge = |pod_security: &str| {
        let exception = EXCEPTION.replace("PODSECURITY", pod_security);
        let pod =
            yaml::parse("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {hostPID: true}}").unwrap();
        let outcomes = decide(&engine("{level: baseline}", &exception), pod, Operation::Create);
        (outcomes[0].status, outcomes[0].message.to_string())
    };
    let skipped = |message: &str| (RuleStatus::Skip, message.to_owned());
    assert_eq!(judge(""), skipped("rule is skipped due to policy exception sec/e"));
    assert_eq!(
        judge(", podSecurity: [{controlName: Host Namespaces}]"),
        skipped("rule is skipped due to policy exceptions sec/e")
    );
    assert_eq!(judge(", podSecurity: [{controlName: Sysctls}]").0, RuleStatus::Fail);
    // It has an error, and so excuses nothing.
    assert_eq!(judge(", podSecurity: [{controlName: Host Namespaces, images: [x]}]").0, RuleStatus::Fail);
}

#[test]
fn controllers_are_checked_where_they_describe_pods() {
    let engine = engine("{level: baseline}", "");
    let judge = |text: &str| decide(&engine, yaml::parse(text).unwrap(), Operation::Create)[0].clone();
    let kinds = [
        "apps/v1, kind: DaemonSet",
        "apps/v1, kind: Deployment",
        "apps/v1, kind: ReplicaSet",
        "apps/v1, kind: StatefulSet",
        "batch/v1, kind: Job",
        "v1, kind: ReplicationController",
    ];
    for kind in kinds {
        let outcome = judge(&format!(
            "{{apiVersion: {kind}, metadata: {{name: x}}, spec: {{template: {{spec: {{hostIPC: true}}}}}}}}"
        ));
        assert!(
            outcome.message.contains("[spec.template.spec.hostIPC is forbidden"),
            "{kind}: {}",
            outcome.message
        );
    }
    let outcome = judge(
        "{apiVersion: batch/v1, kind: CronJob, metadata: {name: x}, spec: {jobTemplate: {spec: {template: {metadata: \
         {annotations: {container.apparmor.security.beta.kubernetes.io/a: unconfined}}, spec: {hostIPC: true}}}}}}",
    );
    assert!(
        outcome.message.contains("[spec.jobTemplate.spec.template.spec.hostIPC is"),
        "{}",
        outcome.message
    );
    assert!(outcome.message.contains("spec.template.metadata.annotations["), "{}", outcome.message);
    assert_eq!(outcome.rule.rule, "autogen-cronjob-r");
}

#[test]
fn a_controller_without_a_description_of_pods_is_good_and_with_a_wrong_one_an_error() {
    let engine = engine("{level: restricted}", "");
    let judge = |spec: &str| {
        let text = format!("{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: x}}, spec: {spec}}}");
        decide(&engine, yaml::parse(&text).unwrap(), Operation::Create)[0].clone()
    };
    assert_eq!(judge("{}").status, RuleStatus::Pass);
    assert_eq!(judge("{template: {spec: null}}").status, RuleStatus::Pass);
    let outcome = judge("{template: [x]}");
    assert_eq!(outcome.status, RuleStatus::Error);
    let expected = "Error while getting new resource: `spec.template` is an array, expected an object";
    assert_eq!(outcome.message, expected);
}

#[test]
fn nothing_is_said_about_a_deletion() {
    let pod = yaml::parse("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {hostPID: true}}").unwrap();
    let outcomes = decide(&engine("{level: baseline}", ""), pod, Operation::Delete);
    assert!(outcomes.iter().all(|outcome| outcome.status == RuleStatus::Skip), "{outcomes:?}");
}

#[test]
fn what_has_the_wrong_type_is_an_error() {
    let (status, message) = judged("{level: baseline}", "{containers: [{ports: [{hostPort: x}]}]}", "{}");
    assert_eq!(status, RuleStatus::Error);
    let expected = "Error while getting new resource: `spec.containers[0].ports.hostPort` is a string, expected a number";
    assert_eq!(message, expected);
    passes(
        "{level: baseline}",
        "{containers: [null, {securityContext: null, ports: [null]}], volumes: null}",
    );
}

#[test]
fn versions_are_latest_or_of_kubernetes() {
    assert_eq!(StandardsVersion::parse("latest"), Some(StandardsVersion::LATEST));
    assert_eq!(StandardsVersion::parse("v1.0"), Some(StandardsVersion::of(0)));
    assert_eq!(StandardsVersion::parse("v1.24"), Some(StandardsVersion::of(24)));
    assert!(StandardsVersion::parse("v1.99999999999999999999") > StandardsVersion::parse("v1.35"));
    for text in ["", "1.24", "v1", "v1.", "v1.x", "v1.01", "v2.0", "v1.-1", "V1.24"] {
        assert_eq!(StandardsVersion::parse(text), None, "{text}");
    }
}

#[test]
fn a_violation_has_properties_for_reports_with_the_images_of_all_bad_containers() {
    let exception = "{apiVersion: kyverno.io/v2, kind: PolicyException, metadata: {name: e, namespace: default}, spec: \
         {exceptions: [{policyName: p, ruleNames: [r]}], match: {any: [{resources: {kinds: [Pod]}}]}, podSecurity: \
         [{controlName: Privileged Containers, images: ['busybox:*']}]}}";
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {hostNetwork: true, containers: \
         [{name: a, image: busybox:1, securityContext: {privileged: true}}, {name: b, image: example.com/b, securityContext: {privileged: true}}]}}";
    let engine = engine("{level: baseline, version: v1.29}", exception);
    let outcomes = decide(&engine, yaml::parse(pod).unwrap(), Operation::Create);
    let [outcome] = outcomes.as_slice() else { panic!("{outcomes:?}") };
    let properties: Vec<String> =
        outcome.properties.iter().map(|(name, text)| format!("{name}={text}")).collect();
    assert_eq!(
        properties,
        [
            "standard=baseline",
            "version=v1.29",
            "controls=hostNamespaces,privileged",
            r#"controlsJSON=[{"ID":"hostNamespaces","Name":"Host Namespaces","Images":null},{"ID":"privileged","Name":"Privileged Containers","Images":["docker.io/busybox:1","example.com/b:latest"]}]"#,
        ]
    );
}
