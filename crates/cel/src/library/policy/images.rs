//! References to images, as clients of registries read them: `nginx` is `library/nginx` in `index.docker.io`.
//!
//! They are laxer about names than the registries are, and say nothing about why a text is none.

use std::any::Any;

use kubewright_golib::url;
use kubewright_value::{Text, Value};

use super::{Library, Macros, opaque, text};
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Opaque, Val};

/// The library of references to images.
pub const IMAGES: Library = Library { name: "images", functions: add, macros: Macros::NONE, types: &[] };

const NAME: &str = "image.Reference";
const IMAGE: &[Kind] = &[Kind::Opaque(NAME)];

const DEFAULT_REGISTRY: &str = "index.docker.io";
const REGISTRY_ALIAS: &str = "docker.io";
const DEFAULT_FOLDER: &str = "library";
const DEFAULT_TAG: &str = "latest";
const DIGEST_PREFIX: &str = "sha256:";
const DIGEST_LENGTH: usize = 64;

/// A reference by a tag or by a digest.
#[derive(Debug)]
struct Image {
    /// As it was written.
    whole: Text,
    registry: Text,
    repository: Text,
    /// What follows the colon; the default where there is neither it nor a digest, otherwise empty.
    tag: Text,
    /// What follows the `@`, or nothing.
    digest: Text,
}

impl Opaque for Image {
    fn type_name(&self) -> &'static str {
        NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    /// `nginx` and `nginx:latest` are not the same, since they were not written the same.
    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: Option<&Self> = other.as_any().downcast_ref();
        other.is_some_and(|other| self.whole == other.whole)
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(self.whole.clone()))
    }
}

fn add(functions: &mut Functions) {
    for name in ["image", "parseImageReference"] {
        functions.add(
            Overload::function(name, &[Kind::String], Kind::Opaque(NAME), |arguments, call| {
                let whole = charged(arguments, call)?;
                let bad = || Failure::value(format!("could not parse reference: {whole}"));
                parsed(whole).map(Val::opaque).ok_or_else(bad)
            })
            .help("the image that a text refers to"),
        );
    }
    functions.add(
        Overload::function("isImage", &[Kind::String], Kind::Bool, |arguments, call| {
            Ok(Val::Bool(parsed(charged(arguments, call)?).is_some()))
        })
        .help("whether a text refers to an image"),
    );
    functions.add(
        Overload::method("containsDigest", IMAGE, Kind::Bool, |arguments, _| {
            Ok(Val::Bool(!opaque::<Image>(arguments, 0)?.digest.is_empty()))
        })
        .help("whether an image is named by its digest"),
    );
    functions.add(
        Overload::method("registry", IMAGE, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Image>(arguments, 0)?.registry.clone()))
        })
        .help("the registry of an image, such as `ghcr.io`"),
    );
    functions.add(
        Overload::method("repository", IMAGE, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Image>(arguments, 0)?.repository.clone()))
        })
        .help("the path of an image in its registry, such as `library/nginx`"),
    );
    functions.add(
        Overload::method("tag", IMAGE, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Image>(arguments, 0)?.tag.clone()))
        })
        .help("the tag of an image; `latest` where there is neither a tag nor a digest"),
    );
    functions.add(
        Overload::method("digest", IMAGE, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Image>(arguments, 0)?.digest.clone()))
        })
        .help("the digest of an image, or nothing"),
    );
    functions.add(
        Overload::method("identifier", IMAGE, Kind::String, |arguments, _| {
            let image = opaque::<Image>(arguments, 0)?;
            Ok(match (image.tag.as_str(), image.digest.as_str()) {
                (_, "") => Val::text(image.tag.clone()),
                ("", _) => Val::text(image.digest.clone()),
                (tag, digest) => Val::text(format!("{tag}@{digest}")),
            })
        })
        .help("the tag, the digest, or both as `tag@digest`"),
    );
    functions.add(
        Overload::method("identifierWithSeparator", IMAGE, Kind::String, |arguments, _| {
            let image = opaque::<Image>(arguments, 0)?;
            Ok(Val::text(match image.digest.as_str() {
                "" => format!(":{}", image.tag),
                digest => format!("@{digest}"),
            }))
        })
        .help("`:tag` or `@digest`, which may be put behind the repository"),
    );
}

fn charged<'v>(arguments: &'v [Val<'_>], call: &mut Call<'_, '_>) -> Result<&'v str, Failure> {
    let whole = text(arguments, 0)?;
    call.work(whole.len() / 4)?;
    Ok(whole)
}

fn parsed(whole: &str) -> Option<Image> {
    tagged(whole).or_else(|| digested(whole))
}

fn tagged(whole: &str) -> Option<Image> {
    let (base, tag) = match whole.rsplit_once(':') {
        // What has a slash behind the colon was a port.
        Some((base, tag)) if !tag.contains('/') => (base, Some(tag)),
        _ => (whole, None),
    };
    if tag.is_some_and(|tag| !has_length(tag, 1, 128) || !tag.chars().all(is_tag_letter)) {
        return None;
    }
    let (registry, repository) = repository(base)?;
    let tag = Text::new(tag.unwrap_or(DEFAULT_TAG));
    Some(Image { whole: whole.into(), registry, repository, tag, digest: Text::default() })
}

fn digested(whole: &str) -> Option<Image> {
    let (base, digest) = whole.split_once('@')?;
    let hex = digest.strip_prefix(DIGEST_PREFIX)?;
    let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if hex.len() != DIGEST_LENGTH || !hex.bytes().all(is_hex) {
        return None;
    }
    let (registry, repository) = match tagged(base) {
        Some(image) => self::repository(&format!("{}/{}", image.registry, image.repository))?,
        None => self::repository(base)?,
    };
    // The tag is looked for in what was written, whether or not it can be one.
    let tag = match base.rsplit_once(':') {
        Some((_, tag)) if !tag.contains('/') => tag,
        _ => "",
    };
    Some(Image { whole: whole.into(), registry, repository, tag: tag.into(), digest: digest.into() })
}

/// Returns the registry and the path in it.
fn repository(base: &str) -> Option<(Text, Text)> {
    let (registry, path) = match base.split_once('/') {
        Some((first, rest)) if first == "localhost" || first.contains(['.', ':']) => (first, rest),
        _ => ("", base),
    };
    if !has_length(path, 2, 255) || !path.chars().all(is_path_letter) {
        return None;
    }
    if !url::parse_url(&format!("//{registry}")).is_ok_and(|url| url.host == registry) {
        return None;
    }
    let registry =
        if registry.is_empty() || registry == REGISTRY_ALIAS { DEFAULT_REGISTRY } else { registry };
    let path = match registry == DEFAULT_REGISTRY && !path.contains('/') {
        true => Text::from(format!("{DEFAULT_FOLDER}/{path}")),
        false => Text::new(path),
    };
    Some((registry.into(), path))
}

fn has_length(text: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&text.chars().take(most + 1).count())
}

fn is_path_letter(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || "_-./".contains(c)
}

fn is_tag_letter(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}
