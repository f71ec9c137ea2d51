//! Lists that are cut, and what is left whole.

use super::*;

/// Returns the first words of the items of `text`, with their lines, after it was made large.
fn cut(text: &str) -> Option<Vec<(u32, String)>> {
    let large = format!("{text}{}", "# padding\n".repeat(LARGE / 10 + 1));
    let chunk = StreamChunk { range: 0..large.len(), line: 1 };
    let (_, items) = items(&large, &chunk)?;
    let first = |item: &StreamChunk| (item.line, large.get(item.range.clone()).unwrap_or_default());
    Some(
        items
            .iter()
            .map(first)
            .map(|(line, text)| (line, text.lines().next().unwrap_or_default().to_owned()))
            .collect(),
    )
}

#[track_caller]
fn check(text: &str, want: Option<&[(u32, &str)]>) {
    let want =
        want.map(|want| want.iter().map(|(line, text)| (*line, (*text).to_owned())).collect::<Vec<_>>());
    assert_eq!(cut(text), want, "{text}");
}

#[test]
fn the_items_of_a_dump_are_cut_apart() {
    let dump = "apiVersion: v1\nitems:\n- a: 1\n  b: |\n    - c\n- a: 2\nkind: List\nmetadata:\n  resourceVersion: \"\"\n";
    check(dump, Some(&[(3, "- a: 1"), (6, "- a: 2")]));
    check(
        "---\nkind: PodList\nitems:\n  - a: 1\n    b: [\n      x]\n  - a: 2\n",
        Some(&[(4, "  - a: 1"), (7, "  - a: 2")]),
    );
}

#[test]
fn anything_else_is_left_whole() {
    check("apiVersion: v1\nitems:\n- a: 1\nkind: Pod\n", None);
    check("kind: ResourceList\nitems:\n- a: 1\n", None);
    check("kind: List\nfunctionConfig: {}\nitems:\n- a: 1\n", None);
    check("kind: List\nitems: [{a: 1}]\n", None);
    check("kind: List\nitems: []\n", None);
    check("kind: List\nitems:\n- a: 1\nitems:\n- b: 1\n", None);
    check("{\"kind\": \"List\"}\n", None);
}

#[test]
fn a_small_list_is_left_whole() {
    let text = "kind: List\nitems:\n- a: 1\n";
    assert!(items(text, &StreamChunk { range: 0..text.len(), line: 1 }).is_none());
}
