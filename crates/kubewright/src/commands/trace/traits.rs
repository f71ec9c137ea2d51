//! Traits are traced as they are rendered.

use kubewright_dialects::traits::is_known;
use kubewright_engine::Diagnostic;
use kubewright_value::Document;

use crate::arguments::{Render, RenderFormat, Trace, TraceFormat};
use crate::failure::Failure;
use crate::load;

/// Returns whether `paths` name traits, and nothing else that is a rule.
pub(super) fn are_meant(paths: &[String]) -> bool {
    // Standard input can be read only once, and what cannot be read is for others to tell.
    if paths.iter().any(|path| path == "-") {
        return false;
    }
    let mut problems: Vec<Diagnostic> = Vec::new();
    let documents = load::documents(&load::find(paths).inputs, &mut problems);
    let documents = load::objects_of(documents, &mut Vec::new());
    let (known, others): (Vec<Document>, Vec<Document>) = documents.into_iter().partition(is_known);
    let dialects = kubewright_dialects::all(&kubewright_dialects::Options::default());
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
    Ok(Render {
        files: objects.resources.clone(),
        traits: arguments.rules.rules.clone(),
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
