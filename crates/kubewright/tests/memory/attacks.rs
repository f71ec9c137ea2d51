//! Rules and objects that once took all memory, or were written to.

use kubewright_value::{Limits, Map, Value, json};

use super::{Folder, holds, stays_small};

const USED_UP: &str = "the budget of 33554432 bytes is used up";

fn value(text: &str) -> Value {
    json::parse(text).expect("JSON")
}

/// Returns a ConfigMap with these data.
pub(super) fn config_map(data: impl IntoIterator<Item = (String, String)>) -> Value {
    let data: Map = data.into_iter().map(|(key, text)| (key.into(), text.into())).collect();
    let metadata = value(r#"{"name":"c","namespace":"default"}"#);
    Map::from([
        ("apiVersion", "v1".into()),
        ("kind", "ConfigMap".into()),
        ("metadata", metadata),
        ("data", data.into()),
    ])
    .into()
}

fn big(bytes: usize) -> (String, String) {
    ("big".to_owned(), "x".repeat(bytes))
}

/// Returns a ClusterPolicy with one rule about ConfigMaps.
pub(super) fn policy(context: Value, validate: Value) -> Value {
    let mut policy = value(
        r#"{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{"name":"p"},"spec":{"background":false,
            "validationFailureAction":"Enforce","rules":[{"name":"r","match":{"any":[{"resources":{"kinds":["ConfigMap"]}}]}}]}}"#,
    );
    let rules = policy.as_object_mut().and_then(|map| map.get_mut("spec")).and_then(Value::as_object_mut);
    let rules = rules.and_then(|spec| spec.get_mut("rules")).and_then(Value::as_array_mut);
    let rule = rules.and_then(|rules| rules.first_mut()).and_then(Value::as_object_mut).expect("a rule");
    if !context.is_null() {
        rule.insert("context".into(), context);
    }
    rule.insert("validate".into(), validate);
    policy
}

/// Returns a check that denies where `key` compares with `value`.
pub(super) fn deny(key: &str, operator: &str, wanted: Value) -> Value {
    let condition = Map::from([("key", key.into()), ("operator", operator.into()), ("value", wanted)]);
    let conditions = Map::from([("any", Value::array(vec![condition.into()]))]);
    Map::from([("message", "no".into()), ("deny", Map::from([("conditions", conditions.into())]).into())])
        .into()
}

fn pattern(data: impl IntoIterator<Item = (String, String)>) -> Value {
    let data: Map = data.into_iter().map(|(key, text)| (key.into(), text.into())).collect();
    let pattern = Map::from([("data", data.into())]);
    Map::from([("message", "no".into()), ("pattern", pattern.into())]).into()
}

/// Returns a ValidatingPolicy with these variables and one expression.
pub(super) fn cel(variables: &[(String, String)], expression: &str) -> Value {
    let variable = |(name, expression): &(String, String)| {
        Map::from([("name", name.as_str().into()), ("expression", expression.as_str().into())]).into()
    };
    let variables: Vec<Value> = variables.iter().map(variable).collect();
    let validation = Map::from([("expression", expression.into()), ("message", "no".into())]);
    let rules = r#"{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}"#;
    let spec = Map::from([
        ("matchConstraints", value(rules)),
        ("variables", Value::array(variables)),
        ("validations", Value::array(vec![validation.into()])),
    ]);
    Map::from([
        ("apiVersion", "policies.kyverno.io/v1".into()),
        ("kind", "ValidatingPolicy".into()),
        ("metadata", value(r#"{"name":"p"}"#)),
        ("spec", spec.into()),
    ])
    .into()
}

/// Returns a ModRule that adds what `template` makes.
pub(super) fn mod_rule(template: &str) -> Value {
    let patch = Map::from([("op", "add".into()), ("path", "/data/x".into()), ("value", template.into())]);
    let spec = Map::from([
        ("type", "Patch".into()),
        ("match", value(r#"[{"select":"$.kind","matchValue":"ConfigMap"}]"#)),
        ("patch", Value::array(vec![patch.into()])),
    ]);
    Map::from([
        ("apiVersion", "api.kubemod.io/v1beta1".into()),
        ("kind", "ModRule".into()),
        ("metadata", value(r#"{"name":"m","namespace":"default"}"#)),
        ("spec", spec.into()),
    ])
    .into()
}

/// Returns the data of an object with many keys under `j`, and a large text.
fn many_keys() -> Value {
    let keys: Map = (0..12_000).map(|i| (format!("k{i}").into(), Value::from(1_i64))).collect();
    config_map([("j".to_owned(), json::to_string(&keys.into())), big(200_000)])
}

const ITEMS: &str = "{{ items(parse_json(request.object.data.j), request.object.data.big, 'v') }}";

#[test]
fn names_that_all_items_share_are_charged_for_each() {
    let text = deny(&format!("a {ITEMS}"), "Equals", "x".into());
    stays_small("items-in-a-text", &policy(Value::Null, text), &many_keys(), USED_UP);
    let whole = deny(ITEMS, "AnyIn", Value::array(vec!["x".into()]));
    stays_small("items-as-a-list", &policy(Value::Null, whole), &many_keys(), USED_UP);
}

#[test]
fn a_pattern_is_charged_before_it_is_compiled() {
    let variable = "{{ request.object.data.big }}".to_owned();
    for count in [100, 2000] {
        let keys = (0..count).map(|i| (format!("k{i}"), variable.clone()));
        let rule = policy(Value::Null, pattern(keys));
        stays_small(&format!("pattern-of-{count}"), &rule, &config_map([big(1_000_000)]), USED_UP);
    }
}

#[test]
fn hyphens_of_the_author_do_not_copy_the_text_around_them() {
    let text = format!("{{{{ request.object.data.big }}}}{}", "-a".repeat(1000));
    let rule = policy(Value::Null, pattern([("big".to_owned(), text)]));
    stays_small("hyphens", &rule, &config_map([big(1_000_000)]), "data.big is");
}

#[test]
fn values_in_a_text_are_charged_as_text() {
    let key = "{{ request.object.data }} ".repeat(1000);
    let rule = policy(Value::Null, deny(&key, "Equals", "x".into()));
    stays_small("values-in-a-text", &rule, &config_map([big(1_000_000)]), USED_UP);
}

#[test]
fn a_literal_that_many_elements_share_is_charged_for_each() {
    let keys = (0..20_000).map(|i| (format!("k{i}"), "1".to_owned()));
    let object = config_map(keys.chain([big(300_000)]));
    let shared = "{{ request.object.data.*.['{{ request.object.data.big }}'] }}";
    let text = policy(Value::Null, deny(&format!("a {shared}"), "Equals", "x".into()));
    stays_small("literal-in-a-text", &text, &object, USED_UP);
    let list = policy(Value::Null, deny(shared, "AnyIn", Value::array(vec!["x".into()])));
    stays_small("literal-in-a-list", &list, &object, USED_UP);
    let pattern = policy(Value::Null, pattern([("k1".to_owned(), shared.to_owned())]));
    stays_small("literal-in-a-pattern", &pattern, &object, USED_UP);
}

#[test]
fn what_a_text_says_is_charged_before_it_is_read() {
    let texts = config_map([("j".to_owned(), format!("[{}\"\"]", "\"\",".repeat(400_000)))]);
    let list = policy(Value::Null, deny("a", "AnyIn", "{{ request.object.data.j }}".into()));
    stays_small("list-in-a-text", &list, &texts, USED_UP);
    let objects = config_map([("j".to_owned(), format!("[{}1]", "{\"\":0},".repeat(140_000)))]);
    let parsed = deny("{{ parse_json(request.object.data.j) }}", "AnyIn", Value::array(vec!["x".into()]));
    stays_small("parsed-json", &policy(Value::Null, parsed), &objects, USED_UP);
}

#[test]
fn context_entries_do_not_nest_without_end() {
    let entry = |name: String, expression: String| -> Value {
        let variable = Map::from([("jmesPath", expression.into())]);
        Map::from([("name", name.into()), ("variable", variable.into())]).into()
    };
    let nested = |i: usize| format!("{}d{i}{}", "[".repeat(100), "]".repeat(100));
    let entries = (0..200).map(|i| entry(format!("d{}", i + 1), nested(i)));
    let entries = std::iter::once(entry("d0".into(), "request.object.data".into())).chain(entries);
    let rule = policy(Value::array(entries.collect()), deny("{{ d200 }}", "Equals", "x".into()));
    stays_small("nested-entries", &rule, &config_map([big(1)]), "error");
}

#[test]
fn messages_of_many_rules_have_an_end() {
    let mut rule = policy(Value::Null, pattern([("none".to_owned(), "x".to_owned())]));
    let rules = rule.as_object_mut().and_then(|map| map.get_mut("spec")).and_then(Value::as_object_mut);
    let rules = rules.and_then(|spec| spec.get_mut("rules")).and_then(Value::as_array_mut).expect("rules");
    let message = Value::from("{{ request.object.data.big }}".repeat(9));
    let one = rules.first().cloned().expect("a rule");
    *rules = (0..300)
        .map(|i| {
            let mut rule = one.as_object().cloned().expect("a rule");
            rule.insert("name".into(), format!("r{i}").into());
            let validate = rule.get_mut("validate").and_then(Value::as_object_mut).expect("a check");
            validate.insert("message".into(), message.clone());
            rule.into()
        })
        .collect();
    stays_small("messages", &rule, &config_map([big(1_000_000)]), "more bytes)");
}

#[test]
fn cel_charges_text_that_shared_parts_make() {
    let object = config_map([big(1_000_000)]);
    let shared = "lists.range(5000).map(i, {'n': string(i), 'k': object.data.big})";
    let variables = [
        ("l".to_owned(), shared.to_owned()),
        ("m".to_owned(), "listObjToMap(variables.l, variables.l, 'n', 'k')".to_owned()),
    ];
    for (name, expression) in [
        ("cel-encode", "json.encode(variables.l) == ''"),
        ("cel-format", "'%s'.format([variables.l]) == ''"),
        ("cel-format-map", "'%s'.format([variables.m]) == ''"),
        ("cel-join", "variables.l.map(e, e.k).join() == ''"),
    ] {
        stays_small(name, &cel(&variables, expression), &object, USED_UP);
    }
    let doubled = |name: &str, from: &str, by: fn(&str) -> String| {
        let next = |i: usize| (format!("{name}{}", i + 1), by(&format!("variables.{name}{i}")));
        std::iter::once((format!("{name}0"), from.to_owned())).chain((0..30).map(next)).collect::<Vec<_>>()
    };
    let texts = doubled("t", "object.data.big", |of| format!("{of} + {of}"));
    stays_small("cel-texts", &cel(&texts, "variables.t30 == ''"), &object, USED_UP);
    let lists = |name| doubled(name, "[object.data.big]", |of| format!("[{of}, {of}]"));
    let lists = [lists("v"), lists("w")].concat();
    stays_small("cel-lists", &cel(&lists, "variables.v30 == variables.w30"), &object, "costs more than");
}

#[test]
fn templates_charge_text_that_shared_parts_make() {
    let object = config_map([big(1_000_000)]);
    let many = "{{ $l := list }}{{ range $i := until 1000 }}{{ $l = append $l $.Target.data }}{{ end }}";
    let doubled = format!("{{{{ $l := list .Target.data }}}}{}", "{{ $l = list $l $l }}".repeat(40));
    for (name, template) in [
        ("template-range", "{{ range $i := until 1000 }}{{ $.Target.data.big }}{{ end }}".to_owned()),
        ("template-json", format!("{many}{{{{ toJson $l | len }}}}")),
        ("template-print", format!("{many}{{{{ print $l | len }}}}")),
        ("template-doubled", format!("{doubled}{{{{ $l }}}}")),
        ("template-copy", format!("{doubled}{{{{ deepCopy $l | len }}}}")),
        ("template-lists", "[{{ range $i := until 400000 }}[],{{ end }}]".to_owned()),
    ] {
        stays_small(name, &mod_rule(&template), &object, USED_UP);
    }
}

#[test]
fn eval_prints_no_more_than_it_may() {
    let folder = Folder::new("eval");
    let object = folder.write("object.json", &many_keys());
    let data = "items(parse_json(data.j), data.big, 'v')";
    let listed = "lists.range(5000).map(i, {'k': object.data.big})";
    for (language, expression) in [
        ("jmespath", data),
        ("jmespath", "data.*.[@, @, @] | [@, @, @, @, @, @] | [@, @, @, @, @, @] | [@, @, @, @, @, @]"),
        ("cel", listed),
        ("gotemplate", "{{ range $i := until 1000 }}{{ $.Target.data.big }}{{ end }}"),
    ] {
        let run = holds(
            language,
            &["eval", language, expression, "-f", &object],
            3 * Limits::default().bytes,
            &folder,
        );
        let shown: String = run.text.chars().take(300).collect();
        assert!(run.text.contains("bytes is used up"), "{language} {expression}: {shown}");
    }
}
