use std::cell::OnceCell;

use kubewright_engine::{ClosedWorld, DecisionCache, Evaluation, RuleId, Tracer, World, WorldView};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Budget, json};

use super::*;

thread_local! {
    static FUNCTIONS: OnceCell<JmesPathFunctions> = const { OnceCell::new() };
}

pub(in super::super) fn functions() -> JmesPathFunctions {
    FUNCTIONS.with(|functions| functions.get_or_init(JmesPathFunctions::kubernetes).clone())
}

/// Runs `test` with the context of `request`.
pub(in super::super) fn with_context<T>(
    request: &AdmissionRequest,
    world: &dyn World,
    test: impl FnOnce(&mut VariableContext<'_>) -> T,
) -> T {
    let (mut budget, mut tracer, memory) = (Budget::default(), Tracer::off(), DecisionCache::default());
    let mut evaluation =
        Evaluation::new(request, WorldView::new(world, None), &mut budget, &mut tracer, &memory);
    let rule = RuleId { dialect: "kyverno", policy: "p".into(), rule: "r".into() };
    let mut context = VariableContext::new(&mut evaluation, &request.object, &rule);
    test(&mut context)
}

const OBJECT: &str = r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"x0","namespace":"default","labels":{"a":"b"}},
  "spec":{"m":{"k":"v"},"k":"z","z":"hit","tmpl":"{{ request.object.metadata.name }}","n":5,"l":[1,2],"q":"it's \"`\\","dot":"metadata.name","null":null,"html":{"b":"<","a":1}}}"#;

fn request(operation: Operation) -> AdmissionRequest {
    AdmissionRequest::for_object(json::parse(OBJECT).expect("JSON"), operation, "default")
}

fn show(mixed: &Tainted) -> String {
    let parts = |parts: &[TaintedPart]| -> String {
        parts
            .iter()
            .map(|part| if part.is_own { part.text.to_string() } else { format!("<{}>", part.text) })
            .collect()
    };
    match mixed {
        Tainted::Trusted(value) => value.to_string(),
        Tainted::Untrusted(value) => format!("foreign {value}"),
        Tainted::Text(text) => parts(text),
        Tainted::List(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(", ")),
        Tainted::Map(entries) => {
            let entries = entries.iter().map(|(key, value)| format!("{}: {}", parts(key), show(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

fn resolve(template: &VariableTemplate, operation: Operation) -> String {
    with_context(&request(operation), &ClosedWorld::default(), |context| match template.resolve(context) {
        Ok(mixed) => show(&mixed),
        Err(Unresolved::Missing(error)) => format!("missing: {}", error.message),
        Err(Unresolved::Error(error)) => format!("error: {}", error.message),
    })
}

/// Resolves `text`; foreign parts are in angle brackets.
#[track_caller]
fn text(text: &str, want: &str) {
    let (template, _) = VariableTemplate::parse(&Value::from(text), &functions());
    assert_eq!(resolve(&template, Operation::Create), want, "{text}");
}

#[track_caller]
fn yields(document: &str, want: &str) {
    let (template, _) = VariableTemplate::parse(&json::parse(document).expect("JSON"), &functions());
    assert_eq!(resolve(&template, Operation::Create), want, "{document}");
}

#[test]
fn a_text_that_is_one_variable_keeps_its_type() {
    text("{{ request.object.spec.n }}", "foreign 5");
    text("{{request.object.spec.m}}", r#"foreign {"k":"v"}"#);
    text("{{ request.object.spec.null }}", "foreign null");
    text("{{ `[1]` }}", "[1]");
    text("{{- 'a' }}", r#""a""#);
}

#[test]
fn a_variable_inside_a_text_is_text() {
    text("M[{{ request.object.spec.m }}]", r#"M[<{"k":"v"}>]"#);
    text("M[{{ request.object.spec.html }}]", r#"M[<{"a":1,"b":"\u003c"}>]"#);
    text("{{ request.object.spec.n }}{{ `2` }}", "<5>2");
    text("a {{ 'b' }} c", r#""a b c""#);
    text(r"\{{ a }} {{ 'b' }}", r#""{{ a }} b""#);
    text(r"\{{ a }}", r#""{{ a }}""#);
}

#[test]
fn values_are_never_read_for_variables() {
    text("M[{{ request.object.spec.tmpl }}]", "M[<{{ request.object.metadata.name }}>]");
    text(
        "{{ request.object.spec }}",
        &format!("foreign {}", request(Operation::Create).object.get("spec").unwrap()),
    );
}

#[test]
fn object_literals_may_nest() {
    text(
        r#"{{ request.object.spec.m | merge(@, `{"a":{"b":"c"}}`) }}"#,
        r#"foreign {"k":"v","a":{"b":"c"}}"#,
    );
    text("{{ {a: {b: 'x'}} }}", r#"{"a":{"b":"x"}}"#);
}

#[test]
fn variables_in_variables_become_names_and_texts_but_never_syntax() {
    text("M[{{ request.object.spec.{{ request.object.spec.k }} }}]", "M[<hit>]");
    text("{{ request.object.spec.\"{{ request.object.spec.k }}\" }}", "foreign \"hit\"");
    text("{{ request.object.spec.l[{{ `1` }}] }}", "foreign 2");
    text("{{ request.object.spec.l[{{ length(request.object.spec.m) }}] }}", "foreign 2");
    text("{{ to_upper('{{ request.object.spec.k }}') }}", "foreign \"Z\"");
    text("{{ to_upper('a{{ 'b' }}') }}", "\"AB\"");
    text("{{ length('{{ request.object.spec.q }}') }}", "foreign 8");
    text("{{ length(`\"{{ request.object.spec.q }}\"`) }}", "foreign 8");
    text("{{ `[{{ request.object.spec.n }}, \"{{ request.object.spec.k }}\"]` }}", "foreign [5,\"z\"]");
    text("{{ request.object.{{ 'metadata.name' }} }}", "foreign \"x0\"");
    text(
        "{{ request.object.{{ request.object.spec.dot }} }}",
        "missing: failed to resolve request.object.\"metadata.name\" at path : JMESPath query failed: Unknown key \"metadata.name\" in path",
    );
    text("{{ request.object.spec.n{{ request.object.spec.missing || 'ull' }} }}", "foreign null");
    text("{{ {{ request.object.spec.n }} }}", "foreign 5");
}

#[test]
fn what_is_missing_is_told_in_the_known_words() {
    text(
        "{{ request.object.spec.missing }}",
        "missing: failed to resolve request.object.spec.missing at path : JMESPath query failed: Unknown key \"missing\" in path",
    );
    yields(
        r#"{"spec":{"b":{"c":"{{ @ }}"}}}"#,
        "missing: failed to resolve request.object.c at path /spec/b/c: JMESPath query failed: Unknown key \"c\" in path",
    );
    yields(
        r#"{"a/b":[{"{{ nope }}":1}]}"#,
        r#"missing: failed to resolve nope at path /a\/b/0: JMESPath query failed: Unknown key "nope" in path"#,
    );
    text("{{ }}", "error: failed to resolve  at path : invalid query (nil)");
}

#[test]
fn a_constant_that_stands_in_for_what_is_missing_is_the_authors() {
    text("{{ request.object.spec.missing || '*' }}", "\"*\"");
    text("{{ request.object.spec.k || '*' }}", "foreign \"z\"");
    text("{{ request.object.spec.null || request.object.spec.k || '*' }}", "foreign \"z\"");
    text("{{ request.object.spec.missing || request.object.spec.gone }}", "foreign null");
}

#[test]
fn keys_and_items_are_resolved_too() {
    yields(r#"{"a-{{ request.object.spec.k }}":["{{ 'x' }}","*"]}"#, r#"{a-<z>: ["x","*"]}"#);
    yields(r#"{"{{ 'a' }}":["{{ request.object.spec.n }}","*"]}"#, r#"{a: [foreign 5, "*"]}"#);
    yields(r#"{"{{ 'a' }}":"b"}"#, r#"{"a":"b"}"#);
    yields(r#"{"{{ `1` }}":1}"#, r#"error: expected string after substituting variables in key "{{ `1` }}""#);
    yields(r#"{"{{ `null` }}":1}"#, r#"{"{{ `null` }}":1}"#);
}

#[test]
fn references_lead_to_texts_of_the_same_document() {
    yields(r#"{"a":"$(../b)","b":"x"}"#, r#"{"a":"x","b":"x"}"#);
    yields(r#"{"a":"<=$(../b)","b":"{{ request.object.spec.n }}"}"#, "{a: <=<5>, b: foreign 5}");
}

#[test]
fn a_deletion_has_only_the_old_object() {
    let (template, _) =
        VariableTemplate::parse(&Value::from("n {{ request.object.metadata.name }}"), &functions());
    assert_eq!(resolve(&template, Operation::Delete), "n <x0>");
    let (template, _) = VariableTemplate::parse(&Value::from("{{ request.object.nope }}"), &functions());
    let want = "missing: failed to resolve request.oldObject.nope at path : JMESPath query failed: Unknown key \"nope\" in path";
    assert_eq!(resolve(&template, Operation::Delete), want);
}

#[test]
fn a_template_without_variables_is_constant() {
    let constant = |text: &str| {
        VariableTemplate::parse(&json::parse(text).unwrap(), &functions()).0.constant().map(Value::to_string)
    };
    assert_eq!(constant(r#"{"a":[1,"*"]}"#).as_deref(), Some(r#"{"a":[1,"*"]}"#));
    assert_eq!(constant(r#"{"a":["\\{{x}}"]}"#).as_deref(), Some(r#"{"a":["{{x}}"]}"#));
    assert_eq!(constant(r#"{"a":"{{ 'x' }}"}"#), None);
}

/// Parses `text` and shows the problems as `column+length: message`.
#[track_caller]
fn complains(text: &str, want: &[&str]) {
    let (_, problems) = VariableTemplate::parse(&Value::from(text), &functions());
    let shown: Vec<String> =
        problems.iter().map(|p| format!("{}+{}: {}", p.position, p.length, p.message)).collect();
    assert_eq!(shown, want, "{text}");
}

#[test]
fn problems_have_their_place_in_the_text() {
    complains("ab {{ length( }}", &["1:14+1: found the end, expected an expression"]);
    complains("ab {{ a.{{ nope(x) }} }}", &["1:12+4: unknown function `nope`"]);
    complains("a\n{{ - b = c }}", &["2:8+1: unexpected `=`, equality is written `==`"]);
    complains("$(../z)", &["1:1+7: `$(../z)` leads to no text"]);
}

/// Rebases `text` and resolves it on a Deployment.
#[track_caller]
fn rebased(text: &str, to: PodTemplatePath, want: &str) {
    let object = match to {
        PodTemplatePath::JobTemplate => {
            r#"{"metadata":{"name":"c","namespace":"n","labels":{"l":"out"}},"spec":{"jobTemplate":{"spec":{"template":{"metadata":{"labels":{"l":"in"}},"spec":{"x":"in"}}}}}}"#
        }
        _ => {
            r#"{"metadata":{"name":"d","namespace":"n","labels":{"l":"out"}},"spec":{"x":"out","template":{"metadata":{"labels":{"l":"in"}},"spec":{"x":"in"}}}}"#
        }
    };
    let request =
        AdmissionRequest::for_object(json::parse(object).expect("JSON"), Operation::Create, "default");
    let (template, _) = VariableTemplate::parse(&Value::from(text), &functions());
    let found = with_context(&request, &ClosedWorld::default(), |context| {
        template.rebased(to).resolve(context).map_or_else(|e| e.message().to_owned(), |mixed| show(&mixed))
    });
    assert_eq!(found, want, "{text}");
}

#[test]
fn a_rule_about_pods_reads_the_template_of_a_controller() {
    rebased("{{ request.object.spec.x }}", PodTemplatePath::Template, "foreign \"in\"");
    rebased("{{ request.object.spec.x }}", PodTemplatePath::JobTemplate, "foreign \"in\"");
    rebased("{{ request.object.spec.x }}", PodTemplatePath::Pod, "foreign \"out\"");
    rebased("{{ request.object.metadata.labels.l }}", PodTemplatePath::Template, "foreign \"in\"");
    rebased(
        "{{ request.object.metadata.name }}-{{ request.object.metadata.namespace }}",
        PodTemplatePath::JobTemplate,
        "<c>-<n>",
    );
    rebased("{{ request.object.metadata | keys(@) }}", PodTemplatePath::Template, r#"foreign ["labels"]"#);
    rebased("{{ request.object.{{ 'spec' }}.x }}", PodTemplatePath::Template, "foreign \"in\"");
    rebased("{{ keys(request.object.spec) }}", PodTemplatePath::Template, r#"foreign ["x"]"#);
    rebased(
        "{{ request.object.spec.nope }}",
        PodTemplatePath::Template,
        "failed to resolve request.object.spec.template.spec.nope at path : JMESPath query failed: Unknown key \"nope\" in path",
    );
}

#[test]
fn all_variables_are_listed_with_what_they_read() {
    let (template, _) = VariableTemplate::parse(
        &json::parse(r#"{"a":"{{ b.{{ c }} }} {{ d || e }}"}"#).unwrap(),
        &functions(),
    );
    let shown: Vec<String> = template
        .variables()
        .iter()
        .map(|v| format!("{} reads {:?}", v.text(), v.roots().unwrap().names))
        .collect();
    assert_eq!(shown, [r#"c reads ["c"]"#, r#"b.{{ c }} reads ["b"]"#, r#"d || e reads ["d", "e"]"#]);
}
