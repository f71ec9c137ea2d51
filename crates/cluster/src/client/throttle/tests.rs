use std::time::Duration;

use hyper::Method;
use hyper::header::HeaderValue;

use super::{CallDeadline, parse_retry_after, retry_delay};
use crate::{ApiStatus, CallLimits, Error};

fn refusal(code: u16, retry_after: Option<u64>) -> Error {
    let retry_after = retry_after.map(Duration::from_secs);
    ApiStatus { code, message: "busy".to_owned(), retry_after, ..ApiStatus::default() }.into()
}

#[track_caller]
fn check_delay(method: &Method, code: u16, retry_after: Option<u64>, want: Option<u64>) {
    assert_eq!(retry_delay(method, &refusal(code, retry_after)), want.map(Duration::from_secs));
}

#[test]
fn only_what_was_not_done_or_does_no_harm_is_repeated() {
    check_delay(&Method::GET, 429, Some(7), Some(7));
    check_delay(&Method::POST, 429, Some(7), Some(7));
    check_delay(&Method::POST, 429, None, Some(1));
    check_delay(&Method::GET, 503, Some(3), Some(3));
    check_delay(&Method::GET, 503, None, None);
    check_delay(&Method::POST, 503, Some(3), None);
    check_delay(&Method::PATCH, 503, Some(3), None);
    check_delay(&Method::GET, 500, Some(3), None);
    check_delay(&Method::GET, 429, Some(u64::MAX), Some(86_400));
    assert_eq!(retry_delay(&Method::GET, &Error::TimedOut(Duration::ZERO)), None);
}

#[test]
fn a_wait_that_does_not_fit_is_the_error_at_once() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let limits =
        CallLimits { time: Duration::from_secs(2), throttle_wait: Duration::ZERO, ..CallLimits::default() };
    runtime.block_on(async {
        let started = tokio::time::Instant::now();
        let mut deadline = CallDeadline::new(&limits);
        let error = deadline.wait_for_retry(&Method::GET, refusal(429, Some(2))).await.unwrap_err();
        assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
        assert!(started.elapsed() < Duration::from_millis(500));
        deadline.wait_for_retry(&Method::GET, refusal(429, Some(0))).await.unwrap();
        assert!(started.elapsed() >= Duration::from_millis(100), "a wait of nothing would be a loop");
        assert!(deadline.of_attempt() <= started + limits.time + Duration::from_millis(50));
    });
}

#[test]
fn seconds_are_read_and_dates_are_not() {
    let read = |text: &str| parse_retry_after(&HeaderValue::from_str(text).unwrap());
    assert_eq!(read("5"), Some(Duration::from_secs(5)));
    assert_eq!(read(" 0 "), Some(Duration::ZERO));
    assert_eq!(read("99999999999999999999999"), Some(Duration::from_secs(86_400)));
    for text in ["", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT"] {
        assert_eq!(read(text), None, "{text}");
    }
}
