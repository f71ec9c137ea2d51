//! The triggers that wait to be worked on: each once, the longest waiting first, those that failed after a pause.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use kubewright_cluster::jitter;
use kubewright_k8s::Operation;
use kubewright_scan::ObjectKey;
use kubewright_value::{Text, Value};

use super::handed::HandedRequest;
use super::labels::LabelledRule;

/// How many triggers wait at most before no more events are read from watches.
pub(crate) const MAX_WAITING_TRIGGERS: usize = 50_000;

/// How many of them are kept as objects; the others are read again when it is their turn.
const MAX_WAITING_OBJECTS: usize = 2_000;

/// The pause after the first failure; doubles up to the longest.
const FIRST_PAUSE_TIME: Duration = Duration::from_millis(500);
const MAX_PAUSE_TIME: Duration = Duration::from_secs(300);

/// Why a trigger is to be worked on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TriggerWork {
    pub(crate) key: ObjectKey,
    /// What happened to it, if that is why.
    pub(crate) event: Option<Operation>,
    /// The trigger, if it is known; otherwise it is read. For a deletion its last state.
    pub(crate) object: Option<Value>,
    /// The trigger before an update, where a rule reads it.
    pub(crate) before: Option<Value>,
    /// The rules that are to be asked again without an event.
    pub(crate) rules: BTreeSet<LabelledRule>,
    /// How many writes of rules led to this one after another.
    pub(crate) depth: u32,
    /// Whether the last write to the trigger was a rule's own.
    pub(crate) is_own_write: bool,
    /// A downstream whose policy or rule is gone, which is then the whole of the work.
    pub(crate) orphan: Option<ObjectKey>,
    /// A request of the webhook, which is then the whole of the work.
    pub(crate) handed: Option<Box<HandedRequest>>,
    /// When it was queued, or changed since.
    pub(crate) since: Option<Instant>,
}

/// The triggers that wait, by uid.
#[derive(Debug, Default)]
pub(crate) struct TriggerQueue {
    waiting: HashMap<Text, TriggerWork>,
    ready: VecDeque<Text>,
    paused: BTreeMap<(Instant, Text), ()>,
    paused_until: HashMap<Text, Instant>,
    under_way: HashSet<Text>,
    failures: HashMap<Text, u32>,
    objects: usize,
}

impl TriggerQueue {
    /// Adds work, together with what already waits for the same trigger.
    pub(crate) fn add(&mut self, uid: Text, mut work: TriggerWork) {
        work.since = Some(Instant::now());
        let is_event = work.event.is_some();
        match self.waiting.get_mut(&uid) {
            Some(earlier) => {
                self.objects -= usize::from(earlier.object.is_some());
                merge_work(earlier, work);
                self.objects += usize::from(earlier.object.is_some());
                // Something new has happened: there is no reason to wait for the end of a pause.
                if is_event && let Some(until) = self.paused_until.remove(&uid) {
                    self.paused.remove(&(until, uid.clone()));
                    self.ready.push_back(uid);
                }
            }
            None => {
                let is_deletion = work.event == Some(Operation::Delete);
                if self.objects >= MAX_WAITING_OBJECTS && !is_deletion {
                    work.object = None;
                }
                self.objects += usize::from(work.object.is_some());
                self.waiting.insert(uid.clone(), work);
                if !self.under_way.contains(&uid) {
                    self.ready.push_back(uid);
                }
            }
        }
    }

    /// Takes the work whose turn it is. Its trigger is under way until [`done`](Self::done).
    pub(crate) fn take(&mut self, now: Instant) -> Option<(Text, TriggerWork)> {
        while let Some((key, ())) = self.paused.first_key_value()
            && key.0 <= now
            && let Some(((_, uid), ())) = self.paused.pop_first()
        {
            self.paused_until.remove(&uid);
            self.ready.push_back(uid);
        }
        let uid = self.ready.pop_front()?;
        let work = self.waiting.remove(&uid)?;
        self.objects -= usize::from(work.object.is_some());
        self.under_way.insert(uid.clone());
        Some((uid, work))
    }

    /// Notes the end of work. What came meanwhile is next.
    pub(crate) fn done(&mut self, uid: &Text) {
        self.failures.remove(uid);
        self.under_way.remove(uid);
        if self.waiting.contains_key(uid) {
            self.ready.push_back(uid.clone());
        }
    }

    /// Puts back work that failed for the nth time in turn, after a pause of which `at_least` was asked for. Returns how
    /// often it has failed.
    pub(crate) fn failed(
        &mut self,
        uid: &Text,
        work: TriggerWork,
        now: Instant,
        at_least: Option<Duration>,
    ) -> u32 {
        self.under_way.remove(uid);
        let failures = self.failures.entry(uid.clone()).or_default();
        *failures += 1;
        let failures = *failures;
        let mut work = work;
        if work.event != Some(Operation::Delete) {
            work.object = None;
        }
        let newer = self.waiting.remove(uid);
        if let Some(newer) = newer {
            self.objects -= usize::from(newer.object.is_some());
            merge_work(&mut work, newer);
        }
        self.objects += usize::from(work.object.is_some());
        self.waiting.insert(uid.clone(), work);
        let pause = pause_after(failures).max(at_least.unwrap_or_default());
        let until = now + pause + jitter(pause / 4);
        self.paused.insert((until, uid.clone()), ());
        self.paused_until.insert(uid.clone(), until);
        failures
    }

    /// Forgets work that failed too often; the next event of the trigger is worked on again.
    pub(crate) fn give_up(&mut self, uid: &Text) {
        self.failures.remove(uid);
        if let Some(until) = self.paused_until.remove(uid) {
            self.paused.remove(&(until, uid.clone()));
        }
        if let Some(work) = self.waiting.remove(uid) {
            self.objects -= usize::from(work.object.is_some());
        }
    }

    /// Returns how many triggers wait.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns whether nothing waits but what failed, and nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.ready.is_empty() && self.under_way.is_empty()
    }

    /// Returns when the first pause ends.
    #[cfg(test)]
    pub(crate) fn next_pause_end(&self) -> Option<Instant> {
        self.paused.first_key_value().map(|((until, _), ())| *until)
    }
}

fn pause_after(failures: u32) -> Duration {
    let factor = 1_u32 << failures.saturating_sub(1).min(16);
    FIRST_PAUSE_TIME.saturating_mul(factor).min(MAX_PAUSE_TIME)
}

/// Adds `newer` to `earlier`. A creation that was not worked on yet stays one.
fn merge_work(earlier: &mut TriggerWork, newer: TriggerWork) {
    earlier.since = earlier.since.max(newer.since);
    earlier.rules.extend(newer.rules);
    earlier.depth = earlier.depth.max(newer.depth);
    if let Some(event) = newer.event {
        earlier.is_own_write = newer.is_own_write && (earlier.event.is_none() || earlier.is_own_write);
        let is_still_new = earlier.event == Some(Operation::Create) && event == Operation::Update;
        if !is_still_new {
            // The state before all updates is what the first of them began with.
            if earlier.event != Some(Operation::Update) || event != Operation::Update {
                earlier.before = newer.before;
            }
            earlier.event = Some(event);
        }
    }
    if newer.object.is_some() {
        earlier.object = newer.object;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(event: Option<Operation>) -> TriggerWork {
        TriggerWork { event, ..TriggerWork::default() }
    }

    fn uid(text: &str) -> Text {
        text.into()
    }

    #[test]
    fn a_trigger_waits_once_and_is_worked_on_once_at_a_time() {
        let now = Instant::now();
        let mut queue = TriggerQueue::default();
        queue.add(uid("a"), work(Some(Operation::Create)));
        queue.add(uid("a"), work(Some(Operation::Update)));
        queue.add(uid("b"), work(None));
        let (first, taken) = queue.take(now).expect("work");
        assert_eq!((first.as_str(), taken.event), ("a", Some(Operation::Create)), "still new");
        queue.add(uid("a"), work(Some(Operation::Delete)));
        assert_eq!(queue.take(now).map(|(uid, _)| uid), Some(uid("b")));
        assert_eq!(queue.take(now), None, "the first is under way");
        queue.done(&uid("a"));
        assert_eq!(queue.take(now).map(|(_, work)| work.event), Some(Some(Operation::Delete)));
        queue.done(&uid("a"));
        queue.done(&uid("b"));
        assert!(queue.is_idle() && queue.len() == 0);
    }

    #[test]
    fn work_that_fails_waits_longer_each_time_and_no_longer_than_the_longest() {
        let now = Instant::now();
        let mut queue = TriggerQueue::default();
        queue.add(uid("a"), work(None));
        let mut pauses = Vec::new();
        for _ in 0..14 {
            let at = queue.next_pause_end().unwrap_or(now);
            let (uid, work) = queue.take(at).expect("work");
            queue.failed(&uid, work, now, None);
            pauses.push(queue.next_pause_end().expect("a pause") - now);
        }
        assert!(pauses[0] >= FIRST_PAUSE_TIME && pauses[0] <= FIRST_PAUSE_TIME * 2, "{pauses:?}");
        assert!(pauses[1] >= FIRST_PAUSE_TIME * 2);
        assert!(pauses.iter().all(|pause| *pause <= MAX_PAUSE_TIME + MAX_PAUSE_TIME / 4), "{pauses:?}");
        queue.add(uid("a"), work(Some(Operation::Update)));
        assert!(queue.take(now).is_some(), "an event ends the pause");
    }

    #[test]
    fn only_some_waiting_triggers_are_kept_as_objects() {
        let mut queue = TriggerQueue::default();
        for number in 0..MAX_WAITING_OBJECTS + 10 {
            let work = TriggerWork { object: Some(Value::Null), ..work(Some(Operation::Create)) };
            queue.add(number.to_string().into(), work);
        }
        assert_eq!(queue.objects, MAX_WAITING_OBJECTS);
        let now = Instant::now();
        let mut kept = 0;
        while let Some((uid, work)) = queue.take(now) {
            kept += usize::from(work.object.is_some());
            queue.done(&uid);
        }
        assert_eq!((kept, queue.objects), (MAX_WAITING_OBJECTS, 0));
    }
}
