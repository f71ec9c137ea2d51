//! Packs the pages of all diagnostic codes.

use std::{fs, io};

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir("pages")? {
        let path = entry?.path();
        let code = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "md") {
            files.push((code, path));
        }
    }
    files.sort();
    // A new page is noticed too.
    println!("cargo::rerun-if-changed=pages");
    kubewright_packed::pack_files(&files, "pages.packed")
}
