//! The work on one trigger: ask the rules, compare with what there is, write the difference.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kubewright_cluster::DiscoveredResources;
use kubewright_engine::{ObjectWrite, RuleStatus, WriteVerb};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_scan::{KindKey, ObjectKey};
use kubewright_serve::ClusterLookup;
use kubewright_value::{Text, Value};

use super::downstream::Downstream;
use super::evaluate::{AskedWorld, RuleAnswers, ask_rules, generate_answer};
use super::labels::{LabelledRule, set_kept_for, title};
use super::memo::LookupMemo;
use super::own_writes::MAX_CHAIN_DEPTH;
use super::plan::{DownstreamStep, RuleAnswer, plan_downstreams};
use super::policies::{TriggeredPolicy, TriggeredProgram, TriggeredRule};
use super::problems::{PolicyProblems, ProblemReason};
use super::queue::TriggerWork;
use super::send::{MakeOptions, ObjectSender, SendError, Sent, object_path, part_path};
use super::state::BackgroundState;

/// What jobs share.
pub(crate) struct JobContext {
    pub(crate) state: Mutex<BackgroundState>,
    pub(crate) sender: ObjectSender,
    pub(crate) lookup: Arc<ClusterLookup>,
    pub(crate) problems: PolicyProblems,
    /// Our own namespace.
    pub(crate) namespace: String,
    /// Answers that many triggers share.
    pub(crate) memo: LookupMemo,
}

/// How work ended.
#[derive(Debug)]
pub(crate) enum JobEnd {
    Done,
    /// It is to be tried again, not before the pause that the API server asked for.
    Again(Option<Duration>),
    /// This replica may not write now.
    Fenced,
}

impl JobContext {
    pub(crate) fn state(&self) -> MutexGuard<'_, BackgroundState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work on the trigger `uid`.
    pub(crate) async fn work(&self, uid: &Text, work: &TriggerWork) -> JobEnd {
        if let Some(orphan) = &work.orphan {
            return self.delete_orphan(orphan).await;
        }
        if let Some(handed) = &work.handed {
            return self.work_on_request(uid, work, handed).await;
        }
        let questions = self.questions(work);
        if questions.is_empty() {
            return JobEnd::Done;
        }
        let object = match self.object(uid, work).await {
            Ok(object) => object,
            Err(error) => return end_of(&error),
        };
        let mut job = TriggerJob { context: self, uid, work, object, end: JobEnd::Done };
        for (operation, policies) in questions {
            for (policy, rules) in policies {
                job.ask(&policy, &rules, operation).await;
                if matches!(job.end, JobEnd::Fenced) {
                    return JobEnd::Fenced;
                }
            }
        }
        job.end
    }

    /// Returns the trigger, and nothing where it is gone.
    pub(super) async fn object(&self, uid: &Text, work: &TriggerWork) -> Result<Option<Value>, SendError> {
        if work.object.is_some() || work.event == Some(Operation::Delete) {
            return Ok(work.object.clone());
        }
        if let Some(known) = self.state().kept_object(uid) {
            return Ok(Some(known));
        }
        let resource = {
            let served = Arc::clone(self.state().served());
            served.of_kind(&work.key.group, &work.key.kind).cloned()
        };
        let Some(resource) = resource else { return Ok(None) };
        let found = self.sender.read(&resource.address().named(&work.key.namespace, &work.key.name)).await?;
        let is_same = |found: &Value| {
            found.str_at(&["metadata", "uid"]) == uid.as_str()
                && found.at(&["metadata", "deletionTimestamp"]).is_none()
        };
        Ok(found.filter(is_same))
    }

    /// Returns which rules of which policies are asked, as if which operation was done to the trigger. Without an
    /// operation they are asked nothing: what they made goes.
    fn questions(&self, work: &TriggerWork) -> Questions {
        let state = self.state();
        let mut questions = Questions::new();
        let is_gone = work.event == Some(Operation::Delete);
        for (policy, rule) in state.rules_of(&KindKey::of(&work.key)) {
            if rule.reads_requester() {
                continue;
            }
            let of_event = work.event.filter(|event| rule.is_about(*event));
            let of_event = of_event.filter(|_| !(work.is_own_write && rule.skips_own_writes()));
            let operation = match of_event {
                Some(operation) => Some(Some(operation)),
                None if is_gone && rule.generate().is_some() => Some(None),
                None if work.rules.contains(&rule.key) => Some(rule.standing_operation()),
                None => None,
            };
            if let Some(operation) = operation {
                let policies = questions.entry(operation.map(Operation::name)).or_default();
                let place = policies.iter().position(|(other, _)| Arc::ptr_eq(other, policy));
                match place.and_then(|place| policies.get_mut(place)) {
                    Some((_, rules)) => rules.push(rule.key.clone()),
                    None => policies.push((Arc::clone(policy), vec![rule.key.clone()])),
                }
            }
        }
        questions
    }

    /// Deletes a downstream whose policy or rule is gone, once the API server says so.
    async fn delete_orphan(&self, key: &ObjectKey) -> JobEnd {
        let (found, served) = {
            let state = self.state();
            (state.downstreams.get(key).cloned(), Arc::clone(state.served()))
        };
        let Some(found) = found else { return JobEnd::Done };
        match self.is_policy_gone(&found, &served).await {
            Ok(true) => {}
            Ok(false) => return JobEnd::Done,
            Err(error) => return end_of(&error),
        }
        let carried = self.delete_downstream(&found, &served).await;
        carried.map_or_else(|error| end_of(&error), |()| JobEnd::Done)
    }

    /// Returns whether the API server has no policy of that name any more, or one without the rule. A kind of policies
    /// that is not served says nothing about its policies.
    async fn is_policy_gone(
        &self,
        found: &Downstream,
        served: &DiscoveredResources,
    ) -> Result<bool, SendError> {
        let LabelledRule { policy, namespace, rule } = &found.labels.rule;
        let of_kind = served.iter().find(|resource| {
            resource.kind == found.labels.kept_for && resource.is_namespaced != namespace.is_empty()
        });
        let Some(resource) = of_kind else { return Ok(false) };
        let stored = self.sender.read(&resource.address().named(namespace, policy)).await?;
        let Some(stored) = stored else { return Ok(true) };
        let rules = stored.at(&["spec", "rules"]).and_then(Value::as_array);
        Ok(rules.is_some_and(|rules| !rules.iter().any(|one| one.str_at(&["name"]) == rule.as_str())))
    }

    /// Deletes a downstream, if it still is the rule's.
    async fn delete_downstream(
        &self,
        found: &Downstream,
        served: &DiscoveredResources,
    ) -> Result<(), SendError> {
        let Some(resource) = served.of_kind(&found.key.group, &found.key.kind) else { return Ok(()) };
        let path = resource.address().named(&found.key.namespace, &found.key.name);
        let mut found = found.clone();
        loop {
            match self.sender.delete(&path, &found.uid, &found.resource_version, None).await {
                Err(SendError::Conflict) => {
                    // It was changed meanwhile: it may not be the rule's any more.
                    let stored = self.sender.read(&path).await?;
                    let newer = stored.and_then(|stored| Downstream::of(found.key.clone(), &stored));
                    match newer
                        .filter(|newer| newer.uid == found.uid && newer.labels.rule == found.labels.rule)
                    {
                        Some(newer) if newer.resource_version != found.resource_version => found = newer,
                        Some(_) => return Err(SendError::Conflict),
                        None => break,
                    }
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        self.state().forget_downstream(&found.key);
        Ok(())
    }
}

type Questions = BTreeMap<Option<&'static str>, Vec<(Arc<TriggeredPolicy>, Vec<LabelledRule>)>>;

/// The work on one trigger.
pub(super) struct TriggerJob<'c> {
    pub(super) context: &'c JobContext,
    pub(super) uid: &'c Text,
    pub(super) work: &'c TriggerWork,
    pub(super) object: Option<Value>,
    pub(super) end: JobEnd,
}

impl TriggerJob<'_> {
    pub(super) async fn ask(
        &mut self,
        policy: &Arc<TriggeredPolicy>,
        rules: &[LabelledRule],
        operation: Option<&str>,
    ) {
        let operation = operation.and_then(Operation::named);
        let request =
            operation.zip(self.object.clone()).map(|(operation, object)| self.request(object, operation));
        let answers = match request {
            Some(request) => {
                let memo = self.work.since.map(|since| (&self.context.memo, since));
                let asked = AskedWorld { lookup: &self.context.lookup, memo };
                Some(ask_rules(policy, |policy| &policy.engine, request, asked).await)
            }
            None => None,
        };
        self.context.problems.clear(&policy.identity, self.uid);
        for rule in policy.rules.iter().filter(|rule| rules.contains(&rule.key)) {
            let done = match &rule.program {
                TriggeredProgram::Generate(_) => self.generate(policy, rule, answers.as_ref()).await,
                TriggeredProgram::Mutate(_) => self.mutate(policy, rule, answers.as_ref()).await,
            };
            if let Err(error) = done {
                self.note(policy, &error);
            }
        }
    }

    fn request(&self, object: Value, operation: Operation) -> AdmissionRequest {
        if let Some(handed) = &self.work.handed {
            let mut request = AdmissionRequest { object, ..handed.request.clone() };
            if operation == Operation::Update && request.old_object.is_null() {
                request.set_operation(operation);
            }
            return request;
        }
        let mut request = AdmissionRequest::for_object(object, operation, "");
        request.uid = self.uid.clone();
        match (operation, &self.work.before) {
            (Operation::Update, Some(before)) => request.old_object = before.clone(),
            _ => request.set_operation(operation),
        }
        request
    }

    async fn generate(
        &mut self,
        policy: &TriggeredPolicy,
        rule: &TriggeredRule,
        answers: Option<&RuleAnswers>,
    ) -> Result<(), SendError> {
        let answer = match answers {
            Some(answers) => {
                let outcome = outcome_of(answers, rule);
                let is_answered = outcome.is_some_and(|outcome| outcome.status != RuleStatus::Skip);
                if self.work.handed.is_some() && !is_answered {
                    // A request of another user than the rule is about ends nothing.
                    return Ok(());
                }
                self.note_inputs(rule, answers);
                let said = generate_answer(outcome);
                if let Some(problem) = &said.problem {
                    let message = format!("rule `{}` at {}: {problem}", rule.name, title(&self.work.key));
                    self.context.problems.add(
                        &policy.identity,
                        ProblemReason::EvaluationFailed,
                        self.uid,
                        &message,
                    );
                    if said.is_transient {
                        self.end = JobEnd::Again(None);
                    }
                }
                said.answer
            }
            None => Some(RuleAnswer::NotTriggered),
        };
        let Some(mut answer) = answer else { return Ok(()) };
        let is_wanting = matches!(&answer, RuleAnswer::Wants(wanted) if !wanted.is_empty());
        if is_wanting && self.is_too_deep(policy, rule) {
            return Ok(());
        }
        let (observed, gone, served) = {
            let state = self.context.state();
            let observed = state.downstreams.of_trigger(&rule.key, self.uid);
            (observed, state.gone_sources().clone(), Arc::clone(state.served()))
        };
        let kept_for = rule.takes_downstreams_along().then_some(&policy.identity.key.kind);
        if let RuleAnswer::Wants(wanted) | RuleAnswer::WantsAtLeast(wanted) = &mut answer {
            for object in wanted {
                fill_namespace(object, &served);
                set_kept_for(object, kept_for);
            }
        }
        let mut first_error = None;
        for step in plan_downstreams(rule.care(), answer, &observed, &gone) {
            match self.carry_out(rule, step, &served).await {
                Err(SendError::Fenced) => return Err(SendError::Fenced),
                // One object that cannot be written does not stop the others.
                Err(error) => drop(first_error.get_or_insert(error)),
                Ok(()) => {}
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    async fn carry_out(
        &self,
        rule: &TriggeredRule,
        step: DownstreamStep,
        served: &DiscoveredResources,
    ) -> Result<(), SendError> {
        let path_of = |found: &Downstream| {
            let resource = served.of_kind(&found.key.group, &found.key.kind);
            resource.map(|resource| resource.address().named(&found.key.namespace, &found.key.name))
        };
        match step {
            DownstreamStep::Make { object, replaces } => {
                let path = object_path(&object, served).map_err(SendError::Refused)?;
                let key = ObjectKey { namespace: path.namespace.clone(), ..ObjectKey::of(&object) };
                let replaces = replaces || rule.generate().is_some_and(|program| program.reapplies);
                let how = MakeOptions {
                    replaces,
                    is_applied: rule.generate().is_some_and(|program| program.uses_server_side_apply),
                    is_known: replaces && self.context.state().downstreams.get(&key).is_some(),
                    depth: self.work.depth + 1,
                };
                match self.context.sender.make(&path, &object, how).await? {
                    Sent::Written(stored) | Sent::Unchanged(stored) if !stored.is_null() => {
                        self.context.state().record_downstream(&key, &stored);
                    }
                    _ => {}
                }
            }
            DownstreamStep::Delete(found) => self.context.delete_downstream(&found, served).await?,
            DownstreamStep::Release(found) | DownstreamStep::Unkeep(found) if path_of(&found).is_none() => {}
            DownstreamStep::Release(found) => self.relabel(&found, path_of(&found), true).await?,
            DownstreamStep::Unkeep(found) => self.relabel(&found, path_of(&found), false).await?,
        }
        Ok(())
    }

    async fn relabel(
        &self,
        found: &Downstream,
        path: Option<kubewright_k8s::ApiPath>,
        is_released: bool,
    ) -> Result<(), SendError> {
        let Some(path) = path else { return Ok(()) };
        let stored = self.context.sender.relabel(&path, found, is_released).await?;
        self.context.state().record_downstream(&found.key, &stored);
        Ok(())
    }

    async fn mutate(
        &mut self,
        policy: &TriggeredPolicy,
        rule: &TriggeredRule,
        answers: Option<&RuleAnswers>,
    ) -> Result<(), SendError> {
        // A rule has an outcome for each of its targets.
        let outcomes = answers.map(|answers| answers.outcomes.as_slice()).unwrap_or_default();
        let outcomes: Vec<_> = outcomes.iter().filter(|outcome| outcome.rule.rule == rule.name).collect();
        for failed in outcomes.iter().filter(|outcome| outcome.status == RuleStatus::Error) {
            let message = format!("rule `{}` at {}: {}", rule.name, title(&self.work.key), failed.message);
            self.context.problems.add(&policy.identity, ProblemReason::EvaluationFailed, self.uid, &message);
        }
        let is_writing = outcomes.iter().any(|outcome| !outcome.writes.is_empty());
        if is_writing && self.is_too_deep(policy, rule) {
            return Ok(());
        }
        let served = Arc::clone(self.context.state().served());
        let mut first_error = None;
        for ObjectWrite { verb, object, part } in outcomes.iter().flat_map(|outcome| &outcome.writes) {
            if !matches!(verb, WriteVerb::Update | WriteVerb::Apply) {
                continue;
            }
            let path = match part {
                Some(part) => part_path(part, object, &served),
                None => object_path(object, &served),
            };
            let written = match path {
                Ok(path) => self.context.sender.update(&path, object, self.work.depth + 1).await.map(drop),
                Err(message) => Err(SendError::Refused(message)),
            };
            match written {
                Err(SendError::Fenced) => return Err(SendError::Fenced),
                Err(error) => drop(first_error.get_or_insert(error)),
                Ok(()) => {}
            }
        }
        first_error.map_or(Ok(()), Err)
    }

    /// Returns whether the trigger is at the end of a chain of rules that goes on without end, and tells that.
    fn is_too_deep(&self, policy: &TriggeredPolicy, rule: &TriggeredRule) -> bool {
        if self.work.event.is_none() || self.work.depth <= MAX_CHAIN_DEPTH {
            return false;
        }
        let message = format!(
            "rule `{}` is triggered by what rules wrote, {} times one after another: it is stopped at {}",
            rule.name,
            self.work.depth,
            title(&self.work.key)
        );
        self.context.problems.add(&policy.identity, ProblemReason::LoopDetected, self.uid, &message);
        true
    }

    /// Notes what a rule read, so that it is asked again when that changes.
    fn note_inputs(&self, rule: &TriggeredRule, answers: &RuleAnswers) {
        let is_waiting = outcome_of(answers, rule).is_some_and(|outcome| outcome.status == RuleStatus::Error);
        let queries = match rule.synchronizes() || is_waiting {
            true => answers.queries(),
            false => Vec::new(),
        };
        self.context.state().set_inputs(self.uid, &rule.key, queries);
    }

    fn note(&mut self, policy: &TriggeredPolicy, error: &SendError) {
        let problem = match error {
            SendError::Fenced | SendError::Conflict => None,
            SendError::Unavailable(..) => None,
            SendError::Rests(message) => Some((ProblemReason::LoopDetected, message)),
            SendError::Forbidden(message) => Some((ProblemReason::MissingPermission, message)),
            SendError::Refused(message) => Some((ProblemReason::WriteFailed, message)),
        };
        if let Some((reason, message)) = problem {
            self.context.problems.add(&policy.identity, reason, self.uid, message);
        }
        if !matches!(self.end, JobEnd::Fenced) {
            self.end = end_of(error);
        }
    }
}

pub(super) fn end_of(error: &SendError) -> JobEnd {
    match error {
        SendError::Fenced => JobEnd::Fenced,
        SendError::Unavailable(_, pause) => JobEnd::Again(*pause),
        // The pause of a rested object is longer than that of the queue begins.
        SendError::Rests(_) => JobEnd::Again(Some(Duration::from_secs(60))),
        SendError::Conflict | SendError::Forbidden(_) | SendError::Refused(_) => JobEnd::Again(None),
    }
}

fn outcome_of<'a>(
    answers: &'a RuleAnswers,
    rule: &TriggeredRule,
) -> Option<&'a kubewright_engine::RuleOutcome> {
    answers.outcomes.iter().find(|outcome| outcome.rule.rule == rule.name)
}

/// Gives an object the namespace in which it will be.
fn fill_namespace(object: &mut Value, served: &DiscoveredResources) {
    let Ok(path) = object_path(object, served) else { return };
    let metadata = object.as_object_mut().and_then(|map| map.get_mut("metadata")?.as_object_mut());
    if let Some(metadata) = metadata {
        match path.namespace.is_empty() {
            true => drop(metadata.remove("namespace")),
            false => drop(metadata.insert("namespace".into(), path.namespace.into())),
        }
    }
}
