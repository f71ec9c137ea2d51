//! What goes beyond the contract.

use super::*;

/// A Deployment in namespace `n` whose Pods have a label `app` and further fields.
fn deployment(name: &str, app: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: 'n'}}\nspec: {{template: {{metadata: {{labels: {{app: {app}}}}}, spec: {{containers: [{{name: c, image: i}}]{}{spec}}}}}}}\n",
        if spec.is_empty() { "" } else { ", " }
    )
}

#[test]
fn a_role_may_be_of_several_kinds() {
    let spec = format!(
        "message: m\ntopology: SINGLE\nresources: [{LEADER}, {{resource: [Pod, apps/v1/Deployment], id: w}}]\nrelationships: [{{id: e, type: EXPOSES, required: true, shared: false, resourceIds: [s, w]}}]\n"
    );
    let text = [
        service("a", "a"),
        service("b", "b"),
        service("c", "c"),
        pod("p", "a", ""),
        deployment("d", "b", ""),
    ];
    check(&spec, &text.concat(), &["n/c: 0"]);
    let leads =
        "message: m\ntopology: SINGLE\nresources: [{resource: [Service, Pod], id: x, leader: true}]\n";
    check(leads, &[service("b", "x"), pod("a", "x", "")].concat(), &["n/a: 0", "n/b: 0"]);
    let groups =
        "message: m\ntopology: SINGLE\nresources: [{resource: [Thing.a.io, Service], id: x, leader: true}]\n";
    let text = "---\n{apiVersion: a.io/v1, kind: Thing, metadata: {name: a}}\n---\n{apiVersion: b.io/v2, kind: Thing, metadata: {name: b}}\n";
    check(groups, text, &["a: 0"]);
}

/// A pattern with a leading Pod `p` and another resource `o`, with one relationship.
fn pod_and(other: &str, entry: &str) -> String {
    format!(
        "message: '{{{{o.name}}}}'\ntopology: SINGLE\nresources: [{{resource: [Pod, Deployment], id: p, leader: true}}, {{{other}, id: o}}]\nrelationships: [{{id: e, required: true, shared: true, resourceIds: [p, o], {entry}}}]\n"
    )
}

/// Returns the messages of the findings.
fn messages(spec: &str, text: &str) -> Vec<String> {
    let (graph, pattern) = (graph(text), pattern(spec));
    let found = run(&pattern, &graph, &DetectionSettings::default());
    assert_same_when_trimmed(&pattern, text);
    found.findings.into_iter().map(|finding| finding.message).collect()
}

const CONFIG: &str = "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: there, namespace: 'n'}}\n";

#[test]
fn what_is_absent_can_fill_a_role() {
    let spec = |filters: &str| {
        pod_and(&format!("resource: [ConfigMap, Secret], presence: ABSENT{filters}"), "type: USES_CONFIG")
    };
    let text = [CONFIG.to_owned(), pod("a", "a", &config("there")), pod("b", "b", &config("gone"))].concat();
    check(&spec(""), &text, &["n/b: 0"]);
    assert_eq!(messages(&spec(""), &text), ["gone"]);
    let named = |name: &str| {
        spec(&format!(
            ", filters: {{matchAll: [{{key: metadata.name, operator: EQUALS, values: [{name}]}}, {{key: apiVersion, operator: EQUALS, values: [v1]}}]}}"
        ))
    };
    check(&named("gone"), &text, &["n/b: 0"]);
    check(&named("there"), &text, &[]);
    let present = pod_and("resource: ConfigMap, presence: present", "type: USES_CONFIG");
    check(&present, &text, &["n/a: 0"]);
}

#[test]
fn absence_may_mean_something_only_where_others_of_the_kind_are_listed() {
    let spec = |kinds: &str| {
        pod_and(
            &format!("resource: [ConfigMap, Secret], presence: ABSENT, ifListed: {kinds}"),
            "type: USES_CONFIG",
        )
    };
    let secret = "volumes: [{name: v, secret: {secretName: gone}}]";
    let text = [CONFIG.to_owned(), pod("a", "a", secret), pod("b", "b", &config("gone"))].concat();
    check(&spec("Secret"), &text, &["n/b: 0"]);
    check(&spec("[ConfigMap, Secret]"), &text, &["n/b: 0"]);
    check(&spec("ConfigMap"), &text, &["n/a: 0", "n/b: 0"]);
    check(&spec("'*'"), &pod("b", "b", &config("gone")), &[]);
}

#[test]
fn a_part_of_a_text_may_be_compared() {
    let spec = |criterion: &str| {
        format!(
            "message: m\ntopology: SINGLE\nresources: [{{resource: Pod, id: p, leader: true}}, {{resource: ConfigMap, id: c}}]\nrelationships: [{{id: e, type: CUSTOM, required: true, shared: true, resourceIds: [p, c], criteria: [{{{criterion}, operator: EQUALS}}]}}]\n"
        )
    };
    let text = [CONFIG.to_owned(), pod("a-there", "a", ""), pod("there", "b", "")].concat();
    check(
        &spec("path: metadata.name, transform: {regex: '-(.*)$'}, otherPath: metadata.name"),
        &text,
        &["n/a-there: 0"],
    );
    check(&spec("path: metadata.name, otherPath: metadata.name, otherTransform: {regex: '^'}"), &text, &[]);
}

#[test]
fn an_absent_object_may_be_an_actor_and_its_kind_is_not_missed() {
    let spec = "message: '{{p.name}} {{o.kind}} {{o.namespace}}/{{o.name}}'\ntopology: LEADER_FOLLOWER\nactors: [p, o]\nresources: [{resource: Pod, id: p, leader: true}, {resource: Secret, presence: ABSENT, id: o}]\nrelationships: [{id: e, type: USES_CONFIG, required: true, shared: true, resourceIds: [p, o]}]\n";
    let text = pod("b", "b", "volumes: [{name: v, secret: {secretName: gone}}]");
    assert_eq!(messages(spec, &text), ["b Secret n/gone"]);
    let found = run(&pattern(spec), &graph(&pod("a", "a", "")), &DetectionSettings::default());
    assert!(found.findings.is_empty() && found.diagnostics.is_empty(), "{:?}", found.diagnostics);
}

#[test]
fn the_template_of_pods_is_where_the_kind_has_it() {
    let spec = "message: '{{p.name}} {{p.podTemplate.spec.hostNetwork}}'\ntopology: SINGLE\nresources: [{resource: [Pod, Deployment, CronJob, Widget, Service, PodTemplate], id: p, leader: true, filters: {matchAll: [{key: 'podTemplate.spec.containers[@].image', operator: EQUALS, values: [i]}, {key: 'podTemplate.spec.containers[@].name', operator: EQUALS, values: [c]}, {key: podTemplate.spec.hostNetwork, operator: EXISTS}]}}]\n";
    let template = "{spec: {hostNetwork: true, containers: [{name: c, image: i}]}}";
    let text = [
        pod("a", "a", "hostNetwork: true"),
        pod("b", "b", ""),
        deployment("c", "c", "hostNetwork: false"),
        format!("---\n{{apiVersion: batch/v1, kind: CronJob, metadata: {{name: d, namespace: 'n'}}, spec: {{jobTemplate: {{spec: {{template: {template}}}}}}}}}\n"),
        format!("---\n{{apiVersion: x.io/v1, kind: Widget, metadata: {{name: e, namespace: 'n'}}, spec: {{template: {template}}}}}\n"),
        "---\n{apiVersion: x.io/v1, kind: Widget, metadata: {name: f, namespace: 'n'}, spec: {template: {spec: {hostNetwork: true}}}}\n".to_owned(),
        format!("---\n{{apiVersion: v1, kind: PodTemplate, metadata: {{name: g, namespace: 'n'}}, template: {template}}}\n"),
        service("h", "h"),
        "---\n{apiVersion: v1, kind: Pod, metadata: {name: i, namespace: 'n'}, spec: {hostNetwork: true, containers: [{name: c, image: j}, {name: d, image: i}]}}\n".to_owned(),
    ];
    let mut found = messages(spec, &text.concat());
    found.sort();
    assert_eq!(found, ["a true", "c false", "d true", "e true", "g true"]);
}

#[test]
fn only_edges_of_a_strength_count() {
    let text = [
        CONFIG.to_owned(),
        pod("a", "a", "volumes: [{name: v, configMap: {name: there}}]"),
        "---\n{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: 'n'}, spec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: there}}]}]}}\n".to_owned(),
        "---\n{apiVersion: v1, kind: Pod, metadata: {name: c, namespace: 'n'}, spec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: there, optional: true}}, {configMapRef: {name: there}}]}]}}\n".to_owned(),
    ]
    .concat();
    let spec = |strength: &str| pod_and("resource: ConfigMap", &format!("type: USES_CONFIG{strength}"));
    check(&spec(""), &text, &["n/a: 0", "n/b: 0", "n/c: 0"]);
    check(&spec(", strength: REQUIRED"), &text, &["n/b: 0", "n/c: 0"]);
    check(&spec(", strength: optional"), &text, &["n/a: 0", "n/c: 0"]);
    check(&spec(", strength: [REQUIRED, OPTIONAL]"), &text, &["n/a: 0", "n/b: 0", "n/c: 0"]);
    check(&spec(", strength: PREFERRED"), &text, &[]);
}

#[test]
fn only_edges_through_a_field_count_and_the_evidence_names_it() {
    let text = [
        CONFIG.to_owned(),
        pod("a", "a", &config("there")),
        "---\n{apiVersion: v1, kind: Pod, metadata: {name: b, namespace: 'n'}, spec: {volumes: [{name: v, configMap: {name: there}}], containers: [{name: c, image: i, env: [{name: E, valueFrom: {configMapKeyRef: {name: there, key: k}}}]}]}}\n".to_owned(),
    ]
    .concat();
    let spec = |via: &str| pod_and("resource: ConfigMap", &format!("type: USES_CONFIG, via: {via}"));
    let env = spec("'*.env[*].valueFrom.*'");
    check(&env, &text, &["n/b: 0"]);
    check(&spec("['*.env[*].*', '*.volumes[*].*']"), &text, &["n/a: 0", "n/b: 0"]);
    check(&spec("'*.envFrom[*]*'"), &text, &[]);
    let graph = graph(&text);
    let found = run(&pattern(&env), &graph, &DetectionSettings::default());
    let via = found.findings[0].evidence[0].via.as_str();
    assert_eq!(via, "spec.containers[0].env[0].valueFrom.configMapKeyRef");
}

#[test]
fn what_two_have_in_common_may_have_to_come_through_a_field() {
    let spec = |options: &str| {
        format!(
            "message: m\ntopology: LEADER_FOLLOWER\nactors: [a, b]\ndedupe: UNORDERED\nresources: [{{resource: Pod, id: a, leader: true}}, {{resource: Pod, id: b}}]\ncommonRelationships: [{{id: e, required: true, shared: true, resourceIds: [a, b]{options}}}]\n"
        )
    };
    let env = |name: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: 'n'}}, spec: {{containers: [{{name: c, image: i, envFrom: [{{configMapRef: {{name: x}}}}]}}]}}}}\n"
        )
    };
    let text = [pod("a", "a", &config("x")), env("b"), env("c")].concat();
    check(&spec(", type: USES_CONFIG"), &text, &["n/a n/b: 0", "n/a n/c: 0", "n/b n/c: 0"]);
    check(&spec(", type: USES_CONFIG, via: '*.envFrom*'"), &text, &["n/b n/c: 0"]);
    let empty =
        |name: &str, volume: &str| pod(name, name, &format!("volumes: [{{name: {volume}, emptyDir: {{}}}}]"));
    let text =
        [empty("a", "v"), empty("b", "v"), pod("c", "c", "volumes: [{name: v, hostPath: {path: /x}}]")];
    let text = text.concat() + &pod("d", "d", "volumes: [{name: w, hostPath: {path: /x}}]");
    check(&spec(", type: MOUNTS"), &text, &["n/a n/b: 0", "n/a n/c: 0", "n/b n/c: 0", "n/c n/d: 0"]);
    check(&spec(", type: MOUNTS, matchByName: false"), &text, &["n/c n/d: 0"]);
}

#[test]
fn at_least_so_many_objects() {
    let spec = |flags: &str, count: usize| {
        format!(
            "message: '{{{{count(w)}}}}'\ntopology: SINGLE\nresources: [{LEADER}, {{resource: Pod, id: w}}]\nminRelationshipPoints: 0\nrelationships: [{{id: e, type: EXPOSES, {flags}, atLeast: {count}, resourceIds: [s, w]}}]\n"
        )
    };
    let text = [
        service("a", "a"),
        service("b", "b"),
        service("c", "c"),
        pod("p", "a", ""),
        pod("q", "b", ""),
        pod("r", "b", ""),
    ]
    .concat();
    let mandatory = "required: true, shared: true";
    check(&spec(mandatory, 1), &text, &["n/a: 0", "n/b: 0"]);
    check(&spec(mandatory, 2), &text, &["n/b: 0"]);
    assert_eq!(messages(&spec(mandatory, 2), &text), ["2"]);
    check(&spec(mandatory, 3), &text, &[]);
    check(&spec("required: true, shared: false", 2), &text, &["n/a: 0", "n/c: 0"]);
    check(&spec("required: false, shared: true, weight: 1", 2), &text, &["n/a: 0", "n/b: 1", "n/c: 0"]);
    check(&spec("required: false, shared: false, weight: 1", 2), &text, &["n/a: 1", "n/b: 0", "n/c: 1"]);
}

#[test]
fn at_least_so_many_of_a_follower() {
    let spec = "message: m\ntopology: LEADER_FOLLOWER\nactors: [p, s]\nresources: [{resource: Pod, id: p, leader: true}, {resource: Service, id: s}, {resource: Pod, id: w}]\nrelationships: [{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}, {id: f, type: EXPOSES, required: true, shared: true, atLeast: 2, resourceIds: [s, w]}]\n";
    let text =
        [service("a", "a"), service("b", "b"), pod("p", "a", ""), pod("q", "b", ""), pod("r", "b", "")];
    check(spec, &text.concat(), &["n/q n/b: 0", "n/r n/b: 0"]);
}

/// An object with an owner.
fn owned(kind: &str, name: &str, owner: &str) -> String {
    let (owner_kind, owner) = owner.split_once('/').unwrap_or_default();
    format!(
        "---\n{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: {name}, namespace: 'n', ownerReferences: [{{apiVersion: apps/v1, kind: {owner_kind}, name: {owner}}}]}}}}\n"
    )
}

#[test]
fn owners_of_owners() {
    let spec = |options: &str| {
        format!(
            "message: m\ntopology: LEADER_FOLLOWER\nactors: [d, o]\nresources: [{{resource: Deployment, id: d, leader: true}}, {{resource: Thing, id: o}}]\nrelationships: [{{id: e, type: OWNS, required: true, shared: true, resourceIds: [d, o]{options}}}]\n"
        )
    };
    let text = [
        deployment("d", "d", ""),
        owned("ReplicaSet", "r", "Deployment/d"),
        owned("Thing", "t", "ReplicaSet/r"),
    ]
    .concat();
    check(&spec(""), &text, &[]);
    check(&spec(", transitive: true"), &text, &["n/d n/t: 0"]);
    check(&spec(", transitive: true, direction: FORWARD"), &text, &["n/d n/t: 0"]);
    check(&spec(", transitive: true, direction: BACKWARD"), &text, &[]);
    let graph = graph(&text);
    let found = run(&pattern(&spec(", transitive: true")), &graph, &DetectionSettings::default());
    let evidence = &found.findings[0].evidence[0];
    assert_eq!(evidence.through.map(|id| name(&graph, id)).as_deref(), Some("n/r"));
    assert_eq!(evidence.via, "metadata.ownerReferences[0]");
}

#[test]
fn values_of_two_objects_are_compared_besides_the_edge() {
    let spec = |criteria: &str| {
        format!(
            "message: m\ntopology: LEADER_FOLLOWER\nactors: [s, p]\nresources: [{LEADER}, {{resource: Pod, id: p}}]\nrelationships: [{{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p], criteria: [{criteria}]}}]\n"
        )
    };
    let text = [service("a", "x"), pod("a", "x", ""), pod("b", "x", ""), pod("c", "y", "")].concat();
    check(&spec("{path: metadata.name, otherPath: metadata.name, operator: EQUALS}"), &text, &["n/a n/a: 0"]);
    check(
        &spec("{path: metadata.name, otherPath: metadata.name, operator: NOT_EQUALS}"),
        &text,
        &["n/a n/b: 0"],
    );
}

#[test]
fn a_custom_relationship_is_criteria_alone_from_either_side() {
    let spec = |first: &str, second: &str, criteria: &str| {
        format!(
            "message: m\ntopology: LEADER_FOLLOWER\nactors: [s, p]\nresources: [{LEADER}, {{resource: [Pod, Deployment], id: p}}]\nrelationships: [{{id: e, type: CUSTOM, required: true, shared: true, resourceIds: [{first}, {second}], criteria: [{criteria}]}}]\n"
        )
    };
    let text = [service("a", "x"), service("b", "z"), pod("a", "x", ""), deployment("b", "x", "")].concat();
    let forward = spec(
        "s",
        "p",
        "{path: spec.selector.app, otherPath: podTemplate.metadata.labels.app, operator: EQUALS}",
    );
    check(&forward, &text, &["n/a n/b: 0", "n/a n/a: 0"]);
    let backward =
        spec("p", "s", "{path: podTemplate.metadata.labels.app, otherPath: spec.selector.app, operator: IN}");
    check(&backward, &text, &["n/a n/b: 0", "n/a n/a: 0"]);
    let both = spec(
        "p",
        "s",
        "{path: podTemplate.metadata.labels.app, otherPath: spec.selector.app, operator: EQUALS}, {path: metadata.name, otherPath: metadata.name, operator: NOT_EQUALS}",
    );
    check(&both, &text, &["n/a n/b: 0"]);
}

#[test]
fn one_element_may_be_meant_throughout_the_criteria() {
    let spec = "message: m\ntopology: SINGLE\nresources: [{resource: Service, id: s, leader: true}, {resource: Pod, id: p, filters: {matchAll: [{key: 'spec.containers[@].image', operator: EQUALS, values: [bad]}]}}]\nrelationships: [{id: e, type: CUSTOM, required: true, shared: true, resourceIds: [s, p], criteria: [{path: 'spec.ports[@].name', otherPath: 'spec.containers[@].name', operator: EQUALS}, {path: 'spec.ports[@].port', otherPath: 'spec.containers[@].ports[*].containerPort', operator: EQUALS}]}]\n";
    let service = |name: &str, port: u16| {
        format!(
            "---\n{{apiVersion: v1, kind: Service, metadata: {{name: {name}, namespace: 'n'}}, spec: {{ports: [{{name: a, port: 1}}, {{name: b, port: {port}}}]}}}}\n"
        )
    };
    let pod = "---\n{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: 'n'}, spec: {containers: [{name: a, image: good, ports: [{containerPort: 1}]}, {name: b, image: bad, ports: [{containerPort: 2}]}]}}\n";
    check(spec, &[service("s", 2), service("t", 1), pod.to_owned()].concat(), &["n/s: 0"]);
}

#[test]
fn conditions_about_all_elements_or_none() {
    let spec = |group: &str, operator: &str, quantifier: &str| {
        format!(
            "message: m\ntopology: SINGLE\nresources: [{{resource: Pod, id: p, leader: true, filters: {{{group}: [{{key: 'spec.containers[*].livenessProbe', operator: {operator}, quantifier: {quantifier}}}]}}}}]\n"
        )
    };
    let pod = |name: &str, containers: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: 'n'}}, spec: {{containers: [{containers}]}}}}\n"
        )
    };
    let text = [
        pod("all", "{name: a, livenessProbe: {}}, {name: b, livenessProbe: {}}"),
        pod("none", "{name: a}, {name: b}"),
        pod("some", "{name: a, livenessProbe: {}}, {name: b}"),
        pod("zero", ""),
    ]
    .concat();
    check(&spec("matchAll", "EXISTS", "ANY"), &text, &["n/all: 0", "n/some: 0"]);
    check(&spec("matchAll", "EXISTS", "ALL"), &text, &["n/all: 0", "n/zero: 0"]);
    check(&spec("matchAll", "EXISTS", "EACH_LACKS"), &text, &["n/none: 0", "n/zero: 0"]);
    check(&spec("matchAll", "NOT_EXISTS", "ALL"), &text, &["n/none: 0", "n/zero: 0"]);
    check(&spec("matchAll", "NOT_EXISTS", "eachLacks"), &text, &["n/all: 0", "n/zero: 0"]);
    check(&spec("matchNone", "EXISTS", "ALL"), &text, &["n/none: 0", "n/some: 0"]);
}

#[test]
fn the_same_objects_in_other_roles_may_be_one_finding() {
    let spec = |more: &str| {
        format!(
            "message: m\ntopology: LEADER_FOLLOWER\nactors: [a, b]\nresources: [{{resource: Pod, id: a, leader: true}}, {{resource: Pod, id: b}}]\ncommonRelationships: [{{id: e, type: USES_CONFIG, required: true, shared: true, resourceIds: [a, b]}}]\n{more}"
        )
    };
    let text: String = ["p", "q", "r"].iter().map(|name| pod(name, "x", &config("c"))).collect();
    check(
        &spec("dedupe: ORDERED\n"),
        &text,
        &["n/p n/q: 0", "n/p n/r: 0", "n/q n/p: 0", "n/q n/r: 0", "n/r n/p: 0", "n/r n/q: 0"],
    );
    check(&spec("dedupe: unordered\n"), &text, &["n/p n/q: 0", "n/p n/r: 0", "n/q n/r: 0"]);
}

#[test]
fn an_edge_of_one_of_several_types_and_of_any() {
    let spec = |entry: &str| {
        format!(
            "message: m\ntopology: SINGLE\nresources: [{{resource: Secret, id: c, leader: true}}, {{resource: '*', id: u}}]\nrelationships: [{{id: e, {entry}, required: true, shared: true, resourceIds: [c, u]}}]\n"
        )
    };
    let secret = |name: &str| {
        format!("---\n{{apiVersion: v1, kind: Secret, metadata: {{name: {name}, namespace: 'n'}}}}\n")
    };
    let text = [
        secret("a"),
        secret("b"),
        secret("c"),
        pod("p", "p", "volumes: [{name: v, secret: {secretName: a}}]"),
        "---\n{apiVersion: v1, kind: ServiceAccount, metadata: {name: s, namespace: 'n'}, imagePullSecrets: [{name: b}]}\n".to_owned(),
        "---\n{apiVersion: v1, kind: Namespace, metadata: {name: 'n'}}\n".to_owned(),
    ]
    .concat();
    check(&spec("type: MOUNTS"), &text, &["n/a: 0"]);
    check(&spec("type: [MOUNTS, PULLS_WITH]"), &text, &["n/a: 0", "n/b: 0"]);
    check(&spec("type: ANY"), &text, &["n/a: 0", "n/b: 0"]);
    check(&spec("type: any, direction: BACKWARD"), &text, &["n/a: 0", "n/b: 0"]);
    check(&spec("type: ANY, direction: FORWARD"), &text, &[]);
    check(&spec("type: ANY, via: 'imagePullSecrets*'"), &text, &["n/b: 0"]);
    check(&spec("type: IS_NAMESPACE_OF"), &text, &["n/a: 0", "n/b: 0", "n/c: 0"]);
    let graph = graph(&text);
    let found = run(&pattern(&spec("type: [MOUNTS, PULLS_WITH]")), &graph, &DetectionSettings::default());
    let told: Vec<String> = found
        .findings
        .iter()
        .map(|finding| format!("{} {}", finding.evidence[0].relationship, finding.evidence[0].via))
        .collect();
    assert_eq!(told, ["MOUNTS spec.volumes[0].secret", "PULLS_WITH imagePullSecrets[0]"]);
}

#[test]
fn what_two_have_in_common_may_be_of_several_types() {
    let spec = |types: &str| {
        format!(
            "message: m\ntopology: LEADER_FOLLOWER\nactors: [a, b]\ndedupe: UNORDERED\nresources: [{{resource: Pod, id: a, leader: true}}, {{resource: Pod, id: b}}]\ncommonRelationships: [{{id: e, type: {types}, required: true, shared: true, resourceIds: [a, b]}}]\n"
        )
    };
    let text = [
        pod("a", "a", "serviceAccountName: s"),
        pod("b", "b", "serviceAccountName: s"),
        pod("c", "c", &config("x")),
        pod("d", "d", &config("x")),
    ]
    .concat();
    check(&spec("USES_SA"), &text, &["n/a n/b: 0"]);
    check(&spec("[USES_SA, USES_CONFIG]"), &text, &["n/a n/b: 0", "n/c n/d: 0"]);
}

#[test]
fn criteria_with_values_defaults_and_several_paths() {
    let spec = |criteria: &str| {
        format!(
            "message: m\ntopology: SINGLE\nresources: [{{resource: Pod, id: p, leader: true}}, {{resource: Thing, id: t}}]\nrelationships: [{{id: e, type: CUSTOM, required: true, shared: true, resourceIds: [p, t], criteria: [{criteria}]}}]\n"
        )
    };
    let thing = |name: &str, fields: &str| {
        format!("---\n{{apiVersion: x.io/v1, kind: Thing, metadata: {{name: {name}}}, {fields}}}\n")
    };
    let pods = [pod("a", "a", "priority: 5"), pod("b", "b", "")].concat();
    let global = pods.clone() + &thing("t", "isDefault: true") + &thing("u", "isDefault: false");
    check(&spec("{value: true, otherPath: isDefault, operator: EQUALS}"), &global, &["n/a: 0", "n/b: 0"]);
    check(&spec("{value: maybe, otherPath: isDefault, operator: EQUALS}"), &global, &[]);
    let one = pods.clone() + &thing("t", "priority: 1");
    check(&spec("{path: spec.priority, otherPath: priority, operator: EQUALS}"), &one, &[]);
    check(
        &spec("{path: spec.priority, default: 1, otherPath: priority, operator: EQUALS}"),
        &one,
        &["n/b: 0"],
    );
    check(
        &spec("{path: spec.priority, otherPath: missing, otherDefault: 5, operator: EQUALS}"),
        &one,
        &["n/a: 0"],
    );
    let named = pods + &thing("t", "names: [x], more: [b]");
    check(&spec("{path: metadata.name, otherPath: names, operator: EQUALS}"), &named, &[]);
    check(&spec("{path: metadata.name, otherPath: [names, more], operator: EQUALS}"), &named, &["n/b: 0"]);
    check(
        &spec(
            "{path: apiVersion, otherValue: v1, operator: EQUALS}, {path: metadata.name, otherPath: [names, 'more[*]'], operator: CONTAINS}",
        ),
        &named,
        &["n/b: 0"],
    );
}

#[test]
fn an_element_inside_of_an_element_and_both_in_the_message() {
    let spec = "message: '{{p.podTemplate.spec.containers[@].name}}: {{p.podTemplate.spec.containers[@].env[@].name}}'\ntopology: SINGLE\nresources: [{resource: [Pod, Deployment], id: p, leader: true, filters: {matchAll: [{key: 'podTemplate.spec.containers[@].env[@].name', operator: MATCHES, values: [PASS]}, {key: 'podTemplate.spec.containers[@].env[@].value', operator: EXISTS}]}}]\n";
    let pod = |name: &str, containers: &str| {
        format!(
            "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, namespace: 'n'}}, spec: {{containers: [{containers}]}}}}\n"
        )
    };
    let text = [
        pod(
            "a",
            "{name: x, env: [{name: PASS1, value: v}, {name: HOST, value: h}, {name: PASS2, value: v}]}, {name: w, env: [{name: PASS3, value: v}]}, {name: z}",
        ),
        pod(
            "b",
            "{name: x, env: [{name: PASS}, {name: HOST, value: h}]}, {name: w, env: [{name: OTHER, value: v}]}",
        ),
        pod("c", "{name: x}"),
    ];
    assert_eq!(messages(spec, &text.concat()), ["x, w: PASS1, PASS2, PASS3"]);
}

#[test]
fn an_absent_object_may_be_compared_with_what_is_there() {
    let spec = "message: '{{p.name}} {{m.kind}} {{m.name}} {{score}}'\ntopology: LEADER_FOLLOWER\nactors: [p, m]\nresources: [{resource: Pod, id: p, leader: true}, {resource: '*', presence: ABSENT, id: m}, {resource: [ConfigMap, Secret], id: o}]\nrelationships:\n- {id: e, type: [USES_CONFIG, MOUNTS], required: true, shared: true, resourceIds: [p, m]}\n- {id: f, type: CUSTOM, required: false, shared: true, weight: 1, resourceIds: [m, o], criteria: [{path: kind, otherPath: kind, operator: EQUALS}]}\n";
    let text = [
        CONFIG.to_owned(),
        pod("a", "a", &config("gone")),
        pod("b", "b", "volumes: [{name: v, secret: {secretName: lost}}]"),
    ];
    assert_eq!(messages(spec, &text.concat()), ["a ConfigMap gone 1", "b Secret lost 0"]);
}
