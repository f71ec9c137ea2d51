//! `fn`: applies traits as a KRM function, which kustomize and kpt call with a ResourceList.
//!
//! The caller takes the output for the whole list, so the list is written even where something is wrong: with its
//! items as they were given, and with what is wrong among its results.

mod config;
mod items;
mod list;
mod marks;
mod place;
mod render;
mod results;
mod settings;

use std::io::Write as _;

use kubewright_engine::Diagnostic;

use crate::arguments::FunctionArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, standard_output, yaml_text};
use crate::rule_inputs::print_diagnostics;

/// Runs the command.
///
/// # Errors
/// When there is no input or output cannot be written.
pub(crate) fn run_function(
    arguments: &FunctionArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let mut problems = Vec::new();
    let Some(list) = list::read_resource_list(&mut problems)? else {
        print_diagnostics(&problems, color.paint_errors());
        return Ok(ExitStatus::BadInput);
    };
    let wish = config::read_function_config(&list, &mut problems);
    let rendering = match &wish {
        Some(wish) => render::render_list(arguments, wish, &list, &mut problems)?,
        None => None,
    };
    let plane = arguments.plane.or(wish.and_then(|wish| wish.plane));
    let (items, notes) = match rendering {
        Some(rendering) => items::items_after(&list, rendering, plane),
        None => (list.given(), Vec::new()),
    };
    if arguments.quiet {
        problems.retain(Diagnostic::is_error);
    }
    let results = results::build_results(&problems, notes, &list, &items);
    let mut out = standard_output();
    out.write_all(yaml_text(&list.with(items, results)).as_bytes())?;
    out.flush()?;
    place::label_list_fields(&mut problems, &list);
    let has_failed = print_diagnostics(&problems, color.paint_errors());
    Ok(if has_failed { ExitStatus::Violations } else { ExitStatus::Clean })
}
