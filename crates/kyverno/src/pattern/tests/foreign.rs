//! Foreign values are matched literally.

use super::{Tainted, ValidatePattern, told, value};
use crate::tainted::TaintedPart;

fn text(parts: &[(&str, bool)]) -> Tainted {
    Tainted::Text(
        parts.iter().map(|(text, is_own)| TaintedPart { text: (*text).into(), is_own: *is_own }).collect(),
    )
}

/// Compares the text `found` with the value of a key `a`.
#[track_caller]
fn against(pattern: Tainted, found: &str) -> bool {
    let key = vec![TaintedPart { text: "a".into(), is_own: true }];
    let compiled = ValidatePattern::compile(&Tainted::Map(vec![(key, pattern)]));
    told(&compiled, &value(&format!("{{a: {found}}}"))) == "pass"
}

#[test]
fn wildcards_and_operators_from_elsewhere_are_text() {
    for foreign in ["'*'", "'?*'", "'!x'", "'a|b'", "'>3'", "'1-9'", "' x '", "''"] {
        let pattern = Tainted::Untrusted(value(foreign));
        assert!(against(pattern.clone(), foreign), "{foreign}");
        assert!(!against(pattern.clone(), "b"), "{foreign}");
        assert!(!against(pattern, "5"), "{foreign}");
    }
    assert!(against(Tainted::Untrusted(value("null")), "null"));
    assert!(against(Tainted::Untrusted(value("5")), "5"));
    assert!(against(Tainted::Untrusted(value("5")), "'5.0'"));
    assert!(!against(Tainted::Trusted(value("5")), "'5.0'"));
    assert!(against(Tainted::Untrusted(value("5000m")), "5"));
}

#[test]
fn in_a_mixed_text_only_the_authors_parts_count() {
    let pattern = text(&[("x-", true), ("*", false), ("-*", true)]);
    assert!(against(pattern.clone(), "'x-*-w'"));
    assert!(!against(pattern, "x-a-w"));
    let pattern = text(&[("a|b", false), (" | c", true)]);
    assert!(against(pattern.clone(), "'a|b'"));
    assert!(against(pattern.clone(), "c"));
    assert!(!against(pattern, "b"));
    let pattern = text(&[("<= ", true), ("1Gi", false)]);
    assert!(against(pattern.clone(), "512Mi"));
    assert!(!against(pattern, "2Gi"));
    let pattern = text(&[("1", false), ("-", true), ("5", false)]);
    assert!(against(pattern.clone(), "3"));
    assert!(!against(pattern, "6"));
    assert!(!against(text(&[("1-", false), ("5", true)]), "3"));
    assert!(!against(text(&[("!", false), ("x", true)]), "w"));
    assert!(against(text(&[("!", true), ("*", false)]), "w"));
}

#[test]
fn neighbouring_and_empty_parts_do_not_hide_an_operator() {
    assert!(against(text(&[(">", true), ("=5", true)]), "5"));
    assert!(against(text(&[("", false), (">3", true)]), "5"));
    assert!(against(text(&[("", false), ("*", true)]), "{}"));
    assert!(against(text(&[("", false)]), "''"));
    assert!(!against(text(&[]), "x"));
}

#[test]
fn objects_and_lists_from_elsewhere_keep_their_shape_but_have_no_anchors() {
    let pattern = Tainted::Untrusted(value("{b: x, l: [{c: '*'}]}"));
    assert!(against(pattern.clone(), "{b: x, l: [{c: '*'}], more: 1}"));
    assert!(!against(pattern, "{b: x, l: [{c: w}]}"));
    assert!(!against(Tainted::Untrusted(value("{(b): x}")), "{}"));
    assert!(against(Tainted::Untrusted(value("{(b): x}")), "{(b): x}"));
    assert!(!against(Tainted::Untrusted(value("{b: '*'}")), "{b: w}"));
}

#[test]
fn a_key_is_an_anchor_only_if_the_author_wrote_the_brackets() {
    let keyed = |parts: &[(&str, bool)]| {
        let key = parts
            .iter()
            .map(|(text, is_own)| TaintedPart { text: (*text).into(), is_own: *is_own })
            .collect();
        ValidatePattern::compile(&Tainted::Map(vec![(key, Tainted::Trusted(value("x")))]))
    };
    assert_eq!(told(&keyed(&[("=(", true), ("a", false), (")", true)]), &value("{}")), "pass");
    assert_eq!(told(&keyed(&[("=(a)", false)]), &value("{}")), "fail /=(a)/");
    assert_eq!(told(&keyed(&[("=(", false), ("a)", true)]), &value("{}")), "fail /=(a)/");
}
