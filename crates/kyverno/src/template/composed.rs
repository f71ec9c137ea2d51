//! An expression with nested variables, which is built when their values are known.
//!
//! A value is escaped for its place, as text of a string or as a key, so that it never becomes syntax. Only a value
//! of the policy's author is inserted unchanged outside of quotes.

use kubewright_engine::EvalError;
use kubewright_jmespath::{JmesPathExpression, JmesPathFunctions, JmesPathLanguage, PathRoots};
use kubewright_value::bounded::{self, BoundedText};
use kubewright_value::{Budget, Exhausted, Text, Value};

use super::super::context::{Sourced, Unresolved, VariableContext};
use super::compact::compact_text;
use super::compiled::CompiledQuery;
use super::place::TemplatePath;
use super::scan::{self, Quote};
use super::variable::{BadExpression, TemplateVariable};
use kubewright_k8s::PodTemplatePath;

/// An expression with variables in it.
#[derive(Debug)]
pub(super) struct Composed {
    parts: Vec<ComposedPart>,
    /// Its inputs, as far as they do not depend on the variables.
    pub(super) roots: PathRoots,
    functions: JmesPathFunctions,
    to: PodTemplatePath,
    /// The expression, compiled, where its variables are in texts only.
    slotted: Option<SlottedQuery>,
}

/// An expression whose variables are in texts and keys: whatever they are, its form is the same.
#[derive(Debug)]
struct SlottedQuery {
    compiled: CompiledQuery,
    // INVARIANT: one for each slot, in order.
    texts: Vec<(Quote, Vec<ComposedPart>)>,
}

#[derive(Debug, Clone)]
enum ComposedPart {
    Text(Text),
    Variable(TemplateVariable),
    Quoted(Quote, Vec<ComposedPart>),
}

/// A composed expression after its variables were put in.
pub(super) struct RenderedQuery {
    pub(super) compiled: CompiledQuery,
    /// Whether something that is not the author's can be in the result, whatever it reads.
    pub(super) is_tainted: bool,
}

impl Composed {
    /// Reads `text`, which starts at `at` of the whole text and has `parts`.
    pub(super) fn read(
        text: &str,
        at: usize,
        parts: &[scan::QueryPart],
        place: &TemplatePath,
        functions: &JmesPathFunctions,
        problems: &mut Vec<BadExpression>,
    ) -> Self {
        let parts = parse_composed_parts(text, at, parts, place, functions, problems);
        let roots = presumed_roots(&parts, functions);
        let to = PodTemplatePath::Pod;
        Self {
            slotted: SlottedQuery::of(&parts, functions, to),
            parts,
            roots,
            functions: functions.clone(),
            to,
        }
    }

    /// Returns the same with the variables in it for the objects that make Pods, and itself for `target`.
    pub(super) fn rebased(&self, to: PodTemplatePath, target: PodTemplatePath, below: &str) -> Self {
        let parts = rebased_parts(&self.parts, to, below);
        Self {
            slotted: SlottedQuery::of(&parts, &self.functions, target),
            parts,
            roots: self.roots.clone(),
            functions: self.functions.clone(),
            to: target,
        }
    }

    /// Adds the variables in it to `all`.
    pub(super) fn collect<'v>(&'v self, all: &mut Vec<&'v TemplateVariable>) {
        collect_parts(&self.parts, all);
    }

    /// Returns its value, and the resulting expression for what is said about an error.
    pub(super) fn search(
        &self,
        context: &mut VariableContext<'_>,
        is_deletion: bool,
    ) -> Result<(Text, Result<Sourced, Unresolved>), Unresolved> {
        if let Some(slotted) = &self.slotted
            && let Ok(found) = slotted.search(context, is_deletion)?
        {
            return Ok((Text::default(), Ok(found)));
        }
        let (text, rendered) = self.render(context)?;
        let found = rendered.and_then(|rendered| {
            let found = context.search(&rendered.compiled, is_deletion)?;
            Ok(found.tainted(rendered.is_tainted))
        });
        Ok((text, found))
    }

    /// Returns the variable that the whole expression is; nothing where there is more in it.
    pub(super) fn sole_variable(&self) -> Option<&TemplateVariable> {
        match self.parts.as_slice() {
            [ComposedPart::Variable(variable)] => Some(variable),
            _ => None,
        }
    }

    /// Returns the expression that it turned out to be.
    pub(super) fn render(
        &self,
        context: &mut VariableContext<'_>,
    ) -> Result<(Text, Result<RenderedQuery, Unresolved>), Unresolved> {
        let mut writer = QueryWriter::default();
        writer.parts(&self.parts, context)?;
        // Literals in it are read as JSON, and the whole of it is kept in expressions for three occasions.
        let length = writer.out.len();
        context.budget().transient(|budget| budget.produce(length.saturating_mul(EXPRESSION_COPIES)))?;
        let rendered =
            JmesPathExpression::parse_once(&writer.out, &self.functions, JmesPathLanguage::Forgiving)
                .map(|expression| RenderedQuery {
                    compiled: CompiledQuery::rebased(expression, self.to),
                    is_tainted: writer.is_tainted,
                })
                .map_err(|error| {
                    let message = format!("incorrect query {}: {}", writer.out, error.message);
                    Unresolved::error(EvalError::new(message))
                });
        Ok((writer.out.into(), rendered))
    }
}

impl SlottedQuery {
    /// Returns the query of `parts`, if they have variables in raw strings and quoted keys only.
    fn of(parts: &[ComposedPart], functions: &JmesPathFunctions, to: PodTemplatePath) -> Option<Self> {
        let (mut text, mut slots, mut texts) = (String::new(), Vec::new(), Vec::new());
        for part in parts {
            match part {
                ComposedPart::Text(part) => text.push_str(part),
                ComposedPart::Variable(_) => return None,
                ComposedPart::Quoted(quote, inner) => {
                    if let Some(constant) = constant_text(inner) {
                        let mark = quote.mark();
                        text.push_str(&format!("{mark}{constant}{mark}"));
                        continue;
                    }
                    let is_key = *quote == Quote::Name && text.trim_end().ends_with('.');
                    if *quote != Quote::Raw && (!is_key || has_escapes(inner)) {
                        return None;
                    }
                    slots.push(text.len());
                    text.push_str(if is_key { r#""?""# } else { "''" });
                    texts.push((*quote, inner.clone()));
                }
            }
        }
        let language = JmesPathLanguage::Forgiving;
        let expression = JmesPathExpression::parse_with_slots(&text, functions, language, &slots).ok()?;
        Some(Self { compiled: CompiledQuery::rebased(expression, to), texts })
    }

    fn search(
        &self,
        context: &mut VariableContext<'_>,
        is_deletion: bool,
    ) -> Result<Result<Sourced, Unresolved>, Unresolved> {
        let mut is_tainted = false;
        let mut values = Vec::with_capacity(self.texts.len());
        for (quote, parts) in &self.texts {
            // A text between quotes is escaped only where it is written into an expression.
            let (text, is_foreign) = quoted_text(Quote::Raw, parts, context)?;
            // A key chooses what is read, and is not read itself.
            is_tainted |= is_foreign && *quote == Quote::Raw;
            values.push(Value::from(text));
        }
        let found = context.search_filled(&self.compiled, &values, is_deletion);
        Ok(found.map(|found| found.tainted(is_tainted)))
    }
}

/// How much an expression takes that was read from a text, in lengths of that text.
const EXPRESSION_COPIES: usize = 8;

/// Writes an expression with the values of its variables in it.
#[derive(Default)]
struct QueryWriter {
    out: String,
    is_tainted: bool,
}

impl QueryWriter {
    /// Appends a part of the expression, which is charged first.
    fn push(&mut self, part: &str, context: &mut VariableContext<'_>) -> Result<(), Unresolved> {
        context.budget().produce(part.len())?;
        self.out.push_str(part);
        Ok(())
    }

    fn parts(&mut self, parts: &[ComposedPart], context: &mut VariableContext<'_>) -> Result<(), Unresolved> {
        let mut parts = parts.iter().peekable();
        let mut skip = 0;
        while let Some(part) = parts.next() {
            match part {
                ComposedPart::Text(text) => {
                    self.push(text.get(std::mem::take(&mut skip)..).unwrap_or_default(), context)?;
                }
                ComposedPart::Variable(variable) => {
                    let value = variable.resolve(context)?;
                    let after = match parts.peek() {
                        Some(ComposedPart::Text(text)) => text.as_str(),
                        _ => "",
                    };
                    skip = self.bare(&value, after, context)?;
                }
                ComposedPart::Quoted(quote, inner) => self.quoted(*quote, inner, context)?,
            }
        }
        Ok(())
    }

    /// Writes a value outside of quotes, and returns how much of the text `after` it was used.
    fn bare(
        &mut self,
        value: &Sourced,
        after: &str,
        context: &mut VariableContext<'_>,
    ) -> Result<usize, Unresolved> {
        if !value.is_foreign {
            let text = compact_text(&value.value, context.budget())?;
            self.push(&text, context)?;
            return Ok(0);
        }
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let index = match &value.value {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        match (index, &value.value) {
            (Some(index), _) if self.out.trim_end().ends_with('[') && after.trim_start().starts_with(']') => {
                self.push(&index.to_string(), context)?;
                Ok(0)
            }
            (_, Value::String(text)) => {
                // Adjacent text is part of the same name: `prefix_{{ x }}`.
                let start = self.out.trim_end_matches(is_name).len();
                let before = self.out.split_off(start);
                let used = after.len() - after.trim_start_matches(is_name).len();
                self.is_tainted |= !self.out.trim_end().ends_with('.');
                self.push("\"", context)?;
                for part in [before.as_str(), text, after.get(..used).unwrap_or_default()] {
                    let part = escape_json_string(part, context.budget())?;
                    self.push(&part, context)?;
                }
                self.push("\"", context)?;
                Ok(used)
            }
            (_, value) => {
                self.is_tainted = true;
                self.literal(value, context)?;
                Ok(0)
            }
        }
    }

    fn literal(&mut self, value: &Value, context: &mut VariableContext<'_>) -> Result<(), Unresolved> {
        let json = json_of_value(value, context.budget())?;
        self.push("`", context)?;
        self.push(&json, context)?;
        self.push("`", context)
    }

    fn quoted(
        &mut self,
        quote: Quote,
        parts: &[ComposedPart],
        context: &mut VariableContext<'_>,
    ) -> Result<(), Unresolved> {
        let is_key = quote == Quote::Name && self.out.trim_end().ends_with('.');
        let (inner, is_foreign) = quoted_text(quote, parts, context)?;
        self.is_tainted |= is_foreign && !is_key;
        match quote {
            Quote::Raw => self.literal(&Value::from(inner), context),
            Quote::Name => self.push(&format!("\"{inner}\""), context),
            Quote::Literal => self.push(&format!("`{inner}`"), context),
        }
    }
}

/// Returns the text of `parts` as it is written, if there are no variables in it.
fn constant_text(parts: &[ComposedPart]) -> Option<String> {
    let text = |part: &ComposedPart| match part {
        ComposedPart::Text(text) => Some(text.to_string()),
        ComposedPart::Variable(_) | ComposedPart::Quoted(..) => None,
    };
    parts.iter().map(text).collect()
}

/// Returns whether a text in `parts` is written with escapes.
fn has_escapes(parts: &[ComposedPart]) -> bool {
    parts.iter().any(|part| matches!(part, ComposedPart::Text(text) if text.contains('\\')))
}

/// Returns what is between quotes, and whether something in it is not the author's.
fn quoted_text(
    quote: Quote,
    parts: &[ComposedPart],
    context: &mut VariableContext<'_>,
) -> Result<(String, bool), Unresolved> {
    let (mut inner, mut is_foreign, mut is_in_string) = (String::new(), false, false);
    for part in parts {
        let part = match part {
            ComposedPart::Text(text) if quote == Quote::Raw => Text::from(text.replace("\\'", "'")),
            ComposedPart::Text(text) => {
                is_in_string = ends_in_string(text, is_in_string);
                text.clone()
            }
            ComposedPart::Variable(variable) => {
                let value = variable.resolve(context)?;
                is_foreign |= value.is_foreign;
                inserted(&value.value, quote, is_in_string, context.budget())?
            }
            ComposedPart::Quoted(..) => continue,
        };
        context.budget().produce(part.len())?;
        inner.push_str(&part);
    }
    Ok((inner, is_foreign))
}

/// Returns a value as text between quotes.
fn inserted(value: &Value, quote: Quote, is_in_string: bool, budget: &mut Budget) -> Result<Text, Exhausted> {
    let text = |budget: &mut Budget| compact_text(value, budget);
    match quote {
        Quote::Raw => text(budget),
        Quote::Name => escape_json_string(&text(budget)?, budget).map(Text::from),
        Quote::Literal if is_in_string => {
            let escaped = escape_json_string(&text(budget)?, budget)?;
            without_backquotes(escaped, budget).map(Text::from)
        }
        Quote::Literal => json_of(value, budget).map(Text::from),
    }
}

/// Returns a value as JSON without backquotes; a text that is JSON is returned unchanged.
fn json_of(value: &Value, budget: &mut Budget) -> Result<String, Exhausted> {
    match value {
        Value::String(text) => match bounded::parse_bounded_json(text, budget)? {
            Ok(value) => json_of_value(&value, budget),
            Err(_) => json_of_value(value, budget),
        },
        value => json_of_value(value, budget),
    }
}

/// Returns a value as JSON without backquotes.
fn json_of_value(value: &Value, budget: &mut Budget) -> Result<String, Exhausted> {
    let json = bounded::to_json(value, budget)?;
    without_backquotes(json, budget)
}

/// Returns whether a string is open at the end of this piece of JSON.
fn ends_in_string(json: &str, mut is_in_string: bool) -> bool {
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => is_in_string = !is_in_string,
            _ => {}
        }
    }
    is_in_string
}

/// Returns `text` escaped for a JSON string.
fn escape_json_string(text: &str, budget: &mut Budget) -> Result<String, Exhausted> {
    let mut out = BoundedText::new(budget);
    out.push_escaped(text)?;
    Ok(out.into_string())
}

/// Returns JSON without backquotes.
fn without_backquotes(json: String, budget: &mut Budget) -> Result<String, Exhausted> {
    if !json.contains('`') {
        return Ok(json);
    }
    let mut out = BoundedText::new(budget);
    for (i, part) in json.split('`').enumerate() {
        out.push_str(if i > 0 { "\\u0060" } else { "" })?;
        out.push_str(part)?;
    }
    Ok(out.into_string())
}

fn parse_composed_parts(
    text: &str,
    at: usize,
    parts: &[scan::QueryPart],
    place: &TemplatePath,
    functions: &JmesPathFunctions,
    problems: &mut Vec<BadExpression>,
) -> Vec<ComposedPart> {
    let slice = |range: &std::ops::Range<usize>| text.get(range.clone()).unwrap_or_default();
    let mut read = Vec::with_capacity(parts.len());
    for part in parts {
        read.push(match part {
            scan::QueryPart::Text(range) => ComposedPart::Text(slice(range).into()),
            scan::QueryPart::Variable(range) => ComposedPart::Variable(TemplateVariable::parse_braced(
                slice(range),
                at + range.start,
                place,
                functions,
                problems,
            )),
            scan::QueryPart::Quoted(quote, inner) => ComposedPart::Quoted(
                *quote,
                parse_composed_parts(text, at, inner, place, functions, problems),
            ),
        });
    }
    read
}

/// Returns the inputs of a composed expression when its variables are names.
fn presumed_roots(parts: &[ComposedPart], functions: &JmesPathFunctions) -> PathRoots {
    fn write(parts: &[ComposedPart], out: &mut String) {
        for part in parts {
            match part {
                ComposedPart::Text(text) => out.push_str(text),
                ComposedPart::Variable(_) if out.trim_end().ends_with('[') => out.push('0'),
                ComposedPart::Variable(_) => out.push('x'),
                ComposedPart::Quoted(quote, inner) => {
                    let quote = quote.mark();
                    out.push(quote);
                    match quote {
                        '`' => out.push('1'),
                        _ => write(inner, out),
                    }
                    out.push(quote);
                }
            }
        }
    }
    let mut text = String::new();
    write(parts, &mut text);
    JmesPathExpression::parse_as(&text, functions, JmesPathLanguage::Forgiving)
        .map(|e| e.roots())
        .unwrap_or_default()
}

fn rebased_parts(parts: &[ComposedPart], to: PodTemplatePath, below: &str) -> Vec<ComposedPart> {
    let rebased = |part: &ComposedPart| match part {
        ComposedPart::Text(text) => ComposedPart::Text(text.clone()),
        ComposedPart::Variable(variable) => ComposedPart::Variable(variable.rebased(to, below)),
        ComposedPart::Quoted(quote, inner) => ComposedPart::Quoted(*quote, rebased_parts(inner, to, below)),
    };
    parts.iter().map(rebased).collect()
}

fn collect_parts<'v>(parts: &'v [ComposedPart], all: &mut Vec<&'v TemplateVariable>) {
    for part in parts {
        match part {
            ComposedPart::Text(_) => {}
            ComposedPart::Variable(variable) => variable.collect(all),
            ComposedPart::Quoted(_, inner) => collect_parts(inner, all),
        }
    }
}
