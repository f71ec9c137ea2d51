//! The check for operations that change the result again when a trait is applied to its own output.

use kubewright_patch::path::{PatchPath, PathOp, PathSegment};
use kubewright_value::{Text, Value};

use super::Linter;
use super::lost::written_path;
use crate::compile::PlacedExpression;
use crate::compile::program::{OperationProgram, PatchProgram, TemplateProgram};
use crate::diagnostics as code;
use crate::place::{ManifestStep, PatchSubject, path_steps};
use kubewright_dialect_kit::fields::locate_within;

/// The loop variables of a suggested condition.
const VARIABLES: [&str; 4] = ["one", "two", "three", "four"];

impl Linter<'_> {
    /// Reports the operations of `patch` that make a list grow, unless `where` reads the list. Manifests of
    /// `creates` are created anew each time.
    pub(super) fn report_growing_operation(&mut self, patch: &PatchProgram, creates: &[TemplateProgram]) {
        if creates.iter().any(|template| self.is_made_by(&patch.target, template)) {
            return;
        }
        for operate in &patch.operations {
            let Some(path) = written_path(operate).filter(|_| operate.op == PathOp::Add) else { continue };
            let at = path_steps(path);
            let Some((last, list)) = at.split_last() else { continue };
            let is_key =
                last.key().is_some() || PatchSubject::of_target(&patch.target).free_keys(list).is_some();
            let is_asked = patch.target.condition.as_ref().is_some_and(|condition| looks_at(condition, list));
            if is_key || is_asked {
                continue;
            }
            let what = match path.segments().last() {
                Some(PathSegment::Append) => "appends",
                _ => "inserts",
            };
            let message = format!("this {what} one more item whenever it is rendered over its own output");
            let help = match self.absence_condition(operate, path) {
                Some(absent) => {
                    let alone = if patch.operations.len() > 1 { "in a patch of its own, " } else { "" };
                    match patch.target.condition {
                        None => format!("{alone}write `where: ${{{absent}}}`"),
                        Some(_) => format!("{alone}add ` && {absent}` to `where`"),
                    }
                }
                None => "ask in `where` whether the item is there, with `exists` over the list".to_owned(),
            };
            let length = u32::try_from(operate.written.chars().count()).unwrap_or(1);
            let start = kubewright_value::Position::START;
            let location = locate_within(self.document, &operate.path.path, start, length);
            self.report(&code::GROWS, location, message, help);
        }
    }

    /// Returns a condition that is true while the item that `operate` adds is missing.
    fn absence_condition(&self, operate: &OperationProgram, path: &PatchPath) -> Option<String> {
        let value = self.written(&operate.value.as_ref()?.path)?;
        let (field, wanted) = match value {
            Value::Object(item) => (".name", text_expression(item.get("name")?.as_str()?)?),
            Value::String(text) => ("", text_expression(text)?),
            _ => return None,
        };
        let segments: Vec<&PathSegment> = path.segments().collect();
        let (_, list) = segments.split_last()?;
        let present = presence_condition("resource", list, &format!("{field} == {wanted}"), 0)?;
        Some(format!("!{present}"))
    }
}

/// Returns whether `condition` reads the list at `list`, or a part of it.
fn looks_at(condition: &PlacedExpression, list: &[ManifestStep]) -> bool {
    let reads = condition.value.programs().flat_map(|(program, _)| program.reads());
    reads.filter(|read| read.variable == "resource" && read.path.len() >= list.len()).any(|read| {
        read.path.iter().zip(list).all(|(name, at)| at.key().is_none_or(|key| key == name.as_str()))
    })
}

/// Returns the condition that one item of the list that `segments` lead to is as `is_it` says.
fn presence_condition(base: &str, segments: &[&PathSegment], is_it: &str, depth: usize) -> Option<String> {
    let Some((segment, rest)) = segments.split_first() else {
        return Some(format!("{base}.exists(item, item{is_it})"));
    };
    let variable = *VARIABLES.get(depth)?;
    let inside = |rest| presence_condition(variable, rest, is_it, depth + 1);
    match segment {
        // `add` creates a missing list.
        PathSegment::Key(key) if rest.is_empty() && is_identifier_name(key) => {
            presence_condition(&format!("{base}.?{key}.orValue([])"), rest, is_it, depth)
        }
        PathSegment::Key(key) if is_identifier_name(key) => {
            presence_condition(&format!("{base}.{key}"), rest, is_it, depth)
        }
        PathSegment::Index(index) | PathSegment::Number(_, Some(index)) => {
            presence_condition(&format!("{base}[{index}]"), rest, is_it, depth)
        }
        PathSegment::Every => Some(format!("{base}.exists({variable}, {})", inside(rest)?)),
        PathSegment::Filter { field, value } => {
            let field: Vec<&str> =
                field.iter().map(Text::as_str).filter(|name| is_identifier_name(name)).collect();
            let (field, wanted) = (field.join("."), text_expression(value)?);
            Some(format!("{base}.exists({variable}, {variable}.{field} == {wanted} && {})", inside(rest)?))
        }
        _ => None,
    }
}

/// Returns the expression for `text`: the content of its single `${…}`, or a string literal.
fn text_expression(text: &str) -> Option<String> {
    let text = text.trim();
    let inner = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
    match inner {
        Some(inner) if !inner.contains("${") && !inner.contains('\n') => Some(inner.trim().to_owned()),
        None if !text.contains(['$', '\'', '\\', '\n']) => Some(format!("'{text}'")),
        _ => None,
    }
}

fn is_identifier_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
