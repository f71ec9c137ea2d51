//! TOLERATES: on which tainted Nodes a Pod may run.
//!
//! Nothing is stored between them. Many Nodes have the same taints and many Pods the same tolerations; these are
//! stored as text, and compared on each read.

use kubewright_k8s::PodTemplatePath;
use kubewright_value::Value;

use super::Graph;
use crate::names::{NameTable, Symbol};
use crate::{Edge, EdgeType, Id, Strength};

/// How many taints of a Node count; one with more has no edges.
const MAX_TAINTS: usize = 64;
/// How many tolerations of a Pod count.
const MAX_TOLERATIONS: usize = 256;
/// Between the parts of one taint or toleration; no name has it.
const FIELD_SEPARATOR: char = '\u{1f}';
/// Between taints and between tolerations.
const TAINT_TERMINATOR: char = '\u{1e}';

/// The taints of a Node, or the tolerations of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Taints {
    /// Nothing.
    None,
    /// A Node has these.
    Of(Symbol),
    /// A Pod tolerates these.
    Tolerated(Symbol),
}

impl Taints {
    /// Reads the taints that keep Pods off a Node.
    pub(super) fn of_node(node: &Value, names: &mut NameTable) -> Self {
        let taints = node.at(&["spec", "taints"]).and_then(Value::as_array).unwrap_or_default();
        let text = join_taint_fields(taints, &["key", "value", "effect"], |taint| {
            matches!(taint.get("effect").and_then(Value::as_str), Some("NoSchedule" | "NoExecute"))
        });
        let is_usable = !text.is_empty() && taints.len() <= MAX_TAINTS;
        if is_usable { Self::Of(names.intern(&text)) } else { Self::None }
    }

    /// Reads the tolerations of a Pod.
    pub(super) fn tolerated(spec: &Value, names: &mut NameTable) -> Self {
        let Some(tolerations) = spec.get("tolerations").and_then(Value::as_array) else { return Self::None };
        let counted = tolerations.get(..MAX_TOLERATIONS).unwrap_or(tolerations);
        let text = join_taint_fields(counted, &["key", "operator", "value", "effect"], |_| true);
        if text.is_empty() { Self::None } else { Self::Tolerated(names.intern(&text)) }
    }
}

impl Graph {
    /// Returns the Nodes that `id` tolerates, in canonical order.
    pub(super) fn tolerated(&self, id: Id) -> Vec<Edge<'_>> {
        let Some(slot) = self.slots.get(id.index()) else { return Vec::new() };
        let Taints::Tolerated(tolerations) = slot.taints else { return Vec::new() };
        let via = self.tolerations_of(id);
        self.counterparts(
            |taints| matches!(taints, Taints::Of(taints) if self.tolerates(tolerations, taints)),
        )
        .map(|node| tolerates(id, node, via))
        .collect()
    }

    /// Returns who tolerates the Node `id`, in canonical order.
    pub(super) fn tolerating(&self, id: Id) -> Vec<Edge<'_>> {
        let Some(slot) = self.slots.get(id.index()) else { return Vec::new() };
        let Taints::Of(taints) = slot.taints else { return Vec::new() };
        self.counterparts(|other| matches!(other, Taints::Tolerated(other) if self.tolerates(other, taints)))
            .map(|pod| tolerates(pod, id, self.tolerations_of(pod)))
            .collect()
    }

    pub(super) fn tolerates_node(&self, from: Id, to: Id) -> Option<Edge<'_>> {
        match (self.slots.get(from.index())?.taints, self.slots.get(to.index())?.taints) {
            (Taints::Tolerated(tolerations), Taints::Of(taints)) if self.tolerates(tolerations, taints) => {
                Some(tolerates(from, to, self.tolerations_of(from)))
            }
            _ => None,
        }
    }

    fn counterparts(&self, is_one: impl Fn(Taints) -> bool) -> std::vec::IntoIter<Id> {
        let fitting = self.tainted.iter().filter(|(taints, _)| is_one(**taints));
        let mut ids: Vec<Id> = fitting.flat_map(|(_, ids)| ids.as_slice().iter().copied()).collect();
        self.sort_by_rank(&mut ids);
        ids.into_iter()
    }

    fn tolerates(&self, tolerations: Symbol, taints: Symbol) -> bool {
        let tolerations = self.names.text(tolerations);
        self.names.text(taints).split_terminator(TAINT_TERMINATOR).all(|taint| {
            tolerations.split_terminator(TAINT_TERMINATOR).any(|toleration| is_tolerated(taint, toleration))
        })
    }

    fn tolerations_of(&self, id: Id) -> &'static str {
        let shape = self.slots.get(id.index()).and_then(|slot| slot.shape);
        shape.map_or("", PodTemplatePath::tolerations_path)
    }
}

/// An empty key tolerates every taint, an empty effect every effect; without an operator the values are compared.
fn is_tolerated(taint: &str, toleration: &str) -> bool {
    let mut taint = taint.split(FIELD_SEPARATOR);
    let [key, value, effect] = [(); 3].map(|()| taint.next().unwrap_or_default());
    let mut toleration = toleration.split(FIELD_SEPARATOR);
    let [wanted_key, operator, wanted_value, wanted_effect] =
        [(); 4].map(|()| toleration.next().unwrap_or_default());
    let fits_key = wanted_key == key || (wanted_key.is_empty() && operator == "Exists");
    let fits_value = operator == "Exists" || wanted_value == value;
    fits_key && fits_value && (wanted_effect.is_empty() || wanted_effect == effect)
}

fn tolerates<'g>(from: Id, to: Id, via: &'g str) -> Edge<'g> {
    Edge { from, to, kind: EdgeType::TOLERATES, via, strength: Strength::Optional, through: None }
}

/// Writes the fields `keys` of those that count, sorted.
fn join_taint_fields(list: &[Value], keys: &[&str], counts: impl Fn(&Value) -> bool) -> String {
    let part = |one: &Value, key: &str| {
        let text = one.str_at(&[key]);
        text.replace([FIELD_SEPARATOR, TAINT_TERMINATOR], "")
    };
    let mut all: Vec<String> = list
        .iter()
        .filter(|one| counts(one))
        .map(|one| {
            let parts: Vec<String> = keys.iter().map(|key| part(one, key)).collect();
            parts.join(&FIELD_SEPARATOR.to_string()) + &TAINT_TERMINATOR.to_string()
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all.concat()
}
