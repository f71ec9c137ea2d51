//! Server-sent events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Frame};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::PageAnswer;

/// How many events wait for a slow client; more are not taken.
const MAX_WAITING_EVENTS: usize = 64;

/// How often a comment is sent, so that proxies keep the connection and a client that is gone is noticed.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageEvent {
    /// Its name, such as `progress`.
    pub name: &'static str,
    /// JSON on one line.
    pub data: String,
}

/// Sends events to one client.
#[derive(Debug, Clone)]
pub struct PageEventSender(Sender<PageEvent>);

impl PageEventSender {
    /// Sends an event; returns false once the client is gone. An event for which a slow client has no room is left out.
    pub fn send(&self, event: PageEvent) -> bool {
        let _ = self.0.try_send(event);
        !self.0.is_closed()
    }

    /// Returns whether the client is gone.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.0.is_closed()
    }
}

/// Returns a sender, and the answer that carries its events. The answer ends when all senders are dropped.
#[must_use]
pub fn page_events() -> (PageEventSender, PageAnswer) {
    let (sender, receiver) = channel(MAX_WAITING_EVENTS);
    (PageEventSender(sender), PageAnswer::Events(PageEvents(receiver)))
}

/// Events on their way to a client.
#[derive(Debug)]
pub struct PageEvents(Receiver<PageEvent>);

/// The body of an answer with events.
pub(crate) struct EventBody {
    events: PageEvents,
    keep_alive: Interval,
}

impl EventBody {
    /// Returns the body that sends `events`.
    pub(crate) fn new(events: PageEvents) -> Self {
        let mut keep_alive = interval(KEEP_ALIVE_INTERVAL);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { events, keep_alive }
    }
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.events.0.poll_recv(context) {
            Poll::Ready(Some(event)) => return Poll::Ready(Some(Ok(Frame::data(event_bytes(&event))))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending => {}
        }
        self.keep_alive.poll_tick(context).map(|_| Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))))
    }
}

/// Returns an event as it is sent. A line break in the data would end it, so each line gets its field.
fn event_bytes(event: &PageEvent) -> Bytes {
    let mut text = format!("event: {}\n", event.name);
    for line in event.data.lines() {
        text.push_str("data: ");
        text.push_str(line);
        text.push('\n');
    }
    text.push('\n');
    Bytes::from(text)
}

#[cfg(test)]
mod tests {
    use super::{PageEvent, event_bytes};

    #[test]
    fn lines_of_an_event_cannot_start_another_one() {
        let event = PageEvent { name: "progress", data: "{\n\nevent: x\n}".to_owned() };
        assert_eq!(event_bytes(&event), "event: progress\ndata: {\ndata: \ndata: event: x\ndata: }\n\n");
    }
}
