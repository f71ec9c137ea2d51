//! Packs what the page offers into one compressed file: the documents of `rules` and `patterns`, examples of functions, and
//! schemas.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Files besides the examples.
const SINGLE_FILES: [&str; 3] =
    ["functions.jsonl", "schemas/page-api.openapi.json", "schemas/trace.schema.json"];

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let mut files: Vec<(String, PathBuf)> =
        SINGLE_FILES.map(|name| (name.to_owned(), root.join(name))).to_vec();
    for folder in ["patterns", "rules"] {
        println!("cargo::rerun-if-changed={}", root.join(folder).display());
        find_documents(&root.join(folder), folder, &mut files)?;
    }
    files.sort();
    let target = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?).join("examples.deflate");
    let mut packed = DeflateEncoder::new(File::create(target)?, Compression::best());
    for (name, path) in files {
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read(path)?;
        writeln!(packed, "{name} {}", text.len())?;
        packed.write_all(&text)?;
    }
    packed.finish()?.flush()
}

/// Finds YAML and JSON documents. Patterns themselves are part of the program already.
fn find_documents(folder: &Path, prefix: &str, found: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let is_document = name.ends_with(".yaml") || name.ends_with(".json");
        if path.is_dir() {
            find_documents(&path, &format!("{prefix}/{name}"), found)?;
        } else if is_document && name != "pattern.yaml" {
            found.push((format!("{prefix}/{name}"), path));
        }
    }
    Ok(())
}
