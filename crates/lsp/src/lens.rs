//! Code lenses over rules: what tests reach, and commands that run them, judge and trace.

use kubewright_engine::{Engine, RuleStatus};
use kubewright_report::CoveredRule;
use kubewright_report::ignores::fits_rule;
use lsp_types::{CodeLens, Command};
use serde_json::{Value as Json, json};

use crate::host::TracedOutcome;
use crate::manifests::{MAX_SEARCHED_FILES, judged_objects};
use crate::names::NameOccurrence;
use crate::workspace::EditorWorkspace;

/// The commands that the server runs.
pub(crate) const COMMANDS: [&str; 3] = [TEST_COMMAND, JUDGE_COMMAND, TRACE_COMMAND];

const TEST_COMMAND: &str = "kubewright.test";

const JUDGE_COMMAND: &str = "kubewright.judge";

const TRACE_COMMAND: &str = "kubewright.trace";

impl EditorWorkspace {
    /// Returns a lens over each rule of a file.
    pub(crate) fn code_lenses(&self, name: &str) -> Vec<CodeLens> {
        let Some(file) = self.files.get(name) else { return Vec::new() };
        if !self.project.has_rules(name) {
            return Vec::new();
        }
        let names = self.names();
        let here = |one: &&NameOccurrence| one.is_definition && one.file == name;
        let has_rules = |policy: &str| {
            names.iter().any(|one| one.is_definition && one.rule.is_some() && one.policy == policy)
        };
        // The name of a policy has a lens only where its rules have no names.
        let wanted = names.iter().filter(here).filter(|one| one.rule.is_some() || !has_rules(&one.policy));
        let mut lenses = Vec::new();
        for one in wanted {
            let start = self.unit.place(&file.source, one.line, 0);
            let range = lsp_types::Range { start, end: start };
            let id = match &one.rule {
                Some(rule) => format!("{}/{rule}", one.policy),
                None => one.policy.clone(),
            };
            let tested = self.tested.iter().find(|rule| is_rule(rule, &id));
            for (title, command) in [
                (tested_title(tested), TEST_COMMAND),
                ("judge manifests".to_owned(), JUDGE_COMMAND),
                ("trace".to_owned(), TRACE_COMMAND),
            ] {
                lenses.push(CodeLens {
                    range,
                    command: Some(Command {
                        title,
                        command: command.to_owned(),
                        arguments: Some(vec![json!(id)]),
                    }),
                    data: None,
                });
            }
        }
        lenses
    }

    /// Runs a command and returns its result.
    pub(crate) fn execute(&mut self, params: &Json) -> Json {
        let command = params.get("command").and_then(Json::as_str).unwrap_or_default();
        let id = params.pointer("/arguments/0").and_then(Json::as_str).unwrap_or_default().to_owned();
        match command {
            TEST_COMMAND => {
                self.tested = self.host.run_tests();
                let rule = self.tested.iter().find(|rule| is_rule(rule, &id));
                json!({ "rule": id, "title": tested_title(rule) })
            }
            JUDGE_COMMAND => self.judge_all(&id),
            TRACE_COMMAND => self.trace_rule(&id),
            _ => Json::Null,
        }
    }

    /// Judges all manifests of the project and returns what a rule says about each object.
    fn judge_all(&mut self, id: &str) -> Json {
        let mut outcomes = Vec::new();
        let names: Vec<String> = self.project.manifests.iter().cloned().collect();
        for name in names {
            for (_, row) in self.judge_file(&name) {
                let own = row.outcomes.iter().filter(|outcome| fits_rule(&outcome.rule, id));
                outcomes.extend(own.map(|outcome| {
                    json!({
                        "object": row.subject,
                        "file": name,
                        "status": outcome.status.name(),
                        "message": outcome.text(),
                    })
                }));
            }
        }
        json!({ "rule": id, "outcomes": outcomes })
    }

    /// Traces a rule on the object of the project's manifests that says most about it: the first that fails, else the
    /// first that passes, else the first that it skips.
    fn trace_rule(&mut self, id: &str) -> Json {
        let engine = Engine::sharing(self.rules_called(id));
        let mut best: Option<(String, TracedOutcome)> = None;
        for name in self.project.manifests.iter().take(MAX_SEARCHED_FILES) {
            let objects = judged_objects(self.documents_of(name));
            for outcome in objects.flat_map(|object| self.host.trace(&engine, &object)) {
                if best.as_ref().is_none_or(|(_, known)| weight(outcome.status) > weight(known.status)) {
                    best = Some((name.clone(), outcome));
                }
            }
            if best.as_ref().is_some_and(|(_, known)| known.status == RuleStatus::Fail) {
                break;
            }
        }
        match best {
            Some((file, TracedOutcome { object, text, .. })) => {
                json!({ "rule": id, "object": object, "file": file, "text": text })
            }
            None => json!({
                "rule": id,
                "text": format!("no object of the project's manifests is in the scope of {id}\n"),
            }),
        }
    }
}

/// Returns how much an outcome says about a rule.
fn weight(status: RuleStatus) -> u8 {
    match status {
        RuleStatus::Fail => 4,
        RuleStatus::Error => 3,
        RuleStatus::Warn => 2,
        RuleStatus::Pass => 1,
        RuleStatus::Skip => 0,
    }
}

/// Returns whether coverage is about the rule called `policy/rule`.
fn is_rule(rule: &CoveredRule, id: &str) -> bool {
    rule.rule.split_once('/').is_some_and(|(_, short)| short == id)
}

fn tested_title(rule: Option<&CoveredRule>) -> String {
    match rule {
        None => "not tested · run tests".to_owned(),
        Some(rule) if rule.branches.is_empty() => {
            let word = if rule.is_exercised { "tested" } else { "not tested" };
            format!("{word} · run tests")
        }
        Some(rule) => {
            let reached = rule.branches.iter().filter(|branch| branch.is_exercised).count();
            format!("tested {reached} of {} branches · run tests", rule.branches.len())
        }
    }
}
