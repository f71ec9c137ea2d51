//! From a line of Helm's output to the line of the template and of the values.

use std::sync::Arc;

use kubewright_gotemplate::OutputMark;
use kubewright_value::{LineOrigin, SourceOrigins, ValueOrigin};

use super::{ChartTemplate, RenderedChart};

/// The comment that Helm writes before each document.
const HELM_COMMENT: &str = "# Source: ";

/// Returns what each line of Helm's output `text` was made from, how many lines are traced, and of how many. Documents that
/// are not rendered here byte by byte as in `text` keep what `fallback` says, which is asked with the number of a line.
pub(crate) fn origins_of_output(
    chart: &RenderedChart,
    text: &str,
    fallback: &dyn Fn(u32) -> Option<LineOrigin>,
) -> (SourceOrigins, usize, usize) {
    let mut origins = SourceOrigins::default();
    let (mut traced, mut all) = (0, 0);
    for document in output_documents(text) {
        let found = chart.templates.iter().find(|template| template.name == document.template);
        let start = found.and_then(|template| Some((template, document_start(template, &document.content)?)));
        origins.add(document.line, fallback(document.line));
        let mut at = start.map_or(0, |(_, start)| start);
        for (number, line) in (document.content_line..).zip(document.content.lines()) {
            all += 1;
            let origin = start.and_then(|(template, _)| line_origin(chart, template, at, line));
            traced += usize::from(origin.is_some());
            origins.add(number, origin.or_else(|| fallback(number)));
            at += line.len() + 1;
        }
    }
    (origins, traced, all)
}

/// A document of Helm's output.
struct OutputDocument {
    /// The number of its first line.
    line: u32,
    template: String,
    /// The number of the first line of its content.
    content_line: u32,
    content: String,
}

/// Splits Helm's output at its comments.
fn output_documents(text: &str) -> Vec<OutputDocument> {
    let mut documents: Vec<OutputDocument> = Vec::new();
    let mut is_open = false;
    let mut before = "";
    for (number, line) in (1..).zip(text.lines()) {
        match line.strip_prefix(HELM_COMMENT) {
            Some(template) if before == "---" => {
                documents.push(OutputDocument {
                    line: number,
                    template: template.trim().to_owned(),
                    content_line: number + 1,
                    content: String::new(),
                });
                is_open = true;
            }
            _ if line == "---" => is_open = false,
            _ => {
                if let Some(document) = documents.last_mut().filter(|_| is_open) {
                    document.content.push_str(line);
                    document.content.push('\n');
                }
            }
        }
        before = line;
    }
    documents
}

/// Returns where `content` starts in what a template printed, if it is there once and on lines of its own.
fn document_start(template: &ChartTemplate, content: &str) -> Option<usize> {
    let content = content.trim_end();
    let text = &template.rendered.text;
    let mut found = text.match_indices(content).filter(|(at, _)| {
        let is_start = *at == 0 || text.as_bytes().get(at - 1) == Some(&b'\n');
        let is_end = text.get(at + content.len()..).is_some_and(|rest| {
            rest.trim_start_matches(' ').is_empty() || rest.trim_start_matches(' ').starts_with('\n')
        });
        is_start && is_end
    });
    let (at, _) = found.next()?;
    (!content.is_empty() && found.next().is_none()).then_some(at)
}

/// Returns what the line at `start` of the printed text was made from.
fn line_origin(
    chart: &RenderedChart,
    template: &ChartTemplate,
    start: usize,
    line: &str,
) -> Option<LineOrigin> {
    let marks = &template.rendered.marks;
    let first = start + (line.len() - line.trim_start().len());
    let place = marks.partition_point(|mark| mark.start <= first).checked_sub(1)?;
    let mark = marks.get(place)?;
    let offset = if mark.is_text { mark.at + (first - mark.start) } else { mark.at };
    let before = template.source.text.get(..offset)?;
    let number = u32::try_from(before.bytes().filter(|byte| *byte == b'\n').count()).ok()?.checked_add(1)?;
    let end = start + line.len();
    let shown = marks.get(place..)?.iter().take_while(|mark| mark.start < end.max(first + 1));
    let value =
        shown.filter(|mark| mark.value.is_some()).find_map(|mark| value_origin(chart, template, mark, start));
    let origin = LineOrigin::new(Arc::clone(&template.source), number);
    Some(match value {
        Some(value) => origin.showing(value),
        None => origin,
    })
}

/// Returns where the value of `mark` was written; for a value of several lines, the part of it at `line_start`.
fn value_origin(
    chart: &RenderedChart,
    template: &ChartTemplate,
    mark: &OutputMark,
    line_start: usize,
) -> Option<ValueOrigin> {
    let mut path: Vec<String> = mark.value.as_ref()?.iter().skip(1).cloned().collect();
    if line_start > mark.start {
        let printed = template.rendered.text.get(mark.start..)?;
        let line_end =
            printed.get(line_start - mark.start..)?.find('\n').unwrap_or(0) + line_start - mark.start;
        path.extend(block_path(printed.get(..line_end)?));
    }
    chart.values.origin(&template.scope, &path)
}

/// Returns the path from the value that a block of YAML shows to its last line.
fn block_path(block: &str) -> Vec<String> {
    // Keys and items by their column; an item comes after a key of the same column.
    let mut open: Vec<(usize, String)> = Vec::new();
    for line in block.lines().filter(|line| !line.trim().is_empty()) {
        let mut content = line.trim_start();
        let mut column = 2 * (line.len() - content.len());
        while let Some(rest) = content.strip_prefix("- ") {
            open.retain(|(other, _)| *other <= column + 1);
            let index = match open.last() {
                Some((other, index)) if *other == column + 1 => index.parse::<usize>().map_or(0, |at| at + 1),
                _ => 0,
            };
            open.retain(|(other, _)| *other <= column);
            open.push((column + 1, index.to_string()));
            column += 2 * (content.len() - rest.trim_start().len());
            content = rest.trim_start();
        }
        let key =
            content.split_once(": ").map(|(key, _)| key).or_else(|| content.trim_end().strip_suffix(':'));
        if let Some(key) = key {
            open.retain(|(other, _)| *other < column);
            open.push((column, key.trim_matches(['"', '\'']).to_owned()));
        }
    }
    open.into_iter().map(|(_, step)| step).collect()
}

/// Splits what a template printed at lines of `---`.
pub(super) fn split_documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        if line.trim_end() == "---" {
            documents.push(String::new());
        } else if let Some(last) = documents.last_mut() {
            last.push_str(line);
            last.push('\n');
        }
    }
    let whole = |document: String| document.trim_start_matches('\n').to_owned();
    documents.into_iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(block: &str, want: &str) {
        assert_eq!(block_path(block).join("."), want, "{block}");
    }

    #[test]
    fn the_last_line_of_a_block_has_a_path() {
        check("\n  limits:\n    cpu: 1", "limits.cpu");
        check("\n  limits:\n    cpu: 1\n  requests:", "requests");
        check("\n  - name: a\n    value: b\n  - name: c", "1.name");
        check("\n  list:\n  - a: 1\n  - b:\n      c: 2", "list.1.b.c");
        check("\n  list:\n  - a: 1\n  other: x", "other");
    }
}
