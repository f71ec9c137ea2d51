//! Traits are traced as they are rendered.

use kubewright_files as files;
use kubewright_traits::is_trait_resource;
use kubewright_value::{Document, Value};

use crate::arguments::{Render, RenderFormat, Trace, TraceFormat};
use crate::failure::Failure;

/// Returns whether `paths` name traits, and nothing else that is a rule.
pub(super) fn are_meant(paths: &[String]) -> bool {
    // Standard input can be read only once.
    if paths.iter().any(|path| path == "-") {
        return false;
    }
    let documents = documents(paths);
    let (known, others): (Vec<Document>, Vec<Document>) = documents.into_iter().partition(is_trait_resource);
    let dialects = kubewright_dialects::all_dialects(&kubewright_dialects::DialectOptions::default());
    let is_rule = |document: &Document| dialects.iter().any(|dialect| dialect.claims(document));
    !known.is_empty() && !others.iter().any(is_rule)
}

/// Returns what rendering is asked for by `arguments`.
///
/// # Errors
/// When a setting is none of traits.
pub(super) fn rendering(arguments: &Trace) -> Result<Render, Failure> {
    let objects = &arguments.objects;
    let settings = objects.set.iter().flat_map(|setting| &setting.0);
    let set = settings.map(|(path, value)| {
        let value = value.as_str().unwrap_or_default();
        format!("{path}={value}").parse().map_err(Failure::usage)
    });
    // A folder with everything for a component is given as a whole, and may be named twice.
    let has_component = |path: &String| {
        let is_component = |document: &Document| {
            is_trait_resource(document)
                && document.value.get("kind").and_then(Value::as_str) == Some("Component")
        };
        objects.resources.contains(path) && documents(std::slice::from_ref(path)).iter().any(is_component)
    };
    let traits = arguments.rules.rules.iter().filter(|path| !has_component(path));
    Ok(Render {
        files: objects.resources.clone(),
        traits: traits.cloned().collect(),
        values: arguments.values.clone(),
        set: set.collect::<Result<_, _>>()?,
        names: arguments.names.clone(),
        namespace: objects.namespace.clone(),
        output: match arguments.output {
            TraceFormat::Tree => RenderFormat::Yaml,
            TraceFormat::Json => RenderFormat::Json,
        },
        trace: true,
        ..Render::default()
    })
}

/// Returns the documents that `paths` name; what cannot be read is for others to tell.
fn documents(paths: &[String]) -> Vec<Document> {
    let documents = files::read_documents(&files::find(paths).inputs, &mut Vec::new());
    files::objects_of(documents, &mut Vec::new())
}
