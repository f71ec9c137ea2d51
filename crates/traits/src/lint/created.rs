//! The checks for templates that create a manifest twice, and for templates that create none.

use kubewright_value::{Step, Text, Value};

use super::Linter;
use crate::admission;
use crate::compile::program::{CompiledTarget, PatchProgram, TemplateProgram};
use crate::diagnostics as code;
use kubewright_dialect_kit::fields::child_path;

/// The maximum number of templates compared with each other.
const MAX_COMPARED_TEMPLATES: usize = 200;
/// The fields that identify a manifest.
const IDENTITY: [&[&str]; 4] =
    [&["apiVersion"], &["kind"], &["metadata", "namespace"], &["metadata", "name"]];

impl Linter<'_> {
    /// Reports templates without `apiVersion`, `kind` or name, unless a patch may still write them.
    pub(super) fn incomplete(&mut self, templates: &[TemplateProgram], patches: &[PatchProgram]) {
        let written: Vec<&str> = patches
            .iter()
            .flat_map(|patch| &patch.operations)
            .map(|operate| operate.written.trim().trim_start_matches('/'))
            .collect();
        for (item, template) in templates.iter().enumerate() {
            let Some(content @ Value::Object(_)) = self.written(&template.content.path) else { continue };
            for problem in admission::template_problems(item, content) {
                let field = problem.inside.join("/");
                // A value of the wrong type has its own diagnostic.
                let is_there = content.at(&problem.inside).is_some_and(|value| value.as_str().is_none());
                let is_patched = written.iter().any(|path| path.starts_with(&field));
                if *problem.code != code::BAD_TEMPLATE || is_there || is_patched {
                    continue;
                }
                let location = self.document.locate_key(&template.content.path);
                let help = "every manifest needs `apiVersion`, `kind` and `metadata.name`";
                self.report(problem.code, location, problem.message, help);
            }
        }
    }

    pub(super) fn created_twice(&mut self, templates: &[TemplateProgram]) {
        for (number, template) in templates.iter().enumerate().take(MAX_COMPARED_TEMPLATES) {
            self.created_by_every_item(template);
            let earlier = templates.iter().take(number).find(|earlier| self.is_same(earlier, template));
            if let (Some(earlier), Some([_, kind, _, name])) = (earlier, self.identity(template)) {
                let at = self.document.locate(&template_name_path(earlier)).position;
                let message = format!("{kind} `{name}` is already created in line {}", at.line);
                let location = self.document.locate(&template_name_path(template));
                self.report(&code::CREATED_TWICE, location, message, "give one of the two another name");
            }
        }
    }

    fn created_by_every_item(&mut self, template: &TemplateProgram) {
        let (Some(each), Some([_, kind, _, name])) = (&template.each, self.identity(template)) else {
            return;
        };
        let is_listed = self.text(&each.over.path).is_some_and(|text| text.trim().starts_with("${["));
        if is_listed || varies(template) {
            return;
        }
        let message = format!("every item of `forEach` creates the same {kind} `{name}`");
        let help = format!("use `${{{}}}` in its name", each.variable);
        let location = self.document.locate(&template_name_path(template));
        self.report(&code::CREATED_TWICE, location, message, help);
    }

    /// Returns whether both create the same manifest whenever the second one creates any.
    fn is_same(&self, one: &TemplateProgram, other: &TemplateProgram) -> bool {
        let identity = self.identity(other);
        if identity.is_none() || self.identity(one) != identity || one.plane != other.plane {
            return false;
        }
        let written = |path: Option<&Vec<Step>>| path.and_then(|path| self.text(path));
        let condition = |template: &TemplateProgram| {
            written(template.include_when.as_ref().map(|condition| &condition.path))
        };
        let is_together = match (condition(one), condition(other)) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        let loops = [one, other].map(|template| {
            let each = template.each.as_ref().filter(|_| varies(template));
            each.map(|each| (self.text(&each.over.path), &each.variable))
        });
        let [one, other] = loops;
        is_together && one == other
    }

    /// Returns whether `target` can match only what `template` creates.
    pub(super) fn is_made_by(&self, target: &CompiledTarget, template: &TemplateProgram) -> bool {
        let (Some(kind), Some(group), Some(version), Some(name)) =
            (&target.kind, &target.group, &target.version, &target.name)
        else {
            return false;
        };
        let version = match group.as_str() {
            "" => version.to_string(),
            group => format!("{group}/{version}"),
        };
        let wanted = [version.as_str(), kind.as_str(), self.text(&name.path).map_or("", Text::as_str)];
        self.identity(template).is_some_and(|[version, kind, _, name]| [version, kind, name] == wanted)
    }

    /// Returns version, kind, namespace and name as written; `None` without a name.
    fn identity(&self, template: &TemplateProgram) -> Option<[&str; 4]> {
        let object = self.written(&template.content.path)?;
        let [version, kind, namespace, name] = IDENTITY.map(|keys| object.str_at(keys));
        (!kind.is_empty() && !name.is_empty()).then_some([version, kind, namespace, name])
    }
}

/// Returns whether its identity depends on the item of its loop.
fn varies(template: &TemplateProgram) -> bool {
    let Some(each) = &template.each else { return false };
    let mut varies = false;
    template.content.value.visit(|path, _, program, _| {
        let is_identity = IDENTITY.iter().any(|keys| {
            keys.len() == path.len() && keys.iter().zip(path).all(|(key, step)| *step == Step::from(*key))
        });
        varies |= is_identity && program.variable_names().any(|name| name == each.variable.as_str());
    });
    varies
}

fn template_name_path(template: &TemplateProgram) -> Vec<Step> {
    child_path(&child_path(&template.content.path, "metadata"), "name")
}
