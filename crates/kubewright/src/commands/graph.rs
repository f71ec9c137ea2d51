//! `graph`: draws objects and what links them, and what patterns find among them.

mod drawing;
mod finding;
mod focus;
mod overlay;
mod sheet;
mod whole;

use kubewright_draw::{DrawOptions, Picture};
use kubewright_patterns as patterns;
use kubewright_value::Text;

use crate::arguments::Graph;
use crate::failure::{Exit, Failure};
use crate::output::{Chosen, ColorChoice, Format as _, keep_apart, keep_inputs};
use crate::pattern_inputs::{PatternInputs, PatternSources};
use crate::rule_inputs::complain;
pub(crate) use drawing::Drawing;
use overlay::Overlay;

/// Runs the command.
///
/// # Errors
/// When what was asked for makes no sense or output cannot be written.
pub(crate) fn run(arguments: &Graph, color: ColorChoice) -> Result<Exit, Failure> {
    let outputs = outputs(arguments)?;
    let file = arguments.pattern.iter().filter(|name| is_file(name)).cloned();
    let patterns: Vec<String> = arguments.patterns.iter().cloned().chain(file).collect();
    let sources = PatternSources {
        patterns: &patterns,
        references: &arguments.references,
        resources: &arguments.resources,
        is_strict: false,
        is_without_patterns: !arguments.findings && arguments.pattern.is_none(),
    };
    let mut inputs = PatternInputs::read(sources)?;
    keep_inputs(&outputs)?;
    if inputs.objects == 0 {
        complain(&inputs.diagnostics, color.paint_errors());
        return Ok(Exit::BadInput);
    }
    let picture = picture(arguments, &mut inputs)?;
    if let Some(mut picture) = picture {
        if let Some(title) = &arguments.title {
            picture.title.clone_from(title);
        }
        let options =
            DrawOptions { glyphs: arguments.max_boxes, merges: !arguments.each, ..DrawOptions::default() };
        write(&outputs, &picture, options)?;
    }
    // What is doubtful about patterns is for `lint` to say.
    inputs
        .diagnostics
        .retain(|diagnostic| diagnostic.is_error() || !patterns::is_pattern_code(diagnostic.code));
    let is_broken = complain(&inputs.diagnostics, color.paint_errors());
    Ok(if is_broken { Exit::BadInput } else { Exit::Clean })
}

/// Returns what is to be drawn, if there is anything.
fn picture(arguments: &Graph, inputs: &mut PatternInputs) -> Result<Option<Picture>, Failure> {
    let focus = arguments.focus.as_ref().map(|text| focus::find(&inputs.graph, text)).transpose()?;
    if let Some(name) = &arguments.pattern {
        if !is_file(name) {
            inputs.only(std::slice::from_ref(name))?;
        }
        return finding::picture(arguments, inputs, focus);
    }
    let overlay = if arguments.findings { overlay::find(arguments, inputs) } else { Overlay::default() };
    whole::picture(arguments, inputs, focus, &overlay).map(Some)
}

fn outputs(arguments: &Graph) -> Result<Vec<Chosen<Drawing>>, Failure> {
    let mut outputs = arguments.outputs.clone();
    if outputs.is_empty() {
        outputs.extend(Drawing::all().first().map(|format| Chosen { format, file: None }));
    }
    keep_apart(&outputs)?;
    Ok(outputs)
}

fn write(outputs: &[Chosen<Drawing>], picture: &Picture, options: DrawOptions) -> Result<(), Failure> {
    for output in outputs {
        let text = output.format.draw(picture, options);
        let mut target = output.writer()?;
        let written = target.write_all(text.as_bytes()).and_then(|()| target.flush());
        match &output.file {
            Some(path) => written.map_err(Failure::writing(path))?,
            None => written?,
        }
    }
    Ok(())
}

/// Whether what was given for a pattern is a file and not a name. No name of a pattern has a slash.
fn is_file(name: &str) -> bool {
    name.contains('/') || [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
}

fn texts(words: &[String]) -> Vec<Text> {
    words.iter().map(|word| word.as_str().into()).collect()
}
