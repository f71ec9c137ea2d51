//! Kyverno's validate rules: judge one object by patterns, conditions and loops.
//!
//! How this differs from Kyverno 1.19, and why, is in `docs/dialects/kyverno.md`.

mod mixed;
mod notes;
mod pattern;
mod source;
