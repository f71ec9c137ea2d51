//! Finds files, reads them, and takes the objects out of them, on all cores.
//!
//! Nothing stops at the first file that cannot be read: mistakes are returned as diagnostics beside what could be
//! read. Every file that is read is registered, so that no output replaces it: see [`is_input`].

mod chart;
mod codes;
mod dump;
mod find;
mod glob;
mod ignored;
mod manifest;
mod memory;
mod not_objects;
mod objects;
mod origins;
mod project;
mod read;
mod registry;
mod rendered;
mod stream;
mod templates;
mod texts;
pub mod workers;

pub use codes::{FILE_CODES, NOT_AN_OBJECT, NOT_LISTED, NOTHING_FOUND, UNREADABLE, about_path};
pub use find::{
    FoundFiles, Input, PROJECT_FILES, TEST_FILES, find_files, find_manifests, find_tests, io_error_text,
    relative_path,
};
pub use ignored::ignore_files;
pub use memory::MemoryFiles;
pub use objects::{ObjectFilter, is_object, list_items, objects_of, wanted_objects};
pub use project::{
    RealFolders, allow_outside, resolve_output, resolve_path, resolve_paths, resolve_paths_among, set_project,
};
pub use read::{parse_documents, read_documents, read_source};
pub use registry::{forget_inputs, is_input, register, watch_path, watched_paths};
pub use rendered::{RenderOptions, find_rendered};
pub use stream::{Progress, stream_objects, stream_objects_of_kind};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
