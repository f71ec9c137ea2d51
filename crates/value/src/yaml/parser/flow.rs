//! Lists and mappings in brackets.

use super::super::YamlFailure;
use super::super::mapping::MappingBuilder;
use super::super::token::{YamlMark, YamlTokenKind};
use super::entry::not_a_key_error;
use super::{YamlParser, unexpected_token};
use crate::Value;

impl YamlParser<'_> {
    pub(super) fn flow_sequence(&mut self) -> Result<Value, YamlFailure> {
        self.scanner.next()?;
        let mut items = Vec::new();
        loop {
            let token = self.scanner.peek()?;
            match token.kind {
                YamlTokenKind::FlowSequenceEnd => break,
                YamlTokenKind::FlowEntry if !items.is_empty() => {
                    self.scanner.next()?;
                }
                _ if items.is_empty() => {}
                _ => return Err(unexpected_token(token, "`,` or `]`")),
            }
            let token = self.scanner.peek()?;
            match token.kind {
                YamlTokenKind::FlowSequenceEnd => break,
                YamlTokenKind::Key => {
                    let mark = token.start;
                    items.push(self.nested(mark, Self::flow_pair)?);
                }
                _ => items.push(self.node(false, false)?),
            }
        }
        self.scanner.next()?;
        Ok(Value::array(items))
    }

    /// Reads a mapping of one entry in a list, without braces of its own.
    fn flow_pair(&mut self) -> Result<Value, YamlFailure> {
        let mut mapping = MappingBuilder::new(self.positions.len());
        self.flow_key(&mut mapping)?;
        let mark = self.scanner.peek()?.start;
        self.finish(mapping, mark)
    }

    pub(super) fn flow_mapping(&mut self) -> Result<Value, YamlFailure> {
        self.scanner.next()?;
        let mut mapping = MappingBuilder::new(self.positions.len());
        let mut is_first = true;
        loop {
            let token = self.scanner.peek()?;
            match token.kind {
                YamlTokenKind::FlowMappingEnd => break,
                YamlTokenKind::FlowEntry if !is_first => {
                    self.scanner.next()?;
                }
                _ if is_first => {}
                _ => return Err(unexpected_token(token, "`,` or `}`")),
            }
            is_first = false;
            let token = self.scanner.peek()?;
            let mark = token.start;
            match token.kind {
                YamlTokenKind::FlowMappingEnd => break,
                YamlTokenKind::Key => self.flow_key(&mut mapping)?,
                _ => {
                    let key = self.key(false, mark)?;
                    self.entry(&mut mapping, key, Self::no_value)?;
                }
            }
        }
        let mark = self.scanner.next()?.start;
        self.finish(mapping, mark)
    }

    /// Reads an entry whose key is announced.
    fn flow_key(&mut self, mapping: &mut MappingBuilder) -> Result<(), YamlFailure> {
        let mark = self.scanner.next()?.end;
        if self.is_flow_value_missing()? || matches!(self.scanner.peek()?.kind, YamlTokenKind::Value) {
            return Err(not_a_key_error("null", mark));
        }
        let key = self.key(false, mark)?;
        self.entry(mapping, key, Self::flow_value)
    }

    fn flow_value(&mut self) -> Result<Value, YamlFailure> {
        let mark: YamlMark = self.scanner.peek()?.start;
        if !matches!(self.scanner.peek()?.kind, YamlTokenKind::Value) {
            return Ok(self.empty(mark));
        }
        self.scanner.next()?;
        if self.is_flow_value_missing()? { self.no_value() } else { self.node(false, false) }
    }

    fn no_value(&mut self) -> Result<Value, YamlFailure> {
        let mark = self.scanner.peek()?.start;
        Ok(self.empty(mark))
    }

    fn is_flow_value_missing(&mut self) -> Result<bool, YamlFailure> {
        Ok(matches!(
            self.scanner.peek()?.kind,
            YamlTokenKind::FlowEntry | YamlTokenKind::FlowSequenceEnd | YamlTokenKind::FlowMappingEnd
        ))
    }
}
