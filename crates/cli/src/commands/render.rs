//! `render`: applies traits to manifests.
//!
//! A manifest without one of its patches is worse than none, so nothing is written unless everything was read and applied.

mod base;
pub(super) mod context;
mod full;
pub(super) mod idempotent;
pub(super) mod instances;
mod job;
pub(super) mod library;
mod selection;
pub(super) mod setting;
pub(super) mod stack;
mod trace;
mod values;
mod write;

use std::io::Write as _;
use std::path::PathBuf;

use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input};
use kubewright_report::text::{grouped_digits, plural};
use kubewright_traits::{self as traits, ManifestOrigin, RenderOptions, Rendering};
use kubewright_value::Document;

use crate::arguments::{RenderArguments, RenderFormat};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, print_stderr, standard_output};
use crate::rule_inputs::{no_objects, print_diagnostics};
pub(super) use job::{RenderJob, given_manifests};
use library::TraitLibrary;
use setting::PathSetting;
pub(crate) use setting::RenderSetting;
use stack::Stack;
pub(super) use write::write_differences;

/// The JSON schema of stack files.
pub(super) const SCHEMA: &str = include_str!("../../schemas/trait-stack.schema.json");

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid or output cannot be written.
pub(crate) fn run_render(
    arguments: &RenderArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    if arguments.schema {
        return print_schema();
    }
    read_once(arguments)?;
    write_something(arguments)?;
    let mut problems = Vec::new();
    let stack = arguments.stack.as_deref().and_then(|path| stack::read_stack_file(path, &mut problems));
    let (own, shared) = split_render_settings(arguments);
    let said = context::ContextLayers::read(arguments, stack.as_ref(), shared, &mut problems);
    let trait_paths = trait_paths(arguments, stack.as_ref(), &mut problems);
    let found = files::find_files(&trait_paths);
    problems.extend(found.problems);
    let others: Vec<Input> = found.inputs.iter().cloned().chain(value_files(arguments)).collect();
    let base = base::read_base(arguments, &others, &mut problems)?;
    if full::has_components(&base.documents) {
        let (base, traits, own) = (&base, found.inputs.as_slice(), own.as_slice());
        return full::render_components(
            arguments,
            full::ComponentInputs { base, traits, said, own, problems },
            color,
        );
    }
    if arguments.stack.is_none() && arguments.traits.is_empty() {
        return Err(CommandFailure::usage("there are no traits to apply")
            .help("pass them with --trait, or in a stack file with --stack"));
    }
    let inline = stack.as_ref().map(|stack| stack.inline.as_slice()).unwrap_or_default();
    let library = TraitLibrary::load(&found.inputs, &trait_paths, inline, &said.more(), &mut problems);
    if base.documents.is_empty() && !problems.iter().any(Diagnostic::is_error) {
        problems.push(no_objects(&base::base_paths(arguments)?));
    }
    let instances = instances::requested_instances(arguments, stack.as_ref(), &library, &own, &mut problems);
    let given = said.given(&base.documents, &mut problems);
    if arguments.strict {
        traits::raise_strict_warnings(&mut problems);
    }
    if problems.iter().any(Diagnostic::is_error) {
        print_diagnostics(&problems, color.paint_errors());
        return Ok(ExitStatus::BadInput);
    }
    let options = RenderOptions { strict: arguments.strict, trace: arguments.trace };
    let checks_idempotence = arguments.check_idempotent;
    let job = RenderJob {
        base: &base.documents,
        instances: &instances,
        given: &given,
        options,
        checks_idempotence,
    };
    let rendering = job.run(&mut problems)?;
    problems.iter_mut().for_each(setting::remedy);
    if arguments.quiet {
        problems.retain(Diagnostic::is_error);
    }
    if arguments.trace {
        let traced = trace::TracedRendering { release: None, rendering: &rendering, base: &base.documents };
        trace::write_render_trace(&[traced], &problems, arguments.output, color.paint_output())?;
    }
    if print_diagnostics(&problems, color.paint_errors()) {
        return Ok(exit_of(&problems));
    }
    if !arguments.trace {
        write::write_rendered(arguments, &base.documents, &rendering, color)?;
        if !arguments.quiet {
            summarise_instances(instances.len(), &base.documents, &rendering);
        }
    }
    Ok(ExitStatus::Clean)
}

fn print_schema() -> Result<ExitStatus, CommandFailure> {
    let mut out = standard_output();
    write!(out, "{SCHEMA}")?;
    out.flush()?;
    Ok(ExitStatus::Clean)
}

/// Returns the exit status of a failed rendering: bad input for an invalid parameter, failure for the traits.
fn exit_of(problems: &[Diagnostic]) -> ExitStatus {
    let is_bad = problems.iter().any(|problem| problem.is_error() && traits::is_about_values(problem));
    if is_bad { ExitStatus::BadInput } else { ExitStatus::Violations }
}

/// Refuses options that leave nothing to write.
fn write_something(arguments: &RenderArguments) -> Result<(), CommandFailure> {
    if arguments.diff && arguments.output == RenderFormat::Json && arguments.output_dir.is_none() {
        return Err(CommandFailure::usage("--diff shows YAML lines and cannot be combined with `-o json`")
            .help("remove one of them, or write the manifests to a folder with --output-dir"));
    }
    Ok(())
}

/// Refuses to read standard input twice.
fn read_once(arguments: &RenderArguments) -> Result<(), CommandFailure> {
    let lists = [&arguments.files, &arguments.traits, &arguments.values.parameters];
    let more = [&arguments.values.environment_configs, &arguments.values.context];
    let named = lists.into_iter().chain(more).flatten().chain(&arguments.stack);
    let is_implied = arguments.files.is_empty();
    if named.filter(|path| *path == "-").count() + usize::from(is_implied) > 1 {
        let failure =
            CommandFailure::usage("`-` is given more than once; standard input can be read only once");
        return Err(if is_implied {
            failure.help("without -f the manifests are read from standard input")
        } else {
            failure
        });
    }
    Ok(())
}

/// Splits the settings into those of instances and those of the context.
fn split_render_settings(arguments: &RenderArguments) -> (Vec<PathSetting>, Vec<PathSetting>) {
    let settings = arguments.set.iter().chain(&arguments.set_string);
    let settings = settings.flat_map(|setting| setting.0.iter().cloned());
    settings.partition(|one| ["parameters", "environmentConfigs"].contains(&one.root.as_str()))
}

/// Returns the paths of traits: those of the command line, and those of the stack file.
fn trait_paths(
    arguments: &RenderArguments,
    stack: Option<&Stack>,
    problems: &mut Vec<Diagnostic>,
) -> Vec<String> {
    let named = stack.zip(arguments.stack.as_deref());
    let of_stack = named.map(|(stack, file)| stack.paths(file, problems)).unwrap_or_default();
    arguments.traits.iter().cloned().chain(of_stack).collect()
}

/// Returns the files that contain values.
fn value_files(arguments: &RenderArguments) -> impl Iterator<Item = Input> {
    let lists =
        [&arguments.values.parameters, &arguments.values.environment_configs, &arguments.values.context];
    let paths = lists.into_iter().flatten().chain(&arguments.stack).filter(|path| *path != "-");
    paths.map(|path| Input::File(PathBuf::from(path)))
}

/// Prints a one-line summary.
fn summarise_instances(instances: usize, base: &[Document], rendering: &Rendering) {
    let (mut kept, mut changed, mut made) = (0, 0, 0);
    for manifest in &rendering.manifests {
        match manifest.origin {
            ManifestOrigin::Made(_) => made += 1,
            ManifestOrigin::Given(number) => {
                kept += 1;
                let is_same = base.get(number).is_some_and(|document| document.value == manifest.object);
                changed += usize::from(!is_same);
            }
        }
    }
    let traits = plural(instances, "trait");
    let mut text =
        format!("{traits} on {}: {} changed", plural(base.len(), "manifest"), grouped_digits(changed));
    for (count, word) in [(made, "created"), (base.len() - kept, "removed")] {
        if count > 0 {
            text.push_str(&format!(", {} {word}", grouped_digits(count)));
        }
    }
    print_stderr(text);
}
