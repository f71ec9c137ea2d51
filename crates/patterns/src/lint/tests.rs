use kubewright_value::{Source, yaml};

use super::super::compile_pattern_document;

/// Lints a pattern with these fields in its `spec`, the actor `a` where it names none; `want` are the codes.
#[track_caller]
fn check(spec: &str, want: &[&str]) {
    let has_actors = spec.contains("actors:");
    let spec = if has_actors { spec.to_owned() } else { format!("actors: [a]\n{spec}") };
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "version: kubepattern.it/v1\nkind: Pattern\nmetadata: {{name: p, displayName: P, patternType: CUSTOM, severity: INFO, category: Security}}\nspec:\n  message: m\n{spec}"
    );
    let reading = yaml::read(&Source::new("p.yaml", text));
    let (pattern, diagnostics) = compile_pattern_document(&reading.documents[0]);
    assert!(pattern.is_some(), "{diagnostics:?}");
    let codes: Vec<&str> = diagnostics.iter().map(|one| one.code.id).collect();
    assert_eq!(codes, want, "{diagnostics:#?}");
}

fn related(kind: &str, other: &str, entry: &str) -> String {
    format!(
        "topology: SINGLE\nresources: [{{resource: {kind}, id: a, leader: true}}, {{resource: {other}, id: b}}]\nrelationships: [{{id: e, {entry}, resourceIds: [a, b]}}]\n"
    )
}

fn filtered(filters: &str) -> String {
    format!("topology: SINGLE\nresources: [{{resource: Pod, id: a, leader: true, filters: {{{filters}}}}}]\n")
}

const MANDATORY: &str = "required: true, shared: true";

#[test]
fn a_type_that_cannot_link_two_kinds() {
    for (kind, other, name) in [
        ("Pod", "Pod", "MOUNTS"),
        ("Service", "ConfigMap", "EXPOSES"),
        ("Pod", "Secret", "USES_SA"),
        ("Pod", "Pod", "IS_NAMESPACE_OF"),
        ("Namespace", "Node", "IS_NAMESPACE_OF"),
        ("Deployment", "ReplicaSet", "MANAGES"),
        ("Pod", "Service", "REFERENCES_KRATEO"),
    ] {
        check(&related(kind, other, &format!("type: {name}, {MANDATORY}")), &["KW-P031"]);
    }
    for (kind, other, name) in [
        ("Pod", "Service", "EXPOSES"),
        ("Secret", "Deployment", "USES_CONFIG"),
        ("LimitRange", "Namespace", "IS_NAMESPACE_OF"),
        ("Widget", "Pod", "MOUNTS"),
        ("Pod", "Node", "HAS_AFFINITY_TO"),
        ("Table", "Row", "REFERENCES_KRATEO"),
    ] {
        check(&related(kind, other, &format!("type: {name}, {MANDATORY}")), &[]);
    }
}

#[test]
fn points_that_cannot_be_reached() {
    let spec = |minimum: &str| {
        related("Service", "Pod", "type: EXPOSES, required: false, shared: true, weight: 0.5") + minimum
    };
    check(&spec("minRelationshipPoints: 0.5\n"), &[]);
    check(&spec("minRelationshipPoints: 0.6\n"), &["KW-P030"]);
}

#[test]
fn actors_and_resources() {
    let spec = "topology: LEADER_FOLLOWER\nresources: [{resource: Service, id: a, leader: true}, {resource: Pod, id: b}, {resource: Pod, id: c}]\n";
    let related =
        "relationships: [{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [a, b]}]\n";
    check(&format!("{spec}actors: [b, c]\n{related}"), &["KW-P033", "KW-P032"]);
    check(&format!("{spec}actors: [a, b]\n{related}"), &["KW-P034"]);
    check(&related_in_common(), &["KW-P038"]);
}

fn related_in_common() -> String {
    "topology: SINGLE\nresources: [{resource: Pod, id: a, leader: true}, {resource: Pod, id: b}]\ncommonRelationships: [{id: e, type: MOUNTS, required: true, shared: true, resourceIds: [a, b]}]\n".to_owned()
}

#[test]
fn what_is_wanted_and_forbidden() {
    let spec = "topology: SINGLE\nresources: [{resource: Service, id: a, leader: true}, {resource: Pod, id: b}]\nrelationships:\n- {id: x, type: EXPOSES, required: true, shared: true, resourceIds: [a, b]}\n- {id: z, type: EXPOSES, required: true, shared: false, resourceIds: [b, a]}\n";
    check(spec, &["KW-P037"]);
}

#[test]
fn filters_that_nothing_passes() {
    let condition = |key: &str, operator: &str, value: &str| {
        format!("{{key: {key}, operator: {operator}, values: [{value}]}}")
    };
    let all = |one: &str, other: &str| filtered(&format!("matchAll: [{one}, {other}]"));
    check(
        &all(&condition("metadata.name", "EQUALS", "a"), &condition("metadata.name", "EQUALS", "b")),
        &["KW-P036"],
    );
    check(
        &all(&condition("metadata.name", "EQUALS", "a"), "{key: metadata.name, operator: NOT_EXISTS}"),
        &["KW-P036"],
    );
    check(
        &all(&condition("metadata.name", "EQUALS", "a"), &condition("metadata.name", "NOT_EQUALS", "a")),
        &["KW-P036"],
    );
    check(
        &all(
            &condition("'spec.volumes[*].name'", "EQUALS", "a"),
            &condition("'spec.volumes[*].name'", "EQUALS", "b"),
        ),
        &[],
    );
    let one = condition("metadata.name", "EQUALS", "a");
    check(&filtered(&format!("matchAll: [{one}], matchNone: [{one}]")), &["KW-P036"]);
    check(&filtered(&format!("matchAny: [{one}], matchNone: [{one}]")), &["KW-P036"]);
    check(&filtered(&format!("matchAny: [{one}]")), &[]);
}

#[test]
fn paths_that_no_pod_has() {
    let exists = |key: &str| filtered(&format!("matchAll: [{{key: '{key}', operator: EXISTS}}]"));
    for key in [
        "spec.containers[*].redinessProbe",
        "spec.container[*].image",
        "specs.x",
        "status.containerStatuses[*].restarts",
        "spec.containers.name",
    ] {
        check(&exists(key), &["KW-P035"]);
    }
    for key in [
        "spec.containers[*].readinessProbe.exec",
        "metadata.labels[\"x\"]",
        "status.phase",
        "spec.volumes[*].emptyDir",
        "spec.containers[@].resources.limits",
    ] {
        check(&exists(key), &[]);
    }
}

#[test]
fn paths_that_no_kind_of_a_list_has() {
    let exists = |kinds: &str, key: &str| {
        format!(
            "topology: SINGLE\nresources: [{{resource: {kinds}, id: a, leader: true, filters: {{matchAll: [{{key: '{key}', operator: EXISTS}}]}}}}]\n"
        )
    };
    check(&exists("[Pod, Deployment]", "spec.containers[*].image"), &[]);
    check(&exists("[Pod, Deployment]", "spec.template"), &[]);
    check(&exists("[Pod, Deployment]", "spec.nothing"), &["KW-P035"]);
    check(&exists("[Pod, Widget]", "spec.nothing"), &[]);
    check(&exists("[Pod, Deployment, CronJob]", "podTemplate.spec.containers[@].livenessProbe"), &[]);
    check(
        &exists("[Pod, Deployment, CronJob]", "podTemplate.spec.containers[@].redinessProbe"),
        &["KW-P035"],
    );
    check(&exists("[Pod, Deployment]", "podTemplate.status.phase"), &[]);
    check(&exists("[Deployment, Job]", "podTemplate.status.phase"), &["KW-P035"]);
    check(&exists("Service", "podTemplate.spec.containers"), &["KW-P035"]);
    check(&exists("Widget", "podTemplate.spec.containers"), &[]);
}

#[test]
fn of_an_absent_object_only_its_name_is_known() {
    let spec = |key: &str| {
        format!(
            "topology: SINGLE\nresources: [{{resource: Pod, id: a, leader: true}}, {{resource: Secret, presence: ABSENT, id: b, filters: {{matchAll: [{{key: {key}, operator: EXISTS}}]}}}}]\nrelationships: [{{id: e, type: USES_CONFIG, required: true, shared: true, resourceIds: [a, b]}}]\n"
        )
    };
    check(&spec("metadata.name"), &[]);
    check(&spec("metadata.labels.x"), &["KW-P035"]);
    check(&spec("spec"), &["KW-P035"]);
}

#[test]
fn options_that_differ_are_no_contradiction() {
    let spec = |wanted: &str, veto: &str| {
        format!(
            "topology: SINGLE\nresources: [{{resource: Pod, id: a, leader: true}}, {{resource: ConfigMap, id: b}}]\nrelationships:\n- {{id: x, type: USES_CONFIG, required: true, shared: true, resourceIds: [a, b]{wanted}}}\n- {{id: z, type: USES_CONFIG, required: true, shared: false, resourceIds: [a, b]{veto}}}\n"
        )
    };
    check(&spec(", via: 'x*'", ", via: 'y*'"), &[]);
    check(&spec(", via: 'x*'", ""), &["KW-P037"]);
    check(&spec("", ", atLeast: 2"), &[]);
    check(&spec(", atLeast: 2", ", atLeast: 2"), &["KW-P037"]);
    check(&spec("", ", strength: OPTIONAL"), &[]);
}
