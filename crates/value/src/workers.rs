//! Work on a list by several threads, with the results in the order of the list.
//!
//! The threads live in a scope, and the result does not depend on how many there are.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::Deadline;

/// A list from which several threads take items until it is empty.
#[derive(Debug)]
pub struct WorkQueue<'i, I> {
    items: &'i [I],
    next: AtomicUsize,
}

impl<'i, I> WorkQueue<'i, I> {
    /// Returns a queue of `items`.
    #[must_use]
    pub fn new(items: &'i [I]) -> Self {
        Self { items, next: AtomicUsize::new(0) }
    }

    /// Takes items until the queue is empty and returns the result of each with its position. Every thread calls this.
    pub fn drain<T>(&self, work: impl Fn(&I) -> T) -> Vec<(usize, T)> {
        let mut done = Vec::new();
        loop {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = self.items.get(place) else { return done };
            done.push((place, work(item)));
        }
    }
}

/// Returns the results that threads drained from one queue, in the order of its items.
#[must_use]
pub fn in_item_order<T>(mut done: Vec<(usize, T)>) -> Vec<T> {
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs `work` on every item with at most `threads` threads. A panic of `work` is passed on.
pub fn map_in_parallel<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let threads = if cfg!(target_family = "wasm") { 1 } else { threads.min(items.len()) };
    if threads <= 1 {
        return items.iter().map(work).collect();
    }
    let (queue, deadline) = (WorkQueue::new(items), Deadline::of_this_thread());
    let drain = || Deadline::limit(deadline, || queue.drain(&work));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(drain)).collect();
        let mut done = Vec::with_capacity(items.len());
        for worker in workers {
            match worker.join() {
                Ok(part) => done.extend(part),
                Err(cause) => std::panic::resume_unwind(cause),
            }
        }
        in_item_order(done)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn map_in_parallel_keeps_the_order_for_any_number_of_threads() {
        let items: Vec<usize> = (0..1_000).collect();
        let want: Vec<usize> = items.iter().map(|item| item * 2).collect();
        for threads in [0, 1, 2, 7, 2_000] {
            assert_eq!(map_in_parallel(&items, threads, |item| item * 2), want, "{threads} threads");
        }
    }
}
