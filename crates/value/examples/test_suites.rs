//! The readers of YAML and JSON on the public yaml-test-suite and JSONTestSuite, beside the readers of Kubernetes.
//!
//! `make test-suites` fetches the suites and runs this. A case on which the answer is not that of its suite must be in the
//! list of known differences, with the reason, and the answer must be that of Kubernetes' reader; a listed case that agrees
//! with its suite is a mistake in the list. Any of these ends with 1.

#![expect(clippy::print_stdout, reason = "a program for people")]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use kubewright_value::{Value, json, yaml};

/// A text of a suite, and what the suite says about it.
struct SuiteCase {
    name: String,
    format: &'static str,
    bytes: Vec<u8>,
    wanted: WantedAnswer,
}

/// What a suite wants.
enum WantedAnswer {
    /// These documents; none of them is null.
    Documents(Vec<Value>),
    /// Any documents.
    Accepted,
    Refused,
    /// Either is right.
    Either,
}

/// What a reader makes of a text.
struct ReaderAnswer {
    /// All documents that are not null, or nothing for an error.
    all: Option<Vec<Value>>,
    /// The first document, which is all that Kubernetes' reader returns.
    first: Option<Value>,
    /// Why it is refused.
    problem: String,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("test_suites: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether every case agrees or is a known difference.
fn run() -> Result<bool, String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [yaml_folder, json_folder, differences, rest @ ..] = arguments.as_slice() else {
        return Err("usage: test_suites YAML-FOLDER JSON-FOLDER DIFFERENCES [REFERENCE]".to_owned());
    };
    let known = read_differences(Path::new(differences))?;
    let mut is_right = true;
    for (suite, cases) in [
        ("yaml-test-suite", yaml_cases(Path::new(yaml_folder))?),
        ("JSONTestSuite", json_cases(Path::new(json_folder))?),
    ] {
        let reference = match rest {
            [program, ..] => ask_reference(program, &cases)?,
            [] => BTreeMap::new(),
        };
        is_right &= judge_suite(suite, &cases, &reference, &known);
    }
    Ok(is_right)
}

/// Prints the counts of a suite and what is not as expected, and returns whether there is nothing of that.
fn judge_suite(
    suite: &str,
    cases: &[SuiteCase],
    reference: &BTreeMap<String, Option<Value>>,
    known: &BTreeMap<String, String>,
) -> bool {
    let (mut agree, mut as_kubernetes, mut unlike_both, mut unlike_kubernetes) = (0, 0, 0, 0);
    let mut wrong = Vec::new();
    for case in cases {
        let answer = case.answer();
        let is_listed = known.contains_key(&case.name);
        let is_as_kubernetes = reference.get(&case.name).map(|answered| *answered == answer.first);
        unlike_kubernetes += usize::from(is_as_kubernetes == Some(false));
        if case.wanted.accepts(&answer) {
            agree += 1;
            if is_listed {
                wrong.push(format!("{} is listed as a difference and agrees with the suite", case.name));
            }
            continue;
        }
        match is_as_kubernetes {
            Some(false) => unlike_both += 1,
            _ => as_kubernetes += 1,
        }
        if !is_listed || is_as_kubernetes == Some(false) {
            let kubernetes = match is_as_kubernetes {
                Some(true) => "as Kubernetes does",
                Some(false) => "as Kubernetes does not",
                None => "Kubernetes' reader was not asked",
            };
            wrong.push(format!("{} differs from the suite, {kubernetes}: {}", case.name, answer.text()));
        }
    }
    println!(
        "{suite}: {} cases, {agree} as the suite says, {as_kubernetes} as Kubernetes reads them instead, {unlike_both} as \
         neither; {unlike_kubernetes} otherwise than Kubernetes reads them",
        cases.len()
    );
    wrong.iter().for_each(|line| println!("  {line}"));
    wrong.is_empty()
}

impl SuiteCase {
    fn answer(&self) -> ReaderAnswer {
        if self.format == "yaml" { read_yaml(&self.bytes) } else { read_json(&self.bytes) }
    }
}

impl WantedAnswer {
    fn accepts(&self, answer: &ReaderAnswer) -> bool {
        match self {
            Self::Documents(wanted) => answer.all.as_ref() == Some(wanted),
            Self::Accepted => answer.all.is_some(),
            Self::Refused => answer.all.is_none(),
            Self::Either => true,
        }
    }
}

impl ReaderAnswer {
    fn text(&self) -> String {
        match &self.all {
            None => format!("refused, {}", self.problem),
            Some(all) => all.iter().map(Value::to_string).collect::<Vec<_>>().join(" "),
        }
    }
}

fn read_yaml(bytes: &[u8]) -> ReaderAnswer {
    let source = match yaml::decode("case.yaml", bytes.to_vec()) {
        Ok(source) => source,
        Err(problem) => return ReaderAnswer { all: None, first: None, problem: problem.message },
    };
    let stream = yaml::read(&source);
    let all = stream.documents.into_iter().map(|document| document.value).collect();
    let problem = stream.problems.into_iter().next().map(|problem| problem.message);
    ReaderAnswer {
        all: problem.is_none().then_some(all),
        first: yaml::parse(&source.text).ok(),
        problem: problem.unwrap_or_default(),
    }
}

fn read_json(bytes: &[u8]) -> ReaderAnswer {
    let text = std::str::from_utf8(bytes).map_err(|error| error.to_string());
    match text.and_then(|text| json::parse(text).map_err(|error| error.to_string())) {
        Ok(value) => {
            ReaderAnswer { all: Some(vec![value.clone()]), first: Some(value), problem: String::new() }
        }
        Err(problem) => ReaderAnswer { all: None, first: None, problem },
    }
}

/// Reads the cases of the package `yaml-test-suite`: each file is a module whose default export is JSON.
fn yaml_cases(folder: &Path) -> Result<Vec<SuiteCase>, String> {
    let mut cases = Vec::new();
    for file in sorted_files(folder, "js")? {
        let text = std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let Some((_, exported)) = text.split_once("export default") else { continue };
        let module = json::parse(exported.trim().trim_end_matches(';'))
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let listed = module.get("cases").and_then(Value::as_array).unwrap_or_default();
        for (number, case) in listed.iter().enumerate() {
            cases.push(SuiteCase {
                name: format!("{}-{number}", module.str_at(&["id"])),
                format: "yaml",
                bytes: case.str_at(&["yaml"]).into(),
                wanted: wanted_of_yaml(case),
            });
        }
    }
    Ok(cases)
}

fn wanted_of_yaml(case: &Value) -> WantedAnswer {
    if case.get("fail") == Some(&Value::Bool(true)) {
        return WantedAnswer::Refused;
    }
    let Some(Value::String(text)) = case.get("json") else { return WantedAnswer::Accepted };
    json_stream(text).map_or(WantedAnswer::Accepted, |all| {
        WantedAnswer::Documents(all.into_iter().filter(|value| !value.is_null()).collect())
    })
}

/// Returns the JSON values that follow each other in `text`, each of which ends at the end of a line.
fn json_stream(text: &str) -> Option<Vec<Value>> {
    let mut values = Vec::new();
    let mut pending = String::new();
    for line in text.lines() {
        pending.push_str(line);
        pending.push('\n');
        if let Ok(value) = json::parse(&pending) {
            values.push(value);
            pending.clear();
        }
    }
    pending.trim().is_empty().then_some(values)
}

/// Reads the cases of `JSONTestSuite`, whose names begin with what is wanted.
fn json_cases(folder: &Path) -> Result<Vec<SuiteCase>, String> {
    let mut cases = Vec::new();
    for file in sorted_files(folder, "json")? {
        let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let wanted = match name.split('_').next() {
            Some("y") => WantedAnswer::Accepted,
            Some("n") => WantedAnswer::Refused,
            _ => WantedAnswer::Either,
        };
        let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        cases.push(SuiteCase { name, format: "json", bytes, wanted });
    }
    Ok(cases)
}

fn sorted_files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .collect();
    files.sort();
    if files.is_empty() { Err(format!("{}: no cases", folder.display())) } else { Ok(files) }
}

/// Reads the list of known differences: the names of cases by reason.
fn read_differences(file: &Path) -> Result<BTreeMap<String, String>, String> {
    let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let list = yaml::parse(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut known = BTreeMap::new();
    for group in list.as_array().unwrap_or_default() {
        for name in group.get("cases").and_then(Value::as_array).unwrap_or_default() {
            let name = name.as_str().ok_or("the name of a case is a text")?;
            known.insert(name.to_owned(), group.str_at(&["reason"]).to_owned());
        }
    }
    Ok(known)
}

/// Returns what the reader of Kubernetes makes of each case; nothing for an error.
fn ask_reference(program: &str, cases: &[SuiteCase]) -> Result<BTreeMap<String, Option<Value>>, String> {
    let told = |error: std::io::Error| format!("{program}: {error}");
    let mut questions = String::new();
    for case in cases {
        let digits = case.bytes.iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        });
        let name = json::to_string(&Value::from(case.name.as_str()));
        let _ = writeln!(questions, r#"{{"name":{name},"format":"{}","text":"{digits}"}}"#, case.format);
    }
    let mut child =
        Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(told)?;
    let mut input = child.stdin.take().ok_or("no standard input")?;
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()));
    let output = child.wait_with_output().map_err(told)?;
    let written = writer.join().map_err(|_| "the writer has panicked")?;
    written.map_err(told)?;
    let mut answers = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        match json::parse(line) {
            Ok(answer) => answers.insert(answer.str_at(&["name"]).to_owned(), answer.get("json").cloned()),
            // It accepts what is nested deeper than this reader allows.
            Err(_) => {
                let name = line.split('"').nth(3).unwrap_or_default();
                answers.insert(name.to_owned(), Some(Value::from("nested too deep to be compared")))
            }
        };
    }
    if answers.len() == cases.len() {
        Ok(answers)
    } else {
        Err(format!("{program}: some answers are missing"))
    }
}
