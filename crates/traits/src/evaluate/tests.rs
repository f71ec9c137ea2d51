//! Traits over manifests: the outcome table in `tests/outcomes.rs`, who comes when in `tests/order.rs`, what is meant in
//! `tests/targets.rs`, what expressions give in `tests/values.rs`, diagnostics in `tests/diagnostics.rs`.

mod diagnostics;
mod order;
mod outcomes;
mod targets;
mod values;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Source, Value, yaml};

use crate::{CompiledTrait, Instance, Manifest, RenderContext, RenderOptions, Rendering, render_traits};

/// What every test gives to its traits.
const PARAMETERS: &str = "
size: 3
big: 12345678
text: app
none: null
evil: \"a/b~1c')]/x\"
empty: ''
isOn: false
names: [c, a, b]
labels: {zone: west, app: web}
ports: [{name: http, number: 8080}, {name: admin, number: 9090}]
";

const NAMES: [&str; 3] = ["one", "two", "three"];

/// Renders traits with these specs, called `one`, `two` and `three`, over these manifests. A spec starts in line 5 of
/// its file, in column 3.
fn rendered(base: &[&str], specs: &[&str], options: RenderOptions) -> Rendering {
    let base = base.iter().enumerate().map(|(number, text)| Manifest::given(number, value(text)));
    let given = |text: &str| Document::made(value(text), Source::new("given.yaml", text.to_owned()));
    let instance = |(spec, name): (&&str, &str)| {
        let (of, wrong) = compiled(spec, name);
        assert!(!wrong.iter().any(Diagnostic::is_error), "{wrong:?}");
        Instance { of, name: name.into(), parameters: given(PARAMETERS), environment_configs: given("{}") }
    };
    let instances: Vec<Instance> = specs.iter().zip(NAMES).map(instance).collect();
    let metadata = value("{name: web-dev, componentName: web, namespace: team}");
    let context = RenderContext::new().with("metadata", metadata);
    render_traits(base.collect(), &instances, &context, &options)
}

fn compiled(spec: &str, name: &str) -> (CompiledTrait, Vec<Diagnostic>) {
    let lines: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    let text = format!("apiVersion: v1alpha1\nkind: Trait\nmetadata: {{name: {name}}}\nspec:\n{lines}");
    let reading = yaml::read(&Source::new(format!("{name}.yaml"), text));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    let (found, wrong) = CompiledTrait::compile(&reading.documents[0], &[]);
    (found.unwrap(), wrong)
}

fn value(text: &str) -> Value {
    yaml::parse(text).unwrap()
}

/// Checks what traits make of manifests, without a word.
#[track_caller]
fn check(base: &[&str], specs: &[&str], want: &[&str]) {
    let rendering = rendered(base, specs, RenderOptions::default());
    assert_eq!(said(&rendering), [""; 0], "{specs:?}");
    let found: Vec<String> = rendering.manifests.iter().map(|manifest| manifest.object.to_string()).collect();
    let want: Vec<String> = want.iter().map(|text| value(text).to_string()).collect();
    assert_eq!(found, want, "{specs:?}");
}

/// Checks all diagnostics, as `code file:line:column message | help`.
#[track_caller]
fn says(base: &[&str], specs: &[&str], want: &[&str]) {
    assert_eq!(said(&rendered(base, specs, RenderOptions::default())), want, "{specs:?}");
}

fn said(rendering: &Rendering) -> Vec<String> {
    let line = |found: &Diagnostic| {
        let help = if found.help.is_empty() { String::new() } else { format!(" | {}", found.help) };
        format!("{} {} {}{help}", found.code.id, found.location, found.message)
    };
    rendering.diagnostics.iter().map(line).collect()
}

/// A manifest with this under `s`.
fn a(body: &str) -> String {
    format!("{{apiVersion: v1, kind: A, metadata: {{name: a}}, s: {body}}}")
}

/// A patch of it; operations are written `op path` or `op path <- value`.
fn patch(operations: &[&str]) -> String {
    let lines: String = operations.iter().map(|operation| line(operation)).collect();
    format!("patches:\n- target: {{group: '', version: v1, kind: A}}\n  operations:\n{lines}")
}

fn line(operation: &str) -> String {
    let (op, rest) = operation.split_once(' ').unwrap();
    match rest.split_once(" <- ") {
        None => format!("  - {{op: {op}, path: {}}}\n", Value::from(rest)),
        Some((path, new)) => {
            format!("  - op: {op}\n    path: {}\n    value: {new}\n", Value::from(path))
        }
    }
}

/// Checks what operations make of `s`.
#[track_caller]
fn done(body: &str, operations: &[&str], want: &str) {
    check(&[&a(body)], &[&patch(operations)], &[&a(want)]);
}

/// Checks why operations cannot be done, and that they are not.
#[track_caller]
fn fails(body: &str, operations: &[&str], want: &str) {
    let rendering = rendered(&[&a(body)], &[&patch(operations)], RenderOptions::default());
    assert!(rendering.has_failed());
    let [found] = &rendering.diagnostics[..] else { panic!("{:?}", rendering.diagnostics) };
    assert_eq!(format!("{} {}", found.code.id, found.message), want, "{operations:?}");
    assert_eq!(rendering.manifests[0].object.to_string(), value(&a(body)).to_string());
}
