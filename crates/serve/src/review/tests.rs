//! Decisions about objects of which only the fields are there that rules read.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_dialects::DialectOptions;
use kubewright_engine::{ClosedWorld, DecisionSettings, Rule, RuleAddress, RuleStatus};
use kubewright_value::{Document, Map, Source, Value, json, yaml};

use super::*;

/// How many objects of other tests each policy is asked about too.
const OTHER_OBJECTS: usize = 40;

/// A policy with objects that its author tests it with.
struct TestedPolicy {
    name: String,
    policies: Vec<Document>,
    objects: Vec<Value>,
}

/// Returns the folders with tests of policies: the examples, and the public policies, which are not part of the repository.
fn test_folders() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![here.join("../../examples")];
    let public = here.ancestors().map(|folder| folder.join("shared/conformance"));
    match public.into_iter().find(|folder| folder.is_dir()) {
        Some(public) => folders.push(public),
        None => eprintln!("SKIPPED: public policies, which are not here"),
    }
    folders
}

fn documents(path: &Path) -> Vec<Document> {
    let text = fs::read_to_string(path).unwrap_or_default();
    yaml::read(&Source::new(path.display().to_string(), text)).documents
}

/// Adds what the tests below `folder` are about.
fn add_tested(folder: &Path, found: &mut Vec<TestedPolicy>) {
    let mut entries: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    entries.sort();
    add_probes(folder, found);
    for path in entries {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // Those of the chainsaw need a cluster.
        if name.starts_with("chainsaw") {
            continue;
        }
        if path.is_dir() {
            add_tested(&path, found);
        } else if name.ends_with("test.yaml") {
            for test in documents(&path) {
                let named = |key: &str| -> Vec<Document> {
                    let names = test.value.get(key).and_then(Value::as_array).unwrap_or_default();
                    names
                        .iter()
                        .filter_map(Value::as_str)
                        .flat_map(|name| documents(&folder.join(name)))
                        .collect()
                };
                let objects = named("resources").into_iter().map(|document| document.value).collect();
                found.push(TestedPolicy {
                    name: path.display().to_string(),
                    policies: named("policies"),
                    objects,
                });
            }
        }
    }
}

/// Adds the small policies in `folder` that are about one thing each, if they are there.
fn add_probes(folder: &Path, found: &mut Vec<TestedPolicy>) {
    let text = fs::read_to_string(folder.join("probes.json")).unwrap_or_default();
    let probes = json::parse(&text).unwrap_or_default();
    for case in probes.get("cases").and_then(Value::as_array).unwrap_or_default() {
        let name = case.str_at(&["name"]);
        let of = |key: &str| yaml::read(&Source::new(name, case.str_at(&[key]))).documents;
        let objects = of("resources").into_iter().map(|document| document.value).collect();
        found.push(TestedPolicy { name: name.to_owned(), policies: of("policy"), objects });
    }
}

/// Returns reviews of the creation, the change from `other` and the deletion of `object`.
fn reviews_of(object: &Value, other: &Value) -> Vec<Vec<u8>> {
    let (group, version) =
        object.str_at(&["apiVersion"]).split_once('/').unwrap_or(("", object.str_at(&["apiVersion"])));
    let kind = Map::from([
        ("group", Value::from(group)),
        ("version", version.into()),
        ("kind", object.str_at(&["kind"]).into()),
    ]);
    let review = |operation: &str, object: &Value, old: &Value| {
        let request = Map::from([
            ("uid", Value::from("a-uid")),
            ("kind", kind.clone().into()),
            ("requestKind", kind.clone().into()),
            ("name", object.str_at(&["metadata", "name"]).into()),
            ("namespace", object.str_at(&["metadata", "namespace"]).into()),
            ("operation", operation.into()),
            ("userInfo", Map::from([("username", Value::from("jane"))]).into()),
            ("object", object.clone()),
            ("oldObject", old.clone()),
        ]);
        let review = Map::from([
            ("kind", Value::from("AdmissionReview")),
            ("apiVersion", "admission.k8s.io/v1".into()),
            ("request", request.into()),
        ]);
        json::to_string(&review.into()).into_bytes()
    };
    vec![
        review("CREATE", object, &Value::Null),
        review("UPDATE", object, other),
        review("DELETE", &Value::Null, object),
    ]
}

/// Returns the answer and everything that is shown of the outcomes.
fn answered(snapshot: &Snapshot, review: &AdmissionReview) -> Vec<String> {
    let world = ClosedWorld::default();
    let decision = decide::decide_without_lookups(snapshot, "validate", &review.request, &world);
    let decision = decision.expect("a decision");
    let response = AdmissionResponse::of(snapshot, review, &decision);
    let mut texts = vec![response.to_review(&review.request.uid)];
    texts.extend(decision.outcomes.iter().map(|outcome| {
        format!("{} {:?} {} {}", outcome.rule, outcome.status, outcome.message, outcome.is_refusal)
    }));
    texts
}

/// Returns the rules that pass, each evaluated in full or not, and what the others say.
fn verdicts(snapshot: &Snapshot, review: &AdmissionReview, leaves_out_passes: bool) -> Vec<String> {
    let engine = snapshot.engine("validate").expect("rules");
    let settings = DecisionSettings { leaves_out_passes, ..DecisionSettings::default() };
    let decision = engine.decide(&review.request, &ClosedWorld::default(), &settings);
    let is_passed = |rule: &&Arc<Rule>| decision.passed.contains(&RuleAddress::of(&rule.id));
    let mut all: Vec<String> =
        engine.rules().iter().filter(is_passed).map(|rule| format!("{} Pass", rule.id)).collect();
    all.extend(decision.outcomes.iter().map(|outcome| match outcome.status {
        RuleStatus::Pass => format!("{} Pass", outcome.rule),
        status => format!("{} {status:?} {}", outcome.rule, outcome.message),
    }));
    all.sort();
    all
}

#[test]
fn what_no_rule_reads_makes_no_difference() {
    let mut tested = Vec::new();
    test_folders().iter().for_each(|folder| add_tested(folder, &mut tested));
    let all: Vec<&Value> = tested.iter().flat_map(|test| &test.objects).collect();
    let others: Vec<&Value> = all.iter().step_by((all.len() / OTHER_OBJECTS).max(1)).copied().collect();
    let (mut reduced, mut whole) = (0, 0);
    for (place, test) in tested.iter().enumerate() {
        let snapshot = Snapshot::of(&DialectOptions::default(), &[], &test.policies, 1);
        for object in test.objects.iter().chain(others.iter().copied()) {
            let other = others.get(place % others.len().max(1)).copied().unwrap_or(object);
            let same_kind =
                test.objects.iter().find(|one| one.get("kind") == object.get("kind") && *one != object);
            for bytes in reviews_of(object, same_kind.unwrap_or(other)) {
                let (Ok(full), Ok(read)) =
                    (AdmissionReview::read(&bytes), snapshot.read_review("validate", &bytes))
                else {
                    continue;
                };
                assert_eq!(
                    verdicts(&snapshot, &full, true),
                    verdicts(&snapshot, &full, false),
                    "{}: passes that are left out",
                    test.name
                );
                if full.raw == read.raw {
                    whole += 1;
                    continue;
                }
                reduced += 1;
                assert_eq!(answered(&snapshot, &read), answered(&snapshot, &full), "{}", test.name);
            }
        }
    }
    assert!(reduced > 100, "only {reduced} of {} objects lost a field", reduced + whole);
    println!("{reduced} reviews lost fields, {whole} did not");
}
