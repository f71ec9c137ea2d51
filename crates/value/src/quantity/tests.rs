use super::*;
use crate::random;

/// Reads `text` and writes it again, as it is kept and after a computation.
#[track_caller]
fn check(text: &str, want: &str, canonical: &str) {
    let quantity = Quantity::parse(text).unwrap();
    assert_eq!(quantity.to_string(), want);
    assert_eq!(quantity.neg().neg().to_string(), canonical);
}

#[track_caller]
fn check_order(texts: &[&str]) {
    let quantities: Vec<Quantity> = texts.iter().map(|text| Quantity::parse(text).unwrap()).collect();
    for (i, a) in quantities.iter().enumerate() {
        for (j, b) in quantities.iter().enumerate() {
            assert_eq!(a.cmp(b), i.cmp(&j), "{a} and {b}");
        }
    }
}

#[track_caller]
fn check_sum(a: &str, b: &str, sum: &str, difference: &str) {
    let (a, b) = (Quantity::parse(a).unwrap(), Quantity::parse(b).unwrap());
    assert_eq!(a.add(&b).unwrap().to_string(), sum);
    assert_eq!(a.sub(&b).unwrap().to_string(), difference);
}

#[test]
fn canonical_texts_are_written_again() {
    for text in ["0", "1", "100m", "1Gi", "12e6", "1500m", "-1Ki", "1025Mi", "7E", "3n"] {
        check(text, text, text);
    }
}

#[test]
fn other_texts_become_canonical() {
    check("0.5", "500m", "500m");
    check("1.5Gi", "1536Mi", "1536Mi");
    check("1024Ki", "1Mi", "1Mi");
    check("1000m", "1", "1");
    check("1000e3", "1e6", "1e6");
    check("1e1", "10", "10");
    check("0.5Ki", "512", "512");
    check("0.1Ki", "102400m", "102400m");
    check("-1.5Ki", "-1536", "-1536");
    check("100000000000000000E", "100000000000000000E", "100000000000000000E");
}

#[test]
fn short_texts_are_kept_even_when_they_are_odd() {
    check("+1", "+1", "1");
    check("1.234", "1.234", "1234m");
    check("1E3", "1E3", "1e3");
    check("01Ki", "01Ki", "1Ki");
    check("1.", "1.", "1");
    check("0.123", "123m", "123m");
}

#[test]
fn the_number_may_be_left_out() {
    for text in ["+", "-", ".", "Ki", "m", "e3", "00", "-0"] {
        check(text, "0", "0");
    }
}

#[test]
fn amounts_below_a_nano_are_rounded_up() {
    check("0.1n", "1n", "1n");
    check("-0.1n", "-1n", "-1n");
    check("1.0000000001", "1000000001n", "1000000001n");
    check("1e-100", "1e-9", "1e-9");
    check("0.0000000001Ki", "103n", "103n");
    check("0e-100", "0", "0");
}

#[test]
fn binary_amounts_are_capped() {
    check("9999999999Ei", "9223372036854775807", "9223372036854775807");
    check("-99999999999999999999999999999999999999999999Ki", "-9223372036854775807", "-9223372036854775807");
    check("8Ei", "9223372036854775807", "9223372036854775807");
    check("7Ei", "7Ei", "7Ei");
}

#[test]
fn amounts_beyond_all_suffixes_keep_their_size() {
    check("1000000E", "1000000E", "1000000E");
    let long = format!("1{}E", "0".repeat(99));
    check(&long, "1e117", "1e117");
}

#[test]
fn bad_texts_are_rejected() {
    use QuantityError::{Digits, Number, Suffix, Syntax};
    for (text, want) in [
        ("", Syntax),
        (" 1", Syntax),
        ("1 ", Syntax),
        ("1.2.3", Syntax),
        ("1x", Syntax),
        ("--1", Suffix),
        ("1KiB", Syntax),
        ("1K", Suffix),
        ("1i", Suffix),
        ("1e", Suffix),
        ("1ee3", Suffix),
        ("1e99999999999", Suffix),
        (".e-10", Number),
        ("1234567890123456789012345678901234567890", Digits),
    ] {
        assert_eq!(Quantity::parse(text), Err(want), "{text}");
    }
}

#[test]
fn order_is_by_value() {
    check_order(&[
        "-1e2000000000",
        "-1Ki",
        "-1",
        "-1n",
        "0",
        "1n",
        "999u",
        "1m",
        "1",
        "1k",
        "1Ki",
        "1Mi",
        "1e30",
        "2e2000000000",
    ]);
    assert_eq!(Quantity::parse("1000m"), Quantity::parse("1"));
    assert_eq!(Quantity::parse("1Ki"), Quantity::parse("1.024k"));
}

#[test]
fn sums_keep_the_first_format() {
    check_sum("1Gi", "512Mi", "1536Mi", "512Mi");
    check_sum("1", "100m", "1100m", "900m");
    check_sum("0", "1Ki", "1Ki", "-1Ki");
    check_sum("1e3", "1k", "2e3", "0");
    assert_eq!(Quantity::parse("1e100").unwrap().add(&Quantity::from_i64(1)), None);
}

#[test]
fn a_quantity_is_an_integer_or_a_decimal_number() {
    let read = |text: &str| Quantity::parse(text).unwrap();
    assert_eq!(read("1Ki").as_i64(), Some(1024));
    assert_eq!(read("1500m").as_i64(), None);
    assert_eq!(read("1e30").as_i64(), None);
    assert_eq!(read("-1500m").to_decimal(), "-1.5");
    assert_eq!(read("1n").to_decimal(), "0.000000001");
    assert_eq!(read("12k").to_decimal(), "12000");
    assert_eq!(read("1e2000000000").to_decimal(), "1e2000000000");
    assert_eq!((read("-1").sign(), read("0").sign(), read("0.1").sign()), (-1, 0, 1));
}

#[test]
fn random_texts_are_read_or_rejected() {
    let pieces =
        ["0", "1", "9", "99999999999", ".", "-", "+", "e", "E", "Ki", "Ei", "m", "n", "µ", "2147483647"];
    let mut last = Quantity::from_i64(1);
    for text in random::random_texts(&pieces, 8) {
        let Ok(quantity) = Quantity::parse(&text) else { continue };
        let _ = (quantity.to_decimal(), quantity.as_i64(), quantity.cmp(&last), quantity.sub(&last));
        assert_eq!(Quantity::parse(&quantity.neg().neg().to_string()).as_ref(), Ok(&quantity), "{text}");
        last = quantity;
    }
}
