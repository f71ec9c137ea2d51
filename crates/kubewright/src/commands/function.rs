//! `fn`: applies traits as a KRM function, which kustomize and kpt call with a ResourceList.
//!
//! Whoever calls takes what comes out for all there is, so the list is written even where something is wrong: with its
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

use crate::arguments::Function;
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, standard_output, yaml_text};
use crate::rule_inputs::complain;

/// Runs the command.
///
/// # Errors
/// When there is no input or output cannot be written.
pub(crate) fn run(arguments: &Function, color: ColorChoice) -> Result<Exit, Failure> {
    let mut problems = Vec::new();
    let Some(list) = list::read(&mut problems)? else {
        complain(&problems, color.paint_errors());
        return Ok(Exit::BadInput);
    };
    let wish = config::read(&list, &mut problems);
    let rendering = match &wish {
        Some(wish) => render::render(arguments, wish, &list, &mut problems)?,
        None => None,
    };
    let plane = arguments.plane.or(wish.and_then(|wish| wish.plane));
    let (items, notes) = match rendering {
        Some(rendering) => items::after(&list, rendering, plane),
        None => (list.given(), Vec::new()),
    };
    if arguments.quiet {
        problems.retain(Diagnostic::is_error);
    }
    let results = results::of(&problems, notes, &list, &items);
    let mut out = standard_output();
    out.write_all(yaml_text(&list.with(items, results)).as_bytes())?;
    out.flush()?;
    place::label(&mut problems, &list);
    let has_failed = complain(&problems, color.paint_errors());
    Ok(if has_failed { Exit::Violations } else { Exit::Clean })
}
