//! Hostile documents: what they take, and how that grows with their size.

use std::fmt::Write as _;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use kubewright_golib::compile_budget::CompileLimits;
use kubewright_value::{Document, Source, yaml};

use kubewright_dialects::{DialectOptions, LoadedRules, all_dialects, load_documents, load_documents_within};

fn documents(text: &str) -> Vec<Document> {
    yaml::read(&Source::new("rules.yaml", text)).documents
}

fn loaded(text: &str) -> LoadedRules {
    load_documents(&all_dialects(&DialectOptions::default()), &documents(text))
}

/// Returns a ModRule with a criterion for each expression.
fn modrule(name: &str, expressions: &[String]) -> String {
    let mut text = format!(
        "apiVersion: api.kubemod.io/v1beta1\nkind: ModRule\nmetadata: {{name: {name}, namespace: default}}\n\
         spec:\n  type: Patch\n  patch:\n  - {{op: add, path: /metadata/labels/a, value: b}}\n  match:\n"
    );
    for expression in expressions {
        let _ = writeln!(text, "  - {{select: $.kind, matchRegex: '{expression}'}}");
    }
    text
}

fn codes(loaded: &LoadedRules) -> Vec<&str> {
    loaded.diagnostics.iter().map(|diagnostic| diagnostic.code.id).collect()
}

#[test]
fn a_rule_whose_expressions_are_too_large_is_refused_at_its_place() {
    let one = loaded(&modrule("r", &[r"\pL{200}".to_owned()]));
    assert_eq!(codes(&one), ["KW-M006"]);
    assert!(one.diagnostics[0].message.ends_with("expression too large"), "{:?}", one.diagnostics[0]);
    let many: Vec<String> = (20..28).map(|count| format!(r"\pL{{{count}}}")).collect();
    let many = loaded(&modrule("r", &many));
    assert_eq!(codes(&many)[..2], ["KW-L003", "KW-M006"]);
    assert_eq!(many.diagnostics[0].message, "the rule needs more than 2048 KiB compiled");
    assert!(many.rules.is_empty());
}

#[test]
fn rules_beyond_what_all_may_take_are_refused_and_their_neighbours_stand() {
    let text: Vec<String> = (0..6).map(|n| modrule(&format!("r{n}"), &[format!(r"^{n}\pL{{5}}$")])).collect();
    let limits = CompileLimits { total_bytes: 300 << 10, ..CompileLimits::default() };
    let loaded = load_documents_within(
        &all_dialects(&DialectOptions::default()),
        &documents(&text.join("---\n")),
        limits,
    );
    assert!((1..5).contains(&loaded.rules.len()), "{}", loaded.rules.len());
    assert!(codes(&loaded).contains(&"KW-L004"));
}

#[test]
fn rules_written_alike_share_their_expressions() {
    let text: Vec<String> = (0..500).map(|n| modrule(&format!("r{n}"), &[r"^\pL{20}$".to_owned()])).collect();
    let loaded = loaded(&text.join("---\n"));
    assert_eq!((loaded.rules.len(), loaded.diagnostics.len()), (500, 0));
}

#[test]
fn compiling_ends_after_so_many_steps() {
    let limits = CompileLimits { document_steps: 10_000, ..CompileLimits::default() };
    let expressions: Vec<String> = (0..40).map(|n| format!("^[a-z]{{{n}}}[0-9]{{40}}$")).collect();
    let text = modrule("r", &expressions);
    let loaded = load_documents_within(&all_dialects(&DialectOptions::default()), &documents(&text), limits);
    assert_eq!(codes(&loaded)[0], "KW-L005");
    assert!(loaded.rules.is_empty());
}

#[test]
fn of_many_diagnostics_the_first_are_told_and_errors_before_others() {
    let wrong: Vec<String> = (0..1_500).map(|_| "(".to_owned()).collect();
    let loaded = loaded(&modrule("r", &wrong));
    assert_eq!(loaded.diagnostics.len(), 1_001);
    let last = loaded.diagnostics.last().unwrap();
    assert_eq!(
        (last.code.id, last.message.as_str()),
        ("KW-L006", "and 500 more diagnostics of this document")
    );
}

/// Returns how long this thread has run, without the time in which others had the processor; where the system does not say
/// that, how long the process is there.
fn thread_time() -> Duration {
    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|number| number.parse().ok());
    nanoseconds.map_or_else(|| BEGUN.elapsed(), Duration::from_nanos)
}

/// Checks that four times as many lines take no more than some ten times as long: four times is linear, sixteen times quadratic.
#[track_caller]
fn is_linear(head: &str, line: impl Fn(usize) -> String, tail: &str) {
    const FEW: usize = 1_500;
    let document = |count: usize| {
        let lines: String = (0..count).map(&line).collect();
        documents(&format!("{head}{lines}{tail}"))
    };
    let dialects = all_dialects(&DialectOptions::default());
    let time = |documents: &[Document]| {
        let begun = thread_time();
        let loaded = load_documents(&dialects, documents);
        assert!(loaded.unclaimed.is_empty());
        thread_time().saturating_sub(begun)
    };
    let (short, long) = (document(FEW), document(FEW * 4));
    // The best of each, measured in turn until it suffices, because others use the processor and its caches too.
    let (mut few, mut many) = (Duration::MAX, Duration::MAX);
    let is_linear = (0..8).any(|_| {
        (few, many) = (few.min(time(&short)), many.min(time(&long)));
        many < few * 10 + Duration::from_millis(50)
    });
    assert!(is_linear, "{FEW} lines take {few:?}, four times as many {many:?}");
}

const KYVERNO: &str =
    "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec:\n  rules:\n";
const MATCH: &str = "match: {any: [{resources: {kinds: [Pod]}}]}";
const VPOL: &str = "apiVersion: policies.kyverno.io/v1\nkind: ValidatingPolicy\nmetadata: {name: p}\nspec:\n  \
    matchConstraints: {resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}\n";
const VALIDATIONS: &str = "  validations: [{expression: 'object.metadata.name == \"x\"', message: m}]\n";
const MODRULE: &str = "apiVersion: api.kubemod.io/v1beta1\nkind: ModRule\nmetadata: {name: r, namespace: d}\nspec:\n  type: Patch\n";

#[test]
fn compiling_kyverno_policies_is_linear() {
    let validate = "validate: {message: m, pattern: {metadata: {name: x}}}";
    is_linear(KYVERNO, |n| format!("  - {{name: r{n}, {MATCH}, {validate}}}\n"), "");
    is_linear(KYVERNO, |_| format!("  - {{name: same, {MATCH}, {validate}}}\n"), "");
    let context = format!("{KYVERNO}  - name: r\n    {MATCH}\n    context:\n");
    let unused = |n| format!("    - {{name: v{n}, variable: {{value: {n}}}}}\n");
    is_linear(&context, unused, "    validate: {message: m, deny: {}}\n");
}

#[test]
fn compiling_policies_in_cel_is_linear() {
    let validations = format!("{VPOL}  validations:\n");
    is_linear(&validations, |n| format!("  - {{expression: 'object.x == {n}', message: m}}\n"), "");
    let variables = format!("{VPOL}  variables:\n");
    is_linear(&variables, |n| format!("  - {{name: v{n}, expression: '1'}}\n"), VALIDATIONS);
    let conditions = format!("{VPOL}  matchConditions:\n");
    is_linear(&conditions, |n| format!("  - {{name: c{n}, expression: 'true'}}\n"), VALIDATIONS);
}

#[test]
fn mistakes_in_a_document_of_one_line_are_found_in_linear_time() {
    let flow = |text: &str| text.trim_end().replace("\n", "");
    let head = flow(
        r#"{"apiVersion":"policies.kyverno.io/v1","kind":"ValidatingPolicy","metadata":{"name":"p"},"spec":{
        "matchConstraints":{"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],
        "resources":["pods"]}]},"validations":["#,
    );
    is_linear(&head, |n| format!(r#"{{"expression":"f{n}(1)"}},"#), r#"{"expression":"true"}]}}"#);
    is_linear(
        &head,
        |n| format!(r#"{{"expression":"object.spec.a{n} == ''"}},"#),
        r#"{"expression":"true"}]}}"#,
    );
    let head = flow(
        r#"{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{"name":"p"},"spec":{"rules":[{"name":"r",
        "match":{"any":[{"resources":{"kinds":["ConfigMap"]}}]},"validate":{"message":"m","pattern":{"data":{"#,
    );
    is_linear(&head, |n| format!(r#""a{n}":"{{{{ nothing{n} }}}}","#), r#""b":"c"}}}]}}"#);
}

#[test]
fn compiling_modrules_is_linear() {
    let patch = "  patch: [{op: add, path: /metadata/labels/a, value: b}]\n";
    is_linear(&format!("{MODRULE}  match:\n"), |n| format!("  - {{select: $.a, matchValue: v{n}}}\n"), patch);
    let operations = format!("{MODRULE}  match: [{{select: $.kind, matchValue: Pod}}]\n  patch:\n");
    is_linear(&operations, |n| format!("  - {{op: add, path: /metadata/labels/a{n}, value: b}}\n"), "");
}

#[test]
fn compiling_traits_is_linear() {
    let head = "apiVersion: openchoreo.dev/v1alpha1\nkind: Trait\nmetadata: {name: t}\nspec:\n  patches:\n";
    let target = "target: {group: apps, version: v1, kind: Deployment}";
    let operations = format!("{head}  - {target}\n    operations:\n");
    is_linear(&operations, |n| format!("    - {{op: add, path: /metadata/labels/a{n}, value: b}}\n"), "");
    let patch = |n| {
        format!(
            "  - {{{target}, operations: [{{op: add, path: /metadata/labels/a{n}, value: '${{parameters.p{n}}}'}}]}}\n"
        )
    };
    is_linear(head, patch, "");
}
