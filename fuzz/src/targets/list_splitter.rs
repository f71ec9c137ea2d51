//! Lists that are split while they arrive: the parts are those of the whole, wherever the bytes are cut.

use kubewright_cluster::{ListPart, ListSplitter};
use kubewright_value::{Map, Value, json};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

/// The largest part that is read.
const MAX_PART_BYTES: usize = 1 << 20;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "list_splitter",
    run: fuzz_list_splitter,
    seeds: &[
        r#"{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5","continue":"x"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b","annotations":{"x":"]},{\"\\"}}}]}"#,
        r#"{"apiVersion":"x/v1","items":[{"kind":"Thing","n":[1,-2.5e3,null,true]}],"kind":"ThingList","metadata":{}}"#,
        r#" { "items" : null , "a" : 1 } "#,
        r#"{"items":[1,"é😀",[],{},""]}"#,
    ],
    dictionaries: &[FuzzDictionary::Json],
    words: &[
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\"items\":[",
        "\"items\":",
        "null",
        "1e3",
        " ",
        "\n",
        "\\\"",
        "é",
        "\"kind\":\"PodList\",",
    ],
};

fn fuzz_list_splitter(input: &[u8]) {
    let whole = split(input, input.len().max(1));
    let size = 1 + input.len() % 7;
    assert_eq!(whole, split(input, size), "parts depend on where the bytes are cut");
    let Ok(text) = std::str::from_utf8(input) else { return };
    // A key that comes twice counts once in the whole.
    if text.matches("items").count() > 1 || text.contains("\\u") {
        return;
    }
    let Ok(Value::Object(list)) = json::parse(text) else { return };
    let items = list.get("items");
    if items.is_some_and(|items| !matches!(items, Value::Array(_) | Value::Null)) {
        return;
    }
    let (parts, is_complete) = whole.unwrap_or_default();
    assert!(is_complete, "a whole list was refused");
    let mut fields = Map::new();
    let mut found = Vec::new();
    for part in parts {
        match part {
            ListPart::Field(key, value) => drop(fields.insert(key, value)),
            ListPart::Item(item) => found.push(item),
        }
    }
    assert_eq!(found, items.and_then(Value::as_array).unwrap_or_default(), "other items");
    let mut others = Map::clone(&list);
    others.remove("items");
    fields.remove("items");
    assert_eq!(Value::object(fields), Value::object(others), "other fields");
}

/// Returns the parts and whether the list has ended; `None` where it is refused.
fn split(input: &[u8], size: usize) -> Option<(Vec<ListPart>, bool)> {
    let mut splitter = ListSplitter::new(MAX_PART_BYTES);
    let mut parts = Vec::new();
    for piece in input.chunks(size) {
        splitter.push(piece);
        while let Some(part) = splitter.next_part().ok()? {
            parts.push(part);
        }
    }
    Some((parts, splitter.is_complete()))
}
