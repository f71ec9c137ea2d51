//! Checks of mutate rules: what Kyverno refuses, and what never does what its author wants.

use kubewright_value::{Position, Text, Value};

use super::super::mutate::operations::{WrittenOperation, read_operations};
use super::super::source::{Mutate, MutateForeach, MutatePatch, PolicySource};
use super::{PolicyChecks, code, conditions};
use kubewright_dialect_kit::fields::{Located, article, child_path, locate_within};
use kubewright_engine::Diagnostic;

/// Checks the `mutate` of a rule.
pub(super) fn check_mutate(findings: &mut PolicyChecks<'_>, policy: &PolicySource, mutate: &Mutate) {
    if !policy.settings.is_admission {
        let message = "a policy with `admission: false` cannot change objects";
        let help = "remove `admission: false`, or move the rule to another policy";
        findings.at_key(&code::NOT_HERE, &mutate.path, message, help);
    }
    if mutate.is_run_on_policy_update == Some(true) && mutate.targets.is_empty() {
        let message = "`mutateExistingOnPolicyUpdate` in a rule without `targets`";
        let help = "add `targets`, or remove it: the rule changes only the objects of requests";
        findings.at_key(&code::NO_TARGETS, &mutate.path, message, help);
    }
    for target in &mutate.targets {
        if let (Some(home), Some(namespace)) = (&policy.namespace, &target.namespace)
            && namespace.value != *home
        {
            let message = format!("the target is in `{}`, and the policy in `{home}`", namespace.value);
            let help = "a Policy changes only objects of its own namespace";
            findings.at(&code::NOT_IN_NAMESPACE, &namespace.path, message, help);
        }
        if let Some(found) = &target.preconditions {
            conditions::check_conditions(findings, found, conditions::ConditionPlace::Loop);
        }
    }
    check_patch(findings, &mutate.patch, false);
}

fn check_patch(findings: &mut PolicyChecks<'_>, patch: &MutatePatch, is_in_loop: bool) {
    match patch {
        MutatePatch::StrategicMerge(patch) => check_strategic_merge(findings, patch),
        MutatePatch::Json6902(text) => check_operations(findings, text, is_in_loop),
        MutatePatch::Foreach(loops) => loops.iter().for_each(|one| check_mutate_foreach(findings, one)),
    }
}

fn check_mutate_foreach(findings: &mut PolicyChecks<'_>, one: &MutateForeach) {
    if let Some(found) = &one.preconditions {
        conditions::check_conditions(findings, found, conditions::ConditionPlace::Loop);
    }
    check_patch(findings, &one.patch, true);
}

fn check_strategic_merge(findings: &mut PolicyChecks<'_>, patch: &Located<Value>) {
    if patch.value.as_object().is_none() {
        let message = format!("the patch is {}, expected an object", article(patch.value.kind()));
        findings.at(&code::BAD_PATCH, &patch.path, message, "a patch looks like the object that it changes");
    }
    for key in ["labels", "annotations"] {
        let path = child_path(&child_path(&patch.path, "metadata"), key);
        let Some(map) = findings.document.value.follow(&path).and_then(Value::as_object).cloned() else {
            continue;
        };
        for (name, value) in map.iter().filter(|(_, value)| value.as_str().is_none()) {
            let message = format!("`{name}` is set to {}, and {key} are texts", article(value.kind()));
            let help = match value {
                Value::Null => "remove it with `patchesJson6902`, or with a variable that is null",
                _ => "put it in quotes",
            };
            findings.at(&code::LABEL_NOT_TEXT, &child_path(&path, name.as_str()), message, help);
        }
    }
}

fn check_operations(findings: &mut PolicyChecks<'_>, text: &Located<Text>, is_in_loop: bool) {
    let operations = match read_operations(&text.value) {
        Ok(operations) => operations,
        Err(problem) => {
            let help = "a patch is a list of `{op, path, value}`, as in RFC 6902";
            return report(findings, text, problem.position, problem.message, help);
        }
    };
    for operation in operations.iter().filter(|_| !is_in_loop) {
        check_paths(findings, text, operation);
    }
}

/// Outside of a loop a path has no variables.
fn check_paths(findings: &mut PolicyChecks<'_>, text: &Located<Text>, operation: &WrittenOperation) {
    for path in [Some(&operation.path), operation.from.as_ref()].into_iter().flatten() {
        if path.contains("{{") {
            let message = format!("the path `{path}` has a variable, which only a `foreach` supports");
            report(findings, text, operation.position, message, "put the patch into a `foreach`");
        }
    }
}

/// Reports a mistake at a position of the text of a patch.
fn report(
    findings: &mut PolicyChecks<'_>,
    text: &Located<Text>,
    position: Position,
    message: String,
    help: &str,
) {
    let location = locate_within(findings.document, &text.path, position, 1);
    findings.diagnostics.push(Diagnostic::new(&code::BAD_PATCH, message, location).help(help));
}
