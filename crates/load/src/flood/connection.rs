//! One connection: TLS, the streams under way on it, and what the server allows.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::frames::{self, DEFAULT_WINDOW, ReceivedFrame, kind, setting};
use super::status::read_status;
use crate::client::LOAD_CONNECT_TIMEOUT;
use crate::{LoadAnswer, LoadError, LoadTarget, Reviews};

/// How much is read at once.
const READ_BYTES: usize = 64 << 10;

/// After how much that was received the server is allowed as much again.
const RENEWED_WINDOW: usize = 1 << 28;

/// A request, and when it left; the times count from the start of the run.
#[derive(Debug, Clone, Copy)]
pub(super) struct FloodRequest {
    pub(super) number: usize,
    pub(super) due: Duration,
    pub(super) left: Duration,
}

/// What came of a request.
#[derive(Debug)]
pub(super) struct FloodAnswer {
    pub(super) request: FloodRequest,
    pub(super) end: Duration,
    pub(super) answer: Result<LoadAnswer, LoadError>,
}

/// A connection to the server.
pub(super) struct FloodConnection {
    stream: TcpStream,
    tls: ClientConnection,
    read_buffer: Vec<u8>,
    /// What was received and is no whole frame yet.
    received: Vec<u8>,
    /// What is to be sent with the next write.
    out: Vec<u8>,
    /// The fields of each request.
    block: Vec<u8>,
    /// Requests that the server does not allow yet.
    waiting: VecDeque<FloodRequest>,
    under_way: HashMap<u32, AnswerUnderWay>,
    next_stream: u32,
    limits: SendLimits,
    /// What was received since the server was last allowed more.
    unacknowledged: usize,
    broken: Option<String>,
}

struct AnswerUnderWay {
    request: FloodRequest,
    status: Option<u16>,
    body: Vec<u8>,
}

/// What the server allows.
#[derive(Debug)]
struct SendLimits {
    has_settings: bool,
    max_streams: usize,
    stream_window: u32,
    /// What may still be sent on the connection.
    window: usize,
}

impl FloodConnection {
    /// Connects, and waits until the server has said what it allows.
    pub(super) fn connect(
        target: &LoadTarget,
        tls: &Arc<ClientConfig>,
        path: &str,
    ) -> Result<Self, LoadError> {
        let mut connection =
            Self::handshake(target, tls, path).map_err(|error| LoadError::Connection(error.to_string()))?;
        let begun = Instant::now();
        while !connection.limits.has_settings {
            connection.transfer(&mut Vec::new(), Duration::ZERO);
            if let Some(reason) = &connection.broken {
                return Err(LoadError::Connection(reason.clone()));
            }
            if begun.elapsed() > LOAD_CONNECT_TIMEOUT {
                return Err(LoadError::Late(LOAD_CONNECT_TIMEOUT));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(connection)
    }

    fn handshake(target: &LoadTarget, config: &Arc<ClientConfig>, path: &str) -> io::Result<Self> {
        let name = ServerName::from(target.address.ip());
        let mut tls = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        // What is sent together is encrypted together, however much it is.
        tls.set_buffer_limit(None);
        let mut stream = TcpStream::connect_timeout(&target.address, LOAD_CONNECT_TIMEOUT)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(LOAD_CONNECT_TIMEOUT))?;
        while tls.is_handshaking() {
            tls.complete_io(&mut stream)?;
        }
        stream.set_nonblocking(true)?;
        let mut out = Vec::new();
        frames::put_beginning(&mut out);
        Ok(Self {
            stream,
            tls,
            read_buffer: vec![0; READ_BYTES],
            received: Vec::new(),
            out,
            block: frames::request_block(path, &target.address.to_string(), target.token.as_deref()),
            waiting: VecDeque::new(),
            under_way: HashMap::new(),
            next_stream: 1,
            limits: SendLimits {
                has_settings: false,
                max_streams: usize::MAX,
                stream_window: DEFAULT_WINDOW,
                window: DEFAULT_WINDOW as usize,
            },
            unacknowledged: 0,
            broken: None,
        })
    }

    /// Sends `request` with the next exchange, or as soon as the server allows it.
    pub(super) fn ask(&mut self, request: FloodRequest) {
        self.waiting.push_back(request);
    }

    /// Sends what may be sent of `reviews`, and adds what has come to `answers`.
    pub(super) fn exchange(&mut self, reviews: &Reviews, start: Instant, answers: &mut Vec<FloodAnswer>) {
        while let Some(request) = self.waiting.front().copied() {
            let (_, body) = reviews.get(request.number);
            if !self.limits.allow(self.under_way.len(), body.len()) {
                break;
            }
            self.waiting.pop_front();
            frames::put_request(&mut self.out, self.next_stream, &self.block, &body);
            let answer = AnswerUnderWay { request, status: None, body: Vec::new() };
            self.under_way.insert(self.next_stream, answer);
            self.next_stream += 2;
        }
        self.transfer(answers, start.elapsed());
        if let Some(reason) = self.broken.clone() {
            self.give_up(&LoadError::Broken(reason), start.elapsed(), answers);
        }
    }

    /// Says of all that was not answered why.
    pub(super) fn give_up(&mut self, error: &LoadError, end: Duration, answers: &mut Vec<FloodAnswer>) {
        let under_way = self.under_way.drain().map(|(_, answer)| answer.request);
        let all = under_way.chain(self.waiting.drain(..));
        answers.extend(all.map(|request| FloodAnswer { request, end, answer: Err(error.clone()) }));
    }

    fn transfer(&mut self, answers: &mut Vec<FloodAnswer>, end: Duration) {
        if self.broken.is_some() {
            return;
        }
        let transferred = self.send().and_then(|()| self.receive());
        let parsed = transferred.and_then(|()| self.read_frames(answers, end));
        self.broken = parsed.err().map(|error| error.to_string());
    }

    fn send(&mut self) -> io::Result<()> {
        if !self.out.is_empty() {
            self.tls.writer().write_all(&self.out)?;
            self.out.clear();
        }
        while self.tls.wants_write() {
            if is_pending(self.tls.write_tls(&mut self.stream))?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> io::Result<()> {
        while let Some(count) = is_pending(self.stream.read(&mut self.read_buffer))? {
            let mut bytes = self.read_buffer.get(..count).unwrap_or_default();
            if bytes.is_empty() {
                return Err(io::Error::other("the server closed the connection"));
            }
            while !bytes.is_empty() {
                self.tls.read_tls(&mut bytes)?;
                let state = self.tls.process_new_packets().map_err(io::Error::other)?;
                let plain = state.plaintext_bytes_to_read() as u64;
                self.tls.reader().take(plain).read_to_end(&mut self.received)?;
            }
            if count < READ_BYTES {
                break;
            }
        }
        Ok(())
    }

    fn read_frames(&mut self, answers: &mut Vec<FloodAnswer>, end: Duration) -> io::Result<()> {
        let received = std::mem::take(&mut self.received);
        let mut rest = received.as_slice();
        while let Some((frame, after)) = ReceivedFrame::read(rest) {
            rest = after;
            if let Some((request, answer)) = self.take_frame(&frame)? {
                answers.push(FloodAnswer { request, end, answer });
            }
        }
        let read = received.len() - rest.len();
        self.received = received;
        self.received.drain(..read);
        Ok(())
    }

    /// Takes a frame; returns the answer that it completes, if it does.
    fn take_frame(
        &mut self,
        frame: &ReceivedFrame<'_>,
    ) -> io::Result<Option<(FloodRequest, Result<LoadAnswer, LoadError>)>> {
        match frame.kind {
            kind::HEADERS | kind::DATA => return Ok(self.take_answer(frame)),
            kind::RST_STREAM => {
                // After an answer it only says that the rest of the request need not be sent.
                let reason = format!("the stream was reset with code {}", frame.number());
                let reset = self.under_way.remove(&frame.stream);
                return Ok(reset.map(|answer| (answer.request, Err(LoadError::Broken(reason)))));
            }
            kind::SETTINGS if !frame.is_ack() => {
                frame.settings().for_each(|setting| self.limits.set(setting));
                self.limits.has_settings = true;
                frames::put_ack(&mut self.out, frame);
            }
            kind::PING if !frame.is_ack() => frames::put_ack(&mut self.out, frame),
            kind::WINDOW_UPDATE if frame.stream == 0 => self.limits.window += frame.number() as usize,
            kind::GOAWAY => return Err(io::Error::other("the server said that it goes away")),
            _ => {}
        }
        Ok(None)
    }

    fn take_answer(
        &mut self,
        frame: &ReceivedFrame<'_>,
    ) -> Option<(FloodRequest, Result<LoadAnswer, LoadError>)> {
        self.unacknowledged += frame.window_bytes();
        if self.unacknowledged > RENEWED_WINDOW {
            frames::put_window(&mut self.out, u32::try_from(self.unacknowledged).unwrap_or_default());
            self.unacknowledged = 0;
        }
        let answer = self.under_way.get_mut(&frame.stream)?;
        match frame.kind {
            kind::HEADERS => answer.status = answer.status.or_else(|| read_status(frame.content())),
            _ => answer.body.extend_from_slice(frame.content()),
        }
        if !frame.is_end() {
            return None;
        }
        let AnswerUnderWay { request, status, body } = self.under_way.remove(&frame.stream)?;
        let answer = status.map(|status| LoadAnswer { status, body: Bytes::from(body) });
        Some((request, answer.ok_or_else(|| LoadError::Broken("a status that cannot be read".to_owned()))))
    }
}

impl SendLimits {
    /// Takes what a request with a body of `bytes` needs, if as much is allowed while `under_way` others are.
    fn allow(&mut self, under_way: usize, bytes: usize) -> bool {
        let is_allowed =
            under_way < self.max_streams && bytes <= self.window && bytes <= self.stream_window as usize;
        if is_allowed {
            self.window -= bytes;
        }
        is_allowed
    }

    fn set(&mut self, (id, value): (u16, u32)) {
        match id {
            setting::MAX_CONCURRENT_STREAMS => self.max_streams = value as usize,
            setting::INITIAL_WINDOW_SIZE => self.stream_window = value,
            _ => {}
        }
    }
}

/// Returns what was done, or nothing where the other side is to be waited for.
fn is_pending(done: io::Result<usize>) -> io::Result<Option<usize>> {
    match done {
        Ok(count) => Ok(Some(count)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_does_not_allow_waits() {
        let mut limits = SendLimits { has_settings: true, max_streams: 2, stream_window: 100, window: 250 };
        assert!(limits.allow(0, 100) && limits.allow(1, 100));
        assert!(!limits.allow(2, 10), "streams");
        assert!(!limits.allow(0, 60), "the window of the connection");
        limits.window += 100;
        assert!(!limits.allow(0, 110), "the window of a stream");
        limits.set((setting::INITIAL_WINDOW_SIZE, 200));
        limits.set((setting::MAX_CONCURRENT_STREAMS, 3));
        assert!(limits.allow(2, 110));
        assert_eq!(limits.window, 40);
    }
}
