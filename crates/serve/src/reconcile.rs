//! The reconcile loop: compare the desired with the actual state, write the difference, wait for a change or a resync.
//!
//! Webhook configurations, the certificate Secret and generated admission policies are reconciled by the same loop, so
//! that all of them back off in the same way and none of them misses a change that comes while it writes.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

/// The first wait after a failure; it doubles.
const FIRST_RECONCILE_BACKOFF: Duration = Duration::from_millis(100);

/// Brings something in the cluster to its desired state.
pub(crate) trait Reconciler: Send {
    /// The longest wait after failures.
    const MAX_BACKOFF: Duration;

    /// Compares the desired with the actual state and writes a difference; returns how long to wait for the next time,
    /// unless something changes before.
    fn reconcile(&mut self) -> impl Future<Output = Result<Duration, String>> + Send;

    /// Logs why [`reconcile`](Self::reconcile) failed.
    fn log_failure(&self, error: &str);
}

/// Something whose changes start the next reconciliation.
pub(crate) trait ChangeTrigger: Send {
    /// Takes the current state for seen.
    fn mark_seen(&mut self);

    /// Waits for the next change.
    fn changed(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

impl<T: Send + Sync> ChangeTrigger for watch::Receiver<T> {
    fn mark_seen(&mut self) {
        self.mark_unchanged();
    }

    fn changed(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async {
            // Without a sender there are no more changes, and the resync interval alone counts.
            if watch::Receiver::changed(self).await.is_err() {
                std::future::pending::<()>().await;
            }
        })
    }
}

/// Reconciles for ever: whenever a trigger changes, and when the time that the reconciler returned has passed.
pub(crate) async fn run_reconciler(
    mut reconciler: impl Reconciler,
    mut triggers: Vec<Box<dyn ChangeTrigger>>,
) -> Infallible {
    let mut backoff = FIRST_RECONCILE_BACKOFF;
    loop {
        // Before comparing, so that a change that comes meanwhile is not lost.
        triggers.iter_mut().for_each(|trigger| trigger.mark_seen());
        let pause = match reconciler.reconcile().await {
            Ok(pause) => {
                backoff = FIRST_RECONCILE_BACKOFF;
                pause
            }
            Err(error) => {
                reconciler.log_failure(&error);
                backoff = next_backoff(backoff, &reconciler);
                backoff
            }
        };
        let _ = timeout(pause, any_change(&mut triggers)).await;
    }
}

fn next_backoff<R: Reconciler>(backoff: Duration, _: &R) -> Duration {
    (backoff * 2).min(R::MAX_BACKOFF)
}

async fn any_change(triggers: &mut [Box<dyn ChangeTrigger>]) {
    let mut changes: Vec<_> = triggers.iter_mut().map(|trigger| trigger.changed()).collect();
    poll_fn(|context| {
        let is_changed = changes.iter_mut().any(|change| change.as_mut().poll(context).is_ready());
        if is_changed { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

#[cfg(test)]
mod tests;
