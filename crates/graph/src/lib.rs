//! The graph of Kubernetes objects, and pictures of it.

pub mod draw;
