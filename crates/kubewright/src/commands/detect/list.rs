//! The patterns that would be looked for.

use std::io::{self, Write as _};

use kubewright_patterns::Pattern;
use kubewright_report::render::pattern_value;
use kubewright_report::text::plural;
use kubewright_value::{Map, Value, json};

use crate::failure::Failure;
use crate::output::{ColorChoice, Format as _, Output, Paint, ReportWriter, visible, yaml_text};

/// Writes a list of `patterns` to each of `outputs`.
///
/// # Errors
/// When an output has no form for a list.
pub(super) fn write(patterns: &[Pattern], outputs: &[Output], color: ColorChoice) -> Result<(), Failure> {
    for output in outputs {
        let mut out = output.writer()?;
        let document = || {
            let all: Vec<Value> = patterns.iter().map(|pattern| pattern_value(pattern).into()).collect();
            Value::from(Map::from([("patterns", Value::array(all))]))
        };
        match output.format.name() {
            "table" => {
                let paint = if output.file.is_none() { color.paint_output() } else { Paint::OFF };
                table(patterns, &mut out, paint)?;
            }
            "json" => writeln!(out, "{}", json::to_shown_pretty(&document()))?,
            "yaml" => write!(out, "{}", yaml_text(&document()))?,
            other => {
                return Err(Failure::usage(format!("`{other}` has no form for a list of patterns"))
                    .help("use table, json or yaml"));
            }
        }
        out.flush()?;
    }
    Ok(())
}

fn table(patterns: &[Pattern], out: &mut ReportWriter, paint: Paint) -> io::Result<()> {
    let width = |text: fn(&Pattern) -> &str| {
        patterns.iter().map(|pattern| text(pattern).chars().count()).max().unwrap_or(0).min(40)
    };
    let (names, categories) = (width(|pattern| &pattern.name), width(|pattern| &pattern.category));
    for pattern in patterns {
        let category = paint.dim(&format!("{:categories$}", visible(&pattern.category)));
        let name = format!("{:names$}", visible(&pattern.name));
        writeln!(out, "{:8} {name}  {category}  {}", pattern.severity.name(), visible(&in_a_line(pattern)))?;
    }
    writeln!(
        out,
        "\n{}; `kubewright explain NAME` shows the page of one that ships",
        plural(patterns.len(), "pattern")
    )
}

/// Returns the first sentence of what a pattern says about itself, or what people call it.
fn in_a_line(pattern: &Pattern) -> String {
    let text = if pattern.description.is_empty() { &pattern.display_name } else { &pattern.description };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.split_once(". ") {
        Some((first, _)) => first.to_owned(),
        None => line.trim_end_matches('.').to_owned(),
    }
}
