//! What was chosen with `-o`: a format by its name, and where it goes: `FORMAT` to standard output, `FORMAT=FILE` to
//! a file.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use kubewright_engine::nearest_word;
use kubewright_report::ReportWriter;

use super::captured::{CaptureWriter, is_captured};
use super::file::{create_file, refuse_input};
use crate::failure::CommandFailure;

/// A format that is chosen by its name.
pub(crate) trait NamedFormat: Sized + 'static {
    /// Returns all of them; the first one is the default.
    fn all() -> &'static [Self];

    /// Returns what it is called on the command line.
    fn name(&self) -> &'static str;
}

/// One `-o` of the command line.
#[derive(Debug)]
pub(crate) struct ChosenFormat<F: 'static> {
    /// The format.
    pub(crate) format: &'static F,
    /// Where it goes; standard output when there is none.
    pub(crate) file: Option<PathBuf>,
}

impl<F> Clone for ChosenFormat<F> {
    fn clone(&self) -> Self {
        Self { format: self.format, file: self.file.clone() }
    }
}

impl<F: NamedFormat> ChosenFormat<F> {
    /// Opens the file, or standard output.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn writer(&self) -> Result<ReportWriter, CommandFailure> {
        Ok(match &self.file {
            None => standard_output(),
            Some(path) => Box::new(BufWriter::new(create_file(path)?)),
        })
    }
}

impl<F: NamedFormat> ChosenFormat<F> {
    /// Reads `FORMAT` or `FORMAT=FILE`, where the format is one of `formats`.
    ///
    /// # Errors
    /// When there is no such format, or no file after `=`.
    pub(crate) fn parse(
        text: &str,
        formats: impl Iterator<Item = &'static F> + Clone,
    ) -> Result<Self, String> {
        let (name, file) = match text.split_once('=') {
            Some((_, "")) => return Err(format!("`{text}` names no file")),
            Some((name, file)) => (name, Some(PathBuf::from(file))),
            None => (text, None),
        };
        if let Some(format) = formats.clone().find(|format| format.name() == name) {
            return Ok(Self { format, file });
        }
        let implied = if file.is_none() { implied_format(name) } else { None };
        if let Some(format) =
            implied.and_then(|implied| formats.clone().find(|format| format.name() == implied))
        {
            return Ok(Self { format, file: Some(PathBuf::from(name)) });
        }
        let names: Vec<&str> = formats.map(NamedFormat::name).collect();
        Err(match nearest_word(name, names.iter().copied()) {
            Some(near) => format!("there is no format `{name}`; did you mean `{near}`?"),
            None => format!("there is no format `{name}`; use one of {}", names.join(", ")),
        })
    }
}

impl<F: NamedFormat> FromStr for ChosenFormat<F> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, F::all().iter())
    }
}

/// Returns the format that the name of a file implies: `report.sarif`.
fn implied_format(file: &str) -> Option<&'static str> {
    let name = file.to_lowercase();
    let ends = [
        (".sarif", "sarif"),
        (".sarif.json", "sarif"),
        ("code-quality-report.json", "gitlab"),
        ("codequality.json", "gitlab"),
        ("cobertura.xml", "cobertura"),
        ("coverage.xml", "cobertura"),
        (".info", "lcov"),
        (".jsonl", "jsonl"),
        (".json", "json"),
        (".yaml", "yaml"),
        (".yml", "yaml"),
        (".xml", "junit"),
        (".md", "markdown"),
        (".markdown", "markdown"),
        (".svg", "svg"),
        (".html", "html"),
        (".dot", "dot"),
        (".gv", "dot"),
        (".mmd", "mermaid"),
    ];
    ends.iter().find(|(end, _)| name.ends_with(end)).map(|(_, format)| *format)
}

/// Refuses outputs of which two would go to the same place.
///
/// # Errors
/// When two do.
pub(crate) fn keep_apart<F: NamedFormat>(outputs: &[ChosenFormat<F>]) -> Result<(), CommandFailure> {
    if outputs.iter().filter(|output| output.file.is_none()).count() > 1 {
        return Err(CommandFailure::usage("two outputs would go to standard output")
            .help("name a file for one, as in `-o json=report.json`"));
    }
    // A device may be written twice.
    let is_device = |path: &Path| fs::metadata(path).is_ok_and(|data| !data.is_file());
    let named = outputs.iter().filter_map(|output| output.file.as_deref());
    let mut files: Vec<PathBuf> = named.filter(|path| !is_device(path)).map(resolve_output).collect();
    files.sort();
    match files.iter().zip(files.iter().skip(1)).find(|(file, next)| file == next) {
        Some((file, _)) => {
            Err(CommandFailure::usage(format!("two outputs would go to `{}`", file.display())))
        }
        None => Ok(()),
    }
}

/// Refuses an output that would write over a file that is read.
///
/// # Errors
/// When one would.
pub(crate) fn keep_inputs<F: NamedFormat>(outputs: &[ChosenFormat<F>]) -> Result<(), CommandFailure> {
    outputs.iter().filter_map(|output| output.file.as_deref()).try_for_each(refuse_input)
}

/// Returns `path` without links, as far as it exists.
fn resolve_output(path: &Path) -> PathBuf {
    if let Ok(real) = fs::canonicalize(path) {
        return real;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    path.file_name().map_or_else(|| path.to_owned(), |name| folder.join(name))
}

/// Returns standard output, written in large pieces.
pub(crate) fn standard_output() -> ReportWriter {
    if is_captured() {
        return Box::new(CaptureWriter);
    }
    Box::new(BufWriter::with_capacity(64 << 10, io::stdout()))
}
