//! Support for the benchmarks: a CPU clock, alternating rounds, and generated inputs.

pub mod clock;
pub mod cluster;
pub mod instructions;
pub mod patterns;
pub mod process;
pub mod rules;
pub mod texts;
pub mod traits;
