//! The worker of one term: takes what watches bring, and works on triggers, some at a time.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use kubewright_cluster::{ApiResource, DiscoveredResources, ResourceEvent};
use kubewright_scan::{KindKey, ObjectKey};
use kubewright_serve::log::LogLevel;
use kubewright_value::{Text, Value};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinSet;

use super::job::{JobContext, JobEnd};
use super::mark::write_mark;
use super::problems::{ProblemReason, ProblemWriter};
use super::queue::{MAX_WAITING_TRIGGERS, TriggerWork};
use super::state::{WatchPurpose, key_of};
use super::watches::{BackgroundWatches, TaggedEvent, labelled, wanted_watches};
use super::{BackgroundParts, WorkerInput};
use crate::metrics::ScanMetric;

/// How often is looked what is due.
const WORKER_INTERVAL: Duration = Duration::from_millis(200);

/// How often is looked what is to be watched and told.
const SLOW_WORKER_INTERVAL: Duration = Duration::from_secs(1);

/// How often work is tried before it is given up until its trigger changes.
const MAX_ATTEMPTS: u32 = 15;

/// How old a version must be before it is noted as worked on: watches of other kinds may lag behind.
const MARK_LAG_TIME: Duration = Duration::from_secs(10);

/// How many objects a page has when downstreams are looked for.
const SEARCH_PAGE_OBJECTS: u32 = 500;

/// The worker.
pub(crate) struct Worker {
    parts: BackgroundParts,
    context: Arc<JobContext>,
    watches: BackgroundWatches,
    events: Receiver<TaggedEvent>,
    inputs: Receiver<WorkerInput>,
    own_inputs: Sender<WorkerInput>,
    jobs: JoinSet<(Text, TriggerWork, JobEnd)>,
    /// Kinds of objects that rules made, where the policies do not say so.
    made: BTreeSet<KindKey>,
    /// Kinds in which was looked for what rules made.
    searched: HashSet<KindKey>,
    /// Versions up to which everything was worked on, and when that was noted.
    marks: VecDeque<(Instant, u64)>,
    last_mark: u64,
    last_slow_tick: Instant,
    /// Events of objects that are being written, in the order in which they came.
    deferred: VecDeque<(ObjectKey, TaggedEvent)>,
}

impl Worker {
    pub(crate) fn new(
        parts: BackgroundParts,
        context: Arc<JobContext>,
        (own_inputs, inputs): (Sender<WorkerInput>, Receiver<WorkerInput>),
    ) -> Self {
        let (sender, events) = mpsc::channel(crate::scan_input::MAX_WAITING_INPUTS);
        let last_mark = context.state().newest();
        Self {
            watches: BackgroundWatches::new(parts.client.clone(), sender),
            last_mark,
            parts,
            context,
            events,
            inputs,
            own_inputs,
            last_slow_tick: Instant::now(),
            deferred: VecDeque::new(),
            jobs: JoinSet::new(),
            made: BTreeSet::new(),
            searched: HashSet::new(),
            marks: VecDeque::new(),
        }
    }

    /// Works until it is told to stop; what is under way is finished.
    pub(crate) async fn run(mut self) {
        let mut tick = tokio::time::interval(WORKER_INTERVAL);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while !self.parts.is_stopping.load(Ordering::Relaxed) {
            self.begin_jobs();
            let waiting = self.context.state().queue.len() + self.deferred.len();
            let has_room = waiting < MAX_WAITING_TRIGGERS;
            tokio::select! {
                Some(ended) = self.jobs.join_next() => {
                    self.job_ended(ended.ok());
                    self.take_deferred();
                }
                Some(input) = self.inputs.recv() => self.take_input(input),
                Some(event) = self.events.recv(), if has_room => self.take_event(event),
                _ = tick.tick() => self.tick().await,
            }
        }
        while let Some(ended) = self.jobs.join_next().await {
            self.job_ended(ended.ok());
        }
        self.write_last_mark().await;
    }

    /// Notes everything that was seen as worked on, where that is so.
    async fn write_last_mark(&self) {
        let (newest, is_idle) = {
            let state = self.context.state();
            (state.newest(), state.queue.is_idle() && state.queue.len() == 0)
        };
        if is_idle && newest > self.last_mark && self.parts.fence.is_open() {
            let _ = write_mark(self.context.sender.client(), &self.parts.lease, newest).await;
        }
    }

    fn begin_jobs(&mut self) {
        if !self.parts.fence.is_open() {
            return;
        }
        while self.jobs.len() < self.parts.parallel_writes {
            let Some((uid, work)) = self.context.state().queue.take(Instant::now()) else { return };
            let context = Arc::clone(&self.context);
            self.jobs.spawn(async move {
                let end = context.work(&uid, &work).await;
                (uid, work, end)
            });
        }
    }

    /// A job that panicked leaves its trigger under way for ever; the panic is counted, and the next term begins anew.
    fn job_ended(&mut self, ended: Option<(Text, TriggerWork, JobEnd)>) {
        let Some((uid, work, end)) = ended else {
            self.parts.metrics.count(ScanMetric::Panics);
            return;
        };
        let mut state = self.context.state();
        match end {
            JobEnd::Done => state.queue.done(&uid),
            JobEnd::Fenced => drop(state.queue.failed(&uid, work, Instant::now(), None)),
            JobEnd::Again(pause) => {
                let key = work.key.clone();
                let attempts = state.queue.failed(&uid, work, Instant::now(), pause);
                if attempts >= MAX_ATTEMPTS {
                    state.queue.give_up(&uid);
                    drop(state);
                    let line = self.parts.log.line(LogLevel::Warn, "background work given up");
                    line.text("trigger", &super::labels::title(&key))
                        .number("attempts", attempts.into())
                        .write();
                }
            }
        }
    }

    fn take_input(&mut self, input: WorkerInput) {
        match input {
            WorkerInput::Policies(policies) => {
                let triggered = policies.triggered.iter().map(|policy| policy.identity.clone());
                let scheduled = policies.scheduled.iter().map(|policy| policy.identity.clone());
                self.context.problems.set_policies(triggered.chain(scheduled));
                self.context.state().set_policies(policies);
            }
            WorkerInput::Served(served) => {
                self.search_downstreams(&served);
                self.context.state().set_served(served);
            }
            WorkerInput::Made(kind) => drop(self.made.insert(kind)),
        }
        self.reconcile_watches();
    }

    /// Takes an event, or puts it aside until it is known whether it comes from a write of ours.
    fn take_event(&mut self, event: TaggedEvent) {
        if let Some(key) = trigger_key(&event) {
            let is_behind = self.deferred.iter().any(|(other, _)| *other == key);
            if is_behind || self.context.sender.own().is_under_way(&key) {
                self.deferred.push_back((key, event));
                return;
            }
        }
        self.handle_event(event);
    }

    /// Takes the events that were put aside.
    fn take_deferred(&mut self) {
        for (_, event) in std::mem::take(&mut self.deferred) {
            self.take_event(event);
        }
    }

    fn handle_event(&mut self, event: TaggedEvent) {
        if !self.watches.is_current(&event) {
            return;
        }
        let TaggedEvent { purpose, kind, event, .. } = event;
        if let ResourceEvent::Failed(error) = &event
            && error.is_forbidden()
        {
            self.note_unwatched(purpose, &kind, &error.to_string());
        }
        if purpose == WatchPurpose::Inputs
            && let ResourceEvent::Applied(object) | ResourceEvent::Deleted(object) = &event
        {
            self.context.memo.forget(&key_of(&kind, object));
        }
        let own = self.context.sender.own();
        self.context.state().handle(purpose, &kind, event, &own);
    }

    /// Says which policies do not work because a kind may not be watched.
    fn note_unwatched(&self, purpose: WatchPurpose, kind: &KindKey, why: &str) {
        if purpose != WatchPurpose::Triggers {
            return;
        }
        let state = self.context.state();
        let policies: Vec<_> = state.rules_of(kind).map(|(policy, _)| policy.identity.clone()).collect();
        drop(state);
        for policy in policies {
            let subject = format!("watch of {}", kind.kind);
            self.context.problems.add(&policy, ProblemReason::TriggerNotWatched, &subject, why);
        }
    }

    async fn tick(&mut self) {
        self.take_deferred();
        self.context.state().sweep();
        if self.last_slow_tick.elapsed() < SLOW_WORKER_INTERVAL {
            return;
        }
        self.last_slow_tick = Instant::now();
        self.reconcile_watches();
        let (waiting, made) = {
            let state = self.context.state();
            self.context.sender.own().prune(Instant::now(), |name| state.has_namespace(name));
            (state.queue.len(), state.downstreams.len())
        };
        let metrics = &self.parts.metrics;
        metrics.set(ScanMetric::BackgroundWaiting, 0, waiting as u64);
        metrics.set(ScanMetric::BackgroundDownstreams, 0, made as u64);
        metrics.set(ScanMetric::BackgroundProblems, 0, self.context.problems.count() as u64);
        self.write_problems().await;
        self.advance_mark().await;
    }

    async fn write_problems(&self) {
        let served = Arc::clone(self.context.state().served());
        let writer = ProblemWriter {
            client: self.context.sender.client(),
            fence: &self.parts.fence,
            served: &served,
            log: &self.parts.log,
            identity: &self.parts.lease.identity,
            is_compatible: self.parts.is_compatible,
        };
        self.context.problems.write(&writer).await;
    }

    /// Notes in the Lease up to which version everything was worked on.
    async fn advance_mark(&mut self) {
        let now = Instant::now();
        let (newest, is_idle) = {
            let state = self.context.state();
            (state.newest(), state.queue.is_idle())
        };
        if is_idle && self.marks.back().is_none_or(|(_, mark)| *mark != newest) {
            self.marks.push_back((now, newest));
        }
        let mut due = None;
        while let Some((at, mark)) = self.marks.front().copied()
            && now.saturating_duration_since(at) >= MARK_LAG_TIME
        {
            due = Some(mark);
            self.marks.pop_front();
        }
        if let Some(mark) = due.filter(|mark| *mark > self.last_mark && self.parts.fence.is_open())
            && write_mark(self.context.sender.client(), &self.parts.lease, mark).await.is_ok()
        {
            self.last_mark = mark;
        }
    }

    /// Looks in all kinds, once, for what rules made: a policy does not always say which kinds that are, and may be gone.
    fn search_downstreams(&mut self, served: &DiscoveredResources) {
        let is_cared_for = |resource: &&ApiResource| {
            ["list", "watch", "delete", "create"].iter().all(|verb| resource.can(verb))
        };
        let mut unsearched: Vec<ApiResource> = served.iter().filter(is_cared_for).cloned().collect();
        unsearched.retain(|resource| self.searched.insert(kind_of(resource)));
        let (client, inputs) = (self.context.sender.client().clone(), self.own_inputs.clone());
        tokio::spawn(async move {
            for resource in unsearched {
                let mut is_found = false;
                let visit = |_: Value| {
                    is_found = true;
                    ControlFlow::Break(())
                };
                let path = labelled(resource.address().all());
                // What may not be listed cannot be cared for either.
                let _ = client.visit_list(&path, SEARCH_PAGE_OBJECTS, true, visit).await;
                if is_found && inputs.send(WorkerInput::Made(kind_of(&resource))).await.is_err() {
                    return;
                }
            }
        });
    }

    fn reconcile_watches(&mut self) {
        let wanted = {
            let state = self.context.state();
            self.made.extend(state.downstreams.iter().map(|found| KindKey::of(&found.key)));
            wanted_watches(state.policies(), state.served(), &self.made, &state.watched_inputs())
        };
        let ended = self.watches.reconcile(wanted);
        let mut state = self.context.state();
        ended.iter().for_each(|(purpose, kind)| state.forget_watch(*purpose, kind));
    }
}

fn kind_of(resource: &ApiResource) -> KindKey {
    KindKey { group: resource.group.clone(), kind: resource.kind.clone() }
}

/// Returns the trigger that an event is about.
fn trigger_key(event: &TaggedEvent) -> Option<ObjectKey> {
    match &event.event {
        // Objects of a list stay in it: its end says which are gone.
        ResourceEvent::Applied(object) | ResourceEvent::Deleted(object)
            if event.purpose == WatchPurpose::Triggers =>
        {
            Some(key_of(&event.kind, object))
        }
        _ => None,
    }
}
