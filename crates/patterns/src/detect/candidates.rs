//! Which objects may fill a role.

use std::borrow::Cow;

use kubewright_graph::{Graph, GraphNode, Id, Sort};
use kubewright_value::{Budget, Exhausted, Text, Value};

use super::super::filter::FilterCondition;
use super::super::key::ElementFrame;
use super::super::pattern::{KindRef, Presence, Role};
use super::DetectionSettings;
use super::absent::absent_object;
use super::on_demand::OnDemandRole;
use super::shared::SharedAnswers;

/// In what candidates are looked for.
pub(super) struct Asking<'a> {
    pub(super) graph: &'a Graph,
    pub(super) settings: &'a DetectionSettings,
    pub(super) shared: &'a SharedAnswers<'a>,
}

/// The objects of the right kind that pass the filter.
#[derive(Debug, Default)]
pub(super) struct Candidates<'s> {
    /// In canonical order.
    listed: Vec<Id>,
    /// One bit for each node.
    bits: Vec<u64>,
    /// Whether there is an object of the kind, filtered out or not.
    pub(super) has_kind: bool,
    /// Kinds without a group in the pattern, each with two groups that have it.
    pub(super) groups: Vec<(Text, Text, Text)>,
    /// Where only a few objects are asked about, what finds out about one.
    on_demand: Option<OnDemandRole<'s>>,
}

impl<'s> Candidates<'s> {
    /// Returns candidates that are looked for only where they are asked about.
    pub(super) fn on_demand(role: &'s Role, graph: &'s Graph, settings: &'s DetectionSettings) -> Self {
        Self { on_demand: Some(OnDemandRole::new(role, graph, settings)), ..Self::default() }
    }

    /// Returns all of them, in canonical order.
    pub(super) fn ids(&self) -> &[Id] {
        self.on_demand.as_ref().map_or(&self.listed, OnDemandRole::ids)
    }

    /// Returns those in `namespace` where they are looked for on demand, otherwise all; in canonical order.
    pub(super) fn ids_near(&self, namespace: &str) -> Cow<'_, [Id]> {
        match &self.on_demand {
            Some(role) => Cow::Owned(role.ids_in(namespace)),
            None => Cow::Borrowed(&self.listed),
        }
    }

    /// Returns whether they are looked for only where they are asked about.
    pub(super) fn is_on_demand(&self) -> bool {
        self.on_demand.is_some()
    }

    /// Returns why a question on demand had no answer, if one had none.
    pub(super) fn exhausted(&self) -> Option<Exhausted> {
        self.on_demand.as_ref().and_then(OnDemandRole::exhausted)
    }

    pub(super) fn of(
        role: &Role,
        asking: &Asking<'_>,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<Self, Exhausted> {
        let graph = asking.graph;
        let mut found = Self { bits: vec![0; graph.capacity().div_ceil(64)], ..Self::default() };
        if role.presence == Presence::Absent {
            found.add_absent(role, graph, asking.settings, budget, incomparable)?;
            return Ok(found);
        }
        for kind in &role.kinds {
            match kind {
                KindRef::Kind { kind: Some(kind), group, version } => {
                    let fits = |api_version: &str| {
                        has_group_and_version(api_version, group.as_deref(), version.as_deref())
                    };
                    found.add_kind(role, asking, kind, fits, budget, incomparable)?;
                    if group.is_none() && asking.shared.version(kind, graph).is_none() {
                        found.groups.extend(two_groups_of_kind(graph, kind));
                    }
                }
                KindRef::Kind { kind: None, group, version } => {
                    let fits = |api_version: &str| {
                        has_group_and_version(api_version, group.as_deref(), version.as_deref())
                    };
                    for id in graph.ids() {
                        found.add(role, graph, id, &fits, budget, incomparable)?;
                    }
                }
                KindRef::Category(category) => {
                    for (group, kind) in kinds_of(category, graph, asking.settings) {
                        let fits = |api_version: &str| group_of_version(api_version) == group;
                        found.add_kind(role, asking, &kind, fits, budget, incomparable)?;
                    }
                }
            }
        }
        if role.kinds.len() > 1 || matches!(role.kinds.as_slice(), [KindRef::Category(_)]) {
            graph.sort_by_rank(&mut found.listed);
            found.listed.dedup();
        }
        Ok(found)
    }

    /// Returns whether there are objects for a role, without looking at its filter.
    pub(super) fn kinds_only(role: &Role, asking: &Asking<'_>) -> Self {
        let mut found = Self::default();
        for kind in &role.kinds {
            match kind {
                KindRef::Kind { kind: Some(kind), group, version } => {
                    let fits = |node: &GraphNode| {
                        has_group_and_version(&node.api_version, group.as_deref(), version.as_deref())
                    };
                    let mut nodes = asking.graph.of_kind(kind).iter().filter_map(|id| asking.graph.node(*id));
                    found.has_kind |= nodes.any(fits);
                    if group.is_none() && asking.shared.version(kind, asking.graph).is_none() {
                        found.groups.extend(two_groups_of_kind(asking.graph, kind));
                    }
                }
                KindRef::Kind { kind: None, .. } => found.has_kind |= !asking.graph.is_empty(),
                KindRef::Category(category) => {
                    let mut kinds = kinds_of(category, asking.graph, asking.settings).into_iter();
                    found.has_kind |= kinds.any(|(_, kind)| !asking.graph.of_kind(&kind).is_empty());
                }
            }
        }
        found
    }

    /// Adds the objects of one kind.
    fn add_kind(
        &mut self,
        role: &Role,
        asking: &Asking<'_>,
        kind: &str,
        fits: impl Fn(&str) -> bool,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<(), Exhausted> {
        let graph = asking.graph;
        let ids = graph.of_kind(kind);
        let version = asking.shared.version(kind, graph);
        match &version {
            Some(version) if !fits(version) => return Ok(()),
            Some(_) => {}
            None => {
                for id in ids {
                    self.add(role, graph, *id, &fits, budget, incomparable)?;
                }
                return Ok(());
            }
        }
        self.has_kind |= !ids.is_empty();
        budget.step(ids.len() as u64)?;
        // What others ask too is answered for all objects at once.
        let mut left = vec![u64::MAX; ids.len().div_ceil(64)];
        let mut quick = Vec::with_capacity(role.quick.len());
        for (condition, wanted) in &role.quick {
            if asking.shared.knows(condition) {
                // The first pattern does the work; all are charged the same, so that the order does not matter.
                budget.step((ids.len() as u64).saturating_mul(condition.cost() as u64))?;
            }
            match asking.shared.answer(condition, kind, graph) {
                Some(answer) => {
                    for (word, answer) in left.iter_mut().zip(answer) {
                        *word &= if *wanted { *answer } else { !*answer };
                    }
                }
                None => quick.push((condition, *wanted)),
            }
        }
        for (at, id) in ids.iter().enumerate() {
            if left.get(at / 64).is_none_or(|word| word & (1 << (at % 64)) == 0) {
                continue;
            }
            if quick.is_empty() && role.rest.is_empty() {
                self.push(*id);
                continue;
            }
            let Some(object) = graph.node(*id).and_then(|node| role.object_of(node)) else { continue };
            if passes_role_filter(role, quick.iter().copied(), &object, budget, incomparable)? {
                self.push(*id);
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        role: &Role,
        graph: &Graph,
        id: Id,
        fits: &impl Fn(&str) -> bool,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<(), Exhausted> {
        let Some(node) = graph.node(id).filter(|node| node.sort == Sort::Object && fits(&node.api_version))
        else {
            return Ok(());
        };
        let Some(object) = role.object_of(node) else { return Ok(()) };
        self.has_kind = true;
        let quick = role.quick.iter().map(|(condition, wanted)| (condition, *wanted));
        if passes_role_filter(role, quick, &object, budget, incomparable)? {
            self.push(id);
        }
        Ok(())
    }

    /// Adds what others name and is not there.
    fn add_absent(
        &mut self,
        role: &Role,
        graph: &Graph,
        settings: &DetectionSettings,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<(), Exhausted> {
        let fits = |node: &GraphNode| {
            role.kinds.iter().any(|kind| match kind {
                KindRef::Kind { kind, group, version } => {
                    let is_kind = kind.as_ref().is_none_or(|kind| node.kind == *kind);
                    is_kind && has_group_and_version(&node.api_version, group.as_deref(), version.as_deref())
                }
                KindRef::Category(category) => kinds_of(category, graph, settings)
                    .iter()
                    .any(|(group, kind)| node.kind == *kind && node.group() == group),
            })
        };
        for id in graph.ids() {
            let absent = graph.node(id).filter(|node| node.sort == Sort::Absent);
            let Some(node) = absent.filter(|node| fits(node) && means_something(role, graph, node)) else {
                continue;
            };
            let quick = role.quick.iter().map(|(condition, wanted)| (condition, *wanted));
            if role.filter.is_empty()
                || passes_role_filter(role, quick, &absent_object(node), budget, incomparable)?
            {
                self.push(id);
            }
        }
        Ok(())
    }

    fn push(&mut self, id: Id) {
        self.listed.push(id);
        if let Some(word) = self.bits.get_mut(id.index() / 64) {
            *word |= 1 << (id.index() % 64);
        }
    }

    pub(super) fn contains(&self, id: Id) -> bool {
        if let Some(role) = &self.on_demand {
            return role.admits(id);
        }
        self.bits.get(id.index() / 64).is_some_and(|word| word & (1 << (id.index() % 64)) != 0)
    }
}

/// Returns whether `object` passes the filter with some choice of the elements that it means; `quick` is what is not
/// known yet of the conditions about the whole object.
pub(super) fn passes_role_filter<'r>(
    role: &Role,
    quick: impl Iterator<Item = (&'r FilterCondition, bool)>,
    object: &Value,
    budget: &mut Budget,
    incomparable: &mut bool,
) -> Result<bool, Exhausted> {
    for (condition, wanted) in quick {
        if condition.holds(object, &ElementFrame::default(), budget, incomparable)? != wanted {
            return Ok(false);
        }
    }
    if role.rest.is_empty() {
        return Ok(true);
    }
    if role.anchors.is_empty() {
        return role.rest.passes(object, &ElementFrame::default(), budget, incomparable);
    }
    for frame in ElementFrame::all(&role.anchors, object, budget)? {
        if role.rest.passes(object, &frame, budget, incomparable)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns a kind with the first two groups of its objects, where there are two.
fn two_groups_of_kind(graph: &Graph, kind: &Text) -> Option<(Text, Text, Text)> {
    let mut nodes = graph.of_kind(kind).iter().filter_map(|id| graph.node(*id));
    let first = nodes.next()?.group();
    let other = nodes.map(GraphNode::group).find(|group| *group != first)?;
    let (one, other) = if first < other { (first, other) } else { (other, first) };
    Some((kind.clone(), one.into(), other.into()))
}

fn has_group_and_version(api_version: &str, group: Option<&str>, version: Option<&str>) -> bool {
    let own = api_version.rsplit_once('/').map_or(api_version, |(_, version)| version);
    group.is_none_or(|group| group == group_of_version(api_version))
        && version.is_none_or(|version| version == own)
}

fn group_of_version(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// Returns group and kind of everything in `category`: what the caller knows, and what definitions of resources say.
pub(crate) fn kinds_of(category: &str, graph: &Graph, settings: &DetectionSettings) -> Vec<(Text, Text)> {
    let group = |api_version: &str| {
        api_version.rsplit_once('/').map_or_else(Text::default, |(group, _)| group.into())
    };
    let given = settings.categories.iter().filter(|(name, _, _)| *name == category);
    let mut kinds: Vec<(Text, Text)> =
        given.map(|(_, api_version, kind)| (group(api_version), kind.clone())).collect();
    for id in graph.of_kind("CustomResourceDefinition") {
        let Some(definition) = graph.node(*id).and_then(|node| node.object.as_ref()) else { continue };
        let categories = definition.at(&["spec", "names", "categories"]).and_then(Value::as_array);
        if !categories.unwrap_or_default().iter().any(|name| name.as_str() == Some(category)) {
            continue;
        }
        let text = |keys: &[&str]| definition.at(keys).and_then(Value::as_str).map(Text::from);
        if let (Some(group), Some(kind)) = (text(&["spec", "group"]), text(&["spec", "names", "kind"])) {
            kinds.push((group, kind));
        }
    }
    kinds.sort();
    kinds.dedup();
    kinds
}

/// Returns whether it means something that an object is not there: where the pattern asks for it, others of the kind are.
pub(super) fn means_something(role: &Role, graph: &Graph, absent: &GraphNode) -> bool {
    if !role.if_listed.iter().any(|kind| *kind == absent.kind || *kind == "*") {
        return true;
    }
    let mut others = graph.of_kind(&absent.kind).iter().filter_map(|id| graph.node(*id));
    others.any(|node| node.sort == Sort::Object && node.group() == absent.group())
}
