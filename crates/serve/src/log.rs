//! The log: one JSON object a line, on standard error.
//!
//! Lines go through a channel, bounded in lines and bytes, to a thread of their own, so that a reader who does not read
//! keeps no review waiting; what does not fit is dropped, and counted. A line and each text in it have a bounded length,
//! because names and messages come from outside.

use std::fmt;
use std::io::Write as _;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kubewright_golib::time::{CivilDate, GoTime};
use kubewright_value::{Value, json};

use crate::shorten::shorten_text;

/// How many lines may wait, and how many bytes they may have together.
const MAX_WAITING_LINES: usize = 4096;
const MAX_WAITING_BYTES: usize = 4 << 20;

/// How long lines are gathered before they are written, and how many at once.
const GATHERING_TIME: Duration = Duration::from_millis(5);
const MAX_GATHERED_LINES: usize = 1024;

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
    lines: SyncSender<LogMessage>,
    waiting_bytes: Arc<AtomicUsize>,
    dropped: AtomicU64,
}

#[derive(Debug)]
enum LogMessage {
    LogLine(String),
    /// Everything before it is written when it is answered.
    Flush(SyncSender<()>),
}

impl Log {
    /// Returns a log that writes what matters as much as `level` to standard error.
    #[must_use]
    pub fn to_stderr(level: LogLevel) -> Self {
        let (lines, waiting) = sync_channel(MAX_WAITING_LINES);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting_bytes);
        // Without the thread there is no log, and everything is counted as dropped.
        let thread = std::thread::Builder::new().name("log".to_owned());
        let _ = thread.spawn(move || write_log_lines(&waiting, &written));
        Self { level, lines, waiting_bytes, dropped: AtomicU64::new(0) }
    }

    /// Returns a log, and the lines that come into it.
    pub fn captured(level: LogLevel) -> (Self, impl Iterator<Item = String>) {
        let (lines, waiting) = sync_channel(MAX_WAITING_LINES);
        let waiting_bytes = Arc::new(AtomicUsize::new(0));
        let written = Arc::clone(&waiting_bytes);
        let taken = std::iter::from_fn(move || {
            let line = match waiting.recv_timeout(Duration::from_millis(200)).ok()? {
                LogMessage::LogLine(line) => line,
                LogMessage::Flush(_) => String::new(),
            };
            written.fetch_sub(line.len(), Ordering::Relaxed);
            Some(line)
        });
        (Self { level, lines, waiting_bytes, dropped: AtomicU64::new(0) }, taken)
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
        let mut text = String::with_capacity(1024);
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
        let (done, written) = sync_channel(1);
        if self.lines.send(LogMessage::Flush(done)).is_ok() {
            let _ = written.recv_timeout(Duration::from_secs(1));
        }
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
        let log = self.log;
        let length = text.len();
        let waiting = log.waiting_bytes.fetch_add(length, Ordering::Relaxed).saturating_add(length);
        if waiting > MAX_WAITING_BYTES || log.lines.try_send(LogMessage::LogLine(text)).is_err() {
            log.waiting_bytes.fetch_sub(length, Ordering::Relaxed);
            log.dropped.fetch_add(1, Ordering::Relaxed);
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

fn write_log_lines(waiting: &Receiver<LogMessage>, waiting_bytes: &AtomicUsize) {
    let mut together = String::new();
    while let Ok(sent) = waiting.recv() {
        let mut waiters = Vec::new();
        // Others follow where there is much to say. Waking this thread costs those who write a line more than the line.
        if matches!(sent, LogMessage::LogLine(_)) {
            std::thread::sleep(GATHERING_TIME);
        }
        together.clear();
        for sent in std::iter::once(sent).chain(waiting.try_iter().take(MAX_GATHERED_LINES)) {
            match sent {
                LogMessage::LogLine(line) => together.push_str(&line),
                LogMessage::Flush(done) => waiters.push(done),
            }
        }
        let _ = std::io::stderr().lock().write_all(together.as_bytes());
        waiting_bytes.fetch_sub(together.len(), Ordering::Relaxed);
        for waiter in waiters {
            let _ = waiter.try_send(());
        }
    }
}

/// Appends `time` as RFC 3339 with milliseconds, in UTC.
pub(crate) fn push_time(text: &mut String, time: SystemTime) {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanoseconds = i128::try_from(since_epoch.as_nanos()).unwrap_or_default();
    let CivilDate { year, month, day, hour, minute, second, nanosecond, .. } =
        GoTime::utc(nanoseconds).civil();
    let milliseconds = nanosecond / 1_000_000;
    let year = u32::try_from(year).unwrap_or_default();
    let parts = [
        (year, 4, '-'),
        (month, 2, '-'),
        (day, 2, 'T'),
        (hour, 2, ':'),
        (minute, 2, ':'),
        (second, 2, '.'),
        (milliseconds, 3, 'Z'),
    ];
    for (number, digits, end) in parts {
        push_digits(text, number, digits);
        text.push(end);
    }
}

/// Appends the last `digits` digits of `number`. Every refusal is logged, and formatting takes far longer than this.
fn push_digits(text: &mut String, number: u32, digits: u32) {
    for place in (0..digits).rev() {
        text.push(char::from_digit(number / 10_u32.pow(place) % 10, 10).unwrap_or('0'));
    }
}

#[cfg(test)]
mod tests;
