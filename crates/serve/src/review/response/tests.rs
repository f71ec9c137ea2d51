use super::*;

#[track_caller]
fn check(response: &AdmissionResponse, want: &str) {
    let written = response.to_review("u");
    let response = json::parse(&written).unwrap().get("response").cloned().unwrap_or_default();
    assert_eq!(response.to_string(), want);
}

#[test]
fn an_answer_says_no_more_than_it_must() {
    check(&AdmissionResponse::allowed(), r#"{"uid":"u","allowed":true}"#);
    check(
        &AdmissionResponse::refused(0, "no\n\"never\""),
        r#"{"uid":"u","allowed":false,"status":{"code":403,"message":"no\n\"never\"","reason":"Forbidden"}}"#,
    );
    check(
        &AdmissionResponse { reason: "Invalid".to_owned(), ..AdmissionResponse::refused(422, "x") },
        r#"{"uid":"u","allowed":false,"status":{"code":422,"message":"x","reason":"Invalid"}}"#,
    );
    check(
        &AdmissionResponse {
            warnings: vec!["w".to_owned()],
            annotations: vec![("k".into(), "v".into())],
            message: "done".to_owned(),
            ..AdmissionResponse::allowed()
        },
        r#"{"uid":"u","allowed":true,"status":{"code":200,"message":"done"},"warnings":["w"],"auditAnnotations":{"k":"v"}}"#,
    );
}

#[test]
fn warnings_are_short_lines_and_few() {
    let long = "ä".repeat(1000);
    let mut response = AdmissionResponse { warnings: vec![long; 40], ..AdmissionResponse::allowed() };
    response.warnings.insert(0, "two\nlines".to_owned());
    response.bound_warnings();
    assert_eq!(response.warnings.first().map(String::as_str), Some("two lines"));
    assert!(response.warnings.iter().all(|warning| warning.chars().count() <= MAX_WARNING_CHARACTERS));
    assert!(response.warnings.iter().map(String::len).sum::<usize>() <= MAX_WARNINGS_BYTES);
    assert!(response.warnings.len() > 5, "{}", response.warnings.len());
}

#[test]
fn the_refusal_of_one_language_is_not_drowned_by_what_another_did() {
    let reply =
        |message: &str, code| ResponseParts { message: message.to_owned(), code, ..ResponseParts::default() };
    let mut response = AdmissionResponse::default();
    response.join(reply("labels were added", 0), false);
    response.join(reply("no", 422), true);
    response.join(reply("never", 0), true);
    assert_eq!((response.message.as_str(), response.code), ("no\nnever", 422));
}

#[test]
fn a_message_without_an_end_is_cut_between_characters() {
    let mut message = "ä".repeat(MAX_RESPONSE_MESSAGE_BYTES);
    truncate(&mut message, TextLimit::BytesInAll(MAX_RESPONSE_MESSAGE_BYTES));
    assert!(message.len() <= MAX_RESPONSE_MESSAGE_BYTES && message.ends_with('…'), "{}", message.len());
}
