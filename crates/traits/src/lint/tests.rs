//! Lint warnings about traits that can be rendered and are probably wrong.

use kubewright_value::{Source, yaml};

use crate::{CheckDepth, examine_document};

/// Compares what is doubtful in a document of `kind`, as `code line message = help`; its spec starts in line 5.
#[track_caller]
fn document(kind: &str, spec: &str, depth: CheckDepth, want: &[&str]) {
    let lines: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!("apiVersion: v1alpha1\nkind: {kind}\nmetadata: {{name: web}}\nspec:\n{lines}");
    let reading = yaml::read(&Source::new("t.yaml", text));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    let told = |found: &kubewright_engine::Diagnostic| {
        let help = if found.help.is_empty() { String::new() } else { format!(" = {}", found.help) };
        format!("{} {} {}{help}", found.code.id, found.location.position.line, found.message)
    };
    let found: Vec<String> = reading
        .documents
        .iter()
        .flat_map(|document| examine_document(document, depth))
        .map(|found| told(&found))
        .collect();
    assert_eq!(found, want, "{spec}");
}

#[track_caller]
fn check(spec: &str, want: &[&str]) {
    document("Trait", spec, CheckDepth::Doubts, want);
}

/// Checks one operation on a manifest of `kind`, which is of the core group.
#[track_caller]
fn operation(kind: &str, operation: &str, want: &[&str]) {
    let target = format!("target: {{group: '', version: v1, kind: {kind}}}");
    check(&format!("patches:\n- {target}\n  operations:\n  - {{{operation}}}"), want);
}

/// Checks one operation that adds `value` at `path` of a Pod, with parameters `size`, `ok`, `name` and `labels`.
#[track_caller]
fn add(path: &str, value: &str, want: &[&str]) {
    let schema =
        "schema: {size: integer, ok: boolean, name: string, labels: map<integer>, texts: map<string>}";
    let rule = "validations: [{rule: '${parameters != {}}', message: m}]";
    let target = "target: {group: '', version: v1, kind: Pod}";
    check(
        &format!(
            "{schema}\n{rule}\npatches:\n- {target}\n  operations:\n  - op: add\n    path: {path}\n    value: {value}"
        ),
        want,
    );
}

/// Checks a template whose fields behind `metadata` are `rest`.
#[track_caller]
fn template(head: &str, rest: &str, want: &[&str]) {
    check(
        &format!("creates:\n- template:\n    apiVersion: {head}\n    metadata: {{name: a}}\n    {rest}"),
        want,
    );
}

/// Checks patches of the same Deployments, each `op path value`, for what is lost.
#[track_caller]
fn written(head: &str, operations: &[&str], want: &[&str]) {
    let target = "target: {group: apps, version: v1, kind: Deployment}";
    let mut spec = format!("patches:\n- {target}\n{head}  operations:");
    for operation in operations {
        match operation.split(' ').collect::<Vec<_>>()[..] {
            [op, path, value] => {
                spec.push_str(&format!("\n  - {{op: {op}, path: \"{path}\", value: '{value}'}}"));
            }
            [op, path] => spec.push_str(&format!("\n  - {{op: {op}, path: \"{path}\"}}")),
            // A line between two patches.
            _ => spec.push_str(&format!("\n- {target}\n  operations:")),
        }
    }
    check(&spec, want);
}

/// Checks the diagnostics about one operation that is applied repeatedly.
#[track_caller]
fn again(condition: &str, path: &str, value: &str, want: &[&str]) {
    let target = format!("target: {{group: apps, version: v1, kind: Deployment{condition}}}");
    let spec =
        format!("patches:\n- {target}\n  operations:\n  - op: add\n    path: {path}\n    value: {value}");
    document("Trait", &spec, CheckDepth::Idempotence, want);
}

#[test]
fn labels_and_annotations_are_text() {
    add(
        "/metadata/labels/x",
        "true",
        &["KW-R080 12 the label `x` would be a boolean, expected text = quote it: 'true'"],
    );
    add("/metadata/labels/x", "'true'", &[]);
    add("/metadata/labels/x", "null", &[]);
    add(
        "/metadata/annotations/example.com~1port",
        "8080",
        &["KW-R080 12 the annotation `example.com/port` would be a number, expected text = quote it: '8080'"],
    );
    add(
        "/metadata/annotations/x",
        "{a: b}",
        &["KW-R080 12 the annotation `x` would be an object, expected text"],
    );
    add(
        "/spec/template/metadata/annotations/x",
        "[a]",
        &["KW-R080 12 the annotation `x` would be an array, expected text"],
    );
    add(
        "/metadata/labels",
        "{a: b, c: 1}",
        &["KW-R080 12 the label `c` would be a number, expected text = quote it: '1'"],
    );
    add(
        "/metadata",
        "{labels: {a: 1.50}}",
        &["KW-R080 12 the label `a` would be a number, expected text = quote it: '1.50'"],
    );
    add(
        "/spec/selector/matchLabels/app",
        "1",
        &["KW-R080 12 the label `app` would be a number, expected text = quote it: '1'"],
    );
}

#[test]
fn other_fields_may_be_anything() {
    add("/metadata/generation", "1", &[]);
    add("/spec/labels/x", "1", &[]);
    add("/spec/info/labels/x", "1", &[]);
    add("/spec/containers/0/resources/limits/cpu", "1", &[]);
    add("/spec/parts[?(@.name=='a')]/labels/x", "1", &[]);
}

#[test]
fn the_type_of_an_expression_is_known_from_its_parameters() {
    add(
        "/metadata/labels/x",
        "${parameters.size}",
        &["KW-R080 12 the label `x` would be a number, expected text = write `${string(parameters.size)}`"],
    );
    add(
        "/metadata/labels",
        "{x: '${parameters.ok}', y: '${parameters.name}'}",
        &["KW-R080 12 the label `x` would be a boolean, expected text = write `${string(parameters.ok)}`"],
    );
    add("/metadata/labels/x", "n-${parameters.size}", &[]);
    add("/metadata/labels/x", "${metadata.labels.x}", &[]);
    add(
        "/metadata/labels/${parameters.name}",
        "${1 + 2}",
        &[
            "KW-R080 12 the label `${parameters.name}` would be a number, expected text = write `${string(1 + 2)}`",
        ],
    );
    add(
        "/metadata/labels",
        "${parameters.labels}",
        &[
            "KW-R080 12 every label would be a number, expected text = write `${parameters.labels.transformMap(key, value, string(value))}`",
        ],
    );
    add("/metadata/labels", "${parameters.texts}", &[]);
    add("/metadata/labels/x", "\"${parameters.ok ? 'a' : oc_omit()}\"", &[]);
}

#[test]
fn the_parts_of_a_container_are_text() {
    let wrong =
        "KW-R080 12 the value of an environment variable would be a number, expected text = quote it: '80'";
    add("/spec/containers/0/env/-", "{name: PORT, value: 80}", &[wrong]);
    add(
        "/spec/template/spec/initContainers[?(@.name=='a')]/args/-",
        "80",
        &["KW-R080 12 an argument of a container would be a number, expected text = quote it: '80'"],
    );
    add(
        "/spec/containers/-",
        "{name: a, env: [{name: A, value: yes}], args: ['1', 2]}",
        &[
            "KW-R080 12 the value of an environment variable would be a boolean, expected text = quote it: 'yes'",
            "KW-R080 12 an argument of a container would be a number, expected text = quote it: '2'",
        ],
    );
    add("/spec/containers/0/ports/-", "{containerPort: 80}", &[]);
}

#[test]
fn templates_are_looked_at_like_operations() {
    let wrong = "KW-R080 10 the entry `a` would be a number, expected text = quote it: '1'";
    template("v1\n    kind: ConfigMap", "data: {a: 1, b: ''}", &[wrong]);
    template(
        "v1\n    kind: Secret",
        "stringData: {a: '${1 < 2}'}",
        &["KW-R080 10 the entry `a` would be a boolean, expected text = write `${string(1 < 2)}`"],
    );
    template("example.com/v1\n    kind: ConfigMap", "data: {a: 1}", &[]);
    template(
        "v1\n    kind: Service",
        "spec: {selector: {app: 1}, ports: [{port: 80}]}",
        &["KW-R080 10 the label `app` would be a number, expected text = quote it: '1'"],
    );
    document(
        "ComponentType",
        "workloadType: deployment\nresources:\n- id: deployment\n  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {template: {spec: {nodeSelector: {gpu: true}}}}}",
        CheckDepth::Doubts,
        &["KW-R080 8 the label `gpu` would be a boolean, expected text = quote it: 'true'"],
    );
}

#[test]
fn a_slash_in_a_key_is_escaped() {
    let help = "`/` in a key is written `~1`: `/metadata/annotations/example.com~1version`";
    let told =
        format!("KW-R081 8 `example.com` is the whole key here, and an annotation has no parts = {help}");
    operation("Pod", "op: add, path: /metadata/annotations/example.com/version, value: v1", &[&told]);
    operation("Pod", "op: remove, path: /metadata/annotations/example.com/version", &[&told]);
    operation("Pod", "op: add, path: /metadata/annotations/example.com~1version, value: v1", &[]);
    operation(
        "Pod",
        "op: add, path: '/metadata/labels/${metadata.name}/a', value: v1",
        &[
            "KW-R081 8 `${metadata.name}` is the whole key here, and a label has no parts = `/` in a key is written `~1`",
        ],
    );
    operation(
        "ConfigMap",
        "op: add, path: /data/a/b, value: v1",
        &[
            "KW-R081 8 `a` is the whole key here, and an entry has no parts = `/` in a key is written `~1`: `/data/a~1b`",
        ],
    );
    operation("Pod", "op: add, path: /data/a/b, value: v1", &[]);
    operation(
        "Pod",
        "op: replace, path: /spec/containers/0/resources/limits/nvidia.com/gpu, value: 1",
        &[
            "KW-R081 8 `nvidia.com` is the whole key here, and a quantity has no parts = `/` in a key is written `~1`: `/spec/containers/0/resources/limits/nvidia.com~1gpu`",
        ],
    );
}

#[test]
fn unread_parameter_is_reported_at_its_declaration() {
    let removes = |condition: &str| {
        format!("removes: [{{target: {{group: '', version: v1, kind: A, where: '${{{condition}}}'}}}}]")
    };
    let told = |name: &str| {
        format!(
            "KW-R082 5 `{name}` is read by no expression = use it, or leave it out: what is set there does nothing"
        )
    };
    let schema = "schema: {a: integer, b: integer}";
    check(&format!("{schema}\n{}", removes("parameters.a > 1")), &[&told("parameters.b")]);
    check(&format!("{schema}\n{}", removes("parameters.a > parameters[\"b\"]")), &[]);
    check(&format!("{schema}\n{}", removes("size(parameters) > 1")), &[]);
    check(&format!("{schema}\n{}", removes("parameters.exists(p, p == resource.kind)")), &[]);
    check(&format!("{schema}\n{}", removes("parameters.size() > parameters.a")), &[]);
    let nested = "parameters: {openAPIV3Schema: {type: object, properties: {a: {type: object, properties: {b: {type: string}, c: {type: string}}}}}}";
    check(&format!("{nested}\n{}", removes("parameters.a.b == resource.kind")), &[&told("parameters.a.c")]);
    check(&format!("{nested}\n{}", removes("has(parameters.a)")), &[]);
    check(&format!("{nested}\n{}", removes("parameters.?a.?c.hasValue() && parameters.a.b == \"\"")), &[]);
    let configs = "environmentConfigs: {ocSchema: {a: integer}}";
    check(&format!("{configs}\n{}", removes("has(metadata.a)")), &[&told("environmentConfigs.a")]);
    document(
        "ComponentType",
        "workloadType: deployment\nschema: {a: string}\nresources: [{id: deployment, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: '${parameters.a}'}}}]",
        CheckDepth::Doubts,
        &[],
    );
}

#[test]
fn unread_field_of_a_shared_type_is_not_reported() {
    check(
        "schema: {a: T, b: T, $types: {T: {p: integer, q: integer}}}\nremoves: [{target: {group: '', version: v1, kind: A, where: '${parameters.a.p > parameters.b.q}'}}]",
        &[],
    );
}

#[test]
fn trait_with_errors_gets_no_unread_parameter_warnings() {
    check(
        "schema: {a: integer}\nremoves: [{target: {group: '', version: v1, kind: A, where: '${parameters.a >}'}}]",
        &["KW-R014 6 expected an expression, found the end"],
    );
}

#[test]
fn constant_condition_is_reported() {
    let target = |condition: &str| {
        format!("removes: [{{target: {{group: '', version: v1, kind: A, where: '${{{condition}}}'}}}}]")
    };
    let leave = "leave it out, or ask about a parameter or the resource";
    check(&target("true"), &[&format!("KW-R083 5 `where` is always true = {leave}")]);
    check(
        &target("1 > 2"),
        &[
            "KW-R083 5 `where` is always false = its patch, template or rule never applies; remove it, or compare a parameter",
        ],
    );
    check(&target("resource.kind == \"A\""), &[]);
    check(&target("has(metadata.a)"), &[]);
    check(
        "validations: [{rule: '${[1].all(x, x > 1)}', message: m}]",
        &["KW-R083 5 `rule` is always false = rendering always fails; ask about a parameter or the resource"],
    );
    check(
        "creates: [{includeWhen: '${true}', template: {apiVersion: v1, kind: A, metadata: {name: a}}}]",
        &[&format!("KW-R083 5 `includeWhen` is always true = {leave}")],
    );
    let each = |over: &str| {
        format!("removes: [{{forEach: '${{{over}}}', var: x, target: {{group: '', version: v1, kind: '', name: '${{x}}'}}}}]")
            .replace("kind: ''", "kind: A")
    };
    check(
        &each("[]"),
        &[
            "KW-R083 5 `forEach` always goes through nothing = loop over a parameter, or leave out what is looped",
        ],
    );
    check(&each("[\"a\", \"b\"]"), &[]);
}

#[test]
fn loop_variable_that_hides_another_is_reported() {
    let each = |name: &str| {
        format!(
            "removes: [{{forEach: '${{metadata.x}}', var: {name}, target: {{group: '', version: v1, kind: A}}}}]"
        )
    };
    let help = "call it something else, such as `item`";
    check(
        &each("metadata"),
        &[&format!("KW-R086 5 the loop variable hides the `metadata` of the component = {help}")],
    );
    check(
        &each("parameters"),
        &[&format!("KW-R086 5 the loop variable hides the `parameters` of the trait = {help}")],
    );
    check(
        &each("resource"),
        &[&format!("KW-R086 5 `resource` is the item in operations, and the manifest in `where` = {help}")],
    );
    check(&each("env"), &[]);
}

#[test]
fn filter_by_an_unknown_name_is_reported() {
    add(
        "/spec/containers[?(@.name=='')]/image",
        "a",
        &[
            "KW-R087 11 the filter asks for an empty name, which nothing has = write the name between the quotes",
        ],
    );
    add(
        "/spec/containers[?(@.name=='app ')]/image",
        "a",
        &["KW-R087 11 the filter asks for the name `app ` with spaces, which nothing has = write `'app'`"],
    );
    add("/spec/containers[?(@.name=='${parameters.name}')]/image", "a", &[]);
    add("/spec/containers[?(@.value=='')]/image", "a", &[]);
}

#[test]
fn operation_undone_by_a_later_one_is_reported() {
    let over = |place: u32, line: u32| {
        format!(
            "KW-R084 {place} what is written here is written over in line {line} = leave out this one, or give the two different conditions"
        )
    };
    let removed = |line: u32| {
        format!("KW-R084 8 what is written here is removed again in line {line} = leave out both")
    };
    written("", &["add /a/b x", "add /a/b y"], &[&over(8, 9)]);
    written("", &["add /a/b x", "replace /a/b y", "add /a/b z"], &[&over(8, 9), &over(9, 10)]);
    written("", &["add /a/b x", "add /a y"], &[&over(8, 9)]);
    written("", &["add /a/b x", "remove /a/b"], &[&removed(9)]);
    written("", &["add /a/b x", "remove /a"], &[&removed(9)]);
    written("", &["add /a/b x", "--", "add /a/b y"], &[&over(8, 11)]);
    written("", &["add /a[?(@.n=='x')]/b x", "add /a[?(@.n=='x')]/b y"], &[&over(8, 9)]);
}

#[test]
fn operation_that_may_have_an_effect_is_not_reported() {
    written("", &["add /a/b x", "add /a/c y"], &[]);
    written("", &["add /a/- x", "add /a/- y"], &[]);
    written("", &["add /a/0 x", "add /a/0 y"], &[]);
    written("", &["add /a x", "add /a/b y"], &[]);
    written("", &["remove /a", "add /a y"], &[]);
    written("", &["add /a/b x", "add /a/b ${parameters.x?oc_omit():1}"], &[]);
    written("", &["add /a[?(@.n=='x')]/n y", "add /a[?(@.n=='x')]/n z"], &[]);
    written("", &["add /l/0/n y", "add /l/0 z", "add /l/0/n x"], &[]);
    written("", &["add /l[?(@.a=='')]/n y", "add /l[?(@.n=='y')]/z z", "remove /l[?(@.a=='')]/n"], &[]);
}

#[test]
fn other_conditions_are_other_manifests() {
    let patch = |condition: &str| {
        format!(
            "- target: {{group: '', version: v1, kind: A, where: '${{{condition}}}'}}\n  operations: [{{op: add, path: /a, value: b}}]"
        )
    };
    let schema = "schema: {big: boolean}";
    let both = |one: &str, other: &str| format!("{schema}\npatches:\n{}\n{}", patch(one), patch(other));
    check(&both("parameters.big", "!parameters.big"), &[]);
    check(&both("parameters.big && has(resource.b)", "parameters.big && has(resource.b)"), &[]);
    check(
        &both("parameters.big", "parameters.big"),
        &[
            "KW-R084 8 what is written here is written over in line 10 = leave out this one, or give the two different conditions",
        ],
    );
}

#[test]
fn loop_that_overwrites_one_place_is_reported() {
    let head = "  forEach: ${metadata.items}\n  var: one\n";
    written(
        head,
        &["add /a/b ${one.x}"],
        &[
            "KW-R084 10 every item of `forEach` writes over the one before: the path has no `one` = use `${one}` in the path, or in `name` or `where` of the target",
        ],
    );
    written(head, &["add /a/${one.name} ${one.x}"], &[]);
    written(head, &["add /a/- ${one.x}"], &[]);
    written(head, &["add /a/b ${one.x?one.y:oc_omit()}"], &[]);
    written(head, &["add /a/b x"], &[]);
    written("  forEach: ${[metadata.a]}\n  var: one\n", &["add /a/b ${one.x}"], &[]);
}

#[test]
fn manifest_created_twice_is_reported() {
    let create = |head: &str, kind: &str, name: &str| {
        format!("- {head}template: {{apiVersion: v1, kind: {kind}, metadata: {{name: '{name}'}}}}\n")
    };
    let two = |one: (&str, &str, &str), other: (&str, &str, &str)| {
        format!("creates:\n{}{}", create(one.0, one.1, one.2), create(other.0, other.1, other.2))
    };
    let told = "KW-R085 7 ConfigMap `${metadata.name}-a` is already created in line 6 = give one of the two another name";
    check(&two(("", "ConfigMap", "${metadata.name}-a"), ("", "ConfigMap", "${metadata.name}-a")), &[told]);
    check(&two(("", "ConfigMap", "a"), ("", "ConfigMap", "b")), &[]);
    check(&two(("", "ConfigMap", "a"), ("", "Secret", "a")), &[]);
    let when = |condition: &str| format!("includeWhen: '${{has(metadata.{condition})}}'\n  ");
    check(&two((&when("a"), "A", "a"), (&when("b"), "A", "a")), &[]);
    check(
        &two((&when("a"), "A", "a"), (&when("a"), "A", "a")),
        &["KW-R085 9 A `a` is already created in line 7 = give one of the two another name"],
    );
    let each = "forEach: '${metadata.items}'\n  var: one\n  ";
    check(&format!("creates:\n{}", create(each, "A", "${one.name}")), &[]);
    check(
        &format!("creates:\n{}", create(each, "A", "${metadata.name}")),
        &[
            "KW-R085 8 every item of `forEach` creates the same A `${metadata.name}` = use `${one}` in its name",
        ],
    );
    check(
        &two((each, "A", "${one.name}"), (each, "A", "${one.name}")),
        &["KW-R085 11 A `${one.name}` is already created in line 8 = give one of the two another name"],
    );
    check(&two((each, "A", "${one.name}"), ("", "A", "${metadata.name}")), &[]);
}

#[test]
fn growing_list_is_reported_with_check_idempotent() {
    let told = |how: &str, help: &str| {
        format!("KW-R088 9 this {how} one more item whenever it is rendered over its own output = {help}")
    };
    again(
        "",
        "/spec/template/spec/volumes/-",
        "{name: logs, emptyDir: {}}",
        &[&told(
            "appends",
            "write `where: ${!resource.spec.template.spec.?volumes.orValue([]).exists(item, item.name == 'logs')}`",
        )],
    );
    again(
        "",
        "/spec/template/spec/containers[?(@.name=='${metadata.name}')]/env/-",
        "{name: '${metadata.x}'}",
        &[&told(
            "appends",
            "write `where: ${!resource.spec.template.spec.containers.exists(one, one.name == metadata.name && one.?env.orValue([]).exists(item, item.name == metadata.x))}`",
        )],
    );
    again(
        "",
        "/spec/containers/0/args/-",
        "--debug",
        &[&told(
            "appends",
            "write `where: ${!resource.spec.containers[0].?args.orValue([]).exists(item, item == '--debug')}`",
        )],
    );
    let generic = "ask in `where` whether the item is there, with `exists` over the list";
    again("", "/spec/rules/[*]/filters/0", "{type: A}", &[&told("inserts", generic)]);
    again(
        ", where: '${metadata.on}'",
        "/spec/list/-",
        "{name: a}",
        &[&told(
            "appends",
            "add ` && !resource.spec.?list.orValue([]).exists(item, item.name == 'a')` to `where`",
        )],
    );
    again("", "/spec/replicas", "2", &[]);
    again("", "/metadata/labels/8080", "'2'", &[]);
}

#[test]
fn a_condition_that_looks_at_the_list_keeps_it_from_growing() {
    let condition = ", where: '${!resource.spec.rules.exists(r, r.filters.exists(f, f.type == \"A\"))}'";
    again(condition, "/spec/rules/[*]/filters/-", "{type: A}", &[]);
    again(
        ", where: '${has(resource.spec.rules)}'",
        "/spec/rules/[*]/filters/-",
        "{name: '${1}${2}'}",
        &[
            "KW-R088 9 this appends one more item whenever it is rendered over its own output = ask in `where` whether the item is there, with `exists` over the list",
        ],
    );
}

#[test]
fn list_in_a_created_manifest_does_not_grow() {
    let check = |name: &str, want: &[&str]| {
        let create = "creates: [{template: {apiVersion: net/v1, kind: Policy, metadata: {name: '${metadata.name}-a'}}}]";
        let target = format!("target: {{group: net, version: v1, kind: Policy, name: '{name}'}}");
        let operation = "{op: add, path: /spec/rules/-, value: {name: a}}";
        document(
            "Trait",
            &format!("{create}\npatches: [{{{target}, operations: [{operation}]}}]"),
            CheckDepth::Idempotence,
            want,
        );
    };
    check("${metadata.name}-a", &[]);
    check(
        "${metadata.name}-b",
        &[
            "KW-R088 6 this appends one more item whenever it is rendered over its own output = write `where: ${!resource.spec.?rules.orValue([]).exists(item, item.name == 'a')}`",
        ],
    );
}

#[test]
fn comparison_with_an_impossible_value_is_reported() {
    let compared = |condition: &str, want: &[&str]| {
        let schema =
            "schema: {tier: \"string | enum=small,large default=small\", free: \"string | default=x\"}";
        let rule = "validations: [{rule: '${parameters.free != \"\"}', message: m}]";
        let target =
            format!("removes: [{{target: {{group: '', version: v1, kind: A, where: '${{{condition}}}'}}}}]");
        check(&format!("{schema}\n{rule}\n{target}"), want);
    };
    compared("parameters.tier == \"large\"", &[]);
    compared("parameters.tier != \"\"", &[]);
    compared(
        "parameters.tier != \"lagre\"",
        &["KW-R089 7 `parameters.tier` is never `lagre` = did you mean `large`?"],
    );
    compared(
        "parameters.tier in [\"small\", \"enormous\"]",
        &["KW-R089 7 `parameters.tier` is never `enormous` = its schema allows `small`, `large`"],
    );
    compared("parameters.tier == \"small\" && parameters.free == \"anything\"", &[]);
    compared("parameters.?tier.orValue(\"\") == \"\"", &[]);
}

/// Compares the diagnostics about a set of documents, each `Kind name` or `Component name of-trait`.
#[track_caller]
fn together(documents: &[&str], want: &[&str]) {
    let text: Vec<String> = documents
        .iter()
        .enumerate()
        .map(|(number, words)| {
            let spec = match words.split(' ').collect::<Vec<_>>()[..] {
                ["Component", _, of] => format!("{{traits: [{{name: {of}, instanceName: a}}]}}"),
                _ => format!("{{schema: {{a{number}: string}}}}"),
            };
            let mut words = words.split(' ');
            let (kind, name) = (words.next().unwrap(), words.next().unwrap());
            format!("apiVersion: v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {spec}\n")
        })
        .collect();
    let reading = yaml::read(&Source::new("t.yaml", text.join("---\n")));
    let found = crate::lint_together(&reading.documents);
    let found: Vec<String> = found
        .iter()
        .map(|found| {
            format!("{} {} {} = {}", found.code.id, found.location.position, found.message, found.help)
        })
        .collect();
    assert_eq!(found, want, "{documents:?}");
}

#[test]
fn the_name_of_a_manifest_is_text() {
    check(
        "schema: {id: integer}\ncreates: [{template: {apiVersion: v1, kind: A, metadata: {name: 1, namespace: no}}}, {template: {apiVersion: v1, kind: A, metadata: {name: '${parameters.id}'}}}]",
        &[
            "KW-R080 6 the name of the manifest would be a number, expected text = quote it: '1'",
            "KW-R080 6 the namespace of the manifest would be a boolean, expected text = quote it: 'no'",
            "KW-R080 6 the name of the manifest would be a number, expected text = write `${string(parameters.id)}`",
        ],
    );
}

#[test]
fn incomplete_template_is_reported() {
    let help = "every manifest needs `apiVersion`, `kind` and `metadata.name`";
    check(
        "creates: [{template: {kind: ConfigMap, metadata: {name: a}}}, {template: {apiVersion: v1, kind: Secret, metadata: {}}}]",
        &[
            &format!("KW-R009 5 the template has no `apiVersion` = {help}"),
            &format!("KW-R009 5 the template has no `metadata.name` = {help}"),
        ],
    );
    check(
        "creates: [{template: {apiVersion: v1, kind: Secret, metadata: '${{\"name\": \"a\"}}'}}, {template: '${{}}'}]",
        &[],
    );
    check(
        "creates: [{template: {apiVersion: v1, kind: Secret, metadata: {}}}]\npatches: [{target: {group: '', version: v1, kind: Secret}, operations: [{op: add, path: /metadata/name, value: a}]}]",
        &[],
    );
}

#[test]
fn duplicate_trait_name_is_reported() {
    together(
        &["Trait a", "Trait a"],
        &[
            "KW-R090 8:18 another Trait is called `a`, at t.yaml:1:1 = give one of the two another name; a component can mean only one",
        ],
    );
    together(&["Trait a", "ClusterTrait a", "Trait b"], &[]);
}

#[test]
fn a_name_is_doubted_where_another_trait_was_probably_meant() {
    together(
        &["Trait logging", "Component web loging"],
        &["KW-R091 9:24 no Trait is called `loging` = did you mean `logging`?"],
    );
    together(
        &["ClusterTrait logging", "Component web logging"],
        &[
            "KW-R091 9:24 no Trait is called `logging` = there is a ClusterTrait of that name: write `kind: ClusterTrait`",
        ],
    );
    together(&["Trait logging", "Component web logging"], &[]);
    together(&["Trait logging", "Component web autoscaler"], &[]);
}
