//! The rules that the language's document shows, read where it is kept. Nothing of it is copied here.

use std::fs;
use std::path::Path;

/// Where the document is, from the root of the repository.
const DOCUMENT: &str = "../shared/spec/contract/modrule.md";

/// Returns every whole rule that the document shows, with a name for it, or nothing where there is no document.
pub(crate) fn rules() -> Option<Vec<(String, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Ok(text) = fs::read_to_string(root.join(DOCUMENT)) else {
        eprintln!("SKIPPED: {DOCUMENT} is not here, so its examples are not tried");
        return None;
    };
    let mut rules = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut block, line.trim_end()) {
            (None, "```yaml") => block = Some((number + 1, String::new())),
            (Some(_), "```") => rules.extend(block.take()),
            (Some((_, text)), line) => text.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    let is_rule = |text: &str| text.contains("kind: ModRule") && text.contains("name:");
    let rules: Vec<_> = rules.into_iter().filter(|(_, text)| is_rule(text)).collect();
    assert!(rules.len() > 5, "the document shows {} rules", rules.len());
    Some(rules.into_iter().map(|(line, text)| (format!("line {line}"), text)).collect())
}
