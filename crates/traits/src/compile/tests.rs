//! Expressions in traits, and the diagnostics about them before rendering.

use kubewright_value::{Source, yaml};

/// Compares the diagnostics about a Trait, as `code line:column message`; its spec starts in line 5, column 3.
#[track_caller]
fn check(spec: &str, want: &[&str]) {
    let lines: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!("apiVersion: v1alpha1\nkind: Trait\nmetadata: {{name: web}}\nspec:\n{lines}");
    let reading = yaml::read(&Source::new("t.yaml", text));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    let found: Vec<String> = reading
        .documents
        .iter()
        .flat_map(crate::check_trait_document)
        .map(|found| format!("{} {} {}", found.code.id, found.location.position, found.message))
        .collect();
    assert_eq!(found, want, "{spec}");
}

const SCHEMA: &str = "schema: {size: integer, name: string, ports: '[]Port', labels: map<string>, $types: {Port: {number: integer}}}";

/// Checks a patch whose one operation has `path` and `value`, under the schema.
#[track_caller]
fn patch(head: &str, path: &str, value: &str, want: &[&str]) {
    let target = "target: {group: apps, version: v1, kind: Deployment}";
    check(
        &format!(
            "{SCHEMA}\npatches:\n- {target}\n{head}  operations:\n  - op: add\n    path: {path}\n    value: {value}"
        ),
        want,
    );
}

#[test]
fn expressions_that_cannot_be_read_have_their_place() {
    patch("", "/a", "x ${parameters.name +}", &["KW-R014 11:35 expected an expression, found the end"]);
    patch("", "/a", "{b: ['${nonsense}']}", &["KW-R014 11:22 unknown name `nonsense`"]);
}

#[test]
fn the_resource_is_known_in_conditions_alone() {
    patch("", "/a", "${resource.kind}", &["KW-R014 11:16 unknown name `resource`"]);
    check("removes: [{target: {group: '', version: v1, kind: A, where: '${resource.kind == \"A\"}'}}]", &[]);
}

#[test]
fn conditions_give_booleans_and_loops_go_over_lists_or_maps() {
    check(
        &format!(
            "{SCHEMA}\nvalidations: [{{rule: '${{parameters.size}}', message: m}}, {{rule: '${{parameters.size > 1}}', message: m}}]"
        ),
        &["KW-R015 6:27 the expression gives int, expected a boolean"],
    );
    patch(
        "  forEach: ${parameters.name}\n  var: one\n",
        "/a",
        "b",
        &["KW-R015 8:16 the expression gives string, expected a list or a map"],
    );
}

#[test]
fn a_path_is_text() {
    patch("", "${parameters.size}", "b", &["KW-R015 10:15 the expression gives int, expected text"]);
    patch("", "/a/${parameters.size}", "b", &[]);
}

#[test]
fn undeclared_parameter_is_a_warning() {
    patch(
        "",
        "/a",
        "${parameters.nam}",
        &["KW-R029 11:27 `nam` is not declared in the schema of `parameters`"],
    );
    patch("", "/a", "${parameters.labels.any}", &[]);
    patch(
        "",
        "/a",
        "${parameters.ports.map(p, p.numbr)}",
        &["KW-R029 11:42 `numbr` is not declared in the schema of `parameters`"],
    );
}

#[test]
fn loop_variable_has_the_item_type_of_its_list() {
    let head = "  forEach: ${parameters.ports}\n  var: port\n";
    patch(head, "/a", "${port.number + 1}", &[]);
    patch(head, "/a", "${port.nmber}", &["KW-R029 13:21 `nmber` is not declared in the schema of `port`"]);
}

#[test]
fn types_of_parameters_reach_into_operators() {
    patch("", "/a", "${parameters.name + 1}", &["KW-R014 11:32 no operator `+` for `string` and `int`"]);
}

#[test]
fn paths_are_checked_around_their_expressions() {
    patch("", "/a[?(@.b=='${parameters.name}')]/c/-", "b", &[]);
    patch("", "${parameters.name}", "b", &[]);
    patch(
        "",
        "/a[?(@.b)]/${parameters.name}",
        "b",
        &["KW-R016 10:15 the filter asks only whether a field is there, which is not supported"],
    );
    patch("", "/a/[0", "b", &["KW-R016 10:16 `[` is not closed"]);
}
