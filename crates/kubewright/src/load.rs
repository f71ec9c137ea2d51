//! Finding files, reading them, and taking the objects out of them.
//!
//! Nothing here stops at the first thing that cannot be read: what is wrong comes back
//! as diagnostics beside what could be read.

mod dump;
mod find;
mod glob;
mod objects;
mod read;
mod stream;

pub(crate) use find::{Input, TEST_FILES, find, find_tests, plain, relative};
use objects::each_object;
pub(crate) use objects::{Wanted, objects_of, taken};
pub(crate) use read::{documents, documents_of_text, text_of};
pub(crate) use stream::{Progress, stream};
