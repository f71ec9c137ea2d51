//! A pattern, objects, and what is found.

mod extensions;
mod many;
mod matrix;
mod successor;
mod tuples;

use kubewright_graph::{Graph, Id, References};
use kubewright_value::{Budget, Limits, Source, Value, yaml};

use super::super::{ObjectTrimmer, Pattern, PatternFindings, compile_pattern_document};
use super::*;

/// Compiles a pattern of the contract from the fields of its `spec`.
#[track_caller]
fn pattern(spec: &str) -> Pattern {
    let spec = spec.trim_end().lines().map(|line| format!("  {line}\n")).collect::<String>();
    let text = format!(
        "version: kubepattern.it/v1\nkind: Pattern\nmetadata: {{name: p, displayName: P, patternType: CUSTOM, severity: INFO, category: Security}}\nspec:\n{spec}"
    );
    compiled(&text)
}

#[track_caller]
fn compiled(text: &str) -> Pattern {
    let reading = yaml::read(&Source::new("p.yaml", text));
    let document = reading.documents.first().unwrap_or_else(|| panic!("{:?}", reading.problems));
    let (pattern, diagnostics) = compile_pattern_document(document);
    pattern
        .unwrap_or_else(|| panic!("{:#?}", diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>()))
}

#[track_caller]
fn objects(text: &str) -> Vec<Value> {
    let reading = yaml::read(&Source::new("o.yaml", text));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    reading.documents.into_iter().map(|document| document.value).collect()
}

fn graph(text: &str) -> Graph {
    Graph::build(objects(text), &References::default())
}

fn run(pattern: &Pattern, graph: &Graph, settings: &DetectionSettings) -> PatternFindings {
    let budget = &mut Budget::new(Limits { steps: 100_000_000, ..Limits::default() });
    detect(pattern, graph, settings, budget).expect("enough budget")
}

fn name(graph: &Graph, id: Id) -> String {
    let node = graph.node(id).expect("a node");
    if node.namespace.is_empty() {
        node.name.to_string()
    } else {
        format!("{}/{}", node.namespace, node.name)
    }
}

/// Returns the findings as `ns/a ns/b: points`.
fn shown(found: &PatternFindings, graph: &Graph) -> Vec<String> {
    let one = |finding: &super::super::PatternFinding| {
        let roles: Vec<String> = finding.roles.iter().map(|(_, id)| name(graph, *id)).collect();
        format!("{}: {}", roles.join(" "), finding.points)
    };
    found.findings.iter().map(one).collect()
}

#[track_caller]
fn check(spec: &str, text: &str, want: &[&str]) {
    let graph = graph(text);
    let pattern = pattern(spec);
    assert_eq!(shown(&run(&pattern, &graph, &DetectionSettings::default()), &graph), want);
    assert_same_when_trimmed(&pattern, text);
}

/// Asserts that the same is found in objects that have only what `pattern` reads.
#[track_caller]
fn assert_same_when_trimmed(pattern: &Pattern, text: &str) {
    let trimmer = ObjectTrimmer::new(std::slice::from_ref(pattern), &References::default());
    let (trimmed, _) = trimmer.graph(objects(text).iter().map(|object| trimmer.trimmed(object)));
    let found = |graph: &Graph| {
        let found = run(pattern, graph, &DetectionSettings::default());
        let messages: Vec<String> = found.findings.iter().map(|finding| finding.message.clone()).collect();
        (shown(&found, graph), messages, found.diagnostics.len())
    };
    assert_eq!(found(&trimmed), found(&graph(text)));
}

/// A Pod in namespace `n` with a label `app` and further fields of its `spec`.
fn pod(name: &str, app: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: 'n', labels: {{app: {app}}}}}\nspec: {{containers: [{{name: c, image: i}}]{}{spec}}}\n",
        if spec.is_empty() { "" } else { ", " }
    )
}

/// A Service in namespace `n` that selects Pods by their label `app`.
fn service(name: &str, app: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}, namespace: 'n'}}\nspec: {{selector: {{app: {app}}}}}\n"
    )
}

/// The field of a Pod that has a ConfigMap in a volume.
fn config(name: &str) -> String {
    format!("volumes: [{{name: v-{name}, configMap: {{name: {name}}}}}]")
}

const LEADER: &str = "{resource: Service, id: s, leader: true}";

#[test]
fn one_finding_for_each_leader_in_canonical_order() {
    let spec = "message: m\ntopology: SINGLE\nresources:\n- {resource: Pod, id: p, leader: true, filters: {matchAll: [{key: metadata.labels.app, operator: EQUALS, values: [x]}]}}\n";
    check(spec, &[pod("c", "x", ""), pod("a", "x", ""), pod("b", "y", "")].concat(), &["n/a: 0", "n/c: 0"]);
}

#[test]
fn a_leader_with_many_neighbours_is_found_once_with_its_first_witnesses() {
    let spec = format!(
        "message: '{{{{s.name}}}} has {{{{count(p)}}}}, first {{{{p.name}}}}'\ntopology: SINGLE\nresources: [{LEADER}, {{resource: Pod, id: p}}]\nactors: [s]\nrelationships: [{{id: e, type: EXPOSES, required: true, shared: true, resourceIds: [s, p]}}]\n"
    );
    let pods: String = (0..9).map(|at| pod(&format!("p{at}"), "x", "")).collect();
    let graph = graph(&(service("s", "x") + &pods));
    let found =
        run(&pattern(&spec), &graph, &DetectionSettings { witnesses: 2, ..DetectionSettings::default() });
    let [finding] = found.findings.as_slice() else { panic!("{:?}", shown(&found, &graph)) };
    assert_eq!(finding.message, "s has 9, first p0");
    let witnesses: Vec<String> =
        finding.witnesses.iter().flat_map(|(_, ids)| ids).map(|id| name(&graph, *id)).collect();
    assert_eq!(witnesses, ["n/p0", "n/p1"]);
    let evidence = &finding.evidence[0];
    assert!(evidence.held && evidence.wanted && evidence.via == "spec.selector", "{evidence:?}");
}

#[test]
fn a_placeholder_without_a_witness_is_empty_and_told() {
    let spec = format!(
        "message: '[{{{{p.name}}}}]'\ntopology: SINGLE\nresources: [{LEADER}, {{resource: Pod, id: p}}]\nrelationships: [{{id: e, type: EXPOSES, required: true, shared: false, resourceIds: [s, p]}}]\n"
    );
    let graph = graph(&service("s", "x"));
    let found = run(&pattern(&spec), &graph, &DetectionSettings::default());
    assert_eq!(found.findings[0].message, "[]");
    let codes: Vec<&str> = found.diagnostics.iter().map(|one| one.code.id).collect();
    assert_eq!(codes, ["KW-P041", "KW-P043"]);
}

#[test]
fn namespaces_restrict_leaders_and_not_the_graph() {
    let spec = "message: m\ntopology: SINGLE\nresources: [{resource: Namespace, id: ns, leader: true}, {resource: Pod, id: p}]\nactors: [ns]\nrelationships: [{id: e, type: IS_NAMESPACE_OF, required: true, shared: true, resourceIds: [ns, p]}]\n";
    let text = pod("a", "x", "") + "---\n{apiVersion: v1, kind: Namespace, metadata: {name: 'n'}}\n";
    let graph = graph(&text);
    let all = run(&pattern(spec), &graph, &DetectionSettings::default());
    assert_eq!(shown(&all, &graph), ["n: 0"]);
    let some = DetectionSettings { namespaces: Some(vec!["n".into()]), ..DetectionSettings::default() };
    assert_eq!(shown(&run(&pattern(spec), &graph, &some), &graph), Vec::<String>::new());
}

#[test]
fn the_trace_says_which_phase_discards_a_leader() {
    let spec = format!(
        "message: m\ntopology: SINGLE\nresources: [{LEADER}, {{resource: Pod, id: p}}, {{resource: Pod, id: q, filters: {{matchAll: [{{key: metadata.name, operator: EQUALS, values: [bad]}}]}}}}]\nrelationships:\n- {{id: veto, type: EXPOSES, required: true, shared: false, resourceIds: [s, q]}}\n- {{id: some, type: EXPOSES, required: false, shared: true, weight: 0.6, resourceIds: [s, p]}}\n- {{id: more, type: EXPOSES, required: false, shared: true, weight: 0.4, resourceIds: [s, q]}}\nminRelationshipPoints: 0.6\n"
    );
    let text =
        [service("a", "a"), service("b", "b"), service("c", "c"), pod("bad", "a", ""), pod("good", "b", "")];
    let graph = graph(&text.concat());
    let found =
        run(&pattern(&spec), &graph, &DetectionSettings { traces: true, ..DetectionSettings::default() });
    let told: Vec<String> = found
        .trace
        .iter()
        .map(|trace| {
            format!(
                "{} {} {} {}",
                name(&graph, trace.leader),
                trace.phase.name(),
                trace.steps.len(),
                trace.reason
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "n/a veto 1 `veto` forbids the relationship with Pod `n/bad`",
            "n/b matched 3 1 finding",
            "n/c threshold 3 0 points of 0.6",
        ]
    );
}

#[test]
fn an_empty_budget_is_an_error_and_no_answer() {
    let graph = graph(&pod("a", "x", ""));
    let spec = "message: m\ntopology: SINGLE\nresources: [{resource: Pod, id: p, leader: true, filters: {matchAll: [{key: metadata.name, operator: EXISTS}]}}]\n";
    let budget = &mut Budget::new(Limits { steps: 1, ..Limits::default() });
    assert!(detect(&pattern(spec), &graph, &DetectionSettings::default(), budget).is_err());
}

#[test]
fn kinds_may_be_told_apart_by_their_group() {
    let spec = |kind: &str| {
        format!("message: m\ntopology: SINGLE\nresources: [{{resource: {kind}, id: k, leader: true}}]\n")
    };
    let text = "---\n{apiVersion: a.io/v1, kind: Thing, metadata: {name: a}}\n---\n{apiVersion: b.io/v2, kind: Thing, metadata: {name: b}}\n";
    check(&spec("Thing"), text, &["a: 0", "b: 0"]);
    check(&spec("Thing.b.io"), text, &["b: 0"]);
    check(&spec("a.io/v1/Thing"), text, &["a: 0"]);
    check(&spec("a.io/v2/Thing"), text, &[]);
    let codes = |kind: &str| -> Vec<&str> {
        let found = run(&pattern(&spec(kind)), &graph(text), &DetectionSettings::default());
        found.diagnostics.iter().map(|one| one.code.id).collect()
    };
    assert_eq!(codes("Thing"), ["KW-P044"]);
    assert_eq!(codes("Thing.a.io"), Vec::<&str>::new());
}

#[test]
fn the_order_of_the_objects_changes_nothing() {
    let spec = "message: '{{a.name}} {{b.name}}'\ntopology: LEADER_FOLLOWER\nresources: [{resource: Pod, id: a, leader: true}, {resource: Pod, id: b}]\nactors: [a, b]\ncommonRelationships: [{id: c, type: USES_CONFIG, required: true, shared: true, resourceIds: [a, b]}]\n";
    let mut parts: Vec<String> =
        (0..6).map(|at| pod(&format!("p{at}"), "x", &config(["c", "d"][at % 2]))).collect();
    let once = format!(
        "{:?}",
        run(&pattern(spec), &graph(&parts.concat()), &DetectionSettings::default())
            .findings
            .iter()
            .map(|f| &f.message)
            .collect::<Vec<_>>()
    );
    parts.reverse();
    let again = format!(
        "{:?}",
        run(&pattern(spec), &graph(&parts.concat()), &DetectionSettings::default())
            .findings
            .iter()
            .map(|f| &f.message)
            .collect::<Vec<_>>()
    );
    assert_eq!(once, again);
}
