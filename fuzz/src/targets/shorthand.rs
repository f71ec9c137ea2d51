//! Schemas of parameters: any shorthand is read, its JSON Schema reads back to the same, and what it fills in is stable.

use kubewright_engine::DiagnosticLevel;
use kubewright_traits::schema::{Schema, read_sections};
use kubewright_value::{Budget, Limits, Map, Value, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "shorthand",
    run: fuzz_shorthand,
    seeds: &[
        "schema:\n  tier: \"string | enum=small,medium,large default=small\"\n  ports: '[]Port | minItems=1 default=[{\"name\":\"a\"}]'\n  labels: map[string]string\n",
        "schema:\n  types:\n    Port: {name: 'string | pattern=^[a-z]+$ maxLength=15', number: 'integer | minimum=1 maximum=65535 default=80'}\n  parameters:\n    port: Port\n    more: 'array<Port> | default=[]'\n    db: {$default: {host: a}, host: string, tls: {$default: '{}', on: 'boolean | default=f'}}\n  envOverrides: {size: \"number | multipleOf=0.5 exclusiveMinimum=true minimum=0 default=1 description='it''s' oc:x\"}\n",
        "parameters:\n  openAPIV3Schema:\n    type: object\n    $defs: {Q: {type: string, default: 1Gi, pattern: '^[0-9]+Gi$'}}\n    properties:\n      size: {$ref: '#/$defs/Q', description: d}\n      any: {oneOf: [{type: string, format: date-time}, {type: integer, nullable: true}], not: {enum: [x]}}\n    required: [size]\n    additionalProperties: false\n",
    ],
    dictionaries: &[FuzzDictionary::Yaml],
    words: &[
        "string",
        "integer",
        "number",
        "boolean",
        "[]",
        "array<",
        "map<",
        "map[string]",
        ">",
        " | ",
        "default=",
        "enum=",
        "minimum=",
        "pattern=",
        "minLength=",
        "$default",
        "$types",
        "$ref",
        "#/$defs/",
        "'",
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        "''",
        "oc:",
        "properties",
        "items",
        "additionalProperties",
        "\n  ",
        ": ",
    ],
};

fn fuzz_shorthand(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let whole = Value::from(text);
    let field: Map = [("f".into(), whole)].into_iter().collect();
    let spec: Map = [("schema".into(), Value::object(field))].into_iter().collect();
    check_schema(&Value::object(spec));
    if let Ok(spec) = yaml::parse(text) {
        check_schema(&spec);
    }
}

fn check_schema(spec: &Value) {
    let (sections, problems) = read_sections(spec);
    let is_sound = !problems.iter().any(|problem| problem.severity == DiagnosticLevel::Error);
    for schema in [sections.parameters, sections.environment_configs].into_iter().flatten() {
        let written = schema.to_json_schema();
        let (again, found) = Schema::open_api(&written, &[]);
        assert!(
            !is_sound || !found.iter().any(|problem| problem.severity == DiagnosticLevel::Error),
            "{found:?}"
        );
        assert_eq!(again.to_json_schema(), written);
        let mut budget = Budget::new(Limits::default());
        let Ok(filled) = schema.with_defaults(&Value::Null, &mut budget) else { continue };
        assert_eq!(schema.with_defaults(&filled, &mut budget).as_ref(), Ok(&filled));
        let _ = schema.check(&filled, &mut budget);
        let _ = schema.check(spec, &mut budget);
    }
}
