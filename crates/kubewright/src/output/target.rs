//! Where output goes: `FORMAT` to standard output, `FORMAT=FILE` to a file.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::str::FromStr;

use super::{ColorChoice, Needs, Paint, Show};
use super::{github::Github, json::Json, junit::Junit, markdown::Markdown, policyreport::PolicyReport};
use super::{sarif::Sarif, table::Table, yaml::Yaml};
use crate::failure::Failure;

/// Where bytes go.
pub(crate) type Target = Box<dyn Write>;

/// One `-o` of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Output {
    /// What it looks like.
    pub(crate) format: Format,
    /// Where it goes; standard output when there is none.
    pub(crate) file: Option<PathBuf>,
}

/// What reports of objects can look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// For people.
    Table,
    /// One document with stable keys.
    Json,
    /// The resulting objects.
    Yaml,
    /// For test dashboards.
    Junit,
    /// For code scanning.
    Sarif,
    /// For annotations in GitHub workflows.
    Github,
    /// For a comment on a pull request.
    Markdown,
    /// Objects that a cluster's dashboards read.
    PolicyReport,
}

/// How the table is to be.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Manner {
    /// Only what is wrong.
    pub(crate) is_quiet: bool,
    /// With what changed.
    pub(crate) has_differences: bool,
}

impl Format {
    const NAMED: [(&'static str, Self); 8] = [
        ("table", Self::Table),
        ("json", Self::Json),
        ("yaml", Self::Yaml),
        ("junit", Self::Junit),
        ("sarif", Self::Sarif),
        ("github", Self::Github),
        ("markdown", Self::Markdown),
        ("policyreport", Self::PolicyReport),
    ];
}

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = match text.split_once('=') {
            Some((_, "")) => return Err(format!("`{text}` names no file")),
            Some((name, file)) => (name, Some(PathBuf::from(file))),
            None => (text, None),
        };
        let names = Format::NAMED.map(|(name, _)| name);
        match Format::NAMED.into_iter().find(|(known, _)| *known == name) {
            Some((_, format)) => Ok(Self { format, file }),
            None => Err(match kubewright_engine::nearest(name, names) {
                Some(near) => format!("there is no format `{name}`; did you mean `{near}`?"),
                None => format!("there is no format `{name}`; use one of {}", names.join(", ")),
            }),
        }
    }
}

impl Output {
    /// The table on standard output.
    pub(crate) const TABLE: Self = Self { format: Format::Table, file: None };

    /// Opens the target and returns what shows reports there.
    pub(crate) fn open(&self, color: ColorChoice, manner: Manner) -> Result<Box<dyn Show>, Failure> {
        let (target, paint): (Target, Paint) = match &self.file {
            None => (standard_output(), color.paint_output()),
            Some(path) => {
                let file = File::create(path).map_err(Failure::writing(path))?;
                (Box::new(BufWriter::new(file)), Paint::OFF)
            }
        };
        Ok(match self.format {
            Format::Table => {
                let table = Table::new(target, paint, manner.is_quiet);
                Box::new(if manner.has_differences { table.with_differences() } else { table })
            }
            Format::Json => Box::new(Json::new(target)),
            Format::Yaml => Box::new(Yaml::new(target)),
            Format::Junit => Box::new(Junit::new(target)),
            Format::Sarif => Box::new(Sarif::new(target)),
            Format::Github => Box::new(Github::new(target)),
            Format::Markdown => Box::new(Markdown::new(target)),
            Format::PolicyReport => Box::new(PolicyReport::new(target)),
        })
    }

    /// Adds what this output wants to know to `needs`.
    pub(crate) fn add_needs(&self, needs: &mut Needs) {
        match self.format {
            Format::Json => {
                needs.all_outcomes = true;
                needs.patch = true;
                needs.json = true;
            }
            Format::Junit | Format::PolicyReport => needs.all_outcomes = true,
            Format::Yaml => needs.objects = true,
            Format::Table | Format::Sarif | Format::Github | Format::Markdown => {}
        }
    }
}

/// Returns standard output, written in large pieces.
pub(crate) fn standard_output() -> Target {
    Box::new(BufWriter::with_capacity(64 << 10, io::stdout()))
}
