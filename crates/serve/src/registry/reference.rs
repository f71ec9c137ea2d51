//! The name of an image, read once: what is checked is what is asked for.

use crate::services::url::host_and_port;

/// Where images are that name no registry.
const DOCKER_HUB: &str = "index.docker.io";

/// How long a name may be, in bytes.
const MAX_REFERENCE_BYTES: usize = 1024;

/// The name of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ImageReference {
    /// Host and perhaps port.
    pub(super) registry: String,
    pub(super) repository: String,
    /// `latest` where none is named; without meaning beside a digest.
    pub(super) tag: String,
    /// `sha256:…`
    pub(super) digest: Option<String>,
}

impl ImageReference {
    /// Reads `text`.
    ///
    /// # Errors
    /// When it is no name of an image.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("`{}` is not an image reference: {why}", text.escape_debug());
        if text.len() > MAX_REFERENCE_BYTES {
            return Err("the name of the image is too long".to_owned());
        }
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(checked_digest(digest)?)),
            None => (text, None),
        };
        let (registry, rest) = match name.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
            _ => (DOCKER_HUB, name),
        };
        let registry = if registry == "docker.io" { DOCKER_HUB } else { registry };
        host_and_port(registry).ok_or_else(|| wrong("the registry is not a plain host name"))?;
        let (repository, tag) = rest.rsplit_once(':').unwrap_or((rest, "latest"));
        let repository = match registry == DOCKER_HUB && !repository.contains('/') {
            true => format!("library/{repository}"),
            false => repository.to_owned(),
        };
        if !repository.split('/').all(is_repository_component) {
            return Err(wrong("a repository has small letters, digits and `.`, `_`, `-` between them"));
        }
        if !is_image_tag(tag) {
            return Err(wrong("a tag has at most 128 letters, digits, `.`, `_` and `-`"));
        }
        Ok(Self { registry: registry.to_lowercase(), repository, tag: tag.to_owned(), digest })
    }

    /// Returns the digest, or the tag where there is none.
    pub(super) fn identifier(&self) -> &str {
        self.digest.as_deref().unwrap_or(&self.tag)
    }
}

/// Returns `text` where it is a digest that can be checked.
pub(super) fn checked_digest(text: &str) -> Result<String, String> {
    let is_hex =
        |hex: &str| hex.len() == 64 && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match text.strip_prefix("sha256:") {
        Some(hex) if is_hex(hex) => Ok(text.to_owned()),
        _ => Err("a digest is `sha256:` and 64 hexadecimal digits".to_owned()),
    }
}

fn is_repository_component(text: &str) -> bool {
    let is_small = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends_well = |byte: Option<&u8>| byte.copied().is_some_and(is_small);
    let bytes = text.as_bytes();
    ends_well(bytes.first())
        && ends_well(bytes.last())
        && bytes.iter().all(|byte| is_small(*byte) || b"._-".contains(byte))
        && !text.contains("..")
}

fn is_image_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let bytes = text.as_bytes();
    bytes.len() <= 128
        && bytes.first().copied().is_some_and(is_word)
        && bytes.iter().all(|byte| is_word(*byte) || b".-".contains(byte))
}
