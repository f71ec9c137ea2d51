//! `trace` for traits: renders them with `--trace`.

use kubewright_files as files;
use kubewright_traits::is_trait_resource;
use kubewright_value::{Document, Value};

use crate::arguments::{RenderArguments, RenderFormat, TraceArguments, TraceFormat};
use crate::failure::CommandFailure;

/// Returns whether `paths` contain only traits.
pub(super) fn are_traits(paths: &[String]) -> bool {
    // Standard input can be read only once.
    if paths.iter().any(|path| path == "-") {
        return false;
    }
    let documents = read_rule_documents(paths);
    let (known, others): (Vec<Document>, Vec<Document>) = documents.into_iter().partition(is_trait_resource);
    let dialects = kubewright_dialects::all_dialects(&kubewright_dialects::DialectOptions::default());
    let is_rule = |document: &Document| dialects.iter().any(|dialect| dialect.claims(document));
    !known.is_empty() && !others.iter().any(is_rule)
}

/// Returns the arguments of `render` for the arguments of `trace`.
///
/// # Errors
/// When a setting does not apply to traits.
pub(super) fn rendering(arguments: &TraceArguments) -> Result<RenderArguments, CommandFailure> {
    if arguments.output.file.is_some() {
        return Err(CommandFailure::usage("traces of traits go to standard output")
            .help("write them to a file with `>`"));
    }
    let objects = &arguments.objects;
    let settings = objects.set.iter().flat_map(|setting| &setting.0);
    let set = settings.map(|(path, value)| {
        let value = value.as_str().unwrap_or_default();
        format!("{path}={value}").parse().map_err(CommandFailure::usage)
    });
    // A folder with everything for a component is given as a whole, and may be given twice.
    let has_component = |path: &String| {
        let is_component = |document: &Document| {
            is_trait_resource(document)
                && document.value.get("kind").and_then(Value::as_str) == Some("Component")
        };
        objects.resources.contains(path)
            && read_rule_documents(std::slice::from_ref(path)).iter().any(is_component)
    };
    let traits = arguments.rules.rules.iter().filter(|path| !has_component(path));
    Ok(RenderArguments {
        files: objects.resources.clone(),
        traits: traits.cloned().collect(),
        values: arguments.values.clone(),
        set: set.collect::<Result<_, _>>()?,
        names: arguments.names.clone(),
        namespace: objects.namespace.clone(),
        output: match arguments.output.format {
            TraceFormat::Tree => RenderFormat::Yaml,
            TraceFormat::Json => RenderFormat::Json,
        },
        trace: true,
        ..RenderArguments::default()
    })
}

/// Returns the documents in `paths`; unreadable files are reported by the command that runs.
fn read_rule_documents(paths: &[String]) -> Vec<Document> {
    let documents = files::read_documents(&files::find_files(paths).inputs, &mut Vec::new());
    files::objects_of(documents, &mut Vec::new())
}
