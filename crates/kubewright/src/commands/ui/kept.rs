//! A value that is made again when it is too old.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A value that is made again when it is too old. While it is made, others wait for it instead of making it as well.
pub(super) struct Kept<T> {
    age: Duration,
    value: Mutex<Option<(Instant, Arc<T>)>>,
}

impl<T> Kept<T> {
    /// Returns one that is kept for `age`.
    pub(super) fn new(age: Duration) -> Self {
        Self { age, value: Mutex::new(None) }
    }

    /// Returns the value, made by `make` if there is none or an old one.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn get<E>(&self, make: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let mut kept = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, value)) = kept.as_ref()
            && made.elapsed() < self.age
        {
            return Ok(Arc::clone(value));
        }
        // The old one goes first, so that there is one at a time.
        *kept = None;
        let value = Arc::new(make()?);
        *kept = Some((Instant::now(), Arc::clone(&value)));
        Ok(value)
    }
}
