use super::*;

/// Writes each entry as `line path = value`.
fn outlined(text: &str) -> Vec<String> {
    let show = |entry: &OutlineEntry| {
        let steps = entry.path.iter().map(|step| match step {
            Step::Key(key) => format!(".{key}"),
            Step::Index(index) => format!("[{index}]"),
        });
        let path: String = steps.collect();
        let value: Vec<&str> = entry.value.iter().map(|piece| piece.text(text)).collect();
        format!("{} {path} = {}", entry.line, value.join("|"))
    };
    Outline::of(text).entries.iter().map(show).collect()
}

#[test]
fn keys_items_and_scalars_have_their_paths() {
    let text =
        "a:\n  b: 1 # one\n  c:\n  - x: 'it''s'\n    y: \"q\"\n  - z\nd: |\n  one\n  two\ne:\n- f: {g: 1}\n";
    let want = [
        "0 .a = ",
        "1 .a.b = 1",
        "2 .a.c = ",
        "3 .a.c[0].x = it''s",
        "4 .a.c[0].y = q",
        "5 .a.c[1] = z",
        "6 .d = one|two",
        "9 .e = ",
        "10 .e[0].f = ",
        "10 .e[0].f.g = 1",
    ];
    assert_eq!(outlined(text), want);
}

#[test]
fn a_text_that_is_no_yaml_keeps_its_lines() {
    let text = "a:\n  b: \"open\n  c: 1\n  d\n   e: 2\n";
    assert_eq!(outlined(text), ["0 .a = ", "1 .a.b = open", "2 .a.c = 1", "3 .a.c = d", "4 .a.c.e = 2"]);
}

#[test]
fn a_new_key_belongs_to_the_mapping_above_it() {
    let outline = Outline::of("a:\n  b:\n    c: 1\n  d:\n  - e: 1\n    f: 2\n\n");
    let path = |line, column| {
        let path = outline.parent_path(line, column);
        path.iter().map(|step| format!("{step:?}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(path(6, 4), "Key(\"a\") Key(\"d\") Index(0)");
    assert_eq!(path(6, 2), "Key(\"a\")");
    assert_eq!(path(3, 4), "Key(\"a\") Key(\"b\")");
    assert_eq!(path(6, 0), "");
}

#[test]
fn an_entry_ends_with_what_is_below_it() {
    let outline = Outline::of("a:\n  b:\n  - 1\n  - 2\nc: 3\n");
    let ends: Vec<u32> = outline.entries.iter().map(|entry| entry.last_line).collect();
    assert_eq!(ends, [3, 3, 2, 3, 4]);
}

#[test]
fn flow_collections_have_entries() {
    let text = "a: {b: 1, 'c d': [x, \"y, z\", {e: f}]}\ng:\n- {h: 1,\n   i: 2}\nj: [k\nl: {{ m }}\n";
    let want = [
        "0 .a = ",
        "0 .a.b = 1",
        "0 .a.c d = ",
        "0 .a.c d[0] = x",
        "0 .a.c d[1] = y, z",
        "0 .a.c d[2].e = f",
        "1 .g = ",
        "2 .g[0] = ",
        "2 .g[0].h = 1",
        "3 .g[0].i = 2",
        "4 .j = ",
        "4 .j[0] = k",
        "5 .l = {{ m }}",
    ];
    assert_eq!(outlined(text), want);
    assert_eq!(outlined("{\n\"a\": {\n\"b\": 1}\n}\n"), ["0  = ", "1 .a = ", "2 .a.b = 1"]);
}

#[test]
fn a_place_in_a_flow_collection_is_a_key_or_a_value() {
    let text = "a: {b: 1, c: [x, y], d: {ef: }, \nh: 1\n";
    let outline = Outline::of(text);
    let place = |byte| {
        let (word, path) = match outline.flow_place(text, 0, byte)? {
            FlowPlace::Key(path) => ("key of", path),
            FlowPlace::Value(path) => ("value of", path),
        };
        let steps = path.iter().map(|step| match step {
            Step::Key(key) => format!(".{key}"),
            Step::Index(index) => format!("[{index}]"),
        });
        Some(format!("{word} {}", steps.collect::<String>()))
    };
    let want = [
        (4, "key of .a"),
        (5, "key of .a"),
        (7, "value of .a.b"),
        (8, "value of .a.b"),
        (10, "key of .a"),
        (14, "value of .a.c[0]"),
        (18, "value of .a.c[1]"),
        (20, "key of .a"),
        (26, "key of .a.d"),
        (29, "value of .a.d.ef"),
        (32, "key of .a"),
    ];
    for (byte, want) in want {
        assert_eq!(place(byte).as_deref(), Some(want), "{byte}");
    }
    assert_eq!(place(3), None);
    assert_eq!(outline.flow_place(text, 1, 2), None);
}
