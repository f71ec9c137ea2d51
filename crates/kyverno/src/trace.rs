//! Converts a rule's notes into the engine's trace.

use kubewright_engine::{TraceNode, TraceVerdict as Seen};
use kubewright_value::{Step, Value};

use super::conditions;
use super::context::Unresolved;
use super::evaluate::{CheckVerdict, ForeachLoop, NearException};
use kubewright_dialect_kit::notes::TraceNote;

/// Returns the trace text of a loop element.
pub(super) fn foreach_element_note(
    one: &ForeachLoop,
    index: usize,
    (element, subject): (&Value, Vec<Step>),
    verdict: &CheckVerdict,
) -> TraceNote {
    let (found, seen) = match verdict {
        CheckVerdict::Pass(_) => (String::new(), Seen::Yes),
        CheckVerdict::Skip(reason) | CheckVerdict::Nothing(reason) => (reason.to_string(), Seen::No),
        CheckVerdict::Fail(failure) => {
            let reason = failure.reason.as_ref().map(|reason| reason.text.as_str());
            (reason.unwrap_or(&failure.message).to_owned(), Seen::No)
        }
        CheckVerdict::Error(error) => {
            let reason = error.reason.as_ref().filter(|reason| !reason.text.is_empty());
            (reason.map_or_else(|| error.message.clone(), |reason| reason.text.clone()), Seen::Error)
        }
    };
    let name = match element.get("name").and_then(Value::as_str) {
        Some(name) => format!(" `{name}`"),
        None if element.as_object().is_some() || element.as_array().is_some() => String::new(),
        None => format!(" {}", TraceNode::show(element)),
    };
    TraceNote {
        what: format!("element {index}{name} of {}", one.list.text()),
        found,
        verdict: seen,
        at: one.path.clone(),
        subject,
        ..TraceNote::default()
    }
}

/// Returns the trace text of a loop over a list that has no elements.
pub(super) fn empty_loop_note(one: &ForeachLoop, found: &str) -> TraceNote {
    TraceNote {
        what: format!("foreach {}", one.list.text()),
        found: found.to_owned(),
        verdict: Seen::No,
        // Not the loop itself, which is not exercised.
        at: [one.path.as_slice(), &[Step::from("list")]].concat(),
        subject: one.keys.clone().unwrap_or_default(),
        ..TraceNote::default()
    }
}

/// Returns the trace text of conditions.
pub(super) fn conditions_note(
    what: &str,
    result: &Result<conditions::ConditionVerdict<'_>, Unresolved>,
) -> TraceNote {
    let (found, verdict) = match result {
        Ok(verdict) => (String::new(), if verdict.holds { Seen::Yes } else { Seen::No }),
        Err(unresolved) => (unresolved.cause().0.to_owned(), Seen::Error),
    };
    TraceNote { found, verdict, ..plain_note(what.to_owned()) }
}

/// Returns the trace text where a violation is not excused because it is unknown whether it is new.
pub(super) fn unknown_old_object() -> TraceNote {
    let found = "the object before the update is not known, so the violation is not excused".to_owned();
    TraceNote { found, ..plain_note("allowExistingViolations".to_owned()) }
}

fn plain_note(what: String) -> TraceNote {
    TraceNote { what, verdict: Seen::No, ..TraceNote::default() }
}

impl NearException {
    /// Returns the trace text of it.
    pub(super) fn note(&self) -> TraceNote {
        let named = self.named.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let others = if self.rule.starts_with("autogen-") { ", or `autogen-*`" } else { "" };
        TraceNote {
            what: format!("exception {}", self.key),
            found: format!("it names {named}; this rule is `{}`", self.rule),
            verdict: Seen::No,
            elsewhere: Some(self.location.clone()),
            subject: vec!["kind".into()],
            help: format!("add `{}` to its `ruleNames`{others}", self.rule),
            ..TraceNote::default()
        }
    }
}

/// Returns the trace text of `deny`: that its conditions hold is what is wrong.
pub(super) fn deny_note(result: &Result<conditions::ConditionVerdict<'_>, Unresolved>) -> TraceNote {
    let note = conditions_note("deny", result);
    match note.verdict {
        Seen::Yes => {
            TraceNote { found: "it holds, so the object is denied".to_owned(), verdict: Seen::No, ..note }
        }
        Seen::No => {
            let found = "it does not hold, so nothing is denied".to_owned();
            TraceNote { found, verdict: Seen::Yes, ..note }
        }
        _ => note,
    }
}

/// Returns the trace text of an exception.
pub(super) fn exception_note(key: &str, is_met: bool, is_whole: bool) -> TraceNote {
    let (verdict, found) = match (is_met, is_whole) {
        // As with `exclude`, what fits is why the rule does not apply.
        (true, true) => (Seen::No, "it fits, so the rule does not apply"),
        (true, false) => (Seen::Yes, ""),
        (false, _) => (Seen::No, "it does not fit, so it excuses nothing"),
    };
    TraceNote { what: format!("exception {key}"), found: found.to_owned(), verdict, ..TraceNote::default() }
}
