//! Which objects may fill a role.

use kubewright_graph::{Graph, Id, Node, Sort};
use kubewright_value::{Budget, Exhausted, Text, Value};

use super::super::key::Frame;
use super::super::pattern::{KindRef, Presence, Role};
use super::Settings;
use super::absent::described;

/// The objects of the right kind that pass the filter.
#[derive(Debug, Default)]
pub(super) struct Candidates {
    /// In canonical order.
    pub(super) ids: Vec<Id>,
    /// One bit for each node.
    bits: Vec<u64>,
    /// Whether there is an object of the kind, filtered out or not.
    pub(super) has_kind: bool,
    /// Kinds without a group in the pattern, each with two groups that have it.
    pub(super) groups: Vec<(Text, Text, Text)>,
}

impl Candidates {
    pub(super) fn of(
        role: &Role,
        graph: &Graph,
        settings: &Settings,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<Self, Exhausted> {
        let mut found = Self { bits: vec![0; graph.capacity().div_ceil(64)], ..Self::default() };
        if role.presence == Presence::Absent {
            found.add_absent(role, graph, settings, budget, incomparable)?;
            return Ok(found);
        }
        for kind in &role.kinds {
            match kind {
                KindRef::Kind { kind: Some(kind), group, version } => {
                    let ids = graph.of_kind(kind).iter().copied();
                    let fits = |node: &Node| is_of(node, group.as_deref(), version.as_deref());
                    if group.is_none() {
                        found.groups.extend(groups(graph, kind));
                    }
                    found.add(role, graph, ids, fits, budget, incomparable)?;
                }
                KindRef::Kind { kind: None, group, version } => {
                    let fits = |node: &Node| is_of(node, group.as_deref(), version.as_deref());
                    found.add(role, graph, graph.ids(), fits, budget, incomparable)?;
                }
                KindRef::Category(category) => {
                    let kinds = kinds_of(category, graph, settings);
                    for (group, kind) in kinds {
                        let ids = graph.of_kind(&kind).iter().copied();
                        let fits = |node: &Node| node.group() == group;
                        found.add(role, graph, ids, fits, budget, incomparable)?;
                    }
                }
            }
        }
        if role.kinds.len() > 1 || matches!(role.kinds.as_slice(), [KindRef::Category(_)]) {
            found.ids.sort_by_key(|id| graph.rank(*id));
            found.ids.dedup();
        }
        Ok(found)
    }

    fn add(
        &mut self,
        role: &Role,
        graph: &Graph,
        ids: impl Iterator<Item = Id>,
        fits: impl Fn(&Node) -> bool,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<(), Exhausted> {
        for id in ids {
            let Some(node) = graph.node(id).filter(|node| node.sort == Sort::Object && fits(node)) else {
                continue;
            };
            let Some(object) = &node.object else { continue };
            self.has_kind = true;
            if passes(role, object, budget, incomparable)? {
                self.push(id);
            }
        }
        Ok(())
    }

    /// Adds what others name and is not there.
    fn add_absent(
        &mut self,
        role: &Role,
        graph: &Graph,
        settings: &Settings,
        budget: &mut Budget,
        incomparable: &mut bool,
    ) -> Result<(), Exhausted> {
        let fits = |node: &Node| {
            role.kinds.iter().any(|kind| match kind {
                KindRef::Kind { kind, group, version } => {
                    let is_kind = kind.as_ref().is_none_or(|kind| node.kind == *kind);
                    is_kind && is_of(node, group.as_deref(), version.as_deref())
                }
                KindRef::Category(category) => kinds_of(category, graph, settings)
                    .iter()
                    .any(|(group, kind)| node.kind == *kind && node.group() == group),
            })
        };
        for id in graph.ids() {
            let absent = graph.node(id).filter(|node| node.sort == Sort::Absent);
            let Some(node) = absent.filter(|node| fits(node)) else { continue };
            if role.filter.is_empty() || passes(role, &described(node), budget, incomparable)? {
                self.push(id);
            }
        }
        Ok(())
    }

    fn push(&mut self, id: Id) {
        self.ids.push(id);
        if let Some(word) = self.bits.get_mut(id.index() / 64) {
            *word |= 1 << (id.index() % 64);
        }
    }

    pub(super) fn contains(&self, id: Id) -> bool {
        self.bits.get(id.index() / 64).is_some_and(|word| word & (1 << (id.index() % 64)) != 0)
    }
}

/// Returns whether `object` passes the filter with some choice of the elements that it means.
fn passes(
    role: &Role,
    object: &Value,
    budget: &mut Budget,
    incomparable: &mut bool,
) -> Result<bool, Exhausted> {
    if role.filter.is_empty() {
        return Ok(true);
    }
    let mut anchors = Vec::new();
    role.filter.collect_anchors(&mut anchors);
    if anchors.is_empty() {
        return role.filter.passes(object, &Frame::default(), budget, incomparable);
    }
    for frame in Frame::all(&anchors, object, budget)? {
        if role.filter.passes(object, &frame, budget, incomparable)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns a kind with the first two groups of its objects, where there are two.
fn groups(graph: &Graph, kind: &Text) -> Option<(Text, Text, Text)> {
    let mut nodes = graph.of_kind(kind).iter().filter_map(|id| graph.node(*id));
    let first = nodes.next()?.group();
    let other = nodes.map(Node::group).find(|group| *group != first)?;
    let (one, other) = if first < other { (first, other) } else { (other, first) };
    Some((kind.clone(), one.into(), other.into()))
}

fn is_of(node: &Node, group: Option<&str>, version: Option<&str>) -> bool {
    let own = node.api_version.rsplit_once('/').map_or(node.api_version.as_str(), |(_, version)| version);
    group.is_none_or(|group| group == node.group()) && version.is_none_or(|version| version == own)
}

/// Returns group and kind of everything in `category`: what the caller knows, and what definitions of resources say.
pub(crate) fn kinds_of(category: &str, graph: &Graph, settings: &Settings) -> Vec<(Text, Text)> {
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
