//! The small languages that rules are written in.
//!
//! Each is a folder of its own, works on the shared value, charges a budget, and
//! knows no dialect: what a language should do differently for one is an option.


pub use kubewright_golib::compile_budget::{
    CompileBudget, CompileExceeded, CompileLimits, rule as compile_rule,
};
pub use kubewright_golib::{float as gofloat, glob, image, json as gojson, naming, regex as goregex};
pub use kubewright_jsonpath as jsonpath;
pub use kubewright_patch as patch;
pub use kubewright_patch::{path as pathpatch, textdiff};
pub use kubewright_jmespath as jmespath;
pub use kubewright_gotemplate as gotemplate;
pub use kubewright_cel as cel;
pub use kubewright_interpolate as interpolate;
