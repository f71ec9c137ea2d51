//! A reader of the services and methods of a protobuf file.
//!
//! Messages and options are skipped. Imports are not needed, because they do not contribute names of services or
//! methods of this file.

use super::EndpointOffer;

/// Returns the methods of all services.
pub(super) fn read_proto(content: &str) -> Result<Vec<EndpointOffer>, String> {
    let mut parser = ProtoParser {
        words: split_proto_tokens(content)?,
        next: 0,
        package: String::new(),
        offers: Vec::new(),
    };
    while parser.peek().is_some() {
        parser.definition()?;
    }
    let ProtoParser { package, mut offers, .. } = parser;
    for offer in &mut offers {
        if let Some(service) = offer.service.as_mut().filter(|_| !package.is_empty()) {
            *service = format!("{package}.{service}");
        }
    }
    Ok(offers)
}

/// A token: a word, a quoted text or a single sign.
#[derive(Debug, Clone, Copy)]
struct ProtoToken<'t> {
    text: &'t str,
    line: usize,
}

struct ProtoParser<'t> {
    words: Vec<ProtoToken<'t>>,
    next: usize,
    package: String,
    offers: Vec<EndpointOffer>,
}

impl<'t> ProtoParser<'t> {
    fn definition(&mut self) -> Result<(), String> {
        match self.take()?.text {
            ";" => Ok(()),
            "syntax" | "edition" => {
                self.expect("=")?;
                self.statement()
            }
            "import" | "option" => self.statement(),
            "package" => {
                self.package = self.name()?;
                self.expect(";")
            }
            "message" | "enum" | "extend" => {
                self.name()?;
                self.block()
            }
            "service" => self.service(),
            _ => Err(self.unexpected("a definition, such as `service` or `message`")),
        }
    }

    fn service(&mut self) -> Result<(), String> {
        let service = self.name()?;
        self.expect("{")?;
        loop {
            match self.take()?.text {
                "}" => return Ok(()),
                ";" => {}
                "option" => self.statement()?,
                "rpc" => {
                    let method = self.method()?;
                    let service = Some(service.clone());
                    self.offers.push(EndpointOffer { kind: "gRPC", service, path: None, method });
                }
                _ => return Err(self.unexpected("`rpc`, `option` or `}`")),
            }
        }
    }

    fn method(&mut self) -> Result<String, String> {
        let method = self.name()?;
        self.message()?;
        self.expect("returns")?;
        self.message()?;
        match self.peek() {
            Some("{") => self.block()?,
            _ => self.expect(";")?,
        }
        Ok(method)
    }

    /// `(stream Name)`
    fn message(&mut self) -> Result<(), String> {
        self.expect("(")?;
        let first = self.name()?;
        if first == "stream" && self.peek() != Some(")") {
            self.name()?;
        }
        self.expect(")")
    }

    /// Skips to the end of a statement; an option may hold braces.
    fn statement(&mut self) -> Result<(), String> {
        loop {
            if self.peek() == Some("{") {
                self.block()?;
                continue;
            }
            match self.take()?.text {
                ";" => return Ok(()),
                "}" => return Err(self.unexpected("`;`")),
                _ => {}
            }
        }
    }

    /// Skips `{…}`.
    fn block(&mut self) -> Result<(), String> {
        self.expect("{")?;
        let mut depth = 1_usize;
        while depth > 0 {
            match self.take()?.text {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn name(&mut self) -> Result<String, String> {
        let word = self.take()?;
        let is_name = word.text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_' || c == '.');
        if is_name { Ok(word.text.to_owned()) } else { Err(self.unexpected("a name")) }
    }

    fn expect(&mut self, text: &str) -> Result<(), String> {
        if self.take()?.text == text { Ok(()) } else { Err(self.unexpected(&format!("`{text}`"))) }
    }

    fn peek(&self) -> Option<&'t str> {
        self.words.get(self.next).map(|word| word.text)
    }

    fn take(&mut self) -> Result<ProtoToken<'t>, String> {
        let word = self.words.get(self.next).copied().ok_or("the text ends too early")?;
        self.next += 1;
        Ok(word)
    }

    /// Returns the error about the token that was taken last.
    fn unexpected(&self, expected: &str) -> String {
        match self.next.checked_sub(1).and_then(|last| self.words.get(last)) {
            Some(word) => format!("found `{}` in line {}, expected {expected}", word.text, word.line),
            None => format!("expected {expected}"),
        }
    }
}

/// Splits `content` into tokens, without comments.
fn split_proto_tokens(content: &str) -> Result<Vec<ProtoToken<'_>>, String> {
    let mut words = Vec::new();
    let mut rest = content;
    let mut line = 1;
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            let end = rest.get(2..).and_then(|inner| inner.find("*/"));
            end.map(|end| end + 4).ok_or_else(|| format!("the comment in line {line} has no end"))?
        } else if matches!(first, '"' | '\'') {
            quoted_proto_length(rest, first).ok_or_else(|| format!("the text in line {line} has no end"))?
        } else {
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
            rest.find(|c| !is_part(c)).filter(|end| *end > 0).unwrap_or(match is_part(first) {
                true => rest.len(),
                false => first.len_utf8(),
            })
        };
        let (text, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        if !first.is_whitespace() && !text.starts_with("//") && !text.starts_with("/*") {
            words.push(ProtoToken { text, line });
        }
        line += text.matches('\n').count();
        rest = behind;
    }
    Ok(words)
}

/// Returns the length of the quoted text at the start of `rest`.
fn quoted_proto_length(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}
