//! Template text to tokens.
//!
//! An error becomes the last token, so that a parse error before it is reported first.

/// A piece of a template.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TemplateToken<'a> {
    pub kind: TemplateTokenKind,
    pub text: &'a str,
    pub at: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplateTokenKind {
    Error(&'static str),
    /// An error whose message ends with the token's text.
    ErrorWith(&'static str),
    End,
    Text,
    Open,
    Close,
    Space,
    Assign,
    Declare,
    Pipe,
    Comma,
    Other,
    LeftParen,
    RightParen,
    Quoted,
    Raw,
    Character,
    Number,
    Complex,
    Bool,
    Dot,
    Field,
    Variable,
    Identifier,
    Nil,
    Keyword(Keyword),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    Block,
    Break,
    Continue,
    Define,
    Else,
    End,
    If,
    Range,
    Template,
    With,
}

const OPENING_DELIMITER: &str = "{{";
const CLOSING_DELIMITER: &str = "}}";
const SPACES: [char; 4] = [' ', '\t', '\r', '\n'];

/// Returns the tokens of `text`; the last is [`TemplateTokenKind::End`] or an error.
pub(super) fn lex(text: &str) -> Vec<TemplateToken<'_>> {
    let mut lexer = Lexer { text, at: 0, start: 0, tokens: Vec::new() };
    if let Err((kind, from)) = lexer.all() {
        let shown = text.get(from..lexer.at).unwrap_or_default();
        lexer.tokens.push(TemplateToken { kind, text: shown, at: from });
    }
    lexer.tokens
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    start: usize,
    tokens: Vec<TemplateToken<'a>>,
}

type LexStep = Result<(), (TemplateTokenKind, usize)>;

impl<'a> Lexer<'a> {
    fn all(&mut self) -> LexStep {
        loop {
            self.start = self.at;
            let Some(open) = self.rest().find(OPENING_DELIMITER) else {
                self.at = self.text.len();
                if self.at > self.start {
                    self.emit(TemplateTokenKind::Text);
                }
                self.emit(TemplateTokenKind::End);
                return Ok(());
            };
            self.literal(open);
            self.start = self.at;
            self.at += OPENING_DELIMITER.len();
            let trim = starts_trimmed(self.rest());
            let marker = if trim { 2 } else { 0 };
            if self.rest().get(marker..).is_some_and(|r| r.starts_with("/*")) {
                self.at += marker;
                self.comment()?;
                continue;
            }
            self.emit(TemplateTokenKind::Open);
            self.at += marker;
            self.action()?;
        }
    }

    /// Emits the text before an action, cut at its end when the action says so.
    fn literal(&mut self, length: usize) {
        let end = self.at + length;
        let mut kept = self.text.get(self.at..end).unwrap_or_default();
        if starts_trimmed(self.text.get(end + OPENING_DELIMITER.len()..).unwrap_or_default()) {
            kept = kept.trim_end_matches(SPACES);
        }
        if !kept.is_empty() {
            self.tokens.push(TemplateToken { kind: TemplateTokenKind::Text, text: kept, at: self.at });
        }
        self.at = end;
    }

    fn comment(&mut self) -> LexStep {
        let start = self.at;
        // The star of `/*` is not also that of `*/`.
        self.at += 2;
        let Some(end) = self.rest().find("*/") else {
            return Err((TemplateTokenKind::Error("unclosed comment"), start));
        };
        self.at += end + 2;
        match self.closes() {
            Some(trim) => {
                self.close(trim);
                Ok(())
            }
            None => Err((TemplateTokenKind::Error("comment ends before closing delimiter"), start)),
        }
    }

    /// Returns whether an action closes here, and whether it trims what follows.
    fn closes(&self) -> Option<bool> {
        let rest = self.rest();
        let mut characters = rest.chars();
        let trims = characters.next().is_some_and(|c| SPACES.contains(&c))
            && characters.next() == Some('-')
            && characters.as_str().starts_with(CLOSING_DELIMITER);
        if trims { Some(true) } else { rest.starts_with(CLOSING_DELIMITER).then_some(false) }
    }

    fn close(&mut self, trim: bool) {
        self.at += if trim { 2 } else { 0 };
        self.start = self.at;
        self.at += CLOSING_DELIMITER.len();
        if trim {
            let rest = self.rest();
            self.at += rest.len() - rest.trim_start_matches(SPACES).len();
        }
    }

    fn action(&mut self) -> LexStep {
        let mut parens = 0_usize;
        loop {
            self.start = self.at;
            if let Some(trim) = self.closes() {
                if parens > 0 {
                    return Err((TemplateTokenKind::Error("unclosed left paren"), self.start));
                }
                self.close(trim);
                self.tokens.push(TemplateToken {
                    kind: TemplateTokenKind::Close,
                    text: CLOSING_DELIMITER,
                    at: self.start,
                });
                return Ok(());
            }
            let Some(character) = self.next() else {
                return Err((TemplateTokenKind::Error("unclosed action"), self.start));
            };
            match character {
                ' ' | '\t' | '\r' | '\n' => {
                    while self.peek().is_some_and(|c| SPACES.contains(&c)) && self.closes().is_none() {
                        self.next();
                    }
                    self.emit(TemplateTokenKind::Space);
                }
                '=' => self.emit(TemplateTokenKind::Assign),
                ':' => {
                    if self.next() != Some('=') {
                        return Err((TemplateTokenKind::Error("expected :="), self.start));
                    }
                    self.emit(TemplateTokenKind::Declare);
                }
                '|' => self.emit(TemplateTokenKind::Pipe),
                ',' => self.emit(TemplateTokenKind::Comma),
                '"' => self.quoted('"', "unterminated quoted string", TemplateTokenKind::Quoted)?,
                '\'' => self.quoted('\'', "unterminated character constant", TemplateTokenKind::Character)?,
                '`' => match self.rest().find('`') {
                    Some(end) => {
                        self.at += end + 1;
                        self.emit(TemplateTokenKind::Raw);
                    }
                    None => {
                        return Err((TemplateTokenKind::Error("unterminated raw quoted string"), self.start));
                    }
                },
                '$' => self.word(TemplateTokenKind::Variable, TemplateTokenKind::Variable)?,
                '.' if !self.peek().is_some_and(|c| c.is_ascii_digit()) && self.at < self.text.len() => {
                    self.word(TemplateTokenKind::Dot, TemplateTokenKind::Field)?;
                }
                '.' | '+' | '-' | '0'..='9' => {
                    self.at = self.start;
                    self.number()?;
                }
                '(' => {
                    parens += 1;
                    self.emit(TemplateTokenKind::LeftParen);
                }
                ')' => {
                    parens = parens
                        .checked_sub(1)
                        .ok_or((TemplateTokenKind::Error("unexpected right paren"), self.start))?;
                    self.emit(TemplateTokenKind::RightParen);
                }
                c if is_word_char(c) => self.identifier()?,
                c if c.is_ascii_graphic() => self.emit(TemplateTokenKind::Other),
                _ => {
                    return Err((
                        TemplateTokenKind::ErrorWith("unrecognized character in action: "),
                        self.start,
                    ));
                }
            }
        }
    }

    fn quoted(&mut self, quote: char, unterminated: &'static str, kind: TemplateTokenKind) -> LexStep {
        loop {
            match self.next() {
                Some('\\') if !matches!(self.peek(), None | Some('\n')) => {
                    self.next();
                }
                None | Some('\n' | '\\') => return Err((TemplateTokenKind::Error(unterminated), self.start)),
                Some(c) if c == quote => {
                    self.emit(kind);
                    return Ok(());
                }
                Some(_) => {}
            }
        }
    }

    /// Reads `.name` or `$name`, or the bare mark.
    fn word(&mut self, bare: TemplateTokenKind, named: TemplateTokenKind) -> LexStep {
        if self.at_terminator() {
            self.emit(bare);
            return Ok(());
        }
        self.word_end()?;
        self.emit(named);
        Ok(())
    }

    fn word_end(&mut self) -> LexStep {
        while self.peek().is_some_and(is_word_char) {
            self.next();
        }
        if self.at_terminator() {
            return Ok(());
        }
        let bad = self.at;
        self.next();
        Err((TemplateTokenKind::ErrorWith("bad character "), bad))
    }

    fn identifier(&mut self) -> LexStep {
        self.word_end()?;
        let kind = match self.text.get(self.start..self.at).unwrap_or_default() {
            "block" => TemplateTokenKind::Keyword(Keyword::Block),
            "break" => TemplateTokenKind::Keyword(Keyword::Break),
            "continue" => TemplateTokenKind::Keyword(Keyword::Continue),
            "define" => TemplateTokenKind::Keyword(Keyword::Define),
            "else" => TemplateTokenKind::Keyword(Keyword::Else),
            "end" => TemplateTokenKind::Keyword(Keyword::End),
            "if" => TemplateTokenKind::Keyword(Keyword::If),
            "range" => TemplateTokenKind::Keyword(Keyword::Range),
            "template" => TemplateTokenKind::Keyword(Keyword::Template),
            "with" => TemplateTokenKind::Keyword(Keyword::With),
            "nil" => TemplateTokenKind::Nil,
            "true" | "false" => TemplateTokenKind::Bool,
            _ => TemplateTokenKind::Identifier,
        };
        self.emit(kind);
        Ok(())
    }

    fn at_terminator(&self) -> bool {
        matches!(self.peek(), None | Some(' ' | '\t' | '\r' | '\n' | '.' | ',' | '|' | ':' | ')' | '('))
            || self.rest().starts_with(CLOSING_DELIMITER)
    }

    fn number(&mut self) -> LexStep {
        let bad = TemplateTokenKind::ErrorWith("bad number syntax: ");
        if !self.scan_number() {
            return Err((bad, self.start));
        }
        if !matches!(self.peek(), Some('+' | '-')) {
            self.emit(TemplateTokenKind::Number);
            return Ok(());
        }
        let imaginary =
            self.scan_number() && self.text.get(..self.at).is_some_and(|before| before.ends_with('i'));
        if !imaginary {
            return Err((bad, self.start));
        }
        self.emit(TemplateTokenKind::Complex);
        Ok(())
    }

    fn scan_number(&mut self) -> bool {
        self.accept("+-");
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.accept_all(digits);
        if self.accept(".") {
            self.accept_all(digits);
        }
        if (digits.len() == 11 && self.accept("eE")) || (digits.len() == 23 && self.accept("pP")) {
            self.accept("+-");
            self.accept_all("0123456789_");
        }
        self.accept("i");
        if self.peek().is_some_and(is_word_char) {
            self.next();
            return false;
        }
        true
    }

    fn accept(&mut self, set: &str) -> bool {
        let accepted = self.peek().is_some_and(|c| set.contains(c));
        if accepted {
            self.next();
        }
        accepted
    }

    fn accept_all(&mut self, set: &str) {
        while self.accept(set) {}
    }

    fn emit(&mut self, kind: TemplateTokenKind) {
        let text = self.text.get(self.start..self.at).unwrap_or_default();
        self.tokens.push(TemplateToken { kind, text, at: self.start });
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        self.at += character.len_utf8();
        Some(character)
    }
}

/// Returns whether an action that starts with `text` trims what is before it.
fn starts_trimmed(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next() == Some('-') && characters.next().is_some_and(|c| SPACES.contains(&c))
}

fn is_word_char(character: char) -> bool {
    character == '_' || character.is_alphabetic() || character.is_numeric()
}
