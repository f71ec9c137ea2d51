//! A value that is made again when it is too old.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How old a value is at least when it is made again because of its version.
const MIN_AGE: Duration = Duration::from_secs(1);

/// A value that is made again when it is too old. While it is made, others wait for it instead of making it as well.
pub(super) struct Kept<T> {
    age: Duration,
    value: Mutex<Option<KeptValue<T>>>,
}

struct KeptValue<T> {
    made: Instant,
    version: u64,
    value: Arc<T>,
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
        self.get_version(|| 0, make)
    }

    /// Returns the value, made by `make` if there is none, an old one, or one of another version than `version` says
    /// now. It is not made more than once in a second.
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn get_version<E>(
        &self,
        version: impl Fn() -> u64,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let mut kept = self.value.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.as_ref().filter(|known| known.made.elapsed() < self.age) {
            if known.version == version() {
                return Ok(Arc::clone(&known.value));
            }
            std::thread::sleep(MIN_AGE.saturating_sub(known.made.elapsed()));
        }
        // The old one goes first, so that there is one at a time.
        *kept = None;
        let version = version();
        let value = Arc::new(make()?);
        *kept = Some(KeptValue { made: Instant::now(), version, value: Arc::clone(&value) });
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use super::Kept;

    #[test]
    fn a_value_of_another_version_is_made_again() {
        let (kept, made) = (Kept::new(Duration::from_secs(600)), Cell::new(0));
        let make = || {
            made.set(made.get() + 1);
            Ok::<_, ()>(made.get())
        };
        for (version, want) in [(7, 1), (7, 1), (8, 2), (8, 2)] {
            assert_eq!(kept.get_version(|| version, make).as_deref(), Ok(&want), "version {version}");
        }
        assert_eq!(kept.get_version(|| 9, || Err("gone")).err(), Some("gone"));
    }
}
