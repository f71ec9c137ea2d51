//! Converts a rule's notes into the engine's trace.

use kubewright_engine::{TraceNode, TraceVerdict as Seen};
use kubewright_value::Value;

use super::conditions;
use super::context::Unresolved;
use super::evaluate::{CheckVerdict, ForeachLoop};
use kubewright_dialect_kit::notes::TraceNote;

/// Returns the trace text of a loop element.
pub(super) fn foreach_element_note(
    one: &ForeachLoop,
    index: usize,
    element: &Value,
    verdict: &CheckVerdict,
) -> TraceNote {
    let (found, seen) = match verdict {
        CheckVerdict::Pass(_) => (String::new(), Seen::Yes),
        CheckVerdict::Skip(reason) | CheckVerdict::Nothing(reason) => (reason.to_string(), Seen::No),
        CheckVerdict::Fail(failure) => (failure.message.clone(), Seen::No),
        CheckVerdict::Error(error) => (error.message.clone(), Seen::Error),
    };
    TraceNote {
        what: format!("element {index} of {}", one.list.text()),
        found: TraceNode::show(element),
        wanted: found,
        verdict: seen,
        at: one.path.clone(),
        children: Vec::new(),
    }
}

/// Returns the trace text of conditions.
pub(super) fn conditions_note(
    what: &str,
    result: &Result<conditions::ConditionVerdict<'_>, Unresolved>,
) -> TraceNote {
    let (found, verdict) = match result {
        Ok(verdict) => (String::new(), if verdict.holds { Seen::Yes } else { Seen::No }),
        Err(unresolved) => (unresolved.message().to_owned(), Seen::Error),
    };
    TraceNote { found, verdict, ..plain_note(what.to_owned()) }
}

/// Returns the trace text where a violation is not excused because it is unknown whether it is new.
pub(super) fn unknown_old_object() -> TraceNote {
    let found = "the object before the update is not known, so the violation is not excused".to_owned();
    TraceNote { found, ..plain_note("allowExistingViolations".to_owned()) }
}

fn plain_note(what: String) -> TraceNote {
    TraceNote {
        what,
        found: String::new(),
        wanted: String::new(),
        verdict: Seen::No,
        at: Vec::new(),
        children: Vec::new(),
    }
}

/// Returns the trace text of an exception.
pub(super) fn exception_note(key: &str, is_met: bool) -> TraceNote {
    TraceNote {
        what: format!("exception {key}"),
        found: String::new(),
        wanted: String::new(),
        verdict: if is_met { Seen::Yes } else { Seen::No },
        at: Vec::new(),
        children: Vec::new(),
    }
}
