//! Work on a list by all cores, with the results in the order of the list.

use std::io;
use std::thread;

use crate::memory;
use kubewright_value::Deadline;
use kubewright_value::workers::{WorkQueue, in_item_order};

/// Room for objects and rules that nest as deep as the readers allow.
pub const STACK_BYTES: usize = 16 << 20;

/// Returns how many threads work at a time.
#[must_use]
pub fn worker_count() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(16)
}

/// Runs `work` on every item.
///
/// # Errors
/// When no thread can be started.
pub fn run_on_workers<I: Sync, T: Send>(items: &[I], work: impl Fn(&I) -> T + Sync) -> io::Result<Vec<T>> {
    let queue = WorkQueue::new(items);
    let (memory, deadline) = (memory::current_memory(), Deadline::of_this_thread());
    let drain = || Deadline::limit(deadline, || memory::with_memory(memory.clone(), || queue.drain(&work)));
    let done = thread::scope(|scope| {
        let mut threads = Vec::new();
        for _ in 0..worker_count().min(items.len()) {
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            threads.push(builder.spawn_scoped(scope, drain)?);
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
    Ok(in_item_order(done))
}
