//! The formats, and where output goes: `FORMAT` to standard output, `FORMAT=FILE` to a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::str::FromStr;

use kubewright_engine::nearest;

use super::{ColorChoice, Needs, Paint, Show};
use super::{github::Github, json::Json, junit::Junit, markdown::Markdown, policyreport::PolicyReport};
use super::{sarif::Sarif, table::Table, yaml::Yaml};
use crate::failure::Failure;

/// Where bytes go.
pub(crate) type Target = Box<dyn Write>;

/// What reports of objects can look like.
#[derive(Debug)]
struct Format {
    /// What it is called on the command line.
    name: &'static str,
    /// What it wants to know of each object.
    needs: Needs,
    open: fn(Target, Manner) -> Box<dyn Show>,
}

/// The first one is the default; the last one has an option of its own.
static FORMATS: [Format; 8] = [
    Format { name: "table", needs: Needs::NOTHING, open: |out, manner| Box::new(Table::new(out, manner)) },
    Format { name: "json", needs: Needs::EVERYTHING_AS_JSON, open: |out, _| Box::new(Json::new(out)) },
    Format { name: "yaml", needs: Needs::OBJECTS, open: |out, _| Box::new(Yaml::new(out)) },
    Format { name: "junit", needs: Needs::ALL_OUTCOMES, open: |out, _| Box::new(Junit::new(out)) },
    Format { name: "sarif", needs: Needs::NOTHING, open: |out, _| Box::new(Sarif::new(out)) },
    Format { name: "github", needs: Needs::NOTHING, open: |out, _| Box::new(Github::new(out)) },
    Format { name: "markdown", needs: Needs::NOTHING, open: |out, _| Box::new(Markdown::new(out)) },
    Format {
        name: "policyreport",
        needs: Needs::ALL_OUTCOMES,
        open: |out, _| Box::new(PolicyReport::new(out)),
    },
];

/// How the table is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manner {
    /// Colours.
    pub(crate) paint: Paint,
    /// Only what is wrong.
    pub(crate) is_quiet: bool,
    /// With what changed.
    pub(crate) has_differences: bool,
}

/// One `-o` of the command line.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    format: &'static Format,
    /// Where it goes; standard output when there is none.
    pub(crate) file: Option<PathBuf>,
}

impl Output {
    /// Returns the table on standard output.
    pub(crate) fn table() -> Self {
        let [table, ..] = &FORMATS;
        Self { format: table, file: None }
    }

    /// Returns reports on standard output.
    pub(crate) fn policy_report() -> Self {
        let [.., report] = &FORMATS;
        Self { format: report, file: None }
    }

    /// Returns whether this is the table.
    pub(crate) fn is_table(&self) -> bool {
        self.format.name == "table"
    }

    /// Returns what this output wants to know of each object.
    pub(crate) fn needs(&self) -> Needs {
        self.format.needs
    }

    /// Opens the target and returns what shows reports there. A file has no colours.
    pub(crate) fn open(&self, manner: Manner) -> Result<Box<dyn Show>, Failure> {
        Ok(match &self.file {
            None => (self.format.open)(standard_output(), manner),
            Some(path) => {
                let file = File::create(path).map_err(Failure::writing(path))?;
                (self.format.open)(Box::new(BufWriter::new(file)), Manner { paint: Paint::OFF, ..manner })
            }
        })
    }
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = match text.split_once('=') {
            Some((_, "")) => return Err(format!("`{text}` names no file")),
            Some((name, file)) => (name, Some(PathBuf::from(file))),
            None => (text, None),
        };
        if let Some(format) = FORMATS.iter().find(|format| format.name == name) {
            return Ok(Self { format, file });
        }
        let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
        Err(match nearest(name, names.iter().copied()) {
            Some(near) => format!("there is no format `{name}`; did you mean `{near}`?"),
            None => format!("there is no format `{name}`; use one of {}", names.join(", ")),
        })
    }
}

impl Manner {
    /// Returns the manner of a table on standard output.
    pub(crate) fn new(color: ColorChoice, is_quiet: bool, has_differences: bool) -> Self {
        Self { paint: color.paint_output(), is_quiet, has_differences }
    }
}

/// Returns standard output, written in large pieces.
pub(crate) fn standard_output() -> Target {
    Box::new(BufWriter::with_capacity(64 << 10, io::stdout()))
}
