use super::*;

/// Fails twice, then succeeds; sends when each reconciliation began.
struct Failing {
    runs: tokio::sync::mpsc::UnboundedSender<tokio::time::Instant>,
    count: u32,
}

impl Reconciler for Failing {
    const MAX_BACKOFF: Duration = Duration::from_millis(250);

    async fn reconcile(&mut self) -> Result<Duration, String> {
        self.count += 1;
        let _ = self.runs.send(tokio::time::Instant::now());
        if self.count < 4 { Err("no".to_owned()) } else { Ok(Duration::from_secs(3600)) }
    }

    fn log_failure(&self, error: &str) {
        assert_eq!(error, "no");
    }
}

#[tokio::test]
async fn reconcile_loop_backs_off_and_starts_again_on_a_change() {
    let (runs, mut begun) = tokio::sync::mpsc::unbounded_channel();
    let (change, seen) = watch::channel(0);
    let (closed, never) = watch::channel(0);
    drop(closed);
    let triggers: Vec<Box<dyn ChangeTrigger>> = vec![Box::new(never), Box::new(seen)];
    tokio::spawn(run_reconciler(Failing { runs, count: 0 }, triggers));
    let mut times = Vec::new();
    for _ in 0..4 {
        times.push(begun.recv().await.unwrap());
    }
    let waits: Vec<u128> = times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
    assert!(waits[0] >= 200 && waits[1] >= 250 && waits[2] >= 250, "{waits:?}");
    // The next one would be in an hour.
    change.send_replace(1);
    assert!(timeout(Duration::from_secs(10), begun.recv()).await.is_ok());
}
