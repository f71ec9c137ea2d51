use std::fmt::Write as _;
use std::{env, fs};

use super::*;

#[test]
fn edge_type_numbers_are_their_places_in_the_table() {
    for (place, spec) in EDGE_TYPES.iter().enumerate() {
        assert_eq!(place, usize::from(spec.edge_type.0), "{}", spec.name);
    }
    assert_eq!(EdgeType::USES_SA.spec().map(|spec| spec.name), Some("USES_SA"));
}

/// Set `UPDATE_SNAPSHOTS=1` to rewrite the tables of the page.
#[test]
fn edge_types_page_has_the_tables_of_the_source() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/graph-edges.md");
    let page = fs::read_to_string(path).expect("docs/graph-edges.md");
    let mut wanted = page.clone();
    for (name, text) in [
        ("contract", table(|spec| spec.is_in_contract)),
        ("extensions", table(|spec| !spec.is_in_contract)),
        ("derived", names(|spec| !spec.is_stored)),
        ("implied", names(|spec| spec.is_implied)),
        ("noisy", names(|spec| spec.is_noisy)),
    ] {
        wanted = with_block(&wanted, name, &text);
    }
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(path, &wanted).expect("docs/graph-edges.md can be written");
        return;
    }
    assert!(
        page == wanted,
        "docs/graph-edges.md differs from the table of edge types; run with UPDATE_SNAPSHOTS=1"
    );
}

/// Replaces the text between the comments `begin NAME` and `end NAME`.
fn with_block(page: &str, name: &str, text: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no `{begin}`"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no `{end}`"));
    format!("{before}{begin}{text}{end}{after}")
}

fn table(is_listed: impl Fn(&EdgeTypeSpec) -> bool) -> String {
    let mut out = String::from("\n| type | from | to | fields | strength |\n|---|---|---|---|---|\n");
    for EdgeTypeSpec { name, from, to, fields, strength, .. } in
        EDGE_TYPES.iter().filter(|spec| is_listed(spec))
    {
        let _ = writeln!(out, "| {name} | {from} | {to} | {fields} | {strength} |");
    }
    out + "\n"
}

fn names(is_listed: impl Fn(&EdgeTypeSpec) -> bool) -> String {
    let all: Vec<&str> = EDGE_TYPES.iter().filter(|spec| is_listed(spec)).map(|spec| spec.name).collect();
    format!("{}\n", all.join(", "))
}
