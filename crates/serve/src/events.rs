//! Events about what rules did.
//!
//! Equal notices within a minute are one Event with a count. The rate of writes is limited; notices that come faster
//! are counted meanwhile. Of a Secret only the name is written, never the message of a rule.

mod write;

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use kubewright_engine::{BLOCKED_ACTION, EventWords};
use kubewright_k8s::{ObjectName, object_title};
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Map, Text, Value};

use crate::clock;
use crate::{EventWording, Notice, NoticeKind};

/// The annotation of an Event with the id of the rule.
pub const EVENT_RULE_ANNOTATION: &str = "kubewright.dev/rule";

/// For how long the same thing is the same Event.
const EVENT_SERIES_TIME: Duration = Duration::from_secs(60);

/// How many different things are remembered; more are dropped.
const MAX_PENDING_EVENTS: usize = 2_000;

/// How many Events are written in a second, and how many at once after a quiet time.
const EVENTS_PER_SECOND: f64 = 5.0;
const MAX_EVENT_BURST: f64 = 50.0;

/// How long the text of an Event may be, in bytes; the API server refuses more.
const MAX_EVENT_MESSAGE_BYTES: usize = 1024;

/// Events that were told and are to be written.
#[derive(Debug)]
pub struct EventQueue {
    /// Who tells: a name that no other replica has.
    instance: String,
    things: HashMap<EventKey, PendingEvent>,
    made: u64,
    tokens: f64,
    filled: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct EventKey {
    document: ObjectName,
    subject: ObjectName,
    kind: NoticeKind,
    /// Only where the words of the language name it: ours are about the rule object.
    rule: Text,
}

#[derive(Debug)]
struct PendingEvent {
    name: Text,
    /// The id of the rule that was the first to say it.
    rule: String,
    message: String,
    words: Option<EventWords>,
    first: SystemTime,
    last: SystemTime,
    heard: Instant,
    count: u64,
    /// How many of them are written.
    written: u64,
}

/// What an Event is about, as it points to it: a rule object, or the object that was judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Regarding {
    /// Its `apiVersion`.
    pub api_version: Text,
    /// Its `metadata.uid`.
    pub uid: Text,
}

impl Regarding {
    /// Returns how Events point to `object`.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |keys: &[&str]| Text::new(object.str_at(keys));
        Self { api_version: text(&["apiVersion"]), uid: text(&["metadata", "uid"]) }
    }
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct EventWrite {
    /// The namespace of the Event.
    pub(crate) namespace: Text,
    /// Its name.
    pub(crate) name: Text,
    /// The whole of it where it is new; otherwise what has changed.
    pub(crate) object: Value,
    /// Whether it is new.
    pub(crate) is_new: bool,
    thing: EventKey,
}

impl EventQueue {
    /// Returns an empty queue of the process called `instance`.
    #[must_use]
    pub fn new(instance: &str, now: Instant) -> Self {
        Self {
            instance: instance.to_owned(),
            things: HashMap::new(),
            made: 0,
            tokens: MAX_EVENT_BURST,
            filled: now,
        }
    }

    /// Takes up what was told; false where there is no room for it.
    pub fn add(&mut self, notice: &Notice, now: Instant, time: SystemTime) -> bool {
        let thing = EventKey {
            document: notice.document.clone(),
            subject: notice.subject.clone(),
            kind: notice.kind,
            rule: match notice.wording {
                EventWording::Plain => Text::default(),
                EventWording::Policy { .. } | EventWording::Given(_) => notice.rule.rule.clone(),
            },
        };
        if let Some(entry) = self.things.get_mut(&thing)
            && now.saturating_duration_since(entry.heard) < EVENT_SERIES_TIME
        {
            (entry.count, entry.last, entry.heard) = (entry.count + 1, time, now);
            return true;
        }
        if self.things.len() >= MAX_PENDING_EVENTS && !self.things.contains_key(&thing) {
            return false;
        }
        self.made += 1;
        let words = notice.words();
        let entry = PendingEvent {
            name: event_name(&thing.document.name, &self.instance, self.made, time),
            rule: notice.rule.to_string(),
            message: event_message(notice, words.as_ref()),
            words,
            first: time,
            last: time,
            heard: now,
            count: 1,
            written: 0,
        };
        self.things.insert(thing, entry);
        true
    }

    /// Returns what is to be written now, and forgets what is over.
    pub(crate) fn due(&mut self, now: Instant, find: impl Fn(&ObjectName) -> Regarding) -> Vec<EventWrite> {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        (self.tokens, self.filled) = ((self.tokens + passed * EVENTS_PER_SECOND).min(MAX_EVENT_BURST), now);
        let mut writes = Vec::new();
        for (thing, entry) in &mut self.things {
            if entry.written == entry.count {
                continue;
            }
            if self.tokens < 1.0 {
                break;
            }
            self.tokens -= 1.0;
            writes.push(entry.write(thing, &self.instance, &find));
            entry.written = entry.count;
        }
        self.things.retain(|_, entry| {
            entry.written < entry.count || now.saturating_duration_since(entry.heard) < EVENT_SERIES_TIME
        });
        writes
    }
}

impl EventQueue {
    /// Schedules a failed write again, as a new Event, because it is unknown whether the first write arrived.
    pub(crate) fn again(&mut self, write: &EventWrite) {
        if let Some(entry) = self.things.get_mut(&write.thing).filter(|entry| entry.name == write.name) {
            entry.written = 0;
        }
    }
}

impl PendingEvent {
    fn write(
        &self,
        thing: &EventKey,
        instance: &str,
        find: &impl Fn(&ObjectName) -> Regarding,
    ) -> EventWrite {
        let namespace = match thing.document.namespace.as_str() {
            // Where the Events about objects without a namespace are kept.
            "" => Text::new("default"),
            namespace => namespace.into(),
        };
        let counted = [
            ("count", i64::try_from(self.count).unwrap_or(i64::MAX).into()),
            ("lastTimestamp", clock::rfc3339_seconds(self.last).into()),
        ];
        let is_new = self.written == 0;
        let mut object = Map::from(counted);
        if is_new {
            for (key, value) in self.whole(thing, &namespace, instance, &find(&thing.document)) {
                object.insert(key.into(), value);
            }
        }
        EventWrite { namespace, name: self.name.clone(), object: object.into(), is_new, thing: thing.clone() }
    }

    fn whole(
        &self,
        thing: &EventKey,
        namespace: &Text,
        instance: &str,
        regarding: &Regarding,
    ) -> Vec<(&'static str, Value)> {
        let (own_reason, kind) = event_reason(thing.kind);
        let words = self.words.as_ref();
        let reason = words.map_or(own_reason, |words| words.reason);
        let component = words.map_or("kubewright.dev/serve", |words| words.component);
        let mut involved = object_reference(&thing.document);
        involved.insert("apiVersion".into(), regarding.api_version.clone().into());
        if !regarding.uid.is_empty() {
            involved.insert("uid".into(), regarding.uid.clone().into());
        }
        let metadata = Map::from([
            ("name", self.name.clone().into()),
            ("namespace", namespace.clone().into()),
            ("annotations", Map::from([(EVENT_RULE_ANNOTATION, self.rule.as_str().into())]).into()),
        ]);
        let source = Map::from([("component", "kubewright".into()), ("host", instance.into())]);
        let mut fields = vec![
            ("apiVersion", "v1".into()),
            ("kind", "Event".into()),
            ("metadata", metadata.into()),
            ("type", kind.into()),
            ("reason", reason.into()),
            ("message", self.message.as_str().into()),
            ("involvedObject", involved.into()),
            ("related", object_reference(&thing.subject).into()),
            ("firstTimestamp", clock::rfc3339_seconds(self.first).into()),
            ("source", source.into()),
            ("reportingComponent", component.into()),
            ("reportingInstance", instance.into()),
        ];
        let own_action = if thing.kind == NoticeKind::Refused { BLOCKED_ACTION } else { "" };
        let action = words.map_or(own_action, |words| words.action);
        if !action.is_empty() {
            fields.push(("action", action.into()));
        }
        fields
    }
}

/// Returns the reason and the type of an Event.
fn event_reason(kind: NoticeKind) -> (&'static str, &'static str) {
    match kind {
        NoticeKind::Refused | NoticeKind::Reported => ("PolicyViolation", "Warning"),
        NoticeKind::Failed => ("PolicyError", "Warning"),
        NoticeKind::Excepted => ("ExceptionUsed", "Normal"),
        NoticeKind::Applied => ("PolicyApplied", "Normal"),
    }
}

/// Returns what is told of a notice: the message of `words`, or ours.
fn event_message(notice: &Notice, words: Option<&EventWords>) -> String {
    if let Some(words) = words {
        return truncated(words.message.clone(), MAX_EVENT_MESSAGE_BYTES);
    }
    let ObjectName { kind, namespace, name, .. } = &notice.subject;
    let name = if name.is_empty() { "(no name yet)" } else { name.as_str() };
    let done = match notice.kind {
        NoticeKind::Refused => "refused",
        NoticeKind::Reported => "let pass with a violation",
        NoticeKind::Failed => "the rule could not answer",
        NoticeKind::Excepted => "left alone because of an exception",
        NoticeKind::Applied => "let pass",
    };
    let mut text = format!("{} {done}", object_title(kind, namespace, name));
    // A message can be made of anything that the object has in it.
    if !notice.message.is_empty() && !is_secret(&notice.subject) {
        text.push_str(": ");
        text.push_str(&notice.message);
    }
    truncated(text, MAX_EVENT_MESSAGE_BYTES)
}

/// Returns whether nothing of the object may be told.
#[must_use]
pub fn is_secret(subject: &ObjectName) -> bool {
    subject.kind == "Secret" && subject.group.is_empty()
}

/// Returns as much of `text` as fits in `size` bytes.
pub(crate) fn truncated(text: String, size: usize) -> String {
    match shorten_text(&text, TextLimit::BytesInAll(size)) {
        Cow::Borrowed(_) => text,
        Cow::Owned(short) => short,
    }
}

/// Returns as much of `text` as fits in `size` bytes; nothing is copied where all of it does.
pub(crate) fn truncated_text(text: &Text, size: usize) -> Text {
    match shorten_text(text, TextLimit::BytesInAll(size)) {
        Cow::Borrowed(_) => text.clone(),
        Cow::Owned(short) => short.into(),
    }
}

fn object_reference(object: &ObjectName) -> Map {
    let mut reference =
        Map::from([("kind", object.kind.clone().into()), ("name", object.name.clone().into())]);
    if object.group.is_empty() {
        // Which version of another group was meant is not known here.
        reference.insert("apiVersion".into(), "v1".into());
    }
    if !object.namespace.is_empty() {
        reference.insert("namespace".into(), object.namespace.clone().into());
    }
    reference
}

/// Returns a name that no other Event has: the rule's, the time, and a number of this process.
fn event_name(rule: &str, instance: &str, number: u64, time: SystemTime) -> Text {
    use std::hash::{Hash as _, Hasher as _};
    let mut hasher = std::hash::DefaultHasher::new();
    (instance, number, time).hash(&mut hasher);
    let rule: String = rule.chars().take(200).collect();
    format!("{}.{:016x}", rule.trim_end_matches(['.', '-']), hasher.finish()).into()
}

#[cfg(test)]
mod tests;
