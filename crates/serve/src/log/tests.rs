use super::*;

#[track_caller]
fn check_time(seconds: u64, want: &str) {
    let mut text = String::new();
    push_time(&mut text, UNIX_EPOCH + Duration::from_millis(seconds * 1000 + 7));
    assert_eq!(text, want);
}

#[test]
fn times_are_dates_in_utc() {
    check_time(0, "1970-01-01T00:00:00.007Z");
    check_time(951_782_400, "2000-02-29T00:00:00.007Z");
    check_time(1_709_251_199, "2024-02-29T23:59:59.007Z");
    check_time(1_735_689_599, "2024-12-31T23:59:59.007Z");
    check_time(4_107_542_400, "2100-03-01T00:00:00.007Z");
}

#[test]
fn a_line_is_one_json_object_whatever_is_in_it() {
    let (log, mut lines) = Log::captured(LogLevel::Info);
    log.line(LogLevel::Info, "two\nlines \"quoted\"").text("a", "\u{1}").number("n", 3).write();
    let line = lines.next().unwrap();
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    let value = json::parse(&line).unwrap();
    assert_eq!(value.get("message").and_then(Value::as_str), Some("two\nlines \"quoted\""));
    assert_eq!(value.get("a").and_then(Value::as_str), Some("\u{1}"));
    assert_eq!(value.get("n").and_then(Value::as_i64), Some(3));
}

#[test]
fn what_matters_less_than_the_level_is_left_out() {
    let (log, mut lines) = Log::captured(LogLevel::Warn);
    log.line(LogLevel::Info, "quiet").write();
    log.line(LogLevel::Error, "loud").write();
    assert!(lines.next().unwrap().contains("loud"));
    assert_eq!(lines.next(), None);
}

#[test]
fn log_lines_beyond_the_queue_are_dropped_and_counted() {
    let (log, _lines) = Log::captured(LogLevel::Info);
    for _ in 0..MAX_WAITING_LINES + 5 {
        log.line(LogLevel::Info, "x").write();
    }
    assert_eq!(log.dropped(), 5);
}

#[test]
fn a_line_has_a_bounded_length_whatever_comes_from_outside() {
    let (log, mut lines) = Log::captured(LogLevel::Info);
    let long = "\u{1}".repeat(6 << 20);
    let mut line =
        log.line(LogLevel::Info, &long).text("name", &long).value("patch", &Value::from(long.as_str()));
    for _ in 0..100 {
        line = line.text("user", &long);
    }
    line.number("microseconds", 7).write();
    let line = lines.next().unwrap();
    assert!(line.len() <= MAX_LINE_BYTES + 100, "{}", line.len());
    let value = json::parse(line.trim_end()).unwrap();
    assert_eq!(value.get("cut").and_then(Value::as_bool), Some(true));
    assert!(value.get("name").and_then(Value::as_str).unwrap().ends_with("…[6291456 bytes]"));
}

#[test]
fn lines_that_wait_have_bounded_bytes_together() {
    let (log, lines) = Log::captured(LogLevel::Info);
    let long = "a".repeat(MAX_LOG_TEXT_BYTES);
    for _ in 0..MAX_WAITING_LINES {
        log.line(LogLevel::Info, "x").text("a", &long).text("b", &long).write();
    }
    let dropped = log.dropped();
    let waited: Vec<String> = lines.collect();
    assert_eq!(waited.len() + usize::try_from(dropped).unwrap(), MAX_WAITING_LINES);
    let bytes: usize = waited.iter().map(String::len).sum();
    assert!(bytes > MAX_WAITING_BYTES / 2 && bytes <= MAX_WAITING_BYTES, "{bytes}");
}
