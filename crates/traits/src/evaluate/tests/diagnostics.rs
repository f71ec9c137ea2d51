//! The diagnostics of a rendering and their places.

use super::{a, patch, rendered, said, says};
use crate::{RenderContext, RenderOptions, ResourceLibrary};
use kubewright_value::{Source, yaml};

const SERVICE: &str = "{apiVersion: v1, kind: Service, metadata: {name: s}}";

/// Checks the reason why a patch matches nothing.
#[track_caller]
fn misses(base: &[&str], target: &str, rest: &str, want: &str) {
    let spec =
        format!("patches:\n- target: {target}\n  operations: [{{op: add, path: /x, value: 1}}]\n{rest}");
    says(base, &[&spec], &[&format!("KW-R034 one.yaml:{want}")]);
}

#[test]
fn a_patch_that_hits_nothing_says_why() {
    let none = "6:5 the patch hits nothing:";
    let check = |target: &str, want: &str| misses(&[SERVICE], target, "", &format!("{none} {want}"));
    check(
        "{group: apps, version: v1, kind: Service}",
        "Service `s` is of `v1` | write `group: \"\"` and `version: v1`",
    );
    check("{group: '', version: v1, kind: Servce}", "there is no Servce of v1 | did you mean `Service`?");
    check(
        "{group: apps, version: v1, kind: Deployment}",
        "there is no Deployment of apps/v1 | the manifests are of the kinds Service",
    );
    check(
        "{group: '', version: v1, kind: Service, name: '${metadata.name}'}",
        "no Service of v1 has the name `web-dev` | there is `s`",
    );
    let knative = "{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: k}}";
    misses(
        &[knative, SERVICE],
        "{group: '', version: v1, kind: Service, name: k}",
        "",
        &format!("{none} no Service of v1 has the name `k` | there is `s`"),
    );
    misses(
        &[SERVICE],
        "{group: '', version: v1, kind: Service}",
        "  targetPlane: observabilityplane",
        &format!("{none} Service `s` goes to the dataplane | write `targetPlane: dataplane`"),
    );
    misses(&[], "{group: '', version: v1, kind: A}", "", &format!("{none} there are no manifests"));
}

#[test]
fn where_that_matches_nothing_is_reported_if_it_reads_the_manifest() {
    let when = |condition: &str| {
        format!(
            "patches:\n- target: {{group: '', version: v1, kind: Service, where: '${{{condition}}}'}}\n  operations: [{{op: add, path: /x, value: 1}}]"
        )
    };
    says(
        &[SERVICE],
        &[&when("resource.metadata.name == \"t\"")],
        &["KW-R034 one.yaml:6:53 the patch hits nothing: `where` holds for no Service of v1"],
    );
    // A condition about parameters is a switch, and may be off.
    says(&[SERVICE], &[&when("parameters.isOn")], &[]);
}

#[test]
fn a_loop_over_nothing_misses_nothing() {
    let spec = "patches:\n- target: {group: '', version: v1, kind: B}\n  forEach: ${[]}\n  var: one\n  operations: [{op: add, path: /x, value: 1}]";
    says(&[SERVICE], &[spec], &[]);
}

#[test]
fn strict_rendering_fails_where_a_patch_hits_nothing() {
    let spec = "patches:\n- target: {group: '', version: v1, kind: B}\n  operations: [{op: add, path: /x, value: 1}]";
    for strict in [false, true] {
        let rendering = rendered(&[SERVICE], &[spec], RenderOptions { strict, trace: false });
        assert_eq!((said(&rendering).len(), rendering.has_failed()), (1, strict));
    }
}

#[test]
fn strict_rendering_fails_where_nothing_reads_a_parameter() {
    let spec = "schema: {sizes: \"integer | default=1\"}";
    for strict in [false, true] {
        let rendering = rendered(&[SERVICE], &[spec], RenderOptions { strict, trace: false });
        assert!(said(&rendering).iter().all(|said| said.starts_with("KW-R039")), "{:?}", said(&rendering));
        assert_eq!(rendering.has_failed(), strict);
    }
}

/// Checks the diagnostics about the second of two traits with these operations.
#[track_caller]
fn overlaps(one: &str, two: &str, want: Option<&str>) {
    let help = "the later trait wins; let one of the two write it, or give one a condition";
    let want: Vec<String> =
        want.map(|want| format!("KW-R035 two.yaml:{want} | {help}")).into_iter().collect();
    let want: Vec<&str> = want.iter().map(String::as_str).collect();
    says(&[&a("{}")], &[&patch(&[one]), &patch(&[two])], &want);
}

#[test]
fn field_written_by_two_traits_is_reported() {
    let written = |place: &str| {
        format!("9:13 Trait `two` writes `{place}` of A `a`, which Trait `one` wrote at one.yaml:9:13")
    };
    overlaps("add /s/k <- 1", "add /s/k <- 2", Some(&written("/s/k")));
    overlaps("add /s/k <- {b: 1}", "add /s/k/b <- 2", Some(&written("/s/k/b")));
    overlaps("add /s/k/b <- 1", "replace /s <- {}", Some(&written("/s/k/b")));
    overlaps(
        "add /s/k <- 1",
        "remove /s/k",
        Some("8:26 Trait `two` removes `/s/k` of A `a`, which Trait `one` wrote at one.yaml:9:13"),
    );
}

#[test]
fn traits_that_write_different_fields_are_not_reported() {
    overlaps("add /s/k <- {b: 1}", "add /s/k/c <- 2", None);
    overlaps("add /s/l/- <- 1", "add /s/l/- <- 2", None);
    says(&[&a("{}")], &[&patch(&["add /s/k <- 1", "add /s/k <- 2"])], &[]);
}

#[test]
fn overwriting_a_manifest_created_by_another_trait_is_reported() {
    says(
        &[],
        &[
            "creates:\n- template: {apiVersion: v1, kind: A, metadata: {name: a}, s: {k: 1}}",
            &patch(&["add /s/k <- 4"]),
        ],
        &[
            "KW-R035 two.yaml:9:13 Trait `two` writes `/s/k` of A `a`, which Trait `one` wrote at one.yaml:6:5 | the later trait wins; let one of the two write it, or give one a condition",
        ],
    );
}

#[test]
fn overwriting_a_component_type_resource_is_not_reported() {
    let kinds = [
        "Environment\nmetadata: {name: dev}\nspec: {dataPlaneRef: {name: plane}}",
        "DataPlane\nmetadata: {name: plane}\nspec: {}",
        "Component\nmetadata: {name: web}\nspec:\n  owner: {projectName: shop}\n  componentType: {name: service}\n  traits: [{name: one, instanceName: one}]",
        "Workload\nmetadata: {name: web}\nspec: {owner: {projectName: shop, componentName: web}, container: {image: web}}",
        "ComponentType\nmetadata: {name: service}\nspec:\n  allowedTraits: [{name: one}]\n  resources: [{id: a, template: {apiVersion: v1, kind: A, metadata: {name: a}, s: {k: 1}}}]",
        "Trait\nmetadata: {name: one}\nspec:\n  patches:\n  - target: {group: '', version: v1, kind: A}\n    operations: [{op: remove, path: /s/k}]",
    ];
    let text = kinds.map(|kind| format!("apiVersion: openchoreo.dev/v1alpha1\nkind: {kind}\n")).join("---\n");
    let (library, wrong) = ResourceLibrary::read(&yaml::read(&Source::new("all.yaml", text)).documents, &[]);
    assert!(wrong.is_empty(), "{wrong:?}");
    let release = &library.releases()[0];
    let rendering = library.render(release, &RenderContext::new(), &RenderOptions::default());
    assert_eq!(said(&rendering), [""; 0]);
    assert_eq!(rendering.manifests[0].object.get("s"), Some(&super::value("{}")));
}

#[test]
fn duplicate_manifest_is_reported_at_its_template() {
    let want = &[
        "KW-R038 one.yaml:6:5 Service `s` is there twice | the later one replaces the earlier in a cluster; give one another name",
    ];
    says(&[SERVICE], &["creates:\n- template: {apiVersion: v1, kind: Service, metadata: {name: s}}"], want);
    let looped = "creates:\n- forEach: '${[1,2]}'\n  var: one\n  template: {apiVersion: v1, kind: Service, metadata: {name: s}}";
    says(&[], &[looped], want);
    // Each plane is another cluster.
    let of = "template: {apiVersion: v1, kind: B, metadata: {name: b}}";
    says(&[], &[&format!("creates:\n- {of}\n- targetPlane: observabilityplane\n  {of}")], &[]);
    // What was given is not ours to judge.
    says(&[SERVICE, SERVICE], &[], &[]);
}

#[test]
fn incomplete_manifest_is_an_error_at_its_template() {
    let spec = |template: &str| format!("creates:\n- template: {template}");
    let check = |template: &str, want: &str| says(&[], &[&spec(template)], &[want]);
    check(
        "{apiVersion: v1, kind: B, metadata: {name: 1}}",
        "KW-R037 one.yaml:6:5 Trait `one` makes `metadata.name` a number, expected text",
    );
    check("{apiVersion: v1, kind: B}", "KW-R037 one.yaml:6:5 what Trait `one` makes has no `metadata.name`");
    check("'${oc_omit()}'", "KW-R037 one.yaml:6:15 the template gives nothing, expected an object");
    check("'${parameters.size}'", "KW-R037 one.yaml:6:15 the template gives number, expected an object");
}

#[test]
fn trait_that_removes_the_identity_of_a_manifest_is_reported() {
    let spoils = |operation: &str, want: &[&str]| says(&[&a("{}")], &[&patch(&[operation])], want);
    spoils("remove /kind", &["KW-R037 one.yaml:8:26 Trait `one` leaves a manifest without `kind`"]);
    spoils(
        "add /metadata <- {labels: {}}",
        &["KW-R037 one.yaml:9:13 Trait `one` leaves a manifest without `metadata.name`"],
    );
    // What was given without a name may stay so.
    let unnamed = "{apiVersion: v1, kind: A, metadata: {generateName: a-}}";
    says(&[unnamed], &[&patch(&["add /metadata/labels/x <- z"])], &[]);
}

/// Checks the diagnostic about one operation on `s`, and its place in the path.
#[track_caller]
fn cannot(body: &str, operation: &str, want: &str) {
    says(&[&a(body)], &[&patch(&[operation])], &[&format!("KW-R030 one.yaml:{want}")]);
}

const CONTAINERS: &str = "{containers: [{name: api}, {name: sidecar}]}";

#[test]
fn operation_without_a_place_suggests_the_nearest_name() {
    cannot(
        CONTAINERS,
        "add /s/containers[?(@.name=='app')]/env/- <- 1",
        "9:27 `add /s/containers[?(@.name=='app')]/env/-` cannot be done to A `a`: `[?(@.name=='app')]` does not match any of the 2 items of `/s/containers` | did you mean `api`?",
    );
    cannot(
        CONTAINERS,
        "add /s/containers[?(@.nme=='api')]/env/- <- 1",
        "9:27 `add /s/containers[?(@.nme=='api')]/env/-` cannot be done to A `a`: `[?(@.nme=='api')]` does not match any of the 2 items of `/s/containers` | no item has the field `nme`; did you mean `name`?",
    );
    cannot(
        CONTAINERS,
        "add /s/containres[*]/x <- 1",
        "9:27 `add /s/containres[*]/x` cannot be done to A `a`: `[*]` needs a list, and `/s/containres` is missing | did you mean `containers` instead of `containres`?",
    );
    cannot(
        CONTAINERS,
        "replace /s/container <- 1",
        "9:17 `replace /s/container` cannot be done to A `a`: `/s` has no key `container` | did you mean `containers`?",
    );
    cannot(
        CONTAINERS,
        "replace /s/containers/2 <- 1",
        "9:28 `replace /s/containers/2` cannot be done to A `a`: index `2` is out of range: `/s/containers` has 2 items | a filter such as `[?(@.name=='app')]` does not depend on the order",
    );
}

#[test]
fn the_item_of_a_loop_is_named() {
    let spec = "patches:\n- target: {group: '', version: v1, kind: A}\n  forEach: ${parameters.ports}\n  var: port\n  operations:\n  - op: add\n    path: \"/s[?(@.name=='${port.name}')]/x\"\n    value: 1";
    let rendering = rendered(&[&a("[{name: http}]")], &[spec], RenderOptions::default());
    assert_eq!(
        said(&rendering),
        [
            "KW-R030 one.yaml:11:16 `add /s[?(@.name=='admin')]/x` cannot be done to A `a`: `[?(@.name=='admin')]` does not match the only item of `/s` | `name` is `http`"
        ]
    );
    assert_eq!(&*rendering.diagnostics[0].label, "item 2 of `forEach`");
}

#[test]
fn failing_expression_is_reported_with_place_and_help() {
    let help = "check it with `has(…)` first, or write `.?name.orValue(…)`";
    let check = |operation: &str, want: &str| {
        says(&[&a("{}")], &[&patch(&[operation])], &[&format!("KW-R031 one.yaml:{want} | {help}")]);
    };
    check("add /s/x <- '${parameters.nope}'", "10:28 `parameters.nope` fails: no such key: nope");
    check("add /s/${parameters.nope}/x <- 1", "9:30 `parameters.nope` fails: no such key: nope");
    check(
        "add /s/x <- {k: ['a ${parameters.labels.nope}']}",
        "10:42 `parameters.labels.nope` fails: no such key: nope",
    );
}

#[test]
fn expression_of_the_wrong_type_is_reported() {
    let spec = |target: &str, rest: &str| {
        format!("patches:\n- target: {{group: '', version: v1, kind: A{target}}}\n{rest}  operations: []")
    };
    let check = |target: &str, rest: &str, want: &str| {
        says(&[&a("{}")], &[&spec(target, rest)], &[&format!("KW-R015 one.yaml:{want}")]);
    };
    let each = "  forEach: '${parameters.text}'\n  var: one\n";
    check("", each, "7:14 `forEach` gives string \"app\", expected a list or a map");
    check(", where: '${parameters.text}'", "", "6:54 `where` gives string \"app\", expected a boolean");
    check(", name: '${parameters.size}'", "", "6:53 `name` gives number 3, expected text");
}

#[test]
fn all_patches_of_a_trait_are_tried_and_later_traits_are_not() {
    let twice = format!(
        "{}{}",
        patch(&["replace /s/a <- 1", "replace /s/not-looked-at <- 1"]),
        patch(&["replace /s/b <- 1"]).trim_start_matches("patches:\n")
    );
    let help = "`replace` needs something that is there; `add` sets it in any case";
    says(
        &[&a("{}")],
        &[&twice, &patch(&["replace /s/c <- 1"])],
        &[
            &format!(
                "KW-R030 one.yaml:9:17 `replace /s/a` cannot be done to A `a`: `/s` has no key `a` | {help}"
            ),
            &format!(
                "KW-R030 one.yaml:17:17 `replace /s/b` cannot be done to A `a`: `/s` has no key `b` | {help}"
            ),
        ],
    );
}

#[test]
fn all_failing_pre_render_validations_are_reported_before_rendering() {
    let spec = "validations:\n- {rule: '${parameters.size > 5}', message: too small}\n- {rule: '${parameters.nope}', message: never}\n- {rule: '${parameters.text}', message: no boolean}\n";
    let spec = format!("{spec}{}", patch(&["add /s/x <- 1"]));
    let rendering = rendered(&[&a("{}")], &[&spec], RenderOptions::default());
    assert_eq!(
        said(&rendering),
        [
            "KW-R033 one.yaml:6:12 too small",
            "KW-R033 one.yaml:7:26 never (`parameters.nope` fails: no such key: nope) | check it with `has(…)` first, or write `.?name.orValue(…)`",
            "KW-R033 one.yaml:8:12 no boolean (the rule gives string \"app\", expected a boolean)",
        ]
    );
    assert_eq!(rendering.manifests[0].object, super::value(&a("{}")));
}

#[test]
fn rules_after_rendering_look_at_the_outcome_of_all_traits() {
    let rule = |target: &str, rest: &str| {
        format!(
            "postRenderValidations:\n- {{target: {{group: '', version: v1, {target}}}, rule: '${{resource.s.v > 5}}', message: too small{rest}}}"
        )
    };
    let later = patch(&["add /s/v <- 6"]);
    says(&[&a("{v: 1}")], &[&rule("kind: A", ""), &later], &[]);
    says(&[&a("{v: 1}")], &[&rule("kind: A", "")], &["KW-R033 one.yaml:6:55 A `a`: too small"]);
    says(
        &[&a("{}")],
        &[&rule("kind: B", "")],
        &["KW-R033 one.yaml:6:6 too small: there is no B of v1 | the manifests are of the kinds A"],
    );
    says(&[&a("{}")], &[&rule("kind: B, mustMatch: false", "")], &[]);
    says(&[&a("{}")], &[&rule("kind: B", ", when: '${parameters.isOn}'")], &[]);
}

#[test]
fn a_loop_that_makes_too_much_is_an_error() {
    let text = "x".repeat(1 << 20);
    let spec = format!(
        "creates:\n- forEach: ${{lists.range(1000)}}\n  var: one\n  template: {{apiVersion: v1, kind: B, metadata: {{name: b}}, data: {text}}}"
    );
    says(&[], &[&spec], &["KW-R032 one.yaml:8:15 the budget of 268435456 bytes is used up"]);
}

#[test]
fn nothing_more_is_tried_when_the_budget_is_used_up() {
    let heavy = "${lists.range(100000).all(i, i >= 0)}";
    let rule = format!("- {{rule: '{heavy}', message: heavy}}\n");
    let spec = format!("preRenderValidations:\n{}", rule.repeat(60));
    let rendering = rendered(&[], &[&spec], RenderOptions::default());
    assert_eq!(rendering.diagnostics.len(), 1);
    assert!(rendering.diagnostics[0].message.contains("the budget of 20000000 steps is used up"));
    let when = format!("- {{op: add, path: /x, value: '{heavy}'}}\n").repeat(10);
    let one = format!(
        "- target: {{kind: A, group: '', version: v1}}\n  operations:\n{}",
        when.replace("- {", "  - {")
    );
    let rendering =
        rendered(&[&a("{}")], &[&format!("patches:\n{}", one.repeat(10))], RenderOptions::default());
    assert_eq!(rendering.diagnostics.len(), 1);
}

#[test]
fn failures_of_one_rule_come_to_an_end() {
    let rule = "postRenderValidations:\n- {forEach: '${lists.range(100000)}', var: i, target: {group: '', version: v1, kind: A}, rule: '${false}', message: no}";
    let rendering = rendered(&[&a("{}")], &[rule], RenderOptions::default());
    let last = rendering.diagnostics.last().unwrap();
    assert!(rendering.diagnostics.len() < 20_001, "{}", rendering.diagnostics.len());
    assert_eq!((last.code.id, last.message.as_str()), ("KW-R032", "the budget of 20000000 steps is used up"));
}

#[test]
fn a_long_path_is_cut_in_messages() {
    let path = format!("add /s{} <- 1", "/a".repeat(5000));
    let rendering = rendered(&[&a("{}")], &[&patch(&[&path])], RenderOptions::default());
    assert!(rendering.diagnostics[0].message.len() < 2500, "{}", rendering.diagnostics[0].message);
}
