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
        "10 .e[0].f = {g: 1}",
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
