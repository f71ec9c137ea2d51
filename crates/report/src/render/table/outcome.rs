//! One outcome in the table: what is wrong in plain words, what was found, what is wanted, and both places.

use std::fmt::{self, Write as _};

use kubewright_engine::{OutcomeReason, RuleStatus};

use crate::render::TableOptions;
use crate::text::wrapped_lines;
use crate::{ObjectRow, OutcomeRow, Paint, shorten_visible, status_mark, visible};

/// The least width in which a message is wrapped.
const MIN_MESSAGE_WIDTH: usize = 30;

/// How much is shown of what a rule wants.
const MAX_WANTED_CHARACTERS: usize = 80;

/// Writes an outcome; rules have `width` columns.
pub(super) fn write_outcome(
    row: &OutcomeRow,
    object: &ObjectRow,
    (out, options): (&mut String, TableOptions),
    width: usize,
) -> fmt::Result {
    let paint = options.paint;
    let reason = row.reason.as_deref();
    let said = reason.filter(|reason| !reason.text.is_empty());
    let text = said.map_or_else(|| row.text(), |reason| reason.text.clone());
    let mut lines = text.lines();
    let is_audited = row.status == RuleStatus::Fail && !row.is_refusal;
    let first = lines.next().unwrap_or_default();
    let first = format!("{}{}", if is_audited { "(audit) " } else { "" }, visible(first));
    let mark = match row.status {
        RuleStatus::Pass if row.changes + row.written.len() > 0 => paint.yellow("~"),
        status => status_mark(status, paint),
    };
    let rule = visible(&row.rule.to_string()).into_owned();
    let wrapped = wrapped_message(&first, rule.chars().count().max(width), options);
    let (first, more) = wrapped.split_first().map_or(("", [].as_slice()), |(first, more)| (first, more));
    writeln!(out, "{}", format!("    {mark} {rule:width$}  {first}").trim_end())?;
    for line in more.iter().map(String::as_str).chain(lines) {
        writeln!(out, "      {:width$}  {}", "", visible(line))?;
    }
    if !row.exceptions.is_empty() {
        writeln!(out, "        exception {}", visible(&row.exceptions.join(", ")))?;
    }
    let help = reason.map(|reason| reason.help.as_str()).unwrap_or_default();
    let is_explained = row.status == RuleStatus::Pass && (row.is_idle() || !help.is_empty());
    if matches!(row.status, RuleStatus::Pass | RuleStatus::Skip) && !is_explained {
        return Ok(());
    }
    write_places(row, object, (out, paint))?;
    if !help.is_empty() {
        writeln!(out, "        = help: {}", visible(help))?;
    }
    // The words of the original come behind the cause.
    if row.status == RuleStatus::Error && said.is_some_and(|reason| reason.text != row.message.as_str()) {
        writeln!(out, "        {}", paint.dim(&format!("message: {}", visible(&row.message))))?;
    }
    Ok(())
}

/// Returns a message in lines that fit beside a column of `column` characters.
fn wrapped_message(text: &str, column: usize, options: TableOptions) -> Vec<String> {
    let taken = column + "    ✗   ".chars().count();
    match options.width.and_then(|width| width.checked_sub(taken)) {
        Some(rest) if rest >= MIN_MESSAGE_WIDTH => wrapped_lines(text, rest),
        _ => vec![text.to_owned()],
    }
}

/// Writes the place in the object with what is there, and the place in the rule with what is wanted.
fn write_places(row: &OutcomeRow, object: &ObjectRow, (out, paint): (&mut String, Paint)) -> fmt::Result {
    // The resource of a cluster is in the line above the objects.
    let is_file = row.position.line > 0 || row.rendered.is_some();
    let place = if is_file { object.place_text(row) } else { String::new() };
    match row.part().as_str() {
        "" if !is_file => {}
        part if !is_file => writeln!(out, "        {}", visible(part))?,
        "" => writeln!(out, "        {}", paint.cyan(&visible(&place)))?,
        part => writeln!(out, "        {}  {}", paint.cyan(&visible(&place)), visible(part))?,
    }
    let Some(location) = &row.rule_location else { return Ok(()) };
    let place = paint.cyan(&visible(&format!("{}:{}", location.source.name, location.position.line)));
    match wanted_text(row.reason.as_deref()) {
        Some(wanted) => writeln!(out, "        {place}  {wanted}"),
        None => writeln!(out, "        {place}"),
    }
}

fn wanted_text(reason: Option<&OutcomeReason>) -> Option<String> {
    let wanted = reason.map(|reason| reason.wanted.as_str()).filter(|wanted| !wanted.is_empty())?;
    Some(format!("wanted {}", shorten_visible(wanted, MAX_WANTED_CHARACTERS)))
}
