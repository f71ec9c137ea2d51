use super::*;
use crate::random;

#[track_caller]
fn check(text: &str, nanoseconds: i64, want: &str) {
    let duration = Duration::parse(text).unwrap();
    assert_eq!((duration.nanoseconds(), duration.to_string().as_str()), (nanoseconds, want));
    assert_eq!(Duration::parse(want), Ok(duration));
}

#[test]
fn durations_are_read_and_written_as_go_does() {
    check("0", 0, "0s");
    check("-0", 0, "0s");
    check("1h30m", 5_400_000_000_000, "1h30m0s");
    check("1.5h", 5_400_000_000_000, "1h30m0s");
    check("-2ms", -2_000_000, "-2ms");
    check("1\u{b5}s", 1_000, "1\u{b5}s");
    check("1\u{3bc}s", 1_000, "1\u{b5}s");
    check("1500us", 1_500_000, "1.5ms");
    check(".5s", 500_000_000, "500ms");
    check("5.s", 5_000_000_000, "5s");
    check("+1m1.001s", 61_001_000_000, "1m1.001s");
    check("0.3333333333333333333h", 1_199_999_999_999, "19m59.999999999s");
    check("0.1h", 360_000_000_000, "6m0s");
    check("0.29s", 290_000_000, "290ms");
    check("0.9ns", 0, "0s");
    check("9223372036854775807ns", i64::MAX, "2562047h47m16.854775807s");
    check("-9223372036854775808ns", i64::MIN, "-2562047h47m16.854775808s");
}

#[test]
fn bad_durations_are_rejected() {
    use DurationError::{MissingUnit, Syntax, TooLong, UnknownUnit};
    for (text, want) in [
        ("", Syntax),
        ("-", Syntax),
        (".s", Syntax),
        ("s", Syntax),
        (" 1s", Syntax),
        ("1", MissingUnit),
        ("1m2", MissingUnit),
        ("1 h", UnknownUnit),
        ("1d", UnknownUnit),
        ("1s ", UnknownUnit),
        ("1H", UnknownUnit),
        ("9223372036854775808ns", TooLong),
        ("3000000h", TooLong),
        ("99999999999999999999s", TooLong),
    ] {
        assert_eq!(Duration::parse(text), Err(want), "{text}");
    }
}

#[test]
fn arithmetic_stops_at_the_ends() {
    let (least, most) = (Duration::from_nanoseconds(i64::MIN), Duration::from_nanoseconds(i64::MAX));
    let one = Duration::from_nanoseconds(1);
    assert_eq!((most.checked_add(one), least.checked_sub(one), least.checked_neg()), (None, None, None));
    assert_eq!((most.checked_mul(2), least.checked_div(-1), one.checked_div(0)), (None, None, None));
    assert_eq!(one.checked_mul(3).and_then(|d| d.checked_sub(one)), Some(Duration::from_nanoseconds(2)));
}

#[test]
fn random_texts_are_read_or_rejected() {
    let pieces = ["0", "7", "99999999999", ".", "-", "h", "m", "s", "ms", "\u{b5}s", "\u{3bc}", " ", "n"];
    for text in random::random_texts(&pieces, 8) {
        if let Ok(duration) = Duration::parse(&text) {
            assert_eq!(Duration::parse(&duration.to_string()), Ok(duration), "{text}");
        }
    }
}
