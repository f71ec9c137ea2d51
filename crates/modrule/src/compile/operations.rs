//! The items of `patch`, and templates.

use kubewright_engine::{Code, Diagnostic, nearest_word};
use kubewright_gotemplate::{GoTemplate, GoTemplateErrorKind};
use kubewright_jsonpath::JsonPathSelector;
use kubewright_value::{Position, Text, Value, yaml};

use super::ModRuleCompiler;
use crate::diagnostics as code;
use crate::evaluate::CompiledOperation;
use crate::path::{PathTemplate, expand_shorthand};
use crate::references::{REFERENCES, hidden_field};
use crate::source::{OperationType, SourceOperation};
use crate::value::{PatchValue, is_blank};
use kubewright_dialect_kit::fields::{Located, child_path, locate_within};

impl ModRuleCompiler<'_> {
    pub(super) fn operation(&mut self, source: &SourceOperation) -> Option<CompiledOperation> {
        let path = self.path(source);
        let value = self.value(source);
        let select = match &source.select {
            Some(select) => Some(self.select(select)?),
            None => None,
        };
        let path = path?;
        if let (Some(select), Some(highest)) = (&select, path.highest_placeholder()) {
            self.check_placeholder(select, highest, &source.path);
        }
        let written_path = source.path.value.clone();
        Some(CompiledOperation {
            op: source.op,
            select,
            path,
            written_path,
            value: value?,
            location: self.document.locate(&source.path_in_rule),
        })
    }

    fn path(&mut self, source: &SourceOperation) -> Option<PathTemplate> {
        let text = &source.path;
        let parsed = if source.select.is_some() {
            PathTemplate::parse(&text.value)
        } else {
            PathTemplate::literal(&text.value)
        };
        let path = match parsed {
            Ok(_) if text.value.is_empty() => {
                self.report(
                    &code::BAD_PATH,
                    text,
                    "a patch cannot replace the whole object".to_owned(),
                    "name a field, such as /metadata/labels/x".to_owned(),
                );
                return None;
            }
            Ok(path) => path,
            Err(error) => {
                let help = if text.value.starts_with('/') {
                    "write `~1` for a slash in a key and `~0` for a tilde"
                } else {
                    "a path starts with `/`"
                };
                self.report(
                    &code::BAD_PATH,
                    text,
                    format!("`{}` is not a path: {error}", text.value),
                    help.to_owned(),
                );
                return None;
            }
        };
        if let Some(field) = hidden_field(path.fixed_start()) {
            self.report(
                &code::HIDDEN_FIELD,
                text,
                format!("`{field}` cannot be changed by a rule"),
                "remove this operation".to_owned(),
            );
        }
        if source.op == OperationType::Add && path.last_fixed() == Some("-") {
            self.report(
                &code::DASH_APPEND,
                text,
                "where the list is missing, `/-` makes an object with the key `-`".to_owned(),
                "write `/-1`, which makes the list".to_owned(),
            );
        }
        Some(path)
    }

    fn value(&mut self, source: &SourceOperation) -> Option<PatchValue> {
        if source.op == OperationType::Remove {
            return Some(PatchValue::Constant(Value::Null));
        }
        let Some(text) = source.value.as_ref() else {
            // A value of the wrong type was reported when it was read.
            if self
                .document
                .value
                .follow(&child_path(&source.path_in_rule, "value"))
                .is_none_or(Value::is_null)
            {
                self.report(
                    &code::NO_VALUE,
                    &source.path,
                    format!("`{}` needs a value", source.op.name()),
                    "add a `value`, or write value: 'null' for null".to_owned(),
                );
            }
            return None;
        };
        let expanded = expand_shorthand(&text.value);
        if let (Some(select), Some(highest)) = (&source.select, highest_shorthand(&text.value))
            && let Ok(select) = JsonPathSelector::parse(&select.value)
        {
            self.check_placeholder(&select, highest, text);
        }
        let given = &["Target", "Namespace", "SelectedItem", "SelectKeyParts"];
        let template = self.template(&source.path.value, (text, &expanded), (given, &code::UNKNOWN_ROOT))?;
        let Some(constant) = template.literal() else {
            let location = locate_within(self.document, &text.path, Position::START, 1);
            return Some(PatchValue::Template { template: Box::new(template), location });
        };
        match yaml::parse(constant) {
            Ok(Value::Null) if is_blank(constant) => {
                self.report(
                    &code::NO_VALUE,
                    text,
                    format!("the value of `{}` is empty", source.op.name()),
                    "write value: '\"\"' for the empty text, or value: 'null' for null".to_owned(),
                );
                None
            }
            Ok(value) => Some(PatchValue::Constant(value)),
            Err(error) => {
                let location = locate_within(self.document, &text.path, error.position, 1);
                self.diagnostics.push(
                    Diagnostic::new(
                        &code::BAD_VALUE,
                        format!("the value is not YAML: {}", error.message),
                        location,
                    )
                    .help(
                        "text that starts with a special character needs quotes inside the quotes: '\"@x\"'",
                    ),
                );
                None
            }
        }
    }

    /// Reads a template; `given` are its inputs, and `code` is the diagnostic for reading anything else.
    pub(super) fn template(
        &mut self,
        name: &str,
        (place, text): (&Located<Text>, &str),
        (given, code): (&[&str], &'static Code),
    ) -> Option<GoTemplate> {
        match GoTemplate::parse(name, text, &self.dialect.functions) {
            Ok(template) => {
                self.sees_references |= template.root_reads().may_read(&["Target", REFERENCES]);
                let roots = template.root_reads().paths().filter_map(<[Text]>::first);
                let unknown = roots.filter(|root| !given.contains(&root.as_str())).min();
                if let Some(unknown) = unknown {
                    let help = match nearest_word(unknown, given.iter().copied()) {
                        Some(near) => format!("did you mean `.{near}`?"),
                        None => format!(
                            "it is given .{}; fields of the object are below .Target",
                            given.join(", .")
                        ),
                    };
                    self.report(code, place, format!("the template is not given `.{unknown}`"), help);
                }
                Some(template)
            }
            Err(error) => {
                let location = locate_within(self.document, &place.path, error.position, 1);
                let help = if error.kind == GoTemplateErrorKind::Refused {
                    "allow it with --allow-function, if the rule can live with a new result each time"
                } else {
                    ""
                };
                self.diagnostics
                    .push(Diagnostic::new(&code::BAD_TEMPLATE, error.message, location).help(help));
                None
            }
        }
    }

    fn select(&mut self, text: &Located<Text>) -> Option<JsonPathSelector> {
        let select = JsonPathSelector::parse(&text.value)
            .map_err(|error| self.bad_select(text, error.message, error.position, error.length))
            .ok()?;
        self.sees_references |= select.reads_root_key(REFERENCES);
        Some(select)
    }

    fn check_placeholder(&mut self, select: &JsonPathSelector, highest: usize, place: &Located<Text>) {
        let (_, most) = select.captures();
        if let Some(most) = most.filter(|most| highest >= *most) {
            let captured = match most {
                0 => "the select captures no key".to_owned(),
                1 => "the select captures one key, `#0`".to_owned(),
                more => format!("the select captures {more} keys, `#0` to `#{}`", more - 1),
            };
            self.report(
                &code::BAD_PLACEHOLDER,
                place,
                format!("placeholder `#{highest}` has no key"),
                captured,
            );
        }
    }
}

/// Returns the highest N of the `.#N` in a template.
fn highest_shorthand(text: &str) -> Option<usize> {
    text.match_indices(".#")
        .filter_map(|(at, _)| {
            let tail = text.get(at + 2..)?;
            let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
            tail.get(..digits)?.parse().ok()
        })
        .max()
}
