//! Lint checks for traits that can be rendered and are probably wrong: manifests that the cluster refuses, operations
//! without effect, unused parameters.
//!
//! Only what is certain from the trait alone is reported; what depends on parameters or manifests is checked by
//! rendering.

mod choices;
mod conditions;
mod created;
mod hidden;
mod idempotence;
mod lost;
mod parameters;
mod programs;
#[cfg(test)]
mod tests;
mod texts;
mod together;

pub(super) use together::lint_document_set;

use kubewright_engine::{Code, Diagnostic};
use kubewright_value::{Document, Location, Step, Text, Value};

use super::compile::program::{
    CompiledTarget, ComponentTypeProgram, LoopProgram, PatchProgram, PostRenderCheck, TemplateProgram,
    TraitProgram,
};
use super::schema::Sections;
use kubewright_value::CompactSort as _;

/// Returns warnings about a trait. If it has errors, unused parameters are not reported.
pub(super) fn lint_trait(
    program: &TraitProgram,
    sections: &Sections,
    document: &Document,
    has_mistakes: bool,
) -> Vec<Diagnostic> {
    let mut linter = Linter { document, diagnostics: Vec::new() };
    linter.rules(program.before.iter().map(|rule| &rule.condition));
    linter.assertions(&program.after);
    linter.templates(&program.creates);
    linter.incomplete(&program.creates, &program.patches);
    for patch in &program.patches {
        linter.patch(patch);
    }
    linter.lost(&program.patches);
    for removal in &program.removes {
        linter.target(&removal.target);
        linter.each(removal.each.as_ref(), true);
    }
    linter.expressions(&programs::trait_expressions(program), sections, has_mistakes);
    linter.finish()
}

/// Returns warnings about a component type.
pub(super) fn lint_component_type(
    program: &ComponentTypeProgram,
    sections: &Sections,
    document: &Document,
    has_mistakes: bool,
) -> Vec<Diagnostic> {
    let mut linter = Linter { document, diagnostics: Vec::new() };
    linter.rules(program.before.iter().map(|rule| &rule.condition));
    linter.assertions(&program.after);
    linter.templates(&program.resources);
    linter.expressions(&programs::component_type_expressions(program), sections, has_mistakes);
    linter.finish()
}

/// Reports operations that change the result again when the trait is applied to its own output.
pub(super) fn idempotence(program: &TraitProgram, document: &Document) -> Vec<Diagnostic> {
    let mut linter = Linter { document, diagnostics: Vec::new() };
    for patch in &program.patches {
        linter.report_growing_operation(patch, &program.creates);
    }
    linter.finish()
}

struct Linter<'d> {
    document: &'d Document,
    diagnostics: Vec<Diagnostic>,
}

impl<'d> Linter<'d> {
    fn assertions(&mut self, assertions: &[PostRenderCheck]) {
        for assertion in assertions {
            self.condition("when", assertion.when.as_ref());
            self.each(assertion.each.as_ref(), true);
            self.target(&assertion.target);
            self.condition("rule", Some(&assertion.rule.condition));
        }
    }

    fn templates(&mut self, templates: &[TemplateProgram]) {
        for template in templates {
            self.condition("includeWhen", template.include_when.as_ref());
            self.each(template.each.as_ref(), false);
            self.texts_of_template(template);
        }
        self.created_twice(templates);
    }

    fn patch(&mut self, patch: &PatchProgram) {
        self.each(patch.each.as_ref(), true);
        self.target(&patch.target);
        for operate in &patch.operations {
            self.texts_of_operation(&patch.target, operate);
            self.filters(operate);
        }
    }

    fn target(&mut self, target: &CompiledTarget) {
        self.condition("where", target.condition.as_ref());
    }

    /// Checks a loop; `sees_resource` is whether expressions beside it can read `resource`.
    fn each(&mut self, each: Option<&LoopProgram>, sees_resource: bool) {
        let Some(each) = each else { return };
        self.check_empty_loop(each);
        self.report_hidden_variable(each, sees_resource);
    }

    /// Returns the value at `path` of the document.
    fn written(&self, path: &[Step]) -> Option<&'d Value> {
        self.document.value.follow(path)
    }

    /// Returns the text at `path` of the document.
    fn text(&self, path: &[Step]) -> Option<&'d Text> {
        match self.written(path)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    fn report(
        &mut self,
        code: &'static Code,
        location: Location,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.diagnostics.push(Diagnostic::new(code, message, location).help(help));
    }

    /// Checks the reads and comparisons of all expressions.
    fn expressions(
        &mut self,
        programs: &[programs::LintedExpression<'_>],
        sections: &Sections,
        has_mistakes: bool,
    ) {
        self.choices(sections, programs);
        if !has_mistakes {
            self.unread(sections, &parameters::ParameterReads::of(programs));
        }
    }

    fn finish(self) -> Vec<Diagnostic> {
        let mut diagnostics = self.diagnostics;
        diagnostics.compact_sort_by_key(|diagnostic| diagnostic.location.position);
        diagnostics
    }
}
