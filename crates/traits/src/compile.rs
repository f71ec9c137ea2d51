//! Traits and component types made ready to run: every expression compiled, every path parsed.
//!
//! What is wrong is told before anything is rendered: an expression that cannot be read, that gives something
//! else than is wanted or reads a parameter that nobody declares, a path that no operation can use. What is
//! wrong stays in the program, and fails where it would run.

mod check;
pub(crate) mod program;
mod scope;
#[cfg(test)]
mod tests;

use kubewright_engine::Diagnostic;
use kubewright_interpolate::{TextSegment, TextTemplate, ValueTemplate as Structure, split_segments};
use kubewright_patch::path::{PatchPathTemplate, PathPiece};
use kubewright_value::{Document, Text, Value};

use super::source::{self, Operation};
pub(crate) use check::moved;
use check::{Checker, Wanted};
use kubewright_dialect_kit::fields::Located;
use program::{
    Assertion, ComponentType, Each, Given, Operate, Patch, PathProgram, Removal, Rule, Target, Template,
    Trait,
};
pub(crate) use scope::CONTEXT;
use scope::Scope;

/// Compiles a trait that was read from `document`; `more` are variables besides the usual ones.
pub(crate) fn compile_trait(
    found: &source::Trait,
    document: &Document,
    more: &[Text],
) -> (Trait, Vec<Diagnostic>) {
    let mut compiler = Compiler { checker: Checker::new(document), parts: 0 };
    let scope = Scope::new(&found.sections, true, more);
    let before = compiler.rules(&scope, &found.before);
    let after = compiler.assertions(&scope, &found.after);
    let creates = compiler.templates(&scope, &found.creates);
    let patches = found.patches.iter().map(|patch| compiler.patch(&scope, patch)).collect();
    let removes = found.removes.iter().map(|removal| compiler.removal(&scope, removal)).collect();
    (Trait { before, after, creates, patches, removes }, compiler.checker.diagnostics)
}

/// Compiles a component type that was read from `document`; `more` are variables besides the usual ones.
pub(crate) fn compile_type(
    found: &source::ComponentType,
    document: &Document,
    more: &[Text],
) -> (ComponentType, Vec<Diagnostic>) {
    let mut compiler = Compiler { checker: Checker::new(document), parts: 0 };
    let scope = Scope::new(&found.sections, false, more);
    let before = compiler.rules(&scope, &found.before);
    let after = compiler.assertions(&scope, &found.after);
    let resources = compiler.templates(&scope, &found.resources);
    let mut given = |value: &Option<Located<Value>>| {
        value.as_ref().map(|value| compiler.checker.structure(&scope, value))
    };
    let traits = found.traits.iter().map(|used| Given {
        parameters: given(&used.parameters),
        environment_configs: given(&used.environment_configs),
    });
    let traits = traits.collect();
    (ComponentType { before, after, resources, traits }, compiler.checker.diagnostics)
}

struct Compiler<'d> {
    checker: Checker<'d>,
    /// How many parts that write something there are so far.
    parts: u32,
}

impl Compiler<'_> {
    fn rules(&mut self, scope: &Scope<'_>, rules: &[source::Rule]) -> Vec<Rule> {
        let rule = |rule: &source::Rule| Rule {
            condition: self.checker.text(scope, &rule.rule, Wanted::Truth),
            written: rule.rule.value.clone(),
            message: rule.message.clone(),
        };
        rules.iter().map(rule).collect()
    }

    fn assertions(&mut self, scope: &Scope<'_>, assertions: &[source::Assertion]) -> Vec<Assertion> {
        let assertion = |assertion: &source::Assertion| {
            let when = assertion.when.as_ref().map(|when| self.checker.text(scope, when, Wanted::Truth));
            let (each, inside) = self.each(scope, assertion.each.as_ref());
            let target = self.target(&inside, &assertion.target, assertion.plane);
            let condition = self.checker.text(&inside.with_resource(), &assertion.rule, Wanted::Truth);
            let (must_match, message) = (assertion.must_match, assertion.message.clone());
            let written = assertion.rule.value.clone();
            Assertion { when, each, target, must_match, rule: Rule { condition, written, message } }
        };
        assertions.iter().map(assertion).collect()
    }

    fn templates(&mut self, scope: &Scope<'_>, templates: &[source::Template]) -> Vec<Template> {
        let template = |template: &source::Template| {
            let include_when =
                template.include_when.as_ref().map(|when| self.checker.text(scope, when, Wanted::Truth));
            let (each, inside) = self.each(scope, template.each.as_ref());
            let content = self.checker.structure(&inside, &template.template);
            let (path, id, plane, part) =
                (template.path.clone(), template.id.clone(), template.plane, self.part());
            Template { path, id, plane, include_when, each, content, part }
        };
        templates.iter().map(template).collect()
    }

    fn patch(&mut self, scope: &Scope<'_>, patch: &source::Patch) -> Patch {
        let (each, inside) = self.each(scope, patch.each.as_ref());
        let target = self.target(&inside, &patch.target, patch.plane);
        let operation = |operation| self.operation(&inside, operation);
        let operations = patch.operations.iter().map(operation).collect();
        Patch { path: patch.path.clone(), target, each, operations }
    }

    fn operation(&mut self, scope: &Scope<'_>, operation: &Operation) -> Operate {
        let path = self.path(scope, operation);
        let value = operation.value.as_ref().map(|value| self.checker.structure(scope, value));
        let written = operation.path.value.clone();
        let path = Located { value: path, path: operation.path.path.clone() };
        Operate { op: operation.op, path, written, value, part: self.part() }
    }

    /// Parses a path around its expressions; one that is an expression as a whole is not known yet.
    fn path(&mut self, scope: &Scope<'_>, operation: &Operation) -> PathProgram {
        let template = self.checker.text(scope, &operation.path, Wanted::Text).value;
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

    fn removal(&mut self, scope: &Scope<'_>, removal: &source::Removal) -> Removal {
        let (each, inside) = self.each(scope, removal.each.as_ref());
        let target = self.target(&inside, &removal.target, removal.plane);
        Removal { path: removal.path.clone(), target, each }
    }

    fn target(&mut self, scope: &Scope<'_>, target: &source::Target, plane: source::Plane) -> Target {
        let name = target.name.as_ref().map(|name| self.checker.text(scope, name, Wanted::Text));
        let condition = target
            .condition
            .as_ref()
            .map(|condition| self.checker.text(&scope.with_resource(), condition, Wanted::Truth));
        Target {
            path: target.path.clone(),
            plane,
            kind: target.kind.clone(),
            group: target.group.clone(),
            version: target.version.clone(),
            name,
            condition,
        }
    }

    /// Compiles what is looped over, and returns the scope inside of the loop.
    fn each<'s>(&mut self, scope: &Scope<'s>, each: Option<&source::Loop>) -> (Option<Each>, Scope<'s>) {
        let Some(each) = each else { return (None, scope.clone()) };
        let over = self.checker.text(scope, &each.over, Wanted::Items);
        let program = over.value.programs().next().map(|(program, _)| program);
        let inside = scope.with_item(&each.variable, program);
        (Some(Each { over, variable: each.variable.clone() }), inside)
    }

    /// Numbers what writes something, so that it can be said who wrote a field.
    fn part(&mut self) -> u32 {
        self.parts += 1;
        self.parts - 1
    }
}

/// A text or structure with its expressions, and where it stands.
pub(crate) type Expression = Located<TextTemplate>;
pub(crate) type Content = Located<Structure>;
