//! `graph`: draws objects and what links them, and what patterns find among them.

mod drawing;
mod finding;
mod focus;
mod overlay;
mod sheet;
mod whole;

use kubewright_draw::{DrawOptions, Picture};
use kubewright_value::Text;

use crate::arguments::Graph;
use crate::failure::{Exit, Failure};
use crate::output::{Chosen, ColorChoice, Format as _, keep_apart, keep_inputs};
use crate::session::complain;
use crate::survey::{Sources, Survey};
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
    let sources = Sources {
        patterns: &patterns,
        references: &arguments.references,
        resources: &arguments.resources,
        is_strict: false,
        is_without_patterns: !arguments.findings && arguments.pattern.is_none(),
    };
    let mut survey = Survey::read(sources)?;
    keep_inputs(&outputs)?;
    if survey.objects == 0 {
        complain(&survey.diagnostics, color.paint_errors());
        return Ok(Exit::BadInput);
    }
    let picture = picture(arguments, &mut survey)?;
    if let Some(mut picture) = picture {
        if let Some(title) = &arguments.title {
            picture.title.clone_from(title);
        }
        let options =
            DrawOptions { glyphs: arguments.max_boxes, merges: !arguments.each, ..DrawOptions::default() };
        write(&outputs, &picture, options)?;
    }
    // What is doubtful about patterns is for `lint` to say.
    survey.diagnostics.retain(|diagnostic| diagnostic.is_error() || !diagnostic.code.id.starts_with("KW-P"));
    let is_broken = complain(&survey.diagnostics, color.paint_errors());
    Ok(if is_broken { Exit::BadInput } else { Exit::Clean })
}

/// Returns what is to be drawn, if there is anything.
fn picture(arguments: &Graph, survey: &mut Survey) -> Result<Option<Picture>, Failure> {
    let focus = arguments.focus.as_ref().map(|text| focus::find(&survey.graph, text)).transpose()?;
    if let Some(name) = &arguments.pattern {
        if !is_file(name) {
            survey.only(std::slice::from_ref(name))?;
        }
        return finding::picture(arguments, survey, focus);
    }
    let overlay = if arguments.findings { overlay::find(arguments, survey) } else { Overlay::default() };
    whole::picture(arguments, survey, focus, &overlay).map(Some)
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
        let mut target = output.target()?;
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
