//! Finds files, reads them, and takes the objects out of them, on all cores.
//!
//! Nothing stops at the first file that cannot be read: mistakes are returned as diagnostics beside what could be
//! read. Every file that is read is registered, so that no output replaces it: see [`is_input`].

mod codes;
mod dump;
mod find;
mod glob;
mod manifest;
mod objects;
mod project;
mod read;
mod registry;
mod stream;
pub mod workers;

pub use codes::{FILE_CODES, NOT_AN_OBJECT, NOTHING_FOUND, UNREADABLE, about_path};
pub use find::{Found, Input, TEST_FILES, find, find_manifests, find_tests, plain, relative};
use objects::each_object;
pub use objects::{Wanted, objects_of, opened, taken};
pub use project::{allow_outside, named, named_one};
pub use read::{documents, documents_of_text, text_of};
pub use registry::{is_input, register};
pub use stream::{Progress, stream};
