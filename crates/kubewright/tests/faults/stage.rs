//! What every fault happens to: a cluster, three replicas behind one address, rules, and load through the API server.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use kubewright_controlplane::TestCluster;

use crate::installation::Installation;
use crate::load::{LOAD_RULES, Load};

/// A rule about what a cluster needs to live.
const RULES: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: everything-has-a-name}
spec:
  failurePolicy: Fail
  rules:
    - name: everything-has-a-name
      match: {any: [{resources: {kinds: [Pod, ConfigMap, Secret, Deployment, ReplicaSet, Lease, Node, Event, ServiceAccount]}}]}
      validate:
        failureAction: Enforce
        message: a name is needed
        pattern: {metadata: {name: '?*'}}
";

/// Rules that were stored before anybody looked at them, and are wrong. A policy that fails refuses what it is about,
/// so this one is about something else.
const WRONG_RULES: &str = "
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: wrong, namespace: faults}
spec:
  type: Patch
  match: [{select: '$.kind[', matchValue: ConfigMap}]
  patch: [{op: add, path: /metadata/labels/wrong, value: 'yes'}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: wrong}
spec:
  rules:
    - name: wrong
      match: {any: [{resources: {kinds: [ConfigMap], namespaces: [elsewhere]}}]}
      validate:
        failureAction: Enforce
        message: wrong
        deny: {conditions: {any: [{key: '{{ request.object.[ }}', operator: Equals, value: x}]}}
";

/// More requests than come while one waits for a replica that does not answer.
const MAX_UNDER_WAY: usize = 4_000;

/// How long anything may take to be well again.
const PATIENCE: Duration = Duration::from_secs(30);

/// What every fault happens to.
pub(crate) struct Stage<'c> {
    pub(crate) cluster: &'c TestCluster,
    pub(crate) installation: Installation<'c>,
    pub(crate) load: Load,
    /// Whether faults last as long as they would outside.
    pub(crate) is_long: bool,
}

impl<'c> Stage<'c> {
    pub(crate) fn set(cluster: &'c TestCluster) -> Self {
        let installation = Installation::prepare(cluster);
        cluster.create_namespace("faults");
        cluster.kubectl(&["apply", "-f", "-"], WRONG_RULES).expect_success();
        for rules in [LOAD_RULES, RULES] {
            cluster.kubectl(&["apply", "-f", "-"], rules).expect_success();
        }
        let is_long = std::env::var("KUBEWRIGHT_FAULTS").is_ok_and(|wish| wish == "long");
        let mut stage = Self { cluster, installation, load: Load::on(cluster, MAX_UNDER_WAY), is_long };
        stage.recover();
        stage
    }

    /// Returns `short` or `long`.
    pub(crate) fn seconds(&self, short: u64, long: u64) -> Duration {
        Duration::from_secs(if self.is_long { long } else { short })
    }

    /// Waits until three replicas are ready and requests are judged as they should be, and returns how long it took.
    pub(crate) fn recover(&mut self) -> Duration {
        let start = Instant::now();
        self.installation.fill_up(3);
        self.await_that("three replicas are ready", |stage| stage.installation.ready() == 3);
        self.await_judged();
        start.elapsed()
    }

    /// Waits until both an object that is allowed and one that is denied are judged rightly, several times in a row.
    pub(crate) fn await_judged(&self) -> Duration {
        let start = Instant::now();
        self.await_that("requests are judged", |stage| (0..6).all(|number| stage.load.is_right(number)));
        start.elapsed()
    }

    /// The process of the replica that the API server is connected to.
    pub(crate) fn connected(&self) -> u32 {
        let before = self.installation.reviews();
        (0..20).for_each(|number| assert!(self.load.is_right(number), "{}", self.load.reason(number)));
        let after = self.installation.reviews();
        let answered = |id: u32| {
            let count = |reviews: &[(u32, f64)]| {
                reviews.iter().find(|(other, _)| *other == id).map_or(0.0, |(_, count)| *count)
            };
            count(&after) - count(&before)
        };
        let most = after.iter().max_by(|(one, _), (other, _)| answered(*one).total_cmp(&answered(*other)));
        most.map(|(id, _)| *id).expect("a replica")
    }

    /// Asks again and again until `is_so`.
    ///
    /// # Panics
    /// If it does not come true; the logs of the replicas are shown.
    pub(crate) fn await_that(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) -> Duration {
        let start = Instant::now();
        while !is_so(self) {
            if start.elapsed() > PATIENCE {
                self.installation.show_logs();
                let why = [self.load.reason(0), self.load.reason(1)];
                panic!("it did not come true in {PATIENCE:?}: {what}; requests are {why:?}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        start.elapsed()
    }

    pub(crate) fn keep_logs(&self) -> ExitCode {
        self.installation.show_logs();
        ExitCode::FAILURE
    }
}
