//! `detect --list`: the patterns that would be detected.

use std::io::{self, Write as _};

use kubewright_patterns::Pattern;
use kubewright_report::render::{DOCUMENT_VERSION, pattern_value};
use kubewright_report::text::plural;
use kubewright_value::{Map, Value, json};

use crate::failure::CommandFailure;
use crate::output::{ColorChoice, NamedFormat as _, Output, Paint, ReportWriter, visible, yaml_text};

/// Writes a list of `patterns` to each of `outputs`.
///
/// # Errors
/// When an output format cannot show a list of patterns.
pub(super) fn write_pattern_list(
    patterns: &[Pattern],
    outputs: &[Output],
    color: ColorChoice,
) -> Result<(), CommandFailure> {
    for output in outputs {
        let mut out = output.writer()?;
        let document = || {
            let all: Vec<Value> = patterns.iter().map(|pattern| pattern_value(pattern).into()).collect();
            Value::from(Map::from([("version", DOCUMENT_VERSION.into()), ("patterns", Value::array(all))]))
        };
        match output.format.name() {
            "table" => {
                let paint = if output.file.is_none() { color.paint_output() } else { Paint::OFF };
                write_pattern_table(patterns, &mut out, paint)?;
            }
            "json" => writeln!(out, "{}", json::to_shown_pretty(&document()))?,
            "yaml" => write!(out, "{}", yaml_text(&document()))?,
            other => {
                return Err(CommandFailure::usage(format!("`{other}` cannot show a list of patterns"))
                    .help("use table, json or yaml"));
            }
        }
        out.flush()?;
    }
    Ok(())
}

fn write_pattern_table(patterns: &[Pattern], out: &mut ReportWriter, paint: Paint) -> io::Result<()> {
    let width = |text: fn(&Pattern) -> &str| {
        patterns.iter().map(|pattern| text(pattern).chars().count()).max().unwrap_or(0).min(40)
    };
    let (names, categories) = (width(|pattern| &pattern.name), width(|pattern| &pattern.category));
    for pattern in patterns {
        let category = paint.dim(&format!("{:categories$}", visible(&pattern.category)));
        let name = format!("{:names$}", visible(&pattern.name));
        writeln!(
            out,
            "{:8} {name}  {category}  {}",
            pattern.severity.name(),
            visible(&pattern_first_sentence(pattern))
        )?;
    }
    writeln!(
        out,
        "\n{}; `kubewright explain NAME` shows the page of a built-in pattern",
        plural(patterns.len(), "pattern")
    )
}

/// Returns the first sentence of a pattern's description, or its display name.
fn pattern_first_sentence(pattern: &Pattern) -> String {
    let text = if pattern.description.is_empty() { &pattern.display_name } else { &pattern.description };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.split_once(". ") {
        Some((first, _)) => first.to_owned(),
        None => line.trim_end_matches('.').to_owned(),
    }
}
