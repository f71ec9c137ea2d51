//! `/graph` and `/detect`: pictures of objects, and what patterns find in them.
//!
//! A graph is kept beside what was found in it, so that the next picture of the same objects (an application that is
//! opened, another focus) is only drawn.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kubewright_files::{self as files, ObjectFilter};
use kubewright_ui::{PageBody, PageContent, PageRequest, PageText};
use kubewright_value::{Document, Value};

use super::answers::PageAnswers;
use super::deadline::check_time;
use super::kept::Kept;
use super::workspace::PageWorkspace;
use crate::commands::graph::{GraphFindings, GraphRequest, detect_answer, graph_answer};
use crate::failure::CommandFailure;
use crate::pattern_inputs::{PatternInputs, PatternSources};

/// For how long the graph of files is kept.
const FILES_AGE: Duration = Duration::from_secs(10);

/// A graph, and what was found in it.
pub(super) struct KeptGraph {
    inputs: PatternInputs,
    found: OnceLock<GraphFindings>,
    /// What was left out.
    notes: Vec<String>,
}

/// The graph of the last texts.
#[derive(Default)]
struct LastGraph(Mutex<Option<(Vec<PageText>, Arc<KeptGraph>)>>);

/// Adds what is answered about texts to `answers`, and about the objects of `files` if there are any.
pub(super) fn add_graph_routes(answers: &mut PageAnswers, files: Option<&Path>) {
    let last = LastGraph::default();
    answers.post("/graph", move |body, _| {
        let options = body.value.get("options").unwrap_or(&Value::Null);
        let request = GraphRequest::read(options, "objects").map_err(|wrong| bad_option(&wrong))?;
        last.of(body)?.answer(&request)
    });
    answers.post("/detect", |body, _| answer_detect(body));
    let Some(path) = files.map(|path| path.to_string_lossy().into_owned()) else { return };
    let kept = Kept::new(FILES_AGE);
    answers.get("/graph", move |request| {
        let asked = read_graph_query(request, &path)?;
        kept.get(|| KeptGraph::read(&path))?.answer(&asked)
    });
}

/// Reads the query of a request for a picture.
///
/// # Errors
/// When a value is wrong.
pub(super) fn read_graph_query(request: &PageRequest, sources: &str) -> Result<GraphRequest, PageContent> {
    GraphRequest::read_query(&request.query, sources).map_err(|wrong| bad_option(&wrong))
}

/// Returns the answer about something that is not there, with the remedy.
pub(super) fn refused(failure: &CommandFailure) -> PageContent {
    let message = match failure {
        CommandFailure::Usage { message, help } if !help.is_empty() => format!("{message}; {help}"),
        other => other.to_string(),
    };
    PageContent::error(400, &message, None)
}

impl KeptGraph {
    /// Returns the graph of `inputs`; `notes` say what was left out.
    pub(super) fn new(inputs: PatternInputs, notes: Vec<String>) -> Self {
        Self { inputs, found: OnceLock::new(), notes }
    }

    /// Reads the objects of a file or a folder.
    fn read(path: &str) -> Result<Self, PageContent> {
        let resources = [path.to_owned()];
        let inputs =
            PatternInputs::read(PatternSources { resources: &resources, ..PatternSources::default() });
        let inputs = inputs.map_err(|failure| refused(&failure))?;
        check_time()?;
        Ok(Self::new(inputs, Vec::new()))
    }

    /// Returns what patterns find, which is kept if there was time for all of them.
    fn findings(&self) -> Result<&GraphFindings, PageContent> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let found = GraphFindings::find(&self.inputs);
        check_time()?;
        Ok(self.found.get_or_init(|| found))
    }

    /// Returns the picture that `request` asks for.
    pub(super) fn answer(&self, request: &GraphRequest) -> Result<Value, PageContent> {
        let found = request.has_findings.then(|| self.findings()).transpose()?;
        let mut answer = graph_answer(&self.inputs, found, request).map_err(|failure| refused(&failure))?;
        if let Some(notes) = answer.as_object_mut().and_then(|map| map.get_mut("notes")) {
            let own = notes.as_array().unwrap_or_default().iter().cloned();
            *notes = Value::array(own.chain(self.notes.iter().map(|note| note.as_str().into())).collect());
        }
        Ok(answer)
    }
}

impl LastGraph {
    /// Returns the graph of the texts of `body`.
    fn of(&self, body: &PageBody) -> Result<Arc<KeptGraph>, PageContent> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some((_, graph)) = kept.filter(|(files, _)| *files == body.files) {
            return Ok(graph);
        }
        let graph = Arc::new(KeptGraph::new(read_inputs(body), Vec::new()));
        check_time()?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Some((body.files.clone(), Arc::clone(&graph)));
        Ok(graph)
    }
}

fn answer_detect(body: &PageBody) -> Result<Value, PageContent> {
    let names = body.value.get("patterns").and_then(Value::as_array).unwrap_or_default();
    let names: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    detect_answer(&mut read_inputs(body), &names).map_err(|failure| refused(&failure))
}

fn bad_option(message: &str) -> PageContent {
    PageContent::error(400, message, None)
}

fn read_inputs(body: &PageBody) -> PatternInputs {
    let space = PageWorkspace::new(&body.files);
    space.enter(|| {
        let mut diagnostics = Vec::new();
        let mut read = |paths: &[String], filter| -> Vec<Document> {
            let documents = files::read_documents(&files::find_files(paths).inputs, &mut diagnostics);
            files::wanted_objects(documents, filter, &mut diagnostics)
        };
        let (written, mut objects) =
            (read(&space.patterns, ObjectFilter::Payloads), read(&space.objects, ObjectFilter::Objects));
        objects.extend(read(&space.world, ObjectFilter::Objects));
        let mut inputs = PatternInputs::of(written, &objects);
        inputs.diagnostics.extend(diagnostics);
        inputs
    })
}
