//! `/graph` and `/detect` on the texts of a request.

use kubewright_files::{self as files, ObjectFilter};
use kubewright_ui::{PageContent, PageRequest};
use kubewright_value::{Document, Value};

use super::body::PageBody;
use super::workspace::PageWorkspace;
use crate::commands::graph::{GraphFindings, GraphRequest, detect_answer, graph_answer};
use crate::failure::CommandFailure;
use crate::pattern_inputs::PatternInputs;

/// Answers a request for a picture of the objects.
///
/// # Errors
/// When the options are wrong.
pub(super) fn answer_graph(body: &PageBody, _request: &PageRequest) -> Result<Value, PageContent> {
    let options = body.value.get("options").unwrap_or(&Value::Null);
    let request = GraphRequest::read(options, "objects").map_err(|wrong| bad_option(&wrong))?;
    let inputs = read_inputs(body);
    let found = request.has_findings.then(|| GraphFindings::find(&inputs));
    graph_answer(&inputs, found.as_ref(), &request).map_err(|failure| refused(&failure))
}

/// Answers a request for what patterns find.
///
/// # Errors
/// When there is no pattern of a name.
pub(super) fn answer_detect(body: &PageBody, _request: &PageRequest) -> Result<Value, PageContent> {
    let names = body.value.get("patterns").and_then(Value::as_array).unwrap_or_default();
    let names: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let mut inputs = read_inputs(body);
    detect_answer(&mut inputs, &names).map_err(|failure| refused(&failure))
}

/// Returns the answer about an option that is wrong.
pub(super) fn bad_option(message: &str) -> PageContent {
    PageContent::error(400, message, None)
}

/// Returns the answer about something that is not there, with the remedy.
pub(super) fn refused(failure: &CommandFailure) -> PageContent {
    let message = match failure {
        CommandFailure::Usage { message, help } if !help.is_empty() => format!("{message}; {help}"),
        other => other.to_string(),
    };
    PageContent::error(400, &message, None)
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
