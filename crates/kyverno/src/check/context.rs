//! Checks of context entries.

use std::collections::HashSet;

use kubewright_value::{Step, Text};

use super::super::source::{ContextEntry, ContextSource, Foreach, Method, PolicySource, RuleSource};
use super::{PolicyChecks, code, variables};
use kubewright_dialect_kit::fields::{Located, child_path};

/// The names that are taken.
const RESERVED: [&str; 6] =
    ["images", "request", "serviceAccountName", "serviceAccountNamespace", "element", "elementIndex"];

/// Checks the context entries of a rule. Those of loops are only checked for unused names.
pub(super) fn check_context(findings: &mut PolicyChecks<'_>, policy: &PolicySource, rule: &RuleSource) {
    for entry in &rule.context {
        check_entry_name(findings, &entry.name);
        check_entry_source(findings, policy, entry);
    }
}

fn check_entry_name(findings: &mut PolicyChecks<'_>, name: &Located<Text>) {
    let first = name.value.split('.').next().unwrap_or_default();
    if RESERVED.contains(&first) {
        let message = format!("`{first}` is already the name of something else");
        findings.at(&code::RESERVED_NAME, &name.path, message, "choose another name");
    }
}

fn check_entry_source(findings: &mut PolicyChecks<'_>, policy: &PolicySource, entry: &ContextEntry) {
    match &entry.from {
        ContextSource::Variable { value, jmes_path, default } => {
            let path = child_path(&entry.path, "variable");
            if value.is_none() && jmes_path.is_none() {
                let help = "give `value`, or `jmesPath`, or both";
                findings.at_key(&code::BAD_VARIABLE, &path, "the variable has no value", help);
            } else if let (Some(default), None) = (default, jmes_path) {
                let message = "the default is never used, because `value` is always there";
                let help = "a default belongs to a `jmesPath` that may find nothing";
                findings.at_key(&code::BAD_VARIABLE, &default.path, message, help);
            }
        }
        ContextSource::ConfigMap { namespace: None, name } => {
            let message = format!("ConfigMap `{}` is in no namespace", name.value);
            findings.at(&code::NO_NAMESPACE, &name.path, message, "give its `namespace`");
        }
        ContextSource::ApiCall { url_path: Some(path), service: Some(_), .. } => {
            let message = "`urlPath` beside `service`";
            let help = "`urlPath` calls the API server, `service` calls another server";
            findings.at_key(&code::BAD_CALL, &path.path, message, help);
        }
        ContextSource::GlobalReference { .. } if policy.namespace.is_some() => {
            let path = child_path(&entry.path, "globalReference");
            let message = "a Policy in a namespace has no `globalReference`";
            findings.at_key(&code::NOT_IN_NAMESPACE, &path, message, "make it a ClusterPolicy");
        }
        _ => {}
    }
}

/// The largest text that is searched for names that are not whole words of a rule.
const MAX_SEARCHED_BYTES: usize = 32 << 20;

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// Reports entries whose name occurs nowhere else in the rule.
pub(super) fn report_unused_entries(findings: &mut PolicyChecks<'_>, rule: &RuleSource) {
    let entries = declared_entries(rule);
    let Some(value) = findings.value(&rule.path).filter(|_| !entries.is_empty()) else { return };
    let is_known: HashSet<&str> = entries.iter().map(|entry| entry.name.value.as_str()).collect();
    let names: HashSet<&[Step]> = entries.iter().map(|entry| entry.name.path.as_slice()).collect();
    let (mut elsewhere, mut words) = (String::new(), HashSet::new());
    variables::each_text(value, &mut rule.path.clone(), &mut |path, text| {
        if !names.contains(path) {
            elsewhere.push_str(text);
            elsewhere.push('\0');
            words.extend(
                text.split(|c: char| !is_of_word(c)).filter(|word| is_known.contains(word)).map(Text::new),
            );
        }
    });
    let mut searched = 0;
    for entry in entries {
        if words.contains(&entry.name.value) {
            continue;
        }
        // Of thousands of names that are not words, only some are reported.
        searched += elsewhere.len();
        if searched > MAX_SEARCHED_BYTES {
            return;
        }
        if !elsewhere.contains(entry.name.value.as_str()) {
            let message = format!("`{}` is never used", entry.name.value);
            findings.at(&code::UNUSED_VARIABLE, &entry.name.path, message, "remove the entry");
        }
    }
}

/// Returns the entries of a rule and of all its loops.
pub(super) fn declared_entries(rule: &RuleSource) -> Vec<&ContextEntry> {
    fn of_loops<'r>(method: &'r Method, entries: &mut Vec<&'r ContextEntry>) {
        match method {
            Method::Foreach(loops) => {
                for Foreach { context, method, .. } in loops {
                    entries.extend(context);
                    of_loops(method, entries);
                }
            }
            Method::Both(both) => both.iter().for_each(|one| of_loops(one, entries)),
            Method::Generate(generate) => {
                let loops = generate.downstreams.iter().filter_map(|one| one.each.as_ref());
                entries.extend(loops.flat_map(|each| &each.context));
            }
            Method::Mutate(mutate) => entries.extend(mutate.entries()),
            _ => {}
        }
    }
    let mut entries: Vec<&ContextEntry> = rule.context.iter().collect();
    of_loops(&rule.validate.method, &mut entries);
    entries
}
