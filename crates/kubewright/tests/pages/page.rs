//! The parts of a page that a test needs: files, commands with their output, headings and links.
//!
//! `<!-- file: NAME -->` names the block that follows; `<!-- file: NAME` up to `-->` has a file that readers do not see.
//! `<!-- folder: PATH -->` names a folder of the repository whose files the commands read.
//! `<!-- cluster -->` before a `console` block says that it needs a cluster with the webhook.

/// What a `console` block has: a command, and what it prints.
#[derive(Debug, Default)]
pub(super) struct ShownCommand {
    pub(super) command: String,
    pub(super) output: Vec<String>,
}

/// A part of a page, in the order of the page.
#[derive(Debug)]
pub(super) enum PagePart {
    /// A file that the commands after it read.
    File { name: String, text: String },
    /// A folder of the repository that is copied for the commands after it.
    Folder { path: String },
    /// A `console` block: the lines it covers, from the first within the fences to the closing fence.
    Console { first: usize, end: usize, needs_cluster: bool, commands: Vec<ShownCommand> },
}

/// Returns the files and commands of a page.
pub(super) fn page_parts(text: &str) -> Vec<PagePart> {
    let lines: Vec<&str> = text.lines().collect();
    let mut parts = Vec::new();
    let (mut name, mut needs_cluster, mut at) = (None, false, 0);
    while let Some(line) = lines.get(at) {
        at += 1;
        if let Some(comment) = line.strip_prefix("<!-- file: ") {
            match comment.strip_suffix(" -->") {
                Some(given) => name = Some(given.to_owned()),
                None => {
                    let end = end_of(&lines, at, "-->");
                    parts.push(PagePart::File {
                        name: comment.to_owned(),
                        text: joined(block_lines(&lines, at, end)),
                    });
                    at = end + 1;
                }
            }
        } else if let Some(path) =
            line.strip_prefix("<!-- folder: ").and_then(|rest| rest.strip_suffix(" -->"))
        {
            parts.push(PagePart::Folder { path: path.to_owned() });
        } else if *line == "<!-- cluster -->" {
            needs_cluster = true;
        } else if let Some(language) = line.strip_prefix("```") {
            let end = end_of(&lines, at, "```");
            let block = block_lines(&lines, at, end);
            if let Some(name) = name.take() {
                parts.push(PagePart::File { name, text: joined(block) });
            } else if language == "console" {
                parts.push(PagePart::Console {
                    first: at,
                    end,
                    needs_cluster,
                    commands: shown_commands(block),
                });
                needs_cluster = false;
            }
            at = end + 1;
        }
    }
    parts
}

fn end_of(lines: &[&str], from: usize, mark: &str) -> usize {
    let rest = lines.iter().skip(from).position(|line| line.starts_with(mark));
    rest.map_or(lines.len(), |rest| from + rest)
}

fn block_lines<'l, 't>(lines: &'l [&'t str], from: usize, end: usize) -> &'l [&'t str] {
    lines.get(from..end).unwrap_or_default()
}

fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

fn shown_commands(block: &[&str]) -> Vec<ShownCommand> {
    let mut commands: Vec<ShownCommand> = Vec::new();
    for line in block {
        if let Some(command) = line.strip_prefix("$ ") {
            commands.push(ShownCommand { command: command.to_owned(), output: Vec::new() });
        } else if let Some(last) = commands.last_mut() {
            last.output.push((*line).to_owned());
        }
    }
    commands
}

/// Returns the anchors of the headings of a page, as GitHub and mdBook make them.
pub(super) fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in outside_of_blocks(text) {
        let Some(title) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let title = title.trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let again = found.iter().filter(|other| **other == anchor).count();
        found.push(if again == 0 { anchor } else { format!("{anchor}-{again}") });
    }
    found
}

/// Returns the targets of the links of a page: `[text](target)`.
pub(super) fn link_targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in outside_of_blocks(text) {
        let line = without_code(line);
        for part in line.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            found.push(target.to_owned());
        }
    }
    found
}

fn outside_of_blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut is_inside = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_inside ^= is_fence;
        !is_inside && !is_fence
    })
}

/// Returns a line without what is between backticks; the text of a link may be code, its target is not.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

#[test]
fn parts_are_found() {
    let page = "<!-- file: a.yaml -->\n```yaml\na: 1\n```\ntext\n<!-- file: b.yaml\nb: 2\n-->\n```console\n$ cat a.yaml\na: 1\n$ true\n```\n";
    let parts = page_parts(page);
    let [
        PagePart::File { name, text },
        PagePart::File { name: hidden, .. },
        PagePart::Console { first, end, commands, .. },
    ] = parts.as_slice()
    else {
        unreachable!("{parts:?}")
    };
    assert_eq!((name.as_str(), text.as_str(), hidden.as_str()), ("a.yaml", "a: 1\n", "b.yaml"));
    assert_eq!(
        (*first, *end, commands.len(), commands[0].output.as_slice()),
        (9, 12, 2, ["a: 1".to_owned()].as_slice())
    );
    assert_eq!(anchors("# One, two: `x`\n## One, two: `x`\n"), ["one-two-x", "one-two-x-1"]);
    assert_eq!(link_targets("[a](b.md#c) `[x](y)` [`k`](d.md)"), ["b.md#c", "d.md"]);
}
