//! Links between pages.

use std::collections::BTreeMap;
use std::fs;

use super::page::{anchors, link_targets};
use super::{pages, repository};

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let root = repository(".");
    let mut headings: BTreeMap<std::path::PathBuf, Vec<String>> = BTreeMap::new();
    let mut dead = Vec::new();
    for page in pages() {
        let path = root.join(&page);
        let text = fs::read_to_string(&path).expect("a page");
        for target in link_targets(&text).into_iter().filter(|target| !target.contains("://")) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let file =
                if file.is_empty() { path.clone() } else { path.parent().expect("a folder").join(file) };
            let Ok(file) = file.canonicalize() else {
                dead.push(format!("{page}: {target}"));
                continue;
            };
            if !anchor.is_empty() && file.extension().is_some_and(|extension| extension == "md") {
                let known = headings
                    .entry(file.clone())
                    .or_insert_with(|| anchors(&fs::read_to_string(&file).expect("a page")));
                if !known.iter().any(|known| known == anchor) {
                    dead.push(format!("{page}: {target}"));
                }
            }
        }
    }
    assert!(dead.is_empty(), "links that lead nowhere:\n{}", dead.join("\n"));
}

#[test]
fn the_table_of_contents_has_every_page() {
    let root = repository(".");
    let contents = fs::read_to_string(root.join("docs/SUMMARY.md")).expect("docs/SUMMARY.md");
    let listed = link_targets(&contents);
    for target in &listed {
        assert!(root.join("docs").join(target).is_file(), "docs/SUMMARY.md: {target} is not there");
    }
    // Diagnostics and decisions are added when the site is built.
    let generated = ["docs/diagnostics/", "docs/decisions/", "docs/SUMMARY.md"];
    let missing = pages().into_iter().filter(|page| page.starts_with("docs/"));
    let missing = missing.filter(|page| !generated.iter().any(|start| page.starts_with(start)));
    let missing: Vec<_> =
        missing.filter(|page| !listed.iter().any(|target| format!("docs/{target}") == *page)).collect();
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
}
