//! SAME_NETWORK: a policy and the workloads it selects; two workloads that one policy selects; and one that a policy
//! selects with one that the policy lets in or out.
//!
//! Between Pods nothing is stored. The policies that select a Pod or admit it are few, and are compared.

use super::{EdgeCursor, Edges, Graph};
use crate::{Edge, EdgeType, Id};

impl Graph {
    pub(super) fn network_out(&self, id: Id) -> EdgeCursor<'_> {
        let selected = Edges(self.stored_out(id, EdgeType::ISOLATES)).map(as_same_network);
        EdgeCursor::Found(Box::new(selected.chain(self.fellows(id))))
    }

    pub(super) fn network_into(&self, id: Id) -> EdgeCursor<'_> {
        let policies = Edges(self.stored_into(id, EdgeType::ISOLATES)).map(as_same_network);
        let turned = self.fellows(id).map(|edge| Edge { from: edge.to, to: edge.from, ..edge });
        EdgeCursor::Found(Box::new(policies.chain(turned)))
    }

    pub(super) fn network_between(&self, a: Id, b: Id) -> Option<Edge<'_>> {
        let selects = |from, to| self.stored_between(from, to, EdgeType::ISOLATES).map(as_same_network);
        if let Some(edge) = selects(a, b).or_else(|| selects(b, a)) {
            return Some(edge);
        }
        if a == b {
            return None;
        }
        let (a_selected, b_selected) = (self.selected(a), self.selected(b));
        let together = self.first_common(&a_selected, &b_selected);
        let admitted = together
            .or_else(|| self.first_common(&a_selected, &self.admitted(b)))
            .or_else(|| self.first_common(&b_selected, &self.admitted(a)));
        admitted.map(|(policy, via)| fellow(a, b, policy, via))
    }

    /// Returns the objects that a policy joins with `id`. One may come several times.
    fn fellows(&self, id: Id) -> impl Iterator<Item = Edge<'_>> {
        const PEERS: [EdgeType; 3] = [EdgeType::ISOLATES, EdgeType::ALLOWS_FROM, EdgeType::ALLOWS_TO];
        let selecting = Edges(self.stored_into(id, EdgeType::ISOLATES)).flat_map(move |selecting| {
            let peers = PEERS.into_iter().flat_map(move |kind| Edges(self.stored_out(selecting.from, kind)));
            peers.map(move |peer| fellow(id, peer.to, selecting.from, peer.via))
        });
        let admitting = PEERS.into_iter().skip(1).flat_map(move |kind| Edges(self.stored_into(id, kind)));
        let admitting = admitting.flat_map(move |admitting| {
            let selected = Edges(self.stored_out(admitting.from, EdgeType::ISOLATES));
            selected.map(move |peer| fellow(id, peer.to, admitting.from, admitting.via))
        });
        selecting.chain(admitting).filter(|edge| edge.from != edge.to)
    }

    /// Returns the first policy in canonical order that is in both lists, with the field in the second.
    fn first_common<'g>(&self, one: &[(Id, &str)], other: &[(Id, &'g str)]) -> Option<(Id, &'g str)> {
        let common = one.iter().filter_map(|(policy, _)| {
            let place = other.partition_point(|(other, _)| other < policy);
            other.get(place).filter(|(other, _)| other == policy).copied()
        });
        common.min_by_key(|(policy, _)| self.rank(*policy))
    }

    /// Returns the policies that select `id`, by number, with the field.
    fn selected(&self, id: Id) -> Vec<(Id, &str)> {
        sorted_by_policy(Edges(self.stored_into(id, EdgeType::ISOLATES)))
    }

    /// Returns the policies that let something in from `id` or out to it, by number, with the field.
    fn admitted(&self, id: Id) -> Vec<(Id, &str)> {
        let from = Edges(self.stored_into(id, EdgeType::ALLOWS_FROM));
        sorted_by_policy(from.chain(Edges(self.stored_into(id, EdgeType::ALLOWS_TO))))
    }
}

fn sorted_by_policy<'g>(edges: impl Iterator<Item = Edge<'g>>) -> Vec<(Id, &'g str)> {
    let mut policies: Vec<(Id, &str)> = edges.map(|edge| (edge.from, edge.via)).collect();
    policies.sort_unstable();
    policies
}

fn as_same_network(edge: Edge<'_>) -> Edge<'_> {
    Edge { kind: EdgeType::SAME_NETWORK, ..edge }
}

fn fellow<'g>(from: Id, to: Id, policy: Id, via: &'g str) -> Edge<'g> {
    let kind = EdgeType::SAME_NETWORK;
    Edge { from, to, kind, via, strength: crate::Strength::Implicit, through: Some(policy) }
}
