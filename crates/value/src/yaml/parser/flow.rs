//! Lists and mappings in brackets.

use super::super::Failed;
use super::super::mapping::Mapping;
use super::super::token::{Kind, Mark};
use super::entry::no_key;
use super::{Parser, unexpected};
use crate::Value;

impl Parser<'_> {
    pub(super) fn flow_sequence(&mut self) -> Result<Value, Failed> {
        self.scanner.next()?;
        let mut items = Vec::new();
        loop {
            let token = self.scanner.peek()?;
            match token.kind {
                Kind::FlowSequenceEnd => break,
                Kind::FlowEntry if !items.is_empty() => {
                    self.scanner.next()?;
                }
                _ if items.is_empty() => {}
                _ => return Err(unexpected(token, "`,` or `]`")),
            }
            let token = self.scanner.peek()?;
            match token.kind {
                Kind::FlowSequenceEnd => break,
                Kind::Key => {
                    let mark = token.start;
                    items.push(self.nested(mark, Self::flow_pair)?);
                }
                _ => items.push(self.node(false, false)?),
            }
        }
        self.scanner.next()?;
        Ok(Value::array(items))
    }

    /// Reads a mapping of one entry that stands in a list without brackets of its own.
    fn flow_pair(&mut self) -> Result<Value, Failed> {
        let mut mapping = Mapping::new(self.positions.len());
        self.flow_key(&mut mapping)?;
        let mark = self.scanner.peek()?.start;
        self.finish(mapping, mark)
    }

    pub(super) fn flow_mapping(&mut self) -> Result<Value, Failed> {
        self.scanner.next()?;
        let mut mapping = Mapping::new(self.positions.len());
        let mut is_first = true;
        loop {
            let token = self.scanner.peek()?;
            match token.kind {
                Kind::FlowMappingEnd => break,
                Kind::FlowEntry if !is_first => {
                    self.scanner.next()?;
                }
                _ if is_first => {}
                _ => return Err(unexpected(token, "`,` or `}`")),
            }
            is_first = false;
            let token = self.scanner.peek()?;
            let mark = token.start;
            match token.kind {
                Kind::FlowMappingEnd => break,
                Kind::Key => self.flow_key(&mut mapping)?,
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
    fn flow_key(&mut self, mapping: &mut Mapping) -> Result<(), Failed> {
        let mark = self.scanner.next()?.end;
        if self.is_flow_value_missing()? || matches!(self.scanner.peek()?.kind, Kind::Value) {
            return Err(no_key("null", mark));
        }
        let key = self.key(false, mark)?;
        self.entry(mapping, key, Self::flow_value)
    }

    fn flow_value(&mut self) -> Result<Value, Failed> {
        let mark: Mark = self.scanner.peek()?.start;
        if !matches!(self.scanner.peek()?.kind, Kind::Value) {
            return Ok(self.empty(mark));
        }
        self.scanner.next()?;
        if self.is_flow_value_missing()? { self.no_value() } else { self.node(false, false) }
    }

    fn no_value(&mut self) -> Result<Value, Failed> {
        let mark = self.scanner.peek()?.start;
        Ok(self.empty(mark))
    }

    fn is_flow_value_missing(&mut self) -> Result<bool, Failed> {
        Ok(matches!(
            self.scanner.peek()?.kind,
            Kind::FlowEntry | Kind::FlowSequenceEnd | Kind::FlowMappingEnd
        ))
    }
}
