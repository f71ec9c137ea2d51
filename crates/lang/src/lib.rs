//! The small languages that rules are written in.
//!
//! Each is a folder of its own, works on the shared value, charges a budget, and
//! knows no dialect: what a language should do differently for one is an option.

pub mod cel;
mod compile_budget;
pub mod glob;
pub mod gofloat;
pub mod gojson;
pub mod goregex;
pub mod gotemplate;
mod gourl;
pub mod image;
pub mod interpolate;
pub mod jmespath;
pub mod jsonpath;
pub mod naming;
mod near;
pub mod patch;
pub mod pathpatch;
pub mod textdiff;

pub use compile_budget::{CompileBudget, CompileExceeded, CompileLimits, rule as compile_rule};
