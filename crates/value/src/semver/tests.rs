use super::*;
use crate::random;

#[track_caller]
fn check_tolerant(text: &str, want: &str) {
    assert_eq!(Version::parse_tolerant(text).map(|version| version.to_string()), Ok(want.to_owned()));
}

/// Which of `versions` are in `range`.
#[track_caller]
fn check_range(range: &str, versions: &[&str], want: &[&str]) {
    let range = VersionRange::parse(range).unwrap();
    let found: Vec<&str> =
        versions.iter().copied().filter(|text| range.contains(&Version::parse(text).unwrap())).collect();
    assert_eq!(found, want);
}

#[test]
fn versions_are_written_as_they_were_read() {
    for text in [
        "0.0.0",
        "1.2.3",
        "1.2.3-alpha.1",
        "1.2.3--",
        "1.2.3+001.b-2",
        "1.2.3-rc-1.x+y",
        "18446744073709551615.0.0",
    ] {
        assert_eq!(Version::parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn bad_versions_are_rejected() {
    use VersionError::{Build, LeadingZero, Number, PreRelease, Shape};
    for (text, want) in [
        ("", Shape),
        ("1", Shape),
        ("1.2", Shape),
        ("v1.2.3", Number),
        ("1.2.3.4", Number),
        ("1..3", Number),
        ("1.2.+3", Number),
        (" 1.2.3", Number),
        ("18446744073709551616.0.0", Number),
        ("01.2.3", LeadingZero),
        ("1.2.3-01", LeadingZero),
        ("1.2.3-", PreRelease),
        ("1.2.3-a..b", PreRelease),
        ("1.2.3-\u{e9}", PreRelease),
        ("1.2.3+", Build),
        ("1.2.3+a_b", Build),
    ] {
        assert_eq!(Version::parse(text), Err(want), "{text}");
    }
}

#[test]
fn tolerance_has_limits() {
    check_tolerant(" v1 ", "1.0.0");
    check_tolerant("1.2", "1.2.0");
    check_tolerant("01.002.3", "1.2.3");
    check_tolerant("00.0.0-rc.1", "0.0.0-rc.1");
    assert_eq!(Version::parse_tolerant("1.2-rc"), Err(VersionError::Shape));
    assert!(Version::parse_tolerant("").is_err());
    assert!(Version::parse_tolerant("V1.2.3").is_err());
}

#[test]
fn pre_releases_come_first() {
    let texts = [
        "1.0.0-1",
        "1.0.0-2",
        "1.0.0-10",
        "1.0.0-alpha",
        "1.0.0-alpha.1",
        "1.0.0-alpha.beta",
        "1.0.0-beta",
        "1.0.0",
        "1.0.1-a",
        "1.0.1",
        "1.1.0",
        "2.0.0",
    ];
    let versions: Vec<Version> = texts.iter().map(|text| Version::parse(text).unwrap()).collect();
    assert!(versions.is_sorted_by(|a, b| a < b));
    assert_eq!(Version::parse("1.0.0+a"), Version::parse("1.0.0+b"));
}

#[test]
fn comparisons_side_by_side_must_all_hold() {
    let versions = ["1.0.0", "1.1.1", "2.0.0", "3.0.0", "4.2.1"];
    check_range(">1.0.0 <2.0.0 || >=3.0.0", &versions, &["1.1.1", "3.0.0", "4.2.1"]);
    check_range(">= 1.1.1  <  3.0.0 !=2.0.0", &versions, &["1.1.1"]);
    check_range("1.0.0 || =2.0.0 || ==3.0.0", &versions, &["1.0.0", "2.0.0", "3.0.0"]);
    check_range("\n>=3.0.0", &versions, &["3.0.0", "4.2.1"]);
    check_range("! 1.0.0 !2.0.0", &versions, &["1.1.1", "3.0.0", "4.2.1"]);
    check_range("<1.0.1-x86", &["1.0.1-w", "1.0.1-y"], &["1.0.1-w"]);
}

#[test]
fn wildcards_stand_for_all_versions_below_them() {
    let versions = ["0.9.0", "1.2.0", "1.2.9", "1.3.0", "2.0.0"];
    check_range("1.2.x", &versions, &["1.2.0", "1.2.9"]);
    check_range("1.x", &versions, &["1.2.0", "1.2.9", "1.3.0"]);
    check_range("1.x.x", &versions, &["1.2.0", "1.2.9", "1.3.0"]);
    check_range(">1.2.x", &versions, &["1.3.0", "2.0.0"]);
    check_range(">=1.2.x", &versions, &["1.2.0", "1.2.9", "1.3.0", "2.0.0"]);
    check_range("<1.2.x", &versions, &["0.9.0"]);
    check_range("<=1.2.x", &versions, &["0.9.0", "1.2.0", "1.2.9"]);
    check_range("!=1.2.x", &versions, &["0.9.0", "1.3.0", "2.0.0"]);
}

#[test]
fn bad_ranges_are_rejected() {
    for text in [
        "",
        " ",
        "||",
        "1.0.0 ||",
        "|| 1.0.0",
        "1.0.0 || || 2.0.0",
        ">",
        "x",
        "~1.0.0",
        "=>1.0.0",
        "1.2",
        "1.x.3",
        ">v1.0.0",
        "1.0.0||2.0.0",
        "18446744073709551615.x",
    ] {
        assert!(VersionRange::parse(text).is_err(), "{text}");
    }
}

#[test]
fn random_texts_are_read_or_rejected() {
    let pieces =
        ["0", "1", ".", ".", "-", "+", "x", "\u{e9}", " ", "||", ">", "=", "!", "99999999999999999999", "v"];
    for text in random::random_texts(&pieces, 10) {
        let version = Version::parse_tolerant(&text).unwrap_or(Version::new(1, 0, 0));
        assert_eq!(Version::parse(&version.to_string()).as_ref(), Ok(&version));
        let _ = VersionRange::parse(&text).map(|range| range.contains(&version));
    }
}
