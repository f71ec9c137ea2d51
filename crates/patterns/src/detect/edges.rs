//! Edges between two objects, one by one where not all of them count.

use std::collections::HashSet;

use kubewright_graph::{Edge, EdgeType, Graph, Id};
use kubewright_value::{Budget, Exhausted};

use super::super::relate::EdgeOptions;

/// Returns what is between `a` and `b` where an edge of the type links them: nothing, or an object. `way` is whether it
/// must lead from `a` to `b`, or the other way.
pub(super) fn link_through(
    graph: &Graph,
    kind: EdgeType,
    options: &EdgeOptions,
    way: Option<bool>,
    (a, b): (Id, Id),
    budget: &mut Budget,
) -> Result<Option<Option<Id>>, Exhausted> {
    if options.is_transitive {
        let mut through = None;
        for (top, bottom) in ordered_ends(way, a, b) {
            if through.is_none() {
                through = owned_through(graph, top, bottom, budget)?;
            }
        }
        return Ok(through);
    }
    Ok(counted_edge_between(graph, kind, options, way, (a, b), budget)?.map(|edge| edge.through))
}

/// Returns the first edge between `a` and `b` that counts.
pub(super) fn counted_edge_between<'g>(
    graph: &'g Graph,
    kind: EdgeType,
    options: &EdgeOptions,
    way: Option<bool>,
    (a, b): (Id, Id),
    budget: &mut Budget,
) -> Result<Option<Edge<'g>>, Exhausted> {
    if kind == EdgeType::MANAGES {
        // Who manages a Pod is found by walking, which a hostile set of owners makes long.
        for (from, to) in ordered_ends(way, a, b) {
            let mut managers = graph.incoming(to, kind);
            budget.step(managers.work() as u64)?;
            let found = managers.find(|edge| edge.from == from && options.counts(edge, graph));
            if found.is_some() {
                return Ok(found);
            }
        }
        return Ok(None);
    }
    let leads = |edge: &Edge<'_>, from: Id| edge.from == from || kind == EdgeType::SAME_NETWORK;
    let any = match way {
        None => graph.between(a, b, kind),
        Some(true) => graph.between(a, b, kind).filter(|edge| leads(edge, a)),
        Some(false) => graph.between(b, a, kind).filter(|edge| leads(edge, b)),
    };
    if any.is_none() || any.as_ref().is_some_and(|edge| options.counts(edge, graph)) {
        return Ok(any);
    }
    for (from, to) in ordered_ends(way, a, b) {
        // Each edge is in both lists, so the shorter one is enough.
        let (mut out, mut into) = (graph.out(from, kind), graph.incoming(to, kind));
        while let (Some(one), Some(other)) = (out.next(), into.next()) {
            budget.step(2)?;
            for edge in [one, other] {
                if edge.from == from && edge.to == to && options.counts(&edge, graph) {
                    return Ok(Some(edge));
                }
            }
        }
    }
    Ok(None)
}

/// Returns everything that `id` owns, or that owns it, directly or not.
pub(super) fn reached_by_ownership(
    graph: &Graph,
    id: Id,
    owned: bool,
    budget: &mut Budget,
) -> Result<Vec<Id>, Exhausted> {
    let mut seen = HashSet::from([id]);
    let (mut open, mut found) = (vec![id], Vec::new());
    while let Some(next) = open.pop() {
        let ids: Vec<Id> = match owned {
            true => graph.out(next, EdgeType::OWNS).map(|edge| edge.to).collect(),
            false => graph.incoming(next, EdgeType::OWNS).map(|edge| edge.from).collect(),
        };
        budget.step(ids.len() as u64 + 1)?;
        for id in ids {
            if seen.insert(id) {
                open.push(id);
                found.push(id);
            }
        }
    }
    Ok(found)
}

/// Returns the direct owner of `bottom` through which `top` owns it, nothing if that is `top` itself.
fn owned_through(
    graph: &Graph,
    top: Id,
    bottom: Id,
    budget: &mut Budget,
) -> Result<Option<Option<Id>>, Exhausted> {
    let owners: Vec<Id> = graph.incoming(bottom, EdgeType::OWNS).map(|edge| edge.from).collect();
    if owners.contains(&top) {
        return Ok(Some(None));
    }
    for owner in owners {
        if owner != bottom && reached_by_ownership(graph, owner, false, budget)?.contains(&top) {
            return Ok(Some(Some(owner)));
        }
    }
    Ok(None)
}

/// Returns the two objects in each order that counts.
fn ordered_ends(way: Option<bool>, a: Id, b: Id) -> impl Iterator<Item = (Id, Id)> {
    let there = (way != Some(false)).then_some((a, b));
    let back = (way != Some(true)).then_some((b, a));
    there.into_iter().chain(back)
}
