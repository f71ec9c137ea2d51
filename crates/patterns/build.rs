//! Packs the built-in patterns and their pages.

use std::path::PathBuf;
use std::{fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=patterns");
    let mut folders: Vec<(String, PathBuf)> = Vec::new();
    for entry in fs::read_dir("patterns")? {
        let path = entry?.path();
        if path.is_dir() {
            folders.push((path.file_name().unwrap_or_default().to_string_lossy().into_owned(), path));
        }
    }
    folders.sort();
    for (file, packed) in [("pattern.yaml", "patterns.packed"), ("README.md", "pages.packed")] {
        let files: Vec<_> = folders.iter().map(|(name, path)| (name.clone(), path.join(file))).collect();
        kubewright_packed::pack_files(&files, packed)?;
    }
    Ok(())
}
