//! What requests say, and the addresses of files.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;

use lsp_types::{Position, Range, Uri};
use serde_json::Value as Json;

use crate::encoding::to_u32;

/// Returns the address of the document that a request is about.
pub(crate) fn document_uri(params: &Json) -> Option<&str> {
    params.pointer("/textDocument/uri")?.as_str()
}

/// Returns the place that a request is about.
pub(crate) fn request_position(params: &Json) -> Option<Position> {
    read_position(params.get("position")?)
}

/// Returns the range that a request is about.
pub(crate) fn request_range(params: &Json) -> Option<Range> {
    read_range(params.get("range")?)
}

/// Reads a range.
pub(crate) fn read_range(range: &Json) -> Option<Range> {
    Some(Range { start: read_position(range.get("start")?)?, end: read_position(range.get("end")?)? })
}

fn read_position(position: &Json) -> Option<Position> {
    let number = |key| position.get(key)?.as_u64().map(|number| u32::try_from(number).unwrap_or(u32::MAX));
    Some(Position { line: number("line")?, character: number("character")? })
}

/// Returns the name of a document: the path from `root` for a file below it, another path, or the address itself.
pub(crate) fn document_name(root: &Path, uri: &str) -> String {
    let Some(path) = uri_path(uri) else { return uri.to_owned() };
    path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned()
}

/// Returns the path of a `file:` address.
pub(crate) fn uri_path(uri: &str) -> Option<PathBuf> {
    let path = percent_decoded(uri.strip_prefix("file://")?)?;
    // `/c:/folder` is `c:/folder` on Windows.
    let has_drive = path.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(path.strip_prefix('/').filter(|_| has_drive).unwrap_or(&path)))
}

/// Returns the address of the document called `name`.
pub(crate) fn document_address(root: &Path, name: &str) -> Option<Uri> {
    if name.contains("://") || name.starts_with("untitled:") {
        return Uri::from_str(name).ok();
    }
    let path = root.join(name).to_string_lossy().replace('\\', "/");
    let slash = if path.starts_with('/') { "" } else { "/" };
    Uri::from_str(&format!("file://{slash}{}", percent_encoded(&path))).ok()
}

fn percent_encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~:".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?];
        bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// Returns the range of the whole of a text.
pub(crate) fn whole_range(text: &str) -> Range {
    let end = Position { line: to_u32(text.lines().count()).saturating_add(1), character: 0 };
    Range { start: Position::default(), end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_read_and_written() {
        let root = Path::new("/work space");
        let name = document_name(root, "file:///work%20space/r%C3%BCles/a.yaml");
        assert_eq!(name, "rüles/a.yaml");
        let address = document_address(root, &name).map(|uri| uri.as_str().to_owned());
        assert_eq!(address.as_deref(), Some("file:///work%20space/r%C3%BCles/a.yaml"));
        assert_eq!(document_name(root, "file:///other/b.yaml"), "/other/b.yaml");
        assert_eq!(document_name(root, "untitled:1"), "untitled:1");
        assert_eq!(uri_path("file:///c%3A/a.yaml"), Some(PathBuf::from("c:/a.yaml")));
        assert_eq!(uri_path("file:///%zz"), None);
    }
}
