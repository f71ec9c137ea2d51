//! Finding files, reading them, and taking the objects out of them.
//!
//! Nothing here stops at the first thing that cannot be read: what is wrong comes back
//! as diagnostics beside what could be read.

mod dump;
mod find;
mod glob;
mod manifest;
mod objects;
mod project;
mod read;
mod registry;
mod stream;

pub(crate) use find::{Input, TEST_FILES, find, find_manifests, find_tests, plain, relative};
use objects::each_object;
pub(crate) use objects::{Wanted, objects_of, opened, taken};
pub(crate) use project::{allow_outside, named, named_one};
pub(crate) use read::{documents, documents_of_text, text_of};
pub(crate) use registry::{is_input, register};
pub(crate) use stream::{Progress, stream};
