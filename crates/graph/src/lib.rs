//! The graph of Kubernetes objects: which object refers to which, and through which field.
//!
//! A [`Graph`] is a pure function of a set of objects and of the [`References`] that users declare for their own
//! kinds. It may be built at once or object by object, and nothing shows which of the two it was.
//!
//! Most edges are stored. Five types are not, because they would be as many as the pairs of objects they join; they are
//! found when somebody asks (`graph/walk.rs`). Whatever a selector selects is stored once for all who select the same.
//!
//! Pictures are made in [`draw`].

mod derive;
pub mod draw;
mod edge;
mod graph;
mod ids;
mod names;
mod node;
mod references;
mod selector;

pub use edge::{Edge, EdgeType, Strength};
pub use graph::{Graph, SelectionKey};
pub use node::{Id, Node, Sort};
pub use references::{References, codes};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
