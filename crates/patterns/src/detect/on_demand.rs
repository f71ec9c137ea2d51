//! Candidates of which only a few are asked about: whether an object fills a role is found out when it is asked.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;

use kubewright_graph::{Graph, Id, Sort};
use kubewright_value::{Budget, Exhausted, Limits, Value};

use super::super::candidacy::is_of_role;
use super::super::pattern::{KindRef, Presence, Role};
use super::DetectionSettings;
use super::absent::absent_object;
use super::candidates::{kinds_of, means_something, passes_role_filter};

/// The candidates of a role, none of which is known before it is asked about.
#[derive(Debug)]
pub(crate) struct OnDemandRole<'s> {
    role: &'s Role,
    graph: &'s Graph,
    settings: &'s DetectionSettings,
    known: RefCell<HashMap<Id, bool>>,
    ids: OnceCell<Vec<Id>>,
    budget: RefCell<Budget>,
    exhausted: Cell<Option<Exhausted>>,
}

/// How many steps the questions about one role may take.
const ON_DEMAND_STEPS: u64 = 50_000_000;

impl<'s> OnDemandRole<'s> {
    pub(crate) fn new(role: &'s Role, graph: &'s Graph, settings: &'s DetectionSettings) -> Self {
        let limits = Limits { steps: ON_DEMAND_STEPS, ..Limits::default() };
        Self {
            role,
            graph,
            settings,
            known: RefCell::default(),
            ids: OnceCell::new(),
            budget: RefCell::new(Budget::new(limits)),
            exhausted: Cell::new(None),
        }
    }

    /// Returns why a question had no answer, if one had none.
    pub(super) fn exhausted(&self) -> Option<Exhausted> {
        self.exhausted.get()
    }

    /// Returns whether an object fills the role.
    pub(crate) fn admits(&self, id: Id) -> bool {
        if let Some(known) = self.known.borrow().get(&id) {
            return *known;
        }
        let admits = self.passes(id).unwrap_or_else(|exhausted| {
            self.exhausted.set(Some(exhausted));
            false
        });
        self.known.borrow_mut().insert(id, admits);
        admits
    }

    /// Returns all objects that fill the role, in canonical order.
    pub(super) fn ids(&self) -> &[Id] {
        self.ids.get_or_init(|| self.of_kinds(None).into_iter().filter(|id| self.admits(*id)).collect())
    }

    /// Returns the objects in `namespace` that fill the role, in canonical order.
    pub(crate) fn ids_in(&self, namespace: &str) -> Vec<Id> {
        self.of_kinds(Some(namespace)).into_iter().filter(|id| self.admits(*id)).collect()
    }

    /// Returns whether `object`, which is of a kind of the role, passes its filter. Where that takes too much work it may.
    pub(crate) fn may_pass(&self, object: &Value) -> bool {
        let quick = self.role.quick.iter().map(|(condition, wanted)| (condition, *wanted));
        let budget = &mut self.budget.borrow_mut();
        passes_role_filter(self.role, quick, object, budget, &mut false).unwrap_or(true)
    }

    fn passes(&self, id: Id) -> Result<bool, Exhausted> {
        let Some(node) = self.graph.node(id) else { return Ok(false) };
        let wanted = match self.role.presence {
            Presence::Present => Sort::Object,
            Presence::Absent => Sort::Absent,
        };
        if node.sort != wanted || !is_of_role(self.role, node, self.graph, self.settings) {
            return Ok(false);
        }
        let object = match self.role.object_of(node) {
            Some(object) => object,
            None if !means_something(self.role, self.graph, node) => return Ok(false),
            None => Cow::Owned(absent_object(node)),
        };
        let quick = self.role.quick.iter().map(|(condition, wanted)| (condition, *wanted));
        passes_role_filter(self.role, quick, &object, &mut self.budget.borrow_mut(), &mut false)
    }

    /// Returns the nodes of the kinds of the role, in `namespace` or anywhere, in canonical order.
    fn of_kinds(&self, namespace: Option<&str>) -> Vec<Id> {
        let graph = self.graph;
        if self.role.presence == Presence::Absent {
            return match namespace {
                Some(namespace) => graph.in_namespace(namespace).to_vec(),
                None => graph.ids().collect(),
            };
        }
        let listed = |kind: &str| match namespace {
            Some(namespace) => graph.of_kind_in(kind, namespace),
            None => graph.of_kind(kind),
        };
        let mut ids: Vec<Id> = Vec::new();
        for kind in &self.role.kinds {
            match kind {
                KindRef::Kind { kind: Some(kind), .. } => ids.extend(listed(kind)),
                KindRef::Kind { kind: None, .. } => match namespace {
                    Some(namespace) => ids.extend(graph.in_namespace(namespace)),
                    None => ids.extend(graph.ids()),
                },
                KindRef::Category(category) => {
                    for (_, kind) in kinds_of(category, graph, self.settings) {
                        ids.extend(listed(&kind));
                    }
                }
            }
        }
        if self.role.kinds.len() > 1 || matches!(self.role.kinds.as_slice(), [KindRef::Category(_)]) {
            graph.sort_by_rank(&mut ids);
            ids.dedup();
        }
        ids
    }
}
