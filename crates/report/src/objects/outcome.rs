//! What one rule said about one object, and how many outcomes there are of each sort.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

use kubewright_engine::{
    ObjectWrite, OutcomeReason, RuleId, RuleMetadata, RuleOutcome, RuleStatus, TraceNode,
};
use kubewright_patch as patch;
use kubewright_value::text::{self, PathStyle};
use kubewright_value::{Document, Location, Position, Step, Text, Value, bounded};

use super::{OutcomeSuppression, RenderedPlace};
use crate::text::plural;

/// What one rule said about one object.
#[derive(Debug)]
#[non_exhaustive]
pub struct OutcomeRow {
    /// The rule.
    pub rule: Arc<RuleId>,
    /// The verdict.
    pub status: RuleStatus,
    /// Why.
    pub message: Text,
    /// The part of the object this is about, as a person writes it.
    pub path: String,
    /// Whether the object has that part.
    pub is_there: bool,
    /// What the object has there, if it is one value and may be shown.
    pub found: Option<String>,
    /// The outcome in plain words, where there are better ones than the message.
    pub reason: Option<Box<OutcomeReason>>,
    /// The named list item that the path goes through last, mostly a container, and the path below it:
    /// `spec.containers[1] \`sidecar\`` and `image`.
    pub item: Option<(String, String)>,
    /// The location in the rule file.
    pub rule_location: Option<Location>,
    /// The position in the manifest.
    pub position: Position,
    /// Its line in the rendered text, if a program rendered the manifest.
    pub rendered: Option<RenderedPlace>,
    /// How many operations changed something.
    pub changes: usize,
    /// These operations, until [`ObjectRow::drop_patches`](super::ObjectRow::drop_patches).
    pub patch: Vec<patch::JsonPatchOperation>,
    /// What the writes of the rule do: `create ConfigMap shop/settings`.
    pub written: Vec<Text>,
    /// These writes, when a renderer asks for them.
    pub writes: Vec<ObjectWrite>,
    /// The message of the AdmissionResponse, where it differs.
    pub denial: Option<String>,
    /// Whether the rule was about the object and judged it.
    pub is_judged: bool,
    /// Whether the request is refused because of it.
    pub is_refusal: bool,
    /// Whether it counts for a score.
    pub is_scored: bool,
    /// The exceptions that made the rule skip the object.
    pub exceptions: Vec<Text>,
    /// What the author of the rule says about it.
    pub metadata: Arc<RuleMetadata>,
    /// What was looked at, when a renderer asks for it.
    pub trace: Option<Box<TraceNode>>,
    /// Whether it is there only because of its trace: without traces the rule has no outcome.
    pub is_trace_only: bool,
    /// Why it does not count, where a baseline or an ignore says so; its status is then a skip.
    pub suppression: Option<Box<OutcomeSuppression>>,
}

/// How many outcomes there are of each sort.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// Pass, changes included.
    pub pass: usize,
    /// Fail.
    pub fail: usize,
    /// Warn.
    pub warn: usize,
    /// Error.
    pub error: usize,
    /// Skip.
    pub skip: usize,
    /// Those of `pass` that changed something.
    pub patched: usize,
    /// Those of `pass` that ask for other objects to be written.
    pub written: usize,
    /// Those of `pass` that applied and did nothing, because what they would change was not found.
    pub idle: usize,
    /// Those of `skip` that are in the baseline.
    pub baselined: usize,
    /// Those of `skip` that a manifest ignores.
    pub ignored: usize,
}

impl OutcomeRow {
    /// Returns the row of an outcome about the object of `document`.
    pub(super) fn new(outcome: RuleOutcome, document: &Document, is_scored: bool) -> Self {
        Self {
            position: document.locate(&outcome.path).position,
            rendered: RenderedPlace::of(document, &outcome.path),
            is_there: document.value.follow(&outcome.path).is_some(),
            found: shown_part(document, &outcome.path),
            item: last_item(&outcome.path, &document.value),
            path: path_text(&outcome.path),
            reason: outcome.reason.or_else(|| excepted_reason(outcome.status, &outcome.exceptions)),
            rule: outcome.rule,
            status: outcome.status,
            message: outcome.message,
            rule_location: outcome.location,
            changes: outcome.patch.len(),
            patch: outcome.patch,
            written: outcome.written,
            writes: outcome.writes,
            denial: outcome.denial,
            is_judged: outcome.is_judged,
            is_refusal: outcome.is_refusal,
            is_scored,
            exceptions: outcome.exceptions,
            metadata: outcome.metadata,
            trace: outcome.trace.map(|mut trace| {
                trace.locate_subjects(document);
                trace
            }),
            is_trace_only: outcome.is_trace_only,
            suppression: None,
        }
    }

    /// Returns whether the rule changed something.
    #[must_use]
    pub fn is_patched(&self) -> bool {
        self.status == RuleStatus::Pass && self.changes > 0
    }

    /// Returns whether the rule applied and did nothing, because what it would change was not found.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let has_effect = self.is_patched() || self.is_writing();
        self.status == RuleStatus::Pass && !has_effect && says_why(self.reason.as_deref())
    }

    /// Returns whether the rule asks for objects to be written.
    #[must_use]
    pub fn is_writing(&self) -> bool {
        self.status == RuleStatus::Pass && !self.written.is_empty()
    }

    /// Returns which part of the object this is about, in words; empty for the whole object.
    #[must_use]
    pub fn part(&self) -> String {
        if self.path.is_empty() {
            return String::new();
        }
        let end = match &self.found {
            Some(found) => format!(" is {found}"),
            None if self.is_there => String::new(),
            None => " is not set".to_owned(),
        };
        match &self.item {
            Some((item, rest)) if rest.is_empty() => format!("{item}{end}"),
            Some((item, rest)) => format!("{item}: {rest}{end}"),
            None => format!("{}{end}", self.path),
        }
    }

    /// Returns the outcome in plain words, for people; the message where there are no better ones.
    #[must_use]
    pub fn plain_text(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| reason.text.as_str()).unwrap_or_default();
        match (reason, self.exceptions.as_slice()) {
            ("", _) => self.text(),
            (reason, []) => reason.to_owned(),
            (reason, exceptions) => format!("{reason}: {}", exceptions.join(", ")),
        }
    }

    /// Returns the message, or the best there is where the rule gave none.
    #[must_use]
    pub fn text(&self) -> String {
        OutcomeText {
            message: &self.message,
            denial: self.denial.as_deref(),
            status: self.status,
            changes: self.changes,
            written: &self.written,
            has_exceptions: !self.exceptions.is_empty(),
        }
        .to_string()
    }
}

/// The parts of an outcome that its text is made of.
pub(crate) struct OutcomeText<'o> {
    pub(crate) message: &'o str,
    pub(crate) denial: Option<&'o str>,
    pub(crate) status: RuleStatus,
    pub(crate) changes: usize,
    pub(crate) written: &'o [Text],
    pub(crate) has_exceptions: bool,
}

/// The message, or the best there is where the rule gave none.
impl fmt::Display for OutcomeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.message, self.denial, self.status) {
            ("", Some(denial), _) => f.write_str(denial),
            ("", None, RuleStatus::Fail) => f.write_str("refused"),
            ("", None, RuleStatus::Pass) if self.changes > 0 => f.write_str(&plural(self.changes, "change")),
            (_, None, RuleStatus::Pass) if !self.written.is_empty() => write_titles(f, self.written),
            ("", None, RuleStatus::Skip) if self.has_exceptions => f.write_str("an exception was made"),
            (message, ..) => f.write_str(message),
        }
    }
}

/// Returns whether there is a text that says why.
fn says_why(reason: Option<&OutcomeReason>) -> bool {
    reason.is_some_and(|reason| !reason.text.is_empty())
}

/// How many writes of one rule a text names.
const MAX_SHOWN_WRITES: usize = 20;

/// Writes what the writes of a rule do, each in a line.
fn write_titles(f: &mut fmt::Formatter<'_>, titles: &[Text]) -> fmt::Result {
    let shown: Vec<&str> = titles.iter().take(MAX_SHOWN_WRITES).map(Text::as_str).collect();
    f.write_str(&shown.join("\n"))?;
    match titles.len().saturating_sub(MAX_SHOWN_WRITES) {
        0 => Ok(()),
        more => write!(f, "\nand {more} more"),
    }
}

impl OutcomeCounts {
    /// Counts one outcome.
    pub(crate) fn add(&mut self, outcome: &RuleOutcome) {
        *self.of_mut(outcome.status) += 1;
        let is_pass = outcome.status == RuleStatus::Pass;
        self.patched += usize::from(is_pass && !outcome.patch.is_empty());
        self.written += usize::from(is_pass && outcome.patch.is_empty() && !outcome.written.is_empty());
        let has_effect = !outcome.patch.is_empty() || !outcome.written.is_empty();
        self.idle += usize::from(is_pass && !has_effect && says_why(outcome.reason.as_deref()));
    }

    /// Returns the count of the outcomes with `status`.
    pub fn of_mut(&mut self, status: RuleStatus) -> &mut usize {
        match status {
            RuleStatus::Pass => &mut self.pass,
            RuleStatus::Fail => &mut self.fail,
            RuleStatus::Warn => &mut self.warn,
            RuleStatus::Error => &mut self.error,
            RuleStatus::Skip => &mut self.skip,
        }
    }

    /// Returns how many outcomes there are.
    #[must_use]
    pub fn all(self) -> usize {
        self.pass + self.fail + self.warn + self.error + self.skip
    }

    /// Returns whether a rule refuses or cannot answer.
    #[must_use]
    pub fn has_violations(self) -> bool {
        self.fail + self.error > 0
    }
}

impl AddAssign for OutcomeCounts {
    fn add_assign(&mut self, other: Self) {
        self.pass += other.pass;
        self.fail += other.fail;
        self.warn += other.warn;
        self.error += other.error;
        self.skip += other.skip;
        self.patched += other.patched;
        self.written += other.written;
        self.idle += other.idle;
        self.baselined += other.baselined;
        self.ignored += other.ignored;
    }
}

/// Returns the last named list item on the way along `path`, and the path below it.
fn last_item(path: &[Step], object: &Value) -> Option<(String, String)> {
    let (mut value, mut item) = (object, None);
    for (index, step) in path.iter().enumerate() {
        let Some(next) = value.follow(std::slice::from_ref(step)) else { break };
        if let (Step::Index(_), Some(Value::String(name))) = (step, next.get("name")) {
            let (above, below) = path.split_at(index + 1);
            item = Some((format!("{} `{name}`", path_text(above)), path_text(below)));
        }
        value = next;
    }
    item
}

/// How much of a found value is shown.
const MAX_FOUND_CHARACTERS: usize = 80;

/// Returns the value at `path`, if it is neither a list nor an object with entries, nor a part of a Secret.
fn shown_part(document: &Document, path: &[Step]) -> Option<String> {
    let value = document.value.follow(path).filter(|_| !path.is_empty())?;
    let is_long = match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    let is_secret = document.value.str_at(&["kind"]) == "Secret";
    (!is_long && !is_secret).then(|| bounded::shortened_json(value, MAX_FOUND_CHARACTERS))
}

/// Returns the reason of a rule that is skipped because of exceptions.
fn excepted_reason(status: RuleStatus, exceptions: &[Text]) -> Option<Box<OutcomeReason>> {
    let is_excepted = status == RuleStatus::Skip && !exceptions.is_empty();
    is_excepted.then(|| {
        Box::new(OutcomeReason { text: "an exception applies".to_owned(), ..OutcomeReason::default() })
    })
}

/// Returns a path as a person writes it: `spec.containers[1].image`.
#[must_use]
pub fn path_text(path: &[Step]) -> String {
    text::path_text(path, PathStyle::Quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_text_is_written_with_dots_and_brackets() {
        let path = ["spec".into(), "list".into(), 1.into(), "a.b/c".into(), "x".into()];
        assert_eq!(path_text(&path), r#"spec.list[1]["a.b/c"].x"#);
    }
}
