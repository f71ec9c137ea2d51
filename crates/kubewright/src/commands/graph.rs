//! `graph`: draws objects, the edges between them, and what patterns find.

mod drawing;
mod finding;
mod focus;
mod overlay;
mod shared_neighbour;
mod sheet;
mod whole;

use std::io::{IsTerminal as _, stdout};

use kubewright_draw::{DrawOptions, Picture};
use kubewright_patterns as patterns;
use kubewright_value::Text;

use crate::arguments::GraphArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ChosenFormat, ColorChoice, NamedFormat as _, keep_apart, keep_inputs};
use crate::pattern_inputs::{PatternInputs, PatternSources};
use crate::rule_inputs::{print_diagnostics, require_manifests};
pub(crate) use drawing::Drawing;
use overlay::Overlay;

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
    };
    let mut inputs = PatternInputs::read(sources)?;
    keep_inputs(&outputs)?;
    if inputs.objects == 0 {
        print_diagnostics(&inputs.diagnostics, color.paint_errors());
        return Ok(ExitStatus::BadInput);
    }
    let picture = chosen_picture(arguments, &mut inputs)?;
    if let Some(mut picture) = picture {
        if let Some(title) = &arguments.title {
            picture.title.clone_from(title);
        }
        let is_whole =
            arguments.pattern.is_none() && arguments.kinds.is_empty() && arguments.edges.is_empty();
        let options = DrawOptions {
            glyphs: arguments.max_boxes,
            merges: !arguments.each,
            folds: is_whole && !arguments.all_edges,
            applications_above: if is_whole { arguments.apps_above } else { usize::MAX },
            ..DrawOptions::default()
        };
        write_drawings(&outputs, &picture, (options, arguments.watch))?;
    }
    // Warnings about patterns are left to `lint`.
    inputs
        .diagnostics
        .retain(|diagnostic| diagnostic.is_error() || !patterns::is_pattern_code(diagnostic.code));
    let is_broken = print_diagnostics(&inputs.diagnostics, color.paint_errors());
    Ok(if is_broken { ExitStatus::BadInput } else { ExitStatus::Clean })
}

/// Returns the picture to draw, if there is one.
fn chosen_picture(
    arguments: &GraphArguments,
    inputs: &mut PatternInputs,
) -> Result<Option<Picture>, CommandFailure> {
    let focus = arguments.focus.as_ref().map(|text| focus::find_focus(&inputs.graph, text)).transpose()?;
    if let Some(name) = &arguments.pattern {
        if !is_file(name) {
            inputs.only(std::slice::from_ref(name))?;
        }
        return finding::findings_picture(arguments, inputs, focus);
    }
    let overlay =
        if arguments.findings { overlay::find_overlay(arguments, inputs) } else { Overlay::default() };
    whole::graph_picture(arguments, inputs, focus, &overlay).map(Some)
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
