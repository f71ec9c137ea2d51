//! The pages of diagnostics and patterns as HTML. They are our own and use little of Markdown: headings, paragraphs, lists,
//! code, tables, links and emphasis. Everything is escaped first, so no page can bring an element of its own.

/// Returns `text` as HTML.
pub(super) fn markdown_html(text: &str) -> String {
    let mut html = String::with_capacity(text.len() * 2);
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            html.push_str(&format!("<pre><code class=\"language-{}\">", escaped(language.trim())));
            for code in lines.by_ref().take_while(|code| !code.starts_with("```")) {
                html.push_str(&escaped(code));
                html.push('\n');
            }
            html.push_str("</code></pre>\n");
        } else if let Some((level, title)) = heading(line) {
            html.push_str(&format!("<h{level}>{}</h{level}>\n", inline(title)));
        } else if is_item(line) {
            html.push_str("<ul>\n");
            let mut item = item_text(line).to_owned();
            while let Some(next) = lines.next_if(|next| !next.trim().is_empty() && !next.starts_with("```")) {
                match is_item(next) {
                    true => {
                        html.push_str(&format!("<li>{}</li>\n", inline(&item)));
                        item = item_text(next).to_owned();
                    }
                    false => item = format!("{item} {}", next.trim()),
                }
            }
            html.push_str(&format!("<li>{}</li>\n</ul>\n", inline(&item)));
        } else if line.starts_with('|') {
            let mut rows = vec![line];
            while let Some(row) = lines.next_if(|row| row.starts_with('|')) {
                rows.push(row);
            }
            html.push_str(&table(&rows));
        } else if !line.trim().is_empty() {
            let mut paragraph = line.trim().to_owned();
            let goes_on = |next: &&str| {
                !next.trim().is_empty()
                    && !next.starts_with("```")
                    && !next.starts_with('#')
                    && !is_item(next)
            };
            while let Some(next) = lines.next_if(goes_on) {
                paragraph = format!("{paragraph} {}", next.trim());
            }
            html.push_str(&format!("<p>{}</p>\n", inline(&paragraph)));
        }
    }
    html
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    (1..=6).contains(&level).then(|| title.strip_prefix(' ').map(|title| (level, title))).flatten()
}

fn is_item(line: &str) -> bool {
    ["- ", "* "].iter().any(|mark| line.trim_start().starts_with(mark))
}

fn item_text(line: &str) -> &str {
    line.trim_start().get(2..).unwrap_or_default()
}

fn table(rows: &[&str]) -> String {
    let cells = |row: &str| -> Vec<String> {
        let row = row.trim().trim_start_matches('|').trim_end_matches('|');
        row.replace("\\|", "\u{e001}").split('|').map(|cell| cell.trim().replace('\u{e001}', "|")).collect()
    };
    let is_rule = |row: &&&str| !row.chars().all(|c| "|-: ".contains(c));
    let mut html = "<table>\n".to_owned();
    for (number, row) in rows.iter().filter(is_rule).enumerate() {
        let tag = if number == 0 { "th" } else { "td" };
        let cells: String =
            cells(row).iter().map(|cell| format!("<{tag}>{}</{tag}>", inline(cell))).collect();
        html.push_str(&format!("<tr>{cells}</tr>\n"));
    }
    html.push_str("</table>\n");
    html
}

/// Returns the text of a line, with code, emphasis and links.
fn inline(text: &str) -> String {
    let mut html = String::new();
    for (number, part) in text.split('`').enumerate() {
        match number % 2 {
            0 => html.push_str(&emphasised(&linked(&escaped(part)))),
            _ => html.push_str(&format!("<code>{}</code>", escaped(part))),
        }
    }
    html
}

fn emphasised(html: &str) -> String {
    let parts: Vec<&str> = html.split("**").collect();
    if parts.len().is_multiple_of(2) {
        return html.to_owned();
    }
    let part = |(number, part): (usize, &&str)| match number % 2 {
        0 => (*part).to_owned(),
        _ => format!("<strong>{part}</strong>"),
    };
    parts.iter().enumerate().map(part).collect()
}

/// Returns escaped text, whose links to other sites are links; the text of others remains.
fn linked(html: &str) -> String {
    let mut made = String::new();
    let mut rest = html;
    while let Some((before, label, target, after)) = next_link(rest) {
        made.push_str(before);
        match target.starts_with("https://") {
            true => made
                .push_str(&format!("<a href=\"{target}\" rel=\"noreferrer\" target=\"_blank\">{label}</a>")),
            false => made.push_str(label),
        }
        rest = after;
    }
    made.push_str(rest);
    made
}

fn next_link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (before_target, after) = text.split_once("](")?;
    let (before, label) = before_target.rsplit_once('[')?;
    let (target, after) = after.split_once(')')?;
    Some((before, label, target, after))
}

fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\'' => html.push_str("&#39;"),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::markdown_html;

    #[track_caller]
    fn check(markdown: &str, want: &str) {
        assert_eq!(markdown_html(markdown), want);
    }

    #[test]
    fn pages_become_html() {
        check("# A: b\n\nOne\ntwo `a<b`.\n", "<h1>A: b</h1>\n<p>One two <code>a&lt;b</code>.</p>\n");
        check("- a\n  b\n- **c**\n", "<ul>\n<li>a b</li>\n<li><strong>c</strong></li>\n</ul>\n");
        check("```yaml\na: <b>\n```\n", "<pre><code class=\"language-yaml\">a: &lt;b&gt;\n</code></pre>\n");
        check(
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "<table>\n<tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>\n",
        );
        check(
            "see [x](https://a.example/b) and [y](../z.md)",
            "<p>see <a href=\"https://a.example/b\" rel=\"noreferrer\" target=\"_blank\">x</a> and y</p>\n",
        );
    }

    #[test]
    fn no_text_brings_an_element() {
        check(
            "<script>alert(1)</script> [a](javascript:alert(1))",
            "<p>&lt;script&gt;alert(1)&lt;/script&gt; a)</p>\n",
        );
        check(
            "[a](https://x\" onclick=\"y)",
            "<p><a href=\"https://x&quot; onclick=&quot;y\" rel=\"noreferrer\" target=\"_blank\">a</a></p>\n",
        );
    }

    #[test]
    fn every_page_becomes_html() {
        for code in crate::codes::all_codes() {
            let html = markdown_html(code.page());
            assert!(html.starts_with("<h1>") && !html.contains("```"), "{}", code.id);
        }
    }
}
