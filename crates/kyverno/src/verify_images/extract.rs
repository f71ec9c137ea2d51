//! The images of an object: those of its containers, or where the rule says that its kind names them.

use kubewright_engine::EvalError;
use kubewright_golib::image::ImageReference;
use kubewright_k8s::PodTemplatePath;
use kubewright_value::{Step, Text, Value};

use crate::context::{Sourced, VariableContext};
use crate::images::{LISTS, bad_image};
use crate::source::images::ImageExtractor;
use crate::template::VariableQuery;

/// How many images of an object are looked at.
const MAX_IMAGES: usize = 1000;

/// An image of an object.
#[derive(Debug, Clone)]
pub(super) struct ObjectImage {
    /// Where it is.
    pub(super) path: Vec<Step>,
    /// As it is written.
    pub(super) written: Text,
    pub(super) reference: ImageReference,
}

/// Where objects of a kind name images.
#[derive(Clone)]
pub(super) struct CompiledExtractor {
    pub(super) source: ImageExtractor,
    /// Makes the image of the text that was found.
    pub(super) query: Option<VariableQuery>,
}

impl ObjectImage {
    /// Puts `digest` behind the image in `object`; returns whether it was there.
    pub(super) fn pin(&self, object: &mut Value, digest: &str) -> bool {
        let mut value = object;
        for step in &self.path {
            let next = match step {
                Step::Index(index) => value.as_array_mut().and_then(|items| items.get_mut(*index)),
                Step::Key(key) => value.as_object_mut().and_then(|map| map.get_mut(key)),
            };
            match next {
                Some(next) => value = next,
                None => return false,
            }
        }
        if value.as_str() != Some(self.written.as_str()) {
            return false;
        }
        *value = format!("{}@{digest}", self.written).into();
        true
    }
}

/// Returns the images of `object`. What should be an image and is none is an error, so that no image can be hidden.
pub(super) fn object_images(
    object: &Value,
    extractors: &[(Text, Vec<CompiledExtractor>)],
    context: &mut VariableContext<'_>,
) -> Result<Vec<ObjectImage>, EvalError> {
    let kind = object.str_at(&["kind"]);
    let mut found = Vec::new();
    match extractors.iter().find(|(own, _)| own == kind) {
        Some((_, own)) => {
            for extractor in own {
                let mut texts = Vec::new();
                walk(object, &extractor.source.keys, &mut Vec::new(), &mut texts, context)?;
                for (path, value) in texts {
                    found.extend(extractor.image(path, value, context)?);
                }
            }
        }
        None => container_images(object, kind, &mut found, context)?,
    }
    Ok(found)
}

fn container_images(
    object: &Value,
    kind: &str,
    found: &mut Vec<ObjectImage>,
    context: &mut VariableContext<'_>,
) -> Result<(), EvalError> {
    let Some(place) = PodTemplatePath::of_kind(kind).filter(|place| *place != PodTemplatePath::Bare) else {
        return Ok(());
    };
    let keys = place.spec_keys();
    let below: Vec<Step> = keys.iter().map(|key| Step::from(*key)).collect();
    let Some(spec) = object.follow(&below) else { return Ok(()) };
    for list in LISTS {
        let containers = match spec.get(list) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(containers)) => containers,
            Some(_) => return Err(EvalError::new("invalid image config")),
        };
        for (index, container) in containers.iter().enumerate() {
            context.budget().step(1)?;
            let image = match container.get("image") {
                None | Some(Value::Null) => continue,
                Some(Value::String(image)) if image.trim().is_empty() => continue,
                Some(Value::String(image)) => image,
                Some(_) => return Err(EvalError::new("invalid image config")),
            };
            let path = [&below[..], &[list.into(), index.into(), "image".into()]].concat();
            push_image(found, path, image.clone(), image, context)?;
        }
    }
    Ok(())
}

fn push_image(
    found: &mut Vec<ObjectImage>,
    path: Vec<Step>,
    written: Text,
    image: &str,
    context: &mut VariableContext<'_>,
) -> Result<(), EvalError> {
    if found.len() == MAX_IMAGES {
        return Err(EvalError::limit(format!("the object has more than {MAX_IMAGES} images")));
    }
    context.budget().produce(image.len().saturating_mul(4))?;
    let reference = ImageReference::parse(image)
        .map_err(|bad| bad_image(image, bad).into_error("failed to read images"))?;
    found.push(ObjectImage { path, written, reference });
    Ok(())
}

/// Finds the values that `keys` lead to; `*` stands for every element.
fn walk<'v>(
    value: &'v Value,
    keys: &[Text],
    path: &mut Vec<Step>,
    found: &mut Vec<(Vec<Step>, &'v Value)>,
    context: &mut VariableContext<'_>,
) -> Result<(), EvalError> {
    context.budget().step(1)?;
    let Some((key, rest)) = keys.split_first() else {
        found.push((path.clone(), value));
        return Ok(());
    };
    let next: Vec<(Step, &Value)> = match (key.as_str(), value) {
        ("*", Value::Array(items)) => items.iter().enumerate().map(|(i, item)| (i.into(), item)).collect(),
        ("*", Value::Object(map)) => map.iter().map(|(key, item)| (key.as_str().into(), item)).collect(),
        (key, Value::Array(items)) => {
            let index = key.parse::<usize>().ok();
            index.and_then(|index| Some((index.into(), items.get(index)?))).into_iter().collect()
        }
        (key, value) => value.get(key).map(|item| (key.into(), item)).into_iter().collect(),
    };
    for (step, item) in next {
        path.push(step);
        walk(item, rest, path, found, context)?;
        path.pop();
    }
    Ok(())
}

impl CompiledExtractor {
    fn image(
        &self,
        mut path: Vec<Step>,
        mut value: &Value,
        context: &mut VariableContext<'_>,
    ) -> Result<Option<ObjectImage>, EvalError> {
        if !self.source.value.is_empty() {
            let Some(inner) = value.get(&self.source.value) else { return Ok(None) };
            path.push(self.source.value.as_str().into());
            value = inner;
        }
        let written = match value {
            Value::Null => return Ok(None),
            Value::String(text) => text.clone(),
            _ => return Err(EvalError::new("invalid image config")),
        };
        let image = match &self.query {
            None => written.clone(),
            Some(query) => {
                let found = query.find_in(&Sourced::foreign(written.clone().into()), context);
                let found = found.map_err(|unresolved| unresolved.into_error("failed to apply jmesPath"))?;
                match found.value {
                    Value::String(text) => text,
                    _ => {
                        return Err(EvalError::new(
                            "the jmesPath of an image extractor does not lead to a text",
                        ));
                    }
                }
            }
        };
        if image.trim().is_empty() {
            return Ok(None);
        }
        let mut found = Vec::new();
        push_image(&mut found, path, written, &image, context)?;
        Ok(found.pop())
    }
}
