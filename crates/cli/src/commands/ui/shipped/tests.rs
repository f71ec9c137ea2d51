use kubewright_patterns::shipped::shipped_patterns;

use super::super::expressions::{EXPRESSION_LANGUAGES, evaluate, functions_of};
use super::{EXAMPLES, FILES, PACKED, function_examples};
use kubewright_ui::TextRole;

#[test]
fn every_folder_with_a_test_is_an_example() {
    let tests = FILES
        .keys()
        .filter(|path| path.ends_with("kubewright-test.yaml") || path.ends_with("kyverno-test.yaml"));
    let tests: Vec<&String> = tests.collect();
    assert_eq!(EXAMPLES.len(), tests.len(), "{:#?}", EXAMPLES.iter().map(|one| &one.id).collect::<Vec<_>>());
    let patterns = EXAMPLES.iter().filter(|example| example.language() == "pattern").count();
    assert!(patterns >= shipped_patterns().len(), "{patterns}");
}

#[test]
fn every_example_has_rules_objects_and_a_description() {
    for example in EXAMPLES.iter() {
        let has =
            |wanted| example.files.iter().any(|(_, role, text)| *role == wanted && !text.trim().is_empty());
        assert!(has(TextRole::Rules) && has(TextRole::Objects), "{}", example.id);
        assert!(!example.description.is_empty(), "{}", example.id);
    }
}

#[test]
fn packed_examples_stay_small() {
    assert!(PACKED.len() < 200_000, "{} bytes", PACKED.len());
}

#[test]
fn examples_of_functions_result_in_what_they_say() {
    for language in EXPRESSION_LANGUAGES.into_iter().filter(|language| *language != "gotemplate") {
        for example in function_examples(language) {
            let found = evaluate(language, &example.example, "{}").expect("arguments").result();
            assert_eq!(found, example.result, "{language} {}", example.example);
        }
    }
}

/// What needs a cluster, a registry, a network, a certificate or a clock has no example.
const WITHOUT_EXAMPLE: [&str; 9] = [
    "buildCustomCert",
    "call",
    "decryptAES",
    "fail",
    "random",
    "time.now",
    "time_now",
    "time_now_utc",
    "x509",
];

#[test]
fn every_function_has_a_signature_a_description_and_an_example() {
    for language in ["cel", "jmespath", "gotemplate"] {
        for (name, signature, description) in functions_of(language).expect("a language") {
            assert!(!description.is_empty(), "{language} {name}");
            let is_asked = [".Context.", "authorization."].iter().any(|part| signature.contains(part));
            let is_left_out = WITHOUT_EXAMPLE.iter().any(|left_out| name.starts_with(left_out));
            let has_example = function_examples(language).iter().any(|example| example.name == name);
            assert!(has_example || is_asked || is_left_out, "{language} {signature} has no example");
        }
    }
}
