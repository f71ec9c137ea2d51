//! References to container images, such as `ghcr.io/org/app:1.2@sha256:…`, by the rules of the registries.
//!
//! The text before the first slash is the registry only if it can be one; otherwise the image is in the
//! default registry, and everything is its path there.

use std::fmt;

use kubewright_value::Text;
use thiserror::Error;

/// The registry of images that name none.
pub const DEFAULT_REGISTRY: &str = "docker.io";

/// The tag of an image that has neither a tag nor a digest.
pub const DEFAULT_TAG: &str = "latest";

/// The maximum length of the path in a registry.
const MAX_PATH_BYTES: usize = 255;

/// The maximum length of a tag.
const MAX_TAG_BYTES: usize = 128;

/// The parts of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageReference {
    /// The registry; empty when the text in its place is part of the path.
    pub registry: Text,
    /// The path in the registry.
    pub path: Text,
    /// The tag; empty when there is none.
    pub tag: Text,
    /// The digest; empty when there is none.
    pub digest: Text,
}

/// The reason why a text is not a reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ImageReferenceError {
    /// A part has characters that it may not have, or is missing.
    #[error("invalid reference format")]
    Format,
    /// It would be one in lower case.
    #[error("repository name must be lowercase")]
    Uppercase,
    /// The path is too long.
    #[error("repository name must not be more than {MAX_PATH_BYTES} characters")]
    TooLong,
    /// The digest is not of a known kind.
    #[error("unsupported digest algorithm")]
    Algorithm,
    /// The digest is not as long as those of its kind.
    #[error("invalid checksum digest length")]
    DigestLength,
    /// The digest has characters that it may not have.
    #[error("invalid checksum digest format")]
    DigestFormat,
}

impl ImageReference {
    /// Reads `image`, which need not name a registry.
    ///
    /// # Errors
    /// When it is not a reference.
    pub fn parse(image: &str) -> Result<Self, ImageReferenceError> {
        let full = with_registry(image);
        let (rest, digest) = match full.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (full.as_str(), None),
        };
        let last = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest.get(last..).and_then(|name| name.split_once(':')) {
            Some((name, tag)) => (rest.get(..last + name.len()).unwrap_or_default(), Some(tag)),
            None => (rest, None),
        };
        let (registry, path) = match name.split_once('/') {
            Some((registry, path)) if is_registry(registry) => (registry, path),
            _ => ("", name),
        };
        let is_good = |path: &str| path.split('/').all(is_path_component);
        if tag.is_some_and(|tag| !is_image_tag(tag)) || digest.is_some_and(|digest| !is_like_digest(digest)) {
            return Err(ImageReferenceError::Format);
        }
        if !is_good(path) {
            let is_lower_good = is_good(&path.to_lowercase());
            return Err(if is_lower_good {
                ImageReferenceError::Uppercase
            } else {
                ImageReferenceError::Format
            });
        }
        if path.len() > MAX_PATH_BYTES {
            return Err(ImageReferenceError::TooLong);
        }
        digest.map_or(Ok(()), check_digest)?;
        Ok(Self {
            registry: registry.into(),
            path: path.into(),
            tag: tag.unwrap_or_default().into(),
            digest: digest.unwrap_or_default().into(),
        })
    }

    /// Returns the last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// Returns the registry and the path in it.
    #[must_use]
    pub fn repository(&self) -> String {
        if self.registry.is_empty() {
            self.path.to_string()
        } else {
            [&self.registry, "/", &self.path].concat()
        }
    }

    /// Returns the tag; the default one when there is neither a tag nor a digest.
    #[must_use]
    pub fn effective_tag(&self) -> &str {
        if self.tag.is_empty() && self.digest.is_empty() { DEFAULT_TAG } else { &self.tag }
    }
}

/// With everything that is a default written out; a digest makes the tag superfluous.
impl fmt::Display for ImageReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.digest.as_str() {
            "" => write!(f, "{}:{}", self.repository(), self.effective_tag()),
            digest => write!(f, "{}@{digest}", self.repository()),
        }
    }
}

/// Returns `image` with the default registry, unless the text before the first slash can be one.
#[must_use]
pub fn with_registry(image: &str) -> String {
    let is_registry = |first: &str| {
        first.contains(['.', ':']) || first == "localhost" || first.chars().any(char::is_uppercase)
    };
    match image.split_once('/') {
        Some((first, _)) if is_registry(first) => image.to_owned(),
        _ => [DEFAULT_REGISTRY, "/", image].concat(),
    }
}

/// A host name or an address in brackets, and perhaps a port.
fn is_registry(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, rest)) => {
            let is_address =
                !address.is_empty() && address.bytes().all(|c| c.is_ascii_hexdigit() || c == b':');
            if !is_address || !(rest.is_empty() || rest.starts_with(':')) {
                return false;
            }
            ("x", rest.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-')
    };
    host.split('.').all(is_label)
        && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|c| c.is_ascii_digit()))
}

/// Lower-case letters and digits, with `.`, `_`, `__` or any number of `-` between them.
fn is_path_component(text: &str) -> bool {
    let is_plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut rest = text.as_bytes();
    loop {
        let plain = rest.iter().take_while(|c| is_plain(**c)).count();
        if plain == 0 {
            return false;
        }
        rest = rest.get(plain..).unwrap_or_default();
        let separator = match rest {
            [] => return true,
            [b'_', b'_', ..] => 2,
            [b'.' | b'_', ..] => 1,
            rest => rest.iter().take_while(|c| **c == b'-').count(),
        };
        if separator == 0 {
            return false;
        }
        rest = rest.get(separator..).unwrap_or_default();
    }
}

fn is_image_tag(text: &str) -> bool {
    let is_word = |c: u8| c.is_ascii_alphanumeric() || c == b'_';
    text.bytes().next().is_some_and(is_word)
        && text.len() <= MAX_TAG_BYTES
        && text.bytes().all(|c| is_word(c) || c == b'.' || c == b'-')
}

fn is_like_digest(text: &str) -> bool {
    let Some((algorithm, hex)) = text.split_once(':') else { return false };
    let is_part = |part: &str| {
        part.bytes().next().is_some_and(|c| c.is_ascii_alphabetic())
            && part.bytes().all(|c| c.is_ascii_alphanumeric())
    };
    algorithm.split(['-', '_', '+', '.']).all(is_part)
        && hex.len() >= 32
        && hex.bytes().all(|c| c.is_ascii_hexdigit())
}

fn check_digest(digest: &str) -> Result<(), ImageReferenceError> {
    let (algorithm, hex) = digest.split_once(':').ok_or(ImageReferenceError::DigestFormat)?;
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return Err(ImageReferenceError::Algorithm),
    };
    if hex.len() != length {
        return Err(ImageReferenceError::DigestLength);
    }
    if hex.bytes().any(|c| c.is_ascii_uppercase()) {
        return Err(ImageReferenceError::DigestFormat);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(image: &str, want: &str) {
        let found = ImageReference::parse(image).map_or_else(
            |error| format!("! {error}"),
            |r| format!("{} {} {} {}", r.registry, r.path, r.tag, r.digest).trim_end().to_owned(),
        );
        assert_eq!(found, want, "{image}");
    }

    #[test]
    fn the_first_part_is_the_registry_only_if_it_can_be_one() {
        reads("nginx", "docker.io nginx");
        reads("org/app:1.2", "docker.io org/app 1.2");
        reads("ghcr.io/org/app", "ghcr.io org/app");
        reads("host:5000/app:x", "host:5000 app x");
        reads("host:5000", "docker.io host 5000");
        reads("localhost/app", "localhost app");
        reads("FOO/app", "FOO app");
        reads("[::1]:5000/app", "[::1]:5000 app");
        reads("a_b.c/app", " a_b.c/app");
    }

    #[test]
    fn tags_and_digests_are_checked() {
        let hex = "0123456789abcdef".repeat(4);
        reads(&format!("a@sha256:{hex}"), &format!("docker.io a  sha256:{hex}"));
        reads(&format!("a:b@sha256:{hex}"), &format!("docker.io a b sha256:{hex}"));
        reads(&format!("a@sha256:{}", &hex[..40]), "! invalid checksum digest length");
        reads(&format!("a@md5:{hex}"), "! unsupported digest algorithm");
        reads("a@sha256:12", "! invalid reference format");
        reads("a:", "! invalid reference format");
        reads("a:-b", "! invalid reference format");
        reads("a b", "! invalid reference format");
        reads("", "! invalid reference format");
        reads("org/App", "! repository name must be lowercase");
        reads("a/b__c.d--e", "docker.io a/b__c.d--e");
        reads("a/b_.c", "! invalid reference format");
        reads(&"a".repeat(256), "! repository name must not be more than 255 characters");
    }

    #[test]
    fn defaults_are_written_out() {
        assert_eq!(ImageReference::parse("nginx").unwrap().to_string(), "docker.io/nginx:latest");
        assert_eq!(ImageReference::parse("org/app:1").unwrap().name(), "app");
    }
}
