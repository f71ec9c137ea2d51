//! Code actions: the right word, a fix of a manifest, an exception for an object, and a test of what happens now.

use kubewright_engine::{Diagnostic, RuleId};
use kubewright_report::{ObjectRow, OutcomeRow};
use kubewright_value::{Document, Map, Source, Value, yaml};
use lsp_types::{CodeAction, CodeActionKind, Range, TextEdit};
use serde_json::{Value as Json, json};

use crate::manifests::is_problem;
use crate::protocol::{document_address, request_range, whole_range};
use crate::workspace::EditorWorkspace;

/// The maximum number of failures for which fixes are looked for at once.
const MAX_FIXED_FAILURES: usize = 8;

impl EditorWorkspace {
    /// Returns what can be done about the lines of a request.
    pub(crate) fn code_actions(&mut self, name: &str, params: &Json) -> Vec<Json> {
        let Some(range) = request_range(params) else { return Vec::new() };
        let lines = range.start.line..=range.end.line;
        let mut actions: Vec<Json> = Vec::new();
        for diagnostic in self.lint(name) {
            if lines.contains(&diagnostic.location.position.line.saturating_sub(1)) {
                actions.extend(self.corrected_word(name, &diagnostic));
            }
        }
        let Some((object, row)) = self.judged_at(name, range.start.line.saturating_add(1)) else {
            return actions;
        };
        let is_here = |outcome: &&OutcomeRow| {
            is_problem(outcome) && lines.contains(&outcome.position.line.saturating_sub(1))
        };
        for outcome in row.outcomes.iter().filter(is_here).take(MAX_FIXED_FAILURES) {
            actions.extend(self.fix_actions(name, &object, &outcome.rule));
            actions.extend(self.exception_action(&row, &outcome.rule));
            actions.extend(self.ignore_action(name, &object, outcome));
        }
        actions.extend(self.test_action(&row));
        actions
    }

    /// Returns the action that writes the right word.
    fn corrected_word(&self, name: &str, diagnostic: &Diagnostic) -> Option<Json> {
        let (word, right) = diagnostic.correction()?;
        let source = &self.files.get(name)?.source;
        let range = self.unit.range(source, diagnostic.location.position, diagnostic.location.length);
        let edit = TextEdit { range, new_text: right.clone() };
        Some(self.edit_action(&format!("replace `{word}` by `{right}`"), name, &edit, true))
    }

    /// Returns an action for each change that makes a rule pass.
    fn fix_actions(&self, name: &str, object: &Document, rule: &RuleId) -> Vec<Json> {
        let Some((engine, file)) = self.engine().zip(self.files.get(name)) else { return Vec::new() };
        let fixes = self.host.fixes(engine, object, rule);
        let actions = fixes.into_iter().enumerate().filter_map(|(place, fix)| {
            let edit = self.smallest_edit(&file.source, &fix.text)?;
            Some(self.edit_action(&format!("fix: {}", fix.title), name, &edit, place == 0))
        });
        actions.collect()
    }

    /// Returns the edit that makes a text another one, of the lines that differ.
    fn smallest_edit(&self, source: &Source, text: &str) -> Option<TextEdit> {
        if source.text == text {
            return None;
        }
        let (old, new): (Vec<&str>, Vec<&str>) =
            (source.text.split_inclusive('\n').collect(), text.split_inclusive('\n').collect());
        let same =
            |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(a, b)| a == b).count();
        let head = same(&mut old.iter().zip(&new));
        let most = old.len().min(new.len()) - head;
        let tail = same(&mut old.iter().rev().zip(new.iter().rev()).take(most));
        let place = |line: usize| lsp_types::Position { line: crate::encoding::to_u32(line), character: 0 };
        let end = match old.len() - tail {
            line if line == old.len() => whole_range(&source.text).end,
            line => place(line),
        };
        let changed = new.get(head..new.len() - tail).unwrap_or_default().concat();
        Some(TextEdit { range: Range { start: place(head), end }, new_text: changed })
    }

    /// Returns the action that writes a comment by which a rule is ignored for an object.
    fn ignore_action(&self, name: &str, object: &Document, outcome: &OutcomeRow) -> Option<Json> {
        if name.ends_with(".json") {
            return None;
        }
        let line = object.positions.first()?.line.saturating_sub(1);
        let start = lsp_types::Position { line, character: 0 };
        let rule = outcome.rule.short();
        let new_text = format!("# kubewright: ignore {rule}: state the reason here\n");
        let edit = TextEdit { range: Range { start, end: start }, new_text };
        let column = object.positions.first()?.column;
        // An item of a list has no line of its own above it.
        (column == 1)
            .then(|| self.edit_action(&format!("ignore `{rule}` for this object"), name, &edit, false))
    }

    /// Returns the action that writes a PolicyException for an object.
    fn exception_action(&self, row: &ObjectRow, rule: &RuleId) -> Option<Json> {
        let value = exception_value(row, rule)?;
        let folder = self.project.outline.exceptions.first();
        let folder = folder.filter(|folder| !folder.ends_with(".yaml")).map_or("exceptions", String::as_str);
        let file = format!("{folder}/{}.yaml", value.str_at(&["metadata", "name"]));
        let title = format!("write a PolicyException from `{}` for {}", rule.short(), row.subject);
        self.new_file_action(&title, &file, &yaml::write(&value))
    }

    /// Returns the action that writes a test of what the rules say about an object.
    fn test_action(&self, row: &ObjectRow) -> Option<Json> {
        let mut files: Vec<String> = Vec::new();
        for outcome in &row.outcomes {
            let file = outcome.rule_location.as_ref().map(|location| location.source.name.clone());
            files.extend(file.filter(|file| !files.contains(file)));
        }
        let test = (!files.is_empty()).then(|| self.host.new_test(&files, row))?;
        self.new_file_action(&format!("write a test of {}", row.subject), &test.file, &test.text)
    }

    fn edit_action(&self, title: &str, name: &str, edit: &TextEdit, is_preferred: bool) -> Json {
        let uri = document_address(&self.root, name);
        let address = uri.as_ref().map(|uri| uri.as_str()).unwrap_or_default();
        let mut action = to_action(title, CodeActionKind::QUICKFIX);
        action.is_preferred = Some(is_preferred);
        let mut action = serde_json::to_value(action).unwrap_or_default();
        if let Some(fields) = action.as_object_mut() {
            fields.insert("edit".to_owned(), json!({ "changes": { address: [edit] } }));
        }
        action
    }

    /// Returns the action that writes a new file; nothing where the file exists.
    fn new_file_action(&self, title: &str, file: &str, text: &str) -> Option<Json> {
        if self.root.join(file).exists() {
            return None;
        }
        let uri = document_address(&self.root, file)?;
        let mut action = serde_json::to_value(to_action(title, CodeActionKind::REFACTOR)).ok()?;
        let edit = TextEdit { range: Range::default(), new_text: text.to_owned() };
        let changes = json!([
            { "kind": "create", "uri": uri, "options": { "ignoreIfExists": true } },
            { "textDocument": { "uri": uri, "version": null }, "edits": [edit] },
        ]);
        action.as_object_mut()?.insert("edit".to_owned(), json!({ "documentChanges": changes }));
        Some(action)
    }
}

fn to_action(title: &str, kind: CodeActionKind) -> CodeAction {
    CodeAction { title: title.to_owned(), kind: Some(kind), ..CodeAction::default() }
}

/// Returns a PolicyException from a rule for an object; nothing for a language without exceptions.
fn exception_value(row: &ObjectRow, rule: &RuleId) -> Option<Value> {
    let name = format!("{}-{}", rule.policy, row.name).to_lowercase();
    let mut metadata = Map::from([("name", Value::from(name))]);
    if !row.namespace.is_empty() {
        metadata.insert("namespace".into(), row.namespace.clone().into());
    }
    let text = |text: &str| Value::from(text);
    let mut resources = Map::from([
        ("kinds", Value::array(vec![text(&row.kind)])),
        ("names", Value::array(vec![text(&row.name)])),
    ]);
    if !row.namespace.is_empty() {
        resources.insert("namespaces".into(), Value::array(vec![text(&row.namespace)]));
    }
    let (api_version, spec) = match rule.dialect {
        "kyverno" => {
            let exception = Map::from([
                ("policyName", text(&rule.policy)),
                ("ruleNames", Value::array(vec![text(&rule.rule)])),
            ]);
            let any = Map::from([("resources", resources.into())]);
            let found = Map::from([("any", Value::array(vec![any.into()]))]);
            let exceptions = Value::array(vec![exception.into()]);
            ("kyverno.io/v2", Map::from([("exceptions", exceptions), ("match", found.into())]))
        }
        "vpol" | "mpol" | "ivpol" => {
            let kind = match rule.dialect {
                "vpol" => "ValidatingPolicy",
                "mpol" => "MutatingPolicy",
                _ => "ImageValidatingPolicy",
            };
            let reference = Map::from([("name", text(&rule.policy)), ("kind", text(kind))]);
            let expression = format!("object.metadata.name == '{}'", row.name);
            let condition = Map::from([("name", text("this-object")), ("expression", expression.into())]);
            (
                "policies.kyverno.io/v1",
                Map::from([
                    ("policyRefs", Value::array(vec![reference.into()])),
                    ("matchConditions", Value::array(vec![condition.into()])),
                ]),
            )
        }
        _ => return None,
    };
    let exception = Map::from([
        ("apiVersion", text(api_version)),
        ("kind", text("PolicyException")),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
    ]);
    Some(exception.into())
}
