//! Conditions that several patterns share: which objects of a kind meet them is computed once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::OnceLock;

use kubewright_graph::{Graph, GraphNode, Id};
use kubewright_value::{Budget, Limits, Text};

use super::super::filter::FilterCondition;
use super::super::key::ElementFrame;
use super::super::pattern::{KindRef, Pattern, Presence};

/// The answers, each computed on first use.
#[derive(Debug)]
pub(super) struct SharedAnswers<'p> {
    conditions: HashMap<&'p str, AskedCondition<'p>>,
    versions: HashMap<&'p str, OnceLock<Option<Text>>>,
}

/// One condition that is asked.
#[derive(Debug)]
struct AskedCondition<'p> {
    condition: &'p FilterCondition,
    /// By how many roles.
    count: usize,
    kinds: HashMap<&'p str, OnceLock<ConditionAnswer>>,
}

/// One bit for each object of a kind, in their order; none where the question takes too much work.
type ConditionAnswer = Option<Vec<u64>>;

impl<'p> SharedAnswers<'p> {
    /// Returns what `patterns` can share.
    pub(super) fn among(patterns: impl Iterator<Item = &'p Pattern>) -> Self {
        let mut conditions: HashMap<&str, AskedCondition<'_>> = HashMap::new();
        let mut versions = HashMap::new();
        for role in patterns.flat_map(|pattern| &pattern.roles) {
            let kinds = role.kinds.iter().filter_map(|kind| match kind {
                KindRef::Kind { kind: Some(kind), .. } => Some(kind.as_str()),
                _ => None,
            });
            let kinds: Vec<&str> = kinds.collect();
            for kind in &kinds {
                versions.entry(*kind).or_insert_with(OnceLock::new);
            }
            for (condition, _) in role.quick.iter().filter(|_| role.presence == Presence::Present) {
                let Some(signature) = condition.signature.as_deref() else { continue };
                let asked = conditions.entry(signature).or_insert_with(|| AskedCondition {
                    condition,
                    count: 0,
                    kinds: HashMap::new(),
                });
                asked.count += 1;
                for kind in &kinds {
                    asked.kinds.entry(*kind).or_default();
                }
            }
        }
        conditions.retain(|_, asked| asked.count > 1);
        Self { conditions, versions }
    }

    /// Returns whether several patterns have `condition`.
    pub(super) fn knows(&self, condition: &FilterCondition) -> bool {
        condition.signature.as_deref().is_some_and(|signature| self.conditions.contains_key(signature))
    }

    /// Returns which objects of `kind` meet `condition`, if several patterns have it.
    pub(super) fn answer(&self, condition: &FilterCondition, kind: &str, graph: &Graph) -> Option<&[u64]> {
        let asked = self.conditions.get(condition.signature.as_deref()?)?;
        let answer = asked.kinds.get(kind)?.get_or_init(|| {
            let ids = graph.of_kind(kind);
            let budget = &mut Budget::new(Limits {
                steps: CONDITION_STEPS_PER_OBJECT * (ids.len() as u64 + 1),
                ..Limits::default()
            });
            let mut bits = vec![0_u64; ids.len().div_ceil(64)];
            let reads_name = asked.condition.reads_name();
            for (at, id) in ids.iter().enumerate() {
                let node = graph.node(*id);
                let Some(object) = node.and_then(|node| match reads_name {
                    true => node.whole_object(),
                    false => node.object.as_ref().map(Cow::Borrowed),
                }) else {
                    continue;
                };
                let holds =
                    asked.condition.holds(&object, &ElementFrame::default(), budget, &mut false).ok()?;
                if let (Some(word), true) = (bits.get_mut(at / 64), holds) {
                    *word |= 1 << (at % 64);
                }
            }
            Some(bits)
        });
        answer.as_deref()
    }

    /// Returns the version that all objects of `kind` have, if it is one.
    pub(super) fn version(&self, kind: &str, graph: &Graph) -> Option<Text> {
        let find = || {
            let mut nodes = nodes(graph.of_kind(kind), graph);
            let first = nodes.next()?.api_version.clone();
            nodes.all(|node| node.api_version == first).then_some(first)
        };
        match self.versions.get(kind) {
            Some(known) => known.get_or_init(find).clone(),
            None => find(),
        }
    }
}

fn nodes<'g>(ids: &'g [Id], graph: &'g Graph) -> impl Iterator<Item = &'g GraphNode> {
    ids.iter().filter_map(|id| graph.node(*id))
}

/// How much work one object may make.
const CONDITION_STEPS_PER_OBJECT: u64 = 1_000;
