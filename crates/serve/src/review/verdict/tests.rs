use super::*;

#[track_caller]
fn check(verdict: &Verdict, want: &str) {
    let written = verdict.written("u");
    let response = json::parse(&written).unwrap().get("response").cloned().unwrap_or_default();
    assert_eq!(response.to_string(), want);
}

#[test]
fn an_answer_says_no_more_than_it_must() {
    check(&Verdict::allowed(), r#"{"uid":"u","allowed":true}"#);
    check(
        &Verdict::refused(0, "no\n\"never\""),
        r#"{"uid":"u","allowed":false,"status":{"code":403,"message":"no\n\"never\"","reason":"Forbidden"}}"#,
    );
    check(
        &Verdict { reason: "Invalid".to_owned(), ..Verdict::refused(422, "x") },
        r#"{"uid":"u","allowed":false,"status":{"code":422,"message":"x","reason":"Invalid"}}"#,
    );
    check(
        &Verdict {
            warnings: vec!["w".to_owned()],
            annotations: vec![("k".into(), "v".into())],
            message: "done".to_owned(),
            ..Verdict::allowed()
        },
        r#"{"uid":"u","allowed":true,"status":{"code":200,"message":"done"},"warnings":["w"],"auditAnnotations":{"k":"v"}}"#,
    );
}

#[test]
fn warnings_are_short_lines_and_few() {
    let long = "ä".repeat(1000);
    let mut verdict = Verdict { warnings: vec![long; 40], ..Verdict::allowed() };
    verdict.warnings.insert(0, "two\nlines".to_owned());
    verdict.bound_warnings();
    assert_eq!(verdict.warnings.first().map(String::as_str), Some("two lines"));
    assert!(verdict.warnings.iter().all(|warning| warning.chars().count() <= WARNING));
    assert!(verdict.warnings.iter().map(String::len).sum::<usize>() <= WARNINGS);
    assert!(verdict.warnings.len() > 5, "{}", verdict.warnings.len());
}

#[test]
fn the_refusal_of_one_language_is_not_drowned_by_what_another_did() {
    let reply =
        |message: &str, code| ResponseParts { message: message.to_owned(), code, ..ResponseParts::default() };
    let mut verdict = Verdict::default();
    verdict.join(reply("labels were added", 0), false);
    verdict.join(reply("no", 422), true);
    verdict.join(reply("never", 0), true);
    assert_eq!((verdict.message.as_str(), verdict.code), ("no\nnever", 422));
}

#[test]
fn a_message_without_an_end_is_cut_between_characters() {
    let mut message = "ä".repeat(MESSAGE);
    cut(&mut message, MESSAGE);
    assert!(message.len() <= MESSAGE && message.ends_with('…'), "{}", message.len());
}
