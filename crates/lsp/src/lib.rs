//! A language server for rules about Kubernetes objects, and for the manifests that they judge.
//!
//! It answers only for documents that a rule language claims and for the files that a project lists, so it works beside a
//! general YAML server. A text is cut into its YAML documents, and after an edit only the documents whose text changed are
//! compiled again. Rule logic is elsewhere: diagnostics are those of the dialects, outcomes those of the engine, and what
//! belongs to the command line is behind [`EditorHost`].

mod actions;
mod chunk;
mod completion;
mod definition;
mod diagnostics;
mod embedded;
mod encoding;
mod file;
mod folding;
mod functions;
mod host;
mod hover;
mod lens;
mod manifests;
mod names;
mod outline;
mod project;
mod protocol;
mod refresh;
mod rename;
mod server;
mod tokens;
mod workspace;

pub use host::{EditorHost, NewTest, ProjectOutline, ProposedFix, TracedOutcome};
pub use server::{EditorServerError, serve_editor};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
