//! `--apply`: moves the policies of a cluster, one safe step after the other.
//!
//! What was done is kept in annotations of the new policies, so that a run that was stopped is continued by the next one.
//! Every write says which version it was decided on: what changed meanwhile is left to the next run.

pub(super) mod plan;

use std::collections::HashSet;
use std::io::{self, Write as _};
use std::thread;
use std::time::{Duration, Instant};

use kubewright_cluster::{ApiResource, Error, PatchType};
use kubewright_convert::{SOURCE_GROUP, SUCCESSOR_GROUP};
use kubewright_k8s::ApiPath;
use kubewright_value::{Map, Text, Value, json};

use super::super::conversion::ConvertedDocument;
use super::super::scan::ScanCluster;
use super::folder::remaining_rules;
use crate::output::{ReportWriter, standard_output};
use plan::{RolloutPhase, Successor, SuccessorStep};

/// How long a policy that got its action may take to be ready again.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Moves policies in a cluster.
pub(super) struct Rollout<'c> {
    cluster: &'c ScanCluster,
    is_dry_run: bool,
    /// Whether every object was compared, so that a policy may get its action.
    is_proven: bool,
    out: ReportWriter,
    /// How many writes the API server refused.
    pub(super) failures: usize,
}

/// Why a step was not taken.
enum RolloutStop {
    /// Standard output is closed.
    Output(io::Error),
    /// The API server refuses it.
    Refused(String),
}

impl From<io::Error> for RolloutStop {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// The result of a step.
type RolloutResult<T> = Result<T, RolloutStop>;

impl<'c> Rollout<'c> {
    /// Nothing is done yet.
    pub(super) fn new(cluster: &'c ScanCluster, is_dry_run: bool, is_proven: bool) -> Self {
        Self { cluster, is_dry_run, is_proven, out: standard_output(), failures: 0 }
    }

    /// Takes the next steps of every policy.
    ///
    /// # Errors
    /// When standard output is closed.
    pub(super) fn run(&mut self, converted: &[ConvertedDocument]) -> io::Result<()> {
        for one in converted {
            let taken = self.policy(one);
            self.note_stop(&plan::policy_reference(&one.document.value), taken)?;
        }
        let finished = self.finish_orphans();
        self.note_stop("successors", finished)?;
        self.out.flush()
    }

    fn note_stop(&mut self, policy: &str, result: RolloutResult<()>) -> io::Result<()> {
        match result {
            Ok(()) => Ok(()),
            Err(RolloutStop::Output(error)) => Err(error),
            Err(RolloutStop::Refused(why)) => {
                self.failures += 1;
                writeln!(self.out, "failed {policy}: {why}")
            }
        }
    }

    /// Takes the next steps of one policy.
    fn policy(&mut self, one: &ConvertedDocument) -> RolloutResult<()> {
        let mut settled: Vec<Value> = Vec::new();
        let mut rules: HashSet<&str> = HashSet::new();
        for (written, _) in one.given_out() {
            let mut stored = Vec::new();
            for document in &written.documents {
                stored.extend(self.successor(document, &written.rules, &one.document.value)?);
            }
            if stored.len() == written.documents.len() {
                settled.extend(stored);
                rules.extend(written.rules.iter().map(Text::as_str));
            }
        }
        if settled.is_empty() || !self.remove_rules(&one.document.value, &rules)? {
            return Ok(());
        }
        settled.iter().try_for_each(|successor| self.finish(successor))
    }

    /// Takes the next steps of one successor; returns it once its source may go.
    fn successor(
        &mut self,
        document: &Value,
        rules: &[Text],
        source: &Value,
    ) -> RolloutResult<Option<Value>> {
        let name = plan::policy_reference(document);
        let Some(successor) = plan::plan_successor(document, rules, source) else {
            self.say(&name, "skip", "its kind cannot run beside its source without effect")?;
            return Ok(None);
        };
        let Some(resource) = self.served(document) else {
            self.say(&name, "skip", "the cluster does not serve this kind")?;
            return Ok(None);
        };
        let path = object_path(&resource, document);
        let live = self.read(&path)?;
        match plan::next_step(&successor, live.as_ref()) {
            SuccessorStep::Blocked(why) => self.say(&name, "skip", &why).map(|()| None),
            SuccessorStep::Create => self.create(&resource, &successor, &name).map(|()| None),
            SuccessorStep::StartOver => self.start_over(&path, &successor, live.as_ref()).map(|()| None),
            SuccessorStep::WaitUntilReady => {
                self.say(&name, "wait", "no controller has said yet that it is ready").map(|()| None)
            }
            SuccessorStep::Enforce if !self.is_proven => {
                self.say(&name, "wait", "not every object could be compared").map(|()| None)
            }
            SuccessorStep::Enforce => self.enforce(&path, &successor, live.as_ref(), source),
            SuccessorStep::Settled => Ok(live),
        }
    }

    fn create(&mut self, resource: &ApiResource, successor: &Successor, name: &str) -> RolloutResult<()> {
        self.say(name, "create", "without effect, beside its source")?;
        let object = plan::in_phase(&successor.quiet, RolloutPhase::Audit);
        let namespace = object.str_at(&["metadata", "namespace"]).to_owned();
        let path = resource.address().within(&namespace);
        self.write(|rollout| rollout.block(rollout.cluster.client.create(&path, &object)))
    }

    fn start_over(
        &mut self,
        path: &ApiPath,
        successor: &Successor,
        live: Option<&Value>,
    ) -> RolloutResult<()> {
        self.say(
            &plan::policy_reference(&successor.quiet),
            "start over",
            "its source, or itself, has changed",
        )?;
        self.replace(path, &plan::in_phase(&successor.quiet, RolloutPhase::Audit), live)
    }

    /// Gives a successor its action, and waits until it is ready with that; returns it then.
    fn enforce(
        &mut self,
        path: &ApiPath,
        successor: &Successor,
        live: Option<&Value>,
        source: &Value,
    ) -> RolloutResult<Option<Value>> {
        let name = plan::policy_reference(&successor.wanted);
        if !self.is_unchanged(source)? {
            return self.say(&name, "wait", "its source has just changed").map(|()| None);
        }
        self.say(&name, "enforce", &action_text(&successor.wanted))?;
        self.replace(path, &plan::in_phase(&successor.wanted, RolloutPhase::Enforcing), live)?;
        if self.is_dry_run {
            return Ok(live.cloned());
        }
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            let stored = self.read(path)?;
            if plan::next_step(successor, stored.as_ref()) == SuccessorStep::Settled {
                return Ok(stored);
            }
            if Instant::now() > deadline {
                return self.say(&name, "wait", "it is not ready with its action yet").map(|()| None);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Removes `rules` from `source`, or all of it; returns whether they are gone.
    fn remove_rules(&mut self, source: &Value, rules: &HashSet<&str>) -> RolloutResult<bool> {
        let name = plan::policy_reference(source);
        let Some(resource) = self.served(source) else { return Ok(false) };
        let path = object_path(&resource, source);
        let Some(live) = self.read(&path)? else { return Ok(true) };
        if !is_same_content(&live, source) {
            return self.say(&name, "wait", "it has just changed").map(|()| false);
        }
        let remaining = remaining_rules(&live, rules);
        let (uid, version) = identity(&live);
        if remaining.is_empty() {
            self.say(&name, "delete", "its successors have its action")?;
            let body = delete_options(&uid, &version);
            self.write(|rollout| {
                let deleted = rollout.block(rollout.cluster.client.raw("DELETE", &path, Some(&body)));
                match deleted {
                    Err(error) if error.is_not_found() => Ok(Value::Null),
                    other => other.map(|_| Value::Null),
                }
            })?;
            return Ok(true);
        }
        let mut gone: Vec<&str> = rules.iter().copied().collect();
        gone.sort_unstable();
        self.say(&name, "remove", &format!("rules {}", gone.join(", ")))?;
        let body = removal_patch(remaining, &uid, &version);
        self.write(|rollout| rollout.block(rollout.cluster.client.patch(&path, PatchType::Merge, &body)))?;
        Ok(true)
    }

    /// Marks a successor whose source is gone as done.
    fn finish(&mut self, successor: &Value) -> RolloutResult<()> {
        let Some(resource) = self.served(successor) else { return Ok(()) };
        let path = object_path(&resource, successor);
        self.say(&plan::policy_reference(successor), "done", "its source is gone")?;
        let annotations = Map::from([(plan::PHASE_ANNOTATION, Value::from(RolloutPhase::Done.name()))]);
        let metadata = Map::from([("annotations", annotations.into())]);
        let body = Map::from([("metadata", metadata.into())]).into();
        self.write(|rollout| rollout.block(rollout.cluster.client.patch(&path, PatchType::Merge, &body)))
    }

    /// Finishes successors whose source went in a run that was stopped.
    fn finish_orphans(&mut self) -> RolloutResult<()> {
        let served = self.cluster.resources.iter().filter(|resource| resource.can("list"));
        let mut kinds: HashSet<Text> = HashSet::new();
        let resources: Vec<ApiResource> = served
            .filter(|resource| resource.group == SUCCESSOR_GROUP && kinds.insert(resource.kind.clone()))
            .cloned()
            .collect();
        for resource in resources {
            let listed = self.cluster.list(&resource.address().all());
            let listed = listed.map_err(|error| RolloutStop::Refused(error.to_string()))?;
            for successor in listed {
                if RolloutPhase::of(&successor) == Some(RolloutPhase::Enforcing)
                    && self.is_orphan(&successor)?
                {
                    self.finish(&successor)?;
                }
            }
        }
        Ok(())
    }

    /// Returns whether the source of `successor` has none of its rules any more.
    fn is_orphan(&self, successor: &Value) -> RolloutResult<bool> {
        let annotation = |name: &str| successor.str_at(&["metadata", "annotations", name]).to_owned();
        let source = annotation(plan::SOURCE_ANNOTATION);
        let parts: Vec<&str> = source.split('/').collect();
        let (kind, namespace, name) = match parts.as_slice() {
            [kind, name] => (*kind, "", *name),
            [kind, namespace, name] => (*kind, *namespace, *name),
            _ => return Ok(false),
        };
        let Some(resource) = self.cluster.resources.of_kind(SOURCE_GROUP, kind) else { return Ok(true) };
        let Some(live) = self.read(&resource.address().named(namespace, name))? else { return Ok(true) };
        let rules = annotation(plan::RULES_ANNOTATION);
        let rules: HashSet<&str> = rules.split(',').collect();
        // A policy that is one rule is there, or gone.
        let Some(all) = live.at(&["spec", "rules"]).and_then(Value::as_array).map(<[Value]>::len) else {
            return Ok(false);
        };
        Ok(remaining_rules(&live, &rules).len() == all)
    }

    /// Returns whether the cluster still has `source` as it was read.
    fn is_unchanged(&self, source: &Value) -> RolloutResult<bool> {
        let Some(resource) = self.served(source) else { return Ok(false) };
        let live = self.read(&object_path(&resource, source))?;
        Ok(live.is_some_and(|live| is_same_content(&live, source)))
    }

    /// Replaces `live` by `object`; what others wrote into its metadata stays.
    fn replace(&mut self, path: &ApiPath, object: &Value, live: Option<&Value>) -> RolloutResult<()> {
        let Some(live) = live else { return Ok(()) };
        let object = merged_metadata(object, live);
        self.write(|rollout| rollout.block(rollout.cluster.client.replace(path, &object)))
    }

    fn served(&self, object: &Value) -> Option<ApiResource> {
        let (group, version) = object.str_at(&["apiVersion"]).split_once('/')?;
        let kind = object.str_at(&["kind"]);
        let is_it = |resource: &&ApiResource| {
            resource.group == group && resource.version == version && resource.kind == kind
        };
        self.cluster.resources.iter().find(is_it).cloned()
    }

    fn read(&self, path: &ApiPath) -> RolloutResult<Option<Value>> {
        match self.block(self.cluster.client.get(path)) {
            Ok(object) => Ok(Some(object)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(RolloutStop::Refused(error.to_string())),
        }
    }

    fn block<T>(&self, call: impl Future<Output = T>) -> T {
        self.cluster.handle().block_on(call)
    }

    /// Writes, unless this is a dry run. What has changed meanwhile is left to the next run.
    fn write(&mut self, call: impl FnOnce(&Self) -> Result<Value, Error>) -> RolloutResult<()> {
        if self.is_dry_run {
            return Ok(());
        }
        self.out.flush()?;
        match call(self) {
            Ok(_) => Ok(()),
            Err(error) if error.is_conflict() => {
                Err(RolloutStop::Refused(format!("it has just changed, run the command again: {error}")))
            }
            Err(error) => Err(RolloutStop::Refused(error.to_string())),
        }
    }

    fn say(&mut self, policy: &str, step: &str, why: &str) -> RolloutResult<()> {
        let would = if self.is_dry_run && !matches!(step, "wait" | "skip") { "would " } else { "" };
        Ok(writeln!(self.out, "{would}{step} {policy}: {why}")?)
    }
}

fn object_path(resource: &ApiResource, object: &Value) -> ApiPath {
    let text = |key| object.str_at(&["metadata", key]);
    resource.address().named(text("namespace"), text("name"))
}

fn identity(object: &Value) -> (String, String) {
    let text = |key| object.str_at(&["metadata", key]).to_owned();
    (text("uid"), text("resourceVersion"))
}

/// Returns whether two states of a policy say the same; their status may differ.
fn is_same_content(one: &Value, other: &Value) -> bool {
    let parts: [&[&str]; 4] =
        [&["spec"], &["metadata", "uid"], &["metadata", "labels"], &["metadata", "annotations"]];
    parts.iter().all(|path| {
        let text = |object: &Value| object.at(path).map(json::to_string);
        text(one) == text(other)
    })
}

fn action_text(policy: &Value) -> String {
    let actions = policy.at(&["spec", "validationActions"]).and_then(Value::as_array).unwrap_or_default();
    let actions: Vec<&str> = actions.iter().filter_map(Value::as_str).collect();
    if actions.is_empty() {
        return "it agrees with its source, and acts in its place".to_owned();
    }
    format!("it agrees with its source, and gets its action: {}", actions.join(", "))
}

/// Returns `object` with the identity and version of `live`, and with the labels and annotations of both.
fn merged_metadata(object: &Value, live: &Value) -> Value {
    let mut object = object.clone();
    let mut metadata = live.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    for key in ["labels", "annotations"] {
        let written = object.at(&["metadata", key]).and_then(Value::as_object);
        let mut all = metadata.get(key).and_then(Value::as_object).cloned().unwrap_or_default();
        for (name, value) in written.into_iter().flat_map(Map::iter) {
            all.insert(name.clone(), value.clone());
        }
        if !all.is_empty() {
            metadata.insert(key.into(), all.into());
        }
    }
    if let Some(map) = object.as_object_mut() {
        map.insert("metadata".into(), metadata.into());
    }
    object
}

fn delete_options(uid: &str, version: &str) -> Value {
    let preconditions = Map::from([("uid", Value::from(uid)), ("resourceVersion", version.into())]);
    Map::from([
        ("apiVersion", Value::from("v1")),
        ("kind", "DeleteOptions".into()),
        ("preconditions", preconditions.into()),
    ])
    .into()
}

fn removal_patch(rules: Vec<Value>, uid: &str, version: &str) -> Value {
    let metadata = Map::from([("uid", Value::from(uid)), ("resourceVersion", version.into())]);
    let spec = Map::from([("rules", Value::from(rules))]);
    Map::from([("metadata", Value::from(metadata)), ("spec", spec.into())]).into()
}
