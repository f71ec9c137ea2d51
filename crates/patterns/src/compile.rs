//! Lowers a definition to a pattern that can run: parses paths, texts and expressions, resolves ids.

mod links;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use kubewright_engine::Diagnostic;
use kubewright_golib::regex;
use kubewright_value::{Document, Step, Text, Value};

use super::diagnostics as code;
use super::filter::{EachElement, FilterCondition, Operands, Quantifier, RoleFilter};
use super::key::FieldKey;
use super::message::{MessageTemplate, MessageTemplateError};
use super::operator::{ConditionOperand, ConditionOperator, scalar_text};
use super::pattern::{Pattern, PatternRelationship, RelationshipEffect, Role};
use super::points::Points;
use super::source::{self, Definition};
use kubewright_dialect_kit::fields::{Located, child_path};

/// The maximum number of resources, and of relationships, of a pattern.
const MAX_RESOURCES: usize = 64;

/// The number of ids that a message lists.
const MAX_SUGGESTED_IDS: usize = 20;

/// Compiles `definition`. Returns no pattern if there is an error.
pub(crate) fn compile_definition(
    definition: &Definition,
    document: &Document,
    own_types: &[Text],
) -> (Option<Pattern>, Vec<Diagnostic>) {
    let ids: Vec<Text> = definition.resources.iter().map(|resource| resource.id.clone()).collect();
    let mut positions = HashMap::new();
    for (position, id) in ids.iter().enumerate() {
        positions.entry(id.clone()).or_insert(position);
    }
    let mut compiler = PatternCompiler { document, ids, positions, own_types, diagnostics: Vec::new() };
    let pattern = compiler.pattern(definition);
    let has_error = compiler.diagnostics.iter().any(Diagnostic::is_error);
    (pattern.filter(|_| !has_error), compiler.diagnostics)
}

/// Returns a hash that is equal for equal documents.
fn fingerprint_of(document: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(document.to_string().as_bytes());
    hasher.finish()
}

struct PatternCompiler<'d> {
    document: &'d Document,
    ids: Vec<Text>,
    /// The first position of each id in `ids`.
    positions: HashMap<Text, usize>,
    own_types: &'d [Text],
    diagnostics: Vec<Diagnostic>,
}

impl PatternCompiler<'_> {
    fn pattern(&mut self, definition: &Definition) -> Option<Pattern> {
        if definition.resources.len() > MAX_RESOURCES || definition.entries.len() > MAX_RESOURCES {
            let location = self.document.locate(&["spec".into()]);
            let message =
                format!("a pattern has at most {MAX_RESOURCES} resources and {MAX_RESOURCES} relationships");
            self.diagnostics.push(Diagnostic::new(&code::TOO_LARGE, message, location));
            return None;
        }
        let roles: Vec<Role> = definition.resources.iter().map(|resource| self.role(resource)).collect();
        let entries: Vec<PatternRelationship> =
            definition.entries.iter().filter_map(|entry| self.entry(definition, entry)).collect();
        let message = self.template(&definition.message);
        let mut leader_anchors = Vec::new();
        for entry in &entries {
            let Some(criteria) = entry.link.criteria() else { continue };
            for (one, other) in &entry.pairs {
                if *one == definition.leader {
                    criteria.target_anchors(&mut leader_anchors);
                }
                if *other == definition.leader {
                    criteria.dependency_anchors(&mut leader_anchors);
                }
            }
        }
        let mut actors: Vec<usize> =
            definition.actors.iter().filter_map(|actor| self.position(&actor.value)).collect();
        if !actors.contains(&definition.leader) {
            actors.insert(0, definition.leader);
        }
        let pattern = Pattern {
            name: definition.name.clone(),
            display_name: definition.display_name.clone(),
            version: definition.version.clone(),
            pattern_type: definition.pattern_type.clone(),
            severity: definition.severity,
            category: definition.category.clone(),
            description: definition.description.clone(),
            doc_url: definition.doc_url.clone(),
            git_url: definition.git_url.clone(),
            topology: definition.topology,
            location: self.document.locate(&["metadata".into(), "name".into()]),
            lasting_seconds: definition.lasting_seconds,
            fingerprint: fingerprint_of(&self.document.value),
            roles,
            leader: definition.leader,
            actors,
            entries,
            minimum: definition.minimum.as_ref().map_or_else(Points::zero, |found| found.value.clone()),
            common_minimum: definition.common_minimum.clone(),
            message,
            emits_on_empty: definition.emits_on_empty,
            allows_same: definition.is_successor,
            leader_anchors,
            is_unordered: definition.is_unordered,
        };
        self.counts(definition, &pattern);
        Some(pattern)
    }

    fn role(&mut self, resource: &source::WrittenResource) -> Role {
        let mut group = |conditions: &[source::WrittenCondition]| {
            conditions.iter().filter_map(|condition| self.condition(condition)).collect()
        };
        let filter =
            RoleFilter { all: group(&resource.all), any: group(&resource.any), none: group(&resource.none) };
        let location = self.document.locate(&resource.path);
        let (id, kinds, presence) = (resource.id.clone(), resource.kinds.clone(), resource.presence);
        let mut anchors = Vec::new();
        filter.collect_anchors(&mut anchors);
        let (quick, rest) = filter.split();
        let if_listed = resource.if_listed.clone();
        let mut conditions = filter.all.iter().chain(&filter.any).chain(&filter.none);
        let reads_name = conditions.any(FilterCondition::reads_name);
        Role { id, kinds, presence, if_listed, reads_name, filter, quick, rest, anchors, location }
    }

    fn condition(&mut self, condition: &source::WrittenCondition) -> Option<FilterCondition> {
        let key = self.key(&condition.key);
        let operands = match &condition.values_from {
            Some(from) => Operands::From(self.key(from)?),
            None => Operands::Written(self.operands(condition)),
        };
        let mut key = key?;
        let each = self.each(condition, &key);
        if matches!(condition.operator, ConditionOperator::Size(_)) {
            key = key.without_each();
        }
        let location = self.document.locate(&condition.key.path);
        let signature = condition_signature(condition, &operands);
        Some(FilterCondition { key, operator: condition.operator, operands, each, location, signature })
    }

    /// Returns the elements that a condition speaks of one by one.
    fn each(&mut self, condition: &source::WrittenCondition, key: &FieldKey) -> Option<EachElement> {
        let quantifier = condition.quantifier.as_ref()?;
        let Some((elements, inside)) = key.split_each() else {
            let message = format!("`quantifier` needs `[*]` in the path `{}`", key.text);
            let location = self.document.locate(&quantifier.path);
            let help = "write `[*]` after the array, or remove `quantifier`";
            self.diagnostics.push(Diagnostic::new(&code::BAD_QUANTIFIER, message, location).help(help));
            return None;
        };
        let holds = match quantifier.value {
            Quantifier::Any => return None,
            Quantifier::All => true,
            Quantifier::EachLacks => false,
        };
        Some(EachElement { elements, inside, holds })
    }

    fn operands(&mut self, condition: &source::WrittenCondition) -> Vec<ConditionOperand> {
        let mut operands = Vec::with_capacity(condition.values.len());
        for value in &condition.values {
            let mut operand = ConditionOperand::new(&self.written(value));
            let location = self.document.locate(&value.path);
            if condition.operator.is_regex() {
                match regex::compile_regex(&operand.text) {
                    Ok(regex) => operand.regex = Some(regex),
                    Err(error) => {
                        let message = format!("invalid regular expression `{}`: {error}", operand.text);
                        self.diagnostics.push(Diagnostic::new(&code::BAD_TRANSFORM, message, location));
                        continue;
                    }
                }
            } else if let Some(wanted) = never_compares(condition.operator, &operand) {
                let message = format!("`{}` is {wanted}, so the condition never holds", operand.text);
                self.diagnostics.push(Diagnostic::new(&code::NEVER_COMPARES, message, location));
            }
            operands.push(operand);
        }
        operands
    }

    /// Returns the text of a scalar as it was written, where that still shows.
    fn written(&self, value: &Located<Value>) -> Text {
        let text = scalar_text(&value.value).unwrap_or_default();
        let Value::Number(number) = &value.value else { return text };
        let written = self.document.locate(&value.path).text().unwrap_or_default();
        if super::operator::parse_decimal(&written) == Some(*number) { written.trim().into() } else { text }
    }

    fn entry(
        &mut self,
        definition: &Definition,
        entry: &source::WrittenRelationship,
    ) -> Option<PatternRelationship> {
        let location = self.document.locate(&entry.path);
        let mut positions = Vec::new();
        for id in &entry.ids {
            match self.position(&id.value) {
                Some(position) if positions.contains(&position) => {
                    let message = format!("`{}` is related to itself", id.value);
                    let location = self.document.locate(&id.path);
                    let help = "the same object never fills two roles; define a second resource";
                    self.diagnostics.push(Diagnostic::new(&code::DUPLICATE_ID, message, location).help(help));
                }
                Some(position) => positions.push(position),
                None if definition.is_successor => return None,
                None => {
                    let message = format!("unknown resource id `{}`", id.value);
                    let known: Vec<String> =
                        self.ids.iter().take(MAX_SUGGESTED_IDS).map(|id| format!("`{id}`")).collect();
                    let location = self.document.locate(&id.path);
                    let help = format!("use one of {}", known.join(", "));
                    self.diagnostics.push(Diagnostic::new(&code::UNKNOWN_ID, message, location).help(help));
                }
            }
        }
        let link = self.link(definition, entry);
        let description = entry.description.as_ref().map(|text| self.template(text));
        let rule = match entry.rule {
            source::WrittenEffect::OneOf => RelationshipEffect::OneOf(0),
            // In this dialect each relationship finds its own dependency.
            source::WrittenEffect::Matrix { required: true, shared: true } if definition.is_successor => {
                RelationshipEffect::OneOf(
                    1 + definition.entries.iter().position(|other| other.id == entry.id)?,
                )
            }
            source::WrittenEffect::Matrix { required: true, shared: true } => RelationshipEffect::Mandatory,
            source::WrittenEffect::Matrix { required: true, shared: false } => RelationshipEffect::Veto,
            source::WrittenEffect::Matrix { required: false, shared: true } => RelationshipEffect::Present,
            source::WrittenEffect::Matrix { required: false, shared: false } => RelationshipEffect::Absent,
        };
        let weight = self.weight(entry, rule);
        Some(PatternRelationship {
            id: entry.id.clone(),
            list: entry.list,
            pairs: all_pairs(&positions),
            link: link?,
            at_least: entry.at_least.as_ref().map_or(1, |found| found.value),
            rule,
            weight,
            description,
            location,
        })
    }

    /// Reports `atLeast` on relationships between actors, of which a finding has one each.
    fn counts(&mut self, definition: &Definition, pattern: &Pattern) {
        for written in &definition.entries {
            let Some(entry) = pattern.entries.iter().find(|entry| entry.id == written.id) else { continue };
            let Some(count) = written.at_least.as_ref().filter(|_| entry.at_least > 1) else { continue };
            let is_counted = matches!(entry.pairs.as_slice(),
                [(one, other)] if pattern.is_bound(*one) != pattern.is_bound(*other));
            if is_counted {
                continue;
            }
            let message =
                format!("`atLeast` of `{}` needs one actor and one resource that is not an actor", entry.id);
            let location = self.document.locate(&count.path);
            let help = "a finding has one object for each actor; remove one of the two from `actors`";
            self.diagnostics.push(Diagnostic::new(&code::BAD_COUNT, message, location).help(help));
        }
    }

    fn weight(&mut self, entry: &source::WrittenRelationship, rule: RelationshipEffect) -> Points {
        match &entry.weight {
            Some(weight) if rule.scores() => weight.value.clone(),
            Some(weight) => {
                let message = "the weight of a required relationship is ignored";
                let location = self.document.locate(&weight.path);
                let help = "remove `weight`, or write `required: false`";
                self.diagnostics.push(Diagnostic::new(&code::WEIGHT_IGNORED, message, location).help(help));
                Points::zero()
            }
            None if rule.scores() => {
                let message = format!("`{}` has no weight and counts one point", entry.id);
                let location = self.document.locate(&entry.path);
                let help = "write `weight: 1`";
                self.diagnostics.push(Diagnostic::new(&code::WEIGHT_MISSING, message, location).help(help));
                Points::from_whole(1)
            }
            None => Points::zero(),
        }
    }

    fn key(&mut self, text: &Located<Text>) -> Option<FieldKey> {
        let location = self.document.locate(&text.path);
        match FieldKey::parse(&text.value) {
            Ok(key) => {
                if key.has_unquoted_slash() {
                    let message = format!("`{}` has an unquoted key with a slash", text.value);
                    let help = "put a key with dots or slashes in quotes: `metadata.labels['a.b/c']`";
                    self.diagnostics.push(Diagnostic::new(&code::UNQUOTED_KEY, message, location).help(help));
                }
                Some(key)
            }
            Err(error) => {
                self.diagnostics
                    .push(Diagnostic::new(&code::BAD_KEY, error.message, location).help(error.help));
                None
            }
        }
    }

    fn template(&mut self, text: &Located<Text>) -> MessageTemplate {
        let (template, errors) = MessageTemplate::parse(&text.value, &self.ids);
        for error in errors {
            let location = self.document.locate(&text.path);
            let diagnostic = match error {
                MessageTemplateError::Open => {
                    Diagnostic::new(&code::BAD_MESSAGE, "`{{` without `}}`", location)
                }
                MessageTemplateError::Path(error) => {
                    Diagnostic::new(&code::BAD_MESSAGE, error.message, location).help(error.help)
                }
                MessageTemplateError::Unknown(place) => {
                    let known: Vec<String> = self
                        .ids
                        .iter()
                        .take(MAX_SUGGESTED_IDS)
                        .map(|id| format!("`{{{{{id}.name}}}}`"))
                        .collect();
                    let message = format!("unknown placeholder `{place}`");
                    let help = format!("use for example {}", known.join(", "));
                    Diagnostic::new(&code::BAD_MESSAGE, message, location).help(help)
                }
            };
            self.diagnostics.push(diagnostic);
        }
        template
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.positions.get(id).copied()
    }
}

/// Returns a text that is equal for equal conditions, whose answers can be shared. Conditions that may report values that
/// cannot be compared have none: such a report must not depend on which other patterns run.
fn condition_signature(condition: &source::WrittenCondition, operands: &Operands) -> Option<Text> {
    let (
        ConditionOperator::Equals
        | ConditionOperator::NotEquals
        | ConditionOperator::Exists
        | ConditionOperator::NotExists
        | ConditionOperator::IsEmpty,
        Operands::Written(operands),
    ) = (condition.operator, operands)
    else {
        return None;
    };
    let texts: Vec<&str> = operands.iter().map(|operand| operand.text.as_str()).collect();
    let quantifier = condition.quantifier.as_ref().map(|found| found.value);
    Some(format!("{} {:?} {quantifier:?} {texts:?}", condition.key.value, condition.operator).into())
}

/// Returns every two of `positions`.
fn all_pairs(positions: &[usize]) -> Vec<(usize, usize)> {
    let behind = |at: usize| positions.iter().skip(at + 1);
    let each = positions.iter().enumerate();
    each.flat_map(|(at, first)| behind(at).map(|second| (*first, *second))).collect()
}

/// Returns what `operand` is instead of what `operator` can compare with.
fn never_compares(operator: ConditionOperator, operand: &ConditionOperand) -> Option<&'static str> {
    match operator {
        ConditionOperator::Size(_) if operand.number.is_none() => Some("no number"),
        ConditionOperator::Is(_) if !operand.is_ordered() => {
            Some("neither a number nor a quantity nor a time")
        }
        _ => None,
    }
}

/// Returns the place of a field of the pattern.
pub(crate) fn locate_field(document: &Document, path: &[Step], key: &str) -> kubewright_value::Location {
    document.locate(&child_path(path, key))
}
