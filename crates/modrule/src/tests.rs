//! Tests of diagnostics. Behaviour on objects is tested through the binary, by the test files in `tests/modrule`.

use kubewright_engine::{
    DecisionSettings, Dialect as _, Engine, Query, QueryAnswer, Rule, RuleId, RuleStatus, World,
};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Limits, Source, Value, yaml};

use super::*;

fn document(namespace: &str, spec: &str) -> Document {
    let spec: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!(
        "apiVersion: api.kubemod.io/v1beta1\nkind: ModRule\nmetadata: {{name: r, namespace: {namespace}}}\nspec:\n{spec}"
    );
    let mut reading = yaml::read(&Source::new("rule.yaml", text.clone()));
    assert!(reading.problems.is_empty(), "{text}: {:?}", reading.problems);
    reading.documents.remove(0)
}

fn cases() -> Vec<Value> {
    let cases = yaml::parse(include_str!("tests/diagnostics.yaml")).expect("cases");
    cases.as_array().expect("a list").to_vec()
}

#[test]
fn every_mistake_is_reported_where_it_stands() {
    let dialect = ModRule::new(&ModRuleOptions::default(), Inputs::default());
    let mut wrong = Vec::new();
    for case in cases() {
        let spec = case.get("spec").and_then(Value::as_str).expect("a spec");
        let document = document(case.get("namespace").and_then(Value::as_str).unwrap_or("shop"), spec);
        let compiled = dialect.compile(&document, &[]);
        let found: Vec<String> =
            compiled.diagnostics.iter().map(|d| format!("{} {}", d.code.id, d.location.position)).collect();
        let want: Vec<&str> = case
            .get("want")
            .and_then(Value::as_array)
            .expect("want")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        if found != want {
            let messages: Vec<_> = compiled.diagnostics.iter().map(ToString::to_string).collect();
            wrong.push(format!("{spec}wanted {want:?}, got {messages:#?}"));
        }
        let has_error = compiled.diagnostics.iter().any(kubewright_engine::Diagnostic::is_error);
        assert_eq!(compiled.rules.is_empty(), has_error, "a rule with an error is left out: {spec}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_has_a_case_and_a_page_that_starts_with_it() {
    let text = include_str!("tests/diagnostics.yaml");
    for code in diagnostics::CODES {
        assert!(text.contains(code.id), "{} has no case", code.id);
        assert!(code.page().starts_with(&format!("# {}: ", code.id)), "{} has no page", code.id);
    }
}

/// A world in which every lookup fails.
struct Unreachable;

impl World for Unreachable {
    fn get(&self, _: &Query) -> QueryAnswer {
        QueryAnswer::Failed("no answer".into())
    }
}

/// Decides about a pod in namespace `shop` with a rule that reads its namespace, whose lookup fails.
#[track_caller]
fn check_without_namespace(fails_closed: bool, spec: &str, is_allowed: bool, status: RuleStatus) {
    let options = ModRuleOptions { fails_closed, ..ModRuleOptions::default() };
    let compiled = ModRule::new(&options, Inputs::default()).compile(&document("shop", spec), &[]);
    let pod = yaml::parse("{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {}}}").expect("a pod");
    let request = AdmissionRequest::for_object(pod, Operation::Create, "shop");
    let decision = Engine::new(compiled.rules).decide(&request, &Unreachable, &DecisionSettings::default());
    let found = decision.outcomes.first().map(|outcome| outcome.status);
    assert_eq!((decision.is_allowed, found), (is_allowed, Some(status)), "{:?}", decision.outcomes);
    assert_eq!(denial(&decision).is_none(), is_allowed, "who is refused is told by whom");
}

const REJECT_UNLESS_RED: &str = "type: Reject\nmatch: [{select: '$.syntheticRefs.namespace.metadata.labels.team', matchValue: red, negate: true}]";
const PATCH_ALWAYS: &str = "type: Patch\nmatch: [{select: '$.kind', matchValue: Pod}]\n\
    patch: [{op: add, path: /metadata/labels/team, value: '{{ default \"none\" .Target.syntheticRefs.namespace }}'}]";

#[test]
fn a_reference_that_cannot_be_looked_up_is_not_there() {
    check_without_namespace(false, REJECT_UNLESS_RED, false, RuleStatus::Fail);
    check_without_namespace(false, PATCH_ALWAYS, true, RuleStatus::Pass);
}

#[test]
fn a_rule_that_could_reject_refuses_what_it_cannot_answer_where_that_is_wanted() {
    check_without_namespace(true, REJECT_UNLESS_RED, false, RuleStatus::Error);
    check_without_namespace(true, PATCH_ALWAYS, true, RuleStatus::Pass);
}

#[test]
fn rules_with_an_equal_select_answer_as_each_does_alone() {
    let select = "'$.spec.containers[*].image'";
    let specs = [
        format!("type: Reject\nmatch: [{{select: {select}, matchRegex: 'old'}}]"),
        format!("type: Reject\nmatch: [{{select: {select}, matchRegex: '^new:'}}]"),
        format!("type: Reject\nmatch: [{{select: {select}, matchValue: 'old:1', matchFor: All}}]"),
        format!("type: Reject\nmatch: [{{select: {select}}}]"),
        format!("type: Reject\nmatch: [{{select: {select}, negate: true}}]"),
        "type: Reject\nmatch: [{select: '$.spec.containers[*].ready'}]".to_owned(),
    ];
    let rules = |specs: &[String]| -> Vec<Rule> {
        let dialect = ModRule::new(&ModRuleOptions::default(), Inputs::default());
        let compile = |(number, spec): (usize, &String)| {
            let rule = dialect.compile(&document("shop", spec), &[]).rules.remove(0);
            let id = RuleId { dialect: "modrule", policy: "shop".into(), rule: number.to_string().into() };
            Rule { id: id.into(), ..rule }
        };
        specs.iter().enumerate().map(compile).collect()
    };
    let containers = [
        "[{image: 'old:1'}, {image: 'new:2'}]",
        "[{image: 'old:1'}, {image: 'old:1'}]",
        "[{image: 'new:2', ready: true}]",
        "[{ready: false}]",
        "[]",
        "{}",
    ];
    for containers in containers {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: web}}, spec: {{containers: {containers}}}}}"
        );
        let request = AdmissionRequest::for_object(yaml::parse(&pod).unwrap(), Operation::Create, "shop");
        let statuses = |specs: &[String]| -> Vec<RuleStatus> {
            let settings = DecisionSettings::default();
            let decision = Engine::new(rules(specs)).decide(&request, &Unreachable, &settings);
            decision.outcomes.iter().map(|outcome| outcome.status).collect()
        };
        let alone: Vec<RuleStatus> =
            specs.iter().flat_map(|spec| statuses(std::slice::from_ref(spec))).collect();
        assert_eq!(alone.len(), specs.len());
        assert_eq!(statuses(&specs), alone, "{containers}");
    }
}

/// Decides about a pod with `rules`, each on its own or all together, and returns status and message of each outcome.
fn outcomes_of(rules: &[&str], is_together: bool) -> Vec<(RuleStatus, String)> {
    struct Empty;
    impl World for Empty {
        fn get(&self, _: &Query) -> QueryAnswer {
            QueryAnswer::Absent
        }
    }
    let dialect = ModRule::new(&ModRuleOptions::default(), Inputs::default());
    let compile = |(number, spec): (usize, &&str)| {
        let mut compiled = dialect.compile(&document("shop", spec), &[]);
        let mut rule = compiled.rules.remove(0);
        rule.id = RuleId { rule: format!("r{number:02}").into(), ..RuleId::clone(&rule.id) }.into();
        rule
    };
    let rules: Vec<Rule> = rules.iter().enumerate().map(compile).collect();
    let sets: Vec<Vec<Rule>> = match is_together {
        true => vec![rules],
        false => rules.into_iter().map(|rule| vec![rule]).collect(),
    };
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: {containers: [{name: a, image: 'web:1'}, {name: b, image: 'log:2'}]}}";
    let decide = |rules: Vec<Rule>| {
        let pod = yaml::parse(pod).expect("a pod");
        let request = AdmissionRequest::for_object(pod, Operation::Create, "shop");
        Engine::new(rules).decide(&request, &Empty, &DecisionSettings::default()).outcomes
    };
    let outcomes = sets.into_iter().flat_map(decide);
    outcomes.map(|outcome| (outcome.status, outcome.message.to_string())).collect()
}

#[test]
fn a_rule_that_asks_what_another_has_asked_gets_its_own_answer() {
    const IMAGES: &str = "$.spec.containers[*].image";
    let rule = |select: &str, rest: &str| {
        format!(
            "type: Reject\nmatch:\n- {{select: $.kind, matchValue: Pod}}\n- {{select: '{select}', {rest}}}\n"
        )
    };
    let rules: Vec<String> = ["matchRegex: web", "matchRegex: web, negate: true", "matchRegex: other"]
        .into_iter()
        .chain([
            "matchRegex: web",
            "matchRegex: web, matchFor: All",
            "matchRegex: nothing",
            "matchRegex: log",
        ])
        .chain(["matchRegex: other", "matchRegex: other, negate: true", "matchValue: 'log:2'"])
        .map(|rest| rule(IMAGES, rest))
        .chain([rule("$.metadata.name", "matchValue: web"), rule("$.metadata.name", "matchValue: other")])
        .collect();
    let rules: Vec<&str> = rules.iter().map(String::as_str).collect();
    let together = outcomes_of(&rules, true);
    assert_eq!(together, outcomes_of(&rules, false));
    let failed = together.iter().filter(|(status, _)| *status == RuleStatus::Fail).count();
    assert_eq!((together.len(), failed), (12, 6), "{together:?}");
}

#[test]
fn a_rule_that_is_known_not_to_apply_costs_what_it_costs_to_find_out() {
    let rule = |number: usize, rest: &str| {
        let spec = format!(
            "type: Patch\nmatch:\n- {{select: $.kind, matchValue: Pod}}\n\
             - {{select: '$.spec.containers[*].image', {rest}}}\n\
             patch: [{{op: add, path: /metadata/labels/r{number}, value: x}}]"
        );
        let dialect = ModRule::new(&ModRuleOptions::default(), Inputs::default());
        let rule = dialect.compile(&document("shop", &spec), &[]).rules.remove(0);
        let id = RuleId { dialect: "modrule", policy: "shop".into(), rule: format!("r{number:02}").into() };
        Rule { id: id.into(), ..rule }
    };
    let make_rules = || -> Vec<Rule> {
        let criterion = |number: usize| match number % 4 {
            0 => format!("matchRegex: nothing-{number}"),
            1 => format!("matchRegex: 'web|{number}'"),
            2 => format!("matchRegex: 'web|{number}', negate: true"),
            _ => format!("matchRegex: absent-{number}, negate: true"),
        };
        (0..24).map(|number| rule(number, &criterion(number))).collect()
    };
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: web, labels: {}}, spec: {containers: [{image: 'web:1'}]}}";
    let request = AdmissionRequest::for_object(yaml::parse(pod).expect("a pod"), Operation::Create, "shop");
    for steps in [1, 2, 3, 5, 6, 7, 8, 9, 10, 12, 20, 40, 10_000] {
        let decide = |leaves_out_skips: bool| {
            let limits = Limits { steps, ..Limits::default() };
            let settings = DecisionSettings { limits, leaves_out_skips, ..DecisionSettings::default() };
            let decision = Engine::new(make_rules()).decide(&request, &Unreachable, &settings);
            let (skips, others): (Vec<_>, Vec<_>) =
                decision.outcomes.iter().partition(|outcome| outcome.status == RuleStatus::Skip);
            let others: Vec<_> =
                others.iter().map(|outcome| (outcome.status, outcome.message.to_string())).collect();
            (skips.len() + decision.skipped, others, decision.object.to_string())
        };
        assert_eq!(decide(true), decide(false), "{steps} steps");
    }
}
