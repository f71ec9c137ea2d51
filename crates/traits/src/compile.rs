//! The compiler of traits and component types: it compiles every expression and parses every path.
//!
//! Mistakes are reported before anything is rendered: an expression that does not parse, has the wrong type or
//! reads an undeclared parameter, or a path that no operation can use. The wrong part stays in the program and
//! fails when it is evaluated.

mod check;
pub(crate) mod program;
mod scope;
#[cfg(test)]
mod tests;

use kubewright_engine::Diagnostic;
use kubewright_interpolate::{TextSegment, TextTemplate, ValueTemplate as Structure, split_segments};
use kubewright_patch::path::{PatchPathTemplate, PathPiece};
use kubewright_value::{Document, Text, Value};

use super::source::{self, OperationDefinition};
pub(crate) use check::position_in_text;
use check::{ExpectedType, ExpressionChecker};
use kubewright_dialect_kit::fields::Located;
use program::{
    CompiledTarget, ComponentTypeProgram, LoopProgram, OperationProgram, PatchProgram, PathProgram,
    PostRenderCheck, PreRenderCheck, RemovalProgram, TemplateProgram, TraitBinding, TraitProgram,
};
pub(crate) use scope::CONTEXT;
use scope::TypeScope;

/// Compiles a trait that was read from `document`; `more` are additional variables.
pub(crate) fn compile_trait(
    found: &source::TraitDefinition,
    document: &Document,
    more: &[Text],
) -> (TraitProgram, Vec<Diagnostic>) {
    let mut compiler = TraitCompiler { checker: ExpressionChecker::new(document), parts: 0 };
    let scope = TypeScope::new(&found.sections, true, more);
    let before = compiler.rules(&scope, &found.before);
    let after = compiler.assertions(&scope, &found.after);
    let creates = compiler.templates(&scope, &found.creates);
    let patches = found.patches.iter().map(|patch| compiler.patch(&scope, patch)).collect();
    let removes = found.removes.iter().map(|removal| compiler.removal(&scope, removal)).collect();
    (TraitProgram { before, after, creates, patches, removes }, compiler.checker.diagnostics)
}

/// Compiles a component type that was read from `document`; `more` are additional variables.
pub(crate) fn compile_type(
    found: &source::ComponentTypeDefinition,
    document: &Document,
    more: &[Text],
) -> (ComponentTypeProgram, Vec<Diagnostic>) {
    let mut compiler = TraitCompiler { checker: ExpressionChecker::new(document), parts: 0 };
    let scope = TypeScope::new(&found.sections, false, more);
    let before = compiler.rules(&scope, &found.before);
    let after = compiler.assertions(&scope, &found.after);
    let resources = compiler.templates(&scope, &found.resources);
    let mut given = |value: &Option<Located<Value>>| {
        value.as_ref().map(|value| compiler.checker.structure(&scope, value))
    };
    let traits = found.traits.iter().map(|used| TraitBinding {
        parameters: given(&used.parameters),
        environment_configs: given(&used.environment_configs),
    });
    let traits = traits.collect();
    (ComponentTypeProgram { before, after, resources, traits }, compiler.checker.diagnostics)
}

struct TraitCompiler<'d> {
    checker: ExpressionChecker<'d>,
    /// The number of writing parts so far.
    parts: u32,
}

impl TraitCompiler<'_> {
    fn rules(&mut self, scope: &TypeScope<'_>, rules: &[source::PreRenderValidation]) -> Vec<PreRenderCheck> {
        let rule = |rule: &source::PreRenderValidation| PreRenderCheck {
            condition: self.checker.text(scope, &rule.rule, ExpectedType::Truth),
            written: rule.rule.value.clone(),
            message: rule.message.clone(),
        };
        rules.iter().map(rule).collect()
    }

    fn assertions(
        &mut self,
        scope: &TypeScope<'_>,
        assertions: &[source::PostRenderValidation],
    ) -> Vec<PostRenderCheck> {
        let assertion = |assertion: &source::PostRenderValidation| {
            let when =
                assertion.when.as_ref().map(|when| self.checker.text(scope, when, ExpectedType::Truth));
            let (each, inside) = self.each(scope, assertion.each.as_ref());
            let target = self.target(&inside, &assertion.target, assertion.plane);
            let condition = self.checker.text(&inside.with_resource(), &assertion.rule, ExpectedType::Truth);
            let (must_match, message) = (assertion.must_match, assertion.message.clone());
            let written = assertion.rule.value.clone();
            PostRenderCheck {
                when,
                each,
                target,
                must_match,
                rule: PreRenderCheck { condition, written, message },
            }
        };
        assertions.iter().map(assertion).collect()
    }

    fn templates(
        &mut self,
        scope: &TypeScope<'_>,
        templates: &[source::TemplateDefinition],
    ) -> Vec<TemplateProgram> {
        let template = |template: &source::TemplateDefinition| {
            let include_when = template
                .include_when
                .as_ref()
                .map(|when| self.checker.text(scope, when, ExpectedType::Truth));
            let (each, inside) = self.each(scope, template.each.as_ref());
            let content = self.checker.structure(&inside, &template.template);
            let (path, id, plane, part) =
                (template.path.clone(), template.id.clone(), template.plane, self.part());
            TemplateProgram { path, id, plane, include_when, each, content, part }
        };
        templates.iter().map(template).collect()
    }

    fn patch(&mut self, scope: &TypeScope<'_>, patch: &source::PatchDefinition) -> PatchProgram {
        let (each, inside) = self.each(scope, patch.each.as_ref());
        let target = self.target(&inside, &patch.target, patch.plane);
        let operation = |operation| self.operation(&inside, operation);
        let operations = patch.operations.iter().map(operation).collect();
        PatchProgram { path: patch.path.clone(), target, each, operations }
    }

    fn operation(&mut self, scope: &TypeScope<'_>, operation: &OperationDefinition) -> OperationProgram {
        let path = self.path(scope, operation);
        let value = operation.value.as_ref().map(|value| self.checker.structure(scope, value));
        let written = operation.path.value.clone();
        let path = Located { value: path, path: operation.path.path.clone() };
        OperationProgram { op: operation.op, path, written, value, part: self.part() }
    }

    /// Parses a path around its expressions; a path that is one expression is parsed when it is evaluated.
    fn path(&mut self, scope: &TypeScope<'_>, operation: &OperationDefinition) -> PathProgram {
        let template = self.checker.text(scope, &operation.path, ExpectedType::Text).value;
        if template.is_whole() {
            return PathProgram::Whole(template);
        }
        let Ok(parts) = split_segments(&operation.path.value) else {
            return PathProgram::Pieces(template, None, None);
        };
        let pieces = parts.iter().map(|part| match *part {
            TextSegment::Literal(text) => PathPiece::Literal(text),
            TextSegment::Expression(text) => PathPiece::Expression(text),
        });
        let pieces: Vec<PathPiece<'_>> = pieces.collect();
        let path = self.checker.path(operation, &pieces);
        match (template.plain(), path) {
            (Some(_), Ok(path)) => PathProgram::Fixed(path),
            (Some(_), Err(error)) => PathProgram::Broken(error),
            (None, path) => {
                PathProgram::Pieces(template, path.ok(), PatchPathTemplate::new(&pieces).map(Box::new))
            }
        }
    }

    fn removal(&mut self, scope: &TypeScope<'_>, removal: &source::RemovalDefinition) -> RemovalProgram {
        let (each, inside) = self.each(scope, removal.each.as_ref());
        let target = self.target(&inside, &removal.target, removal.plane);
        RemovalProgram { path: removal.path.clone(), target, each }
    }

    fn target(
        &mut self,
        scope: &TypeScope<'_>,
        target: &source::TargetDefinition,
        plane: source::Plane,
    ) -> CompiledTarget {
        let name = target.name.as_ref().map(|name| self.checker.text(scope, name, ExpectedType::Text));
        let condition = target
            .condition
            .as_ref()
            .map(|condition| self.checker.text(&scope.with_resource(), condition, ExpectedType::Truth));
        CompiledTarget {
            path: target.path.clone(),
            plane,
            kind: target.kind.clone(),
            group: target.group.clone(),
            version: target.version.clone(),
            name,
            condition,
        }
    }

    /// Compiles a loop, and returns the scope inside it.
    fn each<'s>(
        &mut self,
        scope: &TypeScope<'s>,
        each: Option<&source::LoopDefinition>,
    ) -> (Option<LoopProgram>, TypeScope<'s>) {
        let Some(each) = each else { return (None, scope.clone()) };
        let over = self.checker.text(scope, &each.over, ExpectedType::Items);
        let program = over.value.programs().next().map(|(program, _)| program);
        let inside = scope.with_item(&each.variable, program);
        (Some(LoopProgram { over, variable: each.variable.clone() }), inside)
    }

    /// Returns the next number for a writing part, by which a field is traced back to its writer.
    fn part(&mut self) -> u32 {
        self.parts += 1;
        self.parts - 1
    }
}

/// A compiled text, with its place in the document.
pub(crate) type PlacedExpression = Located<TextTemplate>;
pub(crate) type PlacedStructure = Located<Structure>;
