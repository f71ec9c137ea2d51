//! `detect`: finds patterns and smells in a set of objects.

use std::io::Write as _;

use kubewright_dialects::patterns::{self, Settings};
use kubewright_value::{Budget, Text};

use crate::arguments::Detect;
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, standard_output, visible};
use crate::session::complain;
use crate::survey::Survey;

/// Runs the command.
///
/// # Errors
/// When what was asked for makes no sense or output cannot be written.
pub(crate) fn run(arguments: &Detect, color: ColorChoice) -> Result<Exit, Failure> {
    let mut survey = Survey::open(&arguments.patterns, &arguments.resources)?;
    survey.only(&arguments.only)?;
    let namespaces: Vec<Text> = arguments.namespaces.iter().map(|name| name.as_str().into()).collect();
    let namespaces = (!namespaces.is_empty()).then_some(namespaces);
    let settings = Settings { namespaces, ..Settings::default() };
    let mut out = standard_output();
    let mut count = 0;
    for pattern in &survey.patterns {
        let Ok(found) = patterns::detect(pattern, &survey.graph, &settings, &mut Budget::default()) else {
            continue;
        };
        for finding in &found.findings {
            writeln!(out, "{}  {}  {}", finding.severity.name(), finding.pattern, visible(&finding.message))?;
        }
        count += found.findings.len();
    }
    out.flush()?;
    let is_broken = complain(&survey.diagnostics, color.paint_errors());
    Ok(match (is_broken, count) {
        (true, _) => Exit::BadInput,
        (false, 0) => Exit::Clean,
        (false, _) => Exit::Violations,
    })
}
