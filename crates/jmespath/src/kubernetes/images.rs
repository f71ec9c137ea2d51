//! References to container images.

use kubewright_golib::image::ImageReference;
use kubewright_value::{Budget, Value};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};

pub(super) const TABLE: &[JmesPathBuiltin] = &[define_builtin(
    "image_normalize",
    &[ArgumentTypes::STRING],
    "string",
    "the image with its registry, and with its tag or digest",
    call_image_normalize,
)];

/// Returns the reference with a registry, and with a tag unless it has a digest.
fn call_image_normalize(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let image = arguments.first().map_or("", JmesPathArgument::text);
    budget.step(image.len() as u64 / 8)?;
    budget.produce(image.len().saturating_mul(4))?;
    let bad = |_| JmesPathFailure::wrong_value(format!("`{image}` is not an image reference")).about(0);
    ImageReference::parse(image).map(|reference| Value::from(reference.to_string())).map_err(bad)
}
