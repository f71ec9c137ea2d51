use kubewright_value::{Value, json};

use super::*;
use crate::{DrawOptions, scene::build_scene};
use kubewright_graph::References;

/// Objects written as `Kind/namespace/name`, `Kind/namespace/name <Owner/name` or `Kind/namespace/name "field":value`.
fn graph(objects: &[&str]) -> Graph {
    Graph::build(objects.iter().map(|text| object(text)), &References::default())
}

fn object(text: &str) -> Value {
    let (name, fields) = text.split_once(' ').unwrap_or((text, ""));
    let parts: Vec<&str> = name.split('/').collect();
    let [kind, namespace, name] = parts[..] else { panic!("`{name}` has three parts") };
    let version = match kind {
        "Deployment" | "ReplicaSet" | "StatefulSet" => "apps/v1",
        "RoleBinding" => "rbac.authorization.k8s.io/v1",
        _ => "v1",
    };
    let owner = fields.strip_prefix('<').and_then(|owner| owner.split_once('/'));
    let owners = owner.map_or_else(String::new, |(kind, name)| {
        let owner =
            format!(r#""apiVersion":"apps/v1","kind":"{kind}","name":"{name}","uid":"{kind}-{name}""#);
        format!(r#","ownerReferences":[{{{owner},"controller":true}}]"#)
    });
    let fields = if owner.is_some() || fields.is_empty() { String::new() } else { format!(",{fields}") };
    let named = format!(r#""name":"{name}","namespace":"{namespace}","uid":"{kind}-{name}""#);
    let text =
        format!(r#"{{"apiVersion":"{version}","kind":"{kind}","metadata":{{{named}{owners}}}{fields}}}"#);
    json::parse(&text).expect("an object")
}

/// Returns `Kind/name` of all boxes and `from>to` of all lines.
fn drawn(graph: &Graph, choice: &PictureScope) -> String {
    let mut drawn = Picture::of(graph, choice);
    drawn.picture.simplify();
    let picture = drawn.picture;
    let mut words: Vec<String> =
        picture.nodes.iter().map(|node| format!("{}/{}", node.kind, node.label)).collect();
    let name = |place: usize| picture.nodes[place].label.to_string();
    words.extend(picture.lines.iter().map(|line| format!("{}>{}", name(line.from), name(line.to))));
    words.join(" ")
}

#[track_caller]
fn check(objects: &[&str], choice: &PictureScope, want: &str) {
    assert_eq!(drawn(&graph(objects), choice), want);
}

const POD: &str = r#"Pod/shop/web "spec":{"nodeName":"n1","containers":[{"name":"c","image":"web:1","envFrom":[{"configMapRef":{"name":"settings"}}]}]}"#;

#[test]
fn images_nodes_and_namespaces_are_left_out_and_counted() {
    let objects = [POD, "Namespace//shop", "ConfigMap/shop/settings"];
    check(&objects, &PictureScope::default(), "ConfigMap/settings Pod/web web>settings");
    let drawn = Picture::of(&graph(&objects), &PictureScope::default());
    let left_out: Vec<String> =
        drawn.left_out.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
    assert_eq!(left_out.join(", "), "1 Image, 1 Namespace, 1 Node");
}

#[test]
fn everything_is_drawn_where_it_is_asked_for() {
    let everything = PictureScope { everything: true, ..PictureScope::default() };
    let want = "Image/web:1 Namespace/shop Node/n1 ConfigMap/settings Pod/web web>settings web>n1 web>web:1";
    check(&[POD, "Namespace//shop", "ConfigMap/shop/settings"], &everything, want);
}

#[test]
fn what_is_named_and_not_there_is_drawn_as_absent() {
    let drawn = Picture::of(&graph(&[POD]), &PictureScope::default());
    let classes: Vec<(&str, Class)> =
        drawn.picture.nodes.iter().map(|node| (node.label.as_str(), node.class)).collect();
    assert_eq!(classes, [("settings", Class::Absent), ("web", Class::Plain)]);
}

#[test]
fn only_the_wanted_types_and_what_they_join() {
    let graph = graph(&[POD, "ConfigMap/shop/settings", "ConfigMap/shop/other"]);
    let types = vec![graph.edge_type("USES_IMAGE").expect("a type")];
    let choice = PictureScope { types, ..PictureScope::default() };
    assert_eq!(drawn(&graph, &choice), "Image/web:1 Pod/web web>web:1");
}

#[test]
fn what_a_namespace_is_linked_to_is_faded() {
    let binding = r#"RoleBinding/shop/all "roleRef":{"kind":"Role","name":"edit"},"subjects":[{"kind":"ServiceAccount","name":"web","namespace":"other"}]"#;
    let objects = ["ServiceAccount/shop/web", "ServiceAccount/other/web", "Pod/other/web", binding];
    let choice = PictureScope { namespaces: vec!["shop".into()], ..PictureScope::default() };
    let drawn = Picture::of(&graph(&objects), &choice);
    let all = drawn.picture.nodes.iter().map(|node| format!("{}:{:?}", node.id, node.class));
    assert_eq!(
        all.collect::<Vec<_>>().join(" "),
        "ServiceAccount/other/web:Faded Role.rbac.authorization.k8s.io/shop/edit:Absent \
         RoleBinding.rbac.authorization.k8s.io/shop/all:Plain ServiceAccount/shop/web:Plain"
    );
}

#[test]
fn the_only_replica_set_of_a_deployment_is_passed_over() {
    let objects = [
        "Deployment/shop/web",
        "ReplicaSet/shop/web-1 <Deployment/web",
        "Pod/shop/web-1-a <ReplicaSet/web-1",
        "Pod/shop/web-1-b <ReplicaSet/web-1",
    ];
    check(
        &objects,
        &PictureScope::default(),
        "Deployment/web Pod/web-1-a Pod/web-1-b web>web-1-a web>web-1-b",
    );
    let mut two = objects.to_vec();
    two.push("ReplicaSet/shop/web-2 <Deployment/web");
    let want = "Deployment/web Pod/web-1-a Pod/web-1-b ReplicaSet/web-1 ReplicaSet/web-2 web>web-1 web>web-2 web-1>web-1-a web-1>web-1-b";
    check(&two, &PictureScope::default(), want);
}

#[test]
fn a_focus_that_is_left_out_elsewhere_has_its_lines() {
    let graph = graph(&[POD, "Node//n1", "ConfigMap/shop/settings"]);
    let node = graph.find("", "Node", "", "n1");
    let choice = PictureScope { focus: node, keep: node.into_iter().collect(), ..PictureScope::default() };
    assert_eq!(drawn(&graph, &choice), "Node/n1 ConfigMap/settings Pod/web web>settings web>n1");
}

#[test]
fn copies_of_one_controller_share_a_box_and_a_pod_alone_does_not() {
    let mut objects =
        vec!["StatefulSet/shop/db".to_owned(), "Pod/shop/naked".to_owned(), "Pod/shop/naked-2".to_owned()];
    objects.extend((0..50).map(|at| format!("Pod/shop/db-{at} <StatefulSet/db")));
    let objects: Vec<&str> = objects.iter().map(String::as_str).collect();
    let picture = Picture::of(&graph(&objects), &PictureScope::default()).picture;
    let boxes = |merges| {
        let scene = build_scene(&picture, DrawOptions { merges, ..DrawOptions::default() });
        scene.glyphs.iter().map(|glyph| (glyph.label.to_string(), glyph.count)).collect::<Vec<_>>()
    };
    let want = [("db", 1), ("db-*", 50), ("naked", 1), ("naked-2", 1)];
    assert_eq!(boxes(true), want.map(|(name, count)| (name.to_owned(), count)));
    assert_eq!(boxes(false).len(), 53);
}

#[test]
fn the_order_of_objects_does_not_show() {
    let mut objects = vec![
        POD,
        "ConfigMap/shop/settings",
        "Deployment/shop/web",
        "Namespace//shop",
        "Pod/shop/w <Deployment/web",
    ];
    let first = Picture::of(&graph(&objects), &PictureScope::default()).picture;
    objects.reverse();
    assert_eq!(first, Picture::of(&graph(&objects), &PictureScope::default()).picture);
}
