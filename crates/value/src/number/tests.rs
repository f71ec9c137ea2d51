use super::*;

#[test]
fn doubles_print_as_go_prints_them() {
    for (number, want) in [
        (1.5, "1.5"),
        (1e-5, "0.00001"),
        (1e-7, "1e-7"),
        (1e21, "1e+21"),
        (123_456_789_012_345_680_000_000_000_000.0, "1.2345678901234568e+29"),
        (100_000_000_000_000_000_000.0, "100000000000000000000"),
        (-0.25, "-0.25"),
    ] {
        assert_eq!(Number::from(number).to_string(), want);
    }
}

#[test]
fn comparison_does_not_round() {
    let big = Number::from(9_007_199_254_740_993_i64);
    assert!(big > Number::from(9_007_199_254_740_992.0));
    assert!(Number::from(u64::MAX) < Number::from(18_446_744_073_709_551_616.0));
    assert!(Number::from(1.5) > Number::from(1_i64));
    assert!(Number::from(-1.5) < Number::from(-1_i64));
    assert_eq!(Number::from(1.0), Number::from(1_i64));
}
