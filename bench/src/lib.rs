//! What the measurements are made of: a clock of CPU time, fair rounds, and texts made by code.

pub mod clock;
pub mod cluster;
pub mod instructions;
pub mod patterns;
pub mod process;
pub mod rules;
pub mod texts;
pub mod traits;
