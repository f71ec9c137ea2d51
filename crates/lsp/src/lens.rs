//! Code lenses over rules: what tests reach, and commands that run and trace.

use kubewright_report::CoveredRule;
use lsp_types::{CodeLens, Command};
use serde_json::{Value as Json, json};

use crate::names::NameOccurrence;
use crate::workspace::EditorWorkspace;

/// The commands that the server runs.
pub(crate) const COMMANDS: [&str; 2] = [TEST_COMMAND, JUDGE_COMMAND];

const TEST_COMMAND: &str = "kubewright.test";

const JUDGE_COMMAND: &str = "kubewright.judge";

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
            for (title, command) in
                [(tested_title(tested), TEST_COMMAND), ("judge manifests".to_owned(), JUDGE_COMMAND)]
            {
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
            _ => Json::Null,
        }
    }

    /// Judges all manifests of the project and returns what a rule says about each object.
    fn judge_all(&mut self, id: &str) -> Json {
        let mut outcomes = Vec::new();
        let names: Vec<String> = self.project.manifests.iter().cloned().collect();
        for name in names {
            for (_, row) in self.judge_file(&name) {
                let own = row.outcomes.iter().filter(|outcome| outcome.rule.short() == id);
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
