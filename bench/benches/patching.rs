//! Operations by paths on a Deployment of 3 KB: what parsing a path, finding its places and editing cost.
//!
//! `cargo bench -p kubewright-bench --bench patching` prints a Markdown table. In the first rows the document is
//! shared, so that the levels above the place are copied; in the last ones it is not.

#![expect(clippy::expect_used, reason = "a measurement of something that fails is worse than none")]

use std::cell::RefCell;

use kubewright_bench::clock::{BenchSubject, medians, print_ratios};
use kubewright_bench::instructions::{self, BenchMode};
use kubewright_patch::path::{PatchPath, PathOp, PathPiece};
use kubewright_value::{Budget, Map, Value, json};

const ROUNDS: usize = 9;

const OPERATIONS: &[(&str, PathOp, &str, &str)] = &[
    ("set a label", PathOp::Add, "/metadata/labels/team", "\"a\""),
    (
        "set an annotation of the pods",
        PathOp::Add,
        "/spec/template/metadata/annotations/example.com~1mode",
        "\"a\"",
    ),
    (
        "append to env by index",
        PathOp::Add,
        "/spec/template/spec/containers/0/env/-",
        r#"{"name":"A","value":"b"}"#,
    ),
    (
        "append to env by filter",
        PathOp::Add,
        "/spec/template/spec/containers[?(@.name=='web')]/env/-",
        r#"{"name":"A","value":"b"}"#,
    ),
    (
        "replace the image of every container",
        PathOp::Replace,
        "/spec/template/spec/containers[*]/image",
        "\"a:1\"",
    ),
    ("remove a key", PathOp::Remove, "/spec/template/spec/terminationGracePeriodSeconds", "null"),
    ("remove nothing", PathOp::Remove, "/metadata/annotations/none", "null"),
];

fn main() {
    let document = benchmark_deployment();
    println!("the document has {} bytes", document.to_string().len());
    let mut subjects = Vec::new();
    for (name, op, path, value) in OPERATIONS {
        let path = PatchPath::parse(path).expect("a path");
        let value = json::parse(value).expect("a value");
        let document = &document;
        subjects.push(BenchSubject::new(name, move || {
            let mut shared = document.clone();
            apply_operation(&path, *op, &value, &mut shared)
        }));
    }
    let text = "/spec/template/spec/containers[?(@.name=='web')]/env/-";
    subjects.push(BenchSubject::new("parse the path with a filter", move || {
        PatchPath::parse(text).map_or(0, |path| path.segments().len())
    }));
    subjects.push(BenchSubject::new("parse it with a name put in", || {
        let pieces = [
            PathPiece::Literal("/spec/template/spec/containers[?(@.name=='"),
            PathPiece::Text("web"),
            PathPiece::Literal("')]/env/-"),
        ];
        PatchPath::from_pieces(&pieces).map_or(0, |path| path.segments().len())
    }));
    subjects.push(alone("set a label of an unshared document", &document, "/metadata/labels/team", "\"a\""));
    let image = "/spec/template/spec/containers[?(@.name=='web')]/image";
    subjects.push(alone("set an image of an unshared document", &document, image, "\"a:1\""));
    match BenchMode::of_arguments() {
        BenchMode::Run(subject, rounds) => instructions::run_subject(&subjects, subject, rounds),
        BenchMode::Instructions => instructions::print_instructions("one operation", &subjects),
        BenchMode::Time => print_ratios("one operation", &subjects, &medians(&subjects, ROUNDS)),
    }
}

/// Sets the same thing again and again in a document of its own.
fn alone<'a>(name: &'a str, document: &Value, path: &str, value: &str) -> BenchSubject<'a> {
    let path = PatchPath::parse(path).expect("a path");
    let value = json::parse(value).expect("a value");
    let own = RefCell::new(json::parse(&document.to_string()).expect("a document"));
    BenchSubject::new(name, move || apply_operation(&path, PathOp::Add, &value, &mut own.borrow_mut()))
}

fn apply_operation(path: &PatchPath, op: PathOp, value: &Value, document: &mut Value) -> usize {
    path.apply(op, value, document, &mut Budget::default())
        .expect("an operation that can be done")
        .places
        .len()
}

/// A Deployment of the pod that the other measurements use.
fn benchmark_deployment() -> Value {
    let pod = json::parse(include_str!("../inputs/pod.json")).expect("a pod");
    let metadata = pod.get("metadata").cloned().unwrap_or_default();
    let template =
        Map::from([("metadata", metadata.clone()), ("spec", pod.get("spec").cloned().unwrap_or_default())]);
    let spec = Map::from([("replicas", Value::from(2_i64)), ("template", Value::object(template))]);
    Value::object(Map::from([
        ("apiVersion", Value::from("apps/v1")),
        ("kind", Value::from("Deployment")),
        ("metadata", metadata),
        ("spec", Value::object(spec)),
    ]))
}
