//! What findings can look like.

use std::io;

use super::report::Report;
use super::{github, json, junit, markdown, policyreport, resources, sarif, table};
use crate::output::{Chosen, Format, Paint, Target};

/// One `-o` of `detect`.
pub(crate) type FindingOutput = Chosen<FindingFormat>;

/// What findings can look like.
#[derive(Debug)]
pub(crate) struct FindingFormat {
    name: &'static str,
    pub(super) write: fn(&Report<'_>, Target, Paint) -> io::Result<()>,
}

/// The first one is the default.
static FORMATS: [FindingFormat; 10] = [
    FindingFormat { name: "table", write: table::write },
    FindingFormat { name: "json", write: |report, out, _| json::write(report, out) },
    FindingFormat { name: "yaml", write: |report, out, _| json::write_yaml(report, out) },
    FindingFormat { name: "sarif", write: |report, out, _| sarif::write(report, out) },
    FindingFormat { name: "junit", write: |report, out, _| junit::write(report, out) },
    FindingFormat { name: "github", write: |report, out, _| github::write(report, out) },
    FindingFormat { name: "markdown", write: |report, out, _| markdown::write(report, out) },
    FindingFormat { name: "policyreport", write: |report, out, _| policyreport::write(report, out) },
    FindingFormat { name: "k8spattern", write: |report, out, _| resources::patterns(report, out) },
    FindingFormat { name: "smell", write: |report, out, _| resources::smells(report, out) },
];

impl Format for FindingFormat {
    fn all() -> &'static [Self] {
        &FORMATS
    }

    fn name(&self) -> &'static str {
        self.name
    }
}
