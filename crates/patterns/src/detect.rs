//! Looking for a pattern in a graph.
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
mod plan;
mod report;
mod shared;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use kubewright_engine::Diagnostic;
use kubewright_graph::{EdgeType, Graph, Id};
use kubewright_value::{Budget, Exhausted, Text, Value};

pub use all::{budget, detect_all, exhausted};

use super::diagnostics as code;
use super::finding::{Findings, Trace};
use super::key::Frame;
use super::pattern::{Link, Pattern, Presence, Rule};
use alike::Alike;
pub(super) use candidates::kinds_of;
use candidates::{Asking, Candidates};
use links::Buckets;
use plan::Plan;
pub(super) use report::rule_name;
use shared::Shared;

/// What the caller decides.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many findings one leader may have.
    pub per_leader: usize,
    /// How many findings a pattern may have.
    pub per_pattern: usize,
    /// How many witnesses of each role are told.
    pub witnesses: usize,
    /// Only leaders in these namespaces; the graph stays whole.
    pub namespaces: Option<Vec<Text>>,
    /// Whether a threshold that nothing can reach is passed over.
    pub passes_unreachable: bool,
    /// Kinds by category, as `(category, apiVersion, kind)`, beside those that definitions of resources name.
    pub categories: Vec<(Text, Text, Text)>,
    /// Whether it is told what happened to each leader.
    pub traces: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            per_leader: 100,
            per_pattern: 10_000,
            witnesses: 5,
            namespaces: None,
            passes_unreachable: false,
            categories: Vec::new(),
            traces: false,
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
    settings: &Settings,
    budget: &mut Budget,
) -> Result<Findings, Exhausted> {
    let shared = Shared::among(std::iter::once(pattern));
    detect_sharing(pattern, &Asking { graph, settings, shared: &shared }, budget)
}

/// Looks for `pattern` with what others have found out.
fn detect_sharing(
    pattern: &Pattern,
    asking: &Asking<'_>,
    budget: &mut Budget,
) -> Result<Findings, Exhausted> {
    let (graph, settings) = (asking.graph, asking.settings);
    let mut incomparable = false;
    let mut absent = HashMap::new();
    let mut leaders = match pattern.roles.get(pattern.leader) {
        Some(leader) => Some(Candidates::of(leader, asking, budget, &mut incomparable)?),
        None => None,
    };
    let is_empty = leaders.as_ref().is_none_or(|leaders| leaders.ids.is_empty());
    let mut candidates = Vec::with_capacity(pattern.roles.len());
    for (at, role) in pattern.roles.iter().enumerate() {
        candidates.push(match leaders.take_if(|_| at == pattern.leader) {
            Some(leaders) => leaders,
            // Without a leader nobody asks for the others.
            None if is_empty => Candidates::kinds_only(role, asking),
            None => Candidates::of(role, asking, budget, &mut incomparable)?,
        });
        absent::describe(role, graph, candidates.last(), &mut absent);
    }
    let mut search = Search {
        pattern,
        graph,
        settings,
        candidates,
        plan: Plan::of(pattern),
        types: pattern.entries.iter().map(|entry| types_of(&entry.link, graph)).collect(),
        frame: Frame::default(),
        buckets: pattern.entries.iter().map(|_| Buckets::default()).collect(),
        found: Findings::default(),
        seen: HashSet::new(),
        absent: Rc::new(absent),
        reported: HashSet::new(),
        alike: Alike::default(),
    };
    search.run(budget)?;
    search.doubts(incomparable);
    Ok(search.found)
}

/// One search.
struct Search<'s> {
    pattern: &'s Pattern,
    graph: &'s Graph,
    settings: &'s Settings,
    /// For each role.
    candidates: Vec<Candidates>,
    plan: Plan,
    /// For each entry, the types of edges that count.
    types: Vec<Rc<[EdgeType]>>,
    /// The elements of the leader that are meant.
    frame: Frame,
    /// For each entry.
    buckets: Vec<Buckets>,
    found: Findings,
    /// What was already said about placeholders without a value.
    seen: HashSet<String>,
    /// What is known of objects that are not in the set.
    absent: Rc<HashMap<Id, Value>>,
    /// The objects of findings, whatever their roles, where these do not count.
    reported: HashSet<Vec<Id>>,
    /// What many objects have in common.
    alike: Alike,
}

impl Search<'_> {
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
                // The rest may have findings or none; whoever reads must know that nobody looked.
                self.found.truncated = true;
                break;
            }
            self.leader(leader, room.min(self.settings.per_leader), budget)?;
        }
        Ok(())
    }

    fn leaders(&self) -> Vec<Id> {
        let all = self.candidates.get(self.pattern.leader).map_or(&[][..], |found| found.ids.as_slice());
        let is_wanted = |id: &&Id| match &self.settings.namespaces {
            None => true,
            Some(namespaces) => {
                self.graph.node(**id).is_some_and(|node| namespaces.contains(&node.namespace))
            }
        };
        all.iter().filter(is_wanted).copied().collect()
    }

    /// Returns an object, or what is known of an absent one.
    fn object(&self, id: Id) -> Option<&Value> {
        let node = self.graph.node(id)?;
        node.object.as_ref().or_else(|| self.absent.get(&id))
    }

    fn trace(&mut self, trace: impl FnOnce() -> Trace) {
        if self.settings.traces {
            self.found.trace.push(trace());
        }
    }

    /// Says what is doubtful about the pattern with these objects.
    fn doubts(&mut self, incomparable: bool) {
        let mut diagnostics = Vec::new();
        for (role, candidates) in self.pattern.roles.iter().zip(&self.candidates) {
            for (kind, one, other) in &candidates.groups {
                let message = format!(
                    "objects of `{one}` and of `{other}` have the kind `{kind}`, and all are looked at"
                );
                let help = format!("if one is meant, write `{kind}.{other}`");
                let location = role.location.clone();
                diagnostics.push(Diagnostic::new(&code::SEVERAL_GROUPS, message, location).help(help));
            }
            if candidates.has_kind || self.pattern.emits_on_empty || role.presence == Presence::Absent {
                continue;
            }
            let at = self.pattern.roles.iter().position(|other| other.id == role.id);
            let names = |pair: &(usize, usize)| Some(pair.0) == at || Some(pair.1) == at;
            let veto = self.pattern.entries.iter().find(|entry| {
                matches!(entry.rule, Rule::Veto | Rule::Absent) && entry.pairs.iter().any(names)
            });
            let kind = super::lint::shown_kinds(&role.kinds);
            diagnostics.push(match veto {
                Some(entry) => {
                    let message = format!("no object is of {kind}, so `{}` forbids nothing", entry.id);
                    Diagnostic::new(&code::EMPTY_VETO, message, entry.location.clone())
                        .help("check the kind, and whether its objects are among those that are looked at")
                }
                None => {
                    let message = format!("no object is of {kind}");
                    Diagnostic::new(&code::KIND_NOT_THERE, message, role.location.clone())
                        .help("check the kind, and whether its objects are among those that are looked at")
                }
            });
        }
        if incomparable {
            let message =
                "a value is neither a number nor a quantity nor a time, so it is not greater or less";
            diagnostics.push(Diagnostic::new(&code::NOT_COMPARED, message, self.pattern.location.clone()));
        }
        self.found.diagnostics.splice(0..0, diagnostics);
    }
}

/// Returns the types of edges that count for `link`.
fn types_of(link: &Link, graph: &Graph) -> Rc<[EdgeType]> {
    let types = match link {
        Link::Edge { types, .. } | Link::Common { types, .. } => types,
        Link::Criteria(_) => return Rc::default(),
    };
    match types.names.is_empty() {
        true => graph.edge_types().filter(|kind| kind.spec().is_none_or(|spec| !spec.is_implied)).collect(),
        false => types.names.iter().filter_map(|name| graph.edge_type(name)).collect(),
    }
}

/// Objects for roles; none where a role is not bound.
type Binding = Vec<Option<Id>>;
