//! Lists and mappings by indentation.

use super::super::Failed;
use super::super::mapping::Mapping;
use super::super::token::Kind;
use super::entry::no_key;
use super::{Parser, unexpected};
use crate::Value;

impl Parser<'_> {
    pub(super) fn block_sequence(&mut self) -> Result<Value, Failed> {
        self.scanner.next()?;
        let mut items = Vec::new();
        loop {
            let token = self.scanner.next()?;
            match token.kind {
                Kind::BlockEntry => {
                    let next = &self.scanner.peek()?.kind;
                    items.push(match next {
                        Kind::BlockEntry | Kind::BlockEnd => self.empty(token.end),
                        _ => self.node(true, false)?,
                    });
                }
                Kind::BlockEnd => return Ok(Value::array(items)),
                _ => return Err(unexpected(&token, "`-` or the end of the list")),
            }
        }
    }

    /// Reads a list in a mapping whose `-` stand under the key itself.
    pub(super) fn indentless_sequence(&mut self) -> Result<Value, Failed> {
        let mut items = Vec::new();
        while matches!(self.scanner.peek()?.kind, Kind::BlockEntry) {
            let dash = self.scanner.next()?;
            items.push(match self.scanner.peek()?.kind {
                Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd => self.empty(dash.end),
                _ => self.node(true, false)?,
            });
        }
        Ok(Value::array(items))
    }

    pub(super) fn block_mapping(&mut self) -> Result<Value, Failed> {
        self.scanner.next()?;
        let mut mapping = Mapping::new(self.positions.len());
        loop {
            let token = self.scanner.next()?;
            match token.kind {
                Kind::Key => {
                    if matches!(self.scanner.peek()?.kind, Kind::Key | Kind::Value | Kind::BlockEnd) {
                        return Err(no_key("null", token.end));
                    }
                    let key = self.key(true, token.end)?;
                    self.entry(&mut mapping, key, Self::block_value)?;
                }
                Kind::BlockEnd => return self.finish(mapping, token.start),
                _ => return Err(unexpected(&token, "a key, or less indentation")),
            }
        }
    }

    pub(super) fn block_value(&mut self) -> Result<Value, Failed> {
        let token = self.scanner.peek()?;
        let mark = token.start;
        if !matches!(token.kind, Kind::Value) {
            return Ok(self.empty(mark));
        }
        let colon = self.scanner.next()?;
        match self.scanner.peek()?.kind {
            Kind::Key | Kind::Value | Kind::BlockEnd => Ok(self.empty(colon.end)),
            _ => self.node(true, true),
        }
    }
}
