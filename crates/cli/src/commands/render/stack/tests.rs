use kubewright_value::{Document, Source, Value, json, yaml};

use super::*;

/// Reads a stack with `spec`, which is indented by two; returns the problems as `code line:column message help`.
fn problems(spec: &str) -> Vec<String> {
    let text = format!("apiVersion: kubewright.dev/v1alpha1\nkind: TraitStack\nspec:\n{spec}");
    match read_stack(&document(&text)) {
        Ok(_) => Vec::new(),
        Err(problems) => problems
            .iter()
            .map(|p| format!("{} {} {} {}", p.code.id, p.location.position, p.message, p.help))
            .collect(),
    }
}

fn document(text: &str) -> Document {
    yaml::read(&Source::new("stack.yaml", text)).documents.remove(0)
}

#[test]
fn stack_with_every_field_is_read() {
    let spec = "  traits: [a.yaml]\n  metadata: {name: web}\n  context: {workload: {}}\n  instances:\n  - trait: a\n    \
                kind: ClusterTrait\n    instanceName: b\n    parameters: {x: 1}\n    environmentConfigs: {y: 2}\n  \
                - name: c\n";
    assert_eq!(problems(spec), Vec::<String>::new());
}

#[test]
fn traits_stand_beside_paths() {
    let inline = "{apiVersion: v1alpha1, kind: Trait, metadata: {name: a}, spec: {}}";
    let spec = |traits: &str| format!("  traits: [{traits}]\n  instances: []\n");
    assert_eq!(problems(&spec(&format!("a.yaml, {inline}"))), Vec::<String>::new());
    assert_eq!(
        problems(&spec("{apiVersion: v1, kind: Service}, 3")),
        [
            "KW-R062 4:35 this is neither a Trait nor a ClusterTrait ",
            "KW-R062 4:45 `traits` contains paths and traits, this is of type number "
        ]
    );
    let text = format!(
        "apiVersion: kubewright.dev/v1alpha1\nkind: TraitStack\nspec:\n{}",
        spec(&format!("b/, {inline}"))
    );
    let stack = read_stack(&document(&text)).unwrap();
    assert_eq!(stack.paths("stacks/shop.yaml", &mut Vec::new()), ["stacks/b"]);
    assert_eq!(stack.inline.len(), 1);
}

#[test]
fn a_misspelt_field_is_an_error_with_the_right_one() {
    assert_eq!(
        problems("  instance: []\n"),
        [
            "KW-R060 4:3 unknown field `instance` did you mean `instances`?",
            "KW-R061 4:3 a stack needs `instances` "
        ]
    );
    assert_eq!(
        problems("  instances:\n  - {trait: a, paramters: {}}\n"),
        ["KW-R060 5:16 unknown field `paramters` did you mean `parameters`?"]
    );
}

#[test]
fn an_instance_names_one_trait() {
    assert_eq!(problems("  instances:\n  - {parameters: {}}\n"), ["KW-R061 5:5 an instance needs `trait` "]);
    assert_eq!(
        problems("  instances:\n  - {trait: a, name: a}\n"),
        ["KW-R062 5:22 `name` and `trait` both name the trait; use one of them "]
    );
}

#[test]
fn a_value_of_another_type_is_an_error() {
    assert_eq!(
        problems("  instances:\n  - {trait: a, parameters: [1], kind: trait}\n"),
        [
            "KW-R062 5:28 `parameters` is a map, this is of type array ",
            "KW-R062 5:39 unknown kind `trait` did you mean `Trait`?"
        ]
    );
}

#[test]
fn two_instances_have_two_names() {
    assert_eq!(
        problems("  instances:\n  - trait: a\n  - trait: a\n"),
        [
            "KW-R065 6:12 duplicate instance name `a`; the first is on line 5 give one of them another `instanceName`"
        ]
    );
}

#[test]
fn another_document_is_no_stack() {
    let wrong = read_stack(&document("kind: Stack\n")).unwrap_err();
    assert_eq!(wrong.first().map(|problem| problem.code.id), Some("KW-R063"));
}

#[test]
fn the_schema_knows_exactly_the_fields_that_are_read() {
    let schema = json::parse(super::super::SCHEMA).unwrap();
    let allowed = |path: &[&str]| {
        let mut keys: Vec<String> =
            schema.at(path).and_then(Value::as_object).unwrap().keys().map(ToString::to_string).collect();
        keys.sort();
        keys
    };
    let sorted = |fields: &[&str]| {
        let mut fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
        fields.sort();
        fields
    };
    assert_eq!(allowed(&["properties"]), sorted(FIELDS));
    assert_eq!(allowed(&["properties", "spec", "properties"]), sorted(SPEC_FIELDS));
    assert_eq!(allowed(&["$defs", "instance", "properties"]), sorted(INSTANCE_FIELDS));
    assert_eq!(
        schema.at(&["$defs", "instance", "properties", "kind", "enum"]).map(ToString::to_string),
        Some(r#"["Trait","ClusterTrait"]"#.to_owned())
    );
}
