//! MOUNTS from a Pod or workload to the PersistentVolume that its claim is bound to.
//!
//! These edges are not stored: they follow from MOUNTS to the claim and BOUND_TO between claim and volume, and whichever of the
//! two changes, no Pod has to be derived again.

use super::{EdgeCursor, Edges};
use crate::{Edge, EdgeType, Graph, GraphNode, Id, Sort};
use kubewright_value::CompactSort as _;

const CLAIM_KIND: &str = "PersistentVolumeClaim";
const VOLUME_KIND: &str = "PersistentVolume";

impl Graph {
    /// Returns what `id` mounts: what is stored, and the volumes behind its claims.
    pub(super) fn mounted(&self, id: Id) -> EdgeCursor<'_> {
        let stored = self.stored_out(id, EdgeType::MOUNTS);
        let claims =
            || Edges(self.stored_out(id, EdgeType::MOUNTS)).filter(|edge| self.is_core(edge.to, CLAIM_KIND));
        let mut volumes = claims().flat_map(|claim| self.volumes_of(claim)).peekable();
        if volumes.peek().is_none() {
            return stored;
        }
        let mut edges: Vec<Edge<'_>> = volumes.collect();
        edges.extend(Edges(stored));
        edges.compact_sort_by_key(|edge| self.rank(edge.to));
        EdgeCursor::Listed(edges.into_iter())
    }

    /// Returns who mounts `id`: directly, or where it is a PersistentVolume, through a claim.
    pub(super) fn mounting(&self, id: Id) -> EdgeCursor<'_> {
        if !self.is_core(id, VOLUME_KIND) {
            return self.stored_into(id, EdgeType::MOUNTS);
        }
        let claims = self.bound_with(id, CLAIM_KIND);
        let mounting = claims.into_iter().flat_map(|claim| Edges(self.stored_into(claim, EdgeType::MOUNTS)));
        let mut edges: Vec<Edge<'_>> = mounting.map(|edge| edge_through_claim(edge, id)).collect();
        edges.extend(Edges(self.stored_into(id, EdgeType::MOUNTS)));
        edges.compact_sort_by_key(|edge| self.rank(edge.from));
        EdgeCursor::Listed(edges.into_iter())
    }

    /// Returns the edge from `from` to the PersistentVolume `to`, if a claim is between them.
    pub(super) fn mounts_volume(&self, from: Id, to: Id) -> Option<Edge<'_>> {
        if !self.is_core(to, VOLUME_KIND) {
            return None;
        }
        let claims = self.bound_with(to, CLAIM_KIND);
        let edge = claims.into_iter().find_map(|claim| self.stored_between(from, claim, EdgeType::MOUNTS));
        edge.map(|edge| edge_through_claim(edge, to))
    }

    /// Returns the edges to the volumes that the claim is bound to at which `claim` ends.
    fn volumes_of<'g>(&'g self, claim: Edge<'g>) -> impl Iterator<Item = Edge<'g>> {
        self.bound_with(claim.to, VOLUME_KIND)
            .into_iter()
            .map(move |volume| edge_through_claim(claim, volume))
    }

    /// Returns the objects of `kind` that are bound to `id`, whichever of the two says so, none twice.
    fn bound_with(&self, id: Id, kind: &str) -> Vec<Id> {
        let out = Edges(self.stored_out(id, EdgeType::BOUND_TO)).map(|edge| edge.to);
        let into = Edges(self.stored_into(id, EdgeType::BOUND_TO)).map(|edge| edge.from);
        let mut ids: Vec<Id> = out.chain(into).filter(|other| self.is_core(*other, kind)).collect();
        self.sort_by_rank(&mut ids);
        ids.dedup();
        ids
    }

    /// Returns whether `id` is of `kind`. A claim may be known by its name alone, a volume that is not there is not mounted.
    fn is_core(&self, id: Id, kind: &str) -> bool {
        let is_known =
            |node: &GraphNode| node.sort == Sort::Object || (node.sort == Sort::Absent && kind == CLAIM_KIND);
        self.node(id).is_some_and(|node| node.kind == kind && node.group().is_empty() && is_known(node))
    }
}

/// Returns `edge`, which ends at a claim, as the edge to the volume that the claim is bound to.
fn edge_through_claim(edge: Edge<'_>, volume: Id) -> Edge<'_> {
    Edge { to: volume, through: Some(edge.to), ..edge }
}
