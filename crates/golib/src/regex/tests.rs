use kubewright_value::{Budget, Limits, StepCounter};

use super::*;

/// Checks what `pattern` finds first in each text; `-` for nothing.
#[track_caller]
fn finds(pattern: &str, cases: &[(&str, &str)]) {
    let regex = compile_regex(pattern).unwrap();
    for (text, want) in cases {
        let Ok(found) = regex.find(text, &mut StepCounter::default());
        assert_eq!(found.unwrap_or("-"), *want, "`{pattern}` on {text:?}");
    }
}

/// Checks that `pattern` is refused with this message at this offset.
#[track_caller]
fn refuses(pattern: &str, message: &str, offset: usize) {
    let error = compile_regex(pattern).expect_err(pattern);
    assert_eq!((error.message.as_str(), error.offset), (message, offset));
}

#[track_caller]
fn replaces(pattern: &str, text: &str, template: &str, want: &str) {
    let regex = compile_regex(pattern).unwrap();
    assert_eq!(replace_all(&regex, text, template, &mut Budget::default()).unwrap(), want);
}

#[test]
fn classes_are_ascii() {
    finds(r"\d", &[("٣", "-"), ("x3", "3")]);
    finds(r"\w+", &[("é", "-"), ("éab_1é", "ab_1")]);
    finds(r"\s", &[("\u{b}", "-"), ("\u{a0}", "-"), ("a\tb", "\t")]);
    finds(r"[\d\w]+", &[("٣é", "-")]);
    finds(r"\bb", &[("éb", "b"), ("ab", "-")]);
    finds(r"[[:alpha:]]+", &[("é1ab", "ab")]);
}

#[test]
fn quoted_text_is_literal() {
    finds(r"\Qa.b\E+", &[("axb", "-"), ("a.bbb", "a.bbb")]);
    finds(r"\Q[x", &[("a[x]", "[x")]);
    finds(r"a\Q\E*b", &[("aaab", "aaab")]);
}

#[test]
fn braces_that_count_nothing_are_text() {
    finds("a{,3}", &[("aaa", "-"), ("a{,3}", "a{,3}")]);
    finds("{", &[("x{", "{")]);
    finds("a{01}", &[("a{01}", "a{01}")]);
    finds("a{2,3}?", &[("aaaa", "aa")]);
}

#[test]
fn brackets_have_no_set_operations() {
    finds("[a&&b]+", &[("b&a", "b&a")]);
    finds("[[a]", &[("[", "[")]);
    finds("[[a]]", &[("[", "-"), ("a]", "a]")]);
    finds("[]a]+", &[("x]a", "]a")]);
    finds("[a-]+", &[("-a-", "-a-")]);
    finds(r"[\x{D800}-\x{E000}]", &[("\u{E000}", "\u{E000}")]);
}

#[test]
fn flags_hold_to_the_end_of_their_group() {
    finds("(?i)ab", &[("AB", "AB")]);
    finds("((?i)a)b", &[("AB", "-"), ("Ab", "Ab")]);
    finds("(?s).b", &[("\nb", "\nb")]);
    finds("(?m)^b$", &[("a\nb\nc", "b")]);
    finds("(?U)a+", &[("aaa", "a")]);
    finds("(?U)a+?", &[("aaa", "aaa")]);
    finds("a(?i)*b", &[("aaB", "aaB")]);
}

#[test]
fn numbers_of_characters_are_octal_or_hexadecimal() {
    finds(r"\07", &[("\u{7}", "\u{7}")]);
    finds(r"\101", &[("A", "A")]);
    finds(r"\x{1F600}\x41", &[("😀A", "😀A")]);
}

#[test]
fn unicode_classes_go_by_category_and_script() {
    finds(r"\pN", &[("x½", "½")]);
    finds(r"\p{^Greek}", &[("αb", "b")]);
    finds(r"[^\p{L}]", &[("é1", "1")]);
}

#[test]
fn what_go_refuses_is_refused() {
    refuses("a**", "invalid nested repetition operator: `**`", 1);
    refuses("x*+", "invalid nested repetition operator: `*+`", 1);
    refuses("a{1001}", "invalid repeat count: `{1001}`", 1);
    refuses("(a{100}){11}", "invalid repeat count: `{11}`", 8);
    refuses("[b--a]", "invalid character class range: `b--`", 1);
    refuses("a|*", "missing argument to repetition operator: `*`", 2);
    refuses("(?x)a", "invalid or unsupported Perl syntax: `(?x`", 0);
    refuses("(?=a)", "invalid or unsupported Perl syntax: `(?=`", 0);
    refuses(r"a\C", r"invalid escape sequence: `\C`", 1);
    refuses(r"(a)\1", r"invalid escape sequence: `\1`", 3);
    refuses(r"a\", "trailing backslash at end of expression", 1);
    refuses("b(a", "missing closing ): `b(a`", 1);
    refuses("a)", "unexpected ): `a)`", 1);
    refuses("x[a", "missing closing ]: `[a`", 1);
    refuses(r"\p{Nope}", r"invalid character class range: `\p{Nope}`", 0);
    refuses("[[:nope:]]", "invalid character class range: `[:nope:]`", 1);
}

#[test]
fn hostile_patterns_are_refused_and_not_run() {
    refuses(r"(?:\pL{100}\pN{100}){10}", "expression too large", 0);
    let deep = format!("{}a{}", "(".repeat(90), ")".repeat(90));
    assert!(compile_regex(&deep).unwrap_err().message.starts_with("expression nests too deeply"));
    let fits = format!("{}a{}", "(".repeat(60), ")*".repeat(60));
    finds(&fits, &[("aaa", "aaa")]);
    let stacked = format!("a{}", r"*\Q\E".repeat(5000));
    assert!(compile_regex(&stacked).unwrap_err().message.starts_with("expression nests too deeply"));
    assert!(compile_regex(&"(".repeat(100_000)).is_err());
}

#[test]
fn templates_name_groups_as_go_does() {
    replaces("(a)(b)?", "xab", "<$1>", "x<a>");
    replaces("(a)", "a", "$1x", "");
    replaces("(a)", "a", "${1}x", "ax");
    replaces("(?P<n>a)", "ba", "${n}$n$$$ ", "baa$$ ");
    replaces("(?P<1x>a)", "a", "$1x", "a");
    replaces("a", "a", "${", "${");
    replaces("b*", "abc", "-", "-a-c-");
    assert_eq!(
        replace_all_literal(&compile_regex("a").unwrap(), "bab", "$1", &mut Budget::default()).unwrap(),
        "b$1b"
    );
}

#[test]
fn quoted_metacharacters_match_themselves() {
    let text = r"a.b*[c]{1}$^\|(?)";
    finds(&quote_meta(text), &[(text, text)]);
}

#[test]
fn splitting_leaves_out_the_empty_match_at_the_start() {
    let split = |pattern: &str, text: &'static str, limit| {
        let Ok(parts) = compile_regex(pattern).unwrap().split(text, limit, &mut StepCounter::default());
        parts
    };
    assert_eq!(split("b*", "abc", None), ["a", "c"]);
    assert_eq!(split("b*", "abc", Some(1)), ["abc"]);
    assert_eq!(split(",", "a,b,c", Some(2)), ["a", "b,c"]);
}

/// What the `regex` crate finds, which is what was here before.
#[test]
fn matches_are_those_of_the_regex_crate() {
    let patterns = [
        "a",
        "a*",
        "a*?",
        "(a|ab)(c|bcd)(d*)",
        "(a+)(b+)?",
        "^a|b$",
        r"\bfoo\b",
        r"\B",
        "",
        "x*",
        "(?i)straße",
        "[^a]",
        r"\pL+",
        "(a*)*",
        "(a*)+",
        "(?:a|b)*?c",
        "(a)|b",
        "(|a)+",
        "(?m)^.*$",
        "(?s).+",
        "a{2,3}",
        "é?",
        "(a|b)*a(a|b){7}c?",
        r"\d+\.\d+",
        "((a)|(b))*",
        "a.*c|a",
        r"^\s*$",
        "日|本",
        r"(?:\pL{3}\pN?){2}",
        "^(a+)(b*)",
        "^(a)?(b)?(.*)$",
        r"^([^ ]+) ?(\pL*)$",
        "^(a*)(a|b)*",
        "^(é?)(a?)",
        r"^(?:(\d+)|(\pL+))",
        "^a*",
        r"^(\w*)\b",
    ];
    let texts = [
        "",
        "a",
        "aab",
        "abcd",
        "xaxbx",
        "éa",
        "aéa",
        "日本語a",
        "foo bar",
        "a\nb\n",
        "1.5 and 22.75",
        "aaaaaaaab",
        "STRASSE straße STRAßE",
        "bbaabbab",
        "  \t",
        "aaaac",
        "abc123äöü456",
    ];
    for pattern in patterns {
        let ours = compile_regex(pattern).unwrap();
        let theirs = regex::Regex::new(&translate::translate_pattern(pattern).unwrap().text).unwrap();
        for text in texts {
            let (mut found, mut matches) = (Vec::new(), ours.matches(text));
            while let Ok(Some(groups)) = matches.next(&mut StepCounter::default()) {
                found.push((0..theirs.captures_len()).map(|n| groups.get(n)).collect::<Vec<_>>());
            }
            let want = theirs.captures_iter(text);
            let want: Vec<Vec<Option<&str>>> = want
                .map(|groups| groups.iter().map(|group| group.map(|group| group.as_str())).collect())
                .collect();
            assert_eq!(found, want, "`{pattern}` on {text:?}");
            let Ok(is_match) = ours.is_match(text, &mut StepCounter::default());
            assert_eq!(is_match, theirs.is_match(text), "`{pattern}` on {text:?}");
        }
    }
}

/// Returns the steps that finding out whether `pattern` matches `text` takes.
fn steps(pattern: &str, text: &str) -> u64 {
    let mut counter = StepCounter::default();
    let Ok(_) = compile_regex(pattern).unwrap().is_match(text, &mut counter);
    counter.0
}

#[test]
fn ordinary_expressions_cost_a_step_for_some_bytes() {
    assert_eq!(steps("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", "web"), 1);
    assert_eq!(steps("^a+b?$", &"a".repeat(3200)), 101);
}

#[test]
fn an_expression_without_a_small_automaton_costs_what_its_states_take() {
    let text = "ab".repeat(5_000);
    assert!(steps("(a|b)*a(a|b){120}c", &text) > 10_000);
    assert!(steps("(a|b)*a(a|b){900}c", &text) > 5 * steps("(a|b)*a(a|b){120}c", &text));
}

#[test]
fn a_search_that_reads_to_the_end_for_each_match_is_charged_for_that() {
    let steps = |length: usize| {
        let text = "a".repeat(length);
        let regex = compile_regex("a.*c|a").unwrap();
        let (mut counter, mut matches) = (StepCounter::default(), regex.matches(&text));
        while let Ok(Some(_)) = matches.next(&mut counter) {}
        counter.0
    };
    assert!(steps(4_000) > 3 * steps(2_000));
    let mut budget = Budget::new(Limits { steps: 200_000, ..Limits::default() });
    let replaced = replace_all(&compile_regex("a.*c|a").unwrap(), &"a".repeat(80_000), "b", &mut budget);
    assert!(replaced.is_err(), "{replaced:?}");
}

#[test]
fn what_is_not_looked_at_costs_nothing() {
    let text = "a".repeat(100_000);
    let regex = compile_regex("a").unwrap();
    let mut counter = StepCounter::default();
    let Ok(_) = regex.find(&text, &mut counter);
    assert!(counter.0 < 4, "{}", counter.0);
}

#[test]
fn a_pattern_without_operators_is_found_as_text() {
    assert_eq!(literal_text(r"other-3").as_deref(), Some("other-3"));
    assert_eq!(literal_text(r"a\.b\\é").as_deref(), Some(r"a.b\é"));
    for pattern in [r"a.b", r"\d", r"\Qa\E", "a|b", "^a", "a$", "a{2}", "[a]", "(a)", "a?", "a*", "a+", r"a\"]
    {
        assert_eq!(literal_text(pattern), None, "{pattern}");
    }
    // The same answers and the same charge as by an equal expression with an operator.
    let [literal, other] = [r"web:1\.2", "(?:web:1[.]2)"].map(|pattern| compile_regex(pattern).unwrap());
    for text in ["", "web:1.2", "registry.example.com/web:1.27", "web:1x2", "éweb:1.2é", "web:1."] {
        let asked = |regex: &Regex| {
            let mut budget = Budget::default();
            (regex.is_match(text, &mut budget).unwrap(), budget.steps_used())
        };
        assert_eq!(asked(&literal), asked(&other), "{text}");
    }
}
