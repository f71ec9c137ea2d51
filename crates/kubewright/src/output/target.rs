//! The formats of reports about objects.

use super::chosen::{Chosen, Format, Target};
use super::{ColorChoice, Needs, Paint, Show};
use super::{github::Github, json::Json, junit::Junit, markdown::Markdown, policyreport::PolicyReport};
use super::{sarif::Sarif, table::Table, yaml::Yaml};
use crate::failure::Failure;

/// What reports of objects can look like.
#[derive(Debug)]
pub(crate) struct ObjectFormat {
    /// What it is called on the command line.
    name: &'static str,
    /// What it wants to know of each object.
    needs: Needs,
    open: fn(Target, Manner) -> Box<dyn Show>,
}

/// The first one is the default; the last one has an option of its own.
static FORMATS: [ObjectFormat; 8] = [
    ObjectFormat {
        name: "table",
        needs: Needs::NOTHING,
        open: |out, manner| Box::new(Table::new(out, manner)),
    },
    ObjectFormat { name: "json", needs: Needs::EVERYTHING_AS_JSON, open: |out, _| Box::new(Json::new(out)) },
    ObjectFormat { name: "yaml", needs: Needs::OBJECTS, open: |out, _| Box::new(Yaml::new(out)) },
    ObjectFormat { name: "junit", needs: Needs::ALL_OUTCOMES, open: |out, _| Box::new(Junit::new(out)) },
    ObjectFormat { name: "sarif", needs: Needs::NOTHING, open: |out, _| Box::new(Sarif::new(out)) },
    ObjectFormat { name: "github", needs: Needs::NOTHING, open: |out, _| Box::new(Github::new(out)) },
    ObjectFormat { name: "markdown", needs: Needs::NOTHING, open: |out, _| Box::new(Markdown::new(out)) },
    ObjectFormat {
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
pub(crate) type Output = Chosen<ObjectFormat>;

impl Format for ObjectFormat {
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
        let paint = if self.file.is_none() { manner.paint } else { Paint::OFF };
        Ok((self.format.open)(self.target()?, Manner { paint, ..manner }))
    }
}

impl Manner {
    /// Returns the manner of a table on standard output.
    pub(crate) fn new(color: ColorChoice, is_quiet: bool, has_differences: bool) -> Self {
        Self { paint: color.paint_output(), is_quiet, has_differences }
    }
}
