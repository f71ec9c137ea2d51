//! Reads files into documents.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::yaml::{self, StreamChunk};
use kubewright_value::{Document, Source, json};

use super::Input;
use super::dump;
use super::find::io_error_text;
use super::memory;
use super::objects::ListOfObjects;
use super::registry;
use super::templates;
use crate::codes::{self, NOT_A_DOCUMENT, UNREADABLE};

/// The maximum size of a file.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The maximum number of bytes read from a pipe or a device, which have no size.
const MAX_STANDARD_INPUT_BYTES: u64 = 1 << 28;

/// Reads the documents of all `inputs`, and tells what is wrong with them.
#[must_use]
pub fn read_documents(inputs: &[Input], problems: &mut Vec<Diagnostic>) -> Vec<Document> {
    let mut documents = Vec::new();
    for input in inputs {
        match open_input(input, |_| true) {
            Ok((source, parts)) => {
                for part in parts {
                    documents.extend(read_part(&source, &part, problems));
                }
            }
            Err(problem) => problems.push(*problem),
        }
    }
    documents
}

/// Reads the documents of a YAML text that we have written ourselves.
#[must_use]
pub fn parse_documents(name: &str, text: &str) -> Vec<Document> {
    let Ok(source) = yaml::decode(name, text.as_bytes().to_vec()) else { return Vec::new() };
    let parts = split_parts(&source);
    parts.iter().flat_map(|part| read_part(&source, part, &mut Vec::new())).collect()
}

/// Reads `input` and splits it into parts, of which there are none unless its text `is_wanted`.
pub(super) fn open_input(
    input: &Input,
    is_wanted: impl FnOnce(&[u8]) -> bool,
) -> Result<(Arc<Source>, Vec<SourcePart>), Box<Diagnostic>> {
    if let Input::Objects(objects) = input {
        return Ok((Source::new("", ""), objects.iter().cloned().map(SourcePart::Made).collect()));
    }
    let source = read_source(input)?;
    let parts = if is_wanted(source.text.as_bytes()) { split_parts(&source) } else { Vec::new() };
    Ok((source, parts))
}

/// Reads the text of `input`. Objects that were read before have none.
pub fn read_source(input: &Input) -> Result<Arc<Source>, Box<Diagnostic>> {
    let name = input.name();
    let bytes = match input {
        Input::File(_) | Input::Standard if memory::current_memory().is_some() => {
            Err(io::ErrorKind::NotFound.into())
        }
        Input::File(path) => fs::File::open(path).and_then(|file| {
            registry::register(path);
            let size = file.metadata()?.len();
            read_to_end_limited(file, size)
        }),
        Input::Standard => read_to_end_limited(io::stdin().lock(), 0),
        Input::Text(source) => return Ok(Arc::clone(source)),
        Input::Objects(_) => Ok(Vec::new()),
    };
    let bytes = bytes.map_err(|error| {
        Box::new(codes::about_path(
            &UNREADABLE,
            &name,
            format!("cannot read `{name}`: {}", io_error_text(&error)),
        ))
    })?;
    if let Input::File(path) = input
        && !is_document(path, &bytes)
    {
        let message =
            format!("`{name}` is neither YAML nor JSON with rules or objects, so nothing of it is shown");
        let problem = codes::about_path(&NOT_A_DOCUMENT, &name, message);
        return Err(Box::new(problem.help("name a file that ends in `.yaml`, `.yml` or `.json`")));
    }
    yaml::decode(&name, bytes).map_err(|problem| Box::new(problem.into()))
}

/// Returns whether a file is meant to be read by us: its name says so, or it has the fields that our documents have. A message
/// about any other, such as a list of users or the environment of a process, would show a line of it.
fn is_document(path: &Path, bytes: &[u8]) -> bool {
    let has_extension = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        ["yaml", "yml", "json"].contains(&extension)
    };
    // A link may have any name. Anything but a file, such as a pipe, comes from the user who runs the command.
    let Ok(data) = fs::symlink_metadata(path) else { return true };
    let has_extension = match data.is_symlink() {
        true => fs::canonicalize(path).map_or(true, |real| has_extension(&real)),
        false => has_extension(path),
    };
    if has_extension || bytes.is_empty() || !fs::metadata(path).is_ok_and(|data| data.is_file()) {
        return true;
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let is_field = |line: &str| {
        ["apiVersion:", "kind:", "version: kubepattern"].iter().any(|field| line.starts_with(field))
    };
    text.lines().any(is_field) || text.contains("\"apiVersion\"") || text.contains("\"kind\"")
}

/// Reads everything, of which there is about `size`; a source without an end is given up.
fn read_to_end_limited(source: impl io::Read, size: u64) -> io::Result<Vec<u8>> {
    let largest = if size == 0 { MAX_STANDARD_INPUT_BYTES } else { MAX_FILE_BYTES };
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(largest)).unwrap_or(0));
    source.take(largest + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > largest {
        return Err(io::Error::other(format!("it has more than {} MiB", largest >> 20)));
    }
    Ok(bytes)
}

/// A part of a text that can be read on its own.
pub(super) enum SourcePart {
    /// The whole text, which is JSON.
    Json,
    /// A piece of a YAML stream.
    Yaml(StreamChunk),
    /// An item of a large list.
    Item(StreamChunk, Arc<ListOfObjects>),
    /// An object that was read before.
    Made(Document),
}

/// Splits a text into parts that can be read on their own, in order.
pub(super) fn split_parts(source: &Source) -> Vec<SourcePart> {
    if source.name.ends_with(".json") {
        return vec![SourcePart::Json];
    }
    let chunks = yaml::split(&source.text).into_iter();
    let parts = chunks.flat_map(|chunk| match dump::split_list_items(&source.text, &chunk) {
        Some((list, items)) => {
            let list = Arc::new(list);
            items.into_iter().map(|item| SourcePart::Item(item, Arc::clone(&list))).collect()
        }
        None => vec![SourcePart::Yaml(chunk)],
    });
    parts.collect()
}

/// Reads the documents of one part.
pub(super) fn read_part(
    source: &Arc<Source>,
    part: &SourcePart,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Document> {
    match part {
        SourcePart::Json => match json::read_with_warnings(source) {
            Ok((document, warnings)) => {
                problems.extend(warnings.into_iter().map(Into::into));
                vec![document]
            }
            Err(problem) => {
                problems.push(problem.into());
                Vec::new()
            }
        },
        SourcePart::Made(document) => vec![document.clone()],
        SourcePart::Yaml(chunk) => read_yaml_chunk(source, chunk, problems),
        SourcePart::Item(chunk, list) => {
            let items = read_yaml_chunk(source, chunk, problems);
            items.iter().flat_map(|item| item.items(&[])).map(|item| list.typed(item)).collect()
        }
    }
}

fn read_yaml_chunk(
    source: &Arc<Source>,
    chunk: &StreamChunk,
    problems: &mut Vec<Diagnostic>,
) -> Vec<Document> {
    let reading = yaml::read_chunk(source, chunk);
    match templates::template_problem(source, chunk, &reading.problems) {
        Some(problem) => problems.push(problem),
        None => problems.extend(reading.problems.into_iter().map(Into::into)),
    }
    reading.documents
}
