//! What `generate` and `convert` share: policies in, policies in CEL out, each compared with its source before.

mod names;
mod proof;
mod report;

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
use kubewright_report::text::listed;
use kubewright_value::{Document, Text};

use crate::arguments::{ConversionFormat, Conversions, RuleOptions};
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, refuse_input, refuse_link, standard_output, yaml_text};
use crate::rule_inputs::complain;
use crate::rules;
use proof::Proof;

/// A policy and what became of it.
struct Converted {
    document: Document,
    conversion: Conversion,
    /// One for each of what was written.
    texts: Vec<String>,
    proof: Proof,
}

impl Converted {
    /// Returns what is given out: that which was not found to differ, and has tests where these are asked for.
    fn given_out(&self) -> impl Iterator<Item = (&ConvertedPolicy, &str)> {
        let written = self.conversion.written.iter().zip(&self.texts).enumerate();
        written
            .filter(|(place, _)| !self.proof.is_refused(*place))
            .map(|(_, (written, text))| (written, text.as_str()))
    }
}

/// Converts what `arguments` name.
///
/// # Errors
/// When output cannot be written.
pub(super) fn run(
    arguments: &Conversions,
    exceptions: &[String],
    target: ConversionTarget,
    color: ColorChoice,
) -> Result<Exit, Failure> {
    let found = files::find(&arguments.policies);
    let mut problems = found.problems;
    let documents = files::read_documents(&found.inputs, &mut problems);
    let documents = files::objects_of(documents, &mut Vec::new());
    let own = own_files(&documents);
    let mut options = rules::dialect_options(&RuleOptions::default(), None);
    let exceptions = files::find(exceptions);
    problems.extend(exceptions.problems);
    options.exceptions = rules::exceptions(files::read_documents(&exceptions.inputs, &mut problems));
    let wrong = kubewright_dialects::check_all_exceptions(&options.exceptions, std::iter::empty());
    problems.extend(wrong.into_iter().filter(Diagnostic::is_error));
    let made = workers::each(&documents, |document| {
        convert_policy(document, target, &options.exceptions, options.inputs)
    })?;
    let mut converted: Vec<Converted> = Vec::new();
    for (document, conversion) in documents.into_iter().zip(made) {
        let Some(conversion) = conversion else { continue };
        let texts = conversion.written.iter().map(text_of).collect();
        converted.push(Converted { document, conversion, texts, proof: Proof::default() });
    }
    names::give_up_taken(&mut converted);
    if converted.is_empty() && !problems.iter().any(Diagnostic::is_error) {
        let message = format!("no ClusterPolicy or Policy found in {}", listed(&arguments.policies));
        problems.push(codes::about_path(&NOTHING_FOUND, &arguments.policies.join(" "), message));
    }
    proof::prove(&mut converted, &roots(&arguments.policies), arguments.require_tests, &options)?;
    problems.retain(Diagnostic::is_error);
    let is_bad = complain(&problems, color.paint_errors());
    give_out(arguments, &converted, &own)?;
    report::tell_all(&converted, arguments, color)?;
    let is_all = converted.iter().all(|one| {
        one.conversion.refused.is_empty() && one.given_out().count() == one.conversion.written.len()
    });
    Ok(match (is_bad, is_all) {
        (true, _) => Exit::BadInput,
        (false, true) => Exit::Clean,
        (false, false) => Exit::Violations,
    })
}

/// Returns the documents of one conversion as a stream.
fn text_of(written: &ConvertedPolicy) -> String {
    written.documents.iter().map(yaml_text).collect::<Vec<_>>().join("---\n")
}

/// Returns the folders whose tests are looked at.
fn roots(paths: &[String]) -> Vec<String> {
    let mut roots: Vec<String> = Vec::new();
    for input in files::find(paths).inputs {
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

fn give_out(arguments: &Conversions, converted: &[Converted], own: &HashSet<PathBuf>) -> Result<(), Failure> {
    if let Some(folder) = &arguments.output_dir {
        return into_folder(folder, converted, own);
    }
    if arguments.summary || arguments.output == ConversionFormat::Json {
        return Ok(());
    }
    let mut out = standard_output();
    let texts = converted.iter().flat_map(Converted::given_out).map(|(_, text)| text);
    for (place, text) in texts.enumerate() {
        if place > 0 {
            writeln!(out, "---")?;
        }
        out.write_all(text.as_bytes())?;
    }
    Ok(out.flush()?)
}

/// Writes one file for each policy, and none in the place of a file that was read, but for those that are our `own`.
fn into_folder(folder: &Path, converted: &[Converted], own: &HashSet<PathBuf>) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
    let mut taken: HashSet<PathBuf> = HashSet::new();
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for one in converted {
        let texts: Vec<&str> = one.given_out().map(|(_, text)| text).collect();
        if texts.is_empty() {
            continue;
        }
        let stem = safe(&one.conversion.policy);
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
    files.iter().try_for_each(|(path, text)| fs::write(path, text).map_err(Failure::writing(path)))
}

/// Returns the files of `documents` that have nothing in them but what is written here, and may be written anew.
fn own_files(documents: &[Document]) -> HashSet<PathBuf> {
    let file = |document: &Document| fs::canonicalize(document.source.name.as_str()).ok();
    let (own, others): (Vec<&Document>, Vec<&Document>) =
        documents.iter().partition(|document| is_conversion_output(document));
    let others: HashSet<PathBuf> = others.into_iter().filter_map(file).collect();
    own.into_iter().filter_map(file).filter(|path| !others.contains(path)).collect()
}

/// Returns a name without anything that could lead out of the folder.
fn safe(name: &Text) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' }).collect()
}
