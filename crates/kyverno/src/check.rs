//! Checks of a policy before it evaluates an object.
//!
//! Kyverno drops a whole policy for one mistake. Here the rule that has it is left out, and its neighbours run;
//! only a mistake in the policy itself stops them all.

mod cleanup;
mod conditions;
mod context;
mod generate;
mod images;
mod kinds;
mod matching;
mod mutate;
mod mutate_lint;
mod pattern;
mod pattern_fields;
mod pod_security;
mod variables;

pub(super) use cleanup::check_cleanup_policy;
pub(super) use variables::{VariableUse, check_variables, each_text};

use std::collections::HashSet;

use kubewright_engine::{Code, Diagnostic, nearest_word};
use kubewright_golib::glob;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Budget, Document, Limits, Step, Text, Value};

use super::diagnostics as code;
use super::source::{ActionOverride, ExceptionSource, Foreach, Method, PolicySource, RuleSource};
use kubewright_dialect_kit::fields::{Located, child_path};

const NAME_LIMIT: usize = 63;

/// Checks `policy`; a rule with an error moves to [`Policy::broken`]. Without `has_warnings`, checks that find nothing else are
/// left out.
pub(super) fn check_policy(
    document: &Document,
    policy: &mut PolicySource,
    has_warnings: bool,
) -> Vec<Diagnostic> {
    let mut findings = PolicyChecks { has_warnings, ..PolicyChecks::new(document) };
    check_policy_settings(&mut findings, policy);
    let fatal = findings.first_error(0);
    // A mistake in the settings does not hide those of the rules.
    for rule in policy.broken.iter().filter_map(|broken| broken.rule.as_deref()) {
        check_rule(&mut findings, policy, rule);
    }
    let mut names = HashSet::new();
    let mut kept = Vec::new();
    for rule in std::mem::take(&mut policy.rules) {
        let mark = findings.diagnostics.len();
        if !names.insert(rule.name.value.clone()) {
            let message = format!("another rule of this policy is named `{}`", rule.name.value);
            findings.at(&code::DUPLICATE_RULE, &rule.name.path, message, "give one of the two another name");
        }
        check_rule(&mut findings, policy, &rule);
        match fatal.clone().or_else(|| findings.first_error(mark)) {
            None => kept.push(rule),
            Some(message) => policy.broken.push(rule.broken(message)),
        }
    }
    policy.rules = kept;
    findings.diagnostics
}

/// Returns the diagnostics of an exception, and whether it can be used.
pub(super) fn check_exception(document: &Document, exception: &ExceptionSource) -> (Vec<Diagnostic>, bool) {
    let mut findings = PolicyChecks::new(document);
    matching::check_match_shape(&mut findings, &exception.matching, None);
    if exception.is_background {
        matching::users(&mut findings, &exception.matching);
    }
    if let Some(found) = &exception.conditions {
        conditions::check_conditions(&mut findings, found, conditions::ConditionPlace::Loop);
    }
    exception
        .pod_security
        .iter()
        .for_each(|exclusion| pod_security::check_control_exclusion(&mut findings, exclusion));
    let is_usable = findings.first_error(0).is_none();
    (findings.diagnostics, is_usable)
}

/// Returns a warning for every policy and rule that `exception` names and that does not exist.
///
/// `known` has the name of each policy, `namespace/name` in a namespace, with its rules, rewritten ones included.
pub(super) fn unfitting(
    document: &Document,
    exception: &ExceptionSource,
    known: &[(Text, Vec<Text>)],
) -> Vec<Diagnostic> {
    let mut findings = PolicyChecks::new(document);
    let list = child_path(&exception.path, "exceptions");
    for (index, (policy, rules)) in exception.policies.iter().enumerate() {
        let item = child_path(&list, index);
        let Some((_, names)) = known.iter().find(|(name, _)| name == policy) else {
            let message = format!("there is no policy `{policy}`");
            let near = nearest_word(policy, known.iter().map(|(name, _)| name.as_str()));
            let named = || "a Policy in a namespace is named `namespace/name`".to_owned();
            let help = near.map_or_else(named, did_you_mean);
            findings.at(&code::EXCEPTION_FITS_NOTHING, &child_path(&item, "policyName"), message, help);
            continue;
        };
        for (at, rule) in rules.iter().enumerate() {
            if !names.iter().any(|name| wildcard_matches_name(rule, name)) {
                let message = format!("policy `{policy}` has no rule `{rule}`");
                let path = child_path(&child_path(&item, "ruleNames"), at);
                findings.at(&code::EXCEPTION_FITS_NOTHING, &path, message, "");
            }
        }
    }
    findings.diagnostics
}

/// The diagnostics found so far.
struct PolicyChecks<'d> {
    document: &'d Document,
    diagnostics: Vec<Diagnostic>,
    /// Whether checks that find no errors are made.
    has_warnings: bool,
}

impl<'d> PolicyChecks<'d> {
    fn new(document: &'d Document) -> Self {
        Self { document, diagnostics: Vec::new(), has_warnings: true }
    }

    /// Reports a mistake in the value at `path`.
    fn at(
        &mut self,
        code: &'static Code,
        path: &[Step],
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let location = self.document.locate(path);
        self.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }

    /// Gives the last mistake the words in which Kyverno reports it.
    fn add_upstream_words(&mut self, words: String) {
        if let Some(last) = self.diagnostics.last_mut() {
            last.upstream_words = Some(Box::new(words.into()));
        }
    }

    /// Reports a mistake in the key that ends `path`.
    fn at_key(
        &mut self,
        code: &'static Code,
        path: &[Step],
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let location = self.document.locate_key(path);
        self.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }

    /// Returns the message of the first error after `mark`.
    fn first_error(&self, mark: usize) -> Option<String> {
        let found = self.diagnostics.iter().skip(mark).find(|diagnostic| diagnostic.is_error());
        found.map(|diagnostic| diagnostic.message.clone())
    }

    fn value(&self, path: &[Step]) -> Option<&Value> {
        self.document.value.follow(path).filter(|value| !value.is_null())
    }
}

/// Checks the settings of all rules.
fn check_policy_settings(findings: &mut PolicyChecks<'_>, policy: &PolicySource) {
    long_name(findings, &policy.name, "policy");
    let spec = child_path(&[], "spec");
    let namespace = child_path(&child_path(&[], "metadata"), "namespace");
    if policy.namespace.is_none()
        && findings.value(&namespace).is_some_and(|value| value.as_str() != Some(""))
    {
        let message = "a ClusterPolicy is in no namespace";
        let help = "remove `namespace`, or make it a Policy, which matches only objects of its namespace";
        findings.at_key(&code::CLUSTER_NAMESPACE, &namespace, message, help);
    }
    if let Some(text) = policy.annotations.autogen_controllers.as_ref().filter(|text| text.value == "all") {
        let help = "remove the annotation: without it, rules are rewritten for all controllers";
        findings.at(&code::AUTOGEN_ALL, &text.path, "`all` is not understood any more", help);
    }
    if !policy.settings.is_admission && !policy.settings.is_background {
        let message = "the policy runs neither at admission nor in the background";
        let help = "leave out one of `admission: false` and `background: false`";
        findings.at_key(&code::NEVER_RUNS, &child_path(&spec, "admission"), message, help);
    }
    let key = child_path(&spec, "validationFailureActionOverrides");
    if policy.namespace.is_some() && !policy.settings.failure_action_overrides.is_empty() {
        let message = "a Policy is in one namespace and has no overrides";
        findings.at_key(&code::NOT_IN_NAMESPACE, &key, message, "set `validationFailureAction`");
    }
    check_action_overrides(findings, policy, &policy.settings.failure_action_overrides);
    check_webhook_configuration(findings, &spec);
}

fn long_name(findings: &mut PolicyChecks<'_>, name: &Located<Text>, what: &str) {
    if name.value.len() > NAME_LIMIT {
        let message = format!("the name of the {what} has {} characters", name.value.chars().count());
        let help =
            format!("names have at most {NAME_LIMIT} characters, because reports store them in labels");
        findings.at(&code::LONG_NAME, &name.path, message, help);
    }
}

/// How many overrides are compared with each other; each is with all before it.
const MAX_COMPARED_OVERRIDES: usize = 500;

fn check_action_overrides(
    findings: &mut PolicyChecks<'_>,
    policy: &PolicySource,
    overrides: &[ActionOverride],
) {
    if policy.namespace.is_some() {
        return;
    }
    for (index, later) in overrides.iter().enumerate().take(MAX_COMPARED_OVERRIDES) {
        let earlier = overrides.iter().take(index).filter(|earlier| earlier.action != later.action);
        let clash = earlier.flat_map(|earlier| &earlier.namespaces).find_map(|one| {
            later
                .namespaces
                .iter()
                .position(|other| wildcard_matches_name(one, other) || wildcard_matches_name(other, one))
                .map(|at| (one, at))
        });
        if let Some((one, at)) = clash {
            let path = child_path(&child_path(&later.path, "namespaces"), at);
            let message = format!("`{one}` has another action further up");
            findings.at(
                &code::CONFLICTING_OVERRIDES,
                &path,
                message,
                "name every namespace under one action",
            );
        }
    }
}

fn check_webhook_configuration(findings: &mut PolicyChecks<'_>, spec: &[Step]) {
    let webhook = child_path(spec, "webhookConfiguration");
    let pairs = [("webhookTimeoutSeconds", "timeoutSeconds"), ("failurePolicy", "failurePolicy")];
    for (old, new) in pairs {
        let (old, new) = (child_path(spec, old), child_path(&webhook, new));
        if findings.value(&old).is_some() && findings.value(&new).is_some() {
            let message = "the same setting is also in `webhookConfiguration`";
            findings.at_key(&code::BAD_WEBHOOK, &old, message, "keep only the one in `webhookConfiguration`");
        }
    }
    for path in [child_path(spec, "webhookTimeoutSeconds"), child_path(&webhook, "timeoutSeconds")] {
        let seconds = findings.value(&path).map(|value| value.as_i64());
        if seconds.is_some_and(|seconds| seconds.is_none_or(|seconds| !(1..=30).contains(&seconds))) {
            findings.at(&code::BAD_WEBHOOK, &path, "a timeout is from 1 to 30 seconds", "");
        }
    }
    let old = child_path(spec, "generateExistingOnPolicyUpdate");
    if findings.value(&old).is_some() {
        let message = "`generateExistingOnPolicyUpdate` was removed";
        findings.at_key(&code::BAD_WEBHOOK, &old, message, "use `generateExisting`");
    }
}

fn check_rule(findings: &mut PolicyChecks<'_>, policy: &PolicySource, rule: &RuleSource) {
    long_name(findings, &rule.name, "rule");
    if rule.name.value.starts_with("autogen-") {
        let message =
            format!("`{}` is named like a rule that was rewritten for controllers", rule.name.value);
        let help = "choose another name: it is never rewritten, and Kyverno may leave it out";
        findings.at(&code::AUTOGEN_NAME, &rule.name.path, message, help);
    }
    if rule.name.value.contains("{{") {
        let message = "nothing is put into the name of a rule";
        findings.at(&code::UNRESOLVED_BRACES, &rule.name.path, message, "");
    }
    matching::check_match(findings, policy, rule);
    context::check_context(findings, policy, rule);
    if let Some(found) = &rule.preconditions {
        conditions::check_conditions(findings, found, conditions::ConditionPlace::Rule);
    }
    check_action_overrides(findings, policy, &rule.validate.failure_action_overrides);
    check_field_combinations(findings, rule);
    check_method(findings, &rule.validate.method, conditions::ConditionPlace::Rule);
    generate::check_generate(findings, policy, rule);
    if let Method::Mutate(found) = &rule.validate.method {
        mutate::check_mutate(findings, policy, found);
    }
    images::check_image_action(findings, policy, rule);
    if findings.has_warnings {
        warn_about_rule(findings, rule);
    }
}

/// Makes the checks that find no errors.
fn warn_about_rule(findings: &mut PolicyChecks<'_>, rule: &RuleSource) {
    context::report_unused_entries(findings, rule);
    pattern_fields::check_pattern_fields(findings, rule);
    if let Method::Mutate(found) = &rule.validate.method {
        mutate_lint::lint_mutate(findings, rule, found);
    }
    variables::braces(findings, rule);
}

/// Checks fields that only go with some others.
fn check_field_combinations(findings: &mut PolicyChecks<'_>, rule: &RuleSource) {
    let is_images = matches!(rule.validate.method, Method::Images(_));
    let is_cel = matches!(rule.validate.method, Method::Cel(_));
    let mut not_here = |key: &str, is_wrong: bool, message: &str| {
        let path = child_path(&rule.path, key);
        if is_wrong && findings.value(&path).is_some() {
            findings.at_key(&code::NOT_HERE, &path, message, "");
        }
    };
    not_here("celPreconditions", !is_cel, "`celPreconditions` only go with `validate.cel`");
    not_here("context", is_cel, "`context` does not go with `validate.cel`, which cannot see it");
    not_here("imageExtractors", !is_images, "`imageExtractors` only go with `verifyImages`");
}

fn check_method(findings: &mut PolicyChecks<'_>, method: &Method, place: conditions::ConditionPlace) {
    match method {
        Method::Pattern(found) => pattern::check_pattern(findings, found),
        Method::AnyPattern(found) => {
            for (index, item) in found.value.as_array().unwrap_or_default().iter().enumerate() {
                pattern::check_pattern(
                    findings,
                    &Located { value: item.clone(), path: child_path(&found.path, index) },
                );
            }
        }
        Method::Deny(Some(found)) => conditions::check_conditions(findings, found, place),
        Method::Foreach(loops) => loops.iter().for_each(|each| check_foreach(findings, each)),
        Method::Both(both) => both.iter().for_each(|one| self::check_method(findings, one, place)),
        Method::PodSecurity(found) => pod_security::check_pod_security(findings, found),
        // Checked with the rest of the rule.
        Method::Mutate(_) | Method::Generate(_) => {}
        Method::Images(found) => images::check_images(findings, found),
        Method::Deny(None) | Method::Cel(_) | Method::Manifests(_) => {}
    }
}

fn check_foreach(findings: &mut PolicyChecks<'_>, each: &Foreach) {
    if let Some(found) = &each.preconditions {
        conditions::check_conditions(findings, found, conditions::ConditionPlace::Loop);
    }
    check_method(findings, &each.method, conditions::ConditionPlace::Loop);
}

/// Returns whether a wildcard fits a name.
fn wildcard_matches_name(pattern: &str, text: &str) -> bool {
    let mut budget = Budget::new(Limits::default());
    glob::matches_wildcard(pattern, text, &mut budget).unwrap_or(false)
}

#[cfg(test)]
mod tests;
