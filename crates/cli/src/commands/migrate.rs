//! `migrate`: moves policies to the kinds that succeed them, and proves that nothing else changes.
//!
//! policies of files or the cluster → converted → compared on their tests → compared on every object → a folder and a
//! report, or (`--apply`) one safe step after the other in the cluster.

mod comparison;
mod difference;
mod folder;
mod objects;
mod report;
mod rollout;
mod sources;

use kubewright_convert::ConversionTarget;
use kubewright_engine::Diagnostic;
use kubewright_report::text::{listed_paths, plural};

use super::conversion::{self, ConvertedDocument};
use super::scan::ScanCluster;
use crate::arguments::MigrateArguments;
use crate::codes::{self, NOTHING_FOUND};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, print_stderr};
use crate::rule_inputs::print_diagnostics;
use comparison::ObjectComparison;
use report::MigrationReport;
use rollout::Rollout;
use sources::MigrationSources;

/// Runs the command.
///
/// # Errors
/// When there is no cluster, or output cannot be written.
pub(crate) fn run_migrate(
    arguments: &MigrateArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let is_live = arguments.policies.is_empty() || arguments.live;
    let cluster = is_live.then(|| ScanCluster::connect(&arguments.cluster)).transpose()?;
    let mut sources = MigrationSources::read(arguments, cluster.as_ref());
    let mut problems = std::mem::take(&mut sources.problems);
    let documents = std::mem::take(&mut sources.documents);
    let mut converted =
        conversion::convert_documents(documents, ConversionTarget::Successor(None), &sources.options)?;
    if converted.is_empty() && !problems.iter().any(Diagnostic::is_error) {
        problems.push(no_policies(arguments));
    }
    let (policies, rules) = (plural(converted.len(), "policy"), plural(rule_count(&converted), "rule"));
    print_stderr(format_args!("{policies}, {rules}"));
    let roots = test_roots(arguments);
    conversion::prove_on_tests(&mut converted, &roots, false, &sources.options)?;
    let mut comparison = ObjectComparison::new(&converted, &sources.options);
    objects::compare_on_files(&mut comparison, arguments, &mut problems)?;
    if let Some(cluster) = &cluster {
        objects::compare_on_cluster(&mut comparison, cluster, &sources, &mut problems)?;
    }
    let proofs = comparison.finish(&mut converted);
    if arguments.require_proof {
        proofs.leave_out_unproven(&mut converted);
    }
    let report = MigrationReport::new(&converted, &proofs);
    if let Some(folder) = &arguments.output_dir {
        folder::write_folder(folder, &converted, &report)?;
    }
    problems.retain(Diagnostic::is_error);
    let mut is_bad = print_diagnostics(&problems, color.paint_errors());
    match cluster.as_ref().filter(|_| arguments.apply) {
        Some(cluster) => {
            let mut rollout = Rollout::new(cluster, arguments.dry_run, !is_bad);
            rollout.run(&converted)?;
            is_bad |= rollout.failures > 0;
            report.print_remaining();
        }
        None => report.print(arguments, color)?,
    }
    Ok(match (is_bad, report.is_complete()) {
        (true, _) => ExitStatus::BadInput,
        (false, true) => ExitStatus::Clean,
        (false, false) => ExitStatus::Violations,
    })
}

fn rule_count(converted: &[ConvertedDocument]) -> usize {
    converted.iter().map(|one| one.conversion.rules).sum()
}

/// Returns the folders that are searched for tests.
fn test_roots(arguments: &MigrateArguments) -> Vec<String> {
    let mut roots = conversion::test_roots(&arguments.policies);
    roots.extend(arguments.tests.iter().cloned());
    roots
}

fn no_policies(arguments: &MigrateArguments) -> Diagnostic {
    let place = match arguments.policies.is_empty() {
        true => "the cluster".to_owned(),
        false => listed_paths(&arguments.policies),
    };
    let path =
        if arguments.policies.is_empty() { "cluster".to_owned() } else { arguments.policies.join(" ") };
    codes::about_path(&NOTHING_FOUND, &path, format!("no ClusterPolicy or Policy found in {place}"))
}
