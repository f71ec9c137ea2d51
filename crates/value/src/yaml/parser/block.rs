//! Lists and mappings by indentation.

use super::super::YamlFailure;
use super::super::mapping::MappingBuilder;
use super::super::token::YamlTokenKind;
use super::entry::not_a_key_error;
use super::{YamlParser, unexpected_token};
use crate::Value;

impl YamlParser<'_> {
    pub(super) fn block_sequence(&mut self) -> Result<Value, YamlFailure> {
        self.scanner.next()?;
        let mut items = Vec::new();
        loop {
            let token = self.scanner.next()?;
            match token.kind {
                YamlTokenKind::BlockEntry => {
                    let next = &self.scanner.peek()?.kind;
                    items.push(match next {
                        YamlTokenKind::BlockEntry | YamlTokenKind::BlockEnd => self.empty(token.end),
                        _ => self.node(true, false)?,
                    });
                }
                YamlTokenKind::BlockEnd => return Ok(Value::array(items)),
                _ => return Err(unexpected_token(&token, "`-` or the end of the list")),
            }
        }
    }

    /// Reads a list in a mapping whose `-` are in the column of the key.
    pub(super) fn indentless_sequence(&mut self) -> Result<Value, YamlFailure> {
        let mut items = Vec::new();
        while matches!(self.scanner.peek()?.kind, YamlTokenKind::BlockEntry) {
            let dash = self.scanner.next()?;
            items.push(match self.scanner.peek()?.kind {
                YamlTokenKind::BlockEntry
                | YamlTokenKind::Key
                | YamlTokenKind::Value
                | YamlTokenKind::BlockEnd => self.empty(dash.end),
                _ => self.node(true, false)?,
            });
        }
        Ok(Value::array(items))
    }

    pub(super) fn block_mapping(&mut self) -> Result<Value, YamlFailure> {
        self.scanner.next()?;
        let mut mapping = MappingBuilder::new(self.positions.len());
        loop {
            let token = self.scanner.next()?;
            match token.kind {
                YamlTokenKind::Key => {
                    if matches!(
                        self.scanner.peek()?.kind,
                        YamlTokenKind::Key | YamlTokenKind::Value | YamlTokenKind::BlockEnd
                    ) {
                        return Err(not_a_key_error("null", token.end));
                    }
                    let key = self.key(true, token.end)?;
                    self.entry(&mut mapping, key, Self::block_value)?;
                }
                YamlTokenKind::BlockEnd => return self.finish(mapping, token.start),
                _ => return Err(unexpected_token(&token, "a key, or less indentation")),
            }
        }
    }

    pub(super) fn block_value(&mut self) -> Result<Value, YamlFailure> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        if !matches!(token.kind, YamlTokenKind::Value) {
            return Ok(self.empty(mark));
        }
        let colon = self.scanner.next()?;
        match self.scanner.peek()?.kind {
            YamlTokenKind::Key | YamlTokenKind::Value | YamlTokenKind::BlockEnd => Ok(self.empty(colon.end)),
            _ => self.node(true, true),
        }
    }
}
