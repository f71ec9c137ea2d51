//! `explain`: the page of a diagnostic code.

use std::io::Write as _;

use kubewright_engine::nearest;

use crate::arguments::Explain;
use crate::codes;
use crate::failure::{Exit, Failure};
use crate::output::standard_output;

/// Runs the command.
///
/// # Errors
/// When there is no such code.
pub(crate) fn run(arguments: &Explain) -> Result<Exit, Failure> {
    let all = codes::all();
    let mut out = standard_output();
    let Some(name) = &arguments.code else {
        for code in &all {
            writeln!(out, "{}  {:7}  {}", code.id, code.severity.name(), code.title)?;
        }
        writeln!(out, "\n`kubewright explain CODE` shows what one means and how to mend it")?;
        out.flush()?;
        return Ok(Exit::Clean);
    };
    let Some(code) = all.iter().find(|code| code.id.eq_ignore_ascii_case(name)) else {
        let failure = Failure::usage(format!("there is no diagnostic `{name}`"));
        return Err(failure.help(match nearest(name, all.iter().map(|code| code.id)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`kubewright explain` lists all".to_owned(),
        }));
    };
    write!(out, "{}", code.page)?;
    out.flush()?;
    Ok(Exit::Clean)
}
