//! The manifests that traits are applied to: one set, whatever files they come from.

use std::collections::HashSet;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input, Wanted};
use kubewright_value::Document;

use crate::arguments::Render;
use crate::failure::Failure;

/// What `-f` names.
pub(super) struct Base {
    pub(super) documents: Vec<Document>,
}

/// Finds and reads the manifests, or standard input where none are named; `others` are files that are read for
/// something else, and hold no manifests.
///
/// # Errors
/// When nothing is named and standard input is a terminal.
pub(super) fn read(
    arguments: &Render,
    others: &[Input],
    problems: &mut Vec<Diagnostic>,
) -> Result<Base, Failure> {
    let found = files::find_manifests(&paths(arguments)?);
    problems.extend(found.problems);
    let others = real(others);
    let is_manifest = |input: &Input| match input {
        Input::File(path) => fs::canonicalize(path).map_or(true, |path| !others.contains(&path)),
        Input::Standard => true,
    };
    let inputs: Vec<Input> = found.inputs.into_iter().filter(is_manifest).collect();
    let mut documents = Vec::new();
    let wrong = files::stream(&inputs, Wanted::Objects, Document::clone, |document, _| {
        documents.push(document);
        Ok(())
    })?;
    problems.extend(wrong);
    Ok(Base { documents })
}

/// Returns what is named, or standard input.
pub(super) fn paths(arguments: &Render) -> Result<Vec<String>, Failure> {
    if !arguments.files.is_empty() {
        return Ok(arguments.files.clone());
    }
    if io::stdin().is_terminal() {
        return Err(Failure::usage("there are no manifests to apply traits to")
            .help("name them with -f, or write them to standard input"));
    }
    Ok(vec!["-".to_owned()])
}

/// Returns the files of `inputs` without links.
fn real(inputs: &[Input]) -> HashSet<PathBuf> {
    let files = inputs.iter().filter_map(|input| match input {
        Input::File(path) => fs::canonicalize(path).ok(),
        Input::Standard => None,
    });
    files.collect()
}
