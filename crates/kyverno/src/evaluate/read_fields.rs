//! Which fields of an object a rule reads.
//!
//! Only what can be seen in the rule counts: constant patterns, and expressions whose paths are written in them. For
//! everything else the rule reads all of the object.

use kubewright_jmespath::ReadPath;
use kubewright_value::{FieldSet, Text};

use super::patterns::{OnePattern, PatternSource};
use super::{RuleBody, ValidateCheck, ValidateRule};
use crate::conditions::ConditionSet;
use crate::evaluate::ForeachLoop;
use crate::template::{TemplateVariable, VariableQuery, VariableTemplate};

/// What is read, and where the element of a loop is in the object.
struct FieldReads<'f> {
    fields: &'f mut FieldSet,
    /// The message of the rule, which is made where something is violated, with what is known there.
    message: &'f VariableTemplate,
    /// The paths of the elements; nothing outside of loops.
    elements: Option<Vec<ReadPath>>,
}

/// Where a path of an expression leads.
enum PathTarget<'p> {
    /// To these keys of the object, or of the one before the change.
    Object(&'p [Text]),
    /// To these keys of the element of a loop.
    Element(&'p [Text]),
    /// Away from both.
    Elsewhere,
    /// To more than one of these, or it is not known.
    Everything,
}

impl PathTarget<'_> {
    fn of(path: &[Text]) -> PathTarget<'_> {
        let (root, rest) = path.split_first().map_or(("", path), |(root, rest)| (root.as_str(), rest));
        match (root, rest.first().map(Text::as_str)) {
            ("request", Some("object" | "oldObject")) => {
                PathTarget::Object(rest.get(1..).unwrap_or_default())
            }
            ("request", Some(_))
            | ("elementIndex" | "elementIndex0" | "serviceAccountName" | "serviceAccountNamespace", _) => {
                PathTarget::Elsewhere
            }
            ("element" | "element0", _) => PathTarget::Element(rest),
            _ => PathTarget::Everything,
        }
    }
}

impl ValidateRule {
    /// Adds the fields that the rule reads to `fields`.
    pub(super) fn add_fields(&self, fields: &mut FieldSet) {
        if !self.gate.is_empty() {
            *fields = FieldSet::All;
            return;
        }
        self.matcher.add_fields(fields);
        let mut reads = FieldReads { fields, message: self.message.template(), elements: None };
        for exception in &self.exceptions {
            exception.matcher.add_fields(reads.fields);
            reads.conditions(exception.conditions.as_ref().map(|conditions| &conditions.value));
        }
        self.properties.iter().for_each(|(_, template)| reads.template(template));
        reads.body(&self.body);
    }
}

impl FieldReads<'_> {
    fn everything(&mut self) {
        *self.fields = FieldSet::All;
    }

    fn body(&mut self, body: &RuleBody) {
        if !body.entries.is_empty() {
            return self.everything();
        }
        self.template(self.message);
        self.conditions(body.preconditions.as_ref().map(|conditions| &conditions.value));
        self.check(&body.check);
    }

    fn check(&mut self, check: &ValidateCheck) {
        match check {
            ValidateCheck::Pattern(pattern) => self.pattern(pattern),
            ValidateCheck::AnyPattern(patterns) => {
                patterns.patterns.iter().for_each(|pattern| self.pattern(pattern));
            }
            ValidateCheck::Deny(conditions) => {
                self.conditions(conditions.as_ref().map(|conditions| &conditions.value));
            }
            ValidateCheck::Foreach(loops) => loops.iter().for_each(|one| self.in_loop(one)),
            ValidateCheck::Both(both) => both.iter().for_each(|check| self.check(check)),
            ValidateCheck::Cel(_)
            | ValidateCheck::PodSecurity(_)
            | ValidateCheck::Manifests(_)
            | ValidateCheck::Mutate(_)
            | ValidateCheck::Images(_)
            | ValidateCheck::Impossible(_) => self.everything(),
        }
    }

    fn in_loop(&mut self, one: &ForeachLoop) {
        if self.elements.is_some() {
            // The elements of the outer loop have names of their own.
            return self.everything();
        }
        self.variables(one.list.inner_variables());
        match self.elements_of(&one.list) {
            None => self.everything(),
            elements => FieldReads { fields: self.fields, message: self.message, elements }.body(&one.body),
        }
    }

    /// Adds what finding the elements of `list` reads, and returns where they are in the object; nothing if that is not known.
    fn elements_of(&mut self, list: &VariableQuery) -> Option<Vec<ReadPath>> {
        let reads = list.fixed_query()?.usual.whole.reads();
        self.paths(&reads.looked_at);
        let mut elements = Vec::new();
        for path in &reads.found {
            match PathTarget::of(path) {
                PathTarget::Object(keys) => {
                    // They are there, even if nothing is read of them.
                    self.fields.change_at(keys, &mut |_| {});
                    elements.push(keys.to_vec());
                }
                PathTarget::Elsewhere => {}
                PathTarget::Element(_) | PathTarget::Everything => return None,
            }
        }
        Some(elements)
    }

    fn conditions(&mut self, conditions: Option<&ConditionSet>) {
        conditions.into_iter().flat_map(ConditionSet::templates).for_each(|template| self.template(template));
    }

    fn template(&mut self, template: &VariableTemplate) {
        self.variables(template.variables());
    }

    fn variables<'v>(&mut self, variables: impl IntoIterator<Item = &'v TemplateVariable>) {
        for variable in variables {
            if variable.is_broken() {
                continue;
            }
            match variable.fixed_query() {
                None => self.everything(),
                Some(query) => {
                    let reads = query.usual.whole.reads();
                    self.paths(&reads.looked_at);
                    self.paths(&reads.found);
                }
            }
        }
    }

    fn paths(&mut self, paths: &[ReadPath]) {
        for path in paths {
            match PathTarget::of(path) {
                PathTarget::Object(keys) => self.fields.add(keys),
                PathTarget::Element(keys) => {
                    for element in self.elements.iter().flatten() {
                        self.fields.change_at(element, &mut |fields| fields.add(keys));
                    }
                }
                PathTarget::Elsewhere => {}
                PathTarget::Everything => *self.fields = FieldSet::All,
            }
        }
    }

    fn pattern(&mut self, pattern: &OnePattern) {
        let PatternSource::Constant(pattern) = &pattern.source else { return self.everything() };
        // In a loop it is compared with the element, or with the object where the element is none.
        pattern.node.add_fields(self.fields);
        for element in self.elements.iter().flatten() {
            self.fields.change_at(element, &mut |fields| pattern.node.add_fields(fields));
        }
    }
}
