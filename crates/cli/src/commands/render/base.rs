//! The base manifests that traits are applied to, from all files together.

use std::collections::HashSet;
use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input, ObjectFilter};
use kubewright_value::Document;

use crate::arguments::RenderArguments;
use crate::failure::CommandFailure;

/// The manifests of `-f`.
pub(super) struct BaseManifests {
    pub(super) documents: Vec<Document>,
}

/// Finds and reads the manifests, or standard input if none are given; `others` are files that are read for another purpose
/// and are not manifests.
///
/// # Errors
/// When no file is given and standard input is a terminal.
pub(super) fn read_base(
    arguments: &RenderArguments,
    others: &[Input],
    problems: &mut Vec<Diagnostic>,
) -> Result<BaseManifests, CommandFailure> {
    let found = files::find_manifests(&base_paths(arguments)?);
    problems.extend(found.problems);
    let others = resolved_files(others);
    let is_manifest = |input: &Input| match input {
        Input::File(path) => fs::canonicalize(path).map_or(true, |path| !others.contains(&path)),
        _ => true,
    };
    let inputs: Vec<Input> = found.inputs.into_iter().filter(is_manifest).collect();
    let mut documents = Vec::new();
    let wrong = files::stream_objects(&inputs, ObjectFilter::Objects, Document::clone, |document, _| {
        documents.push(document);
        Ok(())
    })?;
    problems.extend(wrong);
    Ok(BaseManifests { documents })
}

/// Returns the given paths, or standard input.
pub(super) fn base_paths(arguments: &RenderArguments) -> Result<Vec<String>, CommandFailure> {
    if !arguments.files.is_empty() {
        return Ok(arguments.files.clone());
    }
    if io::stdin().is_terminal() {
        return Err(CommandFailure::usage("there are no manifests to apply traits to")
            .help("pass them with -f, or on standard input"));
    }
    Ok(vec!["-".to_owned()])
}

/// Returns the files of `inputs` without links.
fn resolved_files(inputs: &[Input]) -> HashSet<PathBuf> {
    let files = inputs.iter().filter_map(|input| match input {
        Input::File(path) => fs::canonicalize(path).ok(),
        _ => None,
    });
    files.collect()
}
