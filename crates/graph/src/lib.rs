//! The graph of Kubernetes objects: which object refers to which, and through which field.
//!
//! A [`Graph`] is a pure function of a set of objects and of the [`References`] that users declare for their own
//! kinds. Building it at once or object by object gives the same graph.
//!
//! Most edges are stored. Five types ([`EdgeTypeSpec::is_stored`] is false) are derived on each read (`graph/walk.rs`),
//! because there are as many edges as pairs of objects. The objects that a selector selects are stored once for all equal
//! selectors. All built-in edge types are rows of one table, [`EDGE_TYPES`].

mod derive;
mod edge;
mod fields;
mod graph;
mod ids;
mod names;
mod node;
mod references;
mod selector;

pub use edge::{EDGE_TYPES, Edge, EdgeType, EdgeTypeSet, EdgeTypeSpec, KindSet, Strength};
pub use fields::{FieldExtent, FieldStep, FieldTree};
pub use graph::{Graph, GraphChanges, SelectionKey};
pub use node::{GraphNode, Id, NamedObject, Sort};
pub use references::{References, codes};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
