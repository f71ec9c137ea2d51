//! Text for people: shortening, escaping and paths, so that all messages do them alike.

mod escape;
mod path;
mod shell;
mod shorten;

pub use crate::eight_bytes::{contains_pair, is_printable_ascii};
pub use escape::xml_entity;
pub use path::{PathStyle, path_text, write_path};
pub use shell::shell_word;
pub use shorten::{TextLimit, shorten_text};
