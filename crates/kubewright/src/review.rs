//! One object and what the rules said about it, as small as the outputs allow.

use std::ops::AddAssign;
use std::sync::Arc;

use kubewright_engine::{
    About, Decision, Engine, Occasion, Operation, Outcome, Phase, Request, RuleId, Settings, Status,
    TraceNode,
};
use kubewright_patch as patch;
use kubewright_value::{Document, Location, Position, Step, Text, Value};

use crate::given::{GivenWorld, OldObjects, UserInfo};
use crate::output::{Needs, json_object};
use crate::request;
use crate::words::plural;

/// What is asked about every object.
pub(crate) struct Question<'a> {
    /// The rules.
    pub(crate) engine: &'a Engine,
    /// What else exists.
    pub(crate) world: &'a GivenWorld,
    /// What is about to happen, unless the values of variables say otherwise.
    pub(crate) operation: Operation,
    /// The namespace of objects that name none.
    pub(crate) namespace: &'a str,
    /// How objects were before an update, as far as anybody said.
    pub(crate) old: &'a OldObjects,
    /// Who asks.
    pub(crate) user: &'a UserInfo,
    /// Whether a failure that does not refuse the object is a warning.
    pub(crate) is_lenient: bool,
    /// Why objects are looked at; without it every rule runs.
    pub(crate) occasion: Option<Occasion>,
    /// What the outputs want to know.
    pub(crate) needs: Needs,
}

/// What the rules said about one object.
#[derive(Debug)]
pub(crate) struct ObjectReport {
    /// Where it stands.
    pub(crate) location: Place,
    /// As it was written.
    pub(crate) api_version: Text,
    /// As it was written.
    pub(crate) kind: Text,
    /// Empty for an object without one.
    pub(crate) namespace: Text,
    /// May be empty.
    pub(crate) name: Text,
    /// `Kind namespace/name`.
    pub(crate) subject: String,
    /// Whether no rule refuses it.
    pub(crate) is_allowed: bool,
    /// The outcomes that the outputs want, in the order in which the rules ran.
    pub(crate) outcomes: Vec<OutcomeRow>,
    /// All outcomes, counted.
    pub(crate) counts: Counts,
    /// What all rules together changed, when an output wants it.
    pub(crate) patch: Vec<patch::JsonPatchOperation>,
    /// All of this as JSON, when an output wants it.
    pub(crate) json: String,
    /// Before and after, when an output wants it.
    pub(crate) objects: Option<(Value, Value)>,
}

/// What one rule said about one object.
#[derive(Debug)]
pub(crate) struct OutcomeRow {
    /// The rule.
    pub(crate) rule: Arc<RuleId>,
    /// The verdict.
    pub(crate) status: Status,
    /// Why.
    pub(crate) message: Text,
    /// The part of the object this is about, as a person writes it.
    pub(crate) path: String,
    /// Whether the object has that part.
    pub(crate) is_there: bool,
    /// The name of the list item that the path goes through last; mostly a container.
    pub(crate) item: Option<Text>,
    /// The place in the rule file.
    pub(crate) rule_location: Option<Location>,
    /// The place in the manifest.
    pub(crate) position: Position,
    /// How many operations changed something.
    pub(crate) changes: usize,
    /// These operations, while the worker that made the row still has it.
    pub(crate) patch: Vec<patch::JsonPatchOperation>,
    /// What the requester is told.
    pub(crate) denial: Option<String>,
    /// Whether the rule was about the object and judged it.
    pub(crate) is_judged: bool,
    /// Whether the request is refused because of it.
    pub(crate) is_refusal: bool,
    /// Whether it counts for a score.
    pub(crate) is_scored: bool,
    /// The exceptions that made the rule skip the object.
    pub(crate) exceptions: Vec<Text>,
    /// What the author of the rule says about it.
    pub(crate) about: Arc<About>,
    /// What was looked at, when an output wants it.
    pub(crate) trace: Option<Box<TraceNode>>,
}

/// A place in a file, without the file's text. Sorts by file, then by line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The name of the file.
    pub(crate) file: Text,
    /// The place in it.
    pub(crate) position: Position,
}

impl Place {
    /// Returns where `document` starts.
    pub(crate) fn of(document: &Document) -> Self {
        Self { file: Text::new(&document.source.name), position: document.locate(&[]).position }
    }
}

/// As `file:line`.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.position.line)
    }
}

/// How many outcomes there are of each sort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Pass, changes included.
    pub(crate) pass: usize,
    /// Fail.
    pub(crate) fail: usize,
    /// Warn.
    pub(crate) warn: usize,
    /// Error.
    pub(crate) error: usize,
    /// Skip.
    pub(crate) skip: usize,
    /// Those of `pass` that changed something.
    pub(crate) patched: usize,
}

impl Question<'_> {
    /// Returns the request that `document` stands for.
    pub(crate) fn request(&self, document: &Document) -> Request {
        if request::is_payload(document) {
            return request::of_payload(document, self.user);
        }
        let mut request = request::of(&document.value, self.operation, self.namespace, self.user);
        let values = self.world.values();
        if let Some(operation) = values.operation(None, &request.name) {
            request::change_operation(&mut request, operation);
        }
        self.old.place(&mut request);
        values.place(&mut request);
        request::place_namespace(&mut request);
        // What rules change is compared with what was written.
        if self.engine.rules().iter().all(|rule| rule.phase == Phase::Judge) {
            request::place_maps(&mut request);
        }
        request
    }

    fn decide(&self, request: &Request) -> Decision {
        let settings =
            Settings { is_traced: self.needs.trace, occasion: self.occasion, ..Settings::default() };
        self.engine.decide(request, self.world, &settings)
    }

    /// Asks the rules about `document` and keeps what the outputs need.
    pub(crate) fn review(&self, document: &Document) -> ObjectReport {
        let request = self.request(document);
        let mut decision = self.decide(&request);
        // A rule that warns by itself does not count for a score; one whose failure is taken for a warning does.
        let unscored = |outcome: &Outcome| outcome.status == Status::Warn;
        let unscored: Vec<bool> = decision.outcomes.iter().map(unscored).collect();
        if self.is_lenient {
            decision.outcomes.iter_mut().for_each(soften);
        }
        let mut counts = Counts::default();
        decision.outcomes.iter().for_each(|outcome| counts.add(outcome));
        let before = &document.value;
        let after = if counts.patched > 0 {
            request::unplaced(decision.object, before, &request.namespace)
        } else {
            before.clone()
        };
        let patch = if self.needs.patch && counts.patched > 0 {
            patch::diff_values(before, &after)
        } else {
            Vec::new()
        };
        let objects = self.needs.objects.then(|| (before.clone(), after));
        let outcomes = decision.outcomes.into_iter().zip(unscored);
        let mut report = ObjectReport {
            location: Place::of(document),
            api_version: before.get("apiVersion").and_then(Value::as_str).unwrap_or_default().into(),
            subject: request.subject(),
            kind: request.kind.kind,
            namespace: request.namespace,
            name: request.name,
            is_allowed: decision.is_allowed,
            outcomes: outcomes
                .filter(|(outcome, _)| self.needs.all_outcomes || is_remarkable(outcome))
                .map(|(outcome, is_unscored)| OutcomeRow::new(outcome, document, !is_unscored))
                .collect(),
            counts,
            patch,
            json: String::new(),
            objects,
        };
        if self.needs.json {
            report.json = json_object(&report);
        }
        // Freed where it was made; handing it over would make two threads fight for the allocator.
        report.patch = Vec::new();
        report.outcomes.iter_mut().for_each(|row| row.patch = Vec::new());
        report
    }
}

/// Returns whether the table has a row for it.
fn is_remarkable(outcome: &Outcome) -> bool {
    match outcome.status {
        Status::Fail | Status::Error | Status::Warn => true,
        Status::Pass => !outcome.patch.is_empty(),
        Status::Skip => !outcome.exceptions.is_empty(),
    }
}

/// Turns a failure that does not refuse the object into a warning.
fn soften(outcome: &mut Outcome) {
    if outcome.status == Status::Fail && !outcome.is_refusal {
        outcome.status = Status::Warn;
    }
}

impl OutcomeRow {
    fn new(outcome: Outcome, document: &Document, is_scored: bool) -> Self {
        Self {
            position: document.locate(&outcome.path).position,
            is_there: document.value.follow(&outcome.path).is_some(),
            item: item_name(&outcome.path, &document.value),
            path: path_text(&outcome.path),
            rule: outcome.rule,
            status: outcome.status,
            message: outcome.message,
            rule_location: outcome.location,
            changes: outcome.patch.len(),
            patch: outcome.patch,
            denial: outcome.denial,
            is_judged: outcome.is_judged,
            is_refusal: outcome.is_refusal,
            is_scored,
            exceptions: outcome.exceptions,
            about: outcome.about,
            trace: outcome.trace,
        }
    }

    /// Returns whether the rule changed something.
    pub(crate) fn is_patched(&self) -> bool {
        self.status == Status::Pass && self.changes > 0
    }

    /// Returns which part of the object this is about, in words; empty for the whole object.
    pub(crate) fn part(&self) -> String {
        if self.path.is_empty() {
            return String::new();
        }
        let item = self.item.as_ref().map_or_else(String::new, |name| format!(" of `{name}`"));
        let end = if self.is_there { "" } else { " is not set" };
        format!("{}{item}{end}", self.path)
    }

    /// Returns the message, or the best there is where the rule gave none.
    pub(crate) fn text(&self) -> String {
        match (self.message.as_str(), &self.denial, self.status) {
            ("", Some(denial), _) => denial.clone(),
            ("", None, Status::Fail) => "refused".to_owned(),
            ("", None, _) if self.is_patched() => plural(self.changes, "change"),
            ("", None, Status::Skip) if !self.exceptions.is_empty() => "an exception was made".to_owned(),
            (message, ..) => message.to_owned(),
        }
    }
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        let count = match outcome.status {
            Status::Pass => &mut self.pass,
            Status::Fail => &mut self.fail,
            Status::Warn => &mut self.warn,
            Status::Error => &mut self.error,
            Status::Skip => &mut self.skip,
        };
        *count += 1;
        self.patched += usize::from(outcome.status == Status::Pass && !outcome.patch.is_empty());
    }

    /// Returns how many outcomes there are.
    pub(crate) fn all(self) -> usize {
        self.pass + self.fail + self.warn + self.error + self.skip
    }

    /// Returns whether a rule refuses or cannot answer.
    pub(crate) fn has_violations(self) -> bool {
        self.fail + self.error > 0
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.pass += other.pass;
        self.fail += other.fail;
        self.warn += other.warn;
        self.error += other.error;
        self.skip += other.skip;
        self.patched += other.patched;
    }
}

/// Returns the name of the last list item on the way along `path`.
fn item_name(path: &[Step], object: &Value) -> Option<Text> {
    let (mut value, mut name) = (object, None);
    for step in path {
        let Some(next) = value.follow(std::slice::from_ref(step)) else { break };
        if let (Step::Index(_), Some(Value::String(found))) = (step, next.get("name")) {
            name = Some(found.clone());
        }
        value = next;
    }
    name
}

/// Returns a path as a person writes it: `spec.containers[1].image`.
pub(crate) fn path_text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Key(key) if is_plain(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Step::Key(key) => text.push_str(&format!("[{}]", kubewright_value::json::quote(key))),
        }
    }
    text
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_as_a_person_writes_it() {
        let path = ["spec".into(), "list".into(), 1.into(), "a.b/c".into(), "x".into()];
        assert_eq!(path_text(&path), r#"spec.list[1]["a.b/c"].x"#);
    }
}
