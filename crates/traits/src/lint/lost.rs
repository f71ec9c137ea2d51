//! The check for operations that a later one undoes.

use kubewright_patch::path::{PatchPath, PathOp, PathSegment};
use kubewright_value::{Location, Position};

use super::Linter;
use crate::compile::program::{OperationProgram, PatchProgram, PathProgram};
use crate::compile::{PlacedExpression, PlacedStructure};
use crate::diagnostics as code;
use kubewright_dialect_kit::fields::locate_within;

/// The maximum number of operations compared with all later ones.
const MAX_COMPARED_OPERATIONS: usize = 400;

impl Linter<'_> {
    pub(super) fn lost(&mut self, patches: &[PatchProgram]) {
        let all: Vec<(usize, &OperationProgram)> = patches
            .iter()
            .enumerate()
            .flat_map(|(number, patch)| patch.operations.iter().map(move |operate| (number, operate)))
            .take(MAX_COMPARED_OPERATIONS)
            .collect();
        for (index, (number, operate)) in all.iter().enumerate() {
            let Some(patch) = patches.get(*number) else { continue };
            self.lost_in_loop(patch, operate);
            let after = all.get(index + 1..).unwrap_or_default();
            let undone = after.iter().enumerate().find(|(between, (later, undoing))| {
                let between = after.get(..*between).unwrap_or_default();
                is_undone_by(operate, undoing)
                    && self.same_manifests(patches.get(*number..=*later).unwrap_or_default(), operate)
                    && !between.iter().any(|(_, other)| relies_on(other, operate))
            });
            if let Some((_, (_, undoing))) = undone {
                let at = self.document.locate(&undoing.path.path).position;
                let (message, help) = match undoing.op {
                    PathOp::Remove => (
                        format!("what is written here is removed again in line {}", at.line),
                        "leave out both",
                    ),
                    _ => (
                        format!("what is written here is written over in line {}", at.line),
                        "leave out this one, or give the two different conditions",
                    ),
                };
                self.report(&code::LOST, self.operation_place(operate), message, help);
            }
        }
    }

    /// Reports a place that every item of a loop overwrites.
    fn lost_in_loop(&mut self, patch: &PatchProgram, operate: &OperationProgram) {
        let (Some(each), Some(path), Some(content)) = (&patch.each, written_path(operate), &operate.value)
        else {
            return;
        };
        let variable = each.variable.as_str();
        let depends = |expression: &PlacedExpression| {
            mentions_name(expression, variable) || mentions_name(expression, "resource")
        };
        let is_listed = self.text(&each.over.path).is_some_and(|text| text.trim().starts_with("${["));
        let is_same_place = ends_with_key(path)
            && !is_listed
            && !path_names(operate).contains(&variable)
            && ![&patch.target.name, &patch.target.condition].into_iter().flatten().any(depends);
        let is_other_value = content.value.names().any(|name| name == variable);
        if operate.op != PathOp::Remove && is_same_place && is_other_value && !may_be_left_out(content) {
            let message =
                format!("every item of `forEach` writes over the one before: the path has no `{variable}`");
            let help = format!("use `${{{variable}}}` in the path, or in `name` or `where` of the target");
            self.report(&code::LOST, self.operation_place(operate), message, help);
        }
    }

    /// Returns whether the first and the last of `patches` always match the same manifests.
    fn same_manifests(&self, patches: &[PatchProgram], operate: &OperationProgram) -> bool {
        let Some((first, rest)) = patches.split_first() else { return false };
        let Some(last) = rest.last() else { return true };
        let written = |expression: &Option<PlacedExpression>| {
            expression.as_ref().and_then(|expression| self.text(&expression.path))
        };
        let (one, other) = (&first.target, &last.target);
        let looks = |patch: &PatchProgram| {
            patch.target.condition.as_ref().is_some_and(|condition| mentions_name(condition, "resource"))
        };
        let is_of_loop = |patch: &PatchProgram| {
            let variable = patch.each.as_ref().map(|each| each.variable.as_str());
            variable.is_some_and(|variable| {
                let parts = [&patch.target.name, &patch.target.condition];
                parts.into_iter().flatten().any(|part| mentions_name(part, variable))
                    || path_names(operate).contains(&variable)
            })
        };
        last.each.is_none()
            && !is_of_loop(first)
            && (&one.kind, &one.group, &one.version) == (&other.kind, &other.group, &other.version)
            && one.plane == other.plane
            && written(&one.name) == written(&other.name)
            && written(&one.condition) == written(&other.condition)
            && !patches.iter().any(looks)
    }

    fn operation_place(&self, operate: &OperationProgram) -> Location {
        let length = u32::try_from(operate.written.chars().count()).unwrap_or(1);
        locate_within(self.document, &operate.path.path, Position::START, length)
    }
}

/// Returns whether `undoing`, applied to the same manifest, overwrites all that `operate` writes.
fn is_undone_by(operate: &OperationProgram, undoing: &OperationProgram) -> bool {
    let (Some(path), Some(over)) = (written_path(operate), written_path(undoing)) else { return false };
    let is_sure = !undoing.value.as_ref().is_some_and(may_be_left_out);
    if operate.op == PathOp::Remove || !is_sure || !ends_with_key(over) {
        return false;
    }
    let (written, undone): (Vec<_>, Vec<_>) = (path.segments().collect(), over.segments().collect());
    let is_same = written == undone && !renames(&written);
    let is_parent = written.len() > undone.len()
        && written.starts_with(&undone)
        && undone.iter().all(|segment| matches!(segment, PathSegment::Key(_)));
    is_same || is_parent
}

/// Returns whether the last key of a path is also the key of one of its filters.
fn renames(segments: &[&PathSegment]) -> bool {
    let Some(PathSegment::Key(last)) = segments.last() else { return false };
    segments
        .iter()
        .any(|segment| matches!(segment, PathSegment::Filter { field, .. } if field.contains(last)))
}

/// Returns whether the place of `other` may depend on what `operate` writes, or `other` moves it.
fn relies_on(other: &OperationProgram, operate: &OperationProgram) -> bool {
    let (Some(path), Some(written)) = (written_path(other), written_path(operate)) else { return true };
    let Some(PathSegment::Key(last)) = written.segments().last() else { return true };
    let is_asked = path.segments().any(|segment| match segment {
        PathSegment::Filter { field, .. } => field.contains(last),
        _ => false,
    });
    let is_in_list =
        written.segments().any(|segment| matches!(segment, PathSegment::Index(_) | PathSegment::Number(..)));
    let moves = !matches!(path.segments().last(), Some(PathSegment::Key(_) | PathSegment::Append));
    is_asked || (is_in_list && moves)
}

fn ends_with_key(path: &PatchPath) -> bool {
    matches!(path.segments().last(), Some(PathSegment::Key(_)))
}

/// Returns whether a value may be omitted, which skips its operation.
fn may_be_left_out(content: &PlacedStructure) -> bool {
    let mut may = false;
    content.value.visit(|path, _, program, _| {
        let source = program.source();
        may |= path.is_empty() && ["omit(", ".?", "[?", "optional."].iter().any(|part| source.contains(part));
    });
    may
}

/// Returns the path, if its segments are known from the text.
pub(super) fn written_path(operate: &OperationProgram) -> Option<&PatchPath> {
    match &operate.path.value {
        PathProgram::Fixed(path) | PathProgram::Pieces(_, Some(path), _) => Some(path),
        _ => None,
    }
}

fn path_names(operate: &OperationProgram) -> Vec<&str> {
    match &operate.path.value {
        PathProgram::Pieces(template, ..) | PathProgram::Whole(template) => {
            template.programs().flat_map(|(program, _)| program.variable_names()).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn mentions_name(expression: &PlacedExpression, variable: &str) -> bool {
    expression.value.programs().any(|(program, _)| program.variable_names().any(|name| name == variable))
}
