use kubewright_engine::{ClosedWorld, DecisionCache, Evaluation, RuleId, Tracer, WorldView};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Budget, yaml};

use super::*;

const OBJECT: &str = "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: {app: web}},
    spec: {num: 5, big: 1000000, list: [a, b], star: 'a*', empty: ''}}";

fn compile(text: &str) -> ConditionSet {
    let value = Located { value: yaml::parse(text).expect("YAML"), path: Vec::new() };
    let (conditions, problems) = ConditionSet::compile(&value, &JmesPathFunctions::kubernetes());
    assert!(problems.is_empty(), "{problems:?}");
    conditions
}

fn with_context<T>(test: impl FnOnce(&mut VariableContext<'_>) -> T) -> T {
    let request =
        AdmissionRequest::for_object(yaml::parse(OBJECT).expect("YAML"), Operation::Create, "default");
    let world = ClosedWorld::default();
    let (mut budget, mut tracer, memory) = (Budget::default(), Tracer::off(), DecisionCache::default());
    let mut evaluation =
        Evaluation::new(&request, WorldView::new(&world, None), &mut budget, &mut tracer, &memory);
    let rule = RuleId { dialect: "kyverno", policy: "p".into(), rule: "r".into() };
    test(&mut VariableContext::new(&mut evaluation, &request.object, &rule))
}

/// Returns `yes` or `no` and the messages, or the error.
fn outcome(text: &str) -> String {
    let conditions = compile(text);
    with_context(|context| {
        let mut notes = TraceNotes::on();
        let noted = conditions.evaluate(context, &mut notes).map(|verdict| verdict.holds).ok();
        match conditions.evaluate(context, &mut TraceNotes::off()) {
            Ok(verdict) => {
                assert_eq!(noted, Some(verdict.holds));
                let word = if verdict.holds { "yes" } else { "no" };
                format!("{word} {}", verdict.text()).trim_end().to_owned()
            }
            Err(error) => format!("error {}", error.message()),
        }
    })
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, want) in cases {
        assert_eq!(outcome(text), *want, "{text}");
    }
}

#[test]
fn any_wants_one_and_all_wants_each() {
    check(&[
        ("{any: [{key: 1, operator: Equals, value: 2}, {key: 1, operator: Equals, value: 1}]}", "yes"),
        ("{all: [{key: 1, operator: Equals, value: 2}, {key: 1, operator: Equals, value: 1}]}", "no"),
        ("{any: [{key: 1, operator: Equals, value: 1}], all: [{key: 1, operator: Equals, value: 2}]}", "no"),
        ("[{key: 1, operator: Equals, value: 1}, {key: 2, operator: Equals, value: 2}]", "yes"),
        ("[{key: 1, operator: Equals, value: 1}, {key: 2, operator: Equals, value: 3}]", "no"),
        (
            "[{any: [{key: 1, operator: Equals, value: 1}]}, {all: [{key: 2, operator: Equals, value: 3}]}]",
            "no",
        ),
    ]);
}

#[test]
fn nothing_is_held_by_everything_but_an_empty_any_by_nothing() {
    check(&[
        ("{}", "yes"),
        ("[]", "yes"),
        ("null", "yes"),
        ("{all: []}", "yes"),
        ("{any: null}", "yes"),
        ("{any: []}", "no"),
        ("{any: [], all: [{key: 1, operator: Equals, value: 1}]}", "no"),
    ]);
}

#[test]
fn messages_of_what_decided_are_joined() {
    check(&[
        (
            "{any: [{key: 1, operator: Equals, value: 2, message: a}, {key: 1, operator: Equals, value: 1, message: b}, {key: 1, operator: Equals, value: 1, message: c}]}",
            "yes b",
        ),
        (
            "{all: [{key: 1, operator: Equals, value: 1, message: a}, {key: 1, operator: Equals, value: 1}, {key: 1, operator: Equals, value: 1, message: c}]}",
            "yes a; c",
        ),
        (
            "{any: [{key: 1, operator: Equals, value: 2, message: a}], all: [{key: 1, operator: Equals, value: 1, message: b}, {key: 1, operator: Equals, value: 2, message: c}]}",
            "no a; c",
        ),
        (
            "[{key: 1, operator: Equals, value: 1, message: a}, {key: 1, operator: Equals, value: 1, message: b}]",
            "yes a;b",
        ),
        (
            "[{key: 1, operator: Equals, value: 1, message: a}, {key: 1, operator: Equals, value: 2, message: b}]",
            "no b",
        ),
    ]);
}

#[test]
fn variables_are_resolved_and_stand_for_themselves() {
    check(&[
        ("{all: [{key: '{{ request.operation }}', operator: Equals, value: CREATE}]}", "yes"),
        ("{all: [{key: '{{ request.object.spec.num }}', operator: GreaterThan, value: 4}]}", "yes"),
        ("{all: [{key: '{{ request.object.spec.big }}', operator: AnyIn, value: [1000000]}]}", "yes"),
        ("{all: [{key: '{{ request.object.spec.list }}', operator: AllIn, value: [a, b, c]}]}", "yes"),
        ("{all: [{key: '{{ request.object.metadata.labels.app }}', operator: Equals, value: w*}]}", "yes"),
        ("{all: [{key: abc, operator: Equals, value: '{{ request.object.spec.star }}'}]}", "no"),
        ("{all: [{key: abc, operator: AnyNotIn, value: ['{{ request.object.spec.star }}']}]}", "yes"),
        ("{all: [{key: x-a, operator: Equals, value: '?-{{ request.object.metadata.name }}'}]}", "yes"),
        ("{all: [{key: '{{ request.object.spec.none || `null` }}', operator: NotEquals, value: x}]}", "no"),
        ("{all: [{key: '{{ request.object.spec.none || '''' }}', operator: Equals, value: ''}]}", "yes"),
    ]);
}

#[test]
fn a_variable_that_stands_for_nothing_is_an_error_where_it_is_looked_at() {
    let missing = "failed to resolve request.object.spec.none at path : JMESPath query failed: Unknown key \"none\" in path";
    let key = "{key: '{{ request.object.spec.none }}', operator: Equals, value: x}";
    let of_key = format!("error failed to substitute variables in condition key: {missing}");
    let of_value = format!("error failed to substitute variables in condition value: {missing}");
    check(&[
        (&format!("{{all: [{key}]}}"), &of_key),
        ("{all: [{key: x, operator: Equals, value: '{{ request.object.spec.none }}'}]}", &of_value),
        (&format!("{{any: [{{key: 1, operator: Equals, value: 1}}, {key}]}}"), "yes"),
        (&format!("{{all: [{{key: 1, operator: Equals, value: 2}}, {key}]}}"), "no"),
        (&format!("{{any: [{{key: 1, operator: Equals, value: 2}}], all: [{key}]}}"), &of_key),
        ("{all: [{key: 1, operator: Matches, value: 1}]}", "error unknown operator `Matches`"),
    ]);
}

#[test]
fn messages_have_variables_too() {
    let conditions = compile(
        "{all: [{key: 1, operator: Equals, value: 1, message: 'for {{ request.object.metadata.name }}'}]}",
    );
    with_context(|context| {
        let verdict = conditions.evaluate(context, &mut TraceNotes::off()).expect("a verdict");
        assert_eq!(verdict.text(), "for {{ request.object.metadata.name }}");
        assert_eq!(verdict.resolve(context).ok().as_deref(), Some("for a"));
    });
}

#[test]
fn notes_say_what_was_compared_and_what_was_not_looked_at() {
    let conditions = compile(
        "{any: [{key: '{{ request.object.spec.num }}', operator: Equals, value: 4}, {key: a, operator: AnyIn, value: [a]}, {key: 1, operator: Equals, value: 1}],
          all: [{key: '{{ request.object.spec.none }}', operator: Equals, value: ''}]}",
    );
    let mut notes = TraceNotes::on();
    with_context(|context| conditions.evaluate(context, &mut notes).map(|_| ()).expect_err("missing"));
    let mut found = String::new();
    for group in notes.take() {
        found += &format!("{} {}\n", group.what, group.verdict.name());
        for note in group.children {
            found += &format!(
                " {} | {} | {} | {} {:?}\n",
                note.what,
                note.found,
                note.wanted,
                note.verdict.name(),
                note.at.len()
            );
        }
    }
    let want = "any yes
 {{ request.object.spec.num }} Equals 4 | 5 | does not hold: Equals 4 | no 2
 a AnyIn [\"a\"] | \"a\" | holds: AnyIn [\"a\"] | yes 2
 1 Equals 1 |  |  | not looked at 2
all error
 {{ request.object.spec.none }} Equals \"\" | `{{ request.object.spec.none }}` has no value: there is no key `none` |  | error 2
";
    assert_eq!(found, want);
}

#[test]
fn what_looks_wrong_is_told_with_its_place() {
    for (text, want) in [
        (
            "{key: '{{ a }}', operator: Equal5, value: 1}",
            ConditionLintKind::UnknownOperator { near: Some("Equals") },
        ),
        (
            "{key: '{{ a }}', operator: In, value: [1]}",
            ConditionLintKind::Deprecated { instead: &["AllIn", "AnyIn"] },
        ),
        ("{key: 1, operator: Equals, value: 1}", ConditionLintKind::Always(true)),
        ("{key: a, operator: Equals, value: 1}", ConditionLintKind::Always(false)),
        (
            "{key: '{{ a }}', operator: GreaterThan, value: [1]}",
            ConditionLintKind::Unfit("compares numbers, quantities, durations and versions"),
        ),
        (
            "{key: '{{ a }}', operator: GreaterThan, value: many}",
            ConditionLintKind::Unfit("compares numbers, quantities, durations and versions"),
        ),
        (
            "{key: '{{ a }}', operator: AnyIn, value: 5}",
            ConditionLintKind::Unfit("looks for the key in a list, a range or a text"),
        ),
    ] {
        let found = compile(&format!("{{all: [{text}]}}")).lint();
        assert_eq!(found.into_iter().map(|lint| lint.kind).collect::<Vec<_>>(), [want], "{text}");
    }
    assert_eq!(compile("{any: []}").lint().len(), 1);
    assert!(compile("{all: [{key: '{{ a }}', operator: GreaterThan, value: 1h}]}").lint().is_empty());
}

#[test]
fn conditions_of_pods_read_the_template_of_a_controller() {
    let conditions = compile("{all: [{key: '{{ request.object.spec.num }}', operator: Equals, value: 5}]}");
    let text = with_context(|context| {
        let error = conditions
            .rebased(PodTemplatePath::Template)
            .evaluate(context, &mut TraceNotes::off())
            .map(|_| ());
        error.expect_err("there is no template").message().to_owned()
    });
    assert!(text.contains("request.object.spec.template.spec.num"), "{text}");
}

#[test]
fn branches_are_the_conditions() {
    let branches =
        compile("{any: [{key: a, operator: Equals, value: b}], all: [{key: c, operator: Equals, value: d}]}")
            .branches();
    let names: Vec<&str> = branches.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(names, ["a Equals b", "c Equals d"]);
}
