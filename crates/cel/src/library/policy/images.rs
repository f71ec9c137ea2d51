//! References to images, as clients of registries read them: `nginx` is `library/nginx` in `index.docker.io`.
//!
//! Names are checked less strictly than registries do, and an invalid reference has no detailed error.

use std::any::Any;

use kubewright_golib::url;
use kubewright_value::{Text, Value};

use super::{CelLibrary, MacroSet, opaque_argument, text_argument};
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Opaque, Val};

/// The library of references to images.
pub const IMAGES: CelLibrary =
    CelLibrary { name: "images", functions: add_image_functions, macros: MacroSet::NONE, types: &[] };

const IMAGE_TYPE_NAME: &str = "image.Reference";
const IMAGE: &[CelKind] = &[CelKind::Opaque(IMAGE_TYPE_NAME)];

const DEFAULT_REGISTRY: &str = "index.docker.io";
const REGISTRY_ALIAS: &str = "docker.io";
const DEFAULT_FOLDER: &str = "library";
const DEFAULT_TAG: &str = "latest";
const DIGEST_PREFIX: &str = "sha256:";
const DIGEST_LENGTH: usize = 64;

/// A reference by a tag or by a digest.
#[derive(Debug)]
struct ImageReferenceVal {
    /// The reference as written.
    whole: Text,
    registry: Text,
    repository: Text,
    /// The tag; `latest` if there is neither a tag nor a digest, empty if there is only a digest.
    tag: Text,
    /// The digest after `@`, or empty.
    digest: Text,
}

impl Opaque for ImageReferenceVal {
    fn type_name(&self) -> &'static str {
        IMAGE_TYPE_NAME
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    /// Compares the references as written, so `nginx` and `nginx:latest` differ.
    fn equals(&self, other: &dyn Opaque) -> bool {
        let other: Option<&Self> = other.as_any().downcast_ref();
        other.is_some_and(|other| self.whole == other.whole)
    }

    fn to_json(&self) -> Option<Value> {
        Some(Value::from(self.whole.clone()))
    }
}

fn add_image_functions(functions: &mut CelFunctions) {
    for name in ["image", "parseImageReference"] {
        functions.add(
            CelOverload::function(
                name,
                &[CelKind::String],
                CelKind::Opaque(IMAGE_TYPE_NAME),
                |arguments, call| {
                    let whole = charged_image_argument(arguments, call)?;
                    let bad = || CelFailure::value(format!("could not parse reference: {whole}"));
                    parse_image_reference(whole).map(Val::opaque).ok_or_else(bad)
                },
            )
            .help("the image that a text refers to"),
        );
    }
    functions.add(
        CelOverload::function("isImage", &[CelKind::String], CelKind::Bool, |arguments, call| {
            Ok(Val::Bool(parse_image_reference(charged_image_argument(arguments, call)?).is_some()))
        })
        .help("whether a text refers to an image"),
    );
    functions.add(
        CelOverload::method("containsDigest", IMAGE, CelKind::Bool, |arguments, _| {
            Ok(Val::Bool(!opaque_argument::<ImageReferenceVal>(arguments, 0)?.digest.is_empty()))
        })
        .help("whether an image is named by its digest"),
    );
    functions.add(
        CelOverload::method("registry", IMAGE, CelKind::String, |arguments, _| {
            Ok(Val::text(opaque_argument::<ImageReferenceVal>(arguments, 0)?.registry.clone()))
        })
        .help("the registry of an image, such as `ghcr.io`"),
    );
    functions.add(
        CelOverload::method("repository", IMAGE, CelKind::String, |arguments, _| {
            Ok(Val::text(opaque_argument::<ImageReferenceVal>(arguments, 0)?.repository.clone()))
        })
        .help("the path of an image in its registry, such as `library/nginx`"),
    );
    functions.add(
        CelOverload::method("tag", IMAGE, CelKind::String, |arguments, _| {
            Ok(Val::text(opaque_argument::<ImageReferenceVal>(arguments, 0)?.tag.clone()))
        })
        .help("the tag of an image; `latest` where there is neither a tag nor a digest"),
    );
    functions.add(
        CelOverload::method("digest", IMAGE, CelKind::String, |arguments, _| {
            Ok(Val::text(opaque_argument::<ImageReferenceVal>(arguments, 0)?.digest.clone()))
        })
        .help("the digest of an image, or nothing"),
    );
    functions.add(
        CelOverload::method("identifier", IMAGE, CelKind::String, |arguments, _| {
            let image = opaque_argument::<ImageReferenceVal>(arguments, 0)?;
            Ok(match (image.tag.as_str(), image.digest.as_str()) {
                (_, "") => Val::text(image.tag.clone()),
                ("", _) => Val::text(image.digest.clone()),
                (tag, digest) => Val::text(format!("{tag}@{digest}")),
            })
        })
        .help("the tag, the digest, or both as `tag@digest`"),
    );
    functions.add(
        CelOverload::method("identifierWithSeparator", IMAGE, CelKind::String, |arguments, _| {
            let image = opaque_argument::<ImageReferenceVal>(arguments, 0)?;
            Ok(Val::text(match image.digest.as_str() {
                "" => format!(":{}", image.tag),
                digest => format!("@{digest}"),
            }))
        })
        .help("`:tag` or `@digest`, which may be put behind the repository"),
    );
}

fn charged_image_argument<'v>(
    arguments: &'v [Val<'_>],
    call: &mut CelCallContext<'_, '_>,
) -> Result<&'v str, CelFailure> {
    let whole = text_argument(arguments, 0)?;
    call.work(whole.len() / 4)?;
    Ok(whole)
}

fn parse_image_reference(whole: &str) -> Option<ImageReferenceVal> {
    parse_tagged_image(whole).or_else(|| parse_digested_image(whole))
}

fn parse_tagged_image(whole: &str) -> Option<ImageReferenceVal> {
    let (base, tag) = match whole.rsplit_once(':') {
        // A colon with a slash behind it was that of a port.
        Some((base, tag)) if !tag.contains('/') => (base, Some(tag)),
        _ => (whole, None),
    };
    if tag.is_some_and(|tag| !has_length_between(tag, 1, 128) || !tag.chars().all(is_tag_character)) {
        return None;
    }
    let (registry, repository) = split_registry(base)?;
    let tag = Text::new(tag.unwrap_or(DEFAULT_TAG));
    Some(ImageReferenceVal { whole: whole.into(), registry, repository, tag, digest: Text::default() })
}

fn parse_digested_image(whole: &str) -> Option<ImageReferenceVal> {
    let (base, digest) = whole.split_once('@')?;
    let hex = digest.strip_prefix(DIGEST_PREFIX)?;
    let is_hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if hex.len() != DIGEST_LENGTH || !hex.bytes().all(is_hex) {
        return None;
    }
    let (registry, repository) = match parse_tagged_image(base) {
        Some(image) => self::split_registry(&format!("{}/{}", image.registry, image.repository))?,
        None => self::split_registry(base)?,
    };
    // The tag before a digest is read as written, valid or not.
    let tag = match base.rsplit_once(':') {
        Some((_, tag)) if !tag.contains('/') => tag,
        _ => "",
    };
    Some(ImageReferenceVal {
        whole: whole.into(),
        registry,
        repository,
        tag: tag.into(),
        digest: digest.into(),
    })
}

/// Returns the registry and the path in it.
fn split_registry(base: &str) -> Option<(Text, Text)> {
    let (registry, path) = match base.split_once('/') {
        Some((first, rest)) if first == "localhost" || first.contains(['.', ':']) => (first, rest),
        _ => ("", base),
    };
    if !has_length_between(path, 2, 255) || !path.chars().all(is_repository_character) {
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

fn has_length_between(text: &str, least: usize, most: usize) -> bool {
    (least..=most).contains(&text.chars().take(most + 1).count())
}

fn is_repository_character(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || "_-./".contains(c)
}

fn is_tag_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_-.".contains(c)
}
