//! What a rule looked at, as the engine's trace.

use kubewright_engine::{TraceNode, Verdict as Seen};
use kubewright_value::Value;

use super::conditions;
use super::context::Unresolved;
use super::evaluate::{Loop, Verdict};
use kubewright_dialect_kit::notes::Note;

/// Returns what is said about an element of a loop.
pub(super) fn element(one: &Loop, index: usize, element: &Value, verdict: &Verdict) -> Note {
    let (found, seen) = match verdict {
        Verdict::Pass(_) => (String::new(), Seen::Yes),
        Verdict::Skip(reason) | Verdict::Nothing(reason) => (reason.to_string(), Seen::No),
        Verdict::Fail(failure) => (failure.message.clone(), Seen::No),
        Verdict::Error(error) => (error.message.clone(), Seen::Error),
    };
    Note {
        what: format!("element {index} of {}", one.list.text()),
        found: TraceNode::show(element),
        wanted: found,
        verdict: seen,
        at: one.path.clone(),
        children: Vec::new(),
    }
}

/// Returns what is said about conditions together.
pub(super) fn conditions(what: &str, result: &Result<conditions::Verdict<'_>, Unresolved>) -> Note {
    let (found, verdict) = match result {
        Ok(verdict) => (String::new(), if verdict.holds { Seen::Yes } else { Seen::No }),
        Err(unresolved) => (unresolved.message().to_owned(), Seen::Error),
    };
    Note { found, verdict, ..plain(what.to_owned()) }
}

/// Returns what is said where a violation is not forgiven because nobody knows whether it is a new one.
pub(super) fn unknown_old_object() -> Note {
    let found = "nobody says how the object was before the update, so nothing is forgiven".to_owned();
    Note { found, ..plain("allowExistingViolations".to_owned()) }
}

fn plain(what: String) -> Note {
    Note {
        what,
        found: String::new(),
        wanted: String::new(),
        verdict: Seen::No,
        at: Vec::new(),
        children: Vec::new(),
    }
}

/// Returns what is said about an exception.
pub(super) fn exception(key: &str, is_met: bool) -> Note {
    Note {
        what: format!("exception {key}"),
        found: String::new(),
        wanted: String::new(),
        verdict: if is_met { Seen::Yes } else { Seen::No },
        at: Vec::new(),
        children: Vec::new(),
    }
}
