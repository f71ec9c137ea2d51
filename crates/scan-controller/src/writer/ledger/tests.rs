//! The ledger against reports that are stored by hand.

use kubewright_engine::RuleStatus;
use kubewright_report::OutcomeCounts;
use kubewright_report::cluster_report::{ReportApi, ReportResult, StatusFilter, report_name, report_objects};

use super::*;

fn results(number: u32, severity: &str, rows: usize) -> ObjectResults {
    let row = |place: usize| ReportResult {
        policy: format!("policy-{place:04}").into(),
        rule: "rule".into(),
        message: "no".into(),
        category: Text::default(),
        severity: severity.into(),
        result: RuleStatus::Fail,
        is_scored: true,
        properties: Vec::new(),
        since: 1,
    };
    let scope = ReportScope {
        api_version: "v1".into(),
        kind: "Pod".into(),
        namespace: "shop".into(),
        name: format!("pod-{number}").into(),
        uid: format!("6f1c4f3e-95a1-4c60-8b32-{number:012x}").into(),
    };
    let mut counts = OutcomeCounts::default();
    *counts.of_mut(RuleStatus::Fail) = rows;
    let statuses = StatusFilter::default();
    ObjectResults {
        scope,
        source: ReportSource::Rules,
        counts,
        statuses,
        results: (0..rows).map(row).collect(),
    }
}

fn want(ledger: &mut ReportLedger, results: &ObjectResults) {
    ledger.want(results, &report_objects(ReportApi::OpenReports, results));
}

fn id_of(results: &ObjectResults) -> ReportId {
    let name = report_name(&results.scope, results.source);
    ReportId { namespace: results.scope.namespace.clone(), name: name.into() }
}

/// Does everything that is to be done, as a cluster would that accepts it.
fn run(ledger: &mut ReportLedger, all: &[ObjectResults]) -> Vec<String> {
    let mut done = Vec::new();
    while let Some(task) = ledger.next_task() {
        match task {
            ReportTask::Delete(id, _) => {
                done.push(format!("delete {}", id.name));
                ledger.written(id, None);
            }
            ReportTask::Write(scope, _) => {
                let Some(results) = all.iter().find(|results| results.scope == scope) else { continue };
                let reports = report_objects(ReportApi::OpenReports, results);
                for report in &reports {
                    let id =
                        ReportId { namespace: report.namespace.clone(), name: report.name.as_str().into() };
                    done.push(format!("write {}", report.name));
                    let digest = report.digest.as_str().into();
                    ledger.written(id, Some(TrackedReport { digest, ..TrackedReport::default() }));
                }
                ledger.delete_parts_from(&id_of(results), reports.len());
            }
        }
    }
    done
}

#[test]
fn nothing_is_done_twice_and_nothing_where_the_digest_is_the_same() {
    let one = results(1, "high", 2);
    let mut ledger = ReportLedger::new(ReportCaps::default());
    want(&mut ledger, &one);
    assert_eq!(run(&mut ledger, std::slice::from_ref(&one)).len(), 1);
    want(&mut ledger, &one);
    assert!(ledger.is_done(), "the same results");
    let later = ObjectResults {
        results: one.results.iter().cloned().map(|row| ReportResult { since: 99, ..row }).collect(),
        ..one.clone()
    };
    want(&mut ledger, &later);
    assert!(ledger.is_done(), "only the time is another one");
    ledger.unwant(&id_of(&one));
    assert_eq!(run(&mut ledger, &[]), [format!("delete {}", id_of(&one).name)]);
}

#[test]
fn a_report_that_becomes_shorter_loses_its_further_parts() {
    let (long, short) = (results(1, "high", 1_500), results(1, "high", 3));
    let mut ledger = ReportLedger::new(ReportCaps::default());
    want(&mut ledger, &long);
    assert_eq!(run(&mut ledger, std::slice::from_ref(&long)).len(), 2);
    want(&mut ledger, &short);
    let name = id_of(&long).name;
    assert_eq!(
        run(&mut ledger, std::slice::from_ref(&short)),
        [format!("delete {name}-2"), format!("write {name}")]
    );
}

#[test]
fn after_a_restart_only_what_is_not_wanted_is_deleted() {
    let (one, other) = (results(1, "high", 1), results(2, "high", 1));
    let mut before = ReportLedger::new(ReportCaps::default());
    want(&mut before, &one);
    want(&mut before, &other);
    run(&mut before, &[one.clone(), other.clone()]);
    let mut ledger = ReportLedger::new(ReportCaps::default());
    ledger.replace_stored(before.stored);
    want(&mut ledger, &one);
    assert!(ledger.is_done(), "what is stored is what is wanted");
    ledger.prune(|_, _| false);
    assert!(ledger.is_done(), "the kind was not scanned");
    ledger.prune(|_, _| true);
    assert_eq!(run(&mut ledger, &[]), [format!("delete {}", id_of(&other).name)]);
}

#[test]
fn too_many_reports_leave_the_less_severe_out_until_there_is_room() {
    let all: Vec<ObjectResults> = ["low", "high", "critical", "low"]
        .iter()
        .zip(1..)
        .map(|(one, number)| results(number, one, 1))
        .collect();
    let mut ledger = ReportLedger::new(ReportCaps { objects: 3, ..ReportCaps::default() });
    all.iter().for_each(|one| want(&mut ledger, one));
    assert!(ledger.apply_limits());
    let name = |number: u32| id_of(&results(number, "low", 1)).name;
    assert_eq!(run(&mut ledger, &all), [format!("write {}", name(2)), format!("write {}", name(3))]);
    ledger.unwant(&id_of(&results(3, "critical", 1)));
    assert!(ledger.apply_limits());
    assert_eq!(run(&mut ledger, &all), [format!("delete {}", name(3)), format!("write {}", name(1))]);
    ledger.unwant(&id_of(&results(2, "high", 1)));
    assert!(!ledger.apply_limits(), "all fit");
    assert_eq!(run(&mut ledger, &all), [format!("delete {}", name(2)), format!("write {}", name(4))]);
}

#[test]
fn what_another_client_deletes_or_changes_is_written_again() {
    let one = results(1, "high", 2);
    let mut ledger = ReportLedger::new(ReportCaps::default());
    want(&mut ledger, &one);
    run(&mut ledger, std::slice::from_ref(&one));
    let known = ledger.stored(&id_of(&one)).cloned();
    ledger.observe(&id_of(&one), known);
    assert!(ledger.is_done(), "our own write");
    ledger.observe(&id_of(&one), None);
    assert_eq!(run(&mut ledger, std::slice::from_ref(&one)), [format!("write {}", id_of(&one).name)]);
    ledger.observe(&id_of(&one), Some(TrackedReport { digest: "other".into(), ..TrackedReport::default() }));
    assert_eq!(run(&mut ledger, std::slice::from_ref(&one)).len(), 1);
}

fn stored(results: &ObjectResults) -> Option<TrackedReport> {
    let digest = report_objects(ReportApi::OpenReports, results).remove(0).digest.as_str().into();
    Some(TrackedReport { digest, ..TrackedReport::default() })
}

#[test]
fn a_report_that_is_not_wanted_any_more_when_it_is_written_is_deleted() {
    let mut ledger = ReportLedger::new(ReportCaps::default());
    let web = results(1, "high", 1);
    want(&mut ledger, &web);
    assert!(matches!(ledger.next_task(), Some(ReportTask::Write(..))));
    // While it is created, the object is mended.
    ledger.unwant(&id_of(&web));
    ledger.written(id_of(&web), stored(&web));
    assert_eq!(run(&mut ledger, &[]), [format!("delete {}", id_of(&web).name)]);
    assert!(ledger.is_done());
}

#[test]
fn a_report_that_is_deleted_before_its_creation_is_answered_is_written_again() {
    let mut ledger = ReportLedger::new(ReportCaps::default());
    let web = results(1, "high", 1);
    want(&mut ledger, &web);
    assert!(matches!(ledger.next_task(), Some(ReportTask::Write(..))));
    ledger.begin_write(id_of(&web));
    ledger.observe(&id_of(&web), stored(&web));
    ledger.observe(&id_of(&web), None);
    ledger.written(id_of(&web), stored(&web));
    assert_eq!(run(&mut ledger, std::slice::from_ref(&web)), [format!("write {}", id_of(&web).name)]);
    assert!(ledger.is_done());
}

#[test]
fn a_report_that_is_wanted_again_when_it_is_deleted_is_written() {
    let web = results(1, "high", 1);
    // While it is deleted, the object breaks the rule again.
    let while_deleting = || {
        let mut ledger = ReportLedger::new(ReportCaps::default());
        ledger.replace_stored(HashMap::from([(id_of(&web), stored(&web).expect("a report"))]));
        ledger.unwant(&id_of(&web));
        let task = ledger.next_task().expect("a deletion");
        want(&mut ledger, &web);
        (ledger, task)
    };
    let (mut ledger, _) = while_deleting();
    ledger.written(id_of(&web), None);
    assert_eq!(run(&mut ledger, std::slice::from_ref(&web)), [format!("write {}", id_of(&web).name)]);
    // Where the deletion failed, the report is as it should be.
    let (mut ledger, task) = while_deleting();
    ledger.retry(&task);
    assert_eq!(run(&mut ledger, &[]), [""; 0]);
}
