//! YAML written reads back equal: for the values of YAML texts, and for the input itself as a string and a key.

use kubewright_value::{Map, Text, Value, yaml};

use crate::dictionary::FuzzDictionary;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "yaml_write",
    run: fuzz_yaml_write,
    seeds: super::yaml::SEEDS,
    dictionaries: &[FuzzDictionary::Yaml],
    words: &[
        "yes",
        "no",
        "on",
        "null",
        "~",
        "1.0",
        "0777",
        "2001-01-01",
        "1:30",
        " ",
        "  ",
        "\n",
        "\n\n",
        ": ",
        " #",
        "#",
        "- ",
        "-",
        "---",
        "...",
        "? ",
        "'",
        "\"",
        "\\",
        "[",
        "{",
        "&",
        "*",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "<<",
        "\t",
        "\r",
        "\u{85}",
        "\u{2028}",
        "\u{feff}",
        "\u{0}",
        "é",
        "\u{ffff}",
        "a: b\n",
        "- a\n",
        "{}",
        "[]",
        "=",
        "0x",
        "1e3",
        ".5",
    ],
};

fn fuzz_yaml_write(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(value) = yaml::parse(&text) {
        check_written_yaml(&value);
    }
    let string = Value::from(text.as_ref());
    check_written_yaml(&string);
    let mut map = Map::new();
    map.insert(Text::new(&text), string.clone());
    map.insert(Text::new("list"), Value::from(vec![string.clone(), Value::from(vec![string]), Value::Null]));
    check_written_yaml(&Value::from(vec![Value::object(map)]));
}

fn check_written_yaml(value: &Value) {
    let written = yaml::write(value);
    match yaml::parse(&written) {
        Ok(back) => assert_eq!(&back, value, "reads back different: {written}"),
        Err(error) => panic_with(&format!("does not read back: {error}\n{written}")),
    }
    assert_eq!(yaml::split(&written).len(), 1, "is more than one document: {written}");
}

#[expect(clippy::panic, reason = "a panic is how a target reports")]
fn panic_with(message: &str) {
    panic!("{message}");
}
