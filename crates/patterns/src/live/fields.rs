//! The fields and edge types that patterns read.

use kubewright_graph::{EDGE_TYPES, EdgeType, EdgeTypeSet, FieldExtent, FieldStep, FieldTree, References};
use kubewright_k8s::PodTemplatePath;

use super::super::criteria::{Basis, Criteria, CriterionOrigin, CriterionSide};
use super::super::filter::{FilterCondition, Operands};
use super::super::key::{FieldKey, KeyStep};
use super::super::lint::all_named_kinds;
use super::super::operator::ConditionOperator;
use super::super::pattern::{KindRef, Pattern, PatternRelationship, RelationshipLink, Role};
use super::super::suppression::{IGNORE_REASON_ANNOTATION, IGNORED_PATTERNS_ANNOTATION};
use super::super::types;

/// Returns the fields of objects of a kind that `pattern` reads; none where no role is of the kind.
pub(crate) fn pattern_fields(pattern: &Pattern, group: &str, kind: &str) -> Option<FieldTree> {
    let roles = || pattern.roles.iter().enumerate().filter(|(_, role)| may_fill(role, group, kind));
    roles().next()?;
    let mut fields = PatternFields { kind, tree: FieldTree::default() };
    // A finding names its objects, and a role may be of one version only.
    for path in [&["apiVersion"][..], &["kind"], &["metadata", "uid"]] {
        let path: Vec<FieldStep<'_>> = path.iter().map(|name| FieldStep::Name(name)).collect();
        fields.tree.add(&path, FieldExtent::Whole);
    }
    for (at, role) in roles() {
        for condition in role.filter.all.iter().chain(&role.filter.any).chain(&role.filter.none) {
            fields.condition(condition);
        }
        for entry in &pattern.entries {
            fields.relationship(entry, at);
        }
        if at == pattern.leader {
            for annotation in [IGNORED_PATTERNS_ANNOTATION, IGNORE_REASON_ANNOTATION] {
                let path = ["metadata", "annotations", annotation].map(FieldStep::Name);
                fields.tree.add(&path, FieldExtent::Whole);
            }
        }
        let descriptions = pattern.entries.iter().filter_map(|entry| entry.description.as_ref());
        for text in std::iter::once(&pattern.message).chain(descriptions) {
            text.keys(at).for_each(|key| fields.key(key, FieldExtent::Whole));
        }
    }
    Some(fields.tree)
}

/// Returns whether objects of a kind may fill `role`, as far as can be said without looking at definitions.
pub(super) fn may_fill(role: &Role, group: &str, kind: &str) -> bool {
    role.kinds.iter().any(|wanted| match wanted {
        KindRef::Kind { kind: of, group: within, .. } => {
            of.as_ref().is_none_or(|of| *of == kind) && within.as_ref().is_none_or(|within| *within == group)
        }
        KindRef::Category(_) => true,
    })
}

/// Returns the types of edges that `pattern` follows.
pub(crate) fn pattern_edge_types(pattern: &Pattern, references: &References) -> EdgeTypeSet {
    pattern.entries.iter().flat_map(|entry| entry_edge_types(pattern, entry, references)).collect()
}

/// Returns the types of edges that one relationship follows.
pub(super) fn entry_edge_types(
    pattern: &Pattern,
    entry: &PatternRelationship,
    references: &References,
) -> Vec<EdgeType> {
    let mut found = Vec::new();
    if entry.link.options().is_some_and(|options| options.is_transitive) {
        found.push(EdgeType::OWNS);
    }
    match &entry.link {
        RelationshipLink::Criteria(criteria) => {
            found.extend(matches!(criteria.basis, Basis::Owns | Basis::OwnedBy).then_some(EdgeType::OWNS));
        }
        RelationshipLink::Edge { types, .. } | RelationshipLink::Common { types, .. }
            if !types.names.is_empty() =>
        {
            found.extend(types.names.iter().filter_map(|name| references.edge_type(name)));
        }
        RelationshipLink::Edge { .. } | RelationshipLink::Common { .. } => {
            let is_direct = matches!(entry.link, RelationshipLink::Edge { .. });
            let built_in = EDGE_TYPES.iter().filter(|spec| {
                let is_linking = || entry.pairs.iter().any(|pair| can_link(pattern, *pair, spec.edge_type));
                !spec.is_implied && (!is_direct || is_linking())
            });
            found.extend(built_in.map(|spec| spec.edge_type));
            found.extend(references.own_types().iter().filter_map(|name| references.edge_type(name)));
        }
    }
    found
}

/// Returns whether edges of a built-in type may be between objects of the two roles.
fn can_link(pattern: &Pattern, pair: (usize, usize), kind: EdgeType) -> bool {
    // These lead to what is no object, and no role is filled by that.
    if matches!(kind, EdgeType::USES_IMAGE | EdgeType::PART_OF) {
        return false;
    }
    [pair.0, pair.1].into_iter().all(|role| {
        let kinds = pattern.roles.get(role).and_then(|role| all_named_kinds(&role.kinds));
        kinds.is_none_or(|kinds| kinds.iter().any(|name| types::can_have(kind, name)))
    })
}

/// The fields of one kind.
struct PatternFields<'k> {
    kind: &'k str,
    tree: FieldTree,
}

impl PatternFields<'_> {
    fn condition(&mut self, condition: &FilterCondition) {
        let read = match condition.operator {
            ConditionOperator::Exists
            | ConditionOperator::NotExists
            | ConditionOperator::IsEmpty
            | ConditionOperator::Size(_) => FieldExtent::Presence,
            _ => FieldExtent::Scalars,
        };
        self.key(&condition.key, read);
        if let Some(each) = &condition.each {
            let steps: Vec<KeyStep> = each.elements.steps.iter().chain(&each.inside.steps).cloned().collect();
            self.steps(&steps, read);
        }
        if let Operands::From(key) = &condition.operands {
            self.key(key, FieldExtent::Scalars);
        }
    }

    fn relationship(&mut self, entry: &PatternRelationship, role: usize) {
        let Some(criteria) = entry.link.criteria() else { return };
        let is_first = entry.pairs.iter().any(|pair| pair.0 == role);
        let is_second = entry.pairs.iter().any(|pair| pair.1 == role);
        for criterion in &criteria.all {
            if is_first {
                self.side(&criterion.target);
            }
            if is_second {
                self.side(&criterion.dependency);
            }
        }
        self.basis(criteria, is_first, is_second);
    }

    /// The selector of one object, and the labels of the other.
    fn basis(&mut self, criteria: &Criteria, is_first: bool, is_second: bool) {
        let (key, selects, is_selected) = match &criteria.basis {
            Basis::Selects(key) => (key, is_first, is_second),
            Basis::SelectedBy(key) => (key, is_second, is_first),
            Basis::Custom | Basis::Owns | Basis::OwnedBy => return,
        };
        if selects {
            self.key(key, FieldExtent::Whole);
        }
        if is_selected {
            self.tree.add(&["metadata", "labels"].map(FieldStep::Name), FieldExtent::Whole);
        }
    }

    fn side(&mut self, side: &CriterionSide) {
        for origin in std::iter::once(&side.origin).chain(&side.default) {
            if let CriterionOrigin::Paths(keys) = origin {
                keys.iter().for_each(|key| self.key(key, FieldExtent::Whole));
            }
        }
    }

    fn key(&mut self, key: &FieldKey, read: FieldExtent) {
        self.steps(&key.steps, read);
    }

    fn steps(&mut self, steps: &[KeyStep], read: FieldExtent) {
        let mut path: Vec<FieldStep<'_>> = Vec::with_capacity(steps.len() + 4);
        for step in steps {
            match step {
                KeyStep::Name(name) => path.push(FieldStep::Name(name)),
                KeyStep::Each | KeyStep::Same | KeyStep::Index(_) => path.push(FieldStep::Each),
                KeyStep::PodTemplate => {
                    let template = PodTemplatePath::of_kind(self.kind).unwrap_or(PodTemplatePath::Template);
                    path.extend(template.keys().iter().map(|name| FieldStep::Name(name)));
                }
            }
        }
        if matches!(steps.first(), Some(KeyStep::PodTemplate)) {
            // Whether this is a Pod template at all.
            let containers = ["spec", "template", "spec", "containers"].map(FieldStep::Name);
            self.tree.add(&containers, FieldExtent::Presence);
        }
        self.tree.add(&path, read);
    }
}
