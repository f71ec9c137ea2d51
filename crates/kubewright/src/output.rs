//! Showing results: one file a format.
//!
//! A format is told of one object after the other and keeps only what it must, so that
//! a run over a large folder needs little memory.

mod chosen;
mod diff;
mod file;
mod folder;
mod github;
mod json;
mod junit;
mod markdown;
mod paint;
mod policyreport;
mod sarif;
mod snippet;
mod table;
mod target;
mod tree;
mod yaml;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use kubewright_engine::{Diagnostic, Rule};

use crate::review::{Counts, ObjectReport};

pub(crate) use chosen::{Chosen, Format, Target, keep_apart, keep_inputs, standard_output};
pub(crate) use diff::{Diff, hunks};
pub(crate) use file::{refuse_input, refuse_link, write as write_file, write_named_by_object};
pub(crate) use folder::{FileNames, Folder, safe};
pub(crate) use github::{annotation, diagnostics as github_diagnostics, written as annotate};
pub(crate) use json::{diagnostic as json_diagnostic, object_text as json_object, place as json_place};
pub(crate) use junit::{HEAD as JUNIT_HEAD, diagnostics_suite, xml};
pub(crate) use markdown::{SHOWN as MARKDOWN_SHOWN, cell, code};
pub(crate) use paint::{ColorChoice, Paint, short, tell, visible};
pub(crate) use policyreport::{Reports, resource as policy_resource};
pub(crate) use sarif::{
    Sarif, diagnostics as sarif_diagnostics, message as sarif_message, page as sarif_page,
    physical as sarif_place,
};
pub(crate) use snippet::{Tally, snippet, window};
pub(crate) use target::{Manner, Output};
pub(crate) use tree::tree;
pub(crate) use yaml::text as yaml_text;

/// Shows the reports of objects.
pub(crate) trait Show {
    /// Shows one object. Called in the order of the input.
    fn object(&mut self, report: &ObjectReport) -> io::Result<()>;

    /// Shows what comes after the last object.
    fn finish(&mut self, ending: &Ending<'_>) -> io::Result<()>;
}

/// What is known when all objects are done.
pub(crate) struct Ending<'a> {
    /// The rules that ran.
    pub(crate) rules: &'a [Arc<Rule>],
    /// What is wrong with rules and manifests.
    pub(crate) diagnostics: &'a [Diagnostic],
    /// How many objects there were.
    pub(crate) objects: usize,
    /// The outcomes of all objects.
    pub(crate) counts: Counts,
    /// How long it took.
    pub(crate) elapsed: Duration,
}

/// What the chosen formats want to know of each object.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Needs {
    /// A row for each outcome, also where nothing is wrong and nothing changed.
    pub(crate) all_outcomes: bool,
    /// The JSON Patch of the whole decision.
    pub(crate) patch: bool,
    /// The report as JSON.
    pub(crate) json: bool,
    /// The object before and after.
    pub(crate) objects: bool,
    /// The tree of what was looked at.
    pub(crate) trace: bool,
}

impl Needs {
    /// Only what is wrong or changed.
    const NOTHING: Self =
        Self { all_outcomes: false, patch: false, json: false, objects: false, trace: false };
    const ALL_OUTCOMES: Self = Self { all_outcomes: true, ..Self::NOTHING };
    const OBJECTS: Self = Self { objects: true, ..Self::NOTHING };
    const EVERYTHING_AS_JSON: Self = Self { all_outcomes: true, patch: true, json: true, ..Self::NOTHING };

    /// Returns what either of the two wants.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            all_outcomes: self.all_outcomes || other.all_outcomes,
            patch: self.patch || other.patch,
            json: self.json || other.json,
            objects: self.objects || other.objects,
            trace: self.trace || other.trace,
        }
    }
}
