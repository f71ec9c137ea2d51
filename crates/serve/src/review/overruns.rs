//! Which reviews took longer among the others than they may, so that the next like them are decided elsewhere at once.
//!
//! Steps are counted, and some may take longer than they should. Whatever the reason is, it costs the others one review.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubewright_value::Text;

/// How long reviews of a kind are decided elsewhere after one of them took too long.
const MARK_DURATION: Duration = Duration::from_secs(30);

/// How many kinds are marked at once.
const MAX_MARKS: usize = 64;

/// Webhooks and kinds of which a review took too long.
#[derive(Debug, Default)]
pub(crate) struct Overruns {
    has_marks: AtomicBool,
    marks: Mutex<HashMap<(Text, Text), Instant>>,
}

impl Overruns {
    /// A review of `kind` for `hook` took too long.
    pub(crate) fn mark(&self, hook: &Text, kind: &Text) {
        let now = Instant::now();
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.retain(|_, until| *until > now);
        if marks.len() < MAX_MARKS {
            marks.insert((hook.clone(), kind.clone()), now + MARK_DURATION);
        }
        self.has_marks.store(!marks.is_empty(), Ordering::Relaxed);
    }

    /// Returns whether a review of `kind` for `hook` may take too long again.
    pub(crate) fn is_marked(&self, hook: &Text, kind: &Text) -> bool {
        if !self.has_marks.load(Ordering::Relaxed) {
            return false;
        }
        let now = Instant::now();
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.retain(|_, until| *until > now);
        self.has_marks.store(!marks.is_empty(), Ordering::Relaxed);
        marks.contains_key(&(hook.clone(), kind.clone()))
    }
}
