//! `doctor`: the webhook in a cluster, looked at and graded.
//!
//! Everything is read first ([`View`]), as far as the one who asks may read; each check is then a function of what was
//! seen, and what was not seen is a finding too.

mod admission_policies;
mod certificates;
mod exclusions;
mod finding;
mod others;
mod rules;
mod selector;
mod servers;
mod show;
mod view;
mod webhooks;

use crate::arguments::{Doctor, DoctorFormat};
use crate::failure::{Exit, Failure};
use crate::live::Live;
use crate::output::ColorChoice;
use finding::{Findings, Grade};
use view::View;

/// Runs the command.
///
/// # Errors
/// When there is no cluster.
pub(crate) fn run(arguments: &Doctor, color: ColorChoice) -> Result<Exit, Failure> {
    let live = Live::find(&arguments.cluster)?;
    let view = View::of(&live, &arguments.name, &arguments.namespace)
        .map_err(|error| Failure::usage(format!("there is nothing to look at: {error}")))?;
    let findings = judge(&view);
    match arguments.output {
        DoctorFormat::Text => show::text(&findings, arguments.quiet, color.paint_output())?,
        DoctorFormat::Json => show::json(&findings, arguments.quiet)?,
    }
    Ok(match findings.worst() {
        Grade::Well | Grade::Warn => Exit::Clean,
        Grade::Unseen | Grade::Bad => Exit::Violations,
    })
}

/// Makes all checks.
fn judge(view: &View) -> Findings {
    let mut findings = Findings::default();
    servers::check(view, &mut findings);
    webhooks::check(view, &mut findings);
    certificates::check(view, &mut findings);
    rules::check(view, &mut findings);
    admission_policies::check(view, &mut findings);
    exclusions::check(view, &mut findings);
    others::check(view, &mut findings);
    findings
}

#[cfg(test)]
mod tests;
