//! Values with variables in their texts and keys, such as `{name: "{{ request.object.metadata.name }}-x"}`.
//!
//! A template is read once. A text that is one variable becomes its value, whatever type that has; a
//! variable inside a longer text becomes text. Values of variables are never read for variables again.

mod compact;
mod compiled;
mod composed;
mod hidden;
mod place;
mod rebase;
mod references;
mod scan;
mod variable;

use kubewright_engine::EvalError;
use kubewright_jmespath::{JmesPathFunctions, JmesPathParseErrorKind};
use kubewright_value::{Map, Position, Step, Text, Value};

pub(super) use compact::compact_text;
pub(super) use compiled::{CompiledQuery, QueryAlternatives};
pub(super) use hidden::TextVariables;
pub(super) use place::TemplatePath;
use scan::TextSpan;
pub(super) use variable::TemplateVariable;

use super::context::{Sourced, Unresolved, VariableContext};
use super::tainted::{Tainted, TaintedPart};
use kubewright_k8s::PodTemplatePath;

/// A value with variables in it.
#[derive(Debug, Clone)]
pub struct VariableTemplate {
    root: TemplateTree,
}

/// An expression without braces, which may contain variables.
#[derive(Debug, Clone)]
pub(super) struct VariableQuery {
    variable: TemplateVariable,
}

/// Something wrong in a template.
#[derive(Debug, Clone)]
pub struct VariableProblem {
    /// The path of the text in the value; the path of a key ends with the key.
    pub path: Vec<Step>,
    /// Whether the text is a key.
    pub is_key: bool,
    /// The message.
    pub message: String,
    /// Where in the text.
    pub position: Position,
    /// How many characters it spans.
    pub length: u32,
    /// The kind of the problem.
    pub kind: TemplateProblemKind,
}

/// The kinds of [`VariableProblem`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateProblemKind {
    /// Not an expression, an unknown function, or a wrong number of arguments.
    Expression(JmesPathParseErrorKind),
    /// A reference `$(…)` that leads nowhere.
    Reference,
}

#[derive(Debug, Clone)]
enum TemplateTree {
    /// Without variables.
    Constant(Value),
    /// A text that is one variable.
    Whole(TemplateVariable),
    Text(Vec<TemplatePiece>),
    List(Vec<TemplateTree>),
    Map(Vec<(Text, TemplateTree, TemplateTree)>),
    /// A text with a reference that leads nowhere.
    Broken(Text),
}

#[derive(Debug, Clone)]
enum TemplatePiece {
    Text(Text),
    Variable(TemplateVariable),
}

impl VariableTemplate {
    /// Returns the empty text.
    pub(super) fn empty() -> Self {
        Self { root: TemplateTree::Constant(Value::from("")) }
    }

    /// Reads `value`. Its problems are also the errors of `VariableTemplate::resolve`.
    #[must_use]
    pub fn parse(value: &Value, functions: &JmesPathFunctions) -> (Self, Vec<VariableProblem>) {
        Self::parse_at(value, functions, TemplateHome::default())
    }

    /// Reads `value`, which is at `home` in its rule.
    pub(super) fn parse_at(
        value: &Value,
        functions: &JmesPathFunctions,
        home: TemplateHome<'_>,
    ) -> (Self, Vec<VariableProblem>) {
        let mut reader =
            VariableReader { document: value, functions, home, path: Vec::new(), problems: Vec::new() };
        let root = reader.node(value);
        (Self { root }, reader.problems)
    }

    /// Returns the value, if no variables are in it.
    #[must_use]
    pub fn constant(&self) -> Option<&Value> {
        match &self.root {
            TemplateTree::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Returns the query of a text that is one variable without others in it.
    pub(super) fn sole_query(&self) -> Option<&CompiledQuery> {
        match &self.root {
            TemplateTree::Whole(variable) => variable.fixed_query(),
            _ => None,
        }
    }

    /// Returns the pieces of a text, each with whether it is a variable; nothing for other values.
    #[must_use]
    pub fn pieces(&self) -> Option<Vec<(&str, bool)>> {
        match &self.root {
            TemplateTree::Constant(Value::String(text)) => Some(vec![(text.as_str(), false)]),
            TemplateTree::Whole(variable) => Some(vec![(variable.text().as_str(), true)]),
            TemplateTree::Text(pieces) => {
                let all = pieces.iter().map(|piece| match piece {
                    TemplatePiece::Text(text) => (text.as_str(), false),
                    TemplatePiece::Variable(variable) => (variable.text().as_str(), true),
                });
                Some(all.collect())
            }
            TemplateTree::Constant(_)
            | TemplateTree::List(_)
            | TemplateTree::Map(_)
            | TemplateTree::Broken(_) => None,
        }
    }

    /// Returns the value with its variables resolved.
    pub(super) fn resolve(&self, context: &mut VariableContext<'_>) -> Result<Tainted, Unresolved> {
        self.root.resolve(context)
    }

    /// Returns the value as text.
    pub(super) fn resolve_text(&self, context: &mut VariableContext<'_>) -> Result<Text, Unresolved> {
        match &self.root {
            TemplateTree::Constant(value) => Ok(compact_text(value, context.budget())?),
            root => {
                let mixed = root.resolve(context)?;
                Ok(compact_text(&mixed.plain(), context.budget())?)
            }
        }
    }

    /// Returns the same template for the objects that make Pods.
    pub(super) fn rebased(&self, to: PodTemplatePath) -> Self {
        Self { root: self.root.rebased(to, "") }
    }

    /// Returns the same template for the objects that make Pods. It is a pattern that is put `below` the template
    /// of the Pod, and may be the `item` of a list of patterns; paths in messages show both.
    pub(super) fn rebased_below(
        &self,
        to: PodTemplatePath,
        below: PodTemplatePath,
        item: Option<usize>,
    ) -> Self {
        let mut path = item.map_or_else(String::new, |item| format!("/{item}"));
        path.extend(below.keys().iter().flat_map(|key| ["/", key]));
        Self { root: self.root.rebased(to, &path) }
    }

    /// Returns all variables, those in variables included.
    pub(super) fn variables(&self) -> Vec<&TemplateVariable> {
        let mut all = Vec::new();
        self.root.collect(&mut all);
        all
    }
}

impl VariableQuery {
    /// Reads the expression `text`.
    pub(super) fn parse(text: &str, functions: &JmesPathFunctions) -> (Self, Vec<VariableProblem>) {
        let mut bad = Vec::new();
        let place = TemplatePath::default();
        let variable = TemplateVariable::parse(text, 0, &place, functions, &mut bad);
        let problems = bad.into_iter().map(|bad| variable_problem(text, &place, bad)).collect();
        (Self { variable }, problems)
    }

    /// Returns the expression, as its author wrote it.
    pub(super) fn text(&self) -> &Text {
        self.variable.text()
    }

    /// Returns the same expression for the objects that make Pods.
    pub(super) fn rebased(&self, to: PodTemplatePath) -> Self {
        Self { variable: self.variable.rebased(to, "") }
    }

    /// Returns its value.
    pub(super) fn find(&self, context: &mut VariableContext<'_>) -> Result<Sourced, Unresolved> {
        self.variable.check_whole(context)?;
        self.variable.find(context)
    }

    /// Returns its value in `value`; its variables are those of `context`.
    pub(super) fn find_in(
        &self,
        value: &Sourced,
        context: &mut VariableContext<'_>,
    ) -> Result<Sourced, Unresolved> {
        self.variable.check_whole(context)?;
        self.variable.find_in(value, context)
    }

    /// Returns what it was compiled to, if no variables are in it.
    pub(super) fn fixed_query(&self) -> Option<&CompiledQuery> {
        self.variable.fixed_query()
    }

    /// Returns all variables: those in the expression, and the expression itself as the last one.
    pub(super) fn variables(&self) -> Vec<&TemplateVariable> {
        let mut all = Vec::new();
        self.variable.collect(&mut all);
        all
    }

    /// Returns the variables in the expression.
    pub(super) fn inner_variables(&self) -> Vec<&TemplateVariable> {
        let mut all = self.variables();
        all.pop();
        all
    }
}

/// Where a template is in its rule, if that is more than a value of its own.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TemplateHome<'h> {
    /// What paths in messages begin with: `/mutate/patchStrategicMerge`.
    pub(super) prefix: &'static str,
    /// Whether messages show that alone, because the value was read from a text.
    pub(super) is_text: bool,
    /// What `@` is below: `request.object`, or nothing for the older meaning that only patterns have.
    pub(super) at: Option<&'static str>,
    /// The paths of texts that stay texts, also where they are one variable.
    pub(super) texts: &'h [Vec<Step>],
}

struct VariableReader<'r> {
    document: &'r Value,
    functions: &'r JmesPathFunctions,
    home: TemplateHome<'r>,
    path: Vec<Step>,
    problems: Vec<VariableProblem>,
}

impl VariableReader<'_> {
    fn node(&mut self, value: &Value) -> TemplateTree {
        match value {
            Value::String(text) => self.text(text, false),
            Value::Array(items) => {
                let nodes: Vec<TemplateTree> =
                    items.iter().enumerate().map(|(i, item)| self.below(Step::Index(i), item)).collect();
                let is_same = nodes.iter().zip(items.iter()).all(|(node, item)| node.is_constant(item));
                if is_same {
                    TemplateTree::Constant(value.clone())
                } else {
                    TemplateTree::List(nodes).folded()
                }
            }
            Value::Object(map) => {
                let mut entries = Vec::with_capacity(map.len());
                for (key, item) in map.iter() {
                    self.path.push(Step::Key(key.clone()));
                    let name = self.text(key, true);
                    self.path.pop();
                    entries.push((key.clone(), name, self.below(Step::Key(key.clone()), item)));
                }
                let is_same = entries.iter().zip(map.values()).all(|((key, name, node), item)| {
                    node.is_constant(item)
                        && matches!(name, TemplateTree::Constant(Value::String(name)) if name == key)
                });
                if is_same {
                    TemplateTree::Constant(value.clone())
                } else {
                    TemplateTree::Map(entries).folded()
                }
            }
            scalar => TemplateTree::Constant(scalar.clone()),
        }
    }

    fn below(&mut self, step: Step, value: &Value) -> TemplateTree {
        self.path.push(step);
        let node = self.node(value);
        self.path.pop();
        node
    }

    fn text(&mut self, text: &Text, is_key: bool) -> TemplateTree {
        if !text.contains("{{") && !text.contains("$(") {
            return TemplateTree::Constant(Value::String(text.clone()));
        }
        let mut place = TemplatePath::of(&self.path, is_key);
        if !self.home.prefix.is_empty() {
            let below = if self.home.is_text { "" } else { place.text.as_str() };
            place.text = format!("{}{below}", self.home.prefix).into();
        }
        let text = match references::resolve_references(text, self.document, &place) {
            Ok(text) => text,
            Err(broken) => {
                self.problems.push(VariableProblem {
                    path: place.path,
                    is_key,
                    message: format!("`{}` leads to no text", broken.reference),
                    position: Position::of(text, broken.at),
                    length: u32::try_from(broken.reference.chars().count()).unwrap_or(1),
                    kind: TemplateProblemKind::Reference,
                });
                return TemplateTree::Broken(broken.reason.into());
            }
        };
        let spans = scan::spans(&text);
        match spans.as_slice() {
            [] => TemplateTree::Constant(Value::String(text)),
            [TextSpan::Text(plain)] => TemplateTree::Constant(plain.as_str().into()),
            [TextSpan::Variable(range)] if !self.home.texts.contains(&self.path) => {
                TemplateTree::Whole(self.variable(&text, range, &place))
            }
            spans => TemplateTree::Text(
                spans
                    .iter()
                    .map(|span| match span {
                        TextSpan::Text(plain) => TemplatePiece::Text(plain.into()),
                        TextSpan::Variable(range) => {
                            TemplatePiece::Variable(self.variable(&text, range, &place))
                        }
                    })
                    .collect(),
            ),
        }
    }

    fn variable(
        &mut self,
        text: &str,
        range: &std::ops::Range<usize>,
        place: &TemplatePath,
    ) -> TemplateVariable {
        let mut bad = Vec::new();
        let braced = text.get(range.clone()).unwrap_or_default();
        let variable = if is_at(braced) {
            let same = match self.home.at {
                Some(root) => same_path(root, &self.path),
                None => at_path(&place.text),
            };
            TemplateVariable::parse(&same, range.start, place, self.functions, &mut bad)
        } else {
            TemplateVariable::parse_braced(braced, range.start, place, self.functions, &mut bad)
        };
        self.problems.extend(bad.into_iter().map(|bad| variable_problem(text, place, bad)));
        variable
    }
}

fn variable_problem(text: &str, place: &TemplatePath, bad: variable::BadExpression) -> VariableProblem {
    let start = Position::of(text, bad.at);
    let position = match bad.error.position {
        Position { line: 1, column } => Position { column: start.column + column - 1, ..start },
        Position { line, column } => Position { line: start.line + line - 1, column },
    };
    VariableProblem {
        path: place.path.clone(),
        is_key: place.is_key,
        message: bad.error.message,
        position,
        length: bad.error.length,
        kind: TemplateProblemKind::Expression(bad.error.kind),
    }
}

fn is_at(braced: &str) -> bool {
    let inner = braced.trim_start_matches('{').trim_end_matches('}').trim();
    inner.strip_prefix('-').unwrap_or(inner).trim() == "@"
}

/// Returns the path in the object that `@` means in a text at `place`, of which two steps do not count.
fn at_path(place: &str) -> String {
    let mut steps: Vec<&str> = place.split('/').filter(|step| !step.is_empty()).collect();
    if let Some(foreach) = steps.iter().position(|step| *step == "foreach") {
        steps.drain(..=foreach);
    }
    let mut path = "request.object".to_owned();
    let steps = if steps.len() > 2 { steps.get(2..).unwrap_or_default() } else { &[] };
    for step in steps {
        match step.parse::<u64>() {
            Ok(_) => path.push_str(&format!("[{step}]")),
            Err(_) => push_field(&mut path, step),
        }
    }
    path
}

/// Returns the path below `root` that is the same as `path`, without its anchors.
fn same_path(root: &str, path: &[Step]) -> String {
    let mut same = root.to_owned();
    for step in path {
        match step {
            Step::Index(index) => same.push_str(&format!("[{index}]")),
            Step::Key(key) => push_field(&mut same, without_anchor(key)),
        }
    }
    same
}

/// Returns the key in an anchor, or the key itself.
fn without_anchor(key: &str) -> &str {
    let anchored = key.trim().trim_start_matches(['+', '<', '=', 'X', '^']);
    anchored.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(key)
}

fn push_field(path: &mut String, name: &str) {
    let is_name = |text: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !text.starts_with(|c: char| c.is_ascii_digit())
    };
    path.push('.');
    match is_name(name) && !name.is_empty() {
        true => path.push_str(name),
        false => path.push_str(&kubewright_value::json::quote(name)),
    }
}

impl TemplateTree {
    /// Returns whether this is nothing but `value`.
    fn is_constant(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Constant(Value::String(made)), Value::String(given)) => made == given,
            (Self::Constant(made @ (Value::Array(_) | Value::Object(_))), given) => made.is_same(given),
            (Self::Constant(_), _) => true,
            _ => false,
        }
    }

    /// Returns this as a constant, if all that is in it is constant.
    fn folded(self) -> Self {
        let constant = |node: &Self| match node {
            Self::Constant(value) => Some(value.clone()),
            _ => None,
        };
        let folded = match &self {
            Self::List(nodes) => nodes.iter().map(constant).collect::<Option<Vec<Value>>>().map(Value::array),
            Self::Map(entries) => entries
                .iter()
                .try_fold(Map::new(), |mut map, (_, name, node)| {
                    let Self::Constant(Value::String(name)) = name else { return None };
                    map.insert(name.clone(), constant(node)?);
                    Some(map)
                })
                .map(Value::object),
            _ => None,
        };
        folded.map_or(self, Self::Constant)
    }

    fn resolve(&self, context: &mut VariableContext<'_>) -> Result<Tainted, Unresolved> {
        match self {
            Self::Constant(value) => Ok(Tainted::Trusted(value.clone())),
            Self::Whole(variable) => variable.resolve(context).map(Sourced::into_mixed),
            Self::Text(pieces) => resolve_pieces(pieces, context),
            Self::Broken(reason) => Err(Unresolved::error(EvalError::new(reason.as_str()))),
            Self::List(nodes) => {
                let items: Result<Vec<Tainted>, _> = nodes.iter().map(|node| node.resolve(context)).collect();
                Ok(tainted_list(items?))
            }
            Self::Map(entries) => {
                let mut made = Vec::with_capacity(entries.len());
                for (key, name, node) in entries {
                    made.push((name.resolve_key(key, context)?, node.resolve(context)?));
                }
                Ok(tainted_map(made))
            }
        }
    }

    /// Returns the parts of a key; a variable that is null leaves it as it is.
    fn resolve_key(
        &self,
        key: &Text,
        context: &mut VariableContext<'_>,
    ) -> Result<Vec<TaintedPart>, Unresolved> {
        let own = |text: &Text| vec![TaintedPart { text: text.clone(), is_own: true }];
        let found = match self {
            Self::Constant(Value::String(text)) => return Ok(own(text)),
            node => node.resolve(context)?,
        };
        if let Some(parts) = found.parts() {
            return Ok(parts.into_owned());
        }
        if found.plain().is_null() {
            return Ok(own(key));
        }
        let message = format!("expected string after substituting variables in key \"{key}\"");
        Err(Unresolved::error(EvalError::new(message)))
    }

    fn rebased(&self, to: PodTemplatePath, below: &str) -> Self {
        match self {
            Self::Constant(_) | Self::Broken(_) => self.clone(),
            Self::Whole(variable) => Self::Whole(variable.rebased(to, below)),
            Self::Text(pieces) => {
                let rebased = |piece: &TemplatePiece| match piece {
                    TemplatePiece::Text(text) => TemplatePiece::Text(text.clone()),
                    TemplatePiece::Variable(variable) => TemplatePiece::Variable(variable.rebased(to, below)),
                };
                Self::Text(pieces.iter().map(rebased).collect())
            }
            Self::List(nodes) => Self::List(nodes.iter().map(|node| node.rebased(to, below)).collect()),
            Self::Map(entries) => {
                let rebased = |(key, name, node): &(Text, Self, Self)| {
                    (key.clone(), name.rebased(to, below), node.rebased(to, below))
                };
                Self::Map(entries.iter().map(rebased).collect())
            }
        }
    }

    fn collect<'t>(&'t self, all: &mut Vec<&'t TemplateVariable>) {
        match self {
            Self::Constant(_) | Self::Broken(_) => {}
            Self::Whole(variable) => variable.collect(all),
            Self::Text(pieces) => {
                for piece in pieces {
                    if let TemplatePiece::Variable(variable) = piece {
                        variable.collect(all);
                    }
                }
            }
            Self::List(nodes) => nodes.iter().for_each(|node| node.collect(all)),
            Self::Map(entries) => {
                for (_, name, node) in entries {
                    name.collect(all);
                    node.collect(all);
                }
            }
        }
    }
}

/// How often a text may be copied before it has been compared: joined, shared, and as wildcards.
const TEXT_COPIES: usize = 3;

fn resolve_pieces(
    pieces: &[TemplatePiece],
    context: &mut VariableContext<'_>,
) -> Result<Tainted, Unresolved> {
    let mut parts = Vec::with_capacity(pieces.len());
    let mut length = 0_usize;
    for piece in pieces {
        let part = match piece {
            TemplatePiece::Text(text) => TaintedPart { text: text.clone(), is_own: true },
            TemplatePiece::Variable(variable) => {
                let found = variable.resolve(context)?;
                TaintedPart { text: compact_text(&found.value, context.budget())?, is_own: !found.is_foreign }
            }
        };
        length = length.saturating_add(part.text.len());
        parts.push(part);
    }
    context.budget().transient(|budget| budget.produce(length.saturating_mul(TEXT_COPIES)))?;
    context.charge(length)?;
    if parts.iter().all(|part| part.is_own) {
        return Ok(Tainted::Trusted(Value::String(super::tainted::join_parts(&parts))));
    }
    Ok(Tainted::Text(parts))
}

fn tainted_list(items: Vec<Tainted>) -> Tainted {
    if items.iter().all(|item| matches!(item, Tainted::Trusted(_))) {
        return Tainted::Trusted(Value::array(items.iter().map(|item| item.plain().into_owned()).collect()));
    }
    Tainted::List(items)
}

fn tainted_map(entries: Vec<(Vec<TaintedPart>, Tainted)>) -> Tainted {
    let is_own = |(key, value): &(Vec<TaintedPart>, Tainted)| {
        key.iter().all(|part| part.is_own) && matches!(value, Tainted::Trusted(_))
    };
    let is_own = entries.iter().all(is_own);
    let made = Tainted::Map(entries);
    if is_own { Tainted::Trusted(made.plain().into_owned()) } else { made }
}

#[cfg(test)]
pub(super) mod tests;
