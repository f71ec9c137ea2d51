//! The images of an object, by the containers that run them: `images.containers.NAME.registry` and so on.

use kubewright_engine::EvalError;
use kubewright_golib::image::{DEFAULT_REGISTRY, ImageReference, ImageReferenceError, with_registry};
use kubewright_k8s::PodTemplatePath;
use kubewright_value::{Budget, Map, Text, Value, index_text};

use super::context::Unresolved;

/// The lists of containers that a Pod has.
pub(super) const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Returns the images of `object`, or nothing when it has none.
pub(super) fn images_of_object(object: &Value, budget: &mut Budget) -> Result<Option<Value>, Unresolved> {
    let Some(keys) = pod_keys(object.str_at(&["kind"])) else {
        return Ok(None);
    };
    let Some(spec) = follow_image_keys(object, keys)? else { return Ok(None) };
    let mut images = Map::new();
    for list in LISTS {
        let pointer = format!("/{}/{list}", keys.join("/"));
        let mut found = Map::new();
        if let Some(containers) = spec.get(list) {
            collect_images(containers, &pointer, &mut found, budget)?;
        }
        if !found.is_empty() {
            images.insert(list.into(), found.into());
        }
    }
    Ok((!images.is_empty()).then(|| images.into()))
}

/// Returns the keys that lead to the specification of the Pod in objects of `kind`.
fn pod_keys(kind: &str) -> Option<&'static [&'static str]> {
    let path = PodTemplatePath::of_kind(kind).filter(|path| *path != PodTemplatePath::Bare);
    path.map(PodTemplatePath::spec_keys)
}

fn follow_image_keys<'v>(object: &'v Value, keys: &[&str]) -> Result<Option<&'v Value>, Unresolved> {
    let mut value = object;
    for key in keys {
        match value.get(key) {
            None | Some(Value::Null) => return Ok(None),
            Some(next) if next.as_object().is_none() => return Err(image_error("invalid image config")),
            Some(next) => value = next,
        }
    }
    Ok(Some(value))
}

/// Adds the images of a list of containers. A value that is not a container or image is an error, so that an
/// image cannot be hidden by its form.
fn collect_images(
    containers: &Value,
    pointer: &str,
    found: &mut Map,
    budget: &mut Budget,
) -> Result<(), Unresolved> {
    let named: Vec<(String, &Value)> = match containers {
        Value::Null => Vec::new(),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .map(|(i, item)| ([pointer, "/", &index_text(i)].concat(), item))
            .collect(),
        Value::Object(map) => map.iter().map(|(key, item)| ([pointer, "/", key].concat(), item)).collect(),
        _ => return Err(image_error("invalid image config")),
    };
    for (pointer, container) in named {
        budget.step(1)?;
        let container = match container {
            Value::Null => continue,
            Value::Object(container) => container,
            _ => return Err(image_error("invalid image config")),
        };
        let Some(Value::String(name)) = container.get("name") else { return Err(image_error("invalid key")) };
        let image = match container.get("image") {
            None | Some(Value::Null) => continue,
            Some(Value::String(image)) => image,
            Some(_) => return Err(image_error("invalid image config")),
        };
        if !image.trim().is_empty() {
            budget.produce(image.len().saturating_mul(4))?;
            let reference = ImageReference::parse(image).map_err(|bad| bad_image(image, bad))?;
            // Of two containers with one name neither hides the other.
            let key = if found.contains_key(name) { pointer.as_str().into() } else { name.clone() };
            if found.insert(key, image_as_value(&reference, &pointer)).is_some() {
                return Err(image_error("invalid key"));
            }
        }
    }
    Ok(())
}

fn image_as_value(reference: &ImageReference, pointer: &str) -> Value {
    let repository = reference.repository();
    let (mut registry, mut path) = (reference.registry.as_str(), reference.path.as_str());
    // A host name cannot have an underscore; it is shown as the registry all the same.
    if let Some((first, rest)) = path.split_once('/')
        && registry.is_empty()
        && first.contains('_')
    {
        (registry, path) = (first, rest);
    }
    let tag = reference.effective_tag();
    let with_tag = [&repository, ":", tag].concat();
    let with_digest = [&repository, "@", &reference.digest].concat();
    let full = if reference.digest.is_empty() { &with_tag } else { &with_digest };
    let mut map = Map::with_capacity(8);
    let texts = [
        ("registry", registry),
        ("name", reference.name()),
        ("path", path),
        ("tag", tag),
        ("digest", &reference.digest),
        ("reference", full),
        ("referenceWithTag", &with_tag),
        ("jsonPointer", &[pointer, "/image"].concat()),
    ];
    for (key, text) in texts {
        if !text.is_empty() {
            map.insert(Text::new_static(key), text.into());
        }
    }
    map.into()
}

pub(super) fn bad_image(image: &str, bad: ImageReferenceError) -> Unresolved {
    let full = with_registry(image);
    image_error(format!(
        "invalid image '{image}' (bad image: {full}, defaultRegistry: {DEFAULT_REGISTRY}, enableDefaultRegistryMutation: true: {bad})"
    ))
}

fn image_error(message: impl Into<String>) -> Unresolved {
    Unresolved::error(EvalError::new(message))
}
