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
