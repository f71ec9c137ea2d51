//! `graph`: draws objects, the edges between them, and what patterns find.

#[cfg(feature = "serve")]
mod answer;
mod drawing;
mod finding;
mod focus;
mod overlay;
mod selection;
mod shared_neighbour;
mod sheet;
mod whole;

use std::io::{IsTerminal as _, stdout};

use kubewright_draw::{DrawOptions, Picture};
use kubewright_engine::Diagnostic;
use kubewright_graph::Id;
use kubewright_patterns as patterns;
use kubewright_value::Text;

use crate::arguments::GraphArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ChosenFormat, ColorChoice, NamedFormat as _, keep_apart, keep_inputs, print_stderr};
use crate::pattern_inputs::{PatternInputs, PatternSources};
use crate::rule_inputs::{print_diagnostics, require_manifests};
#[cfg(feature = "serve")]
pub(crate) use answer::{GraphFindings, GraphRequest, detect_answer, graph_answer};
pub(crate) use drawing::Drawing;
use overlay::Overlay;
pub(crate) use selection::GraphSelection;

/// Makes a browser load a watched page again.
const RELOADED_META: &str = "<meta http-equiv=\"refresh\" content=\"2\">";

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(crate) fn run_graph(
    arguments: &GraphArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    require_manifests(&arguments.resources)?;
    let outputs = drawing_outputs(arguments)?;
    let file = arguments.pattern.iter().filter(|name| is_file(name)).cloned();
    let patterns: Vec<String> = arguments.patterns.iter().cloned().chain(file).collect();
    let sources = PatternSources {
        patterns: &patterns,
        references: &arguments.references,
        resources: &arguments.resources,
        inputs: Some(&arguments.inputs),
        is_strict: false,
        is_without_patterns: !arguments.findings && arguments.pattern.is_none(),
        is_only_searched: false,
    };
    let inputs = PatternInputs::read(sources)?;
    keep_inputs(&outputs)?;
    if inputs.objects == 0 {
        print_diagnostics(&inputs.diagnostics, color.paint_errors());
        return Ok(ExitStatus::BadInput);
    }
    let selection = GraphSelection::from(arguments);
    let found = arguments.findings.then(|| overlay::find_badges(&inputs, &selection.namespaces));
    let overlay = found.as_ref().map(Overlay::of).unwrap_or_default();
    let drawn = draw_graph(&selection, &inputs, &overlay)?;
    let mut diagnostics = inputs.diagnostics.clone();
    diagnostics.extend(found.map(|found| found.diagnostics).unwrap_or_default());
    diagnostics.extend(drawn.diagnostics);
    drawn.notes.iter().for_each(|note| print_stderr(format_args!("{note}")));
    if let Some(mut picture) = drawn.picture {
        if let Some(title) = &arguments.title {
            picture.title.clone_from(title);
        }
        write_drawings(&outputs, &picture, (selection.draw_options(), arguments.watch))?;
    }
    // Warnings about patterns are left to `lint`.
    diagnostics.retain(|diagnostic| diagnostic.is_error() || !patterns::is_pattern_code(diagnostic.code));
    let is_broken = print_diagnostics(&diagnostics, color.paint_errors());
    Ok(if is_broken { ExitStatus::BadInput } else { ExitStatus::Clean })
}

/// What came of drawing a graph.
#[derive(Debug, Default)]
struct DrawnGraph {
    /// The picture, if there is something to draw.
    picture: Option<Picture>,
    /// What is said beside it.
    notes: Vec<String>,
    /// What is wrong.
    diagnostics: Vec<Diagnostic>,
    /// The object that the picture shows as the nearest miss.
    discarded: Option<Id>,
}

/// Draws what `selection` wants of `inputs`, with the badges of `overlay`.
///
/// # Errors
/// When there is no such focus, kind, namespace, edge type, pattern or finding.
fn draw_graph(
    selection: &GraphSelection,
    inputs: &PatternInputs,
    overlay: &Overlay,
) -> Result<DrawnGraph, CommandFailure> {
    if let Some(name) = selection.pattern.as_ref().filter(|name| !is_file(name)) {
        inputs.known(std::slice::from_ref(name))?;
    }
    let focus = selection.focus.as_ref().map(|text| focus::find_focus(&inputs.graph, text)).transpose()?;
    if selection.pattern.is_some() {
        return finding::findings_picture(selection, inputs, focus);
    }
    let (picture, cut) = whole::graph_picture(selection, inputs, focus, overlay)?;
    Ok(DrawnGraph { picture: Some(picture), diagnostics: cut.into_iter().collect(), ..DrawnGraph::default() })
}

fn drawing_outputs(arguments: &GraphArguments) -> Result<Vec<ChosenFormat<Drawing>>, CommandFailure> {
    let mut outputs = arguments.outputs.clone();
    if outputs.is_empty() {
        // A terminal shows text.
        let is_wanted = |format: &&Drawing| !stdout().is_terminal() || format.name() == "tree";
        outputs
            .extend(Drawing::all().iter().find(is_wanted).map(|format| ChosenFormat { format, file: None }));
    }
    keep_apart(&outputs)?;
    Ok(outputs)
}

fn write_drawings(
    outputs: &[ChosenFormat<Drawing>],
    picture: &Picture,
    (options, is_watched): (DrawOptions, bool),
) -> Result<(), CommandFailure> {
    for output in outputs {
        let mut text = output.format.draw(picture, options);
        // A page that is opened from a file cannot ask whether the file changed.
        if is_watched && output.format.name() == "html" {
            text = text.replacen("<head>\n", &format!("<head>\n{RELOADED_META}\n"), 1);
        }
        let mut target = output.writer()?;
        let written = target.write_all(text.as_bytes()).and_then(|()| target.flush());
        match &output.file {
            Some(path) => written.map_err(CommandFailure::writing(path))?,
            None => written?,
        }
    }
    Ok(())
}

/// Whether a pattern argument is a file and not a name. Pattern names have no slash.
fn is_file(name: &str) -> bool {
    name.contains('/') || [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
}

fn words_as_texts(words: &[String]) -> Vec<Text> {
    words.iter().map(|word| word.as_str().into()).collect()
}
