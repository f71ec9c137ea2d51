//! Work on a list by all cores, with the results in the order of the list.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Room for objects and rules that nest as deep as the readers allow.
pub const STACK_BYTES: usize = 16 << 20;

/// Returns how many threads work at a time.
#[must_use]
pub fn count() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(16)
}

/// Runs `work` on every item.
///
/// # Errors
/// When no thread can be started.
pub fn each<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Sync) -> io::Result<Vec<T>> {
    let next = AtomicUsize::new(0);
    let serve = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(place) else { return done };
            done.push((place, work(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let mut threads = Vec::new();
        for _ in 0..count().min(items.len()) {
            threads.push(thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, serve)?);
        }
        let mut done = Vec::with_capacity(items.len());
        for thread in threads {
            match thread.join() {
                Ok(part) => done.extend(part),
                Err(cause) => std::panic::resume_unwind(cause),
            }
        }
        io::Result::Ok(done)
    })?;
    done.sort_by_key(|(place, _)| *place);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}
