//! `/project`, `/project/save`, `/shared` and `/test`: the files that the page was started with.

use std::fs;
use std::path::{Path, PathBuf};

use kubewright_files::{self as files, Input};
use kubewright_report::render::masked_secret;
use kubewright_ui::{PageBody, PageContent, PageRequest, PageText, TextRole, bad_request};
use kubewright_value::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::about::{PageProject, PageState};
use super::commands::{CommandRun, run_words};
use super::traced::diagnostic_values;
use super::workspace::PageWorkspace;
use crate::commands::run_complete;
use crate::failure::CommandFailure;
use crate::output::{ColorChoice, replace_files, yaml_text};

/// The maximum size of all texts of a project that are sent.
const MAX_PROJECT_BYTES: usize = 1 << 20;

/// The maximum size of a shared file.
pub(super) const MAX_SHARED_BYTES: u64 = 2 << 20;

/// Answers `/project`.
///
/// # Errors
/// When the page was not started with a folder.
pub(super) fn answer_project(state: &PageState) -> Result<Value, PageContent> {
    let project = project_of(state)?;
    let (mut texts, mut bytes, mut is_truncated) = (Vec::new(), 0, false);
    for (path, role) in project.files() {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        bytes += text.len();
        if bytes > MAX_PROJECT_BYTES {
            is_truncated = true;
            break;
        }
        texts.push(file_value(&project.shown_name(&path), role, &text));
    }
    let settings = project.settings.clone();
    Ok(Map::from([
        ("name", Value::from(project.name.as_str())),
        ("files", Value::array(texts)),
        ("settings", settings),
        ("truncated", is_truncated.into()),
    ])
    .into())
}

fn project_of(state: &PageState) -> Result<&PageProject, PageContent> {
    let missing =
        || PageContent::error(404, "the page was not started with a folder: `kubewright ui DIR`", None);
    state.project.as_ref().ok_or_else(missing)
}

/// Returns a file of a project. Values of Secrets are not shown; a text without them cannot be saved.
fn file_value(name: &str, role: TextRole, text: &str) -> Value {
    let (shown, is_masked) = masked_text(text);
    Map::from([
        ("name", Value::from(name)),
        ("role", role.name().into()),
        ("text", shown.into()),
        ("was", text_digest(text).into()),
        ("masked", is_masked.into()),
    ])
    .into()
}

/// Returns `text` with a mark in place of the values of Secrets, and whether there is one.
fn masked_text(text: &str) -> (String, bool) {
    let documents = files::parse_documents("text", text);
    let is_secret = |value: &Value| value.str_at(&["kind"]) == "Secret" && masked_secret(value) != *value;
    if !documents.iter().any(|document| is_secret(&document.value)) {
        return (text.to_owned(), false);
    }
    let shown: Vec<String> =
        documents.iter().map(|document| yaml_text(&masked_secret(&document.value))).collect();
    (shown.join("---\n"), true)
}

/// Returns the SHA-256 of a text in hexadecimal digits.
fn text_digest(text: &str) -> String {
    kubewright_golib::hash::to_hex(&Sha256::digest(text.as_bytes()))
}

/// Answers `/project/save`.
///
/// # Errors
/// When saving is not allowed, or a file changed meanwhile; then no file is written.
pub(super) fn answer_save(state: &PageState, body: &Value) -> Result<Value, PageContent> {
    let project = project_of(state)?;
    if !state.may_save {
        return Err(PageContent::error(403, "the page was started without `--save`", None));
    }
    let list = body.get("files").and_then(Value::as_array).unwrap_or_default();
    let known: Vec<PathBuf> = project.files().into_iter().map(|(path, _)| path).collect();
    let mut writes = Vec::new();
    for file in list {
        let (name, text, was) = (file.str_at(&["name"]), file.str_at(&["text"]), file.str_at(&["was"]));
        let Some(path) = known.iter().find(|path| project.shown_name(path) == name) else {
            return Err(bad_request(&format!("`{name}` is no file of the project")));
        };
        let found = fs::read_to_string(path).unwrap_or_default();
        if text_digest(&found) != was {
            return Err(PageContent::error(409, &format!("`{name}` changed since it was read"), None));
        }
        if masked_text(&found).1 {
            return Err(PageContent::error(403, &format!("`{name}` holds a Secret, and is not saved"), None));
        }
        writes.push((path, text, name));
    }
    let failed = |error: CommandFailure| PageContent::error(500, &error.to_string(), None);
    replace_files(writes.iter().map(|(path, text, _)| (path.as_path(), text))).map_err(failed)?;
    let saved = writes.iter().map(|(_, text, name)| {
        Value::from(Map::from([("name", Value::from(*name)), ("was", text_digest(text).into())]))
    });
    Ok(Map::from([("saved", Value::array(saved.collect()))]).into())
}

/// Answers `/shared`.
///
/// # Errors
/// When the page was not started with a file.
pub(super) fn answer_shared(state: &PageState) -> Result<Value, PageContent> {
    let missing =
        || PageContent::error(404, "the page was not started with a file: `kubewright ui FILE`", None);
    state.shared.clone().ok_or_else(missing)
}

/// Answers `/test`: the tests of the project, or test files among the texts.
///
/// # Errors
/// When there is neither.
pub(super) fn answer_test(
    state: &PageState,
    body: &PageBody,
    _request: &PageRequest,
) -> Result<Value, PageContent> {
    let tests: Vec<PageText> = body.with_role(TextRole::Test).cloned().collect();
    let mut words = vec!["test".to_owned(), "--coverage".to_owned(), "-o".to_owned(), "json".to_owned()];
    if !tests.is_empty() {
        let space = PageWorkspace::by_name(&body.files);
        words.extend(tests.iter().map(|test| test.name.clone()));
        let run = run_words(&space, &words)?;
        let texts = body.files.iter().filter(|text| text.role == TextRole::Rules);
        return Ok(test_answer(&run, texts.map(|text| (text.name.clone(), text.text.clone()))));
    }
    let project = project_of(state)?;
    words.extend(project.tests.iter().cloned());
    let command = super::commands::parse_command(&words)?;
    let run = CommandRun::outside(|| run_complete(command, ColorChoice::Never));
    let texts: Vec<(String, String)> = covered_files(&run.value())
        .into_iter()
        .filter_map(|name| Some((name.clone(), masked_text(&fs::read_to_string(name).ok()?).0)))
        .collect();
    let shown = |name: &str| project.shown_name(Path::new(name));
    let texts = texts.into_iter().map(|(name, text)| (shown(&name), text));
    Ok(renamed(test_answer(&run, texts), &shown))
}

/// Returns an answer in which files are called by their names in the project.
fn renamed(mut answer: Value, shown: &dyn Fn(&str) -> String) -> Value {
    let lists = ["results", "coverage"];
    let Some(map) = answer.as_object_mut() else { return answer };
    for list in lists {
        let Some(Value::Array(_)) = map.get(list) else { continue };
        let mut items = map.get(list).and_then(Value::as_array).unwrap_or_default().to_vec();
        for item in items.iter_mut().filter_map(Value::as_object_mut) {
            for key in ["file", "placeFile"] {
                if let Some(name) = item.get(key).and_then(Value::as_str).map(shown) {
                    item.insert(key.into(), name.into());
                }
            }
        }
        map.insert(list.into(), Value::array(items));
    }
    answer
}

/// Returns the files with rules that a coverage is about.
fn covered_files(document: &Value) -> Vec<String> {
    let rules = document.at(&["coverage", "byRule"]);
    let mut names: Vec<String> = Vec::new();
    for rule in rules.and_then(Value::as_array).unwrap_or_default() {
        let name = rule.str_at(&["file"]).to_owned();
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn test_answer(run: &CommandRun, texts: impl Iterator<Item = (String, String)>) -> Value {
    let mut value = run.value().as_object().cloned().unwrap_or_default();
    let lines = coverage_lines(&value);
    let summary = value.get("coverage").cloned().unwrap_or_default();
    value.insert("coverageSummary".into(), summary);
    value.insert("coverage".into(), Value::array(lines));
    let text = |(name, text): (String, String)| {
        Value::from(Map::from([("name", Value::from(name)), ("text", text.into())]))
    };
    value.insert("texts".into(), Value::array(texts.map(text).collect()));
    value.insert("diagnostics".into(), Value::array(diagnostic_values(&run.diagnostics)));
    value.insert("failure".into(), run.failure_text().into());
    value.into()
}

/// Returns each rule and branch with its line, and whether a case reached it.
fn coverage_lines(document: &Map) -> Vec<Value> {
    let coverage = document.get("coverage");
    let rules =
        coverage.and_then(|coverage| coverage.get("byRule")).and_then(Value::as_array).unwrap_or_default();
    let mut lines = Vec::new();
    for rule in rules {
        let line = |of: &Value, branch: &str| {
            Value::from(Map::from([
                ("file", rule.get("file").cloned().unwrap_or_default()),
                ("line", of.get("line").cloned().unwrap_or_default()),
                ("branch", branch.into()),
                ("rule", rule.get("rule").cloned().unwrap_or_default()),
                ("reached", of.get("exercised").cloned().unwrap_or_default()),
            ]))
        };
        lines.push(line(rule, ""));
        let branches = rule.get("lines").and_then(Value::as_array).unwrap_or_default();
        lines.extend(branches.iter().map(|branch| line(branch, branch.str_at(&["what"]))));
    }
    lines
}

/// Reads a file that the page shared, or one with rules and objects.
pub(super) fn read_shared(path: &Path) -> Result<Value, String> {
    let source =
        files::read_source(&Input::File(path.to_owned())).map_err(|problem| problem.message.clone())?;
    if source.text.len() as u64 > MAX_SHARED_BYTES {
        return Err(format!("it has more than {} MiB", MAX_SHARED_BYTES >> 20));
    }
    if let Ok(value) = json::parse(&source.text)
        && value.get("files").and_then(Value::as_array).is_some()
    {
        return Ok(value);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = Map::from([
        ("name", Value::from(name)),
        ("role", "rules".into()),
        ("text", source.text.as_str().into()),
    ]);
    Ok(Map::from([("files", Value::array(vec![text.into()]))]).into())
}
