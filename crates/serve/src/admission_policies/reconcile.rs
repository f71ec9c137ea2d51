//! Reconciles the policies of one phase of admission and their bindings: writes what rule objects ask for, restores what other
//! clients have changed, and removes what no rule asks for any more.
//!
//! All replicas do it. Each waits a random time and compares again before it writes, with the resourceVersion it saw.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Client, Discovery, GroupVersionResource, Store, WatchPolicy, jitter};
use kubewright_engine::{AdmissionPhase, AdmissionPolicy};
use kubewright_k8s::ObjectName;
use kubewright_value::{Text, Value};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::compare::{in_version, with_api_defaults};
use super::step::{ExistingObjects, PolicyPart, PolicyStep, next_policy_step};
use super::write::{object_name, watch_problem, write_problem};
use super::{GenerationProgress, POLICY_GROUP, admission_policy_resources, native_kind};
use crate::log::LogLevel;
use crate::reconcile::{ChangeTrigger, Reconciler, run_reconciler};
use crate::webhooks::Rewrites;
use crate::{RuleState, ServerState, Snapshot, Stores};

/// Returns what is waited for before reviews are answered: whether a rule is in a webhook hangs on it.
pub(crate) fn admission_policies_condition(phase: AdmissionPhase) -> &'static str {
    native_kind(phase)
}

/// The version that is assumed where the API server serves none, so that it is asked again.
const OLDEST_SERVED_VERSION: &str = "v1";

/// How long both objects must have been there before the webhook leaves the rule to them, and how long something is
/// stale before it goes: every API server looks for new policies once a second.
pub(super) const POLICY_SETTLE_TIME: Duration = Duration::from_secs(3);

/// How often everything is looked at without a reason.
pub(super) const POLICY_RESYNC_INTERVAL: Duration = Duration::from_secs(30);

/// How often while something is waited for.
pub(super) const POLICY_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The longest wait before a write.
const MAX_POLICY_WRITE_JITTER: Duration = Duration::from_millis(150);

/// What the reconcilers of both phases share.
#[derive(Clone)]
pub struct PolicyGeneration {
    /// The state of the server.
    pub state: Arc<ServerState>,
    /// The client.
    pub client: Client,
    /// Which versions of policies there are.
    pub discovery: Arc<Discovery>,
    /// The rule objects.
    pub stores: Arc<Stores>,
}

/// Reconciles the admission policies of `phase` that rule objects ask for, for ever. `snapshots` changes when the rules
/// have.
pub async fn reconcile_admission_policies(
    phase: AdmissionPhase,
    generation: PolicyGeneration,
    snapshots: watch::Receiver<u64>,
) -> Infallible {
    let version = served_version(phase, &generation.discovery).await;
    let reconciler = AdmissionPolicyReconciler::start(phase, version, generation);
    let mut triggers: Vec<Box<dyn ChangeTrigger>> = vec![Box::new(snapshots)];
    for (_, store) in &reconciler.kept {
        triggers.push(Box::new(store.changes()));
    }
    run_reconciler(reconciler, triggers).await
}

impl Reconciler for AdmissionPolicyReconciler {
    const MAX_BACKOFF: Duration = POLICY_RESYNC_INTERVAL;

    /// Never fails as a whole: the problem of each rule is in its status.
    async fn reconcile(&mut self) -> Result<Duration, String> {
        Ok(self.reconcile_once().await)
    }

    fn log_failure(&self, error: &str) {
        let line = self.state.log.line(LogLevel::Error, "could not reconcile admission policies");
        line.text("error", error).write();
    }
}

/// Returns the version in which policies of `phase` are written: the API server prefers the newest of those it serves.
async fn served_version(phase: AdmissionPhase, discovery: &Discovery) -> Text {
    let [policies, _] = admission_policy_resources(phase, OLDEST_SERVED_VERSION);
    loop {
        match discovery.of_resource(POLICY_GROUP, &policies.name).await {
            Ok(found) => return found.map_or_else(|| OLDEST_SERVED_VERSION.into(), |found| found.version),
            Err(_) => sleep(POLICY_RETRY_INTERVAL * 4).await,
        }
    }
}

/// The watched policies and bindings, and what was done to them.
pub(super) struct AdmissionPolicyReconciler {
    phase: AdmissionPhase,
    /// The kind of the policies.
    pub(super) kind: &'static str,
    version: Text,
    pub(super) state: Arc<ServerState>,
    pub(super) client: Client,
    stores: Arc<Stores>,
    /// Policies, then bindings.
    kept: [(GroupVersionResource, Arc<Store>); 2],
    /// The spec that was last written under a name, and what the API server made of it.
    pub(super) answered: HashMap<(PolicyPart, Text), (Value, Value)>,
    /// What the API server does not take, and why.
    pub(super) refused: HashMap<ObjectName, (Arc<AdmissionPolicy>, String)>,
    /// The rules whose objects are as they should be.
    pub(super) settled: HashMap<ObjectName, SettledPolicy>,
    /// How often the objects of a rule were put right.
    rewrites: HashMap<ObjectName, Rewrites>,
    /// Since when something is there for nothing.
    pub(super) stale: HashMap<(PolicyPart, Text), Instant>,
    /// The rules that the progress of this phase was last about.
    published: Vec<ObjectName>,
    has_looked: bool,
}

/// What was as it should be, in which generations, and since when.
pub(super) struct SettledPolicy {
    policy: AdmissionPolicy,
    versions: [Value; 4],
    since: Instant,
}

/// What was found about one rule.
pub(super) enum PolicyOutcome {
    InForce,
    Problem(String),
    /// Something was written, or will be: it is looked again after this.
    Again(Duration, String),
}

impl AdmissionPolicyReconciler {
    fn start(phase: AdmissionPhase, version: Text, generation: PolicyGeneration) -> Self {
        let PolicyGeneration { state, client, stores, .. } = generation;
        let kept = admission_policy_resources(phase, &version).map(|resource| {
            let store = Arc::new(Store::default());
            let path = resource.all();
            tokio::spawn(kubewright_cluster::run_reflector(
                client.clone(),
                path,
                Arc::clone(&store),
                WatchPolicy::default(),
            ));
            (resource, store)
        });
        Self {
            phase,
            kind: native_kind(phase),
            version,
            state,
            client,
            stores,
            kept,
            answered: HashMap::new(),
            refused: HashMap::new(),
            settled: HashMap::new(),
            rewrites: HashMap::new(),
            stale: HashMap::new(),
            published: Vec::new(),
            has_looked: false,
        }
    }

    /// Brings everything nearer to what it should be, and returns when to look again.
    async fn reconcile_once(&mut self) -> Duration {
        let snapshot = self.state.snapshot.load_full();
        if snapshot.generation == 0 {
            return POLICY_RETRY_INTERVAL;
        }
        let wanted = wanted_policies(&snapshot, self.phase);
        if !self.kept.iter().all(|(_, store)| store.is_synced()) {
            let Some(problem) = self.kept.iter().find_map(|(_, store)| store.problem()) else {
                return POLICY_RETRY_INTERVAL;
            };
            let why = watch_problem(self.kind, &problem);
            let problems = wanted.into_keys().map(|name| (name, why.clone())).collect();
            self.publish(&GenerationProgress { is_on: true, problems, ..GenerationProgress::default() });
            return POLICY_RETRY_INTERVAL * 4;
        }
        let mut pause = POLICY_RESYNC_INTERVAL;
        let mut progress = GenerationProgress { is_on: true, ..GenerationProgress::default() };
        for (name, policy) in &wanted {
            match self.bring(name, policy).await {
                PolicyOutcome::InForce => drop(progress.in_force.insert(name.clone(), Arc::clone(policy))),
                PolicyOutcome::Problem(why) => drop(progress.problems.insert(name.clone(), why)),
                PolicyOutcome::Again(wait, why) => {
                    progress.problems.insert(name.clone(), why);
                    pause = pause.min(wait);
                }
            }
        }
        self.forget(&wanted);
        self.publish(&progress);
        pause.min(self.clean(&snapshot, &wanted).await)
    }

    /// Brings the objects of one rule nearer to what they should be.
    async fn bring(&mut self, name: &ObjectName, policy: &Arc<AdmissionPolicy>) -> PolicyOutcome {
        if let Some((refused, why)) = self.refused.get(name)
            && refused == policy
        {
            return PolicyOutcome::Problem(why.clone());
        }
        let complete = AdmissionPolicy {
            rule: policy.rule.clone(),
            policy: in_version(with_api_defaults(&policy.policy), &self.version),
            binding: in_version(with_api_defaults(&policy.binding), &self.version),
        };
        let next = match self.next(&complete) {
            PolicyStep::Write(..) | PolicyStep::Unbind(_) => {
                if let Some(wait) = self.wait_for_others(name, &complete) {
                    return PolicyOutcome::Again(
                        wait,
                        "another client keeps changing the objects".to_owned(),
                    );
                }
                sleep(jitter(MAX_POLICY_WRITE_JITTER)).await;
                self.next(&complete)
            }
            next => next,
        };
        match next {
            PolicyStep::SettledPolicy => self.settle(name, &complete),
            PolicyStep::Wait(why) => {
                self.settled.remove(name);
                PolicyOutcome::Again(POLICY_RETRY_INTERVAL * 4, why)
            }
            PolicyStep::Unbind(why) => {
                self.settled.remove(name);
                let binding = object_name(&complete.binding);
                match self.delete(PolicyPart::Binding, &binding).await {
                    Ok(()) => PolicyOutcome::Again(POLICY_RETRY_INTERVAL, why),
                    Err(error) => {
                        PolicyOutcome::Again(POLICY_RETRY_INTERVAL * 4, write_problem(self.kind, &error))
                    }
                }
            }
            PolicyStep::Write(part, object) => self.write(name, policy, &complete, part, object).await,
        }
    }

    fn next(&self, wanted: &AdmissionPolicy) -> PolicyStep {
        let [(_, policies), (_, bindings)] = &self.kept;
        let (policy_name, binding_name) = (object_name(&wanted.policy), object_name(&wanted.binding));
        let (policy, binding) = (policies.get("", &policy_name), bindings.get("", &binding_name));
        let answered = |part: PolicyPart, object: &Value, name: &Text| {
            let (sent, made) = self.answered.get(&(part, name.clone()))?;
            (Some(sent) == object.get("spec")).then_some(made)
        };
        let found = ExistingObjects {
            policy: policy.as_ref(),
            binding: binding.as_ref(),
            answered_policy: answered(PolicyPart::Policy, &wanted.policy, &policy_name),
            answered_binding: answered(PolicyPart::Binding, &wanted.binding, &binding_name),
        };
        next_policy_step(wanted, found)
    }

    /// Both objects are as they should be; the API server enforces them a moment later.
    fn settle(&mut self, name: &ObjectName, wanted: &AdmissionPolicy) -> PolicyOutcome {
        let [(_, policies), (_, bindings)] = &self.kept;
        let policy = policies.get("", &object_name(&wanted.policy)).unwrap_or_default();
        let binding = bindings.get("", &object_name(&wanted.binding)).unwrap_or_default();
        let part = |object: &Value, key: &str| object.at(&["metadata", key]).cloned().unwrap_or_default();
        let versions = [
            part(&policy, "uid"),
            part(&policy, "generation"),
            part(&binding, "uid"),
            part(&binding, "generation"),
        ];
        let now = Instant::now();
        // What was there before this process has long been heard of.
        let since = if self.has_looked { now } else { now.checked_sub(POLICY_SETTLE_TIME).unwrap_or(now) };
        let known = self.settled.entry(name.clone()).or_insert_with(|| SettledPolicy {
            policy: wanted.clone(),
            versions: versions.clone(),
            since,
        });
        if known.versions != versions {
            *known = SettledPolicy { policy: wanted.clone(), versions, since: now };
        }
        let age = now.saturating_duration_since(known.since);
        match POLICY_SETTLE_TIME.checked_sub(age).filter(|left| !left.is_zero()) {
            None => PolicyOutcome::InForce,
            Some(left) => PolicyOutcome::Again(left, format!("the API server takes the {} up", self.kind)),
        }
    }

    /// Returns how long to wait before the objects of a rule are restored, if another client keeps changing them.
    fn wait_for_others(&mut self, name: &ObjectName, wanted: &AdmissionPolicy) -> Option<Duration> {
        let now = Instant::now();
        if self.settled.get(name).is_some_and(|settled| settled.policy != *wanted) {
            // It is the rule that has changed.
            self.settled.remove(name);
        }
        let rewrites = self.rewrites.entry(name.clone()).or_default();
        let wait = rewrites.wait(now);
        if wait.is_none() && self.settled.remove(name).is_some() {
            rewrites.add(now);
            let message = format!("{} or its binding was changed by another client; restoring it", self.kind);
            self.state.log.line(LogLevel::Warn, &message).text("rule", &name.to_string()).write();
        }
        wait
    }

    /// Tells the compiler of rules, where there is news. What is known about the other phase stays.
    fn publish(&mut self, progress: &GenerationProgress) {
        let names = progress.in_force.keys().chain(progress.problems.keys()).cloned().collect();
        let own = std::mem::replace(&mut self.published, names);
        let before = self.state.admission_policies.rcu(|known| known.with_news(&own, progress));
        if *before != **self.state.admission_policies.load() {
            self.stores.touch();
        }
        if !std::mem::replace(&mut self.has_looked, true) {
            self.state.readiness.done(admission_policies_condition(self.phase));
        }
    }

    /// Forgets rules that are not there any more.
    fn forget(&mut self, wanted: &BTreeMap<ObjectName, Arc<AdmissionPolicy>>) {
        self.refused.retain(|name, _| wanted.contains_key(name));
        self.settled.retain(|name, _| wanted.contains_key(name));
        self.rewrites.retain(|name, _| wanted.contains_key(name));
        let names: Vec<Text> = wanted
            .values()
            .flat_map(|policy| [object_name(&policy.policy), object_name(&policy.binding)])
            .collect();
        self.answered.retain(|(_, name), _| names.contains(name));
    }

    /// Returns the resource and the store of a part.
    pub(super) fn of(&self, part: PolicyPart) -> (&GroupVersionResource, &Arc<Store>) {
        let [policies, bindings] = &self.kept;
        let (resource, store) = match part {
            PolicyPart::Policy => policies,
            PolicyPart::Binding => bindings,
        };
        (resource, store)
    }

    /// Returns the uid of a rule object.
    pub(super) fn uid(&self, state: &RuleState) -> Option<Value> {
        self.stores.object(&state.name)?.at(&["metadata", "uid"]).cloned()
    }
}

fn wanted_policies(snapshot: &Snapshot, phase: AdmissionPhase) -> BTreeMap<ObjectName, Arc<AdmissionPolicy>> {
    let of = |state: &RuleState| match &state.admission_policy {
        Some(Ok(policy)) if policy.phase() == phase => Some((state.name.clone(), Arc::clone(policy))),
        _ => None,
    };
    snapshot.states.iter().filter_map(of).collect()
}
