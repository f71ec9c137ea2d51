//! Structured merge of small values.

use kubewright_value::{Budget, Value};

use super::*;

fn parse(text: &str) -> Result<Value, String> {
    kubewright_value::json::parse(text).map_err(|error| error.to_string())
}

/// A type written as a text: `s` text, `n` number, `b` boolean, `?` anything, `[T]` atomic, `[T]+` set, `[T]@key` keyed,
/// `{T}` map, `{T}!` atomic map, `S` the structure of the tests, `A` an atomic structure.
#[derive(Debug, Clone)]
struct TextType(&'static str);

impl MergeType for TextType {
    fn shape(&self) -> MergeShape<Self> {
        let inner = |from: usize, to: usize| TextType(&self.0[from..to]);
        let close = self.0.rfind([']', '}']).unwrap_or(0);
        let behind = &self.0[(close + 1).min(self.0.len())..];
        match self.0.as_bytes().first() {
            Some(b's') => MergeShape::Scalar(MergeScalar::Text),
            Some(b'n') => MergeShape::Scalar(MergeScalar::Number),
            Some(b'b') => MergeShape::Scalar(MergeScalar::Boolean),
            Some(b'q') => MergeShape::Scalar(MergeScalar::Any),
            Some(b'?') => MergeShape::Anything,
            Some(b'[') => MergeShape::List {
                item: inner(1, close),
                relation: match behind.as_bytes().first() {
                    Some(b'+') => ListRelation::Set,
                    Some(b'@') => ListRelation::Keyed(vec![
                        MergeKey { name: "name".into(), default: None },
                        MergeKey { name: "protocol".into(), default: Some("TCP".into()) },
                    ]),
                    _ => ListRelation::Atomic,
                },
            },
            Some(b'{') => MergeShape::Map { value: inner(1, close), is_atomic: behind == "!" },
            Some(b'A') => MergeShape::Structure { is_atomic: true },
            _ => MergeShape::Structure { is_atomic: false },
        }
    }

    fn field(&self, name: &str) -> Option<Self> {
        let fields = [
            ("name", "s"),
            ("protocol", "s"),
            ("count", "n"),
            ("on", "b"),
            ("size", "q"),
            ("args", "[s]"),
            ("labels", "{s}"),
            ("selector", "{s}!"),
            ("finalizers", "[s]+"),
            ("items", "[S]@"),
            ("ref", "A"),
            ("raw", "?"),
        ];
        fields.iter().find(|(field, _)| *field == name).map(|(_, kind)| TextType(kind))
    }
}

fn merge_with(live: &str, patch: &str, options: StructuredMergeOptions) -> Result<Value, String> {
    let read = |text: &str| parse(text).expect("JSON");
    merge_structured(&read(live), &read(patch), &TextType("S"), options, &mut Budget::default())
        .map_err(|error| error.to_string())
}

#[track_caller]
fn merges(live: &str, patch: &str, expected: &str) {
    let merged = merge_with(live, patch, StructuredMergeOptions::default()).expect("a merge");
    assert_eq!(merged, parse(expected).expect("JSON"));
}

#[track_caller]
fn refuses(live: &str, patch: &str, expected: &str) {
    let error = merge_with(live, patch, StructuredMergeOptions::default()).expect_err("a refusal");
    assert_eq!(error, expected);
}

fn names(names: &str) -> String {
    let item = |name: &str| format!(r#"{{"name": "{name}"}}"#);
    let items: Vec<String> = names.split(' ').filter(|name| !name.is_empty()).map(item).collect();
    format!(r#"{{"items": [{}]}}"#, items.join(","))
}

#[test]
fn maps_are_united_and_scalars_replaced() {
    merges(
        r#"{"labels": {"a": "1", "b": "2"}, "count": 1}"#,
        r#"{"labels": {"b": "3", "c": "4"}, "count": 2}"#,
        r#"{"labels": {"a": "1", "b": "3", "c": "4"}, "count": 2}"#,
    );
}

#[test]
fn keyed_items_keep_the_order_of_the_patch() {
    for (live, patch, expected) in [
        ("a b c", "c x a", "b c x a"),
        ("a b c", "x a", "x a b c"),
        ("a b c", "a x b", "a x b c"),
        ("a b c", "z", "a b c z"),
        ("a b c", "", "a b c"),
        ("", "a b", "a b"),
        ("a b", "b a", "b a"),
    ] {
        merges(&names(live), &names(patch), &names(expected));
    }
}

#[test]
fn sets_keep_the_order_of_the_patch() {
    merges(
        r#"{"finalizers": ["a", "b", "c"]}"#,
        r#"{"finalizers": ["z", "b"]}"#,
        r#"{"finalizers": ["a", "z", "b", "c"]}"#,
    );
}

#[test]
fn items_with_one_key_are_merged_and_a_default_is_part_of_it() {
    merges(
        r#"{"items": [{"name": "a", "count": 1}]}"#,
        r#"{"items": [{"name": "a", "protocol": "TCP", "on": true}]}"#,
        r#"{"items": [{"name": "a", "count": 1, "protocol": "TCP", "on": true}]}"#,
    );
    merges(
        r#"{"items": [{"name": "a", "count": 1}]}"#,
        r#"{"items": [{"name": "a", "protocol": "UDP"}]}"#,
        r#"{"items": [{"name": "a", "count": 1}, {"name": "a", "protocol": "UDP"}]}"#,
    );
}

#[test]
fn items_that_an_object_has_twice_become_the_first_one() {
    merges(
        r#"{"items": [{"name": "a", "count": 1}, {"name": "a", "count": 2}, {"name": "b"}]}"#,
        r#"{"items": [{"name": "a", "on": true}]}"#,
        r#"{"items": [{"name": "a", "count": 1, "on": true}, {"name": "b"}]}"#,
    );
}

#[test]
fn empty_parts_change_nothing_and_new_ones_are_set() {
    merges(r#"{"items": [{"name": "a"}]}"#, r#"{"items": []}"#, r#"{"items": [{"name": "a"}]}"#);
    merges("{}", r#"{"labels": {}}"#, r#"{"labels": {}}"#);
}

#[test]
fn atomic_parts_of_a_patch_are_refused_with_all_paths() {
    refuses(
        "{}",
        r#"{"items": [{"name": "a", "args": ["x"]}, {"name": "b", "ref": {"name": "r"}}], "selector": {"a": "b"}}"#,
        "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .items[0].args, .items[1].ref, .selector",
    );
    let options = StructuredMergeOptions { replaces_atomics: true, ..StructuredMergeOptions::default() };
    let merged = merge_with(r#"{"args": ["a", "b"]}"#, r#"{"args": ["x"]}"#, options).expect("a merge");
    assert_eq!(merged, parse(r#"{"args": ["x"]}"#).expect("JSON"));
}

#[test]
fn values_of_other_types_are_refused() {
    let patch = "failed to convert patch object to typed object: ";
    for (value, reason) in [
        (r#"{"zzz": 1}"#, ".zzz: field not declared in schema"),
        (r#"{"on": "x"}"#, ".on: expected boolean, got &{x}"),
        (r#"{"labels": {"x": 5}}"#, ".labels.x: expected string, got &value.valueUnstructured{Value:5}"),
        (r#"{"count": "5"}"#, ".count: expected numeric (int or float), got string"),
        (r#"{"size": []}"#, ".size: expected any scalar, got &{[...]}"),
        (r#"{"items": {}}"#, ".items: expected list, got &{map[...]}"),
        (r#"{"items": [5]}"#, ".items: element 0: associative list with keys may not have non-map elements"),
        (
            r#"{"items": [{"name": "a"}, {"name": "a"}]}"#,
            ".items: duplicate entries for key [name=\"a\",protocol=\"TCP\"]",
        ),
    ] {
        refuses("{}", value, &format!("{patch}{reason}"));
    }
    refuses(
        r#"{"on": "x"}"#,
        "{}",
        "failed to convert original object to typed object: .on: expected boolean, got &{x}",
    );
}

#[test]
fn a_field_of_the_object_that_is_not_declared_is_refused_unless_such_fields_stay() {
    let (live, patch) = (r#"{"zzz": {"a": 1}}"#, r#"{"name": "a"}"#);
    let refusal = "failed to convert original object to typed object: .zzz: field not declared in schema";
    refuses(live, patch, refusal);
    let options = StructuredMergeOptions { keeps_undeclared: true, ..StructuredMergeOptions::default() };
    let merged = merge_with(live, patch, options).expect("a merge");
    assert_eq!(merged, parse(r#"{"zzz": {"a": 1}, "name": "a"}"#).expect("JSON"));
}

#[test]
fn nulls_are_accepted_unless_they_are_refused() {
    merges(r#"{"name": "a"}"#, r#"{"name": null}"#, r#"{"name": null}"#);
    merges(r#"{"labels": {"a": "b"}}"#, r#"{"labels": null}"#, r#"{"labels": {"a": "b"}}"#);
    let options = StructuredMergeOptions { refuses_nulls: true, ..StructuredMergeOptions::default() };
    let error = merge_with("{}", r#"{"name": null}"#, options).expect_err("a refusal");
    assert!(error.ends_with(".name: expected string, got &value.valueUnstructured{Value:0}"), "{error}");
}

#[test]
fn untyped_parts_are_united_and_their_lists_replaced_only_on_request() {
    merges(
        r#"{"raw": {"a": {"b": 1}}}"#,
        r#"{"raw": {"a": {"c": 2}}}"#,
        r#"{"raw": {"a": {"b": 1, "c": 2}}}"#,
    );
    refuses(
        "{}",
        r#"{"raw": [1]}"#,
        "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .raw",
    );
}

#[test]
fn a_budget_bounds_the_merge() {
    use kubewright_value::Limits;
    let live = parse(&names(&"a ".repeat(50))).expect("JSON");
    let mut budget = Budget::new(Limits { steps: 20, ..Limits::default() });
    let merged =
        merge_structured(&live, &live, &TextType("S"), StructuredMergeOptions::default(), &mut budget);
    assert!(matches!(merged, Err(StructuredMergeError::Limit(_))));
}
