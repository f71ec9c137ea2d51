//! Patches apply as a whole or not at all, and the difference of two values leads from one to the other.

use kubewright_patch::{self as patch, JsonPatchOperation, PatchOptions};
use kubewright_value::{Budget, Limits, Value, json, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "patch",
    run: fuzz_patch,
    seeds: &[
        r#"[{"a":{"b":[1,2,{"c":3}]},"n":null},[{"op":"add","path":"/a/b/-","value":4},{"op":"remove","path":"/a/b/0"}]]"#,
        r#"[{"a":[1,2,3]},[{"op":"replace","path":"/a/-1","value":9},{"op":"test","path":"/a/0","value":2}]]"#,
        r#"[{"x":1},[{"op":"add","path":"/p/q/3/r","value":{}},{"op":"move","from":"/p","path":"/x"},{"op":"copy","from":"/x/q","path":"/y~1z"}]]"#,
        r#"[[[1,2],[3]],[{"op":"add","path":"/0/-2","value":7},{"op":"remove","path":"/1"},{"op":"remove","path":"/9/9"}]]"#,
    ],
    dictionaries: &[FuzzDictionary::Json, FuzzDictionary::JsonPatch],
    words: &[
        "\"op\":",
        "\"add\"",
        "\"remove\"",
        "\"replace\"",
        "\"move\"",
        "\"copy\"",
        "\"test\"",
        "\"path\":",
        "\"from\":",
        "\"value\":",
        "/a",
        "/0",
        "/-",
        "/-1",
        "/-2",
        "/1000000000",
        "~0",
        "~1",
        "null",
        "{}",
        "[]",
        ",",
        "[",
        "]",
        "{",
        "}",
    ],
};

fn fuzz_patch(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(input) = yaml::parse(text) else { return };
    let (Some(before), Some(operations)) = (input.item(0), input.item(1)) else { return };
    check_diff(before, operations);
    let Ok(operations) = JsonPatchOperation::list(operations) else { return };
    for options in [PatchOptions::rfc6902(), PatchOptions::lenient()] {
        let mut after = before.clone();
        let limits = Limits { steps: 200_000, bytes: 4 << 20, depth: 128 };
        match patch::apply_patch(&mut after, &operations, &options, &mut Budget::new(limits)) {
            Ok(_) => check_diff(before, &after),
            Err(_) => assert_eq!(after.to_string(), before.to_string(), "a patch that fails changes nothing"),
        }
    }
}

fn check_diff(before: &Value, after: &Value) {
    let operations = patch::diff_values(before, after);
    let mut made = before.clone();
    let applied =
        patch::apply_patch(&mut made, &operations, &PatchOptions::rfc6902(), &mut Budget::default());
    assert!(applied.is_ok(), "the difference applies: {applied:?}");
    assert!(
        made == *after,
        "the difference leads from {} to {}",
        json::to_string(before),
        json::to_string(after)
    );
}
