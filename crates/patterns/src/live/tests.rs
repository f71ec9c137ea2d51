//! A live search finds what a search in the whole objects finds, whatever happened before.

mod equal;
mod lasting;
mod limits;
mod local;

use std::collections::{BTreeMap, HashSet};

use kubewright_graph::{Graph, Id, References};
use kubewright_k8s::ObjectName;
use kubewright_value::{Source, Value, yaml};

use super::super::finding::PatternFinding;
use super::super::shipped::shipped_patterns;
use super::super::{Pattern, compile_pattern_document};
use super::*;

#[track_caller]
fn compiled(text: &str) -> Pattern {
    let reading = yaml::read(&Source::new("pattern.yaml", text));
    let document = reading.documents.first().unwrap_or_else(|| panic!("{:?}", reading.problems));
    let (pattern, diagnostics) = compile_pattern_document(document);
    pattern.unwrap_or_else(|| panic!("{diagnostics:#?}"))
}

fn shipped() -> Vec<Pattern> {
    shipped_patterns().iter().map(|shipped| compiled(shipped.source())).collect()
}

#[track_caller]
fn objects(text: &str) -> Vec<Value> {
    let reading = yaml::read(&Source::new("objects.yaml", text));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    reading.documents.into_iter().map(|document| document.value).collect()
}

fn live(patterns: Vec<Pattern>) -> LivePatterns {
    LivePatterns::new(patterns, &References::default(), DetectionSettings::default())
}

fn object_text(graph: &Graph, id: Id) -> String {
    let Some(node) = graph.node(id) else { return "gone".to_owned() };
    format!("{} {} {}/{} {}", node.api_version, node.kind, node.namespace, node.name, node.uid)
}

/// Writes everything of a finding that a report shows.
fn finding_text(finding: &PatternFinding, graph: &Graph) -> String {
    let shown = |id: &Id| object_text(graph, *id);
    let mut lines = vec![format!("{} {:?} {}", finding.message, finding.severity, finding.points)];
    lines.extend(finding.roles.iter().map(|(role, id)| format!("{role} = {}", shown(id))));
    for (role, ids) in &finding.witnesses {
        lines.push(format!("{role} ~ {:?}", ids.iter().map(shown).collect::<Vec<_>>()));
    }
    for evidence in &finding.evidence {
        let ends = [evidence.from, evidence.to, evidence.through].map(|id| id.as_ref().map(shown));
        lines.push(format!(
            "{} {} {} {ends:?} {} {}",
            evidence.entry, evidence.relationship, evidence.held, evidence.via, evidence.description
        ));
    }
    lines.join("\n  ")
}

/// The findings that a caller knows, by pattern and objects.
#[derive(Default)]
struct Known(BTreeMap<(Text, Vec<FindingObject>), String>);

impl Known {
    fn take(&mut self, live: &LivePatterns, changes: Vec<FindingChange>) {
        for change in changes {
            let key = (change.pattern, change.actors);
            match change.finding {
                Some(found) => drop(self.0.insert(key, finding_text(&found.finding, live.graph()))),
                None => assert!(self.0.remove(&key).is_some(), "an unknown finding ends: {key:?}"),
            }
        }
    }
}

/// Returns what a search in whole objects finds.
fn found_in<'o>(
    patterns: &[Pattern],
    objects: impl Iterator<Item = &'o Value>,
) -> BTreeMap<(Text, Vec<FindingObject>), String> {
    found_in_graph(patterns, &Graph::build(objects.cloned(), &References::default()))
}

fn found_in_graph(patterns: &[Pattern], graph: &Graph) -> BTreeMap<(Text, Vec<FindingObject>), String> {
    let mut all = BTreeMap::new();
    for found in super::super::detect_all(patterns, graph, &DetectionSettings::default(), 1) {
        for finding in found.expect("enough budget").findings {
            let actors = finding.roles.iter().filter_map(|(_, id)| graph.node(*id)).map(FindingObject::of);
            all.insert((finding.pattern.clone(), actors.collect()), finding_text(&finding, graph));
        }
    }
    all
}

#[track_caller]
fn assert_same(
    known: &Known,
    want: &BTreeMap<(Text, Vec<FindingObject>), String>,
    what: impl Fn() -> String,
) {
    let missing: Vec<_> = want.iter().filter(|(key, text)| known.0.get(key) != Some(text)).collect();
    let extra: Vec<_> = known.0.iter().filter(|(key, text)| want.get(key) != Some(text)).collect();
    assert!(missing.is_empty() && extra.is_empty(), "{}\nwanted {missing:#?}\nfound {extra:#?}", what());
}
