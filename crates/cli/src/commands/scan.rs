//! `scan`: judges every object of a cluster, once or (`--serve`) all the time.
//!
//! rules of the cluster and of files → the kinds that they read → a list of each kind, page by page → workers that judge →
//! rows in the order of the lists → findings of patterns → the report, and reports in the cluster where they are asked for.

mod cluster;
mod controller;
mod extent;
mod judge;
mod kinds;
mod lister;
mod pass;
mod reports;
mod rules;
mod world;

use std::sync::atomic::Ordering;
use std::time::Instant;

use kubewright_engine::Diagnostic;
use kubewright_files::workers;
use kubewright_report::text::plural;
use kubewright_report::{FindingOptions, Report, ReportedFindings, Results, Totals, shown_diagnostics};

use crate::arguments::{ScanArguments, Threshold};
use crate::codes::{self, SCAN_STOPPED};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, chosen_or_table, keep_apart, keep_inputs};
use crate::rule_inputs::print_diagnostics;
pub(super) use cluster::ScanCluster;
use extent::ScanExtent;
pub(super) use judge::ObjectJudge;
pub(super) use kinds::{KindReaders, scan_kinds};
use pass::{PassResult, ScanPass};
pub(super) use rules::{ScanDocuments, ScanRuleSet};
pub(super) use world::PassWorld;

/// Runs the command.
///
/// # Errors
/// When there is no cluster, there are no rules, or output cannot be written.
pub(crate) fn run_scan(arguments: &ScanArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    if arguments.controller.now {
        return controller::request_pass(arguments);
    }
    if arguments.controller.serve {
        return controller::serve_scan(arguments, color);
    }
    let started = Instant::now();
    let outputs = chosen_or_table(&arguments.outputs);
    keep_apart(&outputs)?;
    let cluster = ScanCluster::connect(&arguments.cluster)?;
    let rules = ScanRuleSet::read(&cluster, &arguments.rules)?;
    keep_inputs(&outputs)?;
    let extent = ScanExtent::new(arguments, &cluster)?;
    let pass = ScanPass { cluster: &cluster, rules: &rules, extent: &extent, arguments, outputs: &outputs };
    let (result, mut renderers) = pass.run(color)?;
    let unwritten = reports::write_results(&pass, &result);
    let findings = detect_in_pass(&rules, &result, &extent, arguments);
    let mut diagnostics = rules.diagnostics.clone();
    diagnostics.extend(result.diagnostics.iter().cloned());
    if cluster.stop.load(Ordering::Relaxed) {
        diagnostics.push(stopped_diagnostic(result.objects));
    }
    diagnostics.extend(unwritten);
    diagnostics.extend(findings.iter().flat_map(|found| found.diagnostics.clone()));
    let report = Report {
        results: Results::Objects(Totals {
            rules: &rules.all,
            objects: result.objects,
            counts: result.counts,
            findings: findings.as_ref(),
        }),
        diagnostics: &diagnostics,
        elapsed: started.elapsed(),
    };
    renderers.iter_mut().try_for_each(|renderer| renderer.finish(&report))?;
    let is_incomplete = print_diagnostics(&shown_diagnostics(&diagnostics), color.paint_errors());
    let has_failures = result.failures > 0 || findings.is_some_and(|found| found.has_failures());
    Ok(match (is_incomplete, has_failures) {
        (true, _) => ExitStatus::BadInput,
        (false, true) => ExitStatus::Violations,
        (false, false) => ExitStatus::Clean,
    })
}

/// Looks for the patterns in the objects that the pass kept; nothing where there are no patterns.
fn detect_in_pass<'s>(
    rules: &'s ScanRuleSet,
    result: &'s PassResult,
    extent: &ScanExtent,
    arguments: &ScanArguments,
) -> Option<ReportedFindings<'s>> {
    let context = result.context().filter(|_| !rules.patterns.is_empty())?;
    let options = FindingOptions {
        fail_on: arguments.fail_on.unwrap_or(Threshold::ABOVE_INFO).least(),
        is_quiet: arguments.quiet,
        shows_suppressed: arguments.show_suppressed,
        shows_all: arguments.all,
        resource_namespace: "",
        is_beside_object: true,
    };
    let limits = (&extent.detection_settings(), workers::worker_count());
    let mut found = ReportedFindings::detect(&rules.patterns, context, options, limits);
    found.retain_leaders(|leader| extent.has_leader(leader));
    Some(found)
}

fn stopped_diagnostic(objects: usize) -> Diagnostic {
    let message =
        format!("the scan was stopped after {}, so the result is incomplete", plural(objects, "object"));
    codes::about_path(&SCAN_STOPPED, "cluster", message)
}
