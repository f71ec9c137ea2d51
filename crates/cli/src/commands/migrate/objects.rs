//! Where the objects come from that source and result are compared on: manifests, and the cluster.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kubewright_cluster::{ApiResource, Error};
use kubewright_engine::{Diagnostic, Query};
use kubewright_files::{self as files, ObjectFilter, workers};
use kubewright_k8s::{AdmissionRequest, Operation, UserInfo};
use kubewright_report::text::plural;
use kubewright_value::{Document, Source, Value};

use super::super::scan::{KindReaders, PassWorld, ScanCluster, scan_kinds};
use super::comparison::{ComparedObject, ObjectComparison, PairFinding};
use super::sources::MigrationSources;
use crate::arguments::{MigrateArguments, ScanRuleArguments};
use crate::codes::{self, KIND_NOT_LISTED, SCAN_STOPPED};
use crate::failure::CommandFailure;
use crate::fixtures::FixtureValues;
use crate::output::print_stderr;
use crate::progress::ProgressBar;
use crate::request::request_about;
use crate::rule_inputs::{no_objects, read_world};

/// The namespace of manifests that name none.
const DEFAULT_NAMESPACE: &str = "default";

/// How many objects one page of a list has, all of which are judged together.
const PAGE_OBJECTS: u32 = 500;

/// Compares on the manifests that `arguments` name.
///
/// # Errors
/// When no thread can be started.
pub(super) fn compare_on_files(
    comparison: &mut ObjectComparison,
    arguments: &MigrateArguments,
    problems: &mut Vec<Diagnostic>,
) -> Result<(), CommandFailure> {
    if arguments.resources.is_empty() {
        return Ok(());
    }
    let found = files::find_manifests(&arguments.resources);
    problems.extend(found.problems);
    let world = read_world(&arguments.world, FixtureValues::default(), problems);
    let world = world.with(&found.inputs, DEFAULT_NAMESPACE);
    let mut bar = ProgressBar::new();
    let mut all: Vec<Vec<PairFinding>> = Vec::new();
    let compare = |document: &Document| {
        comparison.compare(&ComparedObject {
            document,
            request: &|operation| {
                let user = UserInfo::default();
                let mut request = request_about(&document.value, operation, DEFAULT_NAMESPACE, &user);
                request.fill_namespace();
                AdmissionRequest { is_old_object_assumed: false, ..request }
            },
            world: &world,
            learn: &|_| false,
        })
    };
    let wrong =
        files::stream_objects(&found.inputs, ObjectFilter::Objects, compare, |findings, progress| {
            bar.show(progress);
            all.push(findings);
            Ok(())
        })?;
    bar.clear();
    problems.extend(wrong);
    print_stderr(format_args!("compared on {} of files", plural(all.len(), "object")));
    if all.is_empty() && !problems.iter().any(Diagnostic::is_error) {
        problems.push(no_objects(&arguments.resources));
    }
    all.into_iter().for_each(|findings| comparison.record(findings));
    Ok(())
}

/// Compares on every object of the cluster that a rule may be about.
///
/// # Errors
/// When no thread can be started.
pub(super) fn compare_on_cluster(
    comparison: &mut ObjectComparison,
    cluster: &ScanCluster,
    sources: &MigrationSources,
    problems: &mut Vec<Diagnostic>,
) -> Result<(), CommandFailure> {
    if comparison.is_empty() {
        return Ok(());
    }
    let rules = comparison.rules();
    let kinds = scan_kinds(&cluster.resources, &KindReaders { rules: &rules, patterns: &|_, _| false });
    let world = PassWorld::new(cluster, &sources.options, &sources.shared, &ScanRuleArguments::default());
    let mut lister = ComparedLister { comparison, cluster, world: &world, compared: 0 };
    for kind in &kinds {
        if let Err(error) = lister.list(&kind.resource)? {
            let name = kind.resource.full_name();
            let message = format!("objects of `{name}` could not be read: {error}");
            problems.push(codes::about_path(&KIND_NOT_LISTED, &name, message));
        }
    }
    let compared = plural(lister.compared, "object");
    print_stderr(format_args!("compared on {compared} of {} of the cluster", plural(kinds.len(), "kind")));
    if cluster.stop.load(Ordering::Relaxed) {
        let message = format!("the comparison was stopped after {compared}, so nothing is proven");
        problems.push(codes::about_path(&SCAN_STOPPED, "cluster", message));
    }
    Ok(())
}

struct ComparedLister<'a> {
    comparison: &'a mut ObjectComparison,
    cluster: &'a ScanCluster,
    world: &'a PassWorld,
    compared: usize,
}

impl ComparedLister<'_> {
    /// Lists the objects of `resource`, page by page, and compares on each of them.
    fn list(&mut self, resource: &ApiResource) -> Result<Result<(), Error>, CommandFailure> {
        let path = resource.address().all();
        let source = Source::new(resource.full_name(), "");
        let (client, handle) = (self.cluster.client.clone(), self.cluster.handle().clone());
        let mut page: Vec<Value> = Vec::new();
        let mut failure: Result<(), CommandFailure> = Ok(());
        let visit = |object: Value| {
            page.push(object);
            if page.len() < PAGE_OBJECTS as usize {
                return ControlFlow::Continue(());
            }
            failure = self.compare_page(std::mem::take(&mut page), &source);
            match failure.is_err() || self.cluster.stop.load(Ordering::Relaxed) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        };
        let listed = handle.block_on(client.visit_list(&path, PAGE_OBJECTS, false, visit));
        failure?;
        self.compare_page(page, &source)?;
        Ok(listed.map(drop))
    }

    fn compare_page(&mut self, objects: Vec<Value>, source: &Arc<Source>) -> Result<(), CommandFailure> {
        let documents: Vec<Document> =
            objects.into_iter().map(|object| Document::made(object, Arc::clone(source))).collect();
        let comparison = &*self.comparison;
        let found = workers::run_on_workers(&documents, |document| {
            comparison.compare(&ComparedObject {
                document,
                request: &|operation| stored_request(&document.value, operation),
                world: self.world,
                learn: &|queries: Vec<Query>| {
                    queries.into_iter().for_each(|query| self.world.learn(query));
                    true
                },
            })
        })?;
        self.compared += found.len();
        found.into_iter().for_each(|findings| self.comparison.record(findings));
        Ok(())
    }
}

/// Returns the request of an unknown user with `operation` on an object of the cluster.
fn stored_request(object: &Value, operation: Operation) -> AdmissionRequest {
    let request = request_about(object, operation, "", &UserInfo::default());
    // An update that changes nothing: what was there before is known.
    AdmissionRequest { is_old_object_assumed: false, ..request }
}
