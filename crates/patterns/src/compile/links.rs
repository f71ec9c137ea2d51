//! When a relationship holds: types of edges with their options, or criteria.

use kubewright_engine::Diagnostic;
use kubewright_value::Text;

use super::super::criteria::{Basis, Criteria, CriterionOrigin, CriterionSide, ValueCriterion};
use super::super::diagnostics as code;
use super::super::key::FieldKey;
use super::super::operator::ConditionOperator;
use super::super::pattern::{EdgeDirection, KindRef, RelationshipLink, RelationshipList, Types};
use super::super::relate::{EdgeOptions, FieldGlob};
use super::super::source::{self, Definition, WrittenCriterion};
use super::super::types;
use super::PatternCompiler;
use kubewright_dialect_kit::fields::Located;

impl PatternCompiler<'_> {
    /// Returns when a relationship holds.
    pub(super) fn link(
        &mut self,
        definition: &Definition,
        entry: &source::WrittenRelationship,
    ) -> Option<RelationshipLink> {
        let (basis, criteria) = match &entry.link {
            source::WrittenLink::Typed { names, options } => {
                let criteria: Vec<ValueCriterion> =
                    options.criteria.iter().filter_map(|one| self.criterion(one)).collect();
                let is_only =
                    |word: &str| matches!(names.as_slice(), [only] if only.value.eq_ignore_ascii_case(word));
                if is_only("CUSTOM") {
                    return Some(RelationshipLink::Criteria(Box::new(Criteria {
                        basis: Basis::Custom,
                        all: criteria,
                    })));
                }
                let types = match is_only("ANY") {
                    true => Types { name: "ANY".into(), names: Vec::new() },
                    false => self.types(names)?,
                };
                let criteria =
                    (!criteria.is_empty()).then(|| Criteria { basis: Basis::Custom, all: criteria });
                let options = EdgeOptions {
                    direction: options
                        .direction
                        .unwrap_or_else(|| default_direction(definition, entry, &types)),
                    strengths: options.strengths.clone(),
                    via: options.via.iter().map(|text| FieldGlob::new(text)).collect(),
                    ignores_names: !options.by_name,
                    is_transitive: options.is_transitive,
                    criteria: criteria.map(Box::new),
                };
                return Some(match entry.list {
                    RelationshipList::Relationships => RelationshipLink::Edge { types, options },
                    RelationshipList::Common => RelationshipLink::Common { types, options },
                });
            }
            source::WrittenLink::Custom(criteria) => (Basis::Custom, criteria.as_slice()),
            source::WrittenLink::Owns => (Basis::Owns, [].as_slice()),
            source::WrittenLink::OwnedBy => (Basis::OwnedBy, [].as_slice()),
            source::WrittenLink::Selects(path, criteria) => {
                (Basis::Selects(self.key(path)?), criteria.as_slice())
            }
            source::WrittenLink::SelectedBy(path, criteria) => {
                (Basis::SelectedBy(self.key(path)?), criteria.as_slice())
            }
        };
        let mut all: Vec<ValueCriterion> = criteria.iter().filter_map(|one| self.criterion(one)).collect();
        all.extend(self.kind_of_target(definition, entry));
        Some(RelationshipLink::Criteria(Box::new(Criteria { basis, all })))
    }

    fn types(&mut self, names: &[Located<Text>]) -> Option<Types> {
        let mut found: Vec<Text> = Vec::with_capacity(names.len());
        for name in names {
            let location = self.document.locate(&name.path);
            match types::find_edge_type(&name.value, self.own_types) {
                Some(known) if found.contains(&known) => {
                    let message = format!("duplicate type `{known}`");
                    self.diagnostics.push(Diagnostic::new(&code::DUPLICATE_ID, message, location));
                }
                Some(known) => found.push(known),
                None => {
                    let message = format!("unknown relationship type `{}`", name.value);
                    let help = types::edge_type_help(&name.value);
                    self.diagnostics
                        .push(Diagnostic::new(&code::UNKNOWN_VALUE, message, location).help(help));
                }
            }
        }
        let name = found.join(", ").into();
        (!found.is_empty()).then_some(Types { name, names: found })
    }

    /// Returns the criteria that a dependency has the kind that its target names.
    fn kind_of_target(
        &mut self,
        definition: &Definition,
        entry: &source::WrittenRelationship,
    ) -> Vec<ValueCriterion> {
        let with = entry.ids.last().map(|id| &id.value);
        let resource = definition.resources.iter().find(|resource| Some(&resource.id) == with);
        let Some((version, kind)) = resource.and_then(|resource| resource.from_target.as_ref()) else {
            return Vec::new();
        };
        let mut agrees = |path: &Located<Text>, own: &str| {
            let plain = |key| CriterionSide {
                origin: CriterionOrigin::Paths(vec![key]),
                default: None,
                transform: None,
            };
            let (target, dependency) = (self.key(path)?, FieldKey::parse(own).ok()?);
            Some(ValueCriterion {
                target: plain(target),
                dependency: plain(dependency),
                operator: ConditionOperator::Equals,
            })
        };
        [agrees(version, "apiVersion"), agrees(kind, "kind")].into_iter().flatten().collect()
    }

    fn criterion(&mut self, criterion: &WrittenCriterion) -> Option<ValueCriterion> {
        criterion.compile(&mut |path| self.key(path))
    }
}

/// Returns which way an edge must lead where the pattern does not say.
///
/// Kinds distinguish the two ends of most edges: only a Service exposes a Pod, in whatever order the two are named. Where one
/// object could be either end, as two Pods with an affinity, the first id is the one from which the edge leads.
fn default_direction(
    definition: &Definition,
    entry: &source::WrittenRelationship,
    types: &Types,
) -> EdgeDirection {
    let [one, other] = entry.ids.as_slice() else { return EdgeDirection::Any };
    let is_symmetric = types.names.iter().all(|name| types::is_symmetric(name));
    let kinds =
        |id: &Text| definition.resources.iter().find(|resource| resource.id == *id).map(|found| &found.kinds);
    match (kinds(&one.value), kinds(&other.value)) {
        (Some(ones), Some(others)) if entry.list == RelationshipList::Relationships && !is_symmetric => {
            let has_common = ones.iter().any(|one| others.iter().any(|other| may_be_same(one, other)));
            if has_common { EdgeDirection::Forward } else { EdgeDirection::Any }
        }
        _ => EdgeDirection::Any,
    }
}

/// Returns whether objects of both can be of one kind. One that names no kind is about whatever the other is not.
fn may_be_same(one: &KindRef, other: &KindRef) -> bool {
    let agree = |one: &Option<Text>, other: &Option<Text>| match (one, other) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    match (one, other) {
        (
            KindRef::Kind { kind: one, group: one_group, .. },
            KindRef::Kind { kind: other, group: other_group, .. },
        ) => one == other && agree(one_group, other_group),
        (KindRef::Category(one), KindRef::Category(other)) => one == other,
        _ => false,
    }
}
