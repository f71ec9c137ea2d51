//! Positions, documents and streams.

use super::*;

#[track_caller]
fn read_text(text: &str) -> ParsedStream {
    let reading = read(&Source::new("t", text));
    for document in &reading.documents {
        assert_eq!(document.positions.list.len(), position_count(&document.value), "positions of {text:?}");
    }
    reading
}

/// Reads `text` and compares the place of the value at `path`, and of its key.
#[track_caller]
fn stands(text: &str, path: &[Step], value: &str, key: &str) {
    let reading = read_text(text);
    let document = reading.documents.first().expect("a document");
    let places = (document.locate(path).position.to_string(), document.locate_key(path).position.to_string());
    assert_eq!(places, (value.to_owned(), key.to_owned()), "in {text:?}");
}

#[track_caller]
fn problems(text: &str, documents: usize, want: &[&str]) {
    let reading = read_text(text);
    let got: Vec<_> =
        reading.problems.iter().map(|p| format!("{} {}", p.location.position, p.message)).collect();
    assert_eq!(
        (reading.documents.len(), got.iter().map(String::as_str).collect::<Vec<_>>()),
        (documents, want.to_vec())
    );
}

#[test]
fn every_part_has_its_place() {
    let text = "# c\na:\n  b: [x, 'y']\n  c:\nd:\n- e: 1\n  f: |\n    t\n";
    stands(text, &[], "2:1", "2:1");
    stands(text, &["a".into()], "3:3", "2:1");
    stands(text, &["a".into(), "b".into(), 1.into()], "3:10", "3:10");
    stands(text, &["a".into(), "c".into()], "4:5", "4:3");
    stands(text, &["d".into(), 0.into(), "f".into()], "7:6", "7:3");
}

#[test]
fn columns_count_characters() {
    stands("é: ü\nb: [ö, x]", &["b".into(), 1.into()], "2:8", "2:8");
    stands("é: ü", &["é".into()], "1:4", "1:1");
}

#[test]
fn tags_and_anchors_do_not_move_the_place() {
    stands("a: !!str &x 5\nb: *x", &["a".into()], "1:13", "1:1");
    stands("a: !!str &x 5\nb: *x", &["b".into()], "2:4", "2:1");
}

#[test]
fn positions_stay_in_order_after_equal_keys_and_merges() {
    let text = "a: {x: 1}\nb: 2\na: [3, 4]\n<<: {c: 5, b: 6}\nd: 7\n";
    stands(text, &["a".into(), 1.into()], "3:8", "3:8");
    stands(text, &["b".into()], "4:15", "4:12");
    stands(text, &["c".into()], "4:9", "4:6");
    stands(text, &["d".into()], "5:4", "5:1");
}

#[test]
fn equal_keys_are_named_with_both_lines() {
    problems("a: 1\nb: 2\na: 3", 1, &["3:1 duplicate key `a`: line 3 replaces line 1"]);
    problems("x: {<<: {a: 1}, a: 2}", 1, &[]);
    problems("true: 1\nyes: 2", 1, &["2:1 duplicate key `true`: line 2 replaces line 1"]);
}

#[test]
fn a_broken_document_does_not_spoil_the_others() {
    problems("a: 1\n---\nb: [\n---\nc: 3\n", 2, &["4:1 found the end, expected a value"]);
    problems("a: 1\n---\n\u{7}\n---\nc: 3\n", 2, &["3:1 control character 0x07"]);
    problems("%YAML 1.1\n---\na: @\n---\nb: 1\n", 1, &["3:4 found `@`, which cannot start a value"]);
}

#[test]
fn empty_documents_are_left_out() {
    problems("---\n---\n# c\n---\nnull\n---\n~\n--- 5\n", 1, &[]);
    problems("", 0, &[]);
}

#[test]
fn what_follows_a_document_is_a_problem_beside_it() {
    problems("[1] 2", 1, &["1:5 found `2`, expected `---` before another document"]);
}

#[test]
fn streams_are_cut_only_where_documents_start() {
    let pieces = |text: &str| split(text).iter().map(|c| (c.range.clone(), c.line)).collect::<Vec<_>>();
    assert_eq!(pieces("a\n---\nb\n--- c\n---d\n ---\n"), [(0..2, 1), (2..8, 2), (8..24, 4)]);
    assert_eq!(pieces("---\na"), [(0..5, 1)]);
    assert_eq!(pieces("%YAML 1.1\n---\na\n---\nb"), [(0..16, 1), (16..21, 4)]);
    assert_eq!(pieces(""), []);
}

/// A document may start anywhere in the bytes that are looked at together.
#[test]
fn streams_are_cut_wherever_a_document_starts() {
    for before in 0..40 {
        let text = format!("a: {}\nb: 1\n---\n- c\n%d\n---\ne", "x".repeat(before));
        let (first, second) = (before + 9, text.len());
        let pieces: Vec<_> = split(&text).into_iter().map(|chunk| (chunk.range, chunk.line)).collect();
        assert_eq!(pieces, [(0..first, 1), (first..second, 3)], "{before}");
        let text = format!("{}---\na", "\n".repeat(before + 1));
        let last = split(&text).pop().map(|chunk| (chunk.range.start, chunk.line));
        assert_eq!(last, Some((before + 1, u32::try_from(before).unwrap() + 2)));
    }
}

#[test]
fn bytes_are_decoded_by_their_mark() {
    let text = |bytes: &[u8]| {
        decode("t", bytes.to_vec())
            .map(|source| source.text.clone())
            .map_err(|p| format!("{:?} {}", p.kind, p.location.position))
    };
    assert_eq!(text(b"\xef\xbb\xbfa: 1"), Ok("a: 1".to_owned()));
    assert_eq!(text(b"\xff\xfea\0:\0 \0\xe9\0"), Ok("a: é".to_owned()));
    assert_eq!(text(b"\xfe\xff\0a\xd8\x3d\xde\x00"), Ok("a😀".to_owned()));
    assert_eq!(text(b"a\nb\xff"), Err("Encoding 2:2".to_owned()));
    assert_eq!(text(b"a\nb\0"), Err("ControlCharacter 2:2".to_owned()));
    assert_eq!(text(b"\xff\xfea\0b"), Err("Encoding 1:2".to_owned()));
    assert_eq!(text(b"\xff\xfe\x3d\xd8a\0"), Err("Encoding 1:1".to_owned()));
}

/// Checks the first problem of `text`, with its place.
#[track_caller]
fn caused(text: &str, want: &str) {
    let reading = read(&Source::new("a.yaml", text));
    let first = reading.problems.first().map(|problem| {
        let position = problem.location.position;
        format!("{}:{} {}", position.line, position.column, problem.message)
    });
    assert_eq!(first.as_deref(), Some(want), "{text}");
}

#[test]
fn a_wrong_indentation_is_named_with_the_line_that_it_does_not_fit() {
    caused(
        "metadata:\n  name: web\n   namespace: shop\n",
        "3:4 this line is indented by 3 spaces, and `name` in line 2 by 2",
    );
    caused(
        "metadata:\n    name: web\n  namespace: shop\n",
        "3:3 this line is indented by 2 spaces, and the lines above it by 0, 4",
    );
    caused(
        "a: 1\n---\ncontainers:\n- name: a\n   image: b\n",
        "5:4 this line is indented by 3 spaces, and `name` in line 4 by 2",
    );
    caused(
        "a:\n  - b: 1\n - c: 2\n",
        "3:2 this line is indented by 1 space, and the lines above it by 0, 2, 4",
    );
    caused("note: a: b\n", "1:8 `:` cannot stand here; a text with `: ` in it needs quotes");
    caused("a:\n  note: a: b\n", "2:10 `:` cannot stand here; a text with `: ` in it needs quotes");
    caused("a:\n\tb: 1\n", "2:1 found a tab, and YAML allows only spaces for indentation");
}

#[test]
fn a_quote_that_is_not_closed_is_named_where_it_opens() {
    caused("a: 1\nb:\n  c: \"x\n  d: 2\n", "3:6 this quote is not closed");
    caused("a: 'x\nb: 2\n---\nc: 1\n", "1:4 this quote is not closed");
    caused("a: \"x\nb: \"y\"\n", "1:4 this quote is not closed in its line, and the next one is in line 2");
}
