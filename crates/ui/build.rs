//! Lists the start page and the compressed assets of `dist`, so that a rebuilt page needs no change of the program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?).join("dist");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    find_files(&folder, &mut files)?;
    files.sort();
    let mut code = "&[\n".to_owned();
    for (name, path) in files {
        println!("cargo::rerun-if-changed={}", path.display());
        let path = fs::canonicalize(&path)?;
        writeln!(code, "    ({name:?}, include_bytes!({:?})),", path.display().to_string())
            .map_err(io::Error::other)?;
    }
    code.push_str("]\n");
    let target = PathBuf::from(env::var("OUT_DIR").map_err(io::Error::other)?).join("assets.rs");
    fs::write(target, code)
}

fn find_files(folder: &Path, found: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if path.is_dir() {
            find_files(&path, found)?;
        } else if name == "index.html" {
            found.push((name.to_owned(), path));
        } else if name.ends_with(".gz") {
            found.push((format!("assets/{name}"), path));
        }
    }
    Ok(())
}
