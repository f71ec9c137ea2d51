//! Every expression of a document, and where it stands.

use kubewright_cel::CelProgram;
use kubewright_value::{Position, Step};

use crate::compile::program::{Assertion, ComponentType, Each, PathProgram, Rule, Target, Template, Trait};
use crate::compile::{Content, Expression};

/// An expression.
pub(super) struct Placed<'p> {
    pub(super) program: &'p CelProgram,
    /// The text that it is in.
    pub(super) path: Vec<Step>,
    /// Where it starts in the text.
    pub(super) start: Position,
}

/// Returns the expressions of a trait.
pub(super) fn of_trait(program: &Trait) -> Vec<Placed<'_>> {
    let mut found = Programs::default();
    found.rules(&program.before);
    found.assertions(&program.after);
    found.templates(&program.creates);
    for patch in &program.patches {
        found.each(patch.each.as_ref());
        found.target(&patch.target);
        for operate in &patch.operations {
            if let PathProgram::Pieces(template, ..) | PathProgram::Whole(template) = &operate.path.value {
                found.add(template.programs(), &operate.path.path);
            }
            operate.value.iter().for_each(|content| found.content(content));
        }
    }
    for removal in &program.removes {
        found.each(removal.each.as_ref());
        found.target(&removal.target);
    }
    found.0
}

/// Returns the expressions of a component type.
pub(super) fn of_type(program: &ComponentType) -> Vec<Placed<'_>> {
    let mut found = Programs::default();
    found.rules(&program.before);
    found.assertions(&program.after);
    found.templates(&program.resources);
    for given in &program.traits {
        given.parameters.iter().chain(&given.environment_configs).for_each(|content| found.content(content));
    }
    found.0
}

#[derive(Default)]
struct Programs<'p>(Vec<Placed<'p>>);

impl<'p> Programs<'p> {
    fn rules(&mut self, rules: &'p [Rule]) {
        rules.iter().for_each(|rule| self.text(&rule.condition));
    }

    fn assertions(&mut self, assertions: &'p [Assertion]) {
        for assertion in assertions {
            assertion.when.iter().for_each(|when| self.text(when));
            self.each(assertion.each.as_ref());
            self.target(&assertion.target);
            self.text(&assertion.rule.condition);
        }
    }

    fn templates(&mut self, templates: &'p [Template]) {
        for template in templates {
            template.include_when.iter().for_each(|when| self.text(when));
            self.each(template.each.as_ref());
            self.content(&template.content);
        }
    }

    fn each(&mut self, each: Option<&'p Each>) {
        each.iter().for_each(|each| self.text(&each.over));
    }

    fn target(&mut self, target: &'p Target) {
        target.name.iter().chain(&target.condition).for_each(|part| self.text(part));
    }

    fn text(&mut self, expression: &'p Expression) {
        self.add(expression.value.programs(), &expression.path);
    }

    fn content(&mut self, content: &'p Content) {
        content.value.visit(|inside, _, program, start| {
            let path = content.path.iter().chain(inside).cloned().collect();
            self.0.push(Placed { program, path, start });
        });
    }

    fn add(&mut self, programs: impl Iterator<Item = (&'p CelProgram, Position)>, path: &[Step]) {
        self.0.extend(programs.map(|(program, start)| Placed { program, path: path.to_vec(), start }));
    }
}
