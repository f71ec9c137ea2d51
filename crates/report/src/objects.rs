//! One object and what the rules said about it, as small as the renderers allow.

mod outcome;
mod rendered;
mod suppress;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kubewright_engine::{Decision, RuleOutcome, RuleStatus, WriteVerb};
use kubewright_k8s::{AdmissionRequest, ObjectName};
use kubewright_patch as patch;
use kubewright_value::{Document, Location, Position, Source, Text, Value};

use crate::{Annotation, AnnotationLevel, Columns, Severity, WhyInputs};

pub(crate) use outcome::OutcomeText;
pub use outcome::{OutcomeCounts, OutcomeRow, path_text};
pub use rendered::RenderedPlace;
pub use suppress::{OutcomeSuppression, SuppressionOrigin};

/// A decided request, from which the row of its object is made.
pub struct ObjectReview<'a> {
    /// The object as it was read.
    pub document: &'a Document,
    /// The request that was decided.
    pub request: &'a AdmissionRequest,
    /// What the rules decided.
    pub decision: Decision,
    /// The object with all changes, in the form in which it was read; nothing when no rule changed it.
    pub changed: Option<Value>,
    /// Whether a failure that does not refuse the object is a warning.
    pub is_lenient: bool,
}

/// What the rules said about one object.
#[derive(Debug)]
pub struct ObjectRow {
    /// Where it was read.
    pub location: FilePosition,
    /// As it was written.
    pub api_version: Text,
    /// As it was written.
    pub kind: Text,
    /// Empty for an object without one.
    pub namespace: Text,
    /// May be empty.
    pub name: Text,
    /// Empty for an object that was never in a cluster.
    pub uid: Text,
    /// `Kind namespace/name`.
    pub subject: String,
    /// Whether no rule refuses it.
    pub is_allowed: bool,
    /// The outcomes that renderers ask for, in the order in which the rules ran.
    pub outcomes: Vec<OutcomeRow>,
    /// All outcomes, counted.
    pub counts: OutcomeCounts,
    /// The rules without an outcome.
    pub unmatched: UnmatchedRules,
    /// Whether rules read the labels of its namespace, which nothing describes.
    pub lacks_namespace: bool,
    /// What all rules together changed, when a renderer asks for it.
    pub patch: Vec<patch::JsonPatchOperation>,
    /// Before and after, when a renderer asks for it.
    pub objects: Option<(Value, Value)>,
    /// The object after all changes as it may be shown, if a Secret was read.
    pub shown: Option<Value>,
    /// How long it took to judge, as far as the command measures it.
    pub elapsed: Duration,
    /// What the command that shows a reason names; nothing for the files of the object and of the rule alone.
    pub why_inputs: Option<Arc<WhyInputs>>,
}

/// How many rules have no outcome for an object.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UnmatchedRules {
    /// Those that are not about the object.
    pub out_of_scope: usize,
    /// Those that are, and find nothing to check in it.
    pub empty: usize,
}

impl UnmatchedRules {
    /// Returns how many there are.
    #[must_use]
    pub fn all(self) -> usize {
        self.out_of_scope + self.empty
    }
}

/// A position in a file, without the file's text. Sorts by file, then by line. Line 0 is the file as a whole, or a
/// resource of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct FilePosition {
    /// The name of the file.
    pub file: Text,
    /// The line and column.
    pub position: Position,
}

impl FilePosition {
    /// Returns where `document` starts.
    #[must_use]
    pub fn of(document: &Document) -> Self {
        let location = document.locate(&[]);
        Self { file: Text::new(&location.source.name), position: location.position }
    }

    /// Returns it as a location, whose text is not known.
    #[must_use]
    pub fn location(&self) -> Location {
        Location { source: Source::new(self.file.as_str(), ""), position: self.position, length: 1 }
    }
}

/// As `file:line`.
impl fmt::Display for FilePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.position.line == 0 {
            return f.write_str(&self.file);
        }
        write!(f, "{}:{}", self.file, self.position.line)
    }
}

impl ObjectRow {
    /// Returns the row of a reviewed object, with what `columns` ask for.
    #[must_use]
    pub fn new(review: ObjectReview<'_>, columns: Columns) -> Self {
        let ObjectReview { document, request, mut decision, changed, is_lenient } = review;
        let mut counts = OutcomeCounts { skip: decision.skipped, ..OutcomeCounts::default() };
        let mut is_scored = Vec::new();
        decision.outcomes.retain_mut(|outcome| {
            // A rule that warns by itself does not count for a score; one whose failure is taken for a warning does.
            let warns = outcome.status == RuleStatus::Warn;
            if is_lenient {
                downgrade_refusal(outcome);
            }
            counts.add(outcome);
            let is_kept = columns.all_outcomes || is_remarkable(outcome);
            is_scored.extend(is_kept.then_some(!warns));
            is_kept
        });
        let before = &document.value;
        let patch = match &changed {
            Some(after) if columns.patch => patch::diff_values(before, after),
            _ => Vec::new(),
        };
        let objects = columns.objects.then(|| (before.clone(), changed.unwrap_or_else(|| before.clone())));
        let outcomes = decision.outcomes.into_iter().zip(is_scored);
        Self {
            location: FilePosition::of(document),
            api_version: before.str_at(&["apiVersion"]).into(),
            subject: request.subject(),
            kind: request.kind.kind.clone(),
            namespace: request.namespace.clone(),
            name: request.name.clone(),
            uid: before.str_at(&["metadata", "uid"]).into(),
            is_allowed: decision.is_allowed,
            outcomes: outcomes
                .map(|(mut outcome, is_scored)| {
                    if !columns.objects && !columns.patch {
                        outcome.writes = Vec::new();
                    }
                    OutcomeRow::new(outcome, document, is_scored)
                })
                .collect(),
            counts,
            unmatched: UnmatchedRules::default(),
            lacks_namespace: decision.lacks_namespace,
            patch,
            objects,
            shown: decision.shown_object,
            elapsed: Duration::ZERO,
            why_inputs: None,
        }
    }

    /// Forgets line numbers, because the object was not read from a file.
    pub fn forget_lines(&mut self) {
        self.location.position.line = 0;
        self.outcomes.iter_mut().for_each(|row| row.position.line = 0);
    }

    /// Returns where the part that an outcome is about was read.
    pub(crate) fn place_of(&self, outcome: &OutcomeRow) -> FilePosition {
        FilePosition { file: self.location.file.clone(), position: outcome.position }
    }

    /// Returns where the part that an outcome is about was read, and its line in the rendered text, if it was rendered.
    pub(crate) fn place_text(&self, outcome: &OutcomeRow) -> String {
        let place = self.place_of(outcome);
        match &outcome.rendered {
            Some(rendered) => format!("{place} ({rendered})"),
            None => place.to_string(),
        }
    }

    /// Returns the object that an outcome is about, and the line in the rendered text, if it was rendered.
    pub(crate) fn subject_of(&self, outcome: &OutcomeRow) -> String {
        match &outcome.rendered {
            Some(rendered) => format!("{} ({rendered})", self.subject),
            None => self.subject.clone(),
        }
    }

    /// Frees the JSON Patches. A worker does it once every renderer has prepared the row, because freeing them on
    /// another thread would make the two threads compete for the allocator.
    pub fn drop_patches(&mut self) {
        self.patch = Vec::new();
        self.outcomes.iter_mut().for_each(|row| row.patch = Vec::new());
    }

    /// Returns the object after all changes, unless it is to be deleted, and those that rules make because of it; nothing
    /// where no renderer asked for objects.
    pub fn resulting_objects(&self) -> impl Iterator<Item = &Value> {
        let writes = || self.outcomes.iter().flat_map(|row| &row.writes);
        let own = self.objects.as_ref().map(|(_, after)| after);
        let own = own.filter(|own| {
            // An object that was read may not say its namespace.
            let name = ObjectName { namespace: self.namespace.clone(), ..ObjectName::of(own) };
            let is_it = |object: &Value| match ObjectName::of(object) {
                other if other.namespace.is_empty() => {
                    ObjectName { namespace: name.namespace.clone(), ..other } == name
                }
                other => other == name,
            };
            !writes().any(|write| write.verb == WriteVerb::Delete && is_it(&write.object))
        });
        let made = writes().filter(|write| write.verb != WriteVerb::Delete).map(|write| &write.object);
        own.into_iter().chain(made.filter(|_| self.objects.is_some()))
    }

    /// Returns what is wrong with the object.
    pub fn annotations(&self) -> impl Iterator<Item = Annotation<'_>> {
        self.outcomes.iter().filter_map(|row| self.annotation(row))
    }

    /// Returns what is wrong according to one outcome.
    pub(crate) fn annotation(&self, row: &OutcomeRow) -> Option<Annotation<'_>> {
        self.annotation_as(row, row.status)
    }

    /// Returns what is wrong according to one outcome, as if it had this status.
    pub(crate) fn annotation_as(&self, row: &OutcomeRow, status: RuleStatus) -> Option<Annotation<'_>> {
        Some(Annotation {
            level: AnnotationLevel::of_status(status)?,
            severity: Severity::of_rule(&row.metadata.severity),
            identity: format!("{}\n{}", self.subject, row.path),
            file: self.location.file.as_str().into(),
            position: row.position,
            title: row.rule.to_string(),
            text: format!("{}: {}", self.subject_of(row), row.plain_text()),
        })
    }
}

/// Returns whether the table has a row for it.
fn is_remarkable(outcome: &RuleOutcome) -> bool {
    match outcome.status {
        RuleStatus::Fail | RuleStatus::Error | RuleStatus::Warn => true,
        RuleStatus::Pass => !outcome.patch.is_empty() || !outcome.written.is_empty(),
        RuleStatus::Skip => !outcome.exceptions.is_empty(),
    }
}

/// Turns a failure that does not refuse the object into a warning.
fn downgrade_refusal(outcome: &mut RuleOutcome) {
    if outcome.status == RuleStatus::Fail && !outcome.is_refusal {
        outcome.status = RuleStatus::Warn;
    }
}
