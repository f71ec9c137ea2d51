//! Directives, anchors, aliases and tags.

use super::super::YamlFailure;
use super::super::token::{YamlTag, YamlTokenKind};
use super::YamlScanner;

impl<'a> YamlScanner<'a> {
    /// Scans `%YAML` or `%TAG` and the rest of its line.
    pub(super) fn directive(&mut self) -> Result<(), YamlFailure> {
        self.unroll(-1);
        self.forget_key()?;
        self.key_allowed = false;
        let start = self.mark;
        self.skip();
        let name = self.word();
        if name.is_empty() {
            return Err(self.wrong("expected the name of a directive after `%`"));
        }
        if !self.is_blank_or_end(0) {
            return Err(self.wrong("expected a space after the name of the directive"));
        }
        let kind = match name {
            "YAML" => self.version()?,
            "TAG" => self.tag_directive()?,
            _ => return Err(self.wrong(&format!("unknown directive `%{name}`"))),
        };
        self.push(kind, start);
        self.skip_blanks();
        if self.byte(0) == b'#' {
            self.skip_to_break();
        }
        if !self.is_break_or_end(0) {
            return Err(self.wrong("expected a comment or the end of the line after the directive"));
        }
        self.skip_break();
        Ok(())
    }

    fn version(&mut self) -> Result<YamlTokenKind<'a>, YamlFailure> {
        self.skip_blanks();
        let major = self.version_number()?;
        if self.byte(0) != b'.' {
            return Err(self.wrong("expected a version such as `1.1`"));
        }
        self.skip();
        Ok(YamlTokenKind::Version(major, self.version_number()?))
    }

    fn version_number(&mut self) -> Result<u8, YamlFailure> {
        let start = self.at;
        while self.byte(0).is_ascii_digit() && self.at - start < 3 {
            self.skip();
        }
        match self.slice(start) {
            digits if digits.len() <= 2 => {
                digits.parse().map_err(|_| self.wrong("expected a version such as `1.1`"))
            }
            _ => Err(self.wrong("the version is too long")),
        }
    }

    fn tag_directive(&mut self) -> Result<YamlTokenKind<'a>, YamlFailure> {
        self.skip_blanks();
        let handle = self.tag_handle()?;
        if handle != "!" && !handle.ends_with('!') {
            return Err(self.wrong("expected `!` at the end of the handle"));
        }
        if !self.is_blank(0) {
            return Err(self.wrong("expected a space after the handle"));
        }
        self.skip_blanks();
        let suffix = self.tag_uri("")?;
        if !self.is_blank_or_end(0) {
            return Err(self.wrong("expected a space or the end of the line after the prefix"));
        }
        Ok(YamlTokenKind::TagDirective(Box::new(YamlTag { handle: handle.to_owned(), suffix })))
    }

    /// Scans `&name` or `*name`.
    pub(super) fn anchor(&mut self) -> Result<(), YamlFailure> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark;
        let is_alias = self.byte(0) == b'*';
        self.skip();
        let name = self.word();
        let ends = matches!(self.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !(ends || self.is_blank_or_end(0)) {
            return Err(self.wrong("expected a name of letters, digits, `-` and `_` after `&` or `*`"));
        }
        self.push(if is_alias { YamlTokenKind::Alias(name) } else { YamlTokenKind::Anchor(name) }, start);
        Ok(())
    }

    /// Scans `!tag`, `!!tag`, `!handle!tag` or `!<tag>`.
    pub(super) fn tag(&mut self) -> Result<(), YamlFailure> {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark;
        let tag = if self.byte(1) == b'<' {
            self.skip();
            self.skip();
            let suffix = self.tag_uri("")?;
            if self.byte(0) != b'>' {
                return Err(self.wrong("expected `>` at the end of the tag"));
            }
            self.skip();
            YamlTag { handle: String::new(), suffix }
        } else {
            self.short_tag()?
        };
        if !self.is_blank_or_end(0) {
            return Err(self.wrong("expected a space or the end of the line after the tag"));
        }
        self.push(YamlTokenKind::Tag(Box::new(tag)), start);
        Ok(())
    }

    fn short_tag(&mut self) -> Result<YamlTag, YamlFailure> {
        let handle = self.tag_handle()?;
        if handle.len() > 1 && handle.ends_with('!') {
            return Ok(YamlTag { handle: handle.to_owned(), suffix: self.tag_uri("")? });
        }
        let suffix = self.tag_uri(handle)?;
        // A lone `!` is a tag of its own.
        Ok(if suffix.is_empty() {
            YamlTag { handle: String::new(), suffix: "!".to_owned() }
        } else {
            YamlTag { handle: "!".to_owned(), suffix }
        })
    }

    /// Scans `!`, `!!` or `!word!`; also `!word`, which is then a tag and not a handle.
    fn tag_handle(&mut self) -> Result<&'a str, YamlFailure> {
        if self.byte(0) != b'!' {
            return Err(self.wrong("expected `!`"));
        }
        let start = self.at;
        self.skip();
        self.word();
        if self.byte(0) == b'!' {
            self.skip();
        }
        Ok(self.slice(start))
    }

    /// Scans the rest of a tag whose beginning, `!` included, was read as `head`.
    fn tag_uri(&mut self, head: &str) -> Result<String, YamlFailure> {
        let mut uri = head.get(1..).unwrap_or_default().as_bytes().to_vec();
        let before = self.at;
        loop {
            match self.byte(0) {
                b'%' => uri.push(self.escaped_octet()?),
                byte if is_tag_byte(byte) || b";/?:@&=+$,.!~*'()[]".contains(&byte) => {
                    uri.push(byte);
                    self.skip();
                }
                _ => break,
            }
        }
        if head.is_empty() && self.at == before {
            return Err(self.wrong("expected a tag"));
        }
        String::from_utf8(uri).map_err(|_| self.wrong("the octets of the tag are not UTF-8"))
    }

    fn escaped_octet(&mut self) -> Result<u8, YamlFailure> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|d| u8::try_from(d).ok());
        match (digit(self.byte(1)), digit(self.byte(2))) {
            (Some(high), Some(low)) => {
                for _ in 0..3 {
                    self.skip();
                }
                Ok(high * 16 + low)
            }
            _ => Err(self.wrong("expected two hexadecimal digits after `%`")),
        }
    }

    /// Takes letters, digits, `_` and `-`.
    fn word(&mut self) -> &'a str {
        let start = self.at;
        while is_tag_byte(self.byte(0)) {
            self.skip();
        }
        self.slice(start)
    }

    pub(super) fn skip_blanks(&mut self) {
        while self.is_blank(0) {
            self.skip();
        }
    }
}

fn is_tag_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}
