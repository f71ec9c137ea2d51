//! Asks the original programs the same as ours, and tells where the answers differ.
//!
//! The original programs are libraries of Go, which `fuzz/reference` wraps in a program that answers line by line.

mod known;
mod languages;
mod shrink;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use kubewright_value::{Number, Value, json};

use crate::random::FuzzRandom;
use known::find_known;
pub use known::{KNOWN_DIFFERENCES, KnownDifference};
pub use languages::{COMPARED_LANGUAGES, ComparedLanguage, find_language};
use shrink::shrink_question;

/// The number of differences after which a language stops.
const MAX_DIFFERENCES: usize = 10;

/// What is asked: a text, and the data that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedQuestion {
    /// An expression, a template, a pattern or a document.
    pub text: String,
    /// What it is evaluated on.
    pub data: Value,
}

/// An answer of either side.
#[derive(Debug, Clone, PartialEq)]
pub enum ComparedAnswer {
    /// The value.
    Value(Value),
    /// The text or the evaluation has an error.
    Error(String),
    /// No answer that could be compared: a limit was reached, or a value has no JSON.
    Unknown,
}

/// What came of comparing one language.
#[derive(Debug, Default)]
pub struct ComparedStatistics {
    /// The questions that were asked.
    pub questions: u64,
    /// The questions to which both gave the same value.
    pub same_values: u64,
    /// The questions to which both gave an error.
    pub same_errors: u64,
    /// The questions that a limit left without an answer.
    pub unknown: u64,
    /// The differences that are known, by their names.
    pub known: BTreeMap<&'static str, u64>,
    /// The differences that are not, made as short as they go.
    pub differences: Vec<(ComparedQuestion, ComparedAnswer, ComparedAnswer)>,
}

/// The original programs, running.
pub struct ReferenceProgram {
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl ReferenceProgram {
    /// Starts the program.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(path: &Path) -> Result<Self, String> {
        let failed = |error: String| format!("cannot run `{}`: {error}", path.display());
        let mut child = Command::new(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (questions, answers) = pipes.ok_or_else(|| failed("it has no pipes".to_owned()))?;
        Ok(Self { child, questions, answers: BufReader::new(answers) })
    }

    fn ask(
        &mut self,
        language: &ComparedLanguage,
        question: &ComparedQuestion,
    ) -> Result<ComparedAnswer, String> {
        let asked = Value::object(
            [
                ("language".into(), Value::from(language.name)),
                ("text".into(), Value::from(question.text.as_str())),
                ("data".into(), question.data.clone()),
            ]
            .into_iter()
            .collect(),
        );
        let failed = |error: std::io::Error| format!("the reference program ended: {error}");
        writeln!(self.questions, "{}", json::to_string(&asked)).map_err(failed)?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(failed)?;
        let answer = json::parse(&line).map_err(|_| format!("the reference program answered `{line}`"))?;
        Ok(read_answer(&answer))
    }
}

impl Drop for ReferenceProgram {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Compares a language for `time`.
///
/// # Errors
///
/// When the program does not answer or the corpus cannot be read.
pub fn compare_language(
    language: &ComparedLanguage,
    program: &mut ReferenceProgram,
    time: Duration,
    seed: u64,
) -> Result<ComparedStatistics, String> {
    let mut random = FuzzRandom::new(seed);
    let source = (language.questions)()?;
    let start = Instant::now();
    let mut statistics = ComparedStatistics::default();
    while start.elapsed() < time && statistics.differences.len() < MAX_DIFFERENCES {
        let question = source.next(&mut random, statistics.questions);
        statistics.questions += 1;
        let (ours, theirs) = answer_both(language, program, &question)?;
        if !differ(language, &question, &ours, &theirs) {
            count_same(&mut statistics, language, &question, &ours, &theirs);
            continue;
        }
        let shortest = shrink_question(question, |shorter| {
            answer_both(language, program, shorter)
                .is_ok_and(|(ours, theirs)| differ(language, shorter, &ours, &theirs))
        });
        let (ours, theirs) = answer_both(language, program, &shortest)?;
        if statistics.differences.iter().all(|(known, ..)| *known != shortest) {
            statistics.differences.push((shortest, ours, theirs));
        }
    }
    Ok(statistics)
}

fn answer_both(
    language: &ComparedLanguage,
    program: &mut ReferenceProgram,
    question: &ComparedQuestion,
) -> Result<(ComparedAnswer, ComparedAnswer), String> {
    Ok(((language.answer)(question), program.ask(language, question)?))
}

/// Returns whether the answers differ in a way that is not known.
fn differ(
    language: &ComparedLanguage,
    question: &ComparedQuestion,
    ours: &ComparedAnswer,
    theirs: &ComparedAnswer,
) -> bool {
    !is_same(ours, theirs) && find_known(language.name, question, ours, theirs).is_none()
}

fn count_same(
    statistics: &mut ComparedStatistics,
    language: &ComparedLanguage,
    question: &ComparedQuestion,
    ours: &ComparedAnswer,
    theirs: &ComparedAnswer,
) {
    match (ours, theirs) {
        (ComparedAnswer::Unknown, _) | (_, ComparedAnswer::Unknown) => statistics.unknown += 1,
        _ if !is_same(ours, theirs) => {
            if let Some(known) = find_known(language.name, question, ours, theirs) {
                *statistics.known.entry(known.name).or_default() += 1;
            }
        }
        (ComparedAnswer::Value(_), _) => statistics.same_values += 1,
        (ComparedAnswer::Error(_), _) => statistics.same_errors += 1,
    }
}

/// Returns whether two answers agree. The texts of errors are not compared.
fn is_same(ours: &ComparedAnswer, theirs: &ComparedAnswer) -> bool {
    match (ours, theirs) {
        (ComparedAnswer::Unknown, _) | (_, ComparedAnswer::Unknown) => true,
        (ComparedAnswer::Value(ours), ComparedAnswer::Value(theirs)) => is_same_value(ours, theirs),
        (ComparedAnswer::Error(_), ComparedAnswer::Error(_)) => true,
        _ => false,
    }
}

/// Returns whether two values are the same JSON. Go writes whole doubles without a point, and large ones with an
/// exponent, so numbers are compared as numbers.
fn is_same_value(ours: &Value, theirs: &Value) -> bool {
    match (ours, theirs) {
        (Value::Number(ours), Value::Number(theirs)) => is_same_number(*ours, *theirs),
        (Value::Array(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs.iter()).all(|(a, b)| is_same_value(a, b))
        }
        (Value::Object(ours), Value::Object(theirs)) => {
            ours.len() == theirs.len()
                && ours.iter().all(|(key, a)| theirs.get(key).is_some_and(|b| is_same_value(a, b)))
        }
        _ => ours == theirs,
    }
}

fn is_same_number(ours: Number, theirs: Number) -> bool {
    ours == theirs || ours.as_f64() == theirs.as_f64()
}

fn read_answer(answer: &Value) -> ComparedAnswer {
    let error = answer.get("error").and_then(Value::as_str);
    match (answer.get("value"), error) {
        (_, Some(limit)) if limit == "timeout" || limit.contains("cost limit exceeded") => {
            ComparedAnswer::Unknown
        }
        (_, Some(error)) => ComparedAnswer::Error(error.to_owned()),
        (Some(value), None) if value.get("unwritable").is_some() => ComparedAnswer::Unknown,
        (Some(value), None) => ComparedAnswer::Value(value.clone()),
        (None, None) => ComparedAnswer::Value(Value::Null),
    }
}
