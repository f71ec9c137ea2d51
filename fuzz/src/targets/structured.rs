//! A structured merge keeps what the patch does not name, and merging the same patch again changes nothing.

use kubewright_patch::older::{OlderOperation, apply_older_patch};
use kubewright_patch::structured::{
    ListRelation, MergeKey, MergeScalar, MergeShape, MergeType, StructuredMergeOptions, merge_structured,
};
use kubewright_value::{Budget, Limits, Value, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "structured",
    run: fuzz_structured,
    seeds: &[
        r#"[{"k":[{"name":"a","t":"x"},{"name":"b"}],"m":{"x":"1"}},{"k":[{"name":"b","t":"y"},{"name":"z"}]}]"#,
        r#"[{"s":["a","b","c"]},{"s":["z","b"]},[{"op":"add","path":"/s/-1","value":"q"}]]"#,
        r#"[{"m":{"a":"1"},"n":5,"b":true},{"m":{"a":"2","b":"3"},"n":6,"b":false,"t":"x"}]"#,
        r#"[{"o":{"k":[{"name":"a"},{"name":"a"}]}},{"o":{"k":[{"name":"a","n":1}]}}]"#,
        r#"[{"a":["x"],"x":{"p":[1]}},{"a":["y"],"x":{"q":{}}},[{"op":"move","from":"/a","path":"/b"}]]"#,
    ],
    dictionaries: &[FuzzDictionary::Json, FuzzDictionary::JsonPatch],
    words: &[
        "\"k\":",
        "\"s\":",
        "\"m\":",
        "\"o\":",
        "\"a\":",
        "\"x\":",
        "\"name\":",
        "\"a\"",
        "null",
        "[]",
        "{}",
        ",",
        "[",
        "]",
        "{",
        "}",
        "\"op\":",
        "\"path\":",
        "/k/0",
        "/-1",
    ],
};

/// A type whose fields have the forms that their names say.
#[derive(Debug, Clone)]
enum FuzzType {
    Object,
    Field(char),
}

impl MergeType for FuzzType {
    fn shape(&self) -> MergeShape<Self> {
        let list = |item: Self, relation| MergeShape::List { item, relation };
        match self {
            Self::Object | Self::Field('o') => MergeShape::Structure { is_atomic: false },
            Self::Field('k') => {
                let name = MergeKey { name: "name".into(), default: Some("".into()) };
                list(Self::Object, ListRelation::Keyed(vec![name]))
            }
            Self::Field('s') => list(Self::Field('t'), ListRelation::Set),
            Self::Field('a') => list(Self::Field('x'), ListRelation::Atomic),
            Self::Field('m') => MergeShape::Map { value: Self::Field('t'), is_atomic: false },
            Self::Field('n') => MergeShape::Scalar(MergeScalar::Number),
            Self::Field('b') => MergeShape::Scalar(MergeScalar::Boolean),
            Self::Field('t') => MergeShape::Scalar(MergeScalar::Text),
            Self::Field(_) => MergeShape::Anything,
        }
    }

    fn field(&self, name: &str) -> Option<Self> {
        match name {
            "name" => Some(Self::Field('t')),
            name => name.chars().next().filter(|_| name.len() == 1).map(Self::Field),
        }
    }
}

fn fuzz_structured(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(input) = yaml::parse(text) else { return };
    let (Some(live), Some(patch)) = (input.item(0), input.item(1)) else { return };
    let limits = Limits { steps: 200_000, bytes: 4 << 20, depth: 128 };
    let options = StructuredMergeOptions { replaces_atomics: true, ..StructuredMergeOptions::default() };
    let merge = |live: &Value| {
        merge_structured(live, patch, &FuzzType::Object, options, &mut Budget::new(limits)).ok()
    };
    if let Some(once) = merge(live)
        && let Some(twice) = merge(&once)
    {
        assert_eq!(once.to_string(), twice.to_string(), "a merge is idempotent");
    }
    let operations = input.item(2).and_then(Value::as_array).unwrap_or_default();
    let operations: Vec<OlderOperation> = operations.iter().map(read_operation).collect();
    let _ = apply_older_patch(live, &operations, &mut Budget::new(limits));
}

fn read_operation(value: &Value) -> OlderOperation {
    let text = |key: &str| value.str_at(&[key]).into();
    let given = value.get("value").cloned().unwrap_or_default();
    OlderOperation { op: text("op"), path: text("path"), from: text("from"), value: given }
}
