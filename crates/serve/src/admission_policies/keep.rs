//! Keeps ValidatingAdmissionPolicies and their bindings: writes what rule objects ask for, puts right what somebody else
//! has changed, and removes what nobody asks for any more.
//!
//! All replicas do. Each waits a random moment and looks again before it writes, and writes with the version it saw.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Client, Error, Event, Pace, Resource, Store};
use kubewright_engine::{AdmissionPolicy, ObjectName};
use kubewright_value::{Text, Value};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::compare::{completed, is_generated_for};
use super::step::{Found, Part, Step, step};
use super::{Progress, resources};
use crate::jitter::jitter;
use crate::log::Level;
use crate::reread::reread;
use crate::webhooks::Rewrites;
use crate::{RuleState, Snapshot, State, Stores};

/// What is waited for before reviews are answered: whether a rule is in a webhook hangs on it.
pub(crate) const ADMISSION_POLICIES: &str = "admission policies";

/// How long both objects must have been there before the webhook leaves the rule to them, and how long something is
/// stale before it goes: every API server looks for new policies once a second.
const SETTLING: Duration = Duration::from_secs(3);

/// How often everything is looked at without a reason.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// How often while something is waited for.
const LOOK_SOON: Duration = Duration::from_millis(500);

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

struct Keeper {
    state: Arc<State>,
    client: Client,
    stores: Arc<Stores>,
    /// Policies, then bindings.
    kept: [(Resource, Arc<Store>); 2],
    /// The spec that was last written under a name, and what the API server made of it.
    answered: HashMap<(Part, Text), (Value, Value)>,
    /// What the API server does not take, and why.
    refused: HashMap<ObjectName, (Arc<AdmissionPolicy>, String)>,
    /// The rules whose objects are as they should be.
    settled: HashMap<ObjectName, Settled>,
    /// How often the objects of a rule were put right.
    rewrites: HashMap<ObjectName, Rewrites>,
    /// Since when something is there for nothing.
    stale: HashMap<(Part, Text), Instant>,
    has_looked: bool,
}

/// What was as it should be, in which generations, and since when.
struct Settled {
    policy: AdmissionPolicy,
    versions: [Value; 4],
    since: Instant,
}

/// What was found about one rule.
enum Outcome {
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

    async fn write(
        &mut self,
        name: &ObjectName,
        policy: &Arc<AdmissionPolicy>,
        wanted: &AdmissionPolicy,
        part: Part,
        object: Value,
    ) -> Outcome {
        self.settled.remove(name);
        let (resource, store) = self.of(part);
        let path = resource.named("", &called(&object));
        let is_there = object.at(&["metadata", "resourceVersion"]).is_some();
        let written = match is_there {
            true => self.client.replace(&path, &object).await,
            false => self.client.create(&resource.all(), &object).await,
        };
        let wanted = match part {
            Part::Policy => &wanted.policy,
            Part::Binding => &wanted.binding,
        };
        match written {
            Ok(answer) => {
                let specs = wanted.get("spec").cloned().zip(answer.get("spec").cloned());
                store.apply(Event::Set(answer));
                let message = if is_there { "admission policy changed" } else { "admission policy created" };
                let line = self.state.log.line(Level::Info, message);
                line.text("resource", &path.resource).text("name", &path.name).write();
                if let Some(specs) = specs {
                    self.answered.insert((part, path.name.clone()), specs);
                }
                Outcome::Again(LOOK_SOON, super::NOT_YET.to_owned())
            }
            // A list of what the API server does not know is empty; only who writes is told.
            Err(error) if error.is_not_found() && !is_there => {
                Outcome::Again(LOOK_AGAIN, unreachable(&error))
            }
            Err(error) if error.is_conflict() || error.is_already_there() || error.is_not_found() => {
                // Another replica was faster, or somebody else; the watch may be later than this answer.
                let _ = reread(&self.client, &path, store).await;
                Outcome::Again(LOOK_SOON, super::NOT_YET.to_owned())
            }
            Err(error) if error.is_invalid() => {
                let why = format!("the API server does not take it: {error}");
                let line =
                    self.state.log.line(Level::Error, "the API server does not take an admission policy");
                line.text("name", &path.name).text("error", &error.to_string()).write();
                self.refused.insert(name.clone(), (Arc::clone(policy), why.clone()));
                Outcome::Problem(why)
            }
            Err(error) => Outcome::Again(LOOK_SOON * 4, failed(&error)),
        }
    }

    /// Removes what was generated for rule objects that ask for it no more. The webhook enforces them meanwhile.
    async fn clean(
        &mut self,
        snapshot: &Snapshot,
        wanted: &BTreeMap<ObjectName, Arc<AdmissionPolicy>>,
    ) -> Duration {
        let mut pause = LOOK_AGAIN;
        let now = Instant::now();
        let uids: Vec<Value> = snapshot.states.iter().filter_map(|state| self.uid(state)).collect();
        let mut stale = HashMap::new();
        for part in [Part::Binding, Part::Policy] {
            let names = wanted.values().map(|policy| match part {
                Part::Policy => called(&policy.policy),
                Part::Binding => called(&policy.binding),
            });
            let names: Vec<Text> = names.collect();
            for object in self.of(part).1.all() {
                let name = called(&object);
                if names.contains(&name) || !uids.iter().any(|uid| is_generated_for(&object, uid)) {
                    continue;
                }
                let since = self.stale.get(&(part, name.clone())).copied().unwrap_or(now);
                stale.insert((part, name), since);
            }
        }
        let mut due: Vec<(Part, Text)> = stale
            .iter()
            .filter(|(_, since)| now.saturating_duration_since(**since) >= SETTLING)
            .map(|(key, _)| key.clone())
            .collect();
        // A policy without a binding enforces nothing; a binding without a policy is a mistake.
        due.sort_by(|one, other| other.cmp(one));
        if !stale.is_empty() {
            pause = LOOK_SOON;
        }
        self.stale = stale;
        for (part, name) in due {
            if let Err(error) = self.delete(part, &name).await {
                let line = self.state.log.line(Level::Error, "cannot delete an admission policy");
                line.text("name", &name).text("error", &error.to_string()).write();
            }
        }
        pause
    }

    async fn delete(&self, part: Part, name: &Text) -> Result<(), Error> {
        let (resource, store) = self.of(part);
        let path = resource.named("", name);
        match self.client.delete(&path).await {
            Ok(_) => {
                let line = self.state.log.line(Level::Info, "admission policy deleted");
                line.text("resource", &path.resource).text("name", name).write();
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        reread(&self.client, &path, store).await
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

    fn of(&self, part: Part) -> (&Resource, &Arc<Store>) {
        let [policies, bindings] = &self.kept;
        let (resource, store) = match part {
            Part::Policy => policies,
            Part::Binding => bindings,
        };
        (resource, store)
    }

    fn uid(&self, state: &RuleState) -> Option<Value> {
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

fn called(object: &Value) -> Text {
    object.at(&["metadata", "name"]).and_then(Value::as_str).map(Text::new).unwrap_or_default()
}

/// Returns why policies cannot be watched.
fn unreachable(error: &Error) -> String {
    if error.is_not_found() {
        return "the API server knows no ValidatingAdmissionPolicy of version v1, which came with Kubernetes 1.30"
            .to_owned();
    }
    failed(error)
}

fn failed(error: &Error) -> String {
    match error.is_forbidden() {
        true => "insufficient permissions to generate ValidatingAdmissionPolicies".to_owned(),
        false => format!("the ValidatingAdmissionPolicy cannot be written: {error}"),
    }
}
