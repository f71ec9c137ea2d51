//! Checks of variables, and of texts that look as if they had some.

use kubewright_engine::{Code, Diagnostic, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Location, Position, Step, Text, Value};

use super::super::source::{Method, MutateTarget, RuleSource};
use super::{PolicyChecks, code, context};
use kubewright_dialect_kit::bounded::MAX_DIAGNOSTICS;
use kubewright_dialect_kit::fields::{child_path, locate_within};

/// One variable of a rule.
#[derive(Debug, Clone)]
pub(in super::super) struct VariableUse<'a> {
    /// The text between the braces.
    pub(in super::super) text: &'a str,
    /// The names at the start of its paths: `request`, a context entry, `element` and so on.
    pub(in super::super) roots: &'a [Text],
    /// The path in the document, or that of a part that contains it.
    pub(in super::super) path: &'a [Step],
    /// Whether it is in a `foreach`.
    pub(in super::super) is_in_foreach: bool,
    /// Whether it is without braces in its own field, where it may have no value: a `list`, a `jmesPath`.
    pub(in super::super) is_bare: bool,
}

/// The variables that every rule has.
const GIVEN: [&str; 6] = ["request", "serviceAccountName", "serviceAccountNamespace", "images", "image", "@"];

/// The variables that only a request has, and a background scan lacks.
const USER: [&str; 5] = [
    "serviceAccountName",
    "serviceAccountNamespace",
    "request.userInfo",
    "request.roles",
    "request.clusterRoles",
];

/// Checks the variables of a rule; `is_background` is the setting of its policy.
pub(in super::super) fn check_variables(
    document: &Document,
    is_background: bool,
    rule: &RuleSource,
    uses: &[VariableUse<'_>],
) -> Vec<Diagnostic> {
    let entries = context::declared_entries(rule).into_iter();
    let mut declared: Vec<&str> = entries.map(|entry| entry.name.value.as_str()).collect();
    let targets = match &rule.validate.method {
        Method::Mutate(mutate) => mutate.targets.as_slice(),
        _ => &[],
    };
    if !targets.is_empty() {
        declared.push("target");
    }
    let mut findings = PolicyChecks::new(document);
    for one in uses {
        if !one.is_bare {
            check_element_variable(&mut findings, one);
        }
        if is_background && !one.is_bare {
            check_user_variable(&mut findings, one);
        }
        check_target_variable(&mut findings, one, targets);
        check_variable_root(&mut findings, one, &declared);
    }
    findings.diagnostics
}

fn check_element_variable(findings: &mut PolicyChecks<'_>, one: &VariableUse<'_>) {
    let Some(root) = one.roots.iter().find(|root| is_element(root)).filter(|_| !one.is_in_foreach) else {
        return;
    };
    let message = format!("`{root}` outside of a `foreach`");
    one.report(findings, &code::ELEMENT_OUTSIDE_FOREACH, message, "only a loop has elements");
}

fn check_user_variable(findings: &mut PolicyChecks<'_>, one: &VariableUse<'_>) {
    if let Some(word) = USER.into_iter().find(|word| has_word(one.text, word)) {
        let message = format!("a background scan has no user, so `{word}` does not exist");
        one.report(findings, &code::BACKGROUND_USER, message, "set `background: false`");
        findings.add_upstream_words(format!("variable {{{{{word}}}}} is not allowed"));
    }
}

/// What a target is found by cannot be read from the target.
fn check_target_variable(findings: &mut PolicyChecks<'_>, one: &VariableUse<'_>, targets: &[MutateTarget]) {
    // What a target is found by has the path of the target; its other parts have paths of their own.
    let is_found_by = |target: &MutateTarget| one.path == target.path.as_slice();
    if one.roots.iter().any(|root| root == "target") && targets.iter().any(is_found_by) {
        let message = format!("`{{{{ {} }}}}` is read before the target is found", one.text.trim());
        let help = "name targets by the object that triggers the rule: `request.object`";
        one.report(findings, &code::TARGET_NAMED_BY_ITSELF, message, help);
    }
}

fn check_variable_root(findings: &mut PolicyChecks<'_>, one: &VariableUse<'_>, declared: &[&str]) {
    let is_known = |root: &str| {
        GIVEN.contains(&root) || is_element(root) || declared.iter().any(|name| is_variable_name(root, name))
    };
    let Some(first) = one.roots.iter().find(|root| !is_known(root)) else { return };
    let message = match first.as_str() {
        "" => "`\"\"` is the key without a name, not an empty text".to_owned(),
        name => format!("`{name}` does not exist"),
    };
    let names = GIVEN.into_iter().filter(|name| *name != "@").chain(declared.iter().copied());
    let help = match nearest_word(first, names) {
        Some(near) => did_you_mean(near),
        None if first.is_empty() => "write `''`".to_owned(),
        None => "declare it in `context`, or put text into single quotes".to_owned(),
    };
    let may_work = one.is_bare || may_work(one.text, declared);
    let code = if may_work { &code::UNKNOWN_ROOT } else { &code::UNKNOWN_VARIABLE };
    one.report(findings, code, message, help);
}

/// Returns whether Kyverno accepts a variable: it searches it for known words.
fn may_work(text: &str, declared: &[&str]) -> bool {
    let words = ["request.", "serviceAccountName", "element", "@", "images", "image.", "("];
    let plain = text.replace('"', "");
    words.iter().any(|word| text.contains(word)) || declared.iter().any(|name| plain.starts_with(name))
}

impl VariableUse<'_> {
    /// Reports a mistake at the very place of the variable, as far as it can be found.
    fn report(
        &self,
        findings: &mut PolicyChecks<'_>,
        code: &'static Code,
        message: String,
        help: impl Into<String>,
    ) {
        // To find the very place, all texts of the rule are searched; more diagnostics than so many are not told.
        let location = match findings.diagnostics.len() < MAX_DIAGNOSTICS {
            true => self.locate(findings.document),
            false => findings.document.locate(self.path),
        };
        findings.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }

    fn locate(&self, document: &Document) -> Location {
        let mut found = None;
        if let Some(value) = document.value.follow(self.path) {
            each_text(value, &mut self.path.to_vec(), &mut |path, text| {
                if let Some(at) = text.find(self.text).filter(|_| found.is_none()) {
                    found = Some((path.to_vec(), Position::of(text, at)));
                }
            });
        }
        let length = u32::try_from(self.text.chars().count()).unwrap_or(1);
        match found {
            Some((path, position)) => locate_within(document, &path, position, length),
            None => document.locate(self.path),
        }
    }
}

fn is_element(root: &str) -> bool {
    root.strip_prefix("elementIndex")
        .or_else(|| root.strip_prefix("element"))
        .is_some_and(|rest| rest.chars().all(|character| character.is_ascii_digit()))
}

/// A dotted name is read as one key in quotes, or by its first part.
fn is_variable_name(root: &str, name: &str) -> bool {
    root == name || name.split('.').next() == Some(root)
}

/// Returns whether `word` occurs in `text`, not after a dot and not as a part of a longer word.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let after = text.get(at + word.len()..).and_then(|tail| tail.chars().next());
        before.is_none_or(|before| before != '.' && !is_part(before))
            && after.is_none_or(|after| !is_part(after))
    })
}

/// Reports texts of a rule in which `{{` is never closed, so that it stays as it is.
pub(super) fn braces(findings: &mut PolicyChecks<'_>, rule: &RuleSource) {
    for key in ["context", "preconditions", "validate", "mutate", "generate"] {
        let path = child_path(&rule.path, key);
        let Some(value) = findings.value(&path).cloned() else { continue };
        let mut found = Vec::new();
        each_text(&value, &mut path.clone(), &mut |path, text| {
            if text.rfind("{{").is_some_and(|at| text.get(at..).is_none_or(|rest| !rest.contains("}}"))) {
                found.push(path.to_vec());
            }
        });
        for path in found {
            let help = "close it with `}}`, or write `\\{{` for the braces themselves";
            findings.at(&code::UNRESOLVED_BRACES, &path, "`{{` is never closed, and stays as it is", help);
        }
    }
}

/// Shows `visit` every text in `value`, keys included, with its place; as deep as the document is.
pub(in super::super) fn each_text(value: &Value, path: &mut Vec<Step>, visit: &mut dyn FnMut(&[Step], &str)) {
    match value {
        Value::String(text) => visit(path, text),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                each_text(item, path, visit);
                path.pop();
            }
        }
        Value::Object(map) => {
            for (key, item) in map.iter() {
                path.push(Step::Key(key.clone()));
                visit(path, key);
                each_text(item, path, visit);
                path.pop();
            }
        }
        _ => {}
    }
}
