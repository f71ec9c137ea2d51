use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};

use hyper::rt::Executor as _;

use super::*;

/// A connection on which `requests` have arrived, and that ends when all of them are done.
struct TestConnection {
    requests: Vec<StreamFuture>,
    arrived: ArrivedStreams,
    left: Arc<AtomicUsize>,
}

impl Future for TestConnection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        for request in std::mem::take(&mut self.requests) {
            self.arrived.execute(request);
        }
        if self.left.load(Ordering::SeqCst) == 0 {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Counts a request as done when it is dropped.
struct Done(Arc<AtomicUsize>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Answers `requests` on a connection whose requests took `average` so far; each gets what it must hold until it is done.
async fn serve_requests<F: Future<Output = ()> + Send + 'static>(
    average: Duration,
    requests: Vec<Box<dyn FnOnce(Done) -> F>>,
) {
    let (arrived, left) = (ArrivedStreams::default(), Arc::new(AtomicUsize::new(requests.len())));
    let requests =
        requests.into_iter().map(|request| -> StreamFuture { Box::pin(request(Done(Arc::clone(&left)))) });
    let connection =
        TestConnection { requests: requests.collect(), arrived: arrived.clone(), left: Arc::clone(&left) };
    let usage = Arc::new(ConnectionUsage::default());
    usage.begin().took(average * 4);
    let turns = ConnectionTurns::new(&Arc::default());
    ConnectionTask::new(connection, arrived, &usage, turns).await;
}

/// Returns a request that notes its thread, after it has waited if it `waits`.
fn noting(seen: &Arc<Mutex<Vec<ThreadId>>>, waits: bool) -> Box<dyn FnOnce(Done) -> StreamFuture> {
    let seen = Arc::clone(seen);
    Box::new(move |done| {
        Box::pin(async move {
            if waits {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            seen.lock().unwrap().push(thread::current().id());
            drop(done);
        })
    })
}

#[test]
fn quick_requests_are_answered_in_the_task_of_their_connection() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let seen = Arc::default();
    let requests = (0..8).map(|_| noting(&seen, false)).collect();
    // The task of `block_on` is no worker thread, and only what is spawned runs on one.
    runtime.block_on(serve_requests(Duration::ZERO, requests));
    assert_eq!(*seen.lock().unwrap(), vec![thread::current().id(); 8]);
}

#[test]
fn requests_of_a_slow_connection_and_those_that_wait_get_tasks_of_their_own() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for (average, waits) in [(MAX_QUICK_TIME * 2, false), (Duration::ZERO, true)] {
        let seen = Arc::default();
        runtime.block_on(serve_requests(average, vec![noting(&seen, waits), noting(&seen, waits)]));
        let seen = seen.lock().unwrap();
        assert_eq!(seen.len(), 2);
        assert!(seen.iter().all(|thread| *thread != thread::current().id()), "average {average:?}");
    }
}

#[tokio::test]
async fn a_request_that_panics_ends_alone() {
    let seen = Arc::default();
    let panicking: Box<dyn FnOnce(Done) -> StreamFuture> = Box::new(|done| {
        Box::pin(async move {
            let _done = done;
            std::panic::panic_any("a request that panics");
        })
    });
    serve_requests(Duration::ZERO, vec![noting(&seen, false), panicking, noting(&seen, false)]).await;
    assert_eq!(seen.lock().unwrap().len(), 2);
}
