//! `/start`: all that the page shows first, in one answer, so that it need not ask twice before a person sees an outcome.

use std::sync::OnceLock;

use kubewright_ui::{PageBody, PageContent};
use kubewright_value::{Map, Value};

use super::about::{PageState, about_value};
use super::attempt::answer_try;
use super::compiled::CompiledCache;
use super::deadline::check_time;
use super::project_files::answer_project;

/// A rule that fails, so that there is a reason to read.
const TEXTS: [(&str, &str, &str); 2] = [
    ("rules.yaml", "rules", include_str!("start/rules.yaml")),
    ("objects.yaml", "objects", include_str!("start/objects.yaml")),
];

/// The answer where the texts are our own, which is always the same.
pub(super) type KeptStart = OnceLock<Value>;

/// Answers `/start`: what `/about` says, the texts that the page was started with, and what `/try` says about them unless
/// that may take a while.
///
/// # Errors
/// When the texts cannot be read.
pub(super) fn answer_start(
    state: &PageState,
    compiled: &CompiledCache,
    kept: &KeptStart,
) -> Result<Value, PageContent> {
    if let Some(known) = kept.get() {
        return Ok(known.clone());
    }
    let answer = new_start(state, compiled)?;
    let is_own = state.project.is_none() && state.shared.is_none() && state.cluster.is_none();
    if is_own && check_time().is_ok() {
        let _ = kept.set(answer.clone());
    }
    Ok(answer)
}

fn new_start(state: &PageState, compiled: &CompiledCache) -> Result<Value, PageContent> {
    let opened = match (&state.project, &state.shared) {
        (Some(_), _) => answer_project(state)?,
        (None, Some(shared)) => shared.clone(),
        (None, None) => start_texts(),
    };
    let is_quick = state.project.is_none() && state.cluster.is_none();
    // Where the texts of a shared file are not what the API takes, the page says so when it judges them.
    let body = PageBody::of_value(opened.clone()).ok().filter(|_| is_quick);
    let answer = body.and_then(|body| answer_try(compiled, &body, None).ok());
    let title = opened.get(if state.project.is_some() { "name" } else { "title" });
    Ok(start_value(state, title, &opened, answer))
}

/// Answers `/start` where only GET is answered: there are no texts.
pub(super) fn read_only_start(state: &PageState) -> Value {
    start_value(state, None, &Value::Null, None)
}

fn start_value(state: &PageState, title: Option<&Value>, opened: &Value, answer: Option<Value>) -> Value {
    Map::from([
        ("about", about_value(state)),
        ("title", title.and_then(Value::as_str).unwrap_or_default().into()),
        ("files", opened.get("files").cloned().unwrap_or_else(|| Value::array(Vec::new()))),
        ("request", opened.get("request").cloned().unwrap_or_else(|| Map::default().into())),
        ("answer", answer.into()),
    ])
    .into()
}

fn start_texts() -> Value {
    let file = |(name, role, text): (&str, &str, &str)| {
        Value::from(Map::from([("name", Value::from(name)), ("role", role.into()), ("text", text.into())]))
    };
    Map::from([("files", Value::array(TEXTS.map(file).into()))]).into()
}
