//! `explain`: the page of a diagnostic code, or of a built-in pattern.

use std::io::Write as _;

use kubewright_engine::nearest_word;
use kubewright_patterns::shipped::{self, Shipped};
use kubewright_value::suggest::did_you_mean;

use crate::arguments::ExplainArguments;
use crate::codes;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::standard_output;

/// Runs the command.
///
/// # Errors
/// When there is no such code and no such pattern.
pub(crate) fn run_explain(arguments: &ExplainArguments) -> Result<ExitStatus, CommandFailure> {
    let mut out = standard_output();
    match &arguments.name {
        Some(name) if arguments.source => write!(out, "{}", pattern_source(name)?)?,
        Some(name) => write!(out, "{}", explain_page(name)?)?,
        None => {
            for code in codes::all_codes() {
                writeln!(out, "{}  {:7}  {}", code.id, code.severity.name(), code.title)?;
            }
            writeln!(out, "\nbuilt-in patterns:")?;
            let width =
                shipped::shipped_patterns().iter().map(|pattern| pattern.name.len()).max().unwrap_or(0);
            for pattern in shipped::shipped_patterns() {
                writeln!(out, "{:width$}  {}", pattern.name, page_first_sentence(pattern))?;
            }
            writeln!(out, "\n`kubewright explain NAME` shows what it means and how to fix it")?;
        }
    }
    out.flush()?;
    Ok(ExitStatus::Clean)
}

fn pattern_called(name: &str) -> Option<&'static Shipped> {
    shipped::shipped_patterns().iter().find(|pattern| pattern.name.eq_ignore_ascii_case(name))
}

/// Returns the YAML of the built-in pattern called `name`.
fn pattern_source(name: &str) -> Result<&'static str, CommandFailure> {
    if let Some(pattern) = pattern_called(name) {
        return Ok(pattern.source());
    }
    let failure = CommandFailure::usage(format!("there is no built-in pattern `{name}`"));
    let names = shipped::shipped_patterns().iter().map(|pattern| pattern.name);
    let nearest = nearest_word(name, names);
    Err(failure.help(nearest.map_or_else(|| "`kubewright detect --list` lists all".to_owned(), did_you_mean)))
}

/// Returns the page of the code or pattern called `name`.
pub(super) fn explain_page(name: &str) -> Result<&'static str, CommandFailure> {
    let all = codes::all_codes();
    if let Some(code) = all.iter().find(|code| code.id.eq_ignore_ascii_case(name)) {
        return Ok(code.page());
    }
    if let Some(pattern) = pattern_called(name) {
        return Ok(pattern.page());
    }
    let patterns = shipped::shipped_patterns();
    let names = all.iter().map(|code| code.id).chain(patterns.iter().map(|pattern| pattern.name));
    let failure = CommandFailure::usage(format!("there is no diagnostic and no pattern `{name}`"));
    Err(failure.help(match nearest_word(name, names) {
        Some(near) => did_you_mean(near),
        None => "`kubewright explain` lists all".to_owned(),
    }))
}

/// Returns the first sentence of a pattern's page.
pub(super) fn page_first_sentence(pattern: &Shipped) -> String {
    let lines = pattern.page().lines().skip_while(|line| line.is_empty() || line.starts_with('#'));
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ");
    text.split_once(". ").map_or(text.as_str(), |(first, _)| first).trim_end_matches('.').to_owned()
}
