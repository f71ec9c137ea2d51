//! Values against a schema. Every message names the parameter as it would be written, `ports[0].name`.
//!
//! The words after the name are those of the API server's own validation, which users know.

mod numbers;

use kubewright_engine::{DiagnosticLevel, nearest_word};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Budget, Exhausted, Map, Step, Text, Value};

use super::node::{AdditionalProperties, CountRange, SchemaNode, SchemaType};
use super::{ValueViolation, formats};

/// The maximum number of reported violations.
const MAX_VIOLATIONS: usize = 100;

/// Returns the violations in `value`, in the order of the schema.
pub(super) fn check_value(
    node: &SchemaNode,
    value: &Value,
    budget: &mut Budget,
) -> Result<Vec<ValueViolation>, Exhausted> {
    let mut checker = ValueChecker { path: Vec::new(), wrongs: Vec::new(), budget };
    checker.node(node, value)?;
    Ok(checker.wrongs)
}

/// Returns `path` as it would be written after the name of an object; empty for the object itself.
pub(super) fn write_value_path(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if is_plain_key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Step::Key(key) => text.push_str(&format!("[{}]", kubewright_value::json::quote(key))),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

fn is_plain_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$'))
}

struct ValueChecker<'b> {
    path: Vec<Step>,
    wrongs: Vec<ValueViolation>,
    budget: &'b mut Budget,
}

type ValueCheckResult = Result<(), Exhausted>;

impl ValueChecker<'_> {
    fn node(&mut self, node: &SchemaNode, value: &Value) -> ValueCheckResult {
        self.budget.step(1)?;
        if value.is_null() && node.is_nullable {
            return Ok(());
        }
        if !self.is_of_type(node, value) {
            return Ok(());
        }
        self.choices(node, value)?;
        match value {
            Value::Number(number) => {
                numbers::check_number_bounds(node, *number).iter().for_each(|said| self.wrong(said));
            }
            Value::String(text) => self.text(node, text)?,
            Value::Array(items) => self.items(node, items)?,
            Value::Object(map) => self.object(node, map)?,
            Value::Null | Value::Bool(_) => {}
        }
        self.combined(node, value)
    }

    fn is_of_type(&mut self, node: &SchemaNode, value: &Value) -> bool {
        if node.is_int_or_string {
            let fits = SchemaType::Integer.fits(value) || SchemaType::String.fits(value);
            if !fits {
                self.wrong(&format!("must be of type integer or string: \"{}\"", value.kind()));
            }
            return fits;
        }
        let Some(kind) = node.kind else { return true };
        if kind.fits(value) {
            return true;
        }
        let found = value.kind().name();
        let help = match (kind, value) {
            (SchemaType::String, Value::Number(_) | Value::Bool(_)) => format!("quote it: \"{value}\""),
            (SchemaType::Integer | SchemaType::Number | SchemaType::Boolean, Value::String(text))
                if kind.fits(&kubewright_value::json::parse(text).unwrap_or_default()) =>
            {
                format!("write {text} without quotes")
            }
            _ => String::new(),
        };
        self.report(&format!("must be of type {}: \"{found}\"", kind.name()), help, DiagnosticLevel::Error);
        false
    }

    fn choices(&mut self, node: &SchemaNode, value: &Value) -> ValueCheckResult {
        self.budget.step(node.choices.len() as u64)?;
        if node.choices.is_empty() || node.choices.contains(value) {
            return Ok(());
        }
        let listed: Vec<String> = node.choices.iter().take(20).map(ToString::to_string).collect();
        let near =
            value.as_str().and_then(|text| nearest_word(text, node.choices.iter().filter_map(Value::as_str)));
        let help = near.map(did_you_mean).unwrap_or_default();
        let message = format!("should be one of [{}], got {}", listed.join(", "), shorten_value(value));
        self.report(&message, help, DiagnosticLevel::Error);
        Ok(())
    }

    fn text(&mut self, node: &SchemaNode, text: &str) -> ValueCheckResult {
        if node.length.least.is_some() || node.length.most.is_some() {
            self.budget.step(text.len() as u64 / 64 + 1)?;
            self.range(node.length, text.chars().count(), ("be at least", "be at most", "chars long"));
        }
        if let Some(pattern) = &node.pattern
            && !pattern.is_match(text, self.budget)?
        {
            self.wrong(&format!("should match '{}', got {}", pattern.as_str(), shorten_value(&text.into())));
        }
        if let Some(format) = &node.format
            && !formats::has_format(format, text)
        {
            self.wrong(&format!("must be of type {format}: {}", shorten_value(&text.into())));
        }
        Ok(())
    }

    fn items(&mut self, node: &SchemaNode, items: &[Value]) -> ValueCheckResult {
        self.range(node.count, items.len(), ("have at least", "have at most", "items"));
        if node.is_unique {
            self.unique(items)?;
        }
        let Some(schema) = node.items.as_deref() else { return Ok(()) };
        for (index, item) in items.iter().enumerate() {
            self.below(Step::Index(index), schema, item)?;
        }
        Ok(())
    }

    fn unique(&mut self, items: &[Value]) -> ValueCheckResult {
        self.budget.step(items.len() as u64 * 4)?;
        let mut sorted: Vec<&Value> = items.iter().collect();
        sorted.sort();
        if let Some([twice, _]) = sorted.windows(2).find(|pair| pair.first() == pair.last()) {
            self.wrong(&format!("shouldn't contain duplicates, {} occurs twice", shorten_value(twice)));
        }
        Ok(())
    }

    fn object(&mut self, node: &SchemaNode, map: &Map) -> ValueCheckResult {
        self.range(node.size, map.len(), ("have at least", "have at most", "properties"));
        for name in node.required.iter().filter(|name| !map.contains_key(name)) {
            self.path.push(Step::Key(name.clone()));
            let help = node.properties.get(name).map(missing_parameter_hint).unwrap_or_default();
            self.report("is required", help, DiagnosticLevel::Error);
            self.path.pop();
        }
        for (name, value) in map.iter() {
            self.budget.step(1)?;
            let mut is_known = false;
            if let Some(schema) = node.properties.get(name) {
                is_known = true;
                self.below(Step::Key(name.clone()), schema, value)?;
            }
            for (pattern, schema) in &node.patterns {
                if pattern.is_match(name, self.budget)? {
                    is_known = true;
                    self.below(Step::Key(name.clone()), schema, value)?;
                }
            }
            match &node.additional {
                _ if is_known => {}
                AdditionalProperties::Each(schema) => self.below(Step::Key(name.clone()), schema, value)?,
                AdditionalProperties::Closed if !node.keeps_unknown => {
                    self.unknown(node, name, "is a forbidden property", DiagnosticLevel::Error);
                }
                AdditionalProperties::Open if !node.allows_undeclared_fields() => {
                    self.unknown(
                        node,
                        name,
                        "is not in the schema, so nothing reads it",
                        DiagnosticLevel::Warning,
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn unknown(&mut self, node: &SchemaNode, name: &Text, said: &str, severity: DiagnosticLevel) {
        let help = match nearest_word(name, node.properties.names()) {
            Some(near) => did_you_mean(near),
            None => {
                let known: Vec<&str> = node.properties.names().take(12).collect();
                match known.is_empty() {
                    true => "nothing can be set here".to_owned(),
                    false => format!("known here: {}", known.join(", ")),
                }
            }
        };
        self.path.push(Step::Key(name.clone()));
        self.report(said, help, severity);
        self.path.pop();
    }

    fn combined(&mut self, node: &SchemaNode, value: &Value) -> ValueCheckResult {
        for schema in &node.all_of {
            self.node(schema, value)?;
        }
        if !node.any_of.is_empty() && self.fitting(&node.any_of, value)? == 0 {
            self.wrong("must validate at least one schema (anyOf)");
        }
        if !node.one_of.is_empty() {
            match self.fitting(&node.one_of, value)? {
                1 => {}
                0 => self.wrong("must validate one and only one schema (oneOf), none does"),
                count => self.wrong(&format!("must validate one and only one schema (oneOf), {count} do")),
            }
        }
        if let Some(schema) = &node.not
            && self.fits(schema, value)?
        {
            self.wrong("must not validate the schema (not)");
        }
        Ok(())
    }

    fn fitting(&mut self, nodes: &[SchemaNode], value: &Value) -> Result<usize, Exhausted> {
        let mut count = 0;
        for node in nodes {
            count += usize::from(self.fits(node, value)?);
        }
        Ok(count)
    }

    fn fits(&mut self, node: &SchemaNode, value: &Value) -> Result<bool, Exhausted> {
        let wrongs = check_value(node, value, self.budget)?;
        Ok(!wrongs.iter().any(|wrong| wrong.severity == DiagnosticLevel::Error))
    }

    fn below(&mut self, step: Step, node: &SchemaNode, value: &Value) -> ValueCheckResult {
        self.path.push(step);
        let checked = self.node(node, value);
        self.path.pop();
        checked
    }

    fn range(&mut self, range: CountRange, count: usize, (least_said, most_said, what): (&str, &str, &str)) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        if let Some(least) = range.least.filter(|least| count < *least) {
            self.wrong(&format!("should {least_said} {least} {what}, got {count}"));
        }
        if let Some(most) = range.most.filter(|most| count > *most) {
            self.wrong(&format!("should {most_said} {most} {what}, got {count}"));
        }
    }

    fn wrong(&mut self, said: &str) {
        self.report(said, String::new(), DiagnosticLevel::Error);
    }

    fn report(&mut self, said: &str, help: String, severity: DiagnosticLevel) {
        if self.wrongs.len() >= MAX_VIOLATIONS {
            return;
        }
        let message = match write_value_path(&self.path) {
            name if name.is_empty() => format!("the value {said}"),
            name => format!("`{name}` {said}"),
        };
        self.wrongs.push(ValueViolation { path: self.path.clone(), message, help, severity });
    }
}

/// Returns the description of a missing parameter.
fn missing_parameter_hint(node: &SchemaNode) -> String {
    let kind = node.kind.map(|kind| match kind {
        SchemaType::Integer | SchemaType::Array | SchemaType::Object => format!("an {}", kind.name()),
        _ => format!("a {}", kind.name()),
    });
    match (node.note("description").and_then(Value::as_str), kind) {
        (Some(description), Some(kind)) => format!("{kind}: {description}"),
        (Some(description), None) => description.to_owned(),
        (None, Some(kind)) => format!("give it {kind}"),
        (None, None) => String::new(),
    }
}

/// Returns a value as JSON, truncated.
fn shorten_value(value: &Value) -> String {
    const MAX_SHOWN_CHARS: usize = 60;
    match value {
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        scalar => {
            let text = scalar.to_string();
            shorten_text(&text, TextLimit::Chars(MAX_SHOWN_CHARS)).into_owned()
        }
    }
}
