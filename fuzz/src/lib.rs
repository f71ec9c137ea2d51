//! Fuzzes the readers and languages, and checks their invariants.
//!
//! The targets are functions over bytes. The program of this crate tries mutations of known inputs, `fuzz/guided` has
//! libFuzzer look for inputs that reach new code, and both take the targets from here.

pub mod corpus;
pub mod dictionary;
pub mod differential;
pub mod driver;
mod grammar;
pub mod guided;
mod mutate;
mod random;
pub mod targets;
