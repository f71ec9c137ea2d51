//! References to container images.

use kubewright_golib::image::ImageReference;
use kubewright_value::{Budget, Value};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

pub(super) const TABLE: &[Builtin] = &[builtin(
    "image_normalize",
    &[Accepts::STRING],
    "string",
    "the image with its registry, and with its tag or digest",
    image_normalize,
)];

/// Returns the reference with a registry, and with a tag unless it has a digest.
fn image_normalize(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let image = arguments.first().map_or("", Argument::text);
    budget.step(image.len() as u64 / 8)?;
    budget.produce(image.len().saturating_mul(4))?;
    let bad = |_| Failure::wrong_value(format!("`{image}` is no reference to an image")).about(0);
    ImageReference::parse(image).map(|reference| Value::from(reference.to_string())).map_err(bad)
}
