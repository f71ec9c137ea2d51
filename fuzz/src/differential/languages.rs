//! The languages that are compared, where their questions come from, and what our side answers.

use std::sync::LazyLock;

use kubewright_cel::{CelBindings, CelCost, CelEnvironment, CelErrorKind, CelProgram};
use kubewright_dialect_kit::notes::TraceNotes;
use kubewright_gotemplate::{FunctionSet, GoTemplate, GoTemplateErrorKind, Inputs, TemplateContext};
use kubewright_jmespath::{
    JmesPathErrorKind, JmesPathExpression, JmesPathFunctions, JmesPathLanguage, JmesPathLookup,
    unknown_key_message,
};
use kubewright_jsonpath::{JsonPathErrorKind, JsonPathExpression, JsonPathResult};
use kubewright_kyverno::pattern::{PatternVerdict, ValidatePattern};
use kubewright_kyverno::tainted::Tainted;
use kubewright_value::{Budget, Limits, Value, json, yaml};

use super::{ComparedAnswer, ComparedQuestion};
use crate::corpus::known_inputs;
use crate::dictionary::dictionary_words;
use crate::grammar::{GrammarText, OBJECTS, POLICIES};
use crate::mutate::mutate;
use crate::random::FuzzRandom;
use crate::targets::{CEL_ENVIRONMENT, find_target};

/// A language that an original program answers too.
pub struct ComparedLanguage {
    /// Its name on the command line and in questions.
    pub name: &'static str,
    /// Makes the source of questions.
    pub questions: fn() -> Result<QuestionSource, String>,
    /// Our answer.
    pub answer: fn(&ComparedQuestion) -> ComparedAnswer,
}

/// All languages that are compared.
pub const COMPARED_LANGUAGES: &[ComparedLanguage] = &[
    ComparedLanguage { name: "yaml", questions: || mutated("yaml", Value::Null), answer: answer_yaml },
    ComparedLanguage {
        name: "cel",
        questions: || mutated("cel_eval", variables()),
        answer: |question| answer_cel(question, &UNCHECKED_ENVIRONMENT),
    },
    ComparedLanguage {
        name: "cel_checked",
        questions: || mutated("cel_eval", variables()),
        answer: |question| answer_cel(question, &CHECKED_ENVIRONMENT),
    },
    ComparedLanguage {
        name: "jmespath",
        questions: || mutated("jmespath", object()),
        answer: answer_jmespath,
    },
    ComparedLanguage {
        name: "jsonpath",
        questions: || mutated("jsonpath", object()),
        answer: answer_jsonpath,
    },
    ComparedLanguage {
        name: "gotemplate",
        questions: || mutated("gotemplate", template_data()),
        answer: answer_template,
    },
    ComparedLanguage {
        name: "kyverno_pattern",
        questions: || Ok(QuestionSource::Patterns),
        answer: answer_pattern,
    },
];

/// Returns the language of that name.
///
/// # Errors
///
/// There is none.
pub fn find_language(name: &str) -> Result<&'static ComparedLanguage, String> {
    let names = || COMPARED_LANGUAGES.iter().map(|known| format!("`{}`", known.name)).collect::<Vec<_>>();
    let found = COMPARED_LANGUAGES.iter().find(|language| language.name == name);
    found.ok_or_else(|| format!("unknown language `{name}`; there are {}", names().join(", ")))
}

/// Where questions come from.
pub enum QuestionSource {
    /// The known inputs of a target, and then mutations of them.
    Mutations {
        /// The known inputs.
        known: Vec<Vec<u8>>,
        /// The words that mutations insert.
        words: Vec<String>,
        /// The data of all questions.
        data: Value,
    },
    /// Patterns and objects of the grammar.
    Patterns,
}

impl QuestionSource {
    /// Returns the question of that number.
    pub(super) fn next(&self, random: &mut FuzzRandom, number: u64) -> ComparedQuestion {
        match self {
            Self::Mutations { known, words, data } => {
                let known_input = usize::try_from(number).ok().and_then(|number| known.get(number)).cloned();
                let input = known_input.unwrap_or_else(|| mutate(random, known, words));
                ComparedQuestion { text: String::from_utf8_lossy(&input).into_owned(), data: data.clone() }
            }
            Self::Patterns => {
                let bytes: Vec<u8> = (0..60).map(|_| u8::try_from(random.below(256)).unwrap_or(0)).collect();
                let mut made = GrammarText::new(&[OBJECTS, POLICIES], &bytes);
                let (pattern, data) = (made.make("plain_pattern"), made.make("object"));
                let read = |text: &str| yaml::parse(text).unwrap_or_default();
                ComparedQuestion { text: json::to_string(&read(&pattern)), data: read(&data) }
            }
        }
    }
}

fn mutated(target: &str, data: Value) -> Result<QuestionSource, String> {
    let target = find_target(target)?;
    Ok(QuestionSource::Mutations { known: known_inputs(target)?, words: dictionary_words(target), data })
}

const OBJECT: &str = r#"{"kind":"Pod","metadata":{"name":"web","labels":{"a.b/c":"x","007":"y","app":"web"}},"spec":{"containers":[
    {"name":"a","image":"nginx:1.14","ports":[{"containerPort":80},{"containerPort":443}],"resources":{"limits":{}}},
    {"name":"b","n":12345,"resources":null}],"x":null,"t":true,"f":1.5}}"#;

fn object() -> Value {
    json::parse(OBJECT).unwrap_or_default()
}

fn variables() -> Value {
    let list = json::parse("[3, 1, 2]").unwrap_or_default();
    Value::object([("object".into(), object()), ("x".into(), list)].into_iter().collect())
}

fn template_data() -> Value {
    let target = json::parse(r#"{"metadata":{"name":"web"},"l":["a","b","c"],"n":3,"m":{"x":null}}"#);
    let fields = [("Namespace".into(), Value::from("ns")), ("Target".into(), target.unwrap_or_default())];
    Value::object(fields.into_iter().collect())
}

fn limits() -> Limits {
    Limits { steps: 1_000_000, bytes: 4 << 20, depth: 128 }
}

fn failed(error: &impl ToString, is_limit: bool) -> ComparedAnswer {
    if is_limit { ComparedAnswer::Unknown } else { ComparedAnswer::Error(error.to_string()) }
}

fn answer_yaml(question: &ComparedQuestion) -> ComparedAnswer {
    match yaml::parse(&question.text) {
        Ok(value) => ComparedAnswer::Value(value),
        Err(error) => failed(&format!("{error:?}"), false),
    }
}

/// Optionals are those of the API server and of Kyverno, and so are those of cel-go.
static CHECKED_ENVIRONMENT: LazyLock<CelEnvironment> =
    LazyLock::new(|| CEL_ENVIRONMENT.clone().with_forgiving_optionals());

static UNCHECKED_ENVIRONMENT: LazyLock<CelEnvironment> =
    LazyLock::new(|| CHECKED_ENVIRONMENT.clone().unchecked());

fn answer_cel(question: &ComparedQuestion, environment: &CelEnvironment) -> ComparedAnswer {
    let program = match CelProgram::compile(&question.text, environment) {
        Ok(program) => program,
        Err(errors) => return failed(&errors.first().map_or(String::new(), |e| e.message.clone()), false),
    };
    let (Some(object), Some(list)) = (question.data.get("object"), question.data.get("x")) else {
        return ComparedAnswer::Unknown;
    };
    let bindings = CelBindings::new().with("object", object).with("x", list);
    match program.evaluate(&bindings, &mut CelCost::new(1_000_000)) {
        Ok(value) => {
            // A value that JSON has no form for is compared by its type alone.
            let written = value.to_value().unwrap_or_default();
            let parts = [("type".into(), Value::from(value.type_name())), ("value".into(), written)];
            ComparedAnswer::Value(Value::object(parts.into_iter().collect()))
        }
        Err(error) => failed(&error.message, error.kind == CelErrorKind::Limit),
    }
}

static FUNCTIONS: LazyLock<JmesPathFunctions> = LazyLock::new(JmesPathFunctions::kubernetes);

fn answer_jmespath(question: &ComparedQuestion) -> ComparedAnswer {
    let parsed = JmesPathExpression::parse_as(&question.text, &FUNCTIONS, JmesPathLanguage::Forgiving);
    let expression = match parsed {
        Ok(expression) => expression,
        Err(error) => return failed(&error.message, false),
    };
    match expression.find(&question.data, &mut Budget::new(limits())) {
        Ok(JmesPathLookup::Value(value)) => ComparedAnswer::Value(value.into_owned()),
        Ok(JmesPathLookup::Missing(key)) => ComparedAnswer::Error(unknown_key_message(&key)),
        Err(error) => failed(&error.message, error.kind == JmesPathErrorKind::Limit),
    }
}

fn answer_jsonpath(question: &ComparedQuestion) -> ComparedAnswer {
    let expression = match JsonPathExpression::parse(&question.text) {
        Ok(expression) => expression,
        Err(error) => return failed(&error.message, false),
    };
    match expression.evaluate(&question.data, &mut Budget::new(limits())) {
        Ok(JsonPathResult::One(value)) => ComparedAnswer::Value(value),
        Ok(JsonPathResult::Many(items)) => {
            ComparedAnswer::Value(Value::array(items.into_iter().map(Option::unwrap_or_default).collect()))
        }
        Ok(JsonPathResult::Undefined) => ComparedAnswer::Error("undefined".to_owned()),
        Err(error) => failed(&error.message, error.kind == JsonPathErrorKind::Limit),
    }
}

fn answer_template(question: &ComparedQuestion) -> ComparedAnswer {
    let template = match GoTemplate::parse("t", &question.text, &FunctionSet::rules()) {
        Ok(template) => template,
        Err(error) => return failed(&error, error.kind == GoTemplateErrorKind::Refused),
    };
    let fields = question.data.as_object().into_iter().flat_map(|map| map.iter());
    let context = fields
        .fold(TemplateContext::new(), |context, (name, value)| context.json(name.clone(), value.clone()));
    match template.render(&context, &Inputs::default(), &mut Budget::new(limits())) {
        Ok(text) => ComparedAnswer::Value(Value::from(text.as_str())),
        Err(error) => failed(&error, error.kind == GoTemplateErrorKind::Limit),
    }
}

fn answer_pattern(question: &ComparedQuestion) -> ComparedAnswer {
    let pattern = match json::parse(&question.text) {
        Ok(pattern) => ValidatePattern::compile(&Tainted::Trusted(pattern)),
        Err(error) => return failed(&format!("{error:?}"), false),
    };
    match pattern.check(&question.data, &mut Budget::new(limits()), &mut TraceNotes::off()) {
        Ok(PatternVerdict::Pass) => ComparedAnswer::Value(Value::from("pass")),
        Ok(PatternVerdict::Skip { .. }) => ComparedAnswer::Value(Value::from("skip")),
        // The reference does not tell these apart.
        Ok(PatternVerdict::Error { .. } | PatternVerdict::Fail(_)) => {
            ComparedAnswer::Value(Value::from("fail"))
        }
        Err(_) => ComparedAnswer::Unknown,
    }
}
