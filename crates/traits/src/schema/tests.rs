//! Schemas as their authors write them, and the values of their users.

use kubewright_engine::DiagnosticLevel;
use kubewright_value::{Budget, Limits, Value, json, yaml};

use super::check::write_value_path;
use super::{FieldLookup, Schema, SchemaProblem, ShorthandOptions, read_sections};

fn budget() -> Budget {
    Budget::new(Limits::default())
}

fn parsed(text: &str) -> Value {
    yaml::parse(text).unwrap_or_else(|error| panic!("{}", error.message))
}

/// Reads shorthand; `$types` may stand beside the fields.
fn shorthand(text: &str) -> (Schema, Vec<SchemaProblem>) {
    Schema::shorthand((&parsed(text), &[]), None, ShorthandOptions::default())
}

/// Reads shorthand that has no mistakes.
#[track_caller]
fn sound(text: &str) -> Schema {
    let (schema, problems) = shorthand(text);
    assert!(problems.is_empty(), "{problems:?}");
    schema
}

#[track_caller]
fn open_api(text: &str) -> Schema {
    let (schema, problems) = Schema::open_api(&parsed(text), &[]);
    assert!(problems.is_empty(), "{problems:?}");
    schema
}

/// Each problem as `path@column+length: message (help)`.
fn told(problems: &[SchemaProblem]) -> Vec<String> {
    let one = |problem: &SchemaProblem| {
        let span = problem.span.map(|span| format!("@{}+{}", span.position.column, span.length));
        let help = if problem.help.is_empty() { String::new() } else { format!(" ({})", problem.help) };
        format!("{}{}: {}{help}", write_value_path(&problem.path), span.unwrap_or_default(), problem.message)
    };
    problems.iter().map(one).collect()
}

/// Reads `field: EXPRESSION` and compares the one problem.
#[track_caller]
fn mistake(expression: &str, want: &str) {
    let fields = [("f".into(), Value::from(expression))].into_iter().collect();
    let (_, problems) = Schema::shorthand((&Value::object(fields), &[]), None, ShorthandOptions::default());
    assert_eq!(told(&problems), [want], "{expression}");
}

/// Compares the JSON Schema of `field: EXPRESSION`.
#[track_caller]
fn becomes(expression: &str, want: &str) {
    let fields = [("f".into(), Value::from(expression))].into_iter().collect();
    let (schema, problems) =
        Schema::shorthand((&Value::object(fields), &[]), None, ShorthandOptions::default());
    assert!(problems.is_empty(), "{problems:?}");
    let found = schema.to_json_schema();
    assert_eq!(found.at(&["properties", "f"]).map(json::to_string).unwrap_or_default(), want, "{expression}");
}

#[track_caller]
fn check(schema: &Schema, values: &str, want: &[&str]) {
    let wrongs = schema.check(&parsed(values), &mut budget()).unwrap();
    let told: Vec<String> = wrongs
        .iter()
        .map(|wrong| match (wrong.severity, wrong.help.as_str()) {
            (DiagnosticLevel::Warning | DiagnosticLevel::Hint, help) => {
                format!("warning: {} ({help})", wrong.message)
            }
            (DiagnosticLevel::Error, "") => wrong.message.clone(),
            (DiagnosticLevel::Error, help) => format!("{} ({help})", wrong.message),
        })
        .collect();
    assert_eq!(told, want, "{values}");
}

#[track_caller]
fn defaulted(schema: &Schema, values: &str, want: &str) {
    let found = schema.with_defaults(&parsed(values), &mut budget()).unwrap();
    assert_eq!(json::to_string(&found), want, "{values}");
}

#[test]
fn types_nest_in_each_other() {
    becomes("[]string", r#"{"type":"array","items":{"type":"string"}}"#);
    becomes(
        "array< map<[]integer> >",
        r#"{"type":"array","items":{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}}}"#,
    );
    becomes(
        "map[string]map[string]boolean",
        r#"{"type":"object","additionalProperties":{"type":"object","additionalProperties":{"type":"boolean"}}}"#,
    );
}

#[test]
fn constraints_are_read_by_the_type_of_the_field() {
    becomes("string | default=5", r#"{"type":"string","default":"5"}"#);
    becomes("integer | default=\"5\"", r#"{"type":"integer","default":5}"#);
    becomes("boolean | default=T", r#"{"type":"boolean","default":true}"#);
    becomes(
        "number | minimum=0 exclusiveMinimum=true",
        r#"{"type":"number","minimum":0,"exclusiveMinimum":true}"#,
    );
    becomes("[]integer | default=[1, 2]", r#"{"type":"array","default":[1,2],"items":{"type":"integer"}}"#);
    becomes("integer | example=1", r#"{"type":"integer","example":1}"#);
    becomes(
        "string | description='it''s a b' format=email",
        r#"{"description":"it's a b","type":"string","format":"email"}"#,
    );
    becomes("string | default=\"tab\\there \\u00e9\"", "{\"type\":\"string\",\"default\":\"tab\\there é\"}");
}

#[test]
fn an_enum_may_stand_in_quotes_as_a_whole_or_by_value() {
    becomes("string | enum=\"a b,c\"", r#"{"type":"string","enum":["a b","c"]}"#);
    becomes("string | enum='a, b','c'", r#"{"type":"string","enum":["a, b","c"]}"#);
    becomes("string | enum=it's,b", r#"{"type":"string","enum":["it's","b"]}"#);
    becomes(
        "[]integer | enum=[1,2],[3]",
        r#"{"type":"array","enum":[[1,2],[3]],"items":{"type":"integer"}}"#,
    );
}

#[test]
fn a_mistake_in_the_shorthand_has_its_place_in_the_text() {
    mistake("strin", "f@1+5: unknown type `strin` (did you mean `string`?)");
    mistake("[]int", "f@3+3: unknown type `int` (did you mean `integer`?)");
    mistake(
        "map[int]string",
        "f@5+3: map key type must be `string`, got `int` (the keys of an object are always text)",
    );
    mistake("array<string", "f@1+12: invalid type expression `array<string`: `>` is missing at the end");
    mistake("string | minimun=5", "f@10+7: unknown constraint marker `minimun` (did you mean `minimum`?)");
    mistake("integer | default=x", "f@19+1: invalid default `x`: expected a whole number");
    mistake("string | maxLength=-1", "f@20+2: invalid maxLength `-1`: expected at least 0");
    mistake("string | pattern=a(b", "f@18+3: invalid pattern `a(b`: missing closing ): `a(b`");
    mistake(
        "integer | maximum=5 default=9",
        "f@21+9: invalid default: the value should be less than or equal to 5, got 9",
    );
}

#[test]
fn spaces_in_a_list_are_explained() {
    let help = "write `name=value` without spaces; a value with spaces goes in quotes";
    mistake("string | enum=a, b", &format!("f@18+1: constraint `b` is missing a value ({help})"));
}

#[test]
fn unclosed_quote_or_bracket_is_refused() {
    let help = "put the value in quotes: '…', in which '' is a quote, or \"…\"";
    mistake(
        "string | pattern=^\\[x default=a",
        &format!("f@20+1: `[` is never closed and takes in everything after it ({help})"),
    );
    mistake(
        "string | description=it's a b",
        &format!("f@24+1: `'` is never closed and takes in everything after it ({help})"),
    );
    mistake(
        "string | enum=a,b|default=a",
        "f@18+10: `|default=a` is a part of the value (put spaces around the `|`)",
    );
    mistake(
        "string | pattern=\"^\\d+$\"",
        "f@18+7: invalid pattern `\"^\\d+$\"`: `\\d` is not an escape in double quotes; in single quotes a backslash is a backslash",
    );
}

#[test]
fn a_constraint_of_another_type_is_a_warning() {
    mistake("integer | minLength=3", "f@11+11: `minLength` says nothing about type `integer`");
}

#[test]
fn constraints_after_a_named_type_change_a_copy() {
    let schema = sound("{a: 'Port | default=80', b: Port, $types: {Port: 'integer | minimum=1'}}");
    let want = r#"{"type":"object","properties":{"a":{"type":"integer","default":80,"minimum":1},"b":{"type":"integer","minimum":1}},"required":["b"]}"#;
    assert_eq!(json::to_string(&schema.to_json_schema()), want);
}

#[test]
fn recursive_type_is_reported_at_its_definition() {
    let (_, problems) = shorthand("{a: A, $types: {A: {b: B}, B: '[]A'}}");
    let want = "[\"$types\"].B@3+1: cyclic type reference: A → B → A (a type cannot contain itself)";
    assert_eq!(told(&problems), [want.replace("[\"$types\"]", "$types")]);
}

#[test]
fn unused_type_is_read_too() {
    let (_, problems) = shorthand("{a: string, $types: {A: strng}}");
    assert_eq!(told(&problems), ["$types.A@1+5: unknown type `strng` (did you mean `string`?)"]);
}

#[test]
fn types_that_double_with_every_level_are_cut() {
    let mut text = "{a: T0, $types: {".to_owned();
    for level in 0..20 {
        text.push_str(&format!("T{level}: {{x: T{0}, y: T{0}}}, ", level + 1));
    }
    text.push_str("T20: string}}");
    let (_, problems) = shorthand(&text);
    assert!(problems.iter().any(|problem| problem.message.contains("more than 20000 parts")), "{problems:?}");
}

#[test]
fn types_that_reach_deeper_with_every_level_are_cut() {
    let mut text = "{a: T100, $types: {T0: string, ".to_owned();
    for level in 0..100 {
        text.push_str(&format!("T{}: {{x: {{x: {{x: '[]T{level}'}}}}}}, ", level + 1));
    }
    text.push_str("}}");
    let (_, problems) = shorthand(&text);
    assert_eq!(
        problems.first().map(|problem| problem.message.as_str()),
        Some("the schema is nested deeper than 64 levels")
    );
}

#[test]
fn a_wrong_field_takes_anything_and_its_neighbours_stay() {
    let (schema, problems) = shorthand("{a: strng, b: integer}");
    assert_eq!(problems.len(), 1);
    check(&schema, "{a: [1], b: x}", &["`b` must be of type integer: \"string\""]);
}

#[test]
fn references_are_written_out_with_the_fields_beside_them_on_top() {
    let text = "{type: object, $defs: {P: {type: integer, default: 1}}, properties: {p: {$ref: '#/$defs/P', default: 2}}}";
    let want = r#"{"type":"object","properties":{"p":{"type":"integer","default":2}}}"#;
    assert_eq!(json::to_string(&open_api(text).to_json_schema()), want);
}

#[test]
fn mistake_in_a_definition_is_reported_at_the_definition() {
    let text =
        "{properties: {p: {$ref: '#/$defs/P', maximum: x}}, $defs: {P: {type: integer, minimum: low}}}";
    let (_, problems) = Schema::open_api(&parsed(text), &["spec".into()]);
    assert_eq!(
        told(&problems),
        [
            "spec.$defs.P.minimum: `minimum` is a string, expected a number",
            "spec.properties.p.maximum: `maximum` is a string, expected a number",
        ]
    );
}

#[test]
fn missing_and_cyclic_references_are_reported() {
    let told_of = |text: &str| told(&Schema::open_api(&parsed(text), &[]).1);
    assert_eq!(
        told_of("{properties: {p: {$ref: '#/$defs/Prt'}}, $defs: {Port: {}}}"),
        ["properties.p.$ref: $ref `#/$defs/Prt` not found in `$defs` (did you mean `#/$defs/Port`?)"]
    );
    assert_eq!(
        told_of("{$ref: '#/$defs/A', $defs: {A: {items: {$ref: '#/$defs/A'}}}}"),
        [
            "$defs.A.items.$ref: circular $ref: A → A (a parameter cannot contain itself; end the chain in a plain type)"
        ]
    );
}

#[test]
fn definitions_that_double_with_every_level_are_cut() {
    let mut text = "{$ref: '#/$defs/D0', $defs: {".to_owned();
    for level in 0..30 {
        text.push_str(&format!(
            "D{level}: {{properties: {{x: {{$ref: '#/$defs/D{0}'}}, y: {{$ref: '#/$defs/D{0}'}}}}}}, ",
            level + 1
        ));
    }
    text.push_str("D30: {type: string}}}");
    let (_, problems) = Schema::open_api(&parsed(&text), &[]);
    assert!(problems.iter().any(|problem| problem.message.contains("more than 20000 parts")), "{problems:?}");
}

#[test]
fn a_number_for_an_exclusive_bound_is_explained() {
    let (_, problems) = Schema::open_api(&parsed("{type: integer, exclusiveMinimum: 5}"), &[]);
    let want = "exclusiveMinimum: the bound is a number, expected true or false (write `minimum: 5` beside it, and true here)";
    assert_eq!(told(&problems), [want]);
}

#[test]
fn a_default_that_its_own_schema_refuses_is_a_warning() {
    let (_, problems) = Schema::open_api(&parsed("{properties: {a: {type: integer, default: x}}}"), &[]);
    let want = "properties.a.default: the default is refused by its own schema: the value must be of type integer: \"string\"";
    assert_eq!(told(&problems), [want]);
    assert!(problems.iter().all(|problem| problem.severity == DiagnosticLevel::Warning));
}

#[test]
fn defaults_fill_existing_objects_and_create_none() {
    let schema = sound("{a: {x: 'integer | default=1'}, b: {$default: {}, z: 'integer | default=2'}}");
    defaulted(&schema, "{}", r#"{"b":{"z":2}}"#);
    defaulted(&schema, "{a: {}}", r#"{"a":{"x":1},"b":{"z":2}}"#);
    defaulted(&schema, "null", r#"{"b":{"z":2}}"#);
}

#[test]
fn defaults_reach_into_lists_and_maps() {
    let schema = sound("{l: '[]T', m: 'map<T>', $types: {T: {m: 'string | default=d', o: string}}}");
    defaulted(
        &schema,
        "{l: [{o: x}, {m: own}], m: {k: {}}}",
        r#"{"l":[{"o":"x","m":"d"},{"m":"own"}],"m":{"k":{"m":"d"}}}"#,
    );
}

#[test]
fn null_takes_the_default_unless_null_is_allowed() {
    let text = "{type: object, properties: {a: {type: integer, default: 1}, b: {type: integer, default: 1, nullable: true}}}";
    defaulted(&open_api(text), "{a: null, b: null}", r#"{"a":1,"b":null}"#);
}

#[test]
fn violation_names_the_parameter_and_its_path() {
    let schema = sound(
        "{ports: '[]Port', labels: 'map<string>', $types: {Port: {name: 'string | maxLength=3', number: integer}}}",
    );
    check(
        &schema,
        "{ports: [{name: http, number: '80'}, {name: a}], labels: {a.b/c: 1}}",
        &[
            "`ports[0].name` should be at most 3 chars long, got 4",
            "`ports[0].number` must be of type integer: \"string\" (write 80 without quotes)",
            "`ports[1].number` is required (give it an integer)",
            "`labels[\"a.b/c\"]` must be of type string: \"number\" (quote it: \"1\")",
        ],
    );
}

#[test]
fn an_unknown_parameter_is_a_warning_unless_the_schema_is_closed() {
    let open = sound("{replicas: 'integer | default=1'}");
    check(
        &open,
        "{replcas: 2}",
        &["warning: `replcas` is not in the schema, so nothing reads it (did you mean `replicas`?)"],
    );
    let closed =
        open_api("{type: object, additionalProperties: false, properties: {replicas: {type: integer}}}");
    check(&closed, "{replcas: 2}", &["`replcas` is a forbidden property (did you mean `replicas`?)"]);
    check(&open_api("{type: object}"), "{anything: 2}", &[]);
}

#[test]
fn numbers_are_compared_exactly() {
    let schema = sound(
        "{a: 'integer | multipleOf=5 default=0', b: 'number | multipleOf=0.1 default=0', c: 'number | maximum=1 exclusiveMaximum=true default=0'}",
    );
    check(&schema, "{a: 10, b: 0.3, c: 0.5}", &[]);
    check(&schema, "{a: 11}", &["`a` should be a multiple of 5, got 11"]);
    check(&schema, "{a: 1.5}", &["`a` must be of type integer: \"number\""]);
    check(&schema, "{a: 5.0, c: 1}", &["`c` should be less than 1, got 1"]);
}

#[test]
fn schemas_are_combined() {
    let one = open_api("{oneOf: [{type: string}, {type: integer}, {minimum: 5, type: number}]}");
    check(&one, "a", &[]);
    check(&one, "7", &["the value must validate one and only one schema (oneOf), 2 do"]);
    check(&one, "true", &["the value must validate one and only one schema (oneOf), none does"]);
    let not = open_api("{not: {type: string}, anyOf: [{type: string}, {type: integer}]}");
    check(&not, "1", &[]);
    check(&not, "a", &["the value must not validate the schema (not)"]);
}

#[test]
fn formats_are_checked_where_they_are_known() {
    let fits = super::formats::has_format;
    for (format, good, bad) in [
        ("ipv4", "10.0.0.1", "10.0.0"),
        ("cidr", "10.0.0.0/8", "10.0.0.0/33"),
        ("date", "2024-02-29", "2023-02-29"),
        ("date-time", "2024-01-01T10:00:00.5+02:00", "2024-01-01T25:00:00Z"),
        ("duration", "1h30m", "soon"),
        ("email", "a@example.com", "a@"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567"),
        ("uri", "https://example.com/a", "no uri"),
        ("mac", "01:23:45:67:89:ab", "01:23"),
    ] {
        assert!(fits(format, good), "{format} {good}");
        assert!(!fits(format, bad), "{format} {bad}");
    }
    assert!(fits("colour", "anything"));
}

#[test]
fn all_four_shapes_say_the_same() {
    let want = r#"{"type":"object","properties":{"tier":{"type":"string","default":"small","enum":["small","large"]}}}"#;
    let field = "tier: 'string | enum=small,large default=small'";
    for spec in [
        format!("{{schema: {{{field}}}}}"),
        format!("{{schema: {{parameters: {{{field}}}}}}}"),
        "{schema: {types: {Tier: 'string | enum=small,large default=small'}, parameters: {tier: Tier}}}"
            .to_owned(),
        format!("{{parameters: {{ocSchema: {{{field}}}}}}}"),
        format!("{{parameters: {{openAPIV3Schema: {want}}}}}"),
    ] {
        let (sections, problems) = read_sections(&parsed(&spec));
        assert!(problems.is_empty(), "{spec}: {problems:?}");
        let schema = sections.parameters.unwrap();
        assert_eq!(json::to_string(&schema.to_json_schema()), want, "{spec}");
    }
}

#[test]
fn old_and_new_names_of_the_environment_are_read() {
    for spec in [
        "{schema: {envOverrides: {a: string}}}",
        "{schema: {environmentConfigs: {a: string}}}",
        "{envOverrides: {ocSchema: {a: string}}}",
        "{environmentConfigs: {openAPIV3Schema: {type: object, properties: {a: {type: string}}}}}",
    ] {
        let (sections, problems) = read_sections(&parsed(spec));
        assert!(problems.is_empty(), "{spec}: {problems:?}");
        assert_eq!(sections.environment_configs.unwrap().root().names().collect::<Vec<_>>(), ["a"], "{spec}");
        assert!(sections.parameters.is_none(), "{spec}");
    }
}

#[test]
fn a_parameter_may_have_the_name_of_a_part() {
    let (sections, _) = read_sections(&parsed("{schema: {types: '[]string', parameters: string}}"));
    assert_eq!(sections.parameters.unwrap().root().names().collect::<Vec<_>>(), ["types", "parameters"]);
}

#[test]
fn names_are_followed_into_a_schema() {
    let schema = sound("{db: {port: integer}, labels: 'map<string>'}");
    let FieldLookup::Known(db) = schema.root().child("db") else { panic!("db is declared") };
    assert!(matches!(db.child("port"), FieldLookup::Known(field) if field.kind() == Some("integer")));
    assert!(matches!(db.child("prot"), FieldLookup::Unknown(Some("port"))));
    let FieldLookup::Known(labels) = schema.root().child("labels") else { panic!("labels is declared") };
    assert!(matches!(labels.child("any"), FieldLookup::Known(field) if field.kind() == Some("string")));
    assert!(schema.root().has_always("db"));
}
