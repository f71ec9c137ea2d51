//! Texts that ship inside of a program, compressed together, because together they compress far better than one by one.
//!
//! A build script packs them with [`pack_files`]; the program has them as [`PackedTexts`], which are unpacked when the
//! first of them is asked for and not when the program starts.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// What ends a name and a text.
const SEPARATOR: char = '\0';

/// Texts by name.
#[derive(Debug)]
pub struct PackedTexts {
    packed: &'static [u8],
    texts: OnceLock<BTreeMap<String, String>>,
}

impl PackedTexts {
    /// Returns the texts that [`pack_texts`] packed.
    #[must_use]
    pub const fn new(packed: &'static [u8]) -> Self {
        Self { packed, texts: OnceLock::new() }
    }

    /// Returns the text called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.texts.get_or_init(|| unpacked(self.packed)).get(name).map(String::as_str)
    }
}

/// Returns `texts`, each with its name, as [`PackedTexts`] reads them. Neither may contain the character U+0000.
///
/// # Errors
/// When one of them does.
pub fn pack_texts<'t>(texts: impl IntoIterator<Item = (&'t str, &'t str)>) -> io::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    for (name, text) in texts {
        if name.contains(SEPARATOR) || text.contains(SEPARATOR) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("`{name}` contains U+0000")));
        }
        write!(encoder, "{name}{SEPARATOR}{text}{SEPARATOR}")?;
    }
    encoder.finish()
}

/// Packs files into the file `name` of the folder `$OUT_DIR`, for a build script, which runs again when one of them
/// changes.
///
/// # Errors
/// When a file cannot be read or written.
pub fn pack_files(files: &[(String, PathBuf)], name: &str) -> io::Result<()> {
    let mut texts = Vec::new();
    for (name, path) in files {
        println!("cargo::rerun-if-changed={}", path.display());
        texts.push((name.as_str(), fs::read_to_string(path)?));
    }
    let packed = pack_texts(texts.iter().map(|(name, text)| (*name, text.as_str())))?;
    let folder = std::env::var_os("OUT_DIR").unwrap_or_default();
    fs::write(Path::new(&folder).join(name), packed)
}

/// Returns nothing of what was not packed by [`pack_texts`].
fn unpacked(packed: &[u8]) -> BTreeMap<String, String> {
    let mut whole = String::new();
    if DeflateDecoder::new(packed).read_to_string(&mut whole).is_err() {
        return BTreeMap::new();
    }
    let mut parts = whole.split(SEPARATOR);
    std::iter::from_fn(|| Some((parts.next()?.to_owned(), parts.next()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_by_name() {
        let packed = pack_texts([("a", "one\ntwo\n"), ("b", ""), ("ä", "ö")]).unwrap();
        let texts = PackedTexts::new(packed.leak());
        let found = ["a", "b", "ä", "c", ""].map(|name| texts.get(name));
        assert_eq!(found, [Some("one\ntwo\n"), Some(""), Some("ö"), None, None]);
    }

    #[test]
    fn repeated_words_take_little_room() {
        let text = "a rule about objects of a cluster\n".repeat(100);
        let packed = pack_texts([("a", text.as_str()), ("b", text.as_str())]).unwrap();
        assert!(packed.len() < text.len() / 10, "{} bytes", packed.len());
    }

    #[test]
    fn what_would_not_come_back_is_refused() {
        assert!(pack_texts([("a", "b\0c")]).is_err());
        assert_eq!(PackedTexts::new(b"no such thing").get("a"), None);
    }
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
