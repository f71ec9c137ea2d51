//! References to container images.

use std::sync::LazyLock;

use kubewright_value::{Budget, Value};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};
use crate::goregex::{self, Regex};

const DEFAULT_REGISTRY: &str = "docker.io";
const DEFAULT_TAG: &str = "latest";

/// How long the path in a registry may be.
const LONGEST_PATH: usize = 255;

/// Groups: the name, the registry and the path in it, the tag, the digest.
const REFERENCE: &str = concat!(
    r"^((?:((?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])",
    r"(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[(?:[a-fA-F0-9:]+)\])(?::[0-9]+)?)/)?",
    r"([a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|[-]+)[a-z0-9]+)*)*))",
    r"(?::([0-9A-Za-z_][0-9A-Za-z_.-]{0,127}))?",
    r"(?:@([A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}))?$",
);

pub(super) const TABLE: &[Builtin] = &[builtin(
    "image_normalize",
    &[Accepts::STRING],
    "string",
    "the image with its registry, and with its tag or digest",
    image_normalize,
)];

/// Returns the reference with a registry, and with a tag unless it has a digest.
fn image_normalize(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    static COMPILED: LazyLock<Option<Regex>> = LazyLock::new(|| goregex::compile(REFERENCE).ok());
    let Some(reference) = COMPILED.as_ref() else { return Ok(Value::Null) };
    let image = arguments.first().map_or("", Argument::text);
    let full = with_registry(image);
    budget.step(reference.cost(&full))?;
    budget.produce(full.len().saturating_mul(2))?;
    let bad = || Failure::wrong_value(format!("`{image}` is no reference to an image")).about(0);
    let groups = reference.groups(&full).ok_or_else(bad)?;
    let [_, Some(name), _, Some(path), tag, digest] = groups.as_slice() else { return Err(bad()) };
    if path.len() > LONGEST_PATH || digest.is_some_and(|digest| !is_digest(digest)) {
        return Err(bad());
    }
    Ok(Value::from(match digest {
        Some(digest) => format!("{name}@{digest}"),
        None => format!("{name}:{}", tag.unwrap_or(DEFAULT_TAG)),
    }))
}

/// Returns `image` with the default registry, unless what stands before the first slash can be one.
fn with_registry(image: &str) -> String {
    let is_registry = |first: &str| {
        first.contains(['.', ':']) || first == "localhost" || first.chars().any(char::is_uppercase)
    };
    match image.split_once('/') {
        Some((first, _)) if is_registry(first) => image.to_owned(),
        _ => format!("{DEFAULT_REGISTRY}/{image}"),
    }
}

/// Returns whether the algorithm is known and the digest as long as it makes them.
fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else { return false };
    let length = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == length && hex.bytes().all(|c| c.is_ascii_digit() || (b'a'..=b'f').contains(&c))
}
