//! `graph`: draws objects and what links them.

use std::io::Write as _;

use kubewright_graph::draw::{self, Options, Picture};

use crate::arguments::Graph;
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, standard_output};
use crate::session::complain;
use crate::survey::Survey;

/// Runs the command.
///
/// # Errors
/// When output cannot be written.
pub(crate) fn run(arguments: &Graph, color: ColorChoice) -> Result<Exit, Failure> {
    let survey = Survey::open(&[], &arguments.resources)?;
    let picture = Picture::of(&survey.graph);
    let mut out = standard_output();
    writeln!(out, "{}", draw::svg(&picture, &Options::default()))?;
    out.flush()?;
    let is_broken = complain(&survey.diagnostics, color.paint_errors());
    Ok(if is_broken { Exit::BadInput } else { Exit::Clean })
}
