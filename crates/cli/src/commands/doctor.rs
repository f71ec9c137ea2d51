//! `doctor`: checks the webhook in a cluster.
//!
//! Everything that the user may read is read first ([`ClusterView`]); each check is then a function of that view, and what
//! could not be read is a finding too.

mod admission_policies;
mod certificates;
mod exclusions;
mod finding;
mod others;
mod rules;
mod scan;
mod selector;
mod servers;
mod show;
mod view;
mod webhooks;

use crate::arguments::{DoctorArguments, DoctorFormat};
use crate::failure::{CommandFailure, ExitStatus};
use crate::live::LiveCluster;
use crate::output::ColorChoice;
use finding::{DoctorFindings, DoctorGrade};
use view::ClusterView;

/// Runs the command.
///
/// # Errors
/// When there is no cluster.
pub(crate) fn run_doctor(
    arguments: &DoctorArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let live = LiveCluster::find(&arguments.cluster)?;
    let view = ClusterView::of(&live, &arguments.name, &arguments.namespace)
        .map_err(|error| CommandFailure::usage(format!("cannot reach the cluster: {error}")))?;
    let findings = run_checks(&view);
    match arguments.output {
        DoctorFormat::Text => show::write_doctor_text(&findings, arguments.quiet, color.paint_output())?,
        DoctorFormat::Json => show::write_doctor_json(&findings, arguments.quiet)?,
    }
    Ok(match findings.worst() {
        DoctorGrade::Well | DoctorGrade::Warn => ExitStatus::Clean,
        DoctorGrade::Unseen | DoctorGrade::Bad => ExitStatus::Violations,
    })
}

/// Runs all checks.
fn run_checks(view: &ClusterView) -> DoctorFindings {
    let mut findings = DoctorFindings::default();
    servers::check_servers(view, &mut findings);
    webhooks::check_webhooks(view, &mut findings);
    certificates::check_certificates(view, &mut findings);
    rules::check_rule_objects(view, &mut findings);
    admission_policies::check_admission_policies(view, &mut findings);
    scan::check_scan(view, &mut findings);
    exclusions::check_exclusions(view, &mut findings);
    others::check_other_webhooks(view, &mut findings);
    findings
}

#[cfg(test)]
mod tests;
