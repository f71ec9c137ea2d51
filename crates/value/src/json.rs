//! JSON text to values and back.
//!
//! The reader comes in two strengths over one parser: [`parse`] for request bodies,
//! which keeps no positions, and [`read`] for files, which keeps all of them.
//! Both refuse what RFC 8259 refuses, stop at [`MAX_DEPTH`], keep integers exact, and let the last of
//! two equal keys win, as Go does.

mod reader;
pub(crate) mod writer;

pub use reader::{JsonError, MemberReader, parse, parse_members, parse_within, read, read_with_warnings};
pub use writer::{quote, to_pretty, to_shown_pretty, to_shown_string, to_string, write, write_text};

/// The maximum nesting depth of arrays and objects, in every reader.
pub const MAX_DEPTH: usize = 256;

#[cfg(test)]
mod tests;
