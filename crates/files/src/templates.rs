//! Templates of Helm that are met where manifests are expected.

use std::path::Path;
use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::yaml::StreamChunk;
use kubewright_value::{ParseProblem, ParseProblemKind, Source};

use crate::codes::TEMPLATE;
use crate::find::is_chart;

/// Returns the diagnostic in place of `problems` if the text is a template, which is not YAML yet.
pub(super) fn template_problem(
    source: &Arc<Source>,
    chunk: &StreamChunk,
    problems: &[ParseProblem],
) -> Option<Diagnostic> {
    let is_about_syntax =
        |problem: &&ParseProblem| matches!(problem.kind, ParseProblemKind::Syntax | ParseProblemKind::Key);
    let first = problems.iter().find(is_about_syntax)?;
    let text = source.text.get(chunk.range.clone())?;
    if !(text.contains("{{") && text.contains("}}")) {
        return None;
    }
    let name = &source.name;
    let (message, help) = match chart_folder(Path::new(name)) {
        Some(chart) => (
            format!("this is a Helm template of the chart `{chart}`, not a manifest"),
            format!("name the chart to render it: `-r {chart}`"),
        ),
        None => (
            "this is a template, not a manifest".to_owned(),
            "render it first, for example with `helm template`".to_owned(),
        ),
    };
    Some(Diagnostic::new(&TEMPLATE, message, first.location.clone()).help(help))
}

/// Returns the folder of the chart that a file belongs to.
fn chart_folder(file: &Path) -> Option<String> {
    let folder = file.ancestors().skip(1).find(|folder| is_chart(folder))?;
    let name = folder.to_string_lossy();
    Some(if name.is_empty() { ".".to_owned() } else { name.into_owned() })
}
