//! Shared by `generate`, `convert` and `migrate`: converts policies to CEL and compares each with its source.

mod names;
mod pair;
mod proof;
mod report;
mod verdict;

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use kubewright_convert::{
    Conversion, ConversionTarget, ConvertedPolicy, convert_policy, is_conversion_output,
};
use kubewright_engine::Diagnostic;
use kubewright_files::workers;
use kubewright_files::{self as files, Input};
use kubewright_report::text::listed_paths;
use kubewright_value::{Document, Text};

use crate::arguments::{ConversionArguments, ConversionFormat, RuleOptions};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, refuse_input, refuse_link, replace_files, standard_output, yaml_text};
use crate::rule_inputs::print_diagnostics;
use crate::rules;
use kubewright_dialects::DialectOptions;
#[cfg(feature = "serve")]
pub(super) use pair::{ConversionPair, PairDecision};
use proof::ConversionProof;
#[cfg(feature = "serve")]
pub(super) use proof::prove_on_tests;
#[cfg(feature = "serve")]
pub(super) use report::{ConversionSummary, summary_value, write_summary_table};

/// A policy and the result of converting it.
pub(super) struct ConvertedDocument {
    pub(super) document: Document,
    pub(super) conversion: Conversion,
    /// One for each written document.
    pub(super) texts: Vec<String>,
    pub(super) proof: ConversionProof,
}

impl ConvertedDocument {
    /// Returns the documents to output: those without differences, and with tests if these are required.
    pub(super) fn given_out(&self) -> impl Iterator<Item = (&ConvertedPolicy, &str)> {
        let written = self.conversion.written.iter().zip(&self.texts).enumerate();
        written
            .filter(|(place, _)| !self.proof.is_refused(*place))
            .map(|(_, (written, text))| (written, text.as_str()))
    }
}

/// Converts the policies of `arguments`.
///
/// # Errors
/// When output cannot be written.
pub(super) fn run_conversion(
    arguments: &ConversionArguments,
    exceptions: &[String],
    target: ConversionTarget,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let ConvertedFiles { mut converted, own, options, mut problems } =
        convert_files(&arguments.policies, exceptions, target)?;
    proof::prove_on_tests(
        &mut converted,
        &test_roots(&arguments.policies),
        arguments.require_tests,
        &options,
    )?;
    problems.retain(Diagnostic::is_error);
    let is_bad = print_diagnostics(&problems, color.paint_errors());
    write_converted(arguments, &converted, &own)?;
    report::write_conversion_report(&converted, arguments, color)?;
    let is_all = converted.iter().all(|one| {
        one.conversion.refused.is_empty() && one.given_out().count() == one.conversion.written.len()
    });
    Ok(match (is_bad, is_all) {
        (true, _) => ExitStatus::BadInput,
        (false, true) => ExitStatus::Clean,
        (false, false) => ExitStatus::Violations,
    })
}

/// The policies of some files, converted.
pub(super) struct ConvertedFiles {
    pub(super) converted: Vec<ConvertedDocument>,
    /// The files that hold only what this command has written.
    own: HashSet<PathBuf>,
    /// How the policies were compiled.
    pub(super) options: DialectOptions,
    /// What is wrong with the files.
    pub(super) problems: Vec<Diagnostic>,
}

/// Converts the policies of the files at `paths`.
///
/// # Errors
/// When no thread can be started.
pub(super) fn convert_files(
    paths: &[String],
    exceptions: &[String],
    target: ConversionTarget,
) -> Result<ConvertedFiles, CommandFailure> {
    let found = files::find_files(paths);
    let mut problems = found.problems;
    let documents = files::read_documents(&found.inputs, &mut problems);
    let documents = files::objects_of(documents, &mut Vec::new());
    let own = own_files(&documents);
    let mut options = rules::dialect_options(&RuleOptions::default(), None);
    let exceptions = files::find_files(exceptions);
    problems.extend(exceptions.problems);
    options.exceptions = rules::take_exceptions(files::read_documents(&exceptions.inputs, &mut problems));
    let wrong = kubewright_dialects::check_all_exceptions(&options.exceptions, std::iter::empty());
    problems.extend(wrong.into_iter().filter(Diagnostic::is_error));
    let converted = convert_documents(documents, target, &options)?;
    if converted.is_empty() && !problems.iter().any(Diagnostic::is_error) {
        let message = format!("no ClusterPolicy, Policy or cleanup policy found in {}", listed_paths(paths));
        problems.push(codes::about_path(&NOTHING_FOUND, &paths.join(" "), message));
    }
    Ok(ConvertedFiles { converted, own, options, problems })
}

/// Converts those of `documents` that are policies, with the exceptions in `options`.
///
/// # Errors
/// When no thread can be started.
pub(super) fn convert_documents(
    documents: Vec<Document>,
    target: ConversionTarget,
    options: &DialectOptions,
) -> Result<Vec<ConvertedDocument>, CommandFailure> {
    let made = workers::run_on_workers(&documents, |document| {
        convert_policy(document, target, &options.exceptions, options.inputs)
    })?;
    let mut converted: Vec<ConvertedDocument> = Vec::new();
    for (document, conversion) in documents.into_iter().zip(made) {
        let Some(conversion) = conversion else { continue };
        let texts = conversion.written.iter().map(conversion_text).collect();
        converted.push(ConvertedDocument { document, conversion, texts, proof: ConversionProof::default() });
    }
    names::give_up_taken(&mut converted);
    Ok(converted)
}

/// Returns the documents of one conversion as a stream.
fn conversion_text(written: &ConvertedPolicy) -> String {
    written.documents.iter().map(yaml_text).collect::<Vec<_>>().join("---\n")
}

/// Returns the folders that are searched for tests.
pub(super) fn test_roots(paths: &[String]) -> Vec<String> {
    let mut roots: Vec<String> = Vec::new();
    for input in files::find_files(paths).inputs {
        let Input::File(file) = input else { continue };
        let named = paths.iter().find(|path| Path::new(path).is_dir() && file.starts_with(path));
        let folder = match named {
            Some(folder) => folder.clone(),
            None => match file.parent().map(Path::to_string_lossy) {
                Some(parent) if !parent.is_empty() => parent.into_owned(),
                _ => ".".to_owned(),
            },
        };
        if !roots.contains(&folder) {
            roots.push(folder);
        }
    }
    roots
}

fn write_converted(
    arguments: &ConversionArguments,
    converted: &[ConvertedDocument],
    own: &HashSet<PathBuf>,
) -> Result<(), CommandFailure> {
    if let Some(folder) = &arguments.output_dir {
        return write_converted_files(folder, converted, own);
    }
    if arguments.summary || arguments.output == ConversionFormat::Json {
        return Ok(());
    }
    let mut out = standard_output();
    let texts = converted.iter().flat_map(ConvertedDocument::given_out).map(|(_, text)| text);
    for (place, text) in texts.enumerate() {
        if place > 0 {
            writeln!(out, "---")?;
        }
        out.write_all(text.as_bytes())?;
    }
    Ok(out.flush()?)
}

/// Writes one file for each policy; never over an input file, except those in `own`, which an earlier run wrote.
fn write_converted_files(
    folder: &Path,
    converted: &[ConvertedDocument],
    own: &HashSet<PathBuf>,
) -> Result<(), CommandFailure> {
    fs::create_dir_all(folder).map_err(CommandFailure::writing(folder))?;
    let mut taken: HashSet<PathBuf> = HashSet::new();
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for one in converted {
        let texts: Vec<&str> = one.given_out().map(|(_, text)| text).collect();
        if texts.is_empty() {
            continue;
        }
        let stem = safe_policy_name(&one.conversion.policy);
        let mut path = folder.join(format!("{stem}.yaml"));
        let mut number = 1;
        while !taken.insert(path.clone()) {
            number += 1;
            path = folder.join(format!("{stem}-{number}.yaml"));
        }
        files.push((path, texts.join("---\n")));
    }
    let is_own = |path: &Path| fs::canonicalize(path).is_ok_and(|path| own.contains(&path));
    for (path, _) in &files {
        refuse_link(path)?;
        if !is_own(path) {
            refuse_input(path)?;
        }
    }
    replace_files(files.iter().map(|(path, text)| (path.as_path(), text)))
}

/// Returns the files of `documents` that contain only output of this command and may be overwritten.
fn own_files(documents: &[Document]) -> HashSet<PathBuf> {
    let file = |document: &Document| fs::canonicalize(document.source.name.as_str()).ok();
    let (own, others): (Vec<&Document>, Vec<&Document>) =
        documents.iter().partition(|document| is_conversion_output(document));
    let others: HashSet<PathBuf> = others.into_iter().filter_map(file).collect();
    own.into_iter().filter_map(file).filter(|path| !others.contains(path)).collect()
}

/// Returns a name without characters that could lead out of the folder.
pub(super) fn safe_policy_name(name: &Text) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}
