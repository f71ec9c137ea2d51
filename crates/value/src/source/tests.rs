use super::*;
use crate::json;

const TEXT: &str = "{\n  \"a\": [1, {\"b\": true}],\n  \"c\": \"long\"\n}";

#[track_caller]
fn check(path: &[Step], key: bool, want: &str) {
    let document = json::read(&Source::new("t.json", TEXT)).expect("readable");
    let found = if key { document.locate_key(path) } else { document.locate(path) };
    assert_eq!(format!("{found} +{}", found.length), want);
}

#[test]
fn values_and_keys_are_found_by_path() {
    check(&[], false, "t.json:1:1 +1");
    check(&["a".into()], false, "t.json:2:8 +1");
    check(&["a".into()], true, "t.json:2:3 +1");
    check(&["a".into(), 1.into(), "b".into()], false, "t.json:2:18 +4");
    check(&["c".into()], false, "t.json:3:8 +4");
}

#[test]
fn a_missing_value_is_placed_at_its_nearest_ancestor() {
    check(&["a".into(), 7.into(), "b".into()], false, "t.json:2:8 +1");
    check(&["zz".into(), "b".into()], true, "t.json:1:1 +1");
}

#[test]
fn a_part_keeps_its_positions() {
    let document = json::read(&Source::new("t.json", TEXT)).expect("readable");
    let part = document.part(&["a".into(), 1.into()]).expect("there");
    assert_eq!(part.value.to_string(), r#"{"b":true}"#);
    assert_eq!(part.locate(&["b".into()]).to_string(), "t.json:2:18");
}

#[test]
fn a_part_is_found_by_its_position() {
    let document = json::read(&Source::new("t.json", TEXT)).expect("readable");
    let at = |line, column| document.path_at(Position { line, column });
    assert_eq!(at(1, 1), []);
    assert_eq!(at(2, 3), ["a".into()], "at a key");
    assert_eq!(at(2, 9), ["a".into(), 0.into()]);
    assert_eq!(at(2, 18), ["a".into(), 1.into(), "b".into()]);
    assert_eq!(at(3, 10), ["c".into()], "inside of a text");
}

#[test]
fn what_was_made_is_written_so_that_its_parts_have_places() {
    let value = json::parse(r#"{"a": ["x\ny", {"b": 1}]}"#).expect("readable");
    let document = Document::written(value.clone(), "made");
    let path = ["a".into(), 1.into(), "b".into()];
    assert_eq!(document.value, value);
    assert_eq!(document.path_at(document.locate(&path).position), path);
}

#[test]
fn a_line_ends_as_in_yaml() {
    let source = Source::new("t.yaml", "a\r\nb\rc\n\nd");
    let lines: Vec<_> = (0..7).map(|number| source.line(number)).collect();
    assert_eq!(lines, [None, Some("a"), Some("b"), Some("c"), Some(""), Some("d"), None]);
    assert_eq!(Source::new("t.yaml", "a\n").line(2), None);
}

#[test]
fn a_hundred_thousand_numbers_on_one_line_are_located_at_once() {
    let text = format!("[{}1]", "1,".repeat(100_000));
    let document = json::read(&Source::new("t.json", text)).expect("readable");
    let part = document.part(&[70_000.into()]).expect("there");
    let started = std::time::Instant::now();
    for _ in 0..100_000 {
        assert_eq!(part.locate(&[]).position.column, 140_002);
    }
    assert!(started.elapsed().as_secs() < 5);
}

#[test]
fn the_items_of_an_array_keep_their_positions() {
    let document = json::read(&Source::new("t.json", TEXT)).expect("readable");
    let items: Vec<_> = document
        .items(&["a".into()])
        .map(|item| format!("{} {}", item.value, item.locate(&[]).position))
        .collect();
    assert_eq!(items, ["1 2:9", r#"{"b":true} 2:12"#]);
    assert_eq!(document.items(&["c".into()]).count(), 0);
}

#[test]
fn lines_are_found_as_an_editor_counts_them() {
    let source = Source::new("t", "one\r\n\nthree\n");
    let lines: Vec<_> = (0..6).map(|number| source.line(number)).collect();
    assert_eq!(lines, [None, Some("one"), Some(""), Some("three"), None, None]);
    assert_eq!(Source::new("t", "no break").line(1), Some("no break"));
}

#[test]
fn an_index_finds_the_positions_that_walking_finds() {
    for text in ["", "a", "é\nü\r\nx", &"long line, é ".repeat(40), &"several\nlines\n\n".repeat(40)] {
        let index = PositionIndex::new(text);
        for offset in 0..text.len() + 3 {
            assert_eq!(index.of(offset), Position::of(text, offset), "{offset} of {text:?}");
        }
    }
}
