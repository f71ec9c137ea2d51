//! `/eval` and `/functions`.

use kubewright_cel::CelEnvironment;
use kubewright_gotemplate::FunctionSet;
use kubewright_jmespath::JmesPathFunctions;
use kubewright_ui::{PageBody, PageContent, PageRequest, PageText, TextRole, bad_request};
use kubewright_value::{Map, Value, json};

use super::commands::{CommandRun, run_words};
use super::shipped::function_examples;
use super::workspace::PageWorkspace;
use crate::failure::CommandFailure;

/// The expression languages, by the words of `eval`.
pub(super) const EXPRESSION_LANGUAGES: [&str; 4] = ["cel", "jmespath", "jsonpath", "gotemplate"];

/// Answers `/eval`.
///
/// # Errors
/// When the body is not what the API describes.
pub(super) fn answer_eval(body: &PageBody, _request: &PageRequest) -> Result<Value, PageContent> {
    let language = body.text_at(&["language"]);
    if !EXPRESSION_LANGUAGES.contains(&language) {
        return Err(bad_request(&format!("unknown language `{language}`")));
    }
    Ok(evaluate(language, body.text_at(&["expression"]), body.text_at(&["input"]))?.answer())
}

/// What came of an expression.
pub(super) struct Evaluated(CommandRun);

/// Evaluates an expression as `eval` does, with the functions of policies.
///
/// # Errors
/// When the words cannot be arguments.
pub(super) fn evaluate(language: &str, expression: &str, input: &str) -> Result<Evaluated, PageContent> {
    let input = if input.trim().is_empty() { "{}" } else { input };
    let text = PageText { name: "input".to_owned(), role: TextRole::Objects, text: input.to_owned() };
    let space = PageWorkspace::by_name(&[text]);
    let mut words = vec!["eval".to_owned(), "--file=input".to_owned()];
    words.extend((language == "cel").then(|| "--policy".to_owned()));
    words.extend(["--".to_owned(), language.to_owned(), expression.to_owned()]);
    Ok(Evaluated(run_words(&space, &words)?))
}

impl Evaluated {
    /// Returns the result as it is shown: JSON is written in lines.
    pub(super) fn result(&self) -> String {
        let text = self.0.output.strip_suffix('\n').unwrap_or(&self.0.output);
        match json::parse(text) {
            Ok(value) if value.as_object().is_some() || value.as_array().is_some() => {
                json::to_shown_pretty(&value)
            }
            _ => text.to_owned(),
        }
    }

    fn answer(&self) -> Value {
        Map::from([("result", Value::from(self.result())), ("error", self.error())]).into()
    }

    /// Returns why there is no result; null where there is one.
    fn error(&self) -> Value {
        match (&self.0.failure, self.0.diagnostics.first()) {
            (Some(CommandFailure::Expression { message, position, length, .. }), _) => Map::from([
                ("message", Value::from(message.as_str())),
                ("line", u64::from(position.line).into()),
                ("column", u64::from(position.column).into()),
                ("length", u64::from(*length).into()),
            ])
            .into(),
            (Some(failure), _) => plain_error(&failure.to_string()),
            (None, Some(problem)) => plain_error(&format!("the input cannot be read: {}", problem.message)),
            (None, None) => Value::Null,
        }
    }
}

fn plain_error(message: &str) -> Value {
    let places = ["line", "column", "length"].map(|name| (name.into(), Value::Null));
    std::iter::once(("message".into(), Value::from(message))).chain(places).collect::<Map>().into()
}

/// Answers `/functions/{language}`.
///
/// # Errors
/// When there is no such language.
pub(super) fn answer_functions(request: &PageRequest) -> Result<Value, PageContent> {
    let language = request.parameters.first().map(String::as_str).unwrap_or_default();
    let Some(functions) = functions_of(language) else {
        let message = format!("there is no expression language `{language}`");
        return Err(PageContent::error(404, &message, None));
    };
    let examples = function_examples(language);
    let value = |(name, signature, help): (String, String, &'static str)| {
        let example = examples.iter().find(|example| example.name == name);
        let (example, result) = match example {
            Some(one) => (one.example.as_str(), one.result.as_str()),
            None if language == "jsonpath" => (jsonpath_example(&name), ""),
            None => ("", ""),
        };
        Value::from(Map::from([
            ("name", Value::from(name)),
            ("signature", signature.into()),
            ("description", help.into()),
            ("example", example.into()),
            ("result", result.into()),
        ]))
    };
    Ok(Map::from([("functions", Value::array(functions.into_iter().map(value).collect()))]).into())
}

fn jsonpath_example(part: &str) -> &'static str {
    JSONPATH_PARTS.iter().find(|(name, ..)| *name == part).map_or("", |(.., example)| *example)
}

/// A function: its name, how it is called, and what it does.
type FunctionRow = (String, String, &'static str);

/// Returns the functions of a language; nothing for a language that there is not.
pub(super) fn functions_of(language: &str) -> Option<Vec<FunctionRow>> {
    Some(match language {
        "cel" => cel_functions(),
        "jmespath" => jmespath_functions(),
        "gotemplate" => template_functions(),
        "jsonpath" => JSONPATH_PARTS
            .iter()
            .map(|(name, call, help, _)| ((*name).to_owned(), (*call).to_owned(), *help))
            .collect(),
        _ => return None,
    })
}

fn cel_functions() -> Vec<FunctionRow> {
    let environment = CelEnvironment::policy();
    let overloads = environment.functions();
    overloads
        .iter()
        .map(|overload| (overload.name().to_owned(), overload.signature(), overload.help_line()))
        .collect()
}

fn template_functions() -> Vec<FunctionRow> {
    let row = |name: &'static str| {
        let help = FunctionSet::help(name)?;
        Some((name.to_owned(), help.call.clone(), help.help.as_str()))
    };
    FunctionSet::rules().names().into_iter().filter_map(row).collect()
}

fn jmespath_functions() -> Vec<FunctionRow> {
    let functions = JmesPathFunctions::kubernetes();
    let row = |name: &str| {
        let signature = functions.signature(name)?;
        Some((name.to_owned(), format!("{name}{signature}"), signature.help()))
    };
    functions.names().filter_map(row).collect()
}

/// JSONPath has no functions; these are its parts, each with an example for the input that the page shows first.
const JSONPATH_PARTS: [(&str, &str, &str, &str); 8] = [
    ("$", "$", "the whole object", "$"),
    (".name", "$.name", "the field `name`", "$.metadata.name"),
    ("['name']", "$['name']", "the field `name`, which may have any characters", "$.metadata['labels']"),
    ("[0]", "$.list[0]", "the first item of a list", "$.spec.containers[0].name"),
    ("[*]", "$.list[*]", "every item of a list, or every value of an object", "$.spec.containers[*].image"),
    ("[1:3]", "$.list[1:3]", "the items from the second to the third", "$.spec.containers[1:3]"),
    ("..name", "$..name", "every field `name`, however deep", "$..image"),
    (
        "[?(…)]",
        "$.list[?(@.name == 'a')]",
        "the items for which the condition holds",
        "$.spec.containers[?(@.name == 'nginx')]",
    ),
];
