//! The expressions of a trait or component type, checked before anything is rendered: they can be read, they give
//! what is wanted, and they read no parameter that is not declared. Paths are checked around them.

mod scope;
#[cfg(test)]
mod tests;

use kubewright_engine::Diagnostic;
use kubewright_lang::cel::{Kind, Program};
use kubewright_lang::interpolate::{Problem, Template as Structure, TextTemplate, Written, written};
use kubewright_lang::pathpatch::{Path, Piece};
use kubewright_value::{Document, Position, Step, Text, Value};

use super::diagnostics as code;
use super::source::{Assertion, Loop, Operation, Patch, Resource, Rule, Target, Template};
use crate::fields::{Placed, within};
use scope::Scope;

/// Returns what is wrong with the expressions of `resource`, which was read from `document`.
pub(super) fn check(resource: &Resource, document: &Document) -> Vec<Diagnostic> {
    let mut checker = Checker { document, diagnostics: Vec::new() };
    match resource {
        Resource::Trait(found) => {
            let scope = Scope::new(&found.sections, true);
            checker.rules(&scope, &found.before, &found.after);
            checker.templates(&scope, &found.creates);
            found.patches.iter().for_each(|patch| checker.patch(&scope, patch));
            for removal in &found.removes {
                let inside = checker.each(&scope, removal.each.as_ref());
                checker.target(&inside, &removal.target);
            }
        }
        Resource::ComponentType(found) => {
            let scope = Scope::new(&found.sections, false);
            checker.rules(&scope, &found.before, &found.after);
            checker.templates(&scope, &found.resources);
            let given =
                |used: &super::source::TraitUse| [used.parameters.clone(), used.environment_configs.clone()];
            for value in found.traits.iter().flat_map(given).flatten() {
                checker.structure(&scope, &value);
            }
        }
        _ => {}
    }
    checker.diagnostics
}

/// What an expression should give.
#[derive(Clone, Copy)]
enum Wanted {
    Truth,
    Items,
    Text,
}

struct Checker<'d> {
    document: &'d Document,
    diagnostics: Vec<Diagnostic>,
}

impl Checker<'_> {
    fn rules(&mut self, scope: &Scope<'_>, before: &[Rule], after: &[Assertion]) {
        for rule in before {
            self.text(scope, &rule.rule, Wanted::Truth);
        }
        for assertion in after {
            if let Some(when) = &assertion.when {
                self.text(scope, when, Wanted::Truth);
            }
            let inside = self.each(scope, assertion.each.as_ref());
            self.target(&inside, &assertion.target);
            self.text(&inside.with_resource(), &assertion.rule, Wanted::Truth);
        }
    }

    fn templates(&mut self, scope: &Scope<'_>, templates: &[Template]) {
        for template in templates {
            if let Some(condition) = &template.include_when {
                self.text(scope, condition, Wanted::Truth);
            }
            let inside = self.each(scope, template.each.as_ref());
            self.structure(&inside, &template.template);
        }
    }

    fn patch(&mut self, scope: &Scope<'_>, patch: &Patch) {
        let inside = self.each(scope, patch.each.as_ref());
        self.target(&inside, &patch.target);
        for operation in &patch.operations {
            self.text(&inside, &operation.path, Wanted::Text);
            self.path(operation);
            if let Some(value) = &operation.value {
                self.structure(&inside, value);
            }
        }
    }

    /// Checks a path around its expressions; one that is an expression as a whole is not known yet.
    fn path(&mut self, operation: &Operation) {
        let Ok(parts) = written(&operation.path.value) else { return };
        if let [Written::Expression(_)] = parts.as_slice() {
            return;
        }
        let pieces = parts.iter().map(|part| match *part {
            Written::Literal(text) => Piece::Literal(text),
            Written::Expression(text) => Piece::Expression(text),
        });
        let pieces: Vec<Piece<'_>> = pieces.collect();
        let (message, help, (position, length)) = match Path::from_pieces(&pieces) {
            Err(error) => (error.message, error.help.unwrap_or_default(), (error.position, error.length)),
            Ok(path) => match path.check(operation.op) {
                Err(error) => (error.message, String::new(), path.position(error.segment)),
                Ok(()) => return,
            },
        };
        let location = within(self.document, &operation.path.path, position, length);
        self.diagnostics.push(Diagnostic::new(&code::BAD_PATH, message, location).help(help));
    }

    fn target(&mut self, scope: &Scope<'_>, target: &Target) {
        if let Some(name) = &target.name {
            self.text(scope, name, Wanted::Text);
        }
        if let Some(condition) = &target.condition {
            self.text(&scope.with_resource(), condition, Wanted::Truth);
        }
    }

    /// Checks what is looped over and returns the scope inside of the loop.
    fn each<'s>(&mut self, scope: &Scope<'s>, each: Option<&Loop>) -> Scope<'s> {
        let Some(each) = each else { return scope.clone() };
        let compiled = self.text(scope, &each.over, Wanted::Items);
        let program =
            compiled.as_ref().and_then(|compiled| compiled.programs().next()).map(|(program, _)| program);
        scope.with_item(&each.variable, program)
    }

    fn text(&mut self, scope: &Scope<'_>, found: &Placed<Text>, wanted: Wanted) -> Option<TextTemplate> {
        let (template, problems) = TextTemplate::compile(&found.value, scope.environment());
        for (program, start) in template.programs() {
            self.reads(scope, &found.path, program, start);
            if template.is_whole() {
                self.result(&found.path, program, start, wanted);
            }
        }
        let is_sound = problems.is_empty();
        problems.into_iter().for_each(|problem| self.problem(&found.path, &problem));
        is_sound.then_some(template)
    }

    fn structure(&mut self, scope: &Scope<'_>, found: &Placed<Value>) {
        let (template, problems) = Structure::compile(&found.value, scope.environment());
        template.visit(|inside, _, program, start| {
            let path: Vec<Step> = found.path.iter().chain(inside).cloned().collect();
            self.reads(scope, &path, program, start);
        });
        problems.iter().for_each(|problem| self.problem(&found.path, problem));
    }

    fn problem(&mut self, path: &[Step], problem: &Problem) {
        let path: Vec<Step> = path.iter().chain(&problem.path).cloned().collect();
        let location = match problem.is_key {
            true => self.document.locate_key(&path),
            false => within(self.document, &path, problem.position, problem.length),
        };
        self.diagnostics.push(Diagnostic::new(&code::BAD_EXPRESSION, problem.message.clone(), location));
    }

    fn result(&mut self, path: &[Step], program: &Program, start: Position, wanted: Wanted) {
        let kind = program.result_type().kind;
        let (fits, expected) = match wanted {
            Wanted::Truth => (kind == Kind::Bool, "a boolean"),
            Wanted::Items => (matches!(kind, Kind::List | Kind::Map), "a list or a map"),
            Wanted::Text => (kind == Kind::String, "text"),
        };
        if fits || kind == Kind::Any {
            return;
        }
        let message = format!("the expression gives {}, expected {expected}", program.result_type());
        let length = u32::try_from(program.source().chars().count()).unwrap_or(1);
        let location = within(self.document, path, start, length);
        self.diagnostics.push(Diagnostic::new(&code::WRONG_RESULT, message, location));
    }

    /// Reports parameters that the schema does not declare.
    fn reads(&mut self, scope: &Scope<'_>, path: &[Step], program: &Program, start: Position) {
        for unknown in scope.unknown_reads(program) {
            let position = moved(start, unknown.position);
            let length = u32::try_from(unknown.name.chars().count()).unwrap_or(1);
            let location = within(self.document, path, position, length);
            let message =
                format!("`{}` is not declared in the schema of `{}`", unknown.name, unknown.variable);
            let help = match unknown.nearest {
                Some(near) => format!("did you mean `{near}`?"),
                None => "declare it, with its type and a default".to_owned(),
            };
            let diagnostic = Diagnostic::new(&code::UNDECLARED_PARAMETER, message, location).help(help);
            let is_told = self.diagnostics.iter().any(|known| {
                known.message == diagnostic.message && known.location.position == diagnostic.location.position
            });
            if !is_told {
                self.diagnostics.push(diagnostic);
            }
        }
    }
}

/// Returns where `position` of an expression is in the text in which it starts at `start`.
fn moved(start: Position, position: Position) -> Position {
    match position.line {
        1 => Position { column: start.column + position.column - 1, ..start },
        line => Position { line: start.line + line - 1, column: position.column },
    }
}
