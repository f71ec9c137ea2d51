//! Files to documents.

use std::fs;
use std::io::{self, Read as _};
use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::yaml::{self, Chunk};
use kubewright_value::{Document, Source, json};

use super::Input;
use super::find::plain;
use crate::codes::{self, UNREADABLE};

/// Reads the documents of all `inputs`, and tells what is wrong with them.
pub(crate) fn documents(inputs: &[Input], problems: &mut Vec<Diagnostic>) -> Vec<Document> {
    let mut documents = Vec::new();
    for input in inputs {
        match text_of(input) {
            Ok(source) => {
                let parts = parts(&source);
                for part in parts {
                    documents.extend(read_part(&source, &part, problems));
                }
            }
            Err(problem) => problems.push(*problem),
        }
    }
    documents
}

/// Reads the text of `input`.
pub(crate) fn text_of(input: &Input) -> Result<Arc<Source>, Box<Diagnostic>> {
    let name = input.name();
    let bytes = match input {
        Input::File(path) => fs::read(path),
        Input::Standard => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        }
    };
    let bytes = bytes.map_err(|error| {
        Box::new(codes::about_path(&UNREADABLE, &name, format!("cannot read `{name}`: {}", plain(&error))))
    })?;
    yaml::decode(&name, bytes).map_err(|problem| Box::new(problem.into()))
}

/// A part of a text that can be read on its own.
pub(super) enum Part {
    /// The whole text, which is JSON.
    Json,
    /// A piece of a YAML stream.
    Yaml(Chunk),
}

/// Splits a text into parts that can be read on their own, in order.
pub(super) fn parts(source: &Source) -> Vec<Part> {
    if source.name.ends_with(".json") {
        return vec![Part::Json];
    }
    yaml::split(&source.text).into_iter().map(Part::Yaml).collect()
}

/// Reads the documents of one part.
pub(super) fn read_part(source: &Arc<Source>, part: &Part, problems: &mut Vec<Diagnostic>) -> Vec<Document> {
    match part {
        Part::Json => match json::read_with_warnings(source) {
            Ok((document, warnings)) => {
                problems.extend(warnings.into_iter().map(Into::into));
                vec![document]
            }
            Err(problem) => {
                problems.push(problem.into());
                Vec::new()
            }
        },
        Part::Yaml(chunk) => {
            let reading = yaml::read_chunk(source, chunk);
            problems.extend(reading.problems.into_iter().map(Into::into));
            reading.documents
        }
    }
}
