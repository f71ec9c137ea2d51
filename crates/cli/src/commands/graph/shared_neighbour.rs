//! The picture of two objects that should have something in common and do not: a volume, a ConfigMap, a node.

use kubewright_draw::Tone;
use kubewright_engine::nearest_word;
use kubewright_graph::{EdgeType, Graph, Id};
use kubewright_patterns::{DetectionSettings, Pattern, candidacies_of};
use kubewright_report::object_label;
use kubewright_value::{Budget, Text};

use super::sheet::{Sheet, SheetLine};

/// How many objects of a namespace are asked whether they can be the partner.
const MAX_ASKED_PARTNERS: usize = 2_000;

/// An object that could be the partner, and what each of the two is related to.
struct NearPartner {
    id: Id,
    /// What comes nearest to being in common: that of the leader, that of the partner.
    pair: Option<(Id, Id)>,
}

/// Draws the object of `role` that comes nearest, and the neighbour that the two lack. Returns why they do not match;
/// nothing where no object can have the role.
pub(super) fn draw_missing_common(
    sheet: &mut Sheet<'_>,
    pattern: &Pattern,
    (role, leader): (&Text, Id),
    tie: &SheetLine<'_>,
) -> Option<String> {
    let graph = sheet.graph;
    let kind = graph.edge_type(tie.label)?;
    let partner = near_partner(pattern, (role, leader), kind, graph)?;
    let place = sheet.object(partner.id);
    sheet.badge(place, Tone::Role, role);
    if let Some((own, theirs)) = partner.pair {
        sheet.related(leader, own, tie);
        sheet.related(partner.id, theirs, tie);
    }
    let missing = sheet.common_box(partner.pair.map(|(own, _)| own), leader);
    let label = format!("common {}", tie.label);
    let tie = SheetLine { label: &label, via: Text::default(), ..tie.clone() };
    for end in [leader, partner.id] {
        let end = sheet.object(end);
        sheet.missing(end, missing, &tie);
    }
    let name = |id: Id| graph.node(id).map(object_label).unwrap_or_default();
    Some(match partner.pair {
        Some((own, theirs)) => format!(
            "{} and {} have no {} in common; nearest: {} and {}",
            name(leader),
            name(partner.id),
            graph.edge_type_name(kind),
            name(own),
            name(theirs)
        ),
        None => format!(
            "{} and {} have no {} in common",
            name(leader),
            name(partner.id),
            graph.edge_type_name(kind)
        ),
    })
}

/// Returns the object that can have `role` and whose neighbours have the name nearest to one of the leader's.
fn near_partner(
    pattern: &Pattern,
    (role, leader): (&Text, Id),
    kind: EdgeType,
    graph: &Graph,
) -> Option<NearPartner> {
    let namespace = &graph.node(leader)?.namespace;
    let (settings, mut budget) = (DetectionSettings::default(), Budget::default());
    let mut first = None;
    for id in graph.in_namespace(namespace).iter().copied().take(MAX_ASKED_PARTNERS) {
        if id == leader {
            continue;
        }
        let candidacies = candidacies_of(pattern, id, graph, &settings, &mut budget).ok()?;
        if !candidacies.iter().any(|candidacy| candidacy.role == *role && candidacy.passes) {
            continue;
        }
        if let Some(pair) = near_pair(graph, kind, leader, id) {
            return Some(NearPartner { id, pair: Some(pair) });
        }
        first = first.or(Some(id));
    }
    let id = first?;
    let (own, theirs) = (graph.neighbours(leader, kind).next(), graph.neighbours(id, kind).next());
    Some(NearPartner { id, pair: own.zip(theirs) })
}

/// Returns a neighbour of each of the two, of one kind and with nearly the same name.
fn near_pair(graph: &Graph, kind: EdgeType, one: Id, other: Id) -> Option<(Id, Id)> {
    graph.neighbours(one, kind).find_map(|own| {
        let node = graph.node(own)?;
        let theirs = graph.neighbours(other, kind).find(|theirs| {
            graph.node(*theirs).is_some_and(|their| {
                their.kind == node.kind && nearest_word(&node.name, [their.name.as_str()]).is_some()
            })
        })?;
        Some((own, theirs))
    })
}
