//! Who comes before whom.

use super::{a, check, done};

const CREATE_B: &str =
    "creates:\n- template: {apiVersion: v1, kind: B, metadata: {name: '${metadata.name}'}}\n";

#[test]
fn a_patch_sees_what_its_own_trait_created() {
    let spec = format!(
        "patches:\n- target: {{group: '', version: v1, kind: B}}\n  operations: [{{op: add, path: /x, value: 1}}]\n{CREATE_B}"
    );
    check(&[], &[&spec], &["{apiVersion: v1, kind: B, metadata: {name: web-dev}, x: 1}"]);
}

#[test]
fn removes_come_last_and_see_what_patches_did() {
    let spec = format!(
        "removes:\n- target: {{group: '', version: v1, kind: B, where: '${{resource.x == 1}}'}}\n\
         patches:\n- target: {{group: '', version: v1, kind: B}}\n  operations: [{{op: add, path: /x, value: 1}}]\n{CREATE_B}"
    );
    check(&[], &[&spec], &[]);
}

#[test]
fn removes_all_look_at_the_same_manifests() {
    // The second condition would find nothing to compare with if the first removal had happened already.
    let of = |kind: &str| format!("{{apiVersion: v1, kind: {kind}, metadata: {{name: x}}}}");
    let spec =
        "removes:\n- target: {group: '', version: v1, kind: A}\n- target: {group: '', version: v1, kind: B}";
    check(&[&of("A"), &of("B"), &of("C")], &[spec], &[&of("C")]);
}

#[test]
fn created_manifests_are_appended_in_order() {
    let spec = "creates:\n- template: {apiVersion: v1, kind: B, metadata: {name: x}}\n- template: {apiVersion: v1, kind: C, metadata: {name: x}}";
    let (b, c) =
        ("{apiVersion: v1, kind: B, metadata: {name: x}}", "{apiVersion: v1, kind: C, metadata: {name: x}}");
    check(&[&a("1")], &[spec], &[&a("1"), b, c]);
}

#[test]
fn operations_run_in_order_and_see_one_another() {
    done("{}", &["add /s/l/- <- 1", "add /s/l/0 <- 0", "remove /s/l/1", "add /s/l/- <- 2"], "{l: [0, 2]}");
}

#[test]
fn traits_run_in_order_and_see_one_another() {
    let two = "patches:\n- target: {group: '', version: v1, kind: B}\n  operations: [{op: add, path: /x, value: 1}]";
    check(&[], &[CREATE_B, two], &["{apiVersion: v1, kind: B, metadata: {name: web-dev}, x: 1}"]);
}

#[test]
fn every_operation_is_done_to_one_target_before_the_next() {
    let of = |name: &str, l: &str| format!("{{apiVersion: v1, kind: A, metadata: {{name: {name}}}, l: {l}}}");
    let spec = "patches:\n- target: {group: '', version: v1, kind: A}\n  operations:\n  - {op: add, path: /l/-, value: 1}\n  - {op: add, path: /l/-, value: 2}";
    check(&[&of("x", "[]"), &of("y", "[0]")], &[spec], &[&of("x", "[1, 2]"), &of("y", "[0, 1, 2]")]);
}

#[test]
fn a_loop_over_a_list_goes_in_its_order() {
    let spec = "patches:\n- target: {group: '', version: v1, kind: A}\n  forEach: ${parameters.names}\n  var: name\n  operations: [{op: add, path: /s/-, value: '${name}'}]";
    check(&[&a("[]")], &[spec], &[&a("[c, a, b]")]);
}

#[test]
fn a_loop_over_a_map_goes_by_key() {
    let spec = "patches:\n- target: {group: '', version: v1, kind: A}\n  forEach: ${parameters.labels}\n  var: label\n  operations: [{op: add, path: '/s/${label.key}', value: '${label.value}'}]";
    check(&[&a("{}")], &[spec], &[&a("{app: web, zone: west}")]);
}

#[test]
fn a_loop_over_nothing_does_nothing() {
    let spec = "patches:\n- target: {group: '', version: v1, kind: A}\n  forEach: ${[]}\n  var: name\n  operations: [{op: add, path: /s, value: 1}]";
    check(&[&a("{}")], &[spec], &[&a("{}")]);
}

#[test]
fn creates_are_decided_once_and_looped_over() {
    let create = |when: &str| {
        format!(
            "creates:\n- includeWhen: {when}\n  forEach: ${{parameters.ports}}\n  var: port\n  template: {{apiVersion: v1, kind: B, metadata: {{name: '${{port.name}}'}}, p: '${{port.number}}'}}"
        )
    };
    check(
        &[],
        &[&create("${size(parameters.ports) > 1}")],
        &[
            "{apiVersion: v1, kind: B, metadata: {name: http}, p: 8080}",
            "{apiVersion: v1, kind: B, metadata: {name: admin}, p: 9090}",
        ],
    );
    check(&[], &[&create("${parameters.isOn}")], &[]);
}

#[test]
fn removes_are_looped_over() {
    let of = |name: &str| format!("{{apiVersion: v1, kind: A, metadata: {{name: {name}}}}}");
    let spec = "removes:\n- target: {group: '', version: v1, kind: A, name: '${name}'}\n  forEach: ${parameters.names}\n  var: name";
    check(&[&of("a"), &of("b"), &of("d")], &[spec], &[&of("d")]);
}
