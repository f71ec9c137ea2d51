//! Kyverno's validate rules: judge one object by patterns, conditions and loops.
//!
//! How this differs from Kyverno 1.19, and why, is in `docs/dialects/kyverno.md`.

mod autogen;
mod check;
mod conditions;
mod context;
mod diagnostics;
mod images;
mod matching;
mod mixed;
mod notes;
mod operator;
mod source;
mod template;
