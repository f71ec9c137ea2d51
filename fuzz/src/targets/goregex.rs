//! Regular expressions are read and searched; what is quoted finds itself.

use kubewright_golib::regex::{compile_regex, quote_meta, replace_all};
use kubewright_value::Budget;

use super::FuzzTarget;

pub(crate) const TARGET: FuzzTarget = FuzzTarget {
    name: "goregex",
    run: fuzz_goregex,
    seeds: &[
        "^(a|b)*c{2,5}$",
        "[[:alpha:]_\\d&&x]+",
        "\\Qa.b\\E(?i:x)(?P<n>y)",
        "a{,3}{",
        "\\pL\\x{1F600}\\07",
        "(?s).*?x**",
        "[^a-z\\]]",
    ],
    dictionaries: &[],
    words: &[
        "(",
        ")",
        "(?i)",
        "(?P<n>",
        "[",
        "]",
        "[^",
        "[[:alpha:]]",
        "{2,3}",
        "{1000}",
        "{1001}",
        "*",
        "+",
        "?",
        "|",
        "\\d",
        "\\b",
        "\\Q",
        "\\E",
        "\\pN",
        "^",
        "$",
        ".",
        "\\",
        "&&",
        "--",
    ],
};

fn fuzz_goregex(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match compile_regex(&quote_meta(text)) {
        Ok(quoted) => {
            let found = quoted.is_match(text, &mut Budget::default());
            assert!(found.unwrap_or(true), "quoted text finds itself");
        }
        Err(error) => assert!(error.message.contains("too large"), "quoted text is a pattern: {error}"),
    }
    if let Ok(regex) = compile_regex(text) {
        assert_eq!(regex.as_str(), text);
        let _ = replace_all(&regex, "aab nginx:1.14.2 é\n", "${1}x$n", &mut Budget::default());
    }
}
