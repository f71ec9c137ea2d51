//! Operations whose work a later one undoes.

use kubewright_patch::path::{PatchPath, PathOp, PathSegment};
use kubewright_value::{Location, Position};

use super::Linter;
use crate::compile::program::{Operate, Patch, PathProgram};
use crate::compile::{Content, Expression};
use crate::diagnostics as code;
use kubewright_dialect_kit::fields::locate_within;

/// How many operations are compared with all that come after them.
const MOST: usize = 400;

impl Linter<'_> {
    pub(super) fn lost(&mut self, patches: &[Patch]) {
        let all: Vec<(usize, &Operate)> = patches
            .iter()
            .enumerate()
            .flat_map(|(number, patch)| patch.operations.iter().map(move |operate| (number, operate)))
            .take(MOST)
            .collect();
        for (index, (number, operate)) in all.iter().enumerate() {
            let Some(patch) = patches.get(*number) else { continue };
            self.lost_in_loop(patch, operate);
            let after = all.get(index + 1..).unwrap_or_default();
            let undone = after.iter().enumerate().find(|(between, (later, undoing))| {
                let between = after.get(..*between).unwrap_or_default();
                undoes(operate, undoing)
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
                self.report(&code::LOST, self.place_of(operate), message, help);
            }
        }
    }

    /// Reports a place that every round of a loop writes anew.
    fn lost_in_loop(&mut self, patch: &Patch, operate: &Operate) {
        let (Some(each), Some(path), Some(content)) = (&patch.each, shape(operate), &operate.value) else {
            return;
        };
        let variable = each.variable.as_str();
        let depends =
            |expression: &Expression| mentions(expression, variable) || mentions(expression, "resource");
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
            self.report(&code::LOST, self.place_of(operate), message, help);
        }
    }

    /// Returns whether the first and the last of `patches` are about the same manifests, whatever these are.
    fn same_manifests(&self, patches: &[Patch], operate: &Operate) -> bool {
        let Some((first, rest)) = patches.split_first() else { return false };
        let Some(last) = rest.last() else { return true };
        let written = |expression: &Option<Expression>| {
            expression.as_ref().and_then(|expression| self.text(&expression.path))
        };
        let (one, other) = (&first.target, &last.target);
        let looks = |patch: &Patch| {
            patch.target.condition.as_ref().is_some_and(|condition| mentions(condition, "resource"))
        };
        let is_of_loop = |patch: &Patch| {
            let variable = patch.each.as_ref().map(|each| each.variable.as_str());
            variable.is_some_and(|variable| {
                let parts = [&patch.target.name, &patch.target.condition];
                parts.into_iter().flatten().any(|part| mentions(part, variable))
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

    fn place_of(&self, operate: &Operate) -> Location {
        let length = u32::try_from(operate.written.chars().count()).unwrap_or(1);
        locate_within(self.document, &operate.path.path, Position::START, length)
    }
}

/// Returns whether nothing is left of what `operate` writes once `undoing` is done to the same manifest.
fn undoes(operate: &Operate, undoing: &Operate) -> bool {
    let (Some(path), Some(over)) = (shape(operate), shape(undoing)) else { return false };
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

/// Returns whether what the path of an operation ends with is what one of its filters asks for.
fn renames(segments: &[&PathSegment]) -> bool {
    let Some(PathSegment::Key(last)) = segments.last() else { return false };
    segments
        .iter()
        .any(|segment| matches!(segment, PathSegment::Filter { field, .. } if field.contains(last)))
}

/// Returns whether `other` may find its place by what `operate` writes, or moves it.
fn relies_on(other: &Operate, operate: &Operate) -> bool {
    let (Some(path), Some(written)) = (shape(other), shape(operate)) else { return true };
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

/// Returns whether a value may be left out, and its operation with it.
fn may_be_left_out(content: &Content) -> bool {
    let mut may = false;
    content.value.visit(|path, _, program, _| {
        let source = program.source();
        may |= path.is_empty() && ["omit(", ".?", "[?", "optional."].iter().any(|part| source.contains(part));
    });
    may
}

/// Returns the segments of a path, as far as they are written.
pub(super) fn shape(operate: &Operate) -> Option<&PatchPath> {
    match &operate.path.value {
        PathProgram::Fixed(path) | PathProgram::Pieces(_, Some(path), _) => Some(path),
        _ => None,
    }
}

fn path_names(operate: &Operate) -> Vec<&str> {
    match &operate.path.value {
        PathProgram::Pieces(template, ..) | PathProgram::Whole(template) => {
            template.programs().flat_map(|(program, _)| program.variable_names()).collect()
        }
        _ => Vec::new(),
    }
}

pub(super) fn mentions(expression: &Expression, variable: &str) -> bool {
    expression.value.programs().any(|(program, _)| program.variable_names().any(|name| name == variable))
}
