//! Runs a test file: rules, resources and world once, then case by case.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use kubewright_dialects::DialectOptions;
use kubewright_engine::{
    Decision, DecisionSettings, Diagnostic, Engine, Rule, RuleAction, RuleId, RuleOutcome, RuleStatus,
    nearest_word,
};
use kubewright_files::{self as files, ObjectFilter};
use kubewright_graph::References;
use kubewright_k8s::{AdmissionRequest, Operation, UserInfo};
use kubewright_patterns as patterns;
use kubewright_report::{CaseRule, TestCaseResult};
use kubewright_traits as traits;
use kubewright_value::Document;

use super::coverage::ExercisedRules;
use super::file::{RuleCase, TestCaseFile};
use super::judge;
use crate::arguments::RuleOptions;
use crate::fixtures::{FileWorld, FixtureValues};
use crate::request;
use crate::rule_inputs;
use crate::rules;

/// A loaded test file.
pub(super) struct RuleTestRun<'a> {
    file: &'a TestCaseFile,
    folder: &'a Path,
    engine: Engine,
    world: FileWorld,
    pub(super) objects: Vec<Document>,
    rule_documents: Vec<Document>,
    /// What manifests are rendered with, among the rules: traits, component types and their like.
    pub(super) platform: Vec<Document>,
    /// The patterns among the rules, and the references that they are looked for with.
    pub(super) patterns: Vec<Document>,
    options: DialectOptions,
    alone: HashMap<String, OnceCell<Engine>>,
    pub(super) exercised: ExercisedRules,
    has_coverage: bool,
}

impl<'a> RuleTestRun<'a> {
    /// Loads what the file names, relative to its folder.
    pub(super) fn new(
        file: &'a TestCaseFile,
        folder: &'a Path,
        options: &RuleOptions,
        has_coverage: bool,
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let found = files::find_files(&files::resolve_paths(folder, &file.rules, problems));
        problems.extend(found.problems);
        let rule_documents = files::read_documents(&found.inputs, problems);
        let (platform, rule_documents) = rule_documents.into_iter().partition(traits::is_trait_resource);
        let rule_documents: Vec<Document> = rule_documents;
        let is_pattern =
            |document: &Document| patterns::is_pattern_document(document) || References::is_one(document);
        let (patterns, rule_documents) = rule_documents.into_iter().partition(is_pattern);
        let rule_documents: Vec<Document> = rule_documents;
        let options = rules::dialect_options(options, file.namespace.as_deref());
        let loaded = kubewright_dialects::load_documents(
            &kubewright_dialects::all_dialects(&options),
            &rule_documents,
        );
        problems.extend(loaded.diagnostics);
        let found = files::find_manifests(&files::resolve_paths(folder, &file.resources, problems));
        problems.extend(found.problems);
        let documents = files::read_documents(&found.inputs, problems);
        let engine = Engine::new(loaded.rules);
        let objects = files::wanted_objects(documents, ObjectFilter::by(&engine), problems);
        let world = files::resolve_paths(folder, &file.world, problems);
        let world = rule_inputs::read_world(&world, FixtureValues::default(), problems);
        let alone = engine.rules().iter().map(|rule| (rule.id.to_string(), OnceCell::new())).collect();
        let exercised = ExercisedRules::default();
        Self {
            file,
            folder,
            engine,
            world,
            objects,
            rule_documents,
            platform,
            patterns,
            options,
            alone,
            exercised,
            has_coverage,
        }
    }

    /// Returns all rules.
    pub(super) fn rules(&self) -> &[Arc<Rule>] {
        self.engine.rules()
    }

    /// Runs one case.
    pub(super) fn run(&mut self, case: &RuleCase) -> TestCaseResult {
        let rule = match &case.rule {
            None => None,
            Some(name) => match self.rule(name) {
                Ok(rule) => Some(rule),
                Err(message) => return failed_case(case, message),
            },
        };
        let (document, request) = match self.object(case) {
            Ok(found) => found,
            Err(message) => {
                return TestCaseResult { rule: rule.as_ref().map(case_rule), ..failed_case(case, message) };
            }
        };
        let decision = self.engine.decide(&request, &self.world, &manifest_settings());
        let alone = rule.as_ref().map(|rule| self.alone(&rule.id, &request));
        let judged = judge::JudgedRuleCase {
            case,
            rule: rule.as_ref().map(|rule| &*rule.id),
            original: &document.value,
            decision: &decision,
            after: alone.as_ref().map_or(&decision.object, |decision| &decision.object),
            folder: self.folder,
        };
        let verdict = judged.verdict();
        let place = document.locate(&[]);
        let place = format!("{}:{}", place.source.name, place.position.line);
        match &rule {
            Some(rule) => {
                self.exercised.rules.insert(rule.id.clone());
            }
            None => {
                let looked = decision.outcomes.iter().filter(|outcome| outcome.status != RuleStatus::Skip);
                self.exercised.rules.extend(looked.map(|outcome| outcome.rule.clone()));
            }
        }
        if self.has_coverage {
            let settings = DecisionSettings { is_traced: true, ..manifest_settings() };
            let traced = self.engine.decide(&request, &self.world, &settings);
            let is_meant = |outcome: &&RuleOutcome| rule.as_ref().is_none_or(|rule| rule.id == outcome.rule);
            self.exercised.looked_at(traced.outcomes.iter().filter(is_meant));
        }
        TestCaseResult {
            case: case_name(case),
            is_named: case.name.is_some(),
            rule_text: rule.as_ref().map_or_else(|| "all rules".to_owned(), |rule| rule.id.to_string()),
            rule: rule.as_ref().map(case_rule),
            kind: request.kind.kind,
            namespace: request.namespace,
            resource: request.name,
            expected: verdict.expected,
            actual: verdict.actual,
            is_ok: verdict.problems.is_empty(),
            is_unsupported: false,
            message: verdict.problems.join("\n"),
            place,
            operation: Some(request.operation),
            hint: None,
        }
    }

    /// Returns what the rule called `id` decides when it is the only one.
    fn alone(&self, id: &RuleId, request: &AdmissionRequest) -> Decision {
        let name = id.to_string();
        let build = || {
            let dialects = kubewright_dialects::all_dialects(&self.options);
            let rules = kubewright_dialects::load_documents(&dialects, self.documents_of(id)).rules;
            Engine::new(rules.into_iter().filter(|rule| *rule.id == *id).collect())
        };
        match self.alone.get(&name) {
            Some(cell) => cell.get_or_init(build).decide(request, &self.world, &manifest_settings()),
            None => build().decide(request, &self.world, &manifest_settings()),
        }
    }

    /// Returns the document that contains the rule called `id`, or all of them if it is unknown.
    fn documents_of(&self, id: &RuleId) -> &[Document] {
        let all = self.rule_documents.as_slice();
        let Some(rule) = self.engine.rules().iter().find(|rule| *rule.id == *id) else { return all };
        let holds = |document: &Document| {
            Arc::ptr_eq(&document.source, &rule.location.source)
                && document.locate(&[]).position <= rule.location.position
        };
        let place = all.iter().rposition(holds);
        place.and_then(|place| all.get(place..=place)).unwrap_or(all)
    }

    fn rule(&self, name: &str) -> Result<Arc<Rule>, String> {
        let rules = self.engine.rules();
        // An autogen rule is not selected by the name of its source.
        let is_exact =
            |rule: &&Arc<Rule>| name == rule.id.rule || name.ends_with(&format!("/{}", rule.id.rule));
        let found = rules.iter().filter(|rule| rules::is_rule_called(&rule.id, name));
        let mut found: Vec<&Arc<Rule>> = found.filter(is_exact).collect();
        if found.is_empty() {
            let of_policy = || rules.iter().filter(|rule| rules::is_of_policy(&rule.id, name));
            found = of_policy().filter(|rule| rule.id.rule.is_empty()).collect();
            if found.is_empty() {
                found = of_policy().collect();
            }
        }
        match found.as_slice() {
            [rule] => Ok(Arc::clone(rule)),
            [] => Err(match rules::nearest_name(name, rules.iter().map(|rule| &*rule.id)) {
                Some(near) => format!("there is no rule `{name}`; did you mean `{near}`?"),
                None => format!("there is no rule `{name}`"),
            }),
            several => {
                let ids: Vec<String> = several.iter().map(|rule| format!("`{}`", rule.id)).collect();
                Err(format!("`{name}` is the name of {} rules: {}", several.len(), ids.join(", ")))
            }
        }
    }

    /// Returns the one object that the case names, and the request about it.
    fn object(&self, case: &RuleCase) -> Result<(&Document, AdmissionRequest), String> {
        let wanted = ObjectNameSelector::new(&case.resource);
        let operation = case.operation.unwrap_or(self.file.operation);
        let requests = self.objects.iter().map(|document| (document, self.request(document, operation)));
        let mut found: Vec<_> = requests.filter(|(_, request)| wanted.selects(request)).collect();
        match (found.pop(), found.len()) {
            (Some(only), 0) => Ok(only),
            (Some(_), more) => Err(format!(
                "`{}` is the name of {} resources; write `Kind/namespace/name`",
                case.resource,
                more + 1
            )),
            (None, _) => {
                let names: Vec<String> = self
                    .objects
                    .iter()
                    .map(|document| wanted.spelt_like(&self.request(document, operation)))
                    .collect();
                Err(match nearest_word(&case.resource, names.iter().map(String::as_str)) {
                    Some(near) => format!("there is no resource `{}`; did you mean `{near}`?", case.resource),
                    None => format!("there is no resource `{}`", case.resource),
                })
            }
        }
    }

    fn request(&self, document: &Document, operation: Operation) -> AdmissionRequest {
        let namespace = self.file.namespace.as_deref().unwrap_or("default");
        let user = UserInfo::default().renamed(self.file.user.as_deref(), &self.file.groups);
        if request::is_payload(document) {
            return request::of_payload(document, &user);
        }
        request::request_about(&document.value, operation, namespace, &user)
    }
}

/// Returns the settings of decisions about objects of manifests.
fn manifest_settings() -> DecisionSettings {
    DecisionSettings { is_as_written: true, ..DecisionSettings::default() }
}

fn case_rule(rule: &Arc<Rule>) -> CaseRule {
    let id = &rule.id;
    let sort = match rule.action {
        RuleAction::Mutate => "patch",
        RuleAction::Validate => "judge",
        RuleAction::Generate => "generate",
        RuleAction::Delete => "delete",
    };
    CaseRule {
        dialect: id.dialect,
        policy: id.policy.clone(),
        rule: Some(id.rule.clone()),
        sort: Some(sort.into()),
        method: None,
        traced: id.to_string(),
        severity: rule.metadata.severity.clone(),
        category: rule.metadata.category.clone(),
    }
}

/// `[Kind/][namespace/]name`. Of two parts the first is a kind when it starts with a capital letter.
struct ObjectNameSelector<'a> {
    kind: Option<&'a str>,
    namespace: Option<&'a str>,
    name: &'a str,
}

impl<'a> ObjectNameSelector<'a> {
    fn new(text: &'a str) -> Self {
        let parts: Vec<&str> = text.splitn(3, '/').collect();
        match parts.as_slice() {
            [kind, namespace, name] => Self { kind: Some(kind), namespace: Some(namespace), name },
            [kind, name] if kind.starts_with(|c: char| c.is_uppercase()) => {
                Self { kind: Some(kind), namespace: None, name }
            }
            [namespace, name] => Self { kind: None, namespace: Some(namespace), name },
            _ => Self { kind: None, namespace: None, name: text },
        }
    }

    fn selects(&self, request: &AdmissionRequest) -> bool {
        self.kind.is_none_or(|kind| kind == request.kind.kind)
            && self.namespace.is_none_or(|namespace| namespace == request.namespace)
            && self.name == request.name
    }

    /// Returns the object's name in the same form.
    fn spelt_like(&self, request: &AdmissionRequest) -> String {
        let mut text = String::new();
        if self.kind.is_some() {
            text.push_str(&format!("{}/", request.kind.kind));
        }
        if self.namespace.is_some() {
            text.push_str(&format!("{}/", request.namespace));
        }
        text + &request.name
    }
}

fn case_name(case: &RuleCase) -> String {
    case.name.clone().unwrap_or_else(|| match &case.rule {
        Some(rule) => format!("{rule} on {}", case.resource),
        None => format!("all rules on {}", case.resource),
    })
}

fn failed_case(case: &RuleCase, message: String) -> TestCaseResult {
    TestCaseResult {
        case: case_name(case),
        is_named: case.name.is_some(),
        rule_text: case.rule.clone().unwrap_or_else(|| "all rules".to_owned()),
        resource: case.resource.as_str().into(),
        expected: judge::expected_outcome(case),
        place: case.location.to_string(),
        message,
        ..TestCaseResult::default()
    }
}
