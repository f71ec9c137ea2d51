//! A structure of texts with expressions in values and keys.

use std::collections::BTreeSet;

use kubewright_value::json::MAX_DEPTH;
use kubewright_value::{Map, Position, Step, Text, Value};

use super::Rendered;
use super::error::{Problem, RenderError};
use super::output::{counted_text, exceeded};
use super::text::TextTemplate;
use kubewright_cel::{Bindings, Cost, Environment, EvalErrorKind, Program};

/// How many problems of one template are told.
const MOST_PROBLEMS: usize = 100;

/// A JSON value in which the expressions are found and compiled.
#[derive(Debug, Clone)]
pub struct Template {
    root: Node,
    names: Box<[Text]>,
}

#[derive(Debug, Clone)]
enum Node {
    /// A part without expressions.
    Constant(Value),
    Text(TextTemplate),
    List(Box<[Node]>),
    Map(Box<[Entry]>),
}

#[derive(Debug, Clone)]
struct Entry {
    /// The key as it is written.
    written: Text,
    /// What makes the key, if it has expressions.
    key: Option<TextTemplate>,
    value: Node,
}

impl Template {
    /// Compiles all expressions in the texts and keys of `value`.
    ///
    /// What cannot be compiled is a problem, and an error when that part is rendered all the same.
    #[must_use]
    pub fn compile(value: &Value, environment: &Environment) -> (Self, Vec<Problem>) {
        let mut compiling =
            Compiling { environment, path: Vec::new(), problems: Vec::new(), names: BTreeSet::new() };
        let root = compiling.node(value);
        let names = compiling.names.into_iter().collect();
        (Self { root, names }, compiling.problems)
    }

    /// Returns the value, if there is no expression in it.
    #[must_use]
    pub fn constant(&self) -> Option<&Value> {
        match &self.root {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the variables that the expressions read, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(Text::as_str)
    }

    /// Calls `each` with every expression: the path of its text, whether that is a key, and where it starts in it.
    pub fn visit<'t>(&'t self, mut each: impl FnMut(&[Step], bool, &'t Program, Position)) {
        visit(&self.root, &mut Vec::new(), &mut each);
    }

    /// Renders the template. Entries and items that are marked as left out are left out.
    ///
    /// # Errors
    /// When an expression fails, two keys become equal, a key is no string, or it is too much.
    pub fn render<'a>(&'a self, bindings: &Bindings<'a>, cost: &mut Cost) -> Result<Rendered, RenderError> {
        let value = self.root.render(bindings, 0, cost).map_err(|error| error.finished())?;
        Ok(value.map_or(Rendered::Omitted, Rendered::Value))
    }
}

struct Compiling<'e> {
    environment: &'e Environment,
    path: Vec<Step>,
    problems: Vec<Problem>,
    names: BTreeSet<Text>,
}

impl Compiling<'_> {
    fn node(&mut self, value: &Value) -> Node {
        if self.path.len() > MAX_DEPTH {
            let error = RenderError::too_deep();
            self.report(vec![Problem {
                path: Vec::new(),
                is_key: false,
                message: error.message,
                position: Position::START,
                length: 1,
            }]);
            return Node::Constant(Value::Null);
        }
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                let nodes: Vec<Node> = items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| self.under(Step::Index(index), |this| this.node(item)))
                    .collect();
                if nodes.iter().all(Node::is_constant) {
                    return Node::Constant(value.clone());
                }
                Node::List(nodes.into())
            }
            Value::Object(map) => {
                let entries: Vec<Entry> = map
                    .iter()
                    .map(|(key, value)| self.under(Step::Key(key.clone()), |this| this.entry(key, value)))
                    .collect();
                if entries.iter().all(|entry| entry.key.is_none() && entry.value.is_constant()) {
                    return Node::Constant(value.clone());
                }
                Node::Map(entries.into())
            }
            scalar => Node::Constant(scalar.clone()),
        }
    }

    fn entry(&mut self, key: &Text, value: &Value) -> Entry {
        let (template, mut problems) = TextTemplate::compile(key, self.environment);
        problems.iter_mut().for_each(|problem| problem.is_key = true);
        self.report(problems);
        self.read(&template);
        Entry {
            written: key.clone(),
            key: template.plain().is_none().then_some(template),
            value: self.node(value),
        }
    }

    fn text(&mut self, text: &Text) -> Node {
        let (template, problems) = TextTemplate::compile(text, self.environment);
        self.report(problems);
        self.read(&template);
        match template.plain() {
            Some(_) => Node::Constant(Value::String(text.clone())),
            None => Node::Text(template),
        }
    }

    fn read(&mut self, template: &TextTemplate) {
        for (program, _) in template.programs() {
            self.names.extend(program.names().map(Text::new));
        }
    }

    fn report(&mut self, problems: Vec<Problem>) {
        let left = MOST_PROBLEMS.saturating_sub(self.problems.len());
        let located = problems.into_iter().map(|problem| Problem { path: self.path.clone(), ..problem });
        self.problems.extend(located.take(left));
    }

    fn under<T>(&mut self, step: Step, work: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(step);
        let made = work(self);
        self.path.pop();
        made
    }
}

impl Node {
    fn is_constant(&self) -> bool {
        matches!(self, Self::Constant(_))
    }

    /// Returns the value of a node that stands `depth` levels deep; nothing when it is left out.
    fn render<'a>(
        &'a self,
        bindings: &Bindings<'a>,
        depth: usize,
        cost: &mut Cost,
    ) -> Result<Option<Value>, Box<RenderError>> {
        cost.make(1).map_err(exceeded)?;
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

impl Entry {
    fn render<'a>(
        &'a self,
        kept: &mut Map,
        bindings: &Bindings<'a>,
        depth: usize,
        cost: &mut Cost,
    ) -> Result<(), Box<RenderError>> {
        let key = match &self.key {
            None => self.written.clone(),
            Some(template) => template.key(bindings, cost).map_err(of_key)?,
        };
        let Some(value) = self.value.render(bindings, depth, cost)? else { return Ok(()) };
        counted_text(key.len(), cost)?;
        // Which of two values was meant cannot be known, so none is dropped silently.
        if kept.contains_key(&key) {
            let message = format!("another key of this map is `{key}` too");
            return Err(of_key(Box::new(RenderError::new(EvalErrorKind::Value, message))));
        }
        kept.insert(key, value);
        Ok(())
    }
}

fn of_key(mut error: Box<RenderError>) -> Box<RenderError> {
    error.is_key = true;
    error
}

fn visit<'t>(
    node: &'t Node,
    path: &mut Vec<Step>,
    each: &mut impl FnMut(&[Step], bool, &'t Program, Position),
) {
    match node {
        Node::Constant(_) => {}
        Node::Text(template) => template.programs().for_each(|(program, at)| each(path, false, program, at)),
        Node::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                visit(item, path, each);
                path.pop();
            }
        }
        Node::Map(entries) => {
            for entry in entries {
                path.push(Step::Key(entry.written.clone()));
                let keys = entry.key.iter().flat_map(TextTemplate::programs);
                keys.for_each(|(program, at)| each(path, true, program, at));
                visit(&entry.value, path, each);
                path.pop();
            }
        }
    }
}
