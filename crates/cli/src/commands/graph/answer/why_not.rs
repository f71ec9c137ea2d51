//! Why an object is no finding of a pattern.

use kubewright_graph::Id;
use kubewright_patterns::{self as patterns, DetectionSettings};
use kubewright_report::trace::{LeaderReport, candidacy_nodes, node_value};
use kubewright_value::{Budget, Value};

use super::super::{GraphSelection, focus};
use crate::commands::trace::near_misses_of;
use crate::pattern_inputs::PatternInputs;

/// Returns what the pattern of `selection` asked of its focus, or else of `discarded`, as nodes of a trace; nothing where
/// neither is there.
pub(super) fn why_not(
    selection: &GraphSelection,
    inputs: &PatternInputs,
    discarded: Option<Id>,
) -> Option<Vec<Value>> {
    selection.pattern.as_ref()?;
    let focus = selection.focus.as_ref().and_then(|text| focus::find_focus(&inputs.graph, text).ok());
    let object = focus.or(discarded)?;
    let pattern = inputs.patterns.iter().find(|pattern| selection.is_about(pattern))?;
    let graph = &inputs.graph;
    let namespaces = graph.node(object).map(|node| vec![node.namespace.clone()]);
    let settings = DetectionSettings { namespaces, traces: true, ..DetectionSettings::default() };
    let mut budget = patterns::detection_budget(pattern, graph);
    let found = patterns::detect(pattern, graph, &settings, &mut budget).ok()?;
    let mut budget = Budget::default();
    let nodes = match found.trace.iter().find(|trace| trace.leader == object) {
        Some(trace) => {
            let near = near_misses_of(pattern, trace, graph, &mut budget);
            let places = inputs.places();
            LeaderReport { pattern, trace, found: &found, near: &near, graph, places }.nodes()
        }
        None => {
            let all = patterns::candidacies_of(pattern, object, graph, &settings, &mut budget);
            candidacy_nodes(&all.unwrap_or_default(), inputs.places().get(object).as_ref())
        }
    };
    Some(nodes.iter().map(node_value).collect())
}
