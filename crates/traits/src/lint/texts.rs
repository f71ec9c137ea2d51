//! The check for labels, annotations and other fields that must be text and are not.

use std::collections::HashMap;

use kubewright_cel::{CelKind, CelProgram, CelType};
use kubewright_patch::path::{PatchPath, PathOp};
use kubewright_value::{Position, Step, Value};

use super::Linter;
use crate::compile::PlacedStructure;
use crate::compile::program::{CompiledTarget, OperationProgram, PathProgram, TemplateProgram};
use crate::diagnostics as code;
use crate::place::{ManifestStep, PatchSubject, escape_path_segment, path_steps, split_key, text_only_field};
use kubewright_dialect_kit::fields::{article, locate_within};

/// The expressions that are a whole text, by path in a structure.
type WholeTextExpressions<'c> = HashMap<Vec<Step>, (&'c CelProgram, Position)>;

/// The traversal of a structure.
struct StructureWalk<'c> {
    subject: PatchSubject<'c>,
    wholes: WholeTextExpressions<'c>,
    /// The current path in the document.
    written: Vec<Step>,
    /// The number of steps to the structure.
    start: usize,
    /// The current path in the manifest.
    at: Vec<ManifestStep>,
}

impl Linter<'_> {
    pub(super) fn texts_of_template(&mut self, template: &TemplateProgram) {
        let Some(object) = self.written(&template.content.path) else { return };
        self.texts(&template.content, PatchSubject::of_manifest(object), Vec::new());
    }

    pub(super) fn texts_of_operation(&mut self, target: &CompiledTarget, operate: &OperationProgram) {
        let (PathProgram::Fixed(path) | PathProgram::Pieces(_, Some(path), _)) = &operate.path.value else {
            return;
        };
        let subject = PatchSubject::of_target(target);
        if self.split_key(subject, operate, path) {
            return;
        }
        if let (Some(content), false) = (&operate.value, operate.op == PathOp::Remove) {
            self.texts(content, subject, path_steps(path));
        }
    }

    /// Reports a path that splits a key, and returns whether it does.
    fn split_key(&mut self, subject: PatchSubject<'_>, operate: &OperationProgram, path: &PatchPath) -> bool {
        let Some(split) = split_key(subject, path) else { return false };
        let (position, length) = path.position(split.segment);
        let (last, last_length) = path.position(path.segments().len() - 1);
        let length = (last.column + last_length).saturating_sub(position.column).max(length);
        let location = locate_within(self.document, &operate.path.path, position, length);
        self.report(
            &code::PARTED_KEY,
            location,
            split.message,
            escape_path_segment(&operate.written, path, split.segment),
        );
        true
    }

    fn texts(&mut self, content: &PlacedStructure, subject: PatchSubject<'_>, at: Vec<ManifestStep>) {
        let Some(value) = self.written(&content.path) else { return };
        let wholes = wholes(content, value);
        let (written, start) = (content.path.clone(), content.path.len());
        self.walk(value, &mut StructureWalk { subject, wholes, written, start, at });
    }

    fn walk(&mut self, value: &Value, walk: &mut StructureWalk<'_>) {
        let texts = walk.subject.free_keys(&walk.at).filter(|free| free.entry.is_text());
        let entry = texts.map(|texts| texts.entry.name());
        if let Some(what) = text_only_field(&walk.at) {
            return self.text_wanted(value, what, walk);
        }
        if texts.is_some_and(|texts| texts.depth < walk.at.len()) {
            let key = walk.at.last().and_then(ManifestStep::key).unwrap_or_default();
            let what = format!("the {} `{key}`", entry.unwrap_or_default());
            return self.text_wanted(value, &what, walk);
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter() {
                    self.walk_into(Step::Key(key.clone()), value, walk);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    self.walk_into(Step::Index(index), value, walk);
                }
            }
            Value::String(_) => {
                if let (Some(entry), Some(whole)) = (entry, walk.whole()) {
                    self.map_of_texts(whole, entry, walk);
                }
            }
            _ => {}
        }
    }

    fn walk_into(&mut self, step: Step, value: &Value, walk: &mut StructureWalk<'_>) {
        walk.at.push(ManifestStep::from(&step));
        walk.written.push(step);
        self.walk(value, walk);
        walk.written.pop();
        walk.at.pop();
    }

    /// Reports `value` if it is not text. The cluster reads null as the empty text.
    fn text_wanted(&mut self, value: &Value, what: &str, walk: &StructureWalk<'_>) {
        let (found, help, location) = match (value, walk.whole()) {
            (Value::Null, _) | (Value::String(_), None) => return,
            (Value::String(_), Some((program, start))) => {
                let Some(found) = not_text(program.result_type()) else { return };
                let length = u32::try_from(program.source().chars().count()).unwrap_or(1);
                let location = locate_within(self.document, &walk.written, start, length);
                let help = match program.result_type().kind {
                    CelKind::List | CelKind::Map => String::new(),
                    _ => format!("write `${{string({})}}`", program.source().trim()),
                };
                (found.to_owned(), help, location)
            }
            (other, _) => {
                let location = self.document.locate(&walk.written);
                let help = match other {
                    Value::Array(_) | Value::Object(_) => String::new(),
                    scalar => {
                        format!("quote it: '{}'", location.text().unwrap_or_else(|| scalar.to_string()))
                    }
                };
                (article(other.kind()), help, location)
            }
        };
        self.report(&code::NOT_TEXT, location, format!("{what} would be {found}, expected text"), help);
    }

    /// Reports an expression for a map whose values are not texts.
    fn map_of_texts(&mut self, whole: (&CelProgram, Position), entry: &str, walk: &StructureWalk<'_>) {
        let (program, start) = whole;
        let result = program.result_type();
        let element = result.elements();
        let Some(found) = not_text(&element).filter(|_| result.kind == CelKind::Map) else { return };
        let length = u32::try_from(program.source().chars().count()).unwrap_or(1);
        let location = locate_within(self.document, &walk.written, start, length);
        let message = format!("every {entry} would be {found}, expected text");
        let help = match element.kind {
            CelKind::List | CelKind::Map => String::new(),
            _ => {
                format!("write `${{{}.transformMap(key, value, string(value))}}`", program.source().trim())
            }
        };
        self.report(&code::NOT_TEXT, location, message, help);
    }
}

impl<'c> StructureWalk<'c> {
    /// Returns the expression that is the whole text here.
    fn whole(&self) -> Option<(&'c CelProgram, Position)> {
        self.wholes.get(self.written.get(self.start..)?).copied()
    }
}

fn wholes<'c>(content: &'c PlacedStructure, value: &Value) -> WholeTextExpressions<'c> {
    let mut wholes = HashMap::new();
    content.value.visit(|path, is_key, program, start| {
        let text = value.follow(path).and_then(Value::as_str).unwrap_or_default().trim();
        let inner = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'));
        if !is_key && inner == Some(program.source()) {
            wholes.insert(path.to_vec(), (program, start));
        }
    });
    wholes
}

/// Returns the name of a type that is certainly not text.
fn not_text(found: &CelType) -> Option<&'static str> {
    match found.kind {
        CelKind::Bool => Some("a boolean"),
        CelKind::Int | CelKind::UInt | CelKind::Double => Some("a number"),
        CelKind::List => Some("an array"),
        CelKind::Map => Some("an object"),
        _ => None,
    }
}
