use kubewright_engine::{
    Applies, ClusterExtensions, ClusterResources, Code, Effect, EvalError, Evaluation, EvaluationModes,
    KindOrResource, ResponseParts, ResponseWording, RuleAction, RuleOutcome, RuleProgram, RuleScope,
    WatchedResource, WebhookRule,
};
use kubewright_k8s::{AdmissionRequest, Operations};
use kubewright_value::{Location, Position, Source, Text, yaml};

use super::*;

/// A language whose documents have one rule for each entry of `mutate` and of `validate`.
struct TwoPhases;

impl TwoPhases {
    fn phases(document: &Document) -> Vec<(AdmissionPhase, Vec<Text>)> {
        let names = |key: &str| -> Vec<Text> {
            let names = document.value.get(key).and_then(Value::as_array).unwrap_or_default();
            names.iter().filter_map(Value::as_str).map(Text::new).collect()
        };
        let all =
            [(AdmissionPhase::Mutating, names("mutate")), (AdmissionPhase::Validating, names("validate"))];
        all.into_iter().filter(|(_, names)| !names.is_empty()).collect()
    }
}

impl Dialect for TwoPhases {
    fn name(&self) -> &'static str {
        "test"
    }

    fn claims(&self, _: &Document) -> bool {
        true
    }

    fn looks_like(&self, _: &Document) -> bool {
        false
    }

    fn compile(&self, document: &Document, _: &[Document]) -> CompiledPolicy {
        let phases = Self::phases(document);
        let rules = phases.iter().flat_map(|(phase, names)| names.iter().map(|name| rule(*phase, name)));
        let plan = |(phase, _): &(AdmissionPhase, Vec<Text>)| {
            let failure_policy = match phase {
                AdmissionPhase::Mutating => FailurePolicy::Ignore,
                AdmissionPhase::Validating => FailurePolicy::Fail,
            };
            WebhookPlan::new(*phase, failure_policy, vec![pods()])
        };
        CompiledPolicy {
            rules: rules.collect(),
            webhooks: phases.iter().map(plan).collect(),
            ..CompiledPolicy::default()
        }
    }

    fn cluster_support(&self) -> Option<&dyn ClusterSupport> {
        Some(self)
    }

    fn codes(&self) -> &'static [&'static Code] {
        &[]
    }
}

impl ClusterResources for TwoPhases {
    fn custom_resource_definitions(&self) -> Vec<&'static str> {
        Vec::new()
    }

    fn watched_resources(&self) -> &'static [WatchedResource] {
        &[]
    }
}

impl ResponseWording for TwoPhases {
    fn response(&self, _: &AdmissionRequest, _: &[&RuleOutcome]) -> ResponseParts {
        ResponseParts::default()
    }
}

impl ClusterExtensions for TwoPhases {}

fn pods() -> WebhookRule {
    WebhookRule {
        group: "".into(),
        version: "v1".into(),
        name: KindOrResource::Resource("pods".into()),
        subresource: "".into(),
        operations: Operations::ALL,
    }
}

/// Passes every object.
struct PassAll;

impl RuleProgram for PassAll {
    fn applies(&self, _: &Value, _: &mut Evaluation<'_>) -> Result<Applies, EvalError> {
        Ok(Applies::Yes)
    }

    fn evaluate(&self, _: &mut Value, _: &mut Evaluation<'_>) -> Result<Effect, EvalError> {
        Ok(Effect::Pass(Text::default()))
    }
}

fn rule(phase: AdmissionPhase, name: &Text) -> Rule {
    Rule {
        id: RuleId { dialect: "test", policy: "p".into(), rule: name.clone() }.into(),
        scope: RuleScope::default(),
        action: match phase {
            AdmissionPhase::Mutating => RuleAction::Mutate,
            AdmissionPhase::Validating => RuleAction::Validate,
        },
        phase,
        tier: 0,
        precedence: 0,
        position: 0,
        matches_current: false,
        metadata: Arc::default(),
        refuses_on_error: false,
        is_exclusive: false,
        reads_secrets: false,
        home: None,
        evaluation_modes: EvaluationModes::default(),
        location: Location { source: Source::new("p.yaml", ""), position: Position::START, length: 1 },
        program: Box::new(PassAll),
    }
}

/// Returns the rules that answer each path.
fn rules_by_path(documents: &str, paths: &[&str]) -> Vec<String> {
    let documents = yaml::read(&Source::new("p.yaml", documents)).documents;
    let snapshot =
        Snapshot::compile(vec![Box::new(TwoPhases)], &documents, 1, &GenerationProgress::default());
    let rules = |path: &&str| {
        let engine = snapshot.engine(path);
        let names = engine.map(|engine| engine.rules().iter().map(|rule| rule.id.rule.to_string()));
        format!("{path}: {}", names.map_or("-".to_owned(), |names| names.collect::<Vec<_>>().join(" ")))
    };
    paths.iter().map(rules).collect()
}

#[test]
fn each_rule_of_a_document_runs_behind_the_webhook_of_its_phase() {
    let paths = ["mutate", "validate", "mutate/ignore", "mutate/fail", "validate/ignore", "validate/fail"];
    assert_eq!(
        rules_by_path("{mutate: [m1, m2], validate: [v]}", &paths),
        [
            "mutate: m1 m2",
            "validate: v",
            "mutate/ignore: m1 m2",
            "mutate/fail: -",
            "validate/ignore: -",
            "validate/fail: v"
        ]
    );
}

#[test]
fn documents_share_the_webhook_of_a_phase() {
    let documents = "{mutate: [a], validate: [b]}\n---\n{validate: [c]}\n";
    assert_eq!(
        rules_by_path(documents, &["mutate/ignore", "validate/fail"]),
        ["mutate/ignore: a", "validate/fail: b c"]
    );
}
