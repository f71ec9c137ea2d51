//! The formats of reports on the command line.

use std::sync::OnceLock;

use kubewright_report::{FORMATS, Paint, Renderer, ReportContent, ReportFormat, TableOptions};

use super::chosen::{ChosenFormat, NamedFormat};
use super::terminal::terminal_width;
use crate::failure::CommandFailure;

/// One `-o` of the command line.
pub(crate) type Output = ChosenFormat<ReportFormat>;

impl NamedFormat for ReportFormat {
    fn all() -> &'static [Self] {
        &FORMATS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}

impl Output {
    /// Returns the table on standard output.
    pub(crate) fn table() -> Self {
        let [table, ..] = &FORMATS;
        Self { format: table, file: None }
    }

    /// Returns the format called `name` on standard output, if there is one.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let format = FORMATS.iter().find(|format| format.name == name)?;
        Some(Self { format, file: None })
    }

    /// Returns whether this is the table.
    pub(crate) fn is_table(&self) -> bool {
        std::ptr::eq(self.format, Self::table().format)
    }

    /// Opens the file, or standard output, and returns what renders reports there. A file has no colours.
    pub(crate) fn open(&self, options: TableOptions) -> Result<Box<dyn Renderer>, CommandFailure> {
        let is_file = self.file.is_some();
        let paint = if is_file { Paint::OFF } else { options.paint };
        let width = if is_file { None } else { terminal_width() };
        let folder = working_folder();
        let options = TableOptions { paint, width, folder, ..options };
        Ok(crate::watch::recorded((self.format.open)(self.writer()?, options)))
    }
}

/// Returns the folder that the command runs in; empty where it is not known.
fn working_folder() -> &'static str {
    static FOLDER: OnceLock<String> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = std::env::current_dir().ok();
        folder.and_then(|folder| folder.to_str().map(str::to_owned)).unwrap_or_default()
    })
}

/// Reads `-o` of a command that reports on objects.
pub(crate) fn object_output(text: &str) -> Result<Output, String> {
    output_for(ReportContent::Objects, text)
}

/// Reads `-o` of a command that reports findings.
pub(crate) fn finding_output(text: &str) -> Result<Output, String> {
    output_for(ReportContent::Findings, text)
}

/// Reads `-o` of a command that reports on objects and findings.
#[cfg(feature = "serve")]
pub(crate) fn scan_output(text: &str) -> Result<Output, String> {
    output_for(ReportContent::Scan, text)
}

/// Reads `-o` of a command that reports diagnostics.
pub(crate) fn diagnostic_output(text: &str) -> Result<Output, String> {
    output_for(ReportContent::Diagnostics, text)
}

/// Reads `-o` of a command that reports test cases.
pub(crate) fn case_output(text: &str) -> Result<Output, String> {
    output_for(ReportContent::Cases, text)
}

fn output_for(content: ReportContent, text: &str) -> Result<Output, String> {
    let formats: Vec<&'static ReportFormat> = ReportFormat::for_content(content).collect();
    Output::parse(text, formats.iter().copied())
}

/// Returns the help of `-o` for reports of `content`.
pub(crate) fn output_help(content: ReportContent) -> String {
    let names: Vec<&str> = ReportFormat::for_content(content).map(|format| format.name).collect();
    let names = match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.join(""),
    };
    format!("{names}, into FILE when one is named; may be repeated")
}

/// Returns the requested outputs, or the table.
pub(crate) fn chosen_or_table(chosen: &[Output]) -> Vec<Output> {
    if chosen.is_empty() { vec![Output::table()] } else { chosen.to_vec() }
}
