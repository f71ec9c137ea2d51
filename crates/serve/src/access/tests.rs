use std::sync::Arc;

use kubewright_engine::{CloneSource, RuleId};
use kubewright_k8s::{Operation, Operations};

use kubewright_value::json;

use super::ask::account_groups;
use super::*;

fn resource(group: &str, version: &str, resource: &str, kind: &str) -> ApiResource {
    ApiResource {
        group: group.into(),
        version: version.into(),
        resource: resource.into(),
        kind: kind.into(),
        is_namespaced: kind != "Namespace",
        ..ApiResource::default()
    }
}

fn served() -> DiscoveredResources {
    DiscoveredResources::of(vec![
        resource("", "v1", "configmaps", "ConfigMap"),
        resource("", "v1", "namespaces", "Namespace"),
        resource("apps", "v1", "deployments", "Deployment"),
        resource("apps", "v1beta1", "deployments", "Deployment"),
        resource("", "v1", "events", "Event"),
        resource("events.k8s.io", "v1", "events", "Event"),
    ])
}

fn rule(group: &str, kind: &str) -> WebhookRule {
    let (kind, part) = kind.split_once('/').unwrap_or((kind, ""));
    WebhookRule {
        group: group.into(),
        version: "*".into(),
        name: KindOrResource::Kind(kind.into()),
        subresource: part.into(),
        operations: [Operation::Create].into_iter().collect::<Operations>(),
    }
}

/// Returns what the rules of a policy in `namespace` do, as the RBAC rules that permit it.
fn accesses(namespace: &str, program: &BackgroundProgram) -> Vec<String> {
    let (served, namespace) = (served(), Text::from(namespace));
    let scope =
        AccessScope { served: &served, named: &|rules| exactly_named(rules, &served), namespace: &namespace };
    scope.of_program(program).iter().map(ToString::to_string).collect()
}

fn mutates(triggers: &[WebhookRule], targets: &[WebhookRule]) -> BackgroundProgram {
    BackgroundProgram::Mutate(MutateProgram {
        rule: Arc::new(RuleId { dialect: "test", policy: "p".into(), rule: "r".into() }),
        triggers: triggers.to_vec(),
        targets: targets.to_vec(),
        mutates_existing: false,
        skips_background_requests: true,
        reads_requester: false,
        is_judged_by_targets: false,
    })
}

#[test]
fn targets_are_read_and_updated_in_the_namespace_of_the_policy() {
    let program = mutates(&[rule("*", "Namespace")], &[rule("apps", "Deployment")]);
    let want = [
        "{apiGroups: [\"\"], resources: [namespaces], verbs: [get, list, watch]}",
        "{apiGroups: [\"apps\"], resources: [deployments], verbs: [get, list, update]} in namespace shop",
    ];
    assert_eq!(accesses("shop", &program), want);
}

#[test]
fn a_part_is_updated_and_its_object_is_read() {
    let want = [
        "{apiGroups: [\"apps\"], resources: [deployments], verbs: [get, list]}",
        "{apiGroups: [\"apps\"], resources: [deployments/scale], verbs: [get, update]}",
    ];
    assert_eq!(accesses("", &mutates(&[], &[rule("apps", "Deployment/scale")])), want);
}

#[test]
fn wildcards_and_kinds_of_two_groups_are_left_out() {
    let unclear = [rule("*", "*"), rule("*", "Event"), rule("*", "Deploy*"), rule("*", "Widget")];
    assert_eq!(accesses("", &mutates(&unclear, &unclear)), Vec::<String>::new());
}

#[test]
fn copies_need_the_source_and_synchronised_ones_more() {
    let generates = |synchronizes| {
        BackgroundProgram::Generate(GenerateProgram {
            rule: Arc::new(RuleId { dialect: "test", policy: "p".into(), rule: "r".into() }),
            triggers: Vec::new(),
            downstreams: vec![DownstreamTemplate {
                api_version: Some("v1".into()),
                kind: Some("ConfigMap".into()),
                namespace: None,
                name: Some("copy".into()),
                source: Some(CloneSource { namespace: Some("shop".into()), name: Some("source".into()) }),
            }],
            synchronizes,
            orphans_downstream: false,
            generates_existing: false,
            uses_server_side_apply: false,
            generates_on_delete: false,
            deletes_stale_downstream: false,
            skips_background_requests: true,
            reapplies: false,
            reads_requester: false,
        })
    };
    let source = "{apiGroups: [\"\"], resources: [configmaps], verbs: [get]} in namespace shop";
    let made = "{apiGroups: [\"\"], resources: [configmaps], verbs: [get, create]}";
    assert_eq!(accesses("", &generates(false)), [made, source]);
    let kept =
        "{apiGroups: [\"\"], resources: [configmaps], verbs: [get, create, update, delete, list, watch]}";
    assert_eq!(accesses("", &generates(true)), [kept, source]);
    let inside = accesses("home", &generates(false));
    let want = "{apiGroups: [\"\"], resources: [configmaps], verbs: [get, create]} in namespace home";
    assert_eq!(inside.first().map(String::as_str), Some(want));
}

#[test]
fn an_account_is_in_the_groups_of_its_namespace() {
    let groups = account_groups(&account_user("kubewright-system", "kubewright-scan"));
    assert_eq!(
        json::to_string(&groups),
        r#"["system:authenticated","system:serviceaccounts","system:serviceaccounts:kubewright-system"]"#
    );
}
