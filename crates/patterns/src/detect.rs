//! The search for a pattern in a graph.
//!
//! For each leader: the relationships that forbid or demand something (veto phase), then those that score, then the
//! threshold. Never every object with every other: from a bound object its edges are followed, and what two objects
//! have in common is found through lists of who has it.

mod absent;
mod agreement;
mod alike;
mod all;
mod bind;
mod candidates;
mod edges;
mod leader;
mod links;
mod on_demand;
mod plan;
mod report;
mod shared;
mod some;
mod steps;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use kubewright_engine::Diagnostic;
use kubewright_graph::{EdgeType, Graph, Id};
use kubewright_value::{Budget, Exhausted, Text, Value};

pub(super) use all::{DetectionFailure, WholeSearch};
pub use all::{detect_all, detection_budget, exhausted_diagnostic};
pub(super) use on_demand::OnDemandRole;
pub(super) use plan::{binding_joins, is_local};
pub(super) use some::{LeaderFindings, contain_panic, detect_leaders};

use super::criteria::Criteria;
use super::diagnostics as code;
use super::finding::{LeaderTrace, PatternFindings};
use super::key::ElementFrame;
use super::pattern::{Pattern, Presence, RelationshipEffect, RelationshipLink};
use alike::SelectionCache;
pub(super) use candidates::kinds_of;
use candidates::{Asking, Candidates};
use links::Buckets;
use plan::BindingPlan;
pub(super) use report::rule_name;
use shared::SharedAnswers;

/// Limits and options of a search.
#[derive(Debug, Clone)]
pub struct DetectionSettings {
    /// How many findings one leader may have.
    pub per_leader: usize,
    /// How many findings a pattern may have.
    pub per_pattern: usize,
    /// The maximum number of witnesses of each role in a finding.
    pub witnesses: usize,
    /// Only leaders in these namespaces; the whole graph is searched for the other roles.
    pub namespaces: Option<Vec<Text>>,
    /// Whether a threshold that nothing can reach is ignored.
    pub passes_unreachable: bool,
    /// Kinds by category, as `(category, apiVersion, kind)`, beside those that definitions of resources name.
    pub categories: Vec<(Text, Text, Text)>,
    /// Whether each leader is traced.
    pub traces: bool,
    /// Counts the patterns that were looked for, so that a caller can show progress.
    pub finished: Option<Arc<AtomicUsize>>,
}

impl Default for DetectionSettings {
    fn default() -> Self {
        Self {
            per_leader: 100,
            per_pattern: 10_000,
            witnesses: 5,
            namespaces: None,
            passes_unreachable: false,
            categories: Vec::new(),
            traces: false,
            finished: None,
        }
    }
}

/// Looks for `pattern` in `graph`.
///
/// # Errors
/// When the budget is used up.
pub fn detect(
    pattern: &Pattern,
    graph: &Graph,
    settings: &DetectionSettings,
    budget: &mut Budget,
) -> Result<PatternFindings, Exhausted> {
    let shared = SharedAnswers::among(std::iter::once(pattern));
    detect_sharing(pattern, &Asking { graph, settings, shared: &shared }, budget)
}

/// Looks for `pattern` with answers shared between patterns.
fn detect_sharing(
    pattern: &Pattern,
    asking: &Asking<'_>,
    budget: &mut Budget,
) -> Result<PatternFindings, Exhausted> {
    let (graph, settings) = (asking.graph, asking.settings);
    let mut incomparable = false;
    let mut leaders = match pattern.roles.get(pattern.leader) {
        Some(leader) => Some(Candidates::of(leader, asking, budget, &mut incomparable)?),
        None => None,
    };
    let is_empty = leaders.as_ref().is_none_or(|leaders| leaders.ids().is_empty());
    let mut candidates = Vec::with_capacity(pattern.roles.len());
    for (at, role) in pattern.roles.iter().enumerate() {
        candidates.push(match leaders.take_if(|_| at == pattern.leader) {
            Some(leaders) => leaders,
            // Without a leader the other roles are never read.
            None if is_empty => Candidates::kinds_only(role, asking),
            None => Candidates::of(role, asking, budget, &mut incomparable)?,
        });
    }
    let mut search = PatternSearch::new(pattern, graph, settings, candidates);
    search.run(budget)?;
    search.doubts(incomparable);
    Ok(search.found)
}

/// One search.
struct PatternSearch<'s> {
    pattern: &'s Pattern,
    graph: &'s Graph,
    settings: &'s DetectionSettings,
    /// For each role.
    candidates: Vec<Candidates<'s>>,
    plan: BindingPlan,
    /// Whether the pattern may compare names or uids of objects.
    reads_name: bool,
    /// For each entry, the types of edges that count.
    types: Vec<Rc<[EdgeType]>>,
    /// The elements of the leader that are meant.
    frame: ElementFrame,
    /// For each entry.
    buckets: Vec<Buckets>,
    found: PatternFindings,
    /// Placeholders without a value that were already reported.
    seen: HashSet<String>,
    /// The sets of objects of findings, for patterns that ignore roles.
    reported: HashSet<Vec<Id>>,
    /// Results that are equal for many objects.
    alike: SelectionCache,
}

impl<'s> PatternSearch<'s> {
    fn new(
        pattern: &'s Pattern,
        graph: &'s Graph,
        settings: &'s DetectionSettings,
        candidates: Vec<Candidates<'s>>,
    ) -> Self {
        Self {
            pattern,
            graph,
            settings,
            candidates,
            plan: BindingPlan::of(pattern),
            reads_name: pattern.roles.iter().any(|role| role.reads_name)
                || pattern.entries.iter().filter_map(|entry| entry.link.criteria()).any(Criteria::read_name),
            types: pattern.entries.iter().map(|entry| edge_types_of(&entry.link, graph)).collect(),
            frame: ElementFrame::default(),
            buckets: pattern.entries.iter().map(|_| Buckets::default()).collect(),
            found: PatternFindings::default(),
            seen: HashSet::new(),
            reported: HashSet::new(),
            alike: SelectionCache::default(),
        }
    }

    fn run(&mut self, budget: &mut Budget) -> Result<(), Exhausted> {
        let leaders = self.leaders();
        self.found.leaders = leaders.len();
        if leaders.is_empty() && self.pattern.emits_on_empty {
            let finding = self.empty(budget)?;
            self.found.findings.push(finding);
        }
        for leader in leaders {
            let room = self.settings.per_pattern.saturating_sub(self.found.findings.len());
            if room == 0 {
                // The remaining leaders are not searched; `truncated` says so.
                self.found.truncated = true;
                break;
            }
            self.leader(leader, room.min(self.settings.per_leader), budget)?;
        }
        Ok(())
    }

    fn leaders(&self) -> Vec<Id> {
        let all = self.candidates.get(self.pattern.leader).map_or(&[][..], Candidates::ids);
        all.iter().copied().filter(|id| self.is_wanted(*id)).collect()
    }

    /// Returns whether an object is in a namespace whose leaders are looked at.
    fn is_wanted(&self, id: Id) -> bool {
        self.settings.namespaces.as_ref().is_none_or(|namespaces| {
            self.graph.node(id).is_some_and(|node| namespaces.contains(&node.namespace))
        })
    }

    /// Returns an object, or what is known of an absent one.
    fn object(&self, id: Id) -> Option<Cow<'s, Value>> {
        let node = self.graph.node(id)?;
        if let Some(object) = &node.object {
            return if self.reads_name { node.whole_object() } else { Some(Cow::Borrowed(object)) };
        }
        let mut roles = self.pattern.roles.iter().zip(&self.candidates);
        let is_known = roles.any(|(role, found)| role.presence == Presence::Absent && found.contains(id));
        is_known.then(|| Cow::Owned(absent::absent_object(node)))
    }

    /// Returns an object as [`PatternSearch::object`] does, and with its name and uid where only the node has them.
    fn whole_object(&self, id: Id) -> Option<Cow<'s, Value>> {
        self.graph.node(id)?.whole_object().or_else(|| self.object(id))
    }

    fn trace(&mut self, trace: impl FnOnce() -> LeaderTrace) {
        if self.settings.traces {
            self.found.trace.push(trace());
        }
    }

    /// Adds warnings about the pattern with these objects.
    fn doubts(&mut self, incomparable: bool) {
        let mut diagnostics = Vec::new();
        for (role, candidates) in self.pattern.roles.iter().zip(&self.candidates) {
            for (kind, one, other) in &candidates.groups {
                let message = format!(
                    "the kind `{kind}` exists in the groups `{one}` and `{other}`; objects of both are searched"
                );
                let help = format!("write `{kind}.{other}` to name the group");
                let location = role.location.clone();
                diagnostics.push(Diagnostic::new(&code::SEVERAL_GROUPS, message, location).help(help));
            }
            if candidates.has_kind || self.pattern.emits_on_empty || role.presence == Presence::Absent {
                continue;
            }
            let at = self.pattern.roles.iter().position(|other| other.id == role.id);
            let names = |pair: &(usize, usize)| Some(pair.0) == at || Some(pair.1) == at;
            let veto = self.pattern.entries.iter().find(|entry| {
                matches!(entry.rule, RelationshipEffect::Veto | RelationshipEffect::Absent)
                    && entry.pairs.iter().any(names)
            });
            let kind = super::lint::shown_kinds(&role.kinds);
            diagnostics.push(match veto {
                Some(entry) => {
                    let message = format!(
                        "no object is of {kind}, so `{}` never applies and every candidate matches",
                        entry.id
                    );
                    Diagnostic::new(&code::EMPTY_VETO, message, entry.location.clone())
                        .help("check the kind, or add its objects to the input")
                }
                None => {
                    let message = format!("no object is of {kind}");
                    Diagnostic::new(&code::KIND_NOT_THERE, message, role.location.clone())
                        .help("check the kind, or add its objects to the input")
                }
            });
        }
        if incomparable {
            let message = "a value cannot be compared: it is not a number, a quantity or a time";
            diagnostics.push(Diagnostic::new(&code::NOT_COMPARED, message, self.pattern.location.clone()));
        }
        self.found.diagnostics.splice(0..0, diagnostics);
    }
}

/// Returns the types of edges that count for `link`.
fn edge_types_of(link: &RelationshipLink, graph: &Graph) -> Rc<[EdgeType]> {
    let types = match link {
        RelationshipLink::Edge { types, .. } | RelationshipLink::Common { types, .. } => types,
        RelationshipLink::Criteria(_) => return Rc::default(),
    };
    match types.names.is_empty() {
        true => graph.edge_types().filter(|kind| kind.spec().is_none_or(|spec| !spec.is_implied)).collect(),
        false => types.names.iter().filter_map(|name| graph.edge_type(name)).collect(),
    }
}

/// The object of each role; none for a role that is not bound.
type ActorBinding = Vec<Option<Id>>;
