//! The expressions of a document, with their places.

use kubewright_cel::CelProgram;
use kubewright_value::{Position, Step};

use crate::compile::program::{
    CompiledTarget, ComponentTypeProgram, LoopProgram, PathProgram, PostRenderCheck, PreRenderCheck,
    TemplateProgram, TraitProgram,
};
use crate::compile::{PlacedExpression, PlacedStructure};

/// An expression with its place.
pub(super) struct LintedExpression<'p> {
    pub(super) program: &'p CelProgram,
    /// The place of its text.
    pub(super) path: Vec<Step>,
    /// The start in the text.
    pub(super) start: Position,
}

/// Returns the expressions of a trait.
pub(super) fn trait_expressions(program: &TraitProgram) -> Vec<LintedExpression<'_>> {
    let mut found = ExpressionList::default();
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
pub(super) fn component_type_expressions(program: &ComponentTypeProgram) -> Vec<LintedExpression<'_>> {
    let mut found = ExpressionList::default();
    found.rules(&program.before);
    found.assertions(&program.after);
    found.templates(&program.resources);
    for given in &program.traits {
        given.parameters.iter().chain(&given.environment_configs).for_each(|content| found.content(content));
    }
    found.0
}

#[derive(Default)]
struct ExpressionList<'p>(Vec<LintedExpression<'p>>);

impl<'p> ExpressionList<'p> {
    fn rules(&mut self, rules: &'p [PreRenderCheck]) {
        rules.iter().for_each(|rule| self.text(&rule.condition));
    }

    fn assertions(&mut self, assertions: &'p [PostRenderCheck]) {
        for assertion in assertions {
            assertion.when.iter().for_each(|when| self.text(when));
            self.each(assertion.each.as_ref());
            self.target(&assertion.target);
            self.text(&assertion.rule.condition);
        }
    }

    fn templates(&mut self, templates: &'p [TemplateProgram]) {
        for template in templates {
            template.include_when.iter().for_each(|when| self.text(when));
            self.each(template.each.as_ref());
            self.content(&template.content);
        }
    }

    fn each(&mut self, each: Option<&'p LoopProgram>) {
        each.iter().for_each(|each| self.text(&each.over));
    }

    fn target(&mut self, target: &'p CompiledTarget) {
        target.name.iter().chain(&target.condition).for_each(|part| self.text(part));
    }

    fn text(&mut self, expression: &'p PlacedExpression) {
        self.add(expression.value.programs(), &expression.path);
    }

    fn content(&mut self, content: &'p PlacedStructure) {
        content.value.visit(|inside, _, program, start| {
            let path = content.path.iter().chain(inside).cloned().collect();
            self.0.push(LintedExpression { program, path, start });
        });
    }

    fn add(&mut self, programs: impl Iterator<Item = (&'p CelProgram, Position)>, path: &[Step]) {
        self.0.extend(programs.map(|(program, start)| LintedExpression {
            program,
            path: path.to_vec(),
            start,
        }));
    }
}
