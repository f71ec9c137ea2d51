//! An incremental scan of the objects of a cluster.
//!
//! [`ScanRules`] are all rules and patterns that judge stored objects. A [`Scanner`] is given objects as they are listed
//! and watched, and knows which of them must be judged again after an object, a rule, an exception, a binding, a
//! Namespace or anything else that a rule looked up has changed. It keeps no objects, only what the rules said of them
//! and what they looked up for that: the results after any sequence of changes are those of a scan of the final state.
//!
//! This crate has no input, no output, no clock and no threads. [`Scanner::judge`] takes `&self`, so that a caller may
//! judge on several threads; [`Scanner::record`] then stores each judgement.

mod clock_use;
mod decision;
mod field_use;
mod fingerprint;
mod input;
mod intern;
mod judge;
mod key;
mod outcome_set;
mod quiet_kinds;
mod recording;
mod rules;
mod scanner;
mod shard;
mod value_hash;

pub use decision::ObjectDecision;
pub use input::{WatchedInput, is_query_about, watched_input};
pub use judge::{Judgement, JudgementCause};
pub use key::{KindKey, ObjectKey};
pub use quiet_kinds::{is_credential_kind, is_quiet_kind, preferred_group};
pub use recording::{AnswerState, RecordedInput, RecordingWorld};
pub use rules::{
    BackgroundPolicy, CHANGES_PROPERTY, GENERATED_PROPERTY, PATCHED_PROPERTY, RescanTarget, ScanRuleOptions,
    ScanRules,
};
pub use scanner::{
    ChangedResults, FullPassList, JudgementCounts, Observation, ReportOn, RuleTotals, ScanSettings,
    ScanTotals, Scanner,
};
pub use shard::{Shard, shard_of};

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
