//! Faults between the scan and the API server, one after the other: after each, the reports are those of a fresh run.

use std::ops::Range;
use std::time::{Duration, Instant};

use crate::SECOND;
use crate::proxy::{FaultProxy, ProxyFault};
use crate::stage::{ScanProcess, Stage, lasting, without_times};

/// More than two pages of a list.
const OBJECTS: u32 = 1_100;

/// Wants a label `team` on ConfigMaps.
const TEAM_POLICY: &str = "{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {name: require-team}, spec: \
     {background: true, rules: [{name: rule, match: {any: [{resources: {kinds: [ConfigMap], namespaces: [shop]}}]}, \
     validate: {message: team is missing, pattern: {metadata: {labels: {team: '?*'}}}}}]}}";

/// A rule about one ConfigMap that would take hours.
fn endless_policy() -> String {
    let numbers = (0..60).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let endless = ["a", "b", "c", "d", "e", "f"]
        .iter()
        .rfold("true".to_owned(), |inner, name| format!("[{numbers}].all({name}, {inner})"));
    format!(
        "{{apiVersion: kyverno.io/v1, kind: ClusterPolicy, metadata: {{name: endless}}, spec: {{background: true, rules: [{{name: \
         rule, match: {{any: [{{resources: {{kinds: [ConfigMap], namespaces: [shop], names: [map-1]}}}}]}}, validate: {{cel: \
         {{expressions: [{{expression: '{endless}', message: endless}}]}}}}}}]}}}}"
    )
}

#[test]
fn reports_are_those_of_a_fresh_run_after_every_fault() {
    let Some(stage) = Stage::start() else { return };
    stage.apply(TEAM_POLICY);
    stage.apply(&endless_policy());
    stage.config_maps(0..OBJECTS, "{team: a}");
    stage.config_maps(0..20, "{}");
    let proxy = FaultProxy::start(&stage.cluster);
    let course = FaultCourse { stage: &stage, proxy: &proxy };

    proxy.begin(ProxyFault::ExpiredPages);
    let scan = course.serve();
    stage.within("pages expire in the middle of a list", 120 * SECOND, || scan.is_ready());
    assert!(proxy.end() >= 2, "no page has expired");
    let scan = course.settle(scan, "410 in the middle of a list");
    assert_eq!(stage.rows_of_policy("endless"), ["error"], "a rule that does not end is an error");

    course.close_watches();
    let scan = course.settle(scan, "watches closed");
    course.refuse(ProxyFault::Throttled, 40..60);
    let scan = course.settle(scan, "429 for everything");
    course.refuse(ProxyFault::Conflicts, 60..80);
    let scan = course.settle(scan, "a conflict for every write");
    course.flood();
    course.settle(scan, "20,000 events at once").terminate();
}

struct FaultCourse<'a> {
    stage: &'a Stage,
    proxy: &'a FaultProxy<'a>,
}

impl FaultCourse<'_> {
    /// Changes objects while watches end again and again.
    fn close_watches(&self) {
        let (begun, time) = (Instant::now(), lasting(4, 60));
        let mut labels = ["{}", "{team: b}"].iter().cycle();
        while begun.elapsed() < time {
            self.proxy.cut_watches();
            self.stage.config_maps(20..40, labels.next().expect("endless"));
            std::thread::sleep(Duration::from_millis(100));
        }
        self.stage.config_maps(20..30, "{}");
        assert!(self.proxy.ended_watches() > 10, "{} watches ended", self.proxy.ended_watches());
    }

    /// Changes objects while requests are refused.
    fn refuse(&self, fault: ProxyFault, numbers: Range<u32>) {
        self.proxy.begin(fault);
        self.stage.config_maps(numbers.clone(), "{}");
        self.stage.delete_config_maps(numbers.start..numbers.start + 5);
        std::thread::sleep(lasting(6, 120));
        self.stage.config_maps(numbers.end - 5..numbers.end, "{team: c}");
        let hit = self.proxy.end();
        assert!(hit >= 3, "{fault:?}: {hit} requests were refused");
    }

    /// Changes objects often, and lets the scan know of it all at once.
    fn flood(&self) {
        self.proxy.hold_events();
        let rounds = if lasting(0, 1).is_zero() { 10 } else { 100 };
        for round in 0..rounds {
            self.stage.config_maps(100..300, &format!("{{round: r{round}, team: d}}"));
        }
        self.stage.config_maps(100..110, "{round: last}");
        let before = self.proxy.released_events();
        self.proxy.release_events();
        self.stage
            .within("the events are sent", 60 * SECOND, || self.proxy.released_events() - before >= 20_000);
    }

    /// Starts the scan behind the proxy.
    fn serve(&self) -> ScanProcess {
        self.stage.serve_at(&self.proxy.kubeconfig, "faults", &["--writes-per-second", "200"])
    }

    /// Waits until every violation has its report, compares the reports with those of a fresh run, and starts the scan
    /// again.
    #[track_caller]
    fn settle(&self, scan: ScanProcess, fault: &str) -> ScanProcess {
        let expected = self.stage.config_maps_without_team();
        assert!(expected.len() >= 20, "{expected:?}");
        let mut reported = Vec::new();
        self.stage.within(fault, 90 * SECOND, || {
            let before = std::mem::replace(&mut reported, self.stage.reported_names());
            if before != reported {
                println!("{} of {} reports", reported.len(), expected.len());
            }
            reported == expected
        });
        self.stage.within("it is the leader, and ready", 30 * SECOND, || {
            scan.is_ready() && scan.metric("kubewright_leader") == 1
        });
        let after = self.stage.reports();
        scan.terminate();
        assert_eq!(without_times(&after), without_times(&self.stage.fresh_reports()), "{fault}");
        let scan = self.serve();
        self.stage.within("it is ready again", 60 * SECOND, || scan.is_ready());
        scan
    }
}
