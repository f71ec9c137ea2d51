//! JSON values with expressions in their strings and keys.

use std::collections::BTreeSet;

use kubewright_value::json::MAX_DEPTH;
use kubewright_value::{Map, Position, Step, Text, Value};

use super::RenderedValue;
use super::error::{InterpolationProblem, RenderError};
use super::output::{charge_text_bytes, limit_error};
use super::text_template::TextTemplate;
use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelErrorKind, CelProgram};

/// The problems of one template that are reported.
const MAX_PROBLEMS: usize = 100;

/// A JSON value whose expressions are compiled.
#[derive(Debug, Clone)]
pub struct ValueTemplate {
    root: TemplateNode,
    names: Box<[Text]>,
}

#[derive(Debug, Clone)]
enum TemplateNode {
    /// A part without expressions.
    Constant(Value),
    Text(TextTemplate),
    List(Box<[TemplateNode]>),
    Map(Box<[TemplateEntry]>),
}

#[derive(Debug, Clone)]
struct TemplateEntry {
    /// The key as written.
    written: Text,
    /// The template of the key, if it has expressions.
    key: Option<TextTemplate>,
    value: TemplateNode,
}

impl ValueTemplate {
    /// Compiles all expressions in the strings and keys of `value`.
    ///
    /// An expression that does not compile is a problem, and rendering its part is an error.
    #[must_use]
    pub fn compile(value: &Value, environment: &CelEnvironment) -> (Self, Vec<InterpolationProblem>) {
        let mut compiling =
            TemplateCompiler { environment, path: Vec::new(), problems: Vec::new(), names: BTreeSet::new() };
        let root = compiling.node(value);
        let names = compiling.names.into_iter().collect();
        (Self { root, names }, compiling.problems)
    }

    /// Returns the value, if there is no expression in it.
    #[must_use]
    pub fn constant(&self) -> Option<&Value> {
        match &self.root {
            TemplateNode::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the variables that the expressions read, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(Text::as_str)
    }

    /// Calls `each` with every expression: the path of its string, whether that is a key, and its position in it.
    pub fn visit<'t>(&'t self, mut each: impl FnMut(&[Step], bool, &'t CelProgram, Position)) {
        visit_programs(&self.root, &mut Vec::new(), &mut each);
    }

    /// Renders the template. Omitted entries and items are left out.
    ///
    /// # Errors
    /// When an expression fails, two keys become equal, a key is not a string, or a limit is reached.
    pub fn render<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        cost: &mut CelCost,
    ) -> Result<RenderedValue, RenderError> {
        let value = self.root.render(bindings, 0, cost).map_err(|error| error.finished())?;
        Ok(value.map_or(RenderedValue::Omitted, RenderedValue::Value))
    }
}

struct TemplateCompiler<'e> {
    environment: &'e CelEnvironment,
    path: Vec<Step>,
    problems: Vec<InterpolationProblem>,
    names: BTreeSet<Text>,
}

impl TemplateCompiler<'_> {
    fn node(&mut self, value: &Value) -> TemplateNode {
        if self.path.len() > MAX_DEPTH {
            let error = RenderError::too_deep();
            self.report(vec![InterpolationProblem {
                path: Vec::new(),
                is_key: false,
                message: error.message,
                position: Position::START,
                length: 1,
            }]);
            return TemplateNode::Constant(Value::Null);
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                let nodes: Vec<TemplateNode> = items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| self.under(Step::Index(index), |this| this.node(item)))
                    .collect();
                if nodes.iter().all(TemplateNode::is_constant) {
                    return TemplateNode::Constant(value.clone());
                }
                TemplateNode::List(nodes.into())
            }
            Value::Object(map) => {
                let entries: Vec<TemplateEntry> = map
                    .iter()
                    .map(|(key, value)| self.under(Step::Key(key.clone()), |this| this.entry(key, value)))
                    .collect();
                if entries.iter().all(|entry| entry.key.is_none() && entry.value.is_constant()) {
                    return TemplateNode::Constant(value.clone());
                }
                TemplateNode::Map(entries.into())
            }
            scalar => TemplateNode::Constant(scalar.clone()),
        }
    }

    fn entry(&mut self, key: &Text, value: &Value) -> TemplateEntry {
        let (template, mut problems) = TextTemplate::compile(key, self.environment);
        problems.iter_mut().for_each(|problem| problem.is_key = true);
        self.report(problems);
        self.read(&template);
        TemplateEntry {
            written: key.clone(),
            key: template.plain().is_none().then_some(template),
            value: self.node(value),
        }
    }

    fn text(&mut self, text: &Text) -> TemplateNode {
        let (template, problems) = TextTemplate::compile(text, self.environment);
        self.report(problems);
        self.read(&template);
        match template.plain() {
            Some(_) => TemplateNode::Constant(Value::String(text.clone())),
            None => TemplateNode::Text(template),
        }
    }

    fn read(&mut self, template: &TextTemplate) {
        for (program, _) in template.programs() {
            self.names.extend(program.variable_names().map(Text::new));
        }
    }

    fn report(&mut self, problems: Vec<InterpolationProblem>) {
        let left = MAX_PROBLEMS.saturating_sub(self.problems.len());
        let located =
            problems.into_iter().map(|problem| InterpolationProblem { path: self.path.clone(), ..problem });
        self.problems.extend(located.take(left));
    }

    fn under<T>(&mut self, step: Step, work: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let made = work(self);
        self.path.pop();
        made
    }
}

impl TemplateNode {
    fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }

    /// Returns the value of a node at nesting level `depth`; nothing when it is omitted.
    fn render<'a>(
        &'a self,
        bindings: &CelBindings<'a>,
        depth: usize,
        cost: &mut CelCost,
    ) -> Result<Option<Value>, Box<RenderError>> {
        cost.make(1).map_err(limit_error)?;
        match self {
            Self::Constant(value) => Ok(Some(value.clone())),
            Self::Text(template) => template.value(bindings, depth, cost),
            Self::List(items) => {
                let mut kept = Vec::with_capacity(items.len());
                for (index, item) in items.iter().enumerate() {
                    let value = item.render(bindings, depth + 1, cost);
                    kept.extend(value.map_err(|error| error.under(Step::Index(index)))?);
                }
                Ok(Some(Value::array(kept)))
            }
            Self::Map(entries) => {
                let mut kept = Map::with_capacity(entries.len());
                for entry in entries {
                    entry
                        .render(&mut kept, bindings, depth + 1, cost)
                        .map_err(|error| error.under(Step::Key(entry.written.clone())))?;
                }
                Ok(Some(Value::object(kept)))
            }
        }
    }
}

impl TemplateEntry {
    fn render<'a>(
        &'a self,
        kept: &mut Map,
        bindings: &CelBindings<'a>,
        depth: usize,
        cost: &mut CelCost,
    ) -> Result<(), Box<RenderError>> {
        let key = match &self.key {
            None => self.written.clone(),
            Some(template) => template.key(bindings, cost).map_err(mark_as_key)?,
        };
        let Some(value) = self.value.render(bindings, depth, cost)? else { return Ok(()) };
        charge_text_bytes(key.len(), cost)?;
        // Either value may be the intended one, so neither is dropped silently.
        if kept.contains_key(&key) {
            let message = format!("another key of this map is `{key}` too");
            return Err(mark_as_key(Box::new(RenderError::new(CelErrorKind::Value, message))));
        }
        kept.insert(key, value);
        Ok(())
    }
}

fn mark_as_key(mut error: Box<RenderError>) -> Box<RenderError> {
    error.is_key = true;
    error
}

fn visit_programs<'t>(
    node: &'t TemplateNode,
    path: &mut Vec<Step>,
    each: &mut impl FnMut(&[Step], bool, &'t CelProgram, Position),
) {
    match node {
        TemplateNode::Constant(_) => {}
        TemplateNode::Text(template) => {
            template.programs().for_each(|(program, at)| each(path, false, program, at));
        }
        TemplateNode::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                visit_programs(item, path, each);
                path.pop();
            }
        }
        TemplateNode::Map(entries) => {
            for entry in entries {
                path.push(Step::Key(entry.written.clone()));
                let keys = entry.key.iter().flat_map(TextTemplate::programs);
                keys.for_each(|(program, at)| each(path, true, program, at));
                visit_programs(&entry.value, path, each);
                path.pop();
            }
        }
    }
}
