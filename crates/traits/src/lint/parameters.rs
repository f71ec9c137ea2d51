//! The check for parameters that no expression reads.

use std::collections::BTreeSet;

use kubewright_cel::{ANY_STEP, CelProgram};
use kubewright_value::{Step, Text, Value};

use super::Linter;
use super::programs::LintedExpression;
use crate::diagnostics as code;
use crate::schema::{FieldLookup, ParameterField, Sections};
use kubewright_dialect_kit::fields::child_path;

/// The maximum depth of checked parameters.
const MAX_PARAMETER_DEPTH: usize = 16;
/// The maximum number of checked parameters.
const MAX_CHECKED_PARAMETERS: usize = 2_000;

/// The sections, by their variable names.
pub(super) const SECTIONS: [&str; 2] = ["parameters", "environmentConfigs"];

/// The parameters that the expressions of a document read.
#[derive(Default)]
pub(super) struct ParameterReads {
    /// A section, and the path in it.
    paths: BTreeSet<(Text, Vec<Text>)>,
    /// Sections that are read as a whole.
    wholes: BTreeSet<&'static str>,
}

impl ParameterReads {
    pub(super) fn of(programs: &[LintedExpression<'_>]) -> Self {
        let mut reads = Self::default();
        programs.iter().for_each(|placed| reads.program(placed.program));
        reads
    }

    fn program(&mut self, program: &CelProgram) {
        for section in
            SECTIONS.into_iter().filter(|section| program.variable_names().any(|name| name == *section))
        {
            let mut reads = program.reads().into_iter().filter(|read| read.variable == section).peekable();
            if reads.peek().is_none() || is_used_whole(program.source(), section) {
                self.wholes.insert(section);
            }
            self.paths.extend(reads.map(|read| (read.variable, read.path)));
        }
    }

    /// Returns whether the parameter at `path` of `section` is read: itself, a parent or a part of it.
    fn has(&self, section: &str, path: &[&str]) -> bool {
        self.wholes.contains(section)
            || self
                .paths
                .iter()
                .filter(|(known, _)| known == section)
                .any(|(_, read)| read.iter().zip(path).all(|(read, name)| read == name || read == ANY_STEP))
    }

    /// Returns whether the parameter at `path` is read as a whole, so that all its parts are.
    fn has_whole(&self, section: &str, path: &[&str]) -> bool {
        self.paths.iter().filter(|(known, _)| known == section).any(|(_, read)| {
            read.len() <= path.len()
                && read.iter().zip(path).all(|(read, name)| read == name || read == ANY_STEP)
        })
    }
}

impl Linter<'_> {
    /// Reports parameters that are declared and not read.
    pub(super) fn unread(&mut self, sections: &Sections, reads: &ParameterReads) {
        let schemas = [&sections.parameters, &sections.environment_configs];
        for (section, schema) in SECTIONS.into_iter().zip(schemas) {
            let Some(schema) = schema else { continue };
            let mut left = MAX_CHECKED_PARAMETERS;
            self.unread_in(section, schema.root(), &mut Vec::new(), (reads, &mut left));
        }
    }

    fn unread_in<'s>(
        &mut self,
        section: &str,
        field: ParameterField<'s>,
        path: &mut Vec<&'s str>,
        (reads, left): (&ParameterReads, &mut usize),
    ) {
        for name in field.names() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            path.push(name);
            if !reads.has(section, path) {
                self.report_unread(section, path);
            } else if let (FieldLookup::Known(inner), false, true) =
                (field.child(name), reads.has_whole(section, path), path.len() < MAX_PARAMETER_DEPTH)
            {
                self.unread_in(section, inner, path, (reads, left));
            }
            path.pop();
        }
    }

    fn report_unread(&mut self, section: &str, path: &[&str]) {
        // A named type may have fields that only some of its parameters use.
        let Some(place) = declaration(&self.document.value, section, path) else { return };
        let location = self.document.locate_key(&place);
        let message = format!("`{section}.{}` is read by no expression", path.join("."));
        let help = "use it, or leave it out: what is set there does nothing";
        self.report(&code::UNREAD_PARAMETER, location, message, help);
    }
}

/// Returns where the parameter at `path` of `section` is declared, unless that is in a named type.
fn declaration(document: &Value, section: &str, path: &[&str]) -> Option<Vec<Step>> {
    let older = if section == "parameters" { "parameters" } else { "envOverrides" };
    let mut roots: Vec<Vec<&str>> = Vec::new();
    for name in [section, older] {
        roots.extend([vec!["spec", "schema", name], vec!["spec", name]]);
    }
    if section == "parameters" {
        roots.push(vec!["spec", "schema"]);
    }
    let roots: Vec<Vec<Step>> = roots
        .iter()
        .flat_map(|root| {
            let root: Vec<Step> = root.iter().map(|name| Step::from(*name)).collect();
            [child_path(&root, "openAPIV3Schema"), child_path(&root, "ocSchema"), root]
        })
        .collect();
    roots.into_iter().find_map(|root| {
        path.iter().try_fold(root, |here, name| {
            let inner = child_path(&child_path(&here, "properties"), *name);
            let plain = child_path(&here, *name);
            [inner, plain].into_iter().find(|place| document.follow(place).is_some())
        })
    })
}

/// Returns whether `source` may read the variable `name` as a whole, without a field after it.
fn is_used_whole(source: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    source.match_indices(name).any(|(at, _)| {
        let before = source.get(..at).unwrap_or_default().chars().next_back();
        let after = source.get(at + name.len()..).unwrap_or_default();
        if before.is_some_and(|c| is_part(c) || c == '.') || after.starts_with(is_part) {
            return false;
        }
        let Some(field) = after.trim_start().strip_prefix('.') else {
            return !after.trim_start().starts_with('[');
        };
        field.trim_start_matches(['?', ' ']).trim_start_matches(is_part).trim_start().starts_with('(')
    })
}
