use kubewright_value::json;

use super::*;

const LABELS: [(&str, &str); 1] = [("rules.test/ignore", "true")];

/// The labels of the old and the new namespace, JSON or nothing; who asks; and whether it is refused.
#[track_caller]
fn check(old: &str, new: &str, user: &str, groups: &str, is_refused: bool) {
    let object = |labels: &str| match labels {
        "" => "null".to_owned(),
        labels => format!(r#"{{"metadata":{{"labels":{labels}}}}}"#),
    };
    let request = format!(
        r#"{{"object":{},"oldObject":{},"userInfo":{{"username":"{user}","groups":{groups}}}}}"#,
        object(new),
        object(old)
    );
    let request = json::parse(&request).unwrap();
    let exempt = ["group:platform".to_owned(), "user:alice".to_owned(), "either".to_owned()];
    let refusal = guard_refusal(&request, &LABELS, &exempt);
    assert_eq!(refusal.is_some(), is_refused, "{refusal:?}");
}

const ON: &str = r#"{"rules.test/ignore":"true"}"#;
const OFF: &str = r#"{"rules.test/ignore":"false"}"#;

#[test]
fn giving_the_label_is_refused() {
    check("", ON, "bob", "[]", true);
    check("{}", ON, "bob", r#"["system:authenticated"]"#, true);
    check(OFF, ON, "bob", "[]", true);
    check("", OFF, "bob", "[]", true);
}

#[test]
fn everything_else_is_not() {
    check("", "{}", "bob", "[]", false);
    check(ON, ON, "bob", "[]", false);
    check(ON, "{}", "bob", "[]", false);
    check(ON, "", "bob", "[]", false);
    check("{}", r#"{"other":"true"}"#, "bob", "[]", false);
}

#[test]
fn administrators_and_the_exempt_may() {
    check("", ON, "root", r#"["system:masters"]"#, false);
    check("", ON, "alice", "[]", false);
    check("", ON, "bob", r#"["platform"]"#, false);
    check("", ON, "either", "[]", false);
    check("", ON, "bob", r#"["either"]"#, false);
    check("", ON, "platform", "[]", true);
    check("", ON, "bob", r#"["alice"]"#, true);
}

#[test]
fn names_cannot_break_out_of_the_condition() {
    let condition = guard_condition(&LABELS, &["user:a\"] || true || \"x".to_owned()]).unwrap();
    assert!(condition.contains(r#""a\"] || true || \"x""#), "{condition}");
    assert_eq!(super::guard_condition(&[], &[]), None);
}
