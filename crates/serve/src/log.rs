//! The log: one JSON object a line, on standard error.
//!
//! Lines wait in one buffer, bounded in lines and bytes, for a thread of their own, so that a reader who does not read
//! keeps no review waiting; what does not fit is dropped, and counted. A line and each text in it have a bounded length,
//! because names and messages come from outside.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::io::Write as _;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kubewright_golib::time::{CivilDate, GoTime};
use kubewright_value::{Value, json};

use crate::shorten::shorten_text;

/// How many lines may wait, and how many bytes they may have together.
const MAX_WAITING_LINES: usize = 4096;
const MAX_WAITING_BYTES: usize = 4 << 20;

/// How long lines are gathered before they are written.
const GATHERING_TIME: Duration = Duration::from_millis(20);

/// How much memory of written lines is kept for the next ones.
const MAX_KEPT_BYTES: usize = 256 << 10;

/// How long the end of the process waits for lines to be written.
const FLUSH_TIME: Duration = Duration::from_secs(1);

/// What a line with a refusal takes, so that it need not grow.
const USUAL_LINE_BYTES: usize = 2048;

/// How long a line may be; fields that do not fit are left out, and the line says so.
const MAX_LINE_BYTES: usize = 64 << 10;

/// How long one text in a line may be; of a longer one the beginning is shown.
const MAX_LOG_TEXT_BYTES: usize = 4 << 10;

/// How much a line matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogLevel {
    /// Every review.
    Debug,
    /// What changed: reviews that a rule refused or changed, and the server itself.
    Info,
    /// What an operator should look at some day.
    Warn,
    /// What an operator should look at now.
    Error,
}

impl LogLevel {
    /// Returns the word for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let levels = [Self::Debug, Self::Info, Self::Warn, Self::Error];
        levels
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| format!("unknown level `{text}`: use `debug`, `info`, `warn` or `error`"))
    }
}

/// Where lines go.
#[derive(Debug)]
pub struct Log {
    level: LogLevel,
    waiting: Arc<WaitingLines>,
    dropped: AtomicU64,
}

/// Lines on their way to the thread that writes them. They are kept in one text, so that a line costs its bytes and no
/// allocation that another thread has to free.
#[derive(Debug, Default)]
struct WaitingLines {
    buffer: Mutex<LineBuffer>,
    /// The first line has come, lines were written, or the log was dropped.
    has_changed: Condvar,
}

#[derive(Debug, Default)]
struct LineBuffer {
    text: String,
    /// How many lines are in `text`.
    lines: usize,
    /// How many bytes the thread has taken and not written yet.
    taken_bytes: usize,
    /// How many lines have come, and how many of them are written.
    added: u64,
    written: u64,
    is_closed: bool,
}

impl WaitingLines {
    fn lock(&self) -> MutexGuard<'_, LineBuffer> {
        self.buffer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line; returns whether there was room for it.
    fn add(&self, line: &str) -> bool {
        let mut buffer = self.lock();
        let bytes = buffer.text.len() + buffer.taken_bytes + line.len();
        if buffer.lines >= MAX_WAITING_LINES || bytes > MAX_WAITING_BYTES {
            return false;
        }
        buffer.text.push_str(line);
        buffer.lines += 1;
        buffer.added += 1;
        let is_first = buffer.lines == 1;
        drop(buffer);
        if is_first {
            self.has_changed.notify_all();
        }
        true
    }

    /// Waits for lines; returns nothing when there are none and no more can come.
    fn wait(&self) -> Option<MutexGuard<'_, LineBuffer>> {
        let is_idle = |buffer: &mut LineBuffer| buffer.lines == 0 && !buffer.is_closed;
        let buffer =
            self.has_changed.wait_while(self.lock(), is_idle).unwrap_or_else(PoisonError::into_inner);
        (buffer.lines > 0).then_some(buffer)
    }

    /// Writes what comes until the log is dropped.
    fn write_to_stderr(&self) {
        let mut text = String::new();
        while let Some(buffer) = self.wait() {
            drop(buffer);
            // Others follow where there is much to say. Waking this thread costs those who write a line more than the line.
            std::thread::sleep(GATHERING_TIME);
            let mut buffer = self.lock();
            std::mem::swap(&mut text, &mut buffer.text);
            let lines = std::mem::take(&mut buffer.lines);
            buffer.taken_bytes = text.len();
            drop(buffer);
            let _ = std::io::stderr().lock().write_all(text.as_bytes());
            text.clear();
            text.shrink_to(MAX_KEPT_BYTES);
            let mut buffer = self.lock();
            buffer.taken_bytes = 0;
            buffer.written += lines as u64;
            drop(buffer);
            self.has_changed.notify_all();
        }
    }

    /// Waits until all lines that have come are written, at most for `time`.
    fn flush(&self, time: Duration) {
        let buffer = self.lock();
        let added = buffer.added;
        let is_waiting = |buffer: &mut LineBuffer| buffer.written < added;
        drop(self.has_changed.wait_timeout_while(buffer, time, is_waiting));
    }

    /// Takes all lines, once there is one or after `time`.
    fn take(&self, time: Duration) -> String {
        let is_idle = |buffer: &mut LineBuffer| buffer.lines == 0 && !buffer.is_closed;
        let waited = self.has_changed.wait_timeout_while(self.lock(), time, is_idle);
        let (mut buffer, _) = waited.unwrap_or_else(PoisonError::into_inner);
        buffer.lines = 0;
        std::mem::take(&mut buffer.text)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.waiting.lock().is_closed = true;
        self.waiting.has_changed.notify_all();
    }
}

impl Log {
    /// Returns a log that writes what matters as much as `level` to standard error.
    #[must_use]
    pub fn to_stderr(level: LogLevel) -> Self {
        let log = Self::new(level);
        let waiting = Arc::clone(&log.waiting);
        // Without the thread there is no log, and what does not fit into the buffer is counted as dropped.
        let thread = std::thread::Builder::new().name("log".to_owned());
        let _ = thread.spawn(move || waiting.write_to_stderr());
        log
    }

    /// Returns a log, and the lines that come into it.
    pub fn captured(level: LogLevel) -> (Self, impl Iterator<Item = String>) {
        let log = Self::new(level);
        let waiting = Arc::clone(&log.waiting);
        let mut taken: VecDeque<String> = VecDeque::new();
        let lines = std::iter::from_fn(move || {
            if taken.is_empty() {
                let text = waiting.take(Duration::from_millis(200));
                taken.extend(text.split_inclusive('\n').map(str::to_owned));
            }
            taken.pop_front()
        });
        (log, lines)
    }

    fn new(level: LogLevel) -> Self {
        Self { level, waiting: Arc::default(), dropped: AtomicU64::new(0) }
    }

    /// Returns whether lines of `level` are written.
    #[must_use]
    pub fn is_on(&self, level: LogLevel) -> bool {
        level >= self.level
    }

    /// Begins a line, which is written by [`LogLine::write`].
    pub fn line(&self, level: LogLevel, message: &str) -> LogLine<'_> {
        if self.is_on(level) {
            self.always(level, message)
        } else {
            LogLine { log: self, text: None, is_cut: false }
        }
    }

    /// Begins a line that is written whatever the level of the log.
    pub fn always(&self, level: LogLevel, message: &str) -> LogLine<'_> {
        let mut text = String::with_capacity(USUAL_LINE_BYTES);
        text.push_str("{\"time\":\"");
        push_time(&mut text, SystemTime::now());
        text.push_str("\",\"level\":\"");
        text.push_str(level.name());
        text.push('"');
        LogLine { log: self, text: Some(text), is_cut: false }.text("message", message)
    }

    /// Returns how many lines were dropped.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until everything is written, at most a second.
    pub fn flush(&self) {
        self.waiting.flush(FLUSH_TIME);
    }
}

/// A line that is being made.
#[must_use = "a line is written by `write`"]
#[derive(Debug)]
pub struct LogLine<'l> {
    log: &'l Log,
    text: Option<String>,
    /// Whether a field did not fit.
    is_cut: bool,
}

impl LogLine<'_> {
    /// Adds a text; of a long one the beginning.
    pub fn text(self, key: &str, value: &str) -> Self {
        self.field(key, |text| json::write_text(text, &shorten_text(value, MAX_LOG_TEXT_BYTES)))
    }

    /// Adds what can be shown.
    pub fn shown(self, key: &str, value: impl fmt::Display) -> Self {
        if self.text.is_none() { self } else { self.text(key, &value.to_string()) }
    }

    /// Adds a number.
    pub fn number(self, key: &str, value: u64) -> Self {
        self.field(key, |text| text.push_str(&value.to_string()))
    }

    /// Adds a value, unless the line becomes too long by it.
    pub fn value(self, key: &str, value: &Value) -> Self {
        self.field(key, |text| json::write(text, value))
    }

    /// Adds what `write` appends, which must be JSON, unless the line becomes too long by it.
    pub(crate) fn json(self, key: &str, write: impl FnOnce(&mut String)) -> Self {
        self.field(key, write)
    }

    /// Writes the line, if there is room for it.
    pub fn write(self) {
        let Some(mut text) = self.text else { return };
        text.push_str(if self.is_cut { ",\"cut\":true}\n" } else { "}\n" });
        if !self.log.waiting.add(&text) {
            self.log.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn field(mut self, key: &str, write: impl FnOnce(&mut String)) -> Self {
        let Some(text) = self.text.as_mut() else { return self };
        let before = text.len();
        text.push_str(",\"");
        text.push_str(key);
        text.push_str("\":");
        write(text);
        if text.len() > MAX_LINE_BYTES {
            text.truncate(before);
            self.is_cut = true;
        }
        self
    }
}

/// Appends `time` as RFC 3339 with milliseconds, in UTC.
pub(crate) fn push_time(text: &mut String, time: SystemTime) {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since_epoch.as_secs();
    // Every refusal is logged, many in a second, and the date takes longer than the rest of the line.
    thread_local! {
        static LAST_SECOND: RefCell<(u64, String)> = const { RefCell::new((u64::MAX, String::new())) };
    }
    LAST_SECOND.with_borrow_mut(|(of, shown)| {
        if *of != seconds {
            (*of, *shown) = (seconds, second_text(seconds));
        }
        text.push_str(shown);
    });
    let milliseconds = since_epoch.subsec_millis();
    text.push('.');
    push_digits(text, milliseconds, 3);
    text.push('Z');
}

/// Returns the date and the time of day of a second since the Unix epoch.
fn second_text(seconds: u64) -> String {
    let CivilDate { year, month, day, hour, minute, second, .. } =
        GoTime::utc(i128::from(seconds) * 1_000_000_000).civil();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
}

/// Appends the last `digits` digits of `number`.
fn push_digits(text: &mut String, number: u32, digits: u32) {
    for place in (0..digits).rev() {
        text.push(char::from_digit(number / 10_u32.pow(place) % 10, 10).unwrap_or('0'));
    }
}

#[cfg(test)]
mod tests;
