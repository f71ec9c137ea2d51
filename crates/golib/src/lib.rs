//! Behaviour of Go's libraries that rule languages depend on: how Go writes numbers and JSON, takes URLs and times
//! apart, reads regular expressions and certificates.
//!
//! Rules are written against programs in Go, so several languages need the same answers. Everything here works on the
//! shared value and knows no language and no dialect.

pub mod base64;
pub mod compile_budget;
pub mod float;
pub mod glob;
pub mod hash;
pub mod image;
pub mod inputs;
pub mod json;
pub mod naming;
pub mod pem;
pub mod quote;
pub mod random;
pub mod regex;
pub mod time;
pub mod url;
pub mod utf8;
pub mod x509;

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
