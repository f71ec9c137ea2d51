//! A stack file: several trait instances in order, with their values.

use std::path::Path;
use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_files as files;
use kubewright_value::{Document, Location, Map, Source, Step, Value};

use super::library::is_trait;
use crate::codes::{DUPLICATE_TRAIT, STACK_FIELD, STACK_KIND, STACK_MISSING, STACK_VALUE};
use crate::fields::{InputFieldCodes, InputFieldReader};

const API_VERSION: &str = "kubewright.dev/v1alpha1";
const KIND: &str = "TraitStack";
const CODES: InputFieldCodes =
    InputFieldCodes { unknown: &STACK_FIELD, missing: &STACK_MISSING, value: &STACK_VALUE };

/// The fields of a stack file.
pub(in crate::commands) const FIELDS: &[&str] = &["apiVersion", "kind", "metadata", "spec"];
/// The fields of its `spec`.
pub(in crate::commands) const SPEC_FIELDS: &[&str] = &["traits", "instances", "metadata", "context"];
/// The fields of an instance.
pub(in crate::commands) const INSTANCE_FIELDS: &[&str] =
    &["trait", "name", "kind", "instanceName", "parameters", "environmentConfigs"];
/// Kinds of traits.
pub(in crate::commands) const KINDS: &[&str] = &["Trait", "ClusterTrait"];

/// A stack file.
#[derive(Debug)]
pub(in crate::commands) struct Stack {
    /// Paths of the traits, relative to the file.
    pub(in crate::commands) traits: Vec<String>,
    /// Inline traits.
    pub(in crate::commands) inline: Vec<Document>,
    /// In the order in which they are applied.
    pub(in crate::commands) instances: Vec<StackInstance>,
    /// The `metadata` of the context.
    pub(in crate::commands) metadata: Document,
    /// The rest of the context.
    pub(in crate::commands) context: Document,
}

/// A trait that is applied once.
#[derive(Debug)]
pub(in crate::commands) struct StackInstance {
    /// The name of the trait.
    pub(in crate::commands) of: String,
    /// `Trait` or `ClusterTrait`; either if not given.
    pub(in crate::commands) kind: Option<String>,
    /// The name of this instance.
    pub(in crate::commands) name: String,
    pub(in crate::commands) parameters: Document,
    pub(in crate::commands) environment_configs: Document,
    /// The location of the trait's name.
    pub(in crate::commands) location: Location,
}

impl Stack {
    /// Returns a stack of one instance of the trait in `document`, named after the trait by default.
    pub(in crate::commands) fn single(document: &Document, name: Option<&str>) -> Self {
        let text = |path: &[&str]| document.value.str_at(path);
        let of = text(&["metadata", "name"]);
        let empty = || Document::made(Map::new().into(), Arc::clone(&document.source));
        let one = StackInstance {
            of: of.to_owned(),
            kind: Some(text(&["kind"]).to_owned()),
            name: name.unwrap_or(of).to_owned(),
            parameters: empty(),
            environment_configs: empty(),
            location: document.locate(&["metadata".into(), "name".into()]),
        };
        Self {
            traits: Vec::new(),
            inline: Vec::new(),
            instances: vec![one],
            metadata: empty(),
            context: empty(),
        }
    }

    /// Returns the paths of the traits of a stack in `file`.
    pub(in crate::commands) fn paths(&self, file: &str, problems: &mut Vec<Diagnostic>) -> Vec<String> {
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        files::resolve_paths(folder, &self.traits, problems)
    }
}

/// Reads the stack file at `path`.
pub(in crate::commands) fn read_stack_file(path: &str, problems: &mut Vec<Diagnostic>) -> Option<Stack> {
    let found = files::find_files(&[path.to_owned()]);
    let has_file = !found.inputs.is_empty();
    problems.extend(found.problems);
    let mut wrong = Vec::new();
    let documents = files::read_documents(&found.inputs, &mut wrong);
    let is_readable = wrong.is_empty();
    problems.extend(wrong);
    let document = match documents.as_slice() {
        [document] => document.clone(),
        // An unreadable file is already reported.
        [] if !has_file || !is_readable => return None,
        [] => Document::made(Value::Null, Source::new(path, "")),
        [_, second, ..] => {
            let message = "the stack file contains a second document";
            problems.push(Diagnostic::new(&STACK_KIND, message, second.locate(&[])));
            return None;
        }
    };
    read_stack(&document).map_err(|wrong| problems.extend(wrong)).ok()
}

/// Reads a stack.
///
/// # Errors
/// With all diagnostics.
pub(in crate::commands) fn read_stack(document: &Document) -> Result<Stack, Vec<Diagnostic>> {
    let text = |field: &str| document.value.get(field).and_then(Value::as_str);
    if text("apiVersion") != Some(API_VERSION) || text("kind") != Some(KIND) {
        let message =
            format!("this is not a stack file: expected `apiVersion: {API_VERSION}` and `kind: {KIND}`");
        return Err(vec![Diagnostic::new(&STACK_KIND, message, document.locate(&["kind".into()]))]);
    }
    let mut reader = InputFieldReader::of(CODES, document);
    reader.check_fields(FIELDS);
    if reader.value("spec").is_none() {
        reader.missing("spec", "a stack file needs `spec`");
    }
    let stack = reader.field("spec", |reader| {
        reader.check_fields(SPEC_FIELDS);
        if reader.value("instances").is_none() {
            reader.missing("instances", "a stack needs `instances`");
        }
        let (traits, inline) = read_stack_traits(reader, document);
        Stack {
            traits,
            inline,
            instances: reader.each("instances", |reader| read_stack_instance(reader, document)),
            metadata: read_stack_map(reader, document, "metadata"),
            context: read_stack_map(reader, document, "context"),
        }
    });
    let stack = reader.finish(stack)?;
    // Without `spec` there is a diagnostic already.
    let stack = stack.ok_or_else(Vec::new)?;
    match duplicate_instances(&stack.instances) {
        wrong if wrong.is_empty() => Ok(stack),
        wrong => Err(wrong),
    }
}

/// Returns the paths under `traits`, and the inline traits.
fn read_stack_traits(reader: &mut InputFieldReader<'_>, document: &Document) -> (Vec<String>, Vec<Document>) {
    let Some(items) = reader.value("traits").and_then(Value::as_array) else {
        return (reader.texts("traits"), Vec::new());
    };
    let (mut paths, mut inline) = (Vec::new(), Vec::new());
    for (number, item) in items.iter().enumerate() {
        let place: Vec<Step> =
            reader.path().iter().cloned().chain(["traits".into(), number.into()]).collect();
        match (item.as_str(), document.part(&place).filter(is_trait)) {
            (Some(path), _) => paths.push(path.to_owned()),
            (None, Some(found)) => inline.push(found),
            (None, None) => reader.within(&["traits".into(), number.into()], |reader| {
                let message = format!("`traits` contains paths and traits, this is of type {}", item.kind());
                let message = match item.as_object() {
                    Some(_) => "this is neither a Trait nor a ClusterTrait".to_owned(),
                    None => message,
                };
                reader.wrong("kind", message);
            }),
        }
    }
    (paths, inline)
}

/// Reads an instance.
pub(in crate::commands) fn read_stack_instance(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
) -> StackInstance {
    reader.check_fields(INSTANCE_FIELDS);
    let named = (reader.text("trait"), reader.text("name"));
    let of = match named {
        (Some(_), Some(_)) => {
            reader.wrong("name", "`name` and `trait` both name the trait; use one of them".to_owned());
            String::new()
        }
        (Some(name), None) | (None, Some(name)) => name,
        (None, None) => {
            if reader.value("trait").is_none() && reader.value("name").is_none() {
                reader.missing("trait", "an instance needs `trait`");
            }
            String::new()
        }
    };
    let field = if reader.value("trait").is_some() { "trait" } else { "name" };
    let named_at: Vec<Step> = reader.path().iter().cloned().chain([field.into()]).collect();
    StackInstance {
        name: reader.text("instanceName").unwrap_or_else(|| of.clone()),
        of,
        kind: reader.word("kind", "kind", KINDS),
        parameters: read_stack_map(reader, document, "parameters"),
        environment_configs: read_stack_map(reader, document, "environmentConfigs"),
        location: document.locate(&named_at),
    }
}

/// Returns the map at `field`, with its positions.
pub(in crate::commands) fn read_stack_map(
    reader: &mut InputFieldReader<'_>,
    document: &Document,
    field: &str,
) -> Document {
    let empty = |reader: &InputFieldReader<'_>| {
        let source = reader.location().source;
        Document::made(Map::new().into(), source)
    };
    match reader.value(field) {
        None => empty(reader),
        Some(Value::Object(_)) => {
            let mut path: Vec<Step> = reader.path().to_vec();
            path.push(field.into());
            document.part(&path).unwrap_or_else(|| empty(reader))
        }
        Some(other) => {
            reader.wrong(field, format!("`{field}` is a map, this is of type {}", other.kind()));
            empty(reader)
        }
    }
}

/// Returns diagnostics for instances with the name of an earlier one.
pub(in crate::commands) fn duplicate_instances(instances: &[StackInstance]) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    for (place, one) in instances.iter().enumerate() {
        let Some(first) = instances.iter().take(place).find(|first| first.name == one.name) else { continue };
        let line = first.location.position.line;
        let message = format!("duplicate instance name `{}`; the first is on line {line}", one.name);
        let problem = Diagnostic::new(&DUPLICATE_TRAIT, message, one.location.clone());
        wrong.push(problem.help("give one of them another `instanceName`"));
    }
    wrong
}

#[cfg(test)]
mod tests;
