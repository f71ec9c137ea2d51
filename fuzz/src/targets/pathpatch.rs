//! Patches by paths that select: all or nothing, where they say, and text that is put in stays inside of its segment.

use kubewright_patch::path::{PatchPath, PathChange, PathOp, PathPiece, PathSegment, PathWriters};
use kubewright_value::{Budget, Limits, Step, Value, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "pathpatch",
    run: fuzz_pathpatch,
    seeds: &[
        "/spec/c[?(@.n=='a')]/env/-\nx\n[{\"spec\":{\"c\":[{\"n\":\"a\",\"env\":[1]},{\"n\":\"b\"},{\"n\":\"a\"}]}},{\"x\":1}]",
        "/m/[*]/[*]\nx')]/y\n[{\"m\":[[1,2],[3,4],[]]},9]",
        "/a~1b/0/['8080']/x[0]\n-\n[{\"a/b\":[{\"8080\":{\"x\":[null]}}]},{\"k\":{}}]",
        "/r/[*]/l/[?(@.a.b==\"1.5\")]/x\n]\n[{\"r\":[{\"l\":[{\"a\":{\"b\":1.5}}]},{\"l\":[]}]},[1]]",
        "/d/8080\n0\n[{\"d\":{\"8080\":1,\"9\":2}},null]",
        "/l[?(@.v=='')]\n\n[{\"l\":[{\"v\":null},{\"v\":true},{\"v\":10000000}]},\"t\"]",
    ],
    dictionaries: &[FuzzDictionary::JsonPatch],
    words: &[
        "/",
        "[*]",
        "[0]",
        "[-]",
        "/-",
        "/0",
        "/-1",
        "[?(@.a=='b')]",
        "[?(@.",
        "=='",
        "')]",
        "==",
        "&&",
        "~0",
        "~1",
        "['",
        "']",
        "\"",
        "{}",
        "[]",
        "null",
        "{\"a\":",
        "[1,2]",
        ",",
        "l",
        "a",
        "b",
        "x",
        "spec",
    ],
};

/// Takes a path, a text that is put into it at its middle, and `[document, value]`, each on its line.
fn fuzz_pathpatch(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.splitn(3, '\n');
    let (Some(path), Some(inserted), Some(rest)) = (lines.next(), lines.next(), lines.next()) else { return };
    let Ok(input) = yaml::parse(rest) else { return };
    let Some(document) = input.item(0) else { return };
    let value = input.item(1).unwrap_or(&Value::Null);
    check_inserted(path, inserted, document, value);
    if let Ok(path) = PatchPath::parse(path) {
        check_path_patch(&path, document, value);
        check_writers(&path, document, value);
    }
}

fn check_path_patch(path: &PatchPath, document: &Value, value: &Value) {
    for op in [PathOp::Add, PathOp::Replace, PathOp::Remove, PathOp::Merge] {
        let limits = Limits { steps: 200_000, bytes: 4 << 20, depth: 128 };
        let mut after = document.clone();
        let places = path.expand(document, op, &mut Budget::new(limits));
        let before = document.to_string();
        let applied = path.apply(op, value, &mut after, &mut Budget::new(limits));
        assert_eq!(before, document.to_string(), "a copy is not changed");
        let Ok(applied) = applied else {
            assert_eq!(before, after.to_string(), "a patch that fails changes nothing");
            continue;
        };
        assert_eq!(Ok(applied.places.len()), places.map(|places| places.len()), "what expands is applied");
        assert_eq!(applied.was.len(), applied.places.len(), "each place was something or nothing");
        check_applied(op, &applied, document, &after, value);
    }
}

fn check_applied(op: PathOp, applied: &PathChange, before: &Value, after: &Value, value: &Value) {
    assert!(applied.places.is_sorted_by(|a, b| is_before(a, b)), "in document order");
    for place in &applied.places {
        match op {
            PathOp::Add | PathOp::Replace => {
                assert_eq!(after.follow(place), Some(value), "the value is at {place:?}");
            }
            PathOp::Remove => {}
            PathOp::Merge => assert!(after.follow(place).is_some_and(|v| v.as_object().is_some())),
        }
    }
    if !applied.is_insertion {
        let old: Vec<_> = applied.places.iter().map(|place| before.follow(place)).collect();
        assert_eq!(
            applied.was.iter().map(Option::as_ref).collect::<Vec<_>>(),
            old,
            "the old values are returned"
        );
        assert!(op != PathOp::Remove || old.iter().all(Option::is_some), "what is removed was there");
    }
    if op == PathOp::Remove && applied.places.is_empty() {
        assert!(after.is_same(before) || after == before, "nothing to remove changes nothing");
    }
    let count = applied.places.len();
    let (old, new) = (count_list_items(before), count_list_items(after));
    match op {
        PathOp::Remove => assert!(new <= old),
        PathOp::Add if applied.is_insertion => assert!(new >= old + count),
        _ => {}
    }
}

/// Checks that every recorded writer's value exists, and that only written values were overwritten.
fn check_writers(path: &PatchPath, document: &Value, value: &Value) {
    let mut document = document.clone();
    let mut writers = PathWriters::default();
    for (writer, op) in
        [PathOp::Add, PathOp::Merge, PathOp::Add, PathOp::Replace, PathOp::Remove, PathOp::Add]
            .into_iter()
            .enumerate()
    {
        let limits = Limits { steps: 200_000, bytes: 1 << 20, depth: 128 };
        let Ok(applied) = path.apply(op, value, &mut document, &mut Budget::new(limits)) else { continue };
        for lost in writers.note(op, value, &applied, &writer) {
            assert!(lost.writer < writer, "an earlier writer wrote it");
        }
        for (place, _) in writers.places() {
            assert!(document.follow(&place).is_some(), "what was written at {place:?} is there");
        }
        if op != PathOp::Remove && op != PathOp::Merge {
            assert!(
                applied.places.iter().all(|place| writers.last(place) == Some(&writer)),
                "the last one is known"
            );
        }
    }
}

/// Checks that places have a common path up to a list.
fn is_before(a: &[Step], b: &[Step]) -> bool {
    let parting = a.iter().zip(b).find(|(a, b)| a != b);
    matches!(parting, Some((Step::Index(a), Step::Index(b))) if a < b)
}

/// Counts the items of all lists.
fn count_list_items(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.len() + items.iter().map(self::count_list_items).sum::<usize>(),
        Value::Object(map) => map.values().map(count_list_items).sum(),
        _ => 0,
    }
}

/// Whatever text is put in, the path keeps its shape.
fn check_inserted(path: &str, inserted: &str, document: &Value, value: &Value) {
    let Some((head, tail)) =
        path.char_indices().nth(path.chars().count() / 2).and_then(|(at, _)| path.split_at_checked(at))
    else {
        return;
    };
    let with = |text| {
        PatchPath::from_pieces(&[PathPiece::Literal(head), PathPiece::Text(text), PathPiece::Literal(tail)])
    };
    let Ok(found) = with(inserted) else { return };
    check_path_patch(&found, document, value);
    let Ok(plain) = with("x") else { return };
    assert_eq!(found.segments().len(), plain.segments().len(), "`{inserted}` adds no segment");
    let selectors = |path: &PatchPath| path.segments().map(is_selector).collect::<Vec<_>>();
    assert_eq!(selectors(&found), selectors(&plain), "`{inserted}` makes no selector");
}

fn is_selector(segment: &PathSegment) -> bool {
    matches!(segment, PathSegment::Every | PathSegment::Filter { .. } | PathSegment::Append)
}
