//! `explain`: the page of a diagnostic code, or of a pattern that ships.

use std::io::Write as _;

use kubewright_engine::nearest_word;
use kubewright_patterns::shipped::{self, Shipped};

use crate::arguments::Explain;
use crate::codes;
use crate::failure::{Exit, Failure};
use crate::output::standard_output;

/// Runs the command.
///
/// # Errors
/// When there is no such code and no such pattern.
pub(crate) fn run(arguments: &Explain) -> Result<Exit, Failure> {
    let mut out = standard_output();
    match &arguments.name {
        Some(name) => write!(out, "{}", page(name)?)?,
        None => {
            for code in codes::all() {
                writeln!(out, "{}  {:7}  {}", code.id, code.severity.name(), code.title)?;
            }
            writeln!(out, "\npatterns that ship:")?;
            let width =
                shipped::shipped_patterns().iter().map(|pattern| pattern.name.len()).max().unwrap_or(0);
            for pattern in shipped::shipped_patterns() {
                writeln!(out, "{:width$}  {}", pattern.name, in_a_line(pattern))?;
            }
            writeln!(out, "\n`kubewright explain NAME` shows what one means and how to mend it")?;
        }
    }
    out.flush()?;
    Ok(Exit::Clean)
}

/// Returns the page of the code or pattern called `name`.
fn page(name: &str) -> Result<&'static str, Failure> {
    let all = codes::all();
    if let Some(code) = all.iter().find(|code| code.id.eq_ignore_ascii_case(name)) {
        return Ok(code.page);
    }
    let patterns = shipped::shipped_patterns();
    if let Some(pattern) = patterns.iter().find(|pattern| pattern.name.eq_ignore_ascii_case(name)) {
        return Ok(pattern.page);
    }
    let names = all.iter().map(|code| code.id).chain(patterns.iter().map(|pattern| pattern.name));
    let failure = Failure::usage(format!("there is no diagnostic and no pattern `{name}`"));
    Err(failure.help(match nearest_word(name, names) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`kubewright explain` lists all".to_owned(),
    }))
}

/// Returns the first sentence of a pattern's page.
fn in_a_line(pattern: &Shipped) -> String {
    let lines = pattern.page.lines().skip_while(|line| line.is_empty() || line.starts_with('#'));
    let paragraph: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    let text = paragraph.join(" ");
    text.split_once(". ").map_or(text.as_str(), |(first, _)| first).trim_end_matches('.').to_owned()
}
