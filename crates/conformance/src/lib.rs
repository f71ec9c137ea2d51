//! Reads the sources of this workspace, for tests about names, layers and pages.
//!
//! The program of this package runs the public test suites of the original programs.

pub mod workspace;
