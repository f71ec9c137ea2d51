//! The examples on the pages do what the pages say: the wrong one has the diagnostic, and the right one has none like it.
//!
//! An example is a part of a trait, so each is put into a frame that completes it. Pages about what needs manifests,
//! parameters or other resources are not tried here.

use kubewright_engine::DiagnosticLevel;
use kubewright_value::{Source, yaml};

use super::CODES;
use crate::{CheckDepth, examine_document};

const HEAD: &str = "apiVersion: v1alpha1\nkind: Trait\nmetadata: {name: web}\n";
const SCHEMA: &str = "  schema: {ports: '[]integer', extras: '[]string', files: '[]map<string>', labels: '[]map<string>', size: integer, port: integer, volumeName: string}\n";
const TARGET: &str = "{group: apps, version: v1, kind: Deployment}";

/// The frames of the examples: `@` is replaced by the example.
const PAGES: &[(&str, &str)] = &[
    ("@", "R001"),
    ("spec:\n  @", "R005 R029 R082 R089"),
    ("spec:\n  schema:\n    @", "R022"),
    ("spec:\nSCHEMA  @", "R008 R023 R035 R037 R038 R085"),
    ("spec:\nSCHEMA  creates:\n  - @", "R009"),
    ("spec:\nSCHEMA  validations:\n  - message: m\n    @", "R015"),
    ("spec:\nSCHEMA  patches:\n  @", "R088"),
    (
        "spec:\nSCHEMA  patches:\n  - operations: [{op: add, path: /metadata/labels/a, value: b}]\n    @",
        "R020 R024 R083",
    ),
    ("spec:\nSCHEMA  patches:\n  - target: TARGET\n    @", "R002 R084"),
    (
        "spec:\nSCHEMA  patches:\n  - target: TARGET\n    operations: [{op: add, path: /metadata/labels/a, value: b}]\n    @",
        "R006 R025 R032 R086",
    ),
    ("spec:\nSCHEMA  patches:\n  - target: TARGET\n    operations:\n    @", "R003 R004 R026 R030 R080 R081"),
    (
        "spec:\nSCHEMA  patches:\n  - target: TARGET\n    operations:\n    - op: add\n      value: {name: a, value: b}\n      @",
        "R016 R087",
    ),
    (
        "spec:\nSCHEMA  patches:\n  - target: TARGET\n    operations:\n    - op: add\n      path: /spec/x\n      @",
        "R014 R031",
    ),
    (
        "spec:\nSCHEMA  patches:\n  - operations: [{op: add, path: /metadata/labels/a, value: b}]\n    target:\n      kind: Deployment\n      group: apps\n      version: v1\n      @",
        "R007",
    ),
];
/// Those that only a rendering reports: their examples must have no mistakes.
const RENDERED: [&str; 6] = ["R030", "R031", "R032", "R035", "R037", "R038"];

#[test]
fn the_examples_on_the_pages_are_true() {
    for (frame, pages) in PAGES {
        for page in pages.split(' ') {
            let id = format!("KW-{page}");
            let text = CODES.iter().find(|code| code.id == id).map_or("", |code| code.page());
            let examples: Vec<&str> =
                text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
            assert_eq!(examples.len(), 2, "{id}");
            for example in examples {
                let is_wrong = example.starts_with("# wrong");
                assert!(is_wrong || example.starts_with("# right"), "{id} {example}");
                let (whole, found) = examined(frame, example);
                let has = found.iter().any(|(code, _)| *code == id);
                let is_told = is_wrong && !RENDERED.contains(&page);
                assert_eq!(has, is_told, "{id} {found:?}\n{whole}");
                let is_clean = found.iter().all(|(_, severity)| *severity != DiagnosticLevel::Error);
                assert!(is_clean || is_told, "{id} {found:?}\n{whole}");
            }
        }
    }
}

/// Returns `example` in `frame`, and its diagnostics.
fn examined(frame: &str, example: &str) -> (String, Vec<(&'static str, DiagnosticLevel)>) {
    let frame = format!("{HEAD}{frame}").replace("SCHEMA", SCHEMA).replace("TARGET", TARGET);
    let (before, last) = frame.rsplit_once('\n').unwrap_or(("", &frame));
    let indent = last.find('@').unwrap_or_default();
    let mut lines = example.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n"));
    let first = last.replace('@', &lines.next().unwrap_or_default());
    let rest: String = lines.map(|line| format!("{:indent$}{line}", "")).collect();
    let whole = format!("{before}\n{first}{rest}");
    let reading = yaml::read(&Source::new("t.yaml", whole.clone()));
    assert!(reading.problems.is_empty(), "{:?}\n{whole}", reading.problems);
    let found =
        reading.documents.iter().flat_map(|document| examine_document(document, CheckDepth::Idempotence));
    (whole, found.map(|found| (found.code.id, found.code.severity)).collect())
}
