//! The policies of a test: their documents and compiled rules.

use std::sync::Arc;

use kubewright_dialects::SharedRegexes;
use kubewright_engine::{Diagnostic, Dialect, Engine, Rule, RuleAction, RuleId, nearest_word};
use kubewright_value::{Document, Text, Value};

use super::super::library::CachedFile;
use crate::fixtures::is_rule;

/// Supported kinds of policies that are a single rule.
const SUPPORTED_KINDS: &[&str] = &[
    "ValidatingPolicy",
    "NamespacedValidatingPolicy",
    "ValidatingAdmissionPolicy",
    "GeneratingPolicy",
    "NamespacedGeneratingPolicy",
    "DeletingPolicy",
    "NamespacedDeletingPolicy",
    "CleanupPolicy",
    "ClusterCleanupPolicy",
    "MutatingPolicy",
    "NamespacedMutatingPolicy",
    "MutatingAdmissionPolicy",
    "ImageValidatingPolicy",
    "NamespacedImageValidatingPolicy",
];
/// The default evaluation mode.
const KUBERNETES: &str = "Kubernetes";
/// The methods of validate rules.
const METHODS: &[&str] = &["pattern", "anyPattern", "deny", "foreach", "cel", "podSecurity", "manifests"];

/// A policy.
pub(super) struct TestPolicy {
    pub(super) name: Text,
    /// Empty for a policy about the whole cluster.
    pub(super) namespace: Text,
    kind: Text,
    /// Its evaluation mode.
    mode: Text,
    parts: Vec<TestPolicyRule>,
    /// All its rules.
    pub(super) engine: Engine,
    /// Its rules that change the object under review, if it has any.
    pub(super) changing: Option<Engine>,
    /// Its other rules, if it has both.
    pub(super) judging: Option<Engine>,
    diagnostics: Vec<Diagnostic>,
}

/// A rule as in the policy document.
#[derive(Debug, Clone)]
pub(super) struct TestPolicyRule {
    /// Empty for a policy that is one rule.
    pub(super) name: Text,
    /// `validate`, `mutate`, … or the kind of a policy that is one rule.
    pub(super) sort: Text,
    /// The rule language.
    pub(super) dialect: &'static str,
    /// The method of a validate rule.
    pub(super) method: Option<&'static str>,
    /// The severity that its author gave it; may be empty.
    pub(super) severity: Text,
    /// The category that its author gave it; may be empty.
    pub(super) category: Text,
    /// The unsupported feature, if any.
    pub(super) unsupported: Option<String>,
    /// Its first and last line, where the policy has errors.
    lines: (u32, u32),
}

impl Default for TestPolicyRule {
    fn default() -> Self {
        Self {
            name: Text::default(),
            sort: Text::default(),
            dialect: "kyverno",
            method: None,
            severity: Text::default(),
            category: Text::default(),
            unsupported: None,
            lines: (0, 0),
        }
    }
}

/// Returns the policies of `books`, in document order.
pub(super) fn load_policies<'b>(
    books: impl Iterator<Item = &'b CachedFile>,
    (dialects, regexes): (&[Box<dyn Dialect>], &SharedRegexes),
    problems: &mut Vec<Diagnostic>,
) -> Vec<TestPolicy> {
    let mut policies = Vec::new();
    let is_auxiliary = |document: &&Document| dialects.iter().any(|dialect| dialect.is_auxiliary(document));
    let documents: Vec<&Document> = books.flat_map(|book| &book.documents).collect();
    let auxiliaries: Vec<Document> = documents.iter().copied().filter(is_auxiliary).cloned().collect();
    for document in documents.into_iter().filter(|document| is_testable_policy(document)) {
        let policy = TestPolicy::new(document, &auxiliaries, dialects, regexes);
        problems.extend(policy.untold());
        policies.push(policy);
    }
    policies
}

impl TestPolicy {
    fn new(
        document: &Document,
        auxiliaries: &[Document],
        dialects: &[Box<dyn Dialect>],
        regexes: &SharedRegexes,
    ) -> Self {
        let text = |path: &[&str]| document.value.str_at(path);
        let kind = text(&["kind"]);
        let mut parts =
            if kind_has_rules(kind) { document_rules(document) } else { vec![policy_as_one_rule(kind)] };
        let is_supported = parts.iter().any(|part| part.unsupported.is_none()) || parts.is_empty();
        let loaded = match is_supported {
            true => {
                let documents = with_auxiliaries(document, auxiliaries);
                kubewright_dialects::load_rules_sharing(dialects, &documents, regexes)
            }
            false => kubewright_dialects::LoadedRules::default(),
        };
        if loaded.diagnostics.iter().any(Diagnostic::is_error) && kind_has_rules(kind) {
            set_lines(&mut parts, document);
        }
        if let Some(rule) = loaded.rules.first() {
            for part in &mut parts {
                part.dialect = rule.id.dialect;
                part.severity = rule.metadata.severity.clone();
                part.category = rule.metadata.category.clone();
            }
        }
        let engine = Engine::new(loaded.rules);
        let is_change = |rule: &&Arc<Rule>| rule.action == RuleAction::Mutate;
        let (changes, others): (Vec<_>, Vec<_>) = engine.rules().iter().partition(is_change);
        let part = |rules: Vec<&Arc<Rule>>| {
            (!rules.is_empty()).then(|| Engine::sharing(rules.into_iter().cloned().collect()))
        };
        let judging = if changes.is_empty() { None } else { part(others) };
        Self {
            changing: part(changes),
            judging,
            name: text(&["metadata", "name"]).into(),
            namespace: text(&["metadata", "namespace"]).into(),
            kind: kind.into(),
            mode: match text(&["spec", "evaluation", "mode"]) {
                "" => KUBERNETES.into(),
                mode => mode.into(),
            },
            parts,
            engine,
            diagnostics: loaded.diagnostics.into_iter().filter(Diagnostic::is_error).collect(),
        }
    }

    /// Returns when the policy runs: ClusterPolicies, then MutatingAdmissionPolicies, then all other kinds.
    pub(super) fn stage(&self) -> u8 {
        match self.kind.as_str() {
            "ClusterPolicy" | "Policy" => 0,
            "MutatingAdmissionPolicy" => 1,
            _ => 2,
        }
    }

    /// Returns whether rows compare the object after all policies of the kind, and not after this one.
    pub(super) fn is_compared_at_the_end(&self) -> bool {
        self.kind.ends_with("MutatingPolicy")
    }

    /// Returns whether a row that names `name`, optionally with a namespace, selects the policy.
    pub(super) fn is_called(&self, name: &str) -> bool {
        match name.split_once('/') {
            None => self.name == name,
            Some((namespace, name)) => {
                self.name == name
                    && (self.namespace == namespace || (self.namespace.is_empty() && namespace == "default"))
            }
        }
    }

    /// Returns whether a row may select a policy of this kind: the kind has the suffix of the row, or the policy has the
    /// rule that the row names.
    pub(super) fn fits(&self, end: Option<&str>, rule: Option<&str>) -> bool {
        match end {
            Some(end) => self.kind == end || self.kind.strip_prefix("Namespaced") == Some(end),
            None => rule.is_none_or(|_| self.parts(rule).is_ok()),
        }
    }

    /// Returns the rules that `rule` of a row selects.
    ///
    /// # Errors
    /// When there is none, with the existing ones.
    pub(super) fn parts(&self, rule: Option<&str>) -> Result<Vec<&TestPolicyRule>, String> {
        let Some(rule) = rule.filter(|_| kind_has_rules(&self.kind)) else {
            return Ok(self.parts.iter().collect());
        };
        let found: Vec<&TestPolicyRule> = self.parts.iter().filter(|part| is_of(&part.name, rule)).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        let names = || self.parts.iter().map(|part| part.name.as_str());
        Err(match nearest_word(rule, names()) {
            Some(near) => format!("policy `{}` has no rule `{rule}`; did you mean `{near}`?", self.name),
            None => {
                let names: Vec<String> = names().map(|name| format!("`{name}`")).collect();
                format!("policy `{}` has no rule `{rule}`; its rules are {}", self.name, names.join(", "))
            }
        })
    }

    /// Returns whether it evaluates an object, or a payload of a mode. A policy about JSON evaluates both.
    pub(super) fn judges(&self, payload: Option<&str>) -> bool {
        match payload {
            None => self.mode == KUBERNETES || self.mode == "JSON",
            // A policy that deletes has no mode: without match constraints it is about payloads.
            Some("JSON") if self.kind.ends_with("DeletingPolicy") => true,
            Some(mode) => self.mode == mode,
        }
    }

    /// Returns whether a row that names `wanted` selects `rule`. The rule of a single-rule policy has no name.
    pub(super) fn is_meant(&self, wanted: Option<&str>, rule: &RuleId) -> bool {
        wanted.is_none_or(|name| self.is_one_rule() || is_rule(&rule.rule, name))
    }

    /// Returns whether the whole policy is one rule.
    pub(super) fn is_one_rule(&self) -> bool {
        !kind_has_rules(&self.kind)
    }

    /// Returns why the rules `parts` cannot run, if one cannot.
    pub(super) fn mistake(&self, parts: &[&TestPolicyRule]) -> Option<String> {
        let is_in = |problem: &&Diagnostic, part: &TestPolicyRule| {
            (part.lines.0..part.lines.1).contains(&problem.location.position.line)
        };
        let is_loaded = |part: &TestPolicyRule| {
            let mut rules = self.engine.rules().iter();
            rules.any(|rule| part.name.is_empty() || is_of(&part.name, &rule.id.rule))
        };
        let broken = parts.iter().find(|part| !is_loaded(part))?;
        let problem = self.diagnostics.iter().find(|problem| is_in(problem, broken));
        let problem = problem.or_else(|| self.diagnostics.first());
        Some(match problem {
            Some(problem) => format!("the rule cannot run: {} ({})", problem.message, problem.location),
            None => "the rule cannot run".to_owned(),
        })
    }

    /// Returns the errors except those about unsupported features, which the rows report.
    fn untold(&self) -> impl Iterator<Item = Diagnostic> {
        let unsupported = self.parts.iter().filter(|part| part.unsupported.is_some());
        let lines: Vec<(u32, u32)> = unsupported.map(|part| part.lines).collect();
        let is_told = move |problem: &&Diagnostic| {
            lines.iter().any(|(from, to)| (*from..*to).contains(&problem.location.position.line))
        };
        self.diagnostics.iter().filter(move |problem| !is_told(problem)).cloned()
    }
}

/// Returns whether `part` is the rule called `rule`, or an autogen rule of it.
fn is_of(part: &str, rule: &str) -> bool {
    is_rule(rule, part)
}

fn is_testable_policy(document: &Document) -> bool {
    let text = |key: &str| document.value.str_at(&[key]);
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    text("kind").ends_with("Policy")
        && ["kyverno.io", "policies.kyverno.io", "admissionregistration.k8s.io"].contains(&group)
}

fn kind_has_rules(kind: &str) -> bool {
    ["ClusterPolicy", "Policy"].contains(&kind)
}

/// Returns a policy of another kind, which is one rule.
fn policy_as_one_rule(kind: &str) -> TestPolicyRule {
    let sort = if kind.ends_with("CleanupPolicy") { "cleanup" } else { kind };
    let unsupported = (!SUPPORTED_KINDS.contains(&kind)).then(|| kind.to_owned());
    TestPolicyRule { sort: sort.into(), unsupported, lines: (0, u32::MAX), ..TestPolicyRule::default() }
}

/// Returns a policy with those of `auxiliaries` that name it.
fn with_auxiliaries(document: &Document, auxiliaries: &[Document]) -> Vec<Document> {
    let name = document.value.at(&["metadata", "name"]);
    let is_its = |companion: &&Document| companion.value.at(&["spec", "policyName"]) == name;
    std::iter::once(document).chain(auxiliaries.iter().filter(is_its)).cloned().collect()
}

fn document_rules(document: &Document) -> Vec<TestPolicyRule> {
    let rules = document.value.at(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    rules.iter().map(document_rule).collect()
}

/// Sets the lines of all `rules` of `document`.
fn set_lines(rules: &mut [TestPolicyRule], document: &Document) {
    let line = |index: usize| document.locate(&["spec".into(), "rules".into(), index.into()]).position.line;
    let last = rules.len().saturating_sub(1);
    for (index, rule) in rules.iter_mut().enumerate() {
        rule.lines = (line(index), if index == last { u32::MAX } else { line(index + 1) });
    }
}

fn document_rule(rule: &Value) -> TestPolicyRule {
    let has = |value: &Value, key: &str| value.get(key).is_some_and(|value| !value.is_null());
    let name = rule.str_at(&["name"]).into();
    if let Some(sort) = ["mutate", "generate", "verifyImages"].into_iter().find(|sort| has(rule, sort)) {
        return TestPolicyRule { name, sort: sort.into(), ..TestPolicyRule::default() };
    }
    let validate = rule.get("validate").unwrap_or(&Value::Null);
    let method = METHODS.iter().find(|method| has(validate, method) || has(rule, method)).copied();
    TestPolicyRule { name, sort: "validate".into(), method, ..TestPolicyRule::default() }
}
