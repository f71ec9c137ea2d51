//! The examples that the language's document shows, read where it is kept. Nothing of it is copied here.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the document is, from the folder of the public corpora, which `KUBEWRIGHT_CORPUS` names.
const DOCUMENT: &str = "../spec/contract/modrule.md";

/// Returns every block of YAML that the document shows, or nothing where there is no document.
pub(crate) fn blocks() -> Option<Vec<String>> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let path = std::env::var_os("KUBEWRIGHT_CORPUS").map_or_else(beside, PathBuf::from).join(DOCUMENT);
    let Ok(text) = fs::read_to_string(&path) else {
        eprintln!("SKIPPED: {} is not here, so its examples are not tried", path.display());
        return None;
    };
    let (mut blocks, mut block) = (Vec::new(), None::<String>);
    for line in text.lines() {
        match (&mut block, line.trim_end()) {
            (None, "```yaml") => block = Some(String::new()),
            (Some(_), "```") => blocks.extend(block.take()),
            (Some(text), line) => text.push_str(&format!("{line}\n")),
            _ => {}
        }
    }
    Some(blocks)
}
