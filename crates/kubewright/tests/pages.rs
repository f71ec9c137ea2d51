//! The documentation: every command of a `console` block is run and must print what the page shows, every link leads
//! somewhere, and every field of a rule language is on its page.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

#[path = "pages/commands.rs"]
mod commands;
#[path = "pages/fields.rs"]
mod fields;
#[path = "pages/flags.rs"]
mod flags;
#[path = "pages/links.rs"]
mod links;
#[path = "pages/page.rs"]
mod page;

use std::fs;
use std::path::{Path, PathBuf};

/// A file or folder of the repository.
fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path).canonicalize().expect(path)
}

/// Every page of the documentation, with the pages of the root, as paths from the root.
fn pages() -> Vec<String> {
    let root = repository(".");
    let mut found: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
            .map(PathBuf::from)
            .into();
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).expect("a folder").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path.strip_prefix(&root).expect("below the root").to_owned());
            }
        }
    }
    found.sort();
    found.into_iter().map(|path| path.display().to_string()).collect()
}
