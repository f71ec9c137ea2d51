//! Fixes of one object: candidates, judged by all rules, and made in its text.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_engine::{Rule, RuleId, RuleStatus};
use kubewright_remedy::{
    FailedCheck, FieldChange, ObjectPlace, candidate_changes, edit_text, smallest_changes, value_changes,
};
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::{Document, Source, Step, Value, yaml};

use super::{FixReport, FixedTexts, judged_document};
use crate::review::{Reviewer, is_late};
use crate::suppressions::Suppressions;

/// How many fixes of one failure are looked for.
const MAX_CHOICES: usize = 3;

/// What the names of rules start with that were made of a rule about Pods, and the part of the object they are about.
const AUTOGEN_PARTS: [(&str, &[&str]); 2] =
    [("autogen-cronjob-", &["spec", "jobTemplate", "spec", "template"]), ("autogen-", &["spec", "template"])];

/// Looks for fixes of objects.
pub(in crate::commands) struct ObjectFixer<'a> {
    pub(in crate::commands) reviewer: Reviewer<'a>,
    pub(in crate::commands) suppressions: &'a Suppressions,
    /// Which fix is taken where there are several, from 0.
    pub(in crate::commands) choice: usize,
    /// Whether changes that rules make are fixes.
    pub(in crate::commands) has_mutations: bool,
}

/// An object while it is fixed.
struct FixedObject<'d> {
    document: &'d Document,
    place: ObjectPlace,
    value: Value,
}

impl ObjectFixer<'_> {
    /// Fixes what fails on `document`, and returns what was found for each failure.
    pub(super) fn fix(&self, document: &Document, texts: &mut FixedTexts) -> Vec<FixReport> {
        let mut row = self.reviewer.review(document);
        self.suppressions.apply(document, &mut row);
        let is_failed = |row: &&OutcomeRow| matches!(row.status, RuleStatus::Fail | RuleStatus::Warn);
        let changes = row.outcomes.iter().any(OutcomeRow::is_patched) && self.has_mutations;
        if !changes && !row.outcomes.iter().any(|outcome| is_failed(&outcome)) {
            return Vec::new();
        }
        let place = ObjectPlace::of(&document.source, document);
        let mut reports = Vec::new();
        let mut object = place.map(|place| FixedObject { document, place, value: document.value.clone() });
        if let Some(object) = object.as_mut().filter(|_| changes) {
            reports.extend(self.make_mutations(object, &row, texts));
        }
        for outcome in row.outcomes.iter().filter(is_failed).take_while(|_| !is_late()) {
            let fixes = object.as_ref().map(|object| self.fixes(object, outcome)).unwrap_or_default();
            let mut report = failure_report(&row, outcome);
            let chosen = fixes.get(self.choice).or(fixes.first());
            if let (Some(object), Some(chosen)) = (&mut object, chosen)
                && self.make(object, chosen, texts)
            {
                report.changes = Some(changes_text(chosen));
                let others = (1..).zip(&fixes).filter(|(_, fix)| *fix != chosen);
                report.others = others.map(|(number, fix)| (number, changes_text(fix))).collect();
            }
            reports.push(report);
        }
        reports
    }

    /// Returns what each fix of the failure of one rule changes, the best first, and the text of the file after it.
    #[cfg(feature = "lsp")]
    pub(in crate::commands) fn fixes_of(&self, document: &Document, rule: &RuleId) -> Vec<(String, String)> {
        let row = self.reviewer.review(document);
        let outcome = row.outcomes.iter().find(|outcome| *outcome.rule == *rule && is_bad(outcome.status));
        let Some((outcome, place)) = outcome.zip(ObjectPlace::of(&document.source, document)) else {
            return Vec::new();
        };
        let object = || FixedObject { document, place: place.clone(), value: document.value.clone() };
        let fixes = self.fixes(&object(), outcome);
        let made = fixes.into_iter().filter(|changes| !changes.is_empty()).filter_map(|changes| {
            let mut texts = FixedTexts::default();
            let is_made = self.make(&mut object(), &changes, &mut texts);
            is_made.then(|| (changes_text(&changes), texts.current(&document.source).text.clone()))
        });
        made.collect()
    }

    /// Makes the changes that rules would make to the object when it is stored.
    fn make_mutations(
        &self,
        object: &mut FixedObject<'_>,
        row: &ObjectRow,
        texts: &mut FixedTexts,
    ) -> Option<FixReport> {
        let (before, after) = row.objects.as_ref()?;
        let changes = value_changes(before, after);
        let rules: Vec<String> =
            row.outcomes.iter().filter(|row| row.is_patched()).map(|row| row.rule.to_string()).collect();
        let failure = format!("{} on {}", rules.join(", "), row.subject);
        let message = "the text cannot be changed safely".to_owned();
        let is_made = self.make(object, &changes, texts);
        let changes = is_made.then(|| changes_text(&changes));
        let file = row.location.file.to_string();
        Some(FixReport { file, rules, failure, changes, others: Vec::new(), message })
    }

    /// Returns the fixes of a failure that were judged to be enough, the best first.
    fn fixes(&self, object: &FixedObject<'_>, outcome: &OutcomeRow) -> Vec<Vec<FieldChange>> {
        let Some(rule) = self.reviewer.engine.rules().iter().find(|rule| rule.id == outcome.rule) else {
            return Vec::new();
        };
        let Some(written) = written_rule(rule) else { return Vec::new() };
        let part = autogen_part(&rule.id);
        let before = self.statuses(object.document, &object.value);
        if before.get(&outcome.rule).is_some_and(|status| !is_bad(*status)) {
            // Another fix has mended it already; nothing more is needed.
            return vec![Vec::new()];
        }
        let check =
            FailedCheck { rule: &written, message: &outcome.message, object: &object.value, part: &part };
        let mut fixes: Vec<Vec<FieldChange>> = Vec::new();
        for candidate in candidate_changes(check) {
            let is_enough =
                |changes: &[FieldChange]| self.is_enough(object, &outcome.rule, (&before, changes));
            if let Some(fix) = smallest_changes(&candidate, is_enough)
                && !fixes.contains(&fix)
            {
                fixes.push(fix);
            }
            if fixes.len() == MAX_CHOICES {
                break;
            }
        }
        fixes
    }

    /// Returns whether the rule does not fail after the changes, and no rule that did not fail does.
    fn is_enough(
        &self,
        object: &FixedObject<'_>,
        rule: &Arc<RuleId>,
        (before, changes): (&HashMap<Arc<RuleId>, RuleStatus>, &[FieldChange]),
    ) -> bool {
        let mut value = object.value.clone();
        if changes.iter().any(|change| change.apply(&mut value).is_none()) {
            return false;
        }
        let after = self.statuses(object.document, &value);
        let is_worse = |(id, status): (&Arc<RuleId>, &RuleStatus)| {
            is_bad(*status) && !before.get(id).is_some_and(|status| is_bad(*status))
        };
        after.get(rule).is_some_and(|status| !is_bad(*status)) && !after.iter().any(is_worse)
    }

    /// Returns what every rule says of `value` in place of the object of `document`.
    fn statuses(&self, document: &Document, value: &Value) -> HashMap<Arc<RuleId>, RuleStatus> {
        let row = self.reviewer.review(&judged_document(document, value.clone()));
        row.outcomes.into_iter().map(|outcome| (outcome.rule, outcome.status)).collect()
    }

    /// Makes changes in the text; returns whether all of them could be made.
    fn make(&self, object: &mut FixedObject<'_>, changes: &[FieldChange], texts: &mut FixedTexts) -> bool {
        let mut source = texts.current(&object.document.source);
        let mut value = object.value.clone();
        for change in changes {
            let Some(text) = edit_text(&source, &object.place, change) else { return false };
            if change.apply(&mut value).is_none() {
                return false;
            }
            source = Source::new(source.name.clone(), text);
        }
        texts.replace(&source);
        object.value = value;
        true
    }
}

fn is_bad(status: RuleStatus) -> bool {
    matches!(status, RuleStatus::Fail | RuleStatus::Warn | RuleStatus::Error)
}

fn failure_report(row: &ObjectRow, outcome: &OutcomeRow) -> FixReport {
    FixReport {
        file: row.location.file.to_string(),
        rules: vec![outcome.rule.to_string()],
        failure: format!("{} on {}", outcome.rule, row.subject),
        changes: None,
        others: Vec::new(),
        message: outcome.text(),
    }
}

fn changes_text(changes: &[FieldChange]) -> String {
    let texts: Vec<String> = changes.iter().map(ToString::to_string).collect();
    if texts.is_empty() { "the fix of another rule is enough".to_owned() } else { texts.join(", ") }
}

/// Returns the rule as it is written: an entry of `spec.rules`, or its whole document.
fn written_rule(rule: &Rule) -> Option<Value> {
    let position = rule.location.position;
    let documents = yaml::read(&rule.location.source).documents;
    let begins = |document: &&Document| document.positions.first().is_some_and(|first| first <= position);
    let document = documents.iter().rfind(begins)?;
    let path = document.path_at(position);
    let entry = path.iter().position(|step| *step == Step::from("rules")).and_then(|at| path.get(..at + 2));
    let entry = entry.and_then(|path| document.value.follow(path));
    Some(entry.unwrap_or(&document.value).clone())
}

/// Returns the way to the part of the object that a rule was written about.
fn autogen_part(id: &RuleId) -> Vec<Step> {
    let part = AUTOGEN_PARTS.iter().find(|(prefix, _)| id.rule.starts_with(prefix));
    part.map(|(_, keys)| keys.iter().map(|key| (*key).into()).collect()).unwrap_or_default()
}
