//! Runs answers on a bounded number of threads, each with a deadline.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use crate::{PageAnswer, PageApi, PageContent, PageRequest};

/// How many answers are computed at a time. One browser has six connections.
const MAX_RUNNING_ANSWERS: usize = 4;

/// How many requests wait for a thread; more are refused at once.
const MAX_WAITING_REQUESTS: usize = 32;

/// How long past its deadline an answer is still waited for: it ends by itself with what it has.
const DEADLINE_GRACE: Duration = Duration::from_millis(500);

/// The threads of answers.
pub(crate) struct AnswerPool {
    api: Arc<dyn PageApi>,
    running: Arc<Semaphore>,
    admitted: Semaphore,
}

impl AnswerPool {
    /// Returns a pool for the answers of `api`.
    pub(crate) fn new(api: Arc<dyn PageApi>) -> Self {
        Self {
            api,
            running: Arc::new(Semaphore::new(MAX_RUNNING_ANSWERS)),
            admitted: Semaphore::new(MAX_RUNNING_ANSWERS + MAX_WAITING_REQUESTS),
        }
    }

    /// Returns what can be asked for.
    pub(crate) fn api(&self) -> &dyn PageApi {
        &*self.api
    }

    /// Answers `request`; when there is no thread, no time, or a panic, with an error.
    pub(crate) async fn answer(&self, request: PageRequest) -> PageAnswer {
        let Ok(_admitted) = self.admitted.try_acquire() else { return too_busy() };
        let last = tokio::time::Instant::from_std(request.deadline + DEADLINE_GRACE);
        let Ok(permit) = tokio::time::timeout_at(last, Arc::clone(&self.running).acquire_owned()).await
        else {
            return too_busy();
        };
        let api = Arc::clone(&self.api);
        // A thread that overruns keeps its permit, so that overruns cannot pile up.
        let running = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            if Instant::now() > request.deadline { too_busy() } else { api.answer(&request) }
        });
        match tokio::time::timeout_at(last, running).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => {
                let message = "this request made the program fail; the others are not affected";
                PageContent::error(500, message, None).into()
            }
            Err(_) => PageContent::error(504, "the answer took too long", None).into(),
        }
    }
}

fn too_busy() -> PageAnswer {
    PageContent::error(503, "too many requests at once; try again", None).into()
}
