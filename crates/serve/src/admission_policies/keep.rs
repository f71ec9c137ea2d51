//! Keeps ValidatingAdmissionPolicies and their bindings: writes what rule objects ask for, puts right what somebody else
//! has changed, and removes what nobody asks for any more.
//!
//! All replicas do. Each waits a random moment and looks again before it writes, and writes with the version it saw.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Client, Pace, Resource, Store};
use kubewright_engine::AdmissionPolicy;
use kubewright_k8s::ObjectName;
use kubewright_value::{Text, Value};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::compare::completed;
use super::step::{Found, Part, Step, step};
use super::write::{called, failed, unreachable};
use super::{Progress, resources};
use crate::jitter::jitter;
use crate::log::Level;
use crate::webhooks::Rewrites;
use crate::{RuleState, Snapshot, State, Stores};

/// What is waited for before reviews are answered: whether a rule is in a webhook hangs on it.
pub(crate) const ADMISSION_POLICIES: &str = "admission policies";

/// How long both objects must have been there before the webhook leaves the rule to them, and how long something is
/// stale before it goes: every API server looks for new policies once a second.
pub(super) const SETTLING: Duration = Duration::from_secs(3);

/// How often everything is looked at without a reason.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// How often while something is waited for.
pub(super) const LOOK_SOON: Duration = Duration::from_millis(500);

/// The longest wait before a write.
const APART: Duration = Duration::from_millis(150);

/// Keeps what the rule objects of `state` ask for, for ever. `snapshots` changes when the rules have.
pub async fn keep(
    state: Arc<State>,
    client: Client,
    stores: Arc<Stores>,
    mut snapshots: watch::Receiver<u64>,
) -> Infallible {
    let mut keeper = Keeper::start(state, client, stores);
    let mut changes = keeper.kept.each_ref().map(|(_, store)| store.changes());
    loop {
        snapshots.mark_unchanged();
        changes.iter_mut().for_each(watch::Receiver::mark_unchanged);
        let pause = keeper.look().await;
        let [policies, bindings] = &mut changes;
        let _ = timeout(pause, async {
            tokio::select! {
                _ = snapshots.changed() => {}
                _ = policies.changed() => {}
                _ = bindings.changed() => {}
            }
        })
        .await;
    }
}

/// What is kept, and what is remembered of it.
pub(super) struct Keeper {
    pub(super) state: Arc<State>,
    pub(super) client: Client,
    stores: Arc<Stores>,
    /// Policies, then bindings.
    kept: [(Resource, Arc<Store>); 2],
    /// The spec that was last written under a name, and what the API server made of it.
    pub(super) answered: HashMap<(Part, Text), (Value, Value)>,
    /// What the API server does not take, and why.
    pub(super) refused: HashMap<ObjectName, (Arc<AdmissionPolicy>, String)>,
    /// The rules whose objects are as they should be.
    pub(super) settled: HashMap<ObjectName, Settled>,
    /// How often the objects of a rule were put right.
    rewrites: HashMap<ObjectName, Rewrites>,
    /// Since when something is there for nothing.
    pub(super) stale: HashMap<(Part, Text), Instant>,
    has_looked: bool,
}

/// What was as it should be, in which generations, and since when.
pub(super) struct Settled {
    policy: AdmissionPolicy,
    versions: [Value; 4],
    since: Instant,
}

/// What was found about one rule.
pub(super) enum Outcome {
    InForce,
    Problem(String),
    /// Something was written, or will be: it is looked again after this.
    Again(Duration, String),
}

impl Keeper {
    fn start(state: Arc<State>, client: Client, stores: Arc<Stores>) -> Self {
        let kept = resources().map(|resource| {
            let store = Arc::new(Store::default());
            let path = resource.all();
            tokio::spawn(kubewright_cluster::keep(client.clone(), path, Arc::clone(&store), Pace::default()));
            (resource, store)
        });
        Self {
            state,
            client,
            stores,
            kept,
            answered: HashMap::new(),
            refused: HashMap::new(),
            settled: HashMap::new(),
            rewrites: HashMap::new(),
            stale: HashMap::new(),
            has_looked: false,
        }
    }

    /// Brings everything nearer to what it should be, and returns when to look again.
    async fn look(&mut self) -> Duration {
        let snapshot = self.state.snapshot.load_full();
        if snapshot.generation == 0 {
            return LOOK_SOON;
        }
        let wanted = wanted(&snapshot);
        if !self.kept.iter().all(|(_, store)| store.is_synced()) {
            let Some(problem) = self.kept.iter().find_map(|(_, store)| store.problem()) else {
                return LOOK_SOON;
            };
            let why = unreachable(&problem);
            let problems = wanted.into_keys().map(|name| (name, why.clone())).collect();
            self.publish(Progress { is_on: true, problems, ..Progress::default() });
            return LOOK_SOON * 4;
        }
        let mut pause = LOOK_AGAIN;
        let mut progress = Progress { is_on: true, ..Progress::default() };
        for (name, policy) in &wanted {
            match self.bring(name, policy).await {
                Outcome::InForce => drop(progress.in_force.insert(name.clone(), Arc::clone(policy))),
                Outcome::Problem(why) => drop(progress.problems.insert(name.clone(), why)),
                Outcome::Again(wait, why) => {
                    progress.problems.insert(name.clone(), why);
                    pause = pause.min(wait);
                }
            }
        }
        self.forget(&wanted);
        self.publish(progress);
        pause.min(self.clean(&snapshot, &wanted).await)
    }

    /// Brings the objects of one rule nearer to what they should be.
    async fn bring(&mut self, name: &ObjectName, policy: &Arc<AdmissionPolicy>) -> Outcome {
        if let Some((refused, why)) = self.refused.get(name)
            && refused == policy
        {
            return Outcome::Problem(why.clone());
        }
        let complete = AdmissionPolicy {
            rule: policy.rule.clone(),
            policy: completed(&policy.policy),
            binding: completed(&policy.binding),
        };
        let next = match self.next(&complete) {
            Step::Write(..) | Step::Unbind(_) => {
                if let Some(wait) = self.wait_for_others(name, &complete) {
                    return Outcome::Again(wait, "somebody else keeps changing the objects".to_owned());
                }
                sleep(jitter(APART)).await;
                self.next(&complete)
            }
            next => next,
        };
        match next {
            Step::Settled => self.settle(name, &complete),
            Step::Wait(why) => {
                self.settled.remove(name);
                Outcome::Again(LOOK_SOON * 4, why)
            }
            Step::Unbind(why) => {
                self.settled.remove(name);
                let binding = called(&complete.binding);
                match self.delete(Part::Binding, &binding).await {
                    Ok(()) => Outcome::Again(LOOK_SOON, why),
                    Err(error) => Outcome::Again(LOOK_SOON * 4, failed(&error)),
                }
            }
            Step::Write(part, object) => self.write(name, policy, &complete, part, object).await,
        }
    }

    fn next(&self, wanted: &AdmissionPolicy) -> Step {
        let [(_, policies), (_, bindings)] = &self.kept;
        let (policy_name, binding_name) = (called(&wanted.policy), called(&wanted.binding));
        let (policy, binding) = (policies.get("", &policy_name), bindings.get("", &binding_name));
        let answered = |part: Part, object: &Value, name: &Text| {
            let (sent, made) = self.answered.get(&(part, name.clone()))?;
            (Some(sent) == object.get("spec")).then_some(made)
        };
        let found = Found {
            policy: policy.as_ref(),
            binding: binding.as_ref(),
            answered_policy: answered(Part::Policy, &wanted.policy, &policy_name),
            answered_binding: answered(Part::Binding, &wanted.binding, &binding_name),
        };
        step(wanted, found)
    }

    /// Both objects are as they should be; the API server enforces them a moment later.
    fn settle(&mut self, name: &ObjectName, wanted: &AdmissionPolicy) -> Outcome {
        let [(_, policies), (_, bindings)] = &self.kept;
        let policy = policies.get("", &called(&wanted.policy)).unwrap_or_default();
        let binding = bindings.get("", &called(&wanted.binding)).unwrap_or_default();
        let part = |object: &Value, key: &str| object.at(&["metadata", key]).cloned().unwrap_or_default();
        let versions = [
            part(&policy, "uid"),
            part(&policy, "generation"),
            part(&binding, "uid"),
            part(&binding, "generation"),
        ];
        let now = Instant::now();
        // What was there before this process has long been heard of.
        let since = if self.has_looked { now } else { now.checked_sub(SETTLING).unwrap_or(now) };
        let known = self.settled.entry(name.clone()).or_insert_with(|| Settled {
            policy: wanted.clone(),
            versions: versions.clone(),
            since,
        });
        if known.versions != versions {
            *known = Settled { policy: wanted.clone(), versions, since: now };
        }
        let age = now.saturating_duration_since(known.since);
        match SETTLING.checked_sub(age).filter(|left| !left.is_zero()) {
            None => Outcome::InForce,
            Some(left) => {
                Outcome::Again(left, "the API server takes the ValidatingAdmissionPolicy up".to_owned())
            }
        }
    }

    /// Returns how long is waited before the objects of a rule are put right, where somebody else keeps changing them.
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
            let message =
                "a ValidatingAdmissionPolicy or its binding was changed or deleted and is put right";
            self.state.log.line(Level::Warn, message).text("rule", &name.to_string()).write();
        }
        wait
    }

    /// Tells the compiler of rules, where there is news.
    fn publish(&mut self, progress: Progress) {
        if **self.state.admission_policies.load() != progress {
            self.state.admission_policies.store(Arc::new(progress));
            self.stores.touch();
        }
        if !std::mem::replace(&mut self.has_looked, true) {
            self.state.readiness.done(ADMISSION_POLICIES);
        }
    }

    /// Forgets rules that are not there any more.
    fn forget(&mut self, wanted: &BTreeMap<ObjectName, Arc<AdmissionPolicy>>) {
        self.refused.retain(|name, _| wanted.contains_key(name));
        self.settled.retain(|name, _| wanted.contains_key(name));
        self.rewrites.retain(|name, _| wanted.contains_key(name));
        let names: Vec<Text> =
            wanted.values().flat_map(|policy| [called(&policy.policy), called(&policy.binding)]).collect();
        self.answered.retain(|(_, name), _| names.contains(name));
    }

    /// Returns the resource and the store of a part.
    pub(super) fn of(&self, part: Part) -> (&Resource, &Arc<Store>) {
        let [policies, bindings] = &self.kept;
        let (resource, store) = match part {
            Part::Policy => policies,
            Part::Binding => bindings,
        };
        (resource, store)
    }

    /// Returns the uid of a rule object.
    pub(super) fn uid(&self, state: &RuleState) -> Option<Value> {
        self.stores.object(&state.name)?.at(&["metadata", "uid"]).cloned()
    }
}

fn wanted(snapshot: &Snapshot) -> BTreeMap<ObjectName, Arc<AdmissionPolicy>> {
    let of = |state: &RuleState| match &state.admission_policy {
        Some(Ok(policy)) => Some((state.name.clone(), Arc::clone(policy))),
        _ => None,
    };
    snapshot.states.iter().filter_map(of).collect()
}
