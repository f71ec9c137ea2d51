//! Compiles the CEL expressions of a policy and collects their problems.

use std::collections::HashSet;
use std::sync::OnceLock;

use kubewright_cel::{
    CelBindings, CelCompileError, CelCompileErrorKind, CelCost, CelEnvironment, CelKind, CelProgram,
    FieldRead,
};
use kubewright_engine::{Code, Diagnostic, DiagnosticLevel, nearest_word};
use kubewright_k8s::fields::{self, UnknownField};
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Position, Step, Text};

use super::diagnostics as code;
use super::source::{NamedExpression, ValidationSource};
use super::{CelAssertion, CelExpression, LazyVariable, NamedCondition, environment};
use kubewright_dialect_kit::fields::{Located, locate_within};

/// The largest cost of testing whether an expression always has the same result.
const MAX_CONSTANT_EXPRESSION_COST: u64 = 10_000;

/// An error in an expression, or a likely one.
#[derive(Debug)]
pub struct ExpressionProblem {
    code: &'static Code,
    message: String,
    help: String,
    /// The path of the text in the document.
    path: Vec<Step>,
    /// The place in the text and how long it is; the whole text where there is none.
    place: Option<(Position, u32)>,
    /// The words of the API server, which type-checks expressions when they are stored.
    upstream_words: Option<String>,
}

impl ExpressionProblem {
    /// Returns a problem of a whole text.
    #[must_use]
    pub fn about(code: &'static Code, path: &[Step], message: String, help: &str) -> Self {
        Self { code, message, help: help.to_owned(), path: path.to_vec(), place: None, upstream_words: None }
    }

    /// Returns a problem at a place in a text, with its length.
    #[must_use]
    pub fn within(
        code: &'static Code,
        path: &[Step],
        place: (Position, u32),
        message: String,
        help: String,
    ) -> Self {
        Self { code, message, help, path: path.to_vec(), place: Some(place), upstream_words: None }
    }

    /// Returns the diagnostic for the problem, located in `document`.
    pub fn diagnostic(self, document: &Document) -> Diagnostic {
        let location = match self.place {
            Some((position, length)) => locate_within(document, &self.path, position, length),
            None => document.locate(&self.path),
        };
        let diagnostic = Diagnostic::new(self.code, self.message, location).help(self.help);
        match self.upstream_words {
            Some(words) => diagnostic.upstream(words),
            None => diagnostic,
        }
    }
}

/// Compiles the expressions of one policy and collects their problems.
pub struct ExpressionCompiler<'k> {
    /// The problems found so far.
    pub problems: Vec<ExpressionProblem>,
    /// The variables that something reads.
    read: HashSet<String>,
    /// Whether there is something that must hold first.
    has_conditions: bool,
    /// The kinds that the policy matches, each a kind or `group/version/kind`.
    kinds: &'k [&'k str],
    /// Whether conditions may have a type that is known only when they are evaluated.
    pub has_dynamic_conditions: bool,
}

impl<'k> ExpressionCompiler<'k> {
    /// Returns a compiler of expressions that evaluate objects of `kinds`.
    #[must_use]
    pub fn new(kinds: &'k [&'k str]) -> Self {
        Self {
            problems: Vec::new(),
            read: HashSet::new(),
            has_conditions: false,
            kinds,
            has_dynamic_conditions: false,
        }
    }

    /// Compiles variables, each of which may read those before it, and gives them to the expressions of `environments`.
    pub fn variables(
        &mut self,
        list: &[NamedExpression],
        environments: &mut [&mut CelEnvironment],
    ) -> Vec<LazyVariable> {
        let mut variables: Vec<LazyVariable> = Vec::with_capacity(list.len());
        let Some(before) = environments.first().map(|environment| (**environment).clone()) else {
            return variables;
        };
        for one in list {
            let Some(environment) = environments.first() else { break };
            let Some(mut variable) = self.variable(one, environment, &variables) else { continue };
            // While the environment is not shared, adding to it copies nothing.
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

    /// Compiles validations; `message` is used for those without a message.
    pub fn assertions(
        &mut self,
        list: &[ValidationSource],
        environment: &CelEnvironment,
        for_messages: &CelEnvironment,
        message: Option<&Located<Text>>,
    ) -> Vec<CelAssertion> {
        let mut assertions = Vec::with_capacity(list.len());
        for one in list {
            // A validation that is always false is deliberate where conditions limit the policy.
            let refuses_all = self.has_conditions && one.expression.value.trim() == "false";
            let expression = match refuses_all {
                true => self.expression(&one.expression, environment, &[CelKind::Bool]),
                false => self.condition(&one.expression, environment),
            };
            let message_expression =
                one.message_expression.as_ref().and_then(|text| self.message(text, for_messages));
            let Some(expression) = expression else { continue };
            assertions.push(CelAssertion {
                expression,
                message: one
                    .message
                    .as_ref()
                    .or(message)
                    .map(|text| text.value.to_string())
                    .unwrap_or_default(),
                message_expression,
                about: OnceLock::new(),
            });
        }
        for text in message.into_iter().chain(list.iter().filter_map(|one| one.message.as_ref())) {
            self.braces(text);
        }
        assertions
    }

    /// Compiles expressions that answer a request with a response of `kind` or with null.
    pub fn responses(
        &mut self,
        list: &[ValidationSource],
        environment: &CelEnvironment,
        kind: CelKind,
    ) -> Vec<CelAssertion> {
        let mut responses = Vec::with_capacity(list.len());
        for one in list {
            if let Some(expression) = self.expression(&one.expression, environment, &[kind, CelKind::Null]) {
                let (message, message_expression, about) = (String::new(), None, OnceLock::new());
                responses.push(CelAssertion { expression, message, message_expression, about });
            }
        }
        responses
    }

    /// Compiles an expression that makes objects.
    pub fn generation(
        &mut self,
        text: &Located<Text>,
        environment: &CelEnvironment,
    ) -> Option<CelExpression> {
        self.expression(text, environment, &[CelKind::Bool])
    }

    /// Compiles an expression in a text; its mistakes are reported at the whole text.
    pub(super) fn template_expression(
        &mut self,
        expression: &str,
        text: &Located<Text>,
        environment: &CelEnvironment,
    ) -> Option<CelExpression> {
        let mark = self.problems.len();
        let written = Located { value: expression.into(), path: text.path.clone() };
        let made = self.expression(&written, environment, &[]);
        for problem in self.problems.iter_mut().skip(mark) {
            problem.message = format!("in `(( {expression} ))`: {}", problem.message);
            problem.place = None;
        }
        made
    }

    /// Compiles audit annotations.
    pub fn annotations(
        &mut self,
        list: &[NamedExpression],
        environment: &CelEnvironment,
    ) -> Vec<NamedCondition> {
        let mut annotations = Vec::with_capacity(list.len());
        for one in list {
            if let Some(expression) =
                self.expression(&one.expression, environment, &[CelKind::String, CelKind::Null])
            {
                if expression.program.result_type().kind == CelKind::Any {
                    let message = "the expression must be a string or null, but may have any type".to_owned();
                    let help = "write `string(...)` around it";
                    self.problems.push(ExpressionProblem::about(
                        &code::CEL_TYPE,
                        &one.expression.path,
                        message,
                        help,
                    ));
                }
                annotations.push(NamedCondition { name: one.name.value.clone(), expression });
            }
        }
        annotations
    }

    fn variable(
        &mut self,
        one: &NamedExpression,
        environment: &CelEnvironment,
        earlier: &[LazyVariable],
    ) -> Option<LazyVariable> {
        let expression = self.expression(&one.expression, environment, &[])?;
        let read = expression.program.variable_names();
        let depths = read.filter_map(|name| earlier.iter().find(|known| known.name == name));
        let depth = 1 + depths.map(|known| known.depth).max().unwrap_or(0);
        Some(LazyVariable { name: format!("variables.{}", one.name.value).into(), expression, depth })
    }

    /// Compiles match conditions, which are evaluated first.
    pub fn conditions(
        &mut self,
        list: &[NamedExpression],
        environment: &CelEnvironment,
    ) -> Vec<NamedCondition> {
        self.has_conditions |= !list.is_empty();
        let mut conditions = Vec::with_capacity(list.len());
        for one in list {
            if let Some(expression) = self.condition(&one.expression, environment) {
                conditions.push(NamedCondition { name: one.name.value.clone(), expression });
            }
        }
        conditions
    }

    /// Compiles expressions whose results are of one of `kinds`.
    pub fn values(
        &mut self,
        list: &[NamedExpression],
        environment: &CelEnvironment,
        kinds: &[CelKind],
    ) -> Vec<NamedCondition> {
        let mut values = Vec::with_capacity(list.len());
        for one in list {
            if let Some(expression) = self.expression(&one.expression, environment, kinds) {
                values.push(NamedCondition { name: one.name.value.clone(), expression });
            }
        }
        values
    }

    /// Compiles an expression that must have a boolean result.
    fn condition(&mut self, text: &Located<Text>, environment: &CelEnvironment) -> Option<CelExpression> {
        let expression = self.expression(text, environment, &[CelKind::Bool])?;
        if expression.program.result_type().kind == CelKind::Any && !self.has_dynamic_conditions {
            let message = "the expression must be `bool`, but may have any type".to_owned();
            let help = "compare it with something, such as `== true`";
            self.problems.push(ExpressionProblem::about(&code::CEL_TYPE, &text.path, message, help));
        }
        if is_constant_program(&expression.program) {
            let message = "the expression reads nothing, and always has the same result".to_owned();
            let help = "use `object`, `oldObject` or `request`";
            self.problems.push(ExpressionProblem::about(&code::CONSTANT_CEL, &text.path, message, help));
        }
        Some(expression)
    }

    /// Compiles a message expression. A result that is not a string is ignored, as in Kubernetes.
    fn message(&mut self, text: &Located<Text>, environment: &CelEnvironment) -> Option<CelExpression> {
        let expression = self.expression(text, environment, &[CelKind::String])?;
        if expression.program.result_type().kind == CelKind::String {
            return Some(expression);
        }
        let message = "the message may be something else than text, and is never used".to_owned();
        let help = "write `string(...)` around it";
        self.problems.push(ExpressionProblem::about(&code::UNUSED_CEL_MESSAGE, &text.path, message, help));
        None
    }

    /// Compiles an expression whose type must be one of `wanted`; an empty list allows any type.
    pub(super) fn expression(
        &mut self,
        text: &Located<Text>,
        environment: &CelEnvironment,
        wanted: &[CelKind],
    ) -> Option<CelExpression> {
        let program = match CelProgram::compile(text.value.trim_end(), environment) {
            Ok(program) => program,
            Err(errors) => {
                self.problems
                    .extend(errors.into_iter().map(|error| compile_problem(text, environment, error)));
                return None;
            }
        };
        self.read.extend(program.variable_names().map(str::to_owned));
        self.fields(text, &program);
        let found = program.result_type().kind;
        if !wanted.is_empty() && found != CelKind::Any && !wanted.contains(&found) {
            let names: Vec<String> = wanted.iter().map(|kind| format!("`{kind}`")).collect();
            let message = format!("the expression must be {}, but is `{found}`", names.join(" or "));
            self.problems.push(ExpressionProblem::about(&code::CEL_TYPE, &text.path, message, ""));
            return None;
        }
        Some(CelExpression { program, text: text.value.to_string(), path: text.path.clone() })
    }

    /// Reports fields that do not exist in the request, the namespace or objects of the matched kinds.
    fn fields(&mut self, text: &Located<Text>, program: &CelProgram) {
        // Following all paths takes longer than looking for the few words with which they may begin.
        let has_objects =
            !self.kinds.is_empty() && (text.value.contains("object") || text.value.contains("oldObject"));
        if !has_objects && !environment::names_known_variable(&text.value) {
            return;
        }
        for read in program.reads() {
            let Some((code, at, help)) = self.unknown(&read) else { continue };
            let (Some(field), Some(offset)) = (read.path.get(at), read.offsets.get(at)) else { continue };
            let before: Vec<&str> = read.path.iter().take(at).map(Text::as_str).collect();
            let owner = std::iter::once(read.variable.as_str()).chain(before).collect::<Vec<_>>().join(".");
            let problem = ExpressionProblem {
                code,
                message: format!("`{owner}` has no field `{field}`"),
                help,
                path: text.path.clone(),
                place: Some((program.position(*offset), u32::try_from(field.chars().count()).unwrap_or(1))),
                upstream_words: Some(format!("undefined field '{field}'; `{owner}` has none")),
            };
            let is_known =
                |known: &ExpressionProblem| known.message == problem.message && known.place == problem.place;
            if !self.problems.iter().any(is_known) {
                self.problems.push(problem);
            }
        }
    }

    /// Returns the code, the unknown step of the path, and a suggestion.
    fn unknown(&self, read: &FieldRead) -> Option<(&'static Code, usize, String)> {
        if let "object" | "oldObject" = read.variable.as_str() {
            let path: Vec<&str> = read.path.iter().map(Text::as_str).collect();
            // A field that one of the kinds has is not unknown.
            let found: Option<Vec<_>> = self.kinds.iter().map(|kind| known_fields(kind, &path)).collect();
            let unknown = found?.into_iter().next()?;
            let near =
                path.get(unknown.at).and_then(|step| nearest_word(step, unknown.known.iter().copied()));
            let help = near.map(did_you_mean).unwrap_or_default();
            return Some((&code::UNKNOWN_OBJECT_FIELD, unknown.at, help));
        }
        let (at, known) = environment::unknown_variable_field(&read.variable, &read.path)?;
        let field = read.path.get(at)?;
        let help = match (at, field.as_str()) {
            (0, "object" | "oldObject") => format!("the object is the variable `{field}`"),
            _ => match nearest_word(field, known.iter().copied()) {
                Some(near) => did_you_mean(near),
                None => format!("known here: {}", known.join(", ")),
            },
        };
        Some((&code::UNKNOWN_CEL_NAME, at, help))
    }

    /// Reports a message that looks as if something were put into it.
    fn braces(&mut self, text: &Located<Text>) {
        if text.value.contains("{{") {
            let message = "nothing is put into the message of a rule in CEL".to_owned();
            let help = "compute it with `messageExpression`";
            self.problems.push(ExpressionProblem::about(&code::CEL_BRACES, &text.path, message, help));
        }
    }

    /// Reports unused variables. Skipped when an expression does not compile, because its uses are unknown.
    pub fn unused(&mut self, variables: &[NamedExpression]) {
        if self.problems.iter().any(|problem| problem.code.severity == DiagnosticLevel::Error) {
            return;
        }
        for one in variables {
            let name = format!("variables.{}", one.name.value);
            if !self.read.contains(&name) {
                let message = format!("`{name}` is never used");
                self.problems.push(ExpressionProblem::about(
                    &code::UNUSED_CEL_VARIABLE,
                    &one.name.path,
                    message,
                    "",
                ));
            }
        }
    }
}

/// A program that queries the world or the time has no constant result.
fn is_constant_program(program: &CelProgram) -> bool {
    let mut cost = CelCost::new(MAX_CONSTANT_EXPRESSION_COST);
    program.variable_names().next().is_none() && program.evaluate(&CelBindings::new(), &mut cost).is_ok()
}

fn compile_problem(
    text: &Located<Text>,
    environment: &CelEnvironment,
    error: CelCompileError,
) -> ExpressionProblem {
    let mut problem = ExpressionProblem {
        code: code_of(error.kind),
        message: error.message,
        help: error.help,
        path: text.path.clone(),
        place: Some((error.position, error.length)),
        upstream_words: None,
    };
    if error.kind == CelCompileErrorKind::UnknownName
        && word_at(&text.value, error.position) == Some("params")
    {
        problem.help = "set `paramKind` in the spec, and `paramRef` in the binding".to_owned();
    }
    if let Some(name) = variable_at(&text.value, error.position)
        && error.kind == CelCompileErrorKind::UnknownName
    {
        let all = environment.variables();
        let known = all.iter().filter_map(|known| known.strip_prefix("variables."));
        problem.message = format!("there is no earlier variable `{name}`");
        problem.help = match nearest_word(name, known) {
            Some(near) => format!("did you mean `variables.{near}`?"),
            None => "define it in `variables`".to_owned(),
        };
    }
    problem
}

/// Returns the name behind `variables.` at a place in `text`.
fn variable_at(text: &str, position: Position) -> Option<&str> {
    leading_word(text_at(text, position)?.strip_prefix("variables.")?)
}

/// Returns the name at a place in `text`.
fn word_at(text: &str, position: Position) -> Option<&str> {
    leading_word(text_at(text, position)?)
}

/// Returns the name that `text` starts with.
fn leading_word(text: &str) -> Option<&str> {
    let end = text.find(|character: char| !character.is_alphanumeric() && character != '_');
    text.get(..end.unwrap_or(text.len()))
}

/// Returns the rest of the line at a place in `text`.
fn text_at(text: &str, position: Position) -> Option<&str> {
    let line = text.lines().nth(usize::try_from(position.line).ok()?.checked_sub(1)?)?;
    let (start, _) = line.char_indices().nth(usize::try_from(position.column).ok()?.checked_sub(1)?)?;
    line.get(start..)
}

fn code_of(kind: CelCompileErrorKind) -> &'static Code {
    match kind {
        CelCompileErrorKind::UnknownName | CelCompileErrorKind::UnknownFunction => &code::UNKNOWN_CEL_NAME,
        CelCompileErrorKind::Arity | CelCompileErrorKind::Type => &code::CEL_TYPE,
        CelCompileErrorKind::Syntax | CelCompileErrorKind::Value => &code::BAD_CEL,
    }
}

/// Returns the unknown field in a path into objects of `kind`; `None` where the fields of the kind are not known.
fn known_fields(kind: &str, path: &[&str]) -> Option<UnknownField> {
    let mut parts = kind.rsplit('/');
    let name = parts.next().unwrap_or_default();
    let group = kind.split('/').next().filter(|_| kind.matches('/').count() > 1).unwrap_or_default();
    let is_own = !group.contains('.') || group.ends_with(".k8s.io");
    if is_own { fields::unknown_field_of_kind(name, path) } else { None }
}
