//! From what is written to what runs, with everything that is wrong with it.

use std::collections::HashSet;

use kubewright_cel::{
    CelBindings, CelCompileError, CelCompileErrorKind, CelCost, CelEnvironment, CelKind, CelProgram,
    FieldRead,
};
use kubewright_engine::{Code, Diagnostic, DiagnosticLevel, nearest};
use kubewright_k8s::fields::{self, UnknownField};
use kubewright_value::{Document, Position, Step, Text};

use super::diagnostics as code;
use super::source::{NamedExpression, Validation};
use super::{Assertion, Condition, Expression, Variable, environment};
use kubewright_dialect_kit::fields::{Placed, within};

/// What may be spent on finding out whether an expression always has the same result.
const CONSTANT_LIMIT: u64 = 10_000;

/// What is wrong with an expression, or probably so.
#[derive(Debug)]
pub struct Problem {
    code: &'static Code,
    message: String,
    help: String,
    /// Where the text stands in the document.
    path: Vec<Step>,
    /// The place in the text and how long it is; the whole text where there is none.
    place: Option<(Position, u32)>,
}

impl Problem {
    /// Returns a problem of a whole text.
    #[must_use]
    pub fn about(code: &'static Code, path: &[Step], message: String, help: &str) -> Self {
        Self { code, message, help: help.to_owned(), path: path.to_vec(), place: None }
    }

    /// Returns it as everybody sees it, with its place in `document`.
    pub fn diagnostic(self, document: &Document) -> Diagnostic {
        let location = match self.place {
            Some((position, length)) => within(document, &self.path, position, length),
            None => document.locate(&self.path),
        };
        Diagnostic::new(self.code, self.message, location).help(self.help)
    }
}

/// Compiles the expressions of one policy and gathers what is wrong with them.
pub struct Compiler<'k> {
    /// What is wrong with the expressions so far.
    pub problems: Vec<Problem>,
    /// The variables that something reads.
    read: HashSet<String>,
    /// Whether there is something that must hold first.
    has_conditions: bool,
    /// The kinds that the policy is about, each a kind or `group/version/kind`.
    kinds: &'k [&'k str],
}

impl<'k> Compiler<'k> {
    /// Returns a compiler of expressions about objects of `kinds`.
    #[must_use]
    pub fn new(kinds: &'k [&'k str]) -> Self {
        Self { problems: Vec::new(), read: HashSet::new(), has_conditions: false, kinds }
    }

    /// Compiles variables, each of which may read those before it, and gives them to the expressions of `environments`.
    pub fn variables(
        &mut self,
        list: &[NamedExpression],
        environments: &mut [&mut CelEnvironment],
    ) -> Vec<Variable> {
        let mut variables: Vec<Variable> = Vec::with_capacity(list.len());
        let Some(before) = environments.first().map(|environment| (**environment).clone()) else {
            return variables;
        };
        for one in list {
            let Some(environment) = environments.first() else { break };
            let Some(mut variable) = self.variable(one, environment, &variables) else { continue };
            // As long as nobody else has an environment, adding to it copies nothing.
            variable.expression.program.share_environment(&before);
            let kind = variable.expression.program.result_type().clone();
            for environment in environments.iter_mut() {
                environment.add_variable(variable.name.clone(), kind.clone());
            }
            variables.push(variable);
        }
        if let Some(environment) = environments.first() {
            variables
                .iter_mut()
                .for_each(|variable| variable.expression.program.share_environment(environment));
        }
        variables
    }

    /// Compiles what must hold; `message` is for what has none of its own.
    pub fn assertions(
        &mut self,
        list: &[Validation],
        environment: &CelEnvironment,
        for_messages: &CelEnvironment,
        message: Option<&Placed<Text>>,
    ) -> Vec<Assertion> {
        let mut assertions = Vec::with_capacity(list.len());
        for one in list {
            // That nothing is allowed is a rule too, where conditions say for what.
            let refuses_all = self.has_conditions && one.expression.value.trim() == "false";
            let expression = match refuses_all {
                true => self.expression(&one.expression, environment, &[CelKind::Bool]),
                false => self.condition(&one.expression, environment),
            };
            let message_expression =
                one.message_expression.as_ref().and_then(|text| self.message(text, for_messages));
            let Some(expression) = expression else { continue };
            assertions.push(Assertion {
                expression,
                message: one
                    .message
                    .as_ref()
                    .or(message)
                    .map(|text| text.value.to_string())
                    .unwrap_or_default(),
                message_expression,
                about: Vec::new(),
            });
        }
        for text in message.into_iter().chain(list.iter().filter_map(|one| one.message.as_ref())) {
            self.braces(text);
        }
        assertions
    }

    /// Compiles what answers requests, with an answer of `kind` or with null.
    pub fn responses(
        &mut self,
        list: &[Validation],
        environment: &CelEnvironment,
        kind: CelKind,
    ) -> Vec<Assertion> {
        let mut responses = Vec::with_capacity(list.len());
        for one in list {
            if let Some(expression) = self.expression(&one.expression, environment, &[kind, CelKind::Null]) {
                let (message, message_expression, about) = (String::new(), None, Vec::new());
                responses.push(Assertion { expression, message, message_expression, about });
            }
        }
        responses
    }

    /// Compiles what is said beside a decision.
    pub fn annotations(&mut self, list: &[NamedExpression], environment: &CelEnvironment) -> Vec<Condition> {
        let mut annotations = Vec::with_capacity(list.len());
        for one in list {
            if let Some(expression) =
                self.expression(&one.expression, environment, &[CelKind::String, CelKind::Null])
            {
                if expression.program.result_type().kind == CelKind::Any {
                    let message = "the expression must give text or `null`, and may give anything".to_owned();
                    let help = "write `string(...)` around it";
                    self.problems.push(Problem::about(&code::CEL_TYPE, &one.expression.path, message, help));
                }
                annotations.push(Condition { name: one.name.value.clone(), expression });
            }
        }
        annotations
    }

    fn variable(
        &mut self,
        one: &NamedExpression,
        environment: &CelEnvironment,
        earlier: &[Variable],
    ) -> Option<Variable> {
        let expression = self.expression(&one.expression, environment, &[])?;
        let read = expression.program.variable_names();
        let depths = read.filter_map(|name| earlier.iter().find(|known| known.name == name));
        let depth = 1 + depths.map(|known| known.depth).max().unwrap_or(0);
        Some(Variable { name: format!("variables.{}", one.name.value).into(), expression, depth })
    }

    /// Compiles what must hold before anything else is asked.
    pub fn conditions(&mut self, list: &[NamedExpression], environment: &CelEnvironment) -> Vec<Condition> {
        self.has_conditions |= !list.is_empty();
        let mut conditions = Vec::with_capacity(list.len());
        for one in list {
            if let Some(expression) = self.condition(&one.expression, environment) {
                conditions.push(Condition { name: one.name.value.clone(), expression });
            }
        }
        conditions
    }

    /// Compiles what must be a yes or a no.
    fn condition(&mut self, text: &Placed<Text>, environment: &CelEnvironment) -> Option<Expression> {
        let expression = self.expression(text, environment, &[CelKind::Bool])?;
        if expression.program.result_type().kind == CelKind::Any {
            let message = "the expression must give `bool`, and may give anything".to_owned();
            let help = "compare it with something, such as `== true`";
            self.problems.push(Problem::about(&code::CEL_TYPE, &text.path, message, help));
        }
        if is_constant(&expression.program) {
            let message = "the expression reads nothing, and always has the same result".to_owned();
            let help = "ask about `object`, `oldObject` or `request`";
            self.problems.push(Problem::about(&code::CONSTANT_CEL, &text.path, message, help));
        }
        Some(expression)
    }

    /// Compiles a message. One that may be something else than text is never said, as in Kubernetes.
    fn message(&mut self, text: &Placed<Text>, environment: &CelEnvironment) -> Option<Expression> {
        let expression = self.expression(text, environment, &[CelKind::String])?;
        if expression.program.result_type().kind == CelKind::String {
            return Some(expression);
        }
        let message = "the message may be something else than text, and is never used".to_owned();
        let help = "write `string(...)` around it";
        self.problems.push(Problem::about(&code::UNUSED_CEL_MESSAGE, &text.path, message, help));
        None
    }

    /// Compiles what must be of one of the types `wanted`, or of any type when there are none.
    fn expression(
        &mut self,
        text: &Placed<Text>,
        environment: &CelEnvironment,
        wanted: &[CelKind],
    ) -> Option<Expression> {
        let program = match CelProgram::compile(text.value.trim_end(), environment) {
            Ok(program) => program,
            Err(errors) => {
                self.problems.extend(errors.into_iter().map(|error| problem(text, environment, error)));
                return None;
            }
        };
        self.read.extend(program.variable_names().map(str::to_owned));
        self.fields(text, &program);
        let found = program.result_type().kind;
        if !wanted.is_empty() && found != CelKind::Any && !wanted.contains(&found) {
            let names: Vec<String> = wanted.iter().map(|kind| format!("`{kind}`")).collect();
            let message = format!("the expression must give {}, and gives `{found}`", names.join(" or "));
            self.problems.push(Problem::about(&code::CEL_TYPE, &text.path, message, ""));
            return None;
        }
        Some(Expression { program, text: text.value.to_string(), path: text.path.clone() })
    }

    /// Reports fields that the request, namespaces and objects of the kinds that the rule is about never have.
    fn fields(&mut self, text: &Placed<Text>, program: &CelProgram) {
        for read in program.reads() {
            let Some((code, at, help)) = self.unknown(&read) else { continue };
            let (Some(field), Some(position)) = (read.path.get(at), read.positions.get(at)) else { continue };
            let before: Vec<&str> = read.path.iter().take(at).map(Text::as_str).collect();
            let owner = std::iter::once(read.variable.as_str()).chain(before).collect::<Vec<_>>().join(".");
            let problem = Problem {
                code,
                message: format!("`{owner}` has no field `{field}`"),
                help,
                path: text.path.clone(),
                place: Some((*position, u32::try_from(field.chars().count()).unwrap_or(1))),
            };
            let is_known = |known: &Problem| known.message == problem.message && known.place == problem.place;
            if !self.problems.iter().any(is_known) {
                self.problems.push(problem);
            }
        }
    }

    /// Returns the code, the step of the path that does not exist, and what may have been meant.
    fn unknown(&self, read: &FieldRead) -> Option<(&'static Code, usize, String)> {
        if let "object" | "oldObject" = read.variable.as_str() {
            let path: Vec<&str> = read.path.iter().map(Text::as_str).collect();
            // What one of the kinds has is not unknown.
            let found: Option<Vec<_>> = self.kinds.iter().map(|kind| known_fields(kind, &path)).collect();
            let unknown = found?.into_iter().next()?;
            let near = path.get(unknown.at).and_then(|step| nearest(step, unknown.known.iter().copied()));
            let help = near.map(|near| format!("did you mean `{near}`?")).unwrap_or_default();
            return Some((&code::UNKNOWN_OBJECT_FIELD, unknown.at, help));
        }
        let (at, known) = environment::unknown_field(&read.variable, &read.path)?;
        let field = read.path.get(at)?;
        let help = match (at, field.as_str()) {
            (0, "object" | "oldObject") => format!("the object is the variable `{field}`"),
            _ => match nearest(field, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", known.join(", ")),
            },
        };
        Some((&code::UNKNOWN_CEL_NAME, at, help))
    }

    /// Reports a message that looks as if something were put into it.
    fn braces(&mut self, text: &Placed<Text>) {
        if text.value.contains("{{") {
            let message = "nothing is put into the message of a rule in CEL".to_owned();
            let help = "compute it with `messageExpression`";
            self.problems.push(Problem::about(&code::CEL_BRACES, &text.path, message, help));
        }
    }

    /// Reports the variables that nothing has read. What an expression that cannot be compiled reads nobody knows.
    pub fn unused(&mut self, variables: &[NamedExpression]) {
        if self.problems.iter().any(|problem| problem.code.severity == DiagnosticLevel::Error) {
            return;
        }
        for one in variables {
            let name = format!("variables.{}", one.name.value);
            if !self.read.contains(&name) {
                let message = format!("`{name}` is never used");
                self.problems.push(Problem::about(&code::UNUSED_CEL_VARIABLE, &one.name.path, message, ""));
            }
        }
    }
}

/// What asks the world, or for the time, has no result without them.
fn is_constant(program: &CelProgram) -> bool {
    let mut cost = CelCost::new(CONSTANT_LIMIT);
    program.variable_names().next().is_none() && program.evaluate(&CelBindings::new(), &mut cost).is_ok()
}

fn problem(text: &Placed<Text>, environment: &CelEnvironment, error: CelCompileError) -> Problem {
    let mut problem = Problem {
        code: code_of(error.kind),
        message: error.message,
        help: String::new(),
        path: text.path.clone(),
        place: Some((error.position, error.length)),
    };
    if let Some(name) = variable_at(&text.value, error.position)
        && error.kind == CelCompileErrorKind::UnknownName
    {
        let all = environment.variables();
        let known = all.iter().filter_map(|known| known.strip_prefix("variables."));
        problem.message = format!("there is no variable `{name}` further up");
        problem.help = match nearest(name, known) {
            Some(near) => format!("did you mean `variables.{near}`?"),
            None => "give it in `variables`".to_owned(),
        };
    }
    problem
}

/// Returns the name behind `variables.` at a place in `text`.
fn variable_at(text: &str, position: Position) -> Option<&str> {
    let line = text.lines().nth(usize::try_from(position.line).ok()?.checked_sub(1)?)?;
    let (start, _) = line.char_indices().nth(usize::try_from(position.column).ok()?.checked_sub(1)?)?;
    let rest = line.get(start..)?.strip_prefix("variables.")?;
    let end = rest.find(|character: char| !character.is_alphanumeric() && character != '_');
    rest.get(..end.unwrap_or(rest.len()))
}

fn code_of(kind: CelCompileErrorKind) -> &'static Code {
    match kind {
        CelCompileErrorKind::UnknownName | CelCompileErrorKind::UnknownFunction => &code::UNKNOWN_CEL_NAME,
        CelCompileErrorKind::Arity | CelCompileErrorKind::Type => &code::CEL_TYPE,
        CelCompileErrorKind::Syntax | CelCompileErrorKind::Value => &code::BAD_CEL,
    }
}

/// Returns what is wrong with a path into objects of `kind`, as a policy names it; nothing where that is not known.
fn known_fields(kind: &str, path: &[&str]) -> Option<UnknownField> {
    let mut parts = kind.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let group = kind.split('/').next().filter(|_| kind.matches('/').count() > 1).unwrap_or_default();
    let is_own = !group.contains('.') || group.ends_with(".k8s.io");
    if is_own { fields::unknown_field(name, path) } else { None }
}
