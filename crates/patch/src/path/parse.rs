//! From text to segments.
//!
//! A path, without the white space around it, is split at `/` outside of quotes. A piece is a chain of names and
//! brackets, so that `x[0]` and `x/[0]` are the same. Empty pieces are left out, so that `/a//b` and `/a/b/` are `/a/b`; an
//! empty key is written `['']`.

use kubewright_value::{Position, Text};

use super::scan::{PatchPathScanner, PathPiece};
use super::{PatchPath, PathError, PathSegment, SegmentSpan};

const BRACKETS: &str =
    "in brackets stands an index, `*`, `-`, a filter such as `?(@.name=='app')`, or a key in quotes";
const FILTER: &str =
    "a filter is written `[?(@.field=='text')]`, where the field may be a path such as `a.b`";

pub(super) fn parse_patch_path(pieces: &[PathPiece<'_>]) -> Result<PatchPath, PathError> {
    let mut parser = PatchPathParser { scanner: PatchPathScanner::new(pieces), segments: Vec::new() };
    parser.pieces()?;
    let PatchPathParser { scanner, segments } = parser;
    Ok(PatchPath { text: scanner.text.into_boxed_str(), segments })
}

struct PatchPathParser {
    scanner: PatchPathScanner,
    segments: Vec<SegmentSpan>,
}

impl PatchPathParser {
    /// Reads the pieces between `/`, of which empty ones are left out, unless they are empty by what was put in.
    fn pieces(&mut self) -> Result<(), PathError> {
        let mut is_start = true;
        self.scanner.skip_spaces();
        loop {
            let here = self.scanner.at;
            let is_end = self.scanner.is_at_end();
            let is_empty = is_end || self.scanner.is_word(here, "/") || self.scanner.is_word(here, "[");
            if is_start && is_empty && self.scanner.is_empty_data(here) {
                let message = "the text that is put in here is empty";
                return Err(self.error(here, here, message, "a segment needs a name"));
            }
            if is_end {
                return self.check();
            }
            is_start = self.scanner.take("/") || self.piece()?;
        }
    }

    /// Finds out whether the segments together are a path.
    fn check(&self) -> Result<(), PathError> {
        let Some((_, inner)) = self.segments.split_last() else {
            let message = "the path is empty, which is the whole document";
            let help = "name a part of it, such as `/metadata/labels/app`";
            return Err(self.error(0, self.scanner.text.len(), message, help));
        };
        let Some(append) = inner.iter().find(|written| written.segment == PathSegment::Append) else {
            return Ok(());
        };
        let message = "`-` can only stand at the end of a path";
        let help = "the item that is appended is given whole as the value; a key `-` is written `['-']`";
        Err(self.error(append.start, append.end, message, help))
    }

    /// Reads a name up to the next `/` or `[`, or one bracket; returns whether a name may start right after it.
    fn piece(&mut self) -> Result<bool, PathError> {
        let start = self.scanner.at;
        if self.scanner.take("[") {
            let segment = self.bracket(start)?;
            self.push(segment, start);
            return Ok(true);
        }
        let end = self.scanner.find(&['/', '[']);
        self.scanner.at = end;
        let name = self.scanner.decode(start, end);
        let segment = match name.parse::<i64>() {
            _ if name == "-" && self.scanner.is_untouched(start, end) => PathSegment::Append,
            Ok(number) => PathSegment::Number(Text::new(&*name), usize::try_from(number).ok()),
            Err(_) => PathSegment::Key(Text::new(&*name)),
        };
        self.push(segment, start);
        Ok(false)
    }

    fn push(&mut self, segment: PathSegment, start: usize) {
        self.segments.push(SegmentSpan { segment, start, end: self.scanner.at });
    }

    /// Reads the content of brackets and the closing one; `start` is where the opening one is.
    fn bracket(&mut self, start: usize) -> Result<PathSegment, PathError> {
        for quote in ["'", "\""] {
            if self.scanner.take(quote) {
                return self.quoted_key(start, quote);
            }
        }
        if self.scanner.take("?(") {
            return self.filter(start);
        }
        let inner = self.scanner.at;
        let end = self.scanner.find(&[']']);
        self.scanner.at = end;
        if !self.scanner.take("]") {
            return Err(self.unclosed(start));
        }
        let content = self.scanner.decode(inner, end);
        match content.parse::<i64>() {
            _ if self.scanner.is_word(start, "[*]") => Ok(PathSegment::Every),
            _ if self.scanner.is_word(start, "[-]") => Ok(PathSegment::Append),
            _ if self.scanner.is_expression(inner, end) => {
                Ok(PathSegment::Number(Text::new(&*content), None))
            }
            Ok(number) => usize::try_from(number).map(PathSegment::Index).map_err(|_| {
                let help = "the last item is reached by a filter; `-` appends";
                self.error(inner, end, &format!("index `{content}` is below zero"), help)
            }),
            Err(_) => Err(self.error(inner, end, &format!("`{content}` is no index"), BRACKETS)),
        }
    }

    /// Reads the rest of `['key']`.
    fn quoted_key(&mut self, start: usize, quote: &str) -> Result<PathSegment, PathError> {
        let inner = self.scanner.at;
        let closing = format!("{quote}]");
        let end = (inner..self.scanner.text.len()).find(|at| self.scanner.is_word(*at, &closing));
        let Some(end) = end else { return Err(self.unclosed(start)) };
        self.scanner.at = end + closing.len();
        Ok(PathSegment::Key(Text::new(&*self.scanner.decode(inner, end))))
    }

    /// Reads the rest of `[?(@.field=='value')]`.
    fn filter(&mut self, start: usize) -> Result<PathSegment, PathError> {
        self.scanner.skip_spaces();
        if !self.scanner.take("@.") {
            return Err(self.not_understood(start, "the filter does not start with `@.` and a field"));
        }
        let field = self.field(start)?;
        self.scanner.skip_spaces();
        if !self.scanner.take("==") {
            return Err(self.not_an_equality(start));
        }
        self.scanner.skip_spaces();
        let quotes = if self.scanner.take("'") {
            ["'", "\""]
        } else if self.scanner.take("\"") {
            ["\"", "'"]
        } else {
            return Err(
                self.not_understood(start, "the text that the field is compared with is not in quotes")
            );
        };
        let inner = self.scanner.at;
        let (end, after) = self.end_of_value(start, quotes)?;
        self.scanner.at = after;
        Ok(PathSegment::Filter { field, value: Text::new(&*self.scanner.decode(inner, end)) })
    }

    /// Reads the names of a field, between dots.
    fn field(&mut self, start: usize) -> Result<Vec<Text>, PathError> {
        let mut field = Vec::new();
        let mut name = String::new();
        loop {
            let is_data = self.scanner.is_data(self.scanner.at);
            match self.scanner.peek() {
                Some('.') if !is_data => field.push(std::mem::take(&mut name)),
                Some(letter) if is_data || letter.is_ascii_alphanumeric() || "_-".contains(letter) => {
                    name.push(letter);
                }
                _ => break,
            }
            self.scanner.skip();
        }
        field.push(name);
        if field.iter().any(String::is_empty) {
            return Err(self.not_understood(start, "the filter has a field without a name"));
        }
        Ok(field.into_iter().map(Text::from).collect())
    }

    /// Returns where the closing quote of the value is, which may be of the other sort, and where the filter ends.
    /// The same sort of quote before it must be an apostrophe, with a letter after it.
    fn end_of_value(&self, start: usize, quotes: [&str; 2]) -> Result<(usize, usize), PathError> {
        let [quote, other] = quotes;
        for at in self.scanner.at..self.scanner.text.len() {
            let is_same = self.scanner.is_word(at, quote);
            if !is_same && !self.scanner.is_word(at, other) {
                continue;
            }
            let rest = self.scanner.rest(at + 1);
            let trimmed = rest.trim_start();
            let parenthesis = self.scanner.text.len() - trimmed.len();
            if (at + 1..parenthesis + 2).all(|at| !self.scanner.is_data(at)) && trimmed.starts_with(")]") {
                return Ok((at, parenthesis + 2));
            }
            if is_same && !rest.starts_with(char::is_alphanumeric) {
                return Err(self.more_than_one(start, trimmed));
            }
        }
        Err(self.unclosed(start))
    }

    fn more_than_one(&self, start: usize, rest: &str) -> PathError {
        match ["&&", "||"].into_iter().find(|operator| rest.starts_with(operator)) {
            Some(operator) => {
                let message =
                    format!("the filter has more than one condition: `{operator}` is not supported");
                self.not_understood(start, &message)
            }
            None => self.not_understood(start, "the filter does not end with `)]` after its text"),
        }
    }

    fn not_an_equality(&self, start: usize) -> PathError {
        const OTHERS: [&str; 7] = ["!=", "=~", "<=", ">=", "<", ">", "="];
        let here = OTHERS.into_iter().find(|operator| self.scanner.is_word(self.scanner.at, operator));
        let rest = self.scanner.rest(self.scanner.at);
        let word = rest.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
        let here = here.or(Some(word).filter(|word| !word.is_empty()));
        let message = match (here, self.scanner.peek()) {
            (Some(operator), _) => {
                format!("the filter has the operator `{operator}`: only `==` is supported")
            }
            (None, Some(')')) => {
                "the filter asks only whether a field is there, which is not supported".to_owned()
            }
            (None, Some('[')) => "the filter has a field with an index, which is not supported".to_owned(),
            (None, Some(other)) => format!("`{other}` cannot stand in the field of a filter"),
            (None, None) => return self.unclosed(start),
        };
        self.not_understood(start, &message)
    }

    /// About the filter that starts at `start`, up to its bracket or to the end of the path.
    fn not_understood(&self, start: usize, message: &str) -> PathError {
        let end = self.scanner.find(&[']']);
        self.error(start, end.saturating_add(1).min(self.scanner.text.len()), message, FILTER)
    }

    fn unclosed(&self, start: usize) -> PathError {
        self.error(start, start + 1, "`[` is not closed", BRACKETS)
    }

    fn error(&self, start: usize, end: usize, message: &str, help: &str) -> PathError {
        PathError {
            message: message.to_owned(),
            help: Some(help.to_owned()),
            position: Position::of(&self.scanner.text, start),
            length: char_count(&self.scanner.text, start, end),
        }
    }
}

/// Returns the number of characters between two places; at least 1.
pub(super) fn char_count(text: &str, start: usize, end: usize) -> u32 {
    let characters = text.get(start..end).unwrap_or_default().chars().count();
    u32::try_from(characters).unwrap_or(u32::MAX).max(1)
}
