//! Which manifests are meant.

use super::{a, check};

/// Checks what a patch that adds `x: 1` does.
#[track_caller]
fn hits(base: &[&str], target: &str, rest: &str, want: &[&str]) {
    let spec =
        format!("patches:\n- target: {target}\n  operations: [{{op: add, path: /x, value: 1}}]\n{rest}");
    check(base, &[&spec], want);
}

const CORE: &str = "{apiVersion: v1, kind: Service, metadata: {name: s}}";
const CORE_HIT: &str = "{apiVersion: v1, kind: Service, metadata: {name: s}, x: 1}";
const KNATIVE: &str = "{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: s}}";
const KNATIVE_HIT: &str = "{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: s}, x: 1}";

#[test]
fn an_empty_group_is_the_core_group_and_none_is_any() {
    hits(&[CORE, KNATIVE], "{group: '', version: v1, kind: Service}", "", &[CORE_HIT, KNATIVE]);
    hits(&[CORE, KNATIVE], "{version: v1, kind: Service}", "", &[CORE_HIT, KNATIVE_HIT]);
    hits(&[CORE, KNATIVE], "{kind: Service}", "", &[CORE_HIT, KNATIVE_HIT]);
    hits(
        &[CORE, KNATIVE],
        "{group: serving.knative.dev, version: v1, kind: Service}",
        "",
        &[CORE, KNATIVE_HIT],
    );
}

#[test]
fn kind_group_and_version_are_compared_to_the_letter() {
    let base = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}}";
    let hit = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, x: 1}";
    let other = "{apiVersion: apps/v1beta1, kind: deployment, metadata: {name: d}}";
    hits(&[base, other], "{group: apps, version: v1, kind: Deployment}", "", &[hit, other]);
}

#[test]
fn a_name_chooses_one_and_may_be_an_expression() {
    let of = |name: &str, x: &str| format!("{{apiVersion: v1, kind: A, metadata: {{name: {name}}}{x}}}");
    let base = [of("web-dev-netpol", ""), of("other", "")];
    let want = [of("web-dev-netpol", ", x: 1"), of("other", "")];
    let target = "{group: '', version: v1, kind: A, name: '${metadata.name}-netpol'}";
    hits(&[&base[0], &base[1]], target, "", &[&want[0], &want[1]]);
}

#[test]
fn a_condition_sees_each_manifest() {
    let of = |n: i64, x: &str| format!("{{apiVersion: v1, kind: A, metadata: {{name: v{n}}}, v: {n}{x}}}");
    let target = "{group: '', version: v1, kind: A, where: '${resource.v > 1}'}";
    hits(
        &[&of(1, ""), &of(2, ""), &of(3, "")],
        target,
        "",
        &[&of(1, ""), &of(2, ", x: 1"), &of(3, ", x: 1")],
    );
}

#[test]
fn an_empty_condition_is_none() {
    hits(&[CORE], "{group: '', version: v1, kind: Service, where: ''}", "", &[CORE_HIT]);
}

#[test]
fn where_is_evaluated_again_for_every_item() {
    let spec = "patches:\n- target: {group: '', version: v1, kind: A, where: '${!has(resource.first)}'}\n  forEach: ${parameters.names}\n  var: name\n  operations: [{op: add, path: /first, value: '${name}'}]";
    let base = "{apiVersion: v1, kind: A, metadata: {name: a}}";
    check(&[base], &[spec], &["{apiVersion: v1, kind: A, metadata: {name: a}, first: c}"]);
}

#[test]
fn a_variable_called_resource_is_hidden_in_conditions_alone() {
    let spec = "patches:\n- target: {group: '', version: v1, kind: A, where: '${resource.kind == \"A\"}'}\n  forEach: ${parameters.names}\n  var: resource\n  operations: [{op: add, path: /s/-, value: '${resource}'}]";
    check(&[&a("[]")], &[spec], &[&a("[c, a, b]")]);
}

#[test]
fn a_patch_stays_on_its_plane() {
    let create = "creates:\n- targetPlane: observabilityplane\n  template: {apiVersion: v1, kind: A, metadata: {name: w}}";
    let (watcher, hit) = (
        "{apiVersion: v1, kind: A, metadata: {name: w}}",
        "{apiVersion: v1, kind: A, metadata: {name: w}, x: 1}",
    );
    let target = "{group: '', version: v1, kind: A}";
    let base = "{apiVersion: v1, kind: A, metadata: {name: a}}";
    let base_hit = "{apiVersion: v1, kind: A, metadata: {name: a}, x: 1}";
    hits(&[base], target, create, &[base_hit, watcher]);
    hits(&[base], target, &format!("  targetPlane: observabilityplane\n{create}"), &[base, hit]);
    hits(&[base], target, &format!("{create}\nremoves: [{{target: {target}}}]"), &[watcher]);
}
