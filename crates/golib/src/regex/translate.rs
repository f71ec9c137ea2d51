//! Reads a pattern by Go's rules and writes it for the `regex` crate.
//!
//! Flags are resolved at each atom, so the text written contains none that last:
//! `(?i)ab` becomes `(?i:a)(?i:b)`. Groups are written without their names, because
//! Go allows names that `regex` does not.

use super::RegexError;
use super::class;

/// The maximum nesting depth of the written text, as `regex` counts: a group, the alternatives in
/// it, the sequence in each and a repetition are four levels. Go allows some thousand,
/// but `regex` compiles by recursion and would run out of stack.
pub(super) const NEST_LIMIT: u32 = 250;

/// The maximum number of repetitions by count, nested counts multiplied.
const MAX_REPEAT: u32 = 1000;

/// A pattern in the syntax of `regex`.
pub(super) struct TranslatedPattern {
    pub(super) text: String,
    /// The number of classes such as `\pL` are written in it.
    pub(super) unicode_classes: u32,
    /// The name of each group, group 0 first.
    pub(super) names: Vec<Option<Box<str>>>,
}

/// Translates `pattern`.
pub(super) fn translate_pattern(pattern: &str) -> Result<TranslatedPattern, RegexError> {
    let mut translator = PatternTranslator::new(pattern);
    while !translator.rest.is_empty() {
        translator.item()?;
    }
    if let Some(group) = translator.open.last() {
        return Err(RegexError { message: format!("missing closing ): `{pattern}`"), offset: group.at });
    }
    Ok(TranslatedPattern {
        text: translator.out,
        unicode_classes: translator.unicode_classes,
        names: translator.names,
    })
}

/// The flags in force, Go's `imsU`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PatternFlags {
    pub(super) ignore_case: bool,
    multi_line: bool,
    dot_newline: bool,
    ungreedy: bool,
}

/// Something a repetition can be applied to.
#[derive(Debug, Clone, Copy)]
struct PatternAtom {
    /// Where it starts in the text written. It always ends where the text does.
    start: usize,
    size: PatternSize,
    repeated: bool,
}

/// The sizes that Go limits.
#[derive(Debug, Clone, Copy, Default)]
struct PatternSize {
    height: u32,
    /// The largest product of nested repeat counts.
    repeats: u32,
}

impl PatternSize {
    fn merge(&mut self, other: Self) {
        self.height = self.height.max(other.height);
        self.repeats = self.repeats.max(other.repeats);
    }
}

/// A group that is still open, and what was known outside.
struct OpenGroup {
    /// Where it starts in the text written.
    start: usize,
    /// Where it starts in the pattern.
    at: usize,
    outer_flags: PatternFlags,
    outer_size: PatternSize,
}

struct PatternTranslator<'p> {
    pattern: &'p str,
    rest: &'p str,
    out: String,
    names: Vec<Option<Box<str>>>,
    unicode_classes: u32,
    flags: PatternFlags,
    open: Vec<OpenGroup>,
    /// Of the group being read.
    size: PatternSize,
    last: Option<PatternAtom>,
    /// Where the repetition just read starts, if the last item was one.
    last_repeat: Option<&'p str>,
}

impl<'p> PatternTranslator<'p> {
    fn new(pattern: &'p str) -> Self {
        Self {
            pattern,
            rest: pattern,
            out: String::with_capacity(pattern.len() * 2),
            names: vec![None],
            unicode_classes: 0,
            flags: PatternFlags::default(),
            open: Vec::new(),
            size: PatternSize::default(),
            last: None,
            last_repeat: None,
        }
    }

    /// Reads one item: an atom, an operator, a parenthesis.
    fn item(&mut self) -> Result<(), RegexError> {
        let before = self.rest;
        let repeat_before = self.last_repeat.take();
        let Some(c) = self.next() else { return Ok(()) };
        match c {
            '(' => self.open_group(before),
            ')' => self.close_group(before),
            '|' => {
                self.out.push('|');
                self.last = None;
                Ok(())
            }
            '.' => self.atom(if self.flags.dot_newline { "(?s:.)" } else { r"[^\n]" }),
            '^' => self.atom(if self.flags.multi_line { "(?m:^)" } else { r"\A" }),
            '$' => self.atom(if self.flags.multi_line { "(?m:$)" } else { r"\z" }),
            '[' => {
                let (text, rest) = class::read_bracketed_class(before).map_err(|e| self.failed(e))?;
                self.rest = rest;
                self.folded(&text)
            }
            '*' => self.repeat(before, repeat_before, "*", RepeatCounts::Any),
            '+' => self.repeat(before, repeat_before, "+", RepeatCounts::Any),
            '?' => self.repeat(before, repeat_before, "?", RepeatCounts::Any),
            '{' => self.braces(before, repeat_before),
            '\\' => self.escape(before),
            _ => self.literal(c),
        }
    }

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next();
        self.rest = chars.as_str();
        c
    }

    fn take(&mut self, prefix: &str) -> bool {
        match self.rest.strip_prefix(prefix) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn atom(&mut self, text: &str) -> Result<(), RegexError> {
        let classes = text.matches(r"\p").count() + text.matches(r"\P").count();
        self.unicode_classes =
            self.unicode_classes.saturating_add(u32::try_from(classes).unwrap_or(u32::MAX));
        let size = PatternSize { height: 2, repeats: 1 };
        self.last = Some(PatternAtom { start: self.out.len(), size, repeated: false });
        self.size.merge(size);
        self.out.push_str(text);
        Ok(())
    }

    /// Writes an atom that the `i` flag changes.
    fn folded(&mut self, text: &str) -> Result<(), RegexError> {
        if self.flags.ignore_case { self.atom(&format!("(?i:{text})")) } else { self.atom(text) }
    }

    fn literal(&mut self, c: char) -> Result<(), RegexError> {
        self.folded(&class::class_literal(u32::from(c)))
    }

    fn escape(&mut self, before: &'p str) -> Result<(), RegexError> {
        match self.rest.chars().next() {
            Some('A') => self.simple_escape(r"\A"),
            Some('z') => self.simple_escape(r"\z"),
            Some('b') => self.simple_escape(r"(?-u:\b)"),
            Some('B') => self.simple_escape(r"(?-u:\B)"),
            Some('Q') => {
                self.next();
                let (quoted, rest) = self.rest.split_once(r"\E").unwrap_or((self.rest, ""));
                self.rest = rest;
                quoted.chars().try_for_each(|c| self.literal(c))
            }
            _ => {
                let (text, rest) = class::read_class_escape(before).map_err(|e| self.failed(e))?;
                self.rest = rest;
                self.folded(&text)
            }
        }
    }

    fn simple_escape(&mut self, text: &str) -> Result<(), RegexError> {
        self.next();
        self.atom(text)
    }

    fn braces(&mut self, before: &'p str, repeat_before: Option<&'p str>) -> Result<(), RegexError> {
        let Some((least, most, rest)) = read_repeat_counts(self.rest) else { return self.literal('{') };
        self.rest = rest;
        let limit = |count: Option<u32>| count.is_none_or(|count| count > MAX_REPEAT);
        let reversed = matches!((least, most), (Some(least), UpperBound::Count(Some(most))) if least > most);
        let too_many = matches!(most, UpperBound::Count(count) if limit(count));
        if limit(least) || too_many || reversed {
            return Err(self.error("invalid repeat count", before));
        }
        let least = least.unwrap_or_default();
        let (text, times) = match most {
            UpperBound::Same => (format!("{{{least}}}"), least),
            UpperBound::Unbounded => (format!("{{{least},}}"), least.max(1)),
            UpperBound::Count(count) => {
                (format!("{{{least},{}}}", count.unwrap_or_default()), count.unwrap_or_default())
            }
        };
        self.repeat(before, repeat_before, &text, RepeatCounts::Times(times))
    }

    fn repeat(
        &mut self,
        before: &'p str,
        repeat_before: Option<&'p str>,
        operator: &str,
        kind: RepeatCounts,
    ) -> Result<(), RegexError> {
        let lazy = self.take("?") != self.flags.ungreedy;
        if let Some(start) = repeat_before {
            return Err(self.error("invalid nested repetition operator", start));
        }
        let Some(mut atom) = self.last else {
            return Err(self.error("missing argument to repetition operator", before));
        };
        if atom.repeated {
            self.out.insert_str(atom.start, "(?:");
            self.out.push(')');
            atom.size.height += 1;
        }
        self.out.push_str(operator);
        if lazy {
            self.out.push('?');
        }
        if let RepeatCounts::Times(times) = kind {
            // What is repeated no times at all does not count.
            atom.size.repeats = if times == 0 { 1 } else { atom.size.repeats.saturating_mul(times) };
            if times >= 2 && atom.size.repeats > MAX_REPEAT {
                return Err(self.error("invalid repeat count", before));
            }
        }
        atom.repeated = true;
        atom.size.height += 1;
        self.size.merge(atom.size);
        self.last = Some(atom);
        self.last_repeat = Some(before);
        self.check_height(before)
    }

    fn open_group(&mut self, before: &'p str) -> Result<(), RegexError> {
        let outer_flags = self.flags;
        if self.take("?P<") || self.take("?<") {
            let (name, rest) = self.rest.split_once('>').ok_or_else(|| RegexError {
                message: format!("invalid named capture: `{before}`"),
                offset: self.offset(before),
            })?;
            self.rest = rest;
            let valid = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
            if !valid {
                return Err(self.error("invalid named capture", before));
            }
            self.names.push(Some(name.into()));
            self.start_group("(", outer_flags, before)
        } else if self.take("?") {
            match self.read_flags(before)? {
                ')' => Ok(()),
                _ => self.start_group("(?:", outer_flags, before),
            }
        } else {
            self.names.push(None);
            self.start_group("(", outer_flags, before)
        }
    }

    fn start_group(
        &mut self,
        text: &str,
        outer_flags: PatternFlags,
        before: &'p str,
    ) -> Result<(), RegexError> {
        self.open.push(OpenGroup {
            start: self.out.len(),
            at: self.offset(before),
            outer_flags,
            outer_size: std::mem::take(&mut self.size),
        });
        self.out.push_str(text);
        self.last = None;
        if self.open.len() > NEST_LIMIT as usize {
            Err(self.error("expression nests too deeply", before))
        } else {
            Ok(())
        }
    }

    fn close_group(&mut self, before: &'p str) -> Result<(), RegexError> {
        let Some(group) = self.open.pop() else {
            return Err(RegexError {
                message: format!("unexpected ): `{}`", self.pattern),
                offset: self.offset(before),
            });
        };
        self.out.push(')');
        self.flags = group.outer_flags;
        let mut size = std::mem::replace(&mut self.size, group.outer_size);
        size.height += 3;
        size.repeats = size.repeats.max(1);
        self.size.merge(size);
        self.last = Some(PatternAtom { start: group.start, size, repeated: false });
        self.check_height(before)
    }

    /// Reads flags up to `:` or `)`, sets them and returns which it was.
    fn read_flags(&mut self, before: &'p str) -> Result<char, RegexError> {
        let (mut flags, mut on, mut any) = (self.flags, true, false);
        while let Some(c) = self.next() {
            let flag = match c {
                'i' => &mut flags.ignore_case,
                'm' => &mut flags.multi_line,
                's' => &mut flags.dot_newline,
                'U' => &mut flags.ungreedy,
                '-' if on => {
                    (on, any) = (false, false);
                    continue;
                }
                ':' | ')' if on || any => {
                    self.flags = flags;
                    return Ok(c);
                }
                _ => return Err(self.error("invalid or unsupported Perl syntax", before)),
            };
            *flag = on;
            any = true;
        }
        Err(self.error("invalid or unsupported Perl syntax", before))
    }

    fn check_height(&self, before: &'p str) -> Result<(), RegexError> {
        if self.size.height > NEST_LIMIT - 3 {
            Err(self.error("expression nests too deeply", before))
        } else {
            Ok(())
        }
    }

    fn offset(&self, at: &str) -> usize {
        self.pattern.len() - at.len()
    }

    /// Returns an error about the text from `start` to here.
    fn error(&self, message: &str, start: &str) -> RegexError {
        let text = start.get(..start.len() - self.rest.len()).unwrap_or(start);
        RegexError { message: format!("{message}: `{text}`"), offset: self.offset(start) }
    }

    fn failed(&self, error: class::ClassError<'p>) -> RegexError {
        let message = match error.text {
            "" => error.message.to_owned(),
            text => format!("{}: `{text}`", error.message),
        };
        RegexError { message, offset: self.offset(error.at) }
    }
}

#[derive(Debug, Clone, Copy)]
enum RepeatCounts {
    /// `*`, `+`, `?`
    Any,
    /// Braces with this largest count.
    Times(u32),
}

#[derive(Debug, Clone, Copy)]
enum UpperBound {
    Same,
    Unbounded,
    /// `None` when the number is too big to hold.
    Count(Option<u32>),
}

/// Reads `2}`, `2,}` or `2,3}`; `None` when the text has none of these forms and the brace is literal.
fn read_repeat_counts(text: &str) -> Option<(Option<u32>, UpperBound, &str)> {
    let (least, text) = read_repeat_count(text)?;
    let Some(text) = text.strip_prefix(',') else {
        return Some((least, UpperBound::Same, text.strip_prefix('}')?));
    };
    if let Some(rest) = text.strip_prefix('}') {
        return Some((least, UpperBound::Unbounded, rest));
    }
    let (most, text) = read_repeat_count(text)?;
    Some((least, UpperBound::Count(most), text.strip_prefix('}')?))
}

/// Reads a number without leading zeros.
fn read_repeat_count(text: &str) -> Option<(Option<u32>, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let valid = digits == "0" || !(digits.is_empty() || digits.starts_with('0'));
    valid.then(|| (digits.parse().ok(), rest))
}
