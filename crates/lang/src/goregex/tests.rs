use super::*;

/// Checks what `pattern` finds first in each text; `-` for nothing.
#[track_caller]
fn finds(pattern: &str, cases: &[(&str, &str)]) {
    let regex = compile(pattern).unwrap();
    for (text, want) in cases {
        assert_eq!(regex.find(text).unwrap_or("-"), *want, "`{pattern}` on {text:?}");
    }
}

/// Checks that `pattern` is refused with this message at this offset.
#[track_caller]
fn refuses(pattern: &str, message: &str, offset: usize) {
    let error = compile(pattern).expect_err(pattern);
    assert_eq!((error.message.as_str(), error.offset), (message, offset));
}

#[track_caller]
fn replaces(pattern: &str, text: &str, template: &str, want: &str) {
    assert_eq!(replace_all(&compile(pattern).unwrap(), text, template), want);
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
    assert!(compile(&deep).unwrap_err().message.starts_with("expression nests too deeply"));
    let fits = format!("{}a{}", "(".repeat(60), ")*".repeat(60));
    assert!(compile(&fits).unwrap().is_match("aaa"));
    let stacked = format!("a{}", r"*\Q\E".repeat(5000));
    assert!(compile(&stacked).unwrap_err().message.starts_with("expression nests too deeply"));
    assert!(compile(&"(".repeat(100_000)).is_err());
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
    assert_eq!(replace_all_literal(&compile("a").unwrap(), "bab", "$1"), "b$1b");
}

#[test]
fn quoted_metacharacters_match_themselves() {
    let text = r"a.b*[c]{1}$^\|(?)";
    assert_eq!(compile(&quote_meta(text)).unwrap().find(text), Some(text));
}

#[test]
fn splitting_leaves_out_the_empty_match_at_the_start() {
    let regex = compile("b*").unwrap();
    assert_eq!(regex.split("abc", None), ["a", "c"]);
    assert_eq!(regex.split("abc", Some(1)), ["abc"]);
    assert_eq!(compile(",").unwrap().split("a,b,c", Some(2)), ["a", "b,c"]);
}

#[test]
fn large_repeat_counts_cost_more() {
    let text = "a".repeat(800);
    let cost = |pattern: &str| compile(pattern).unwrap().cost(&text);
    assert_eq!(cost("^a+b?$"), 101);
    assert_eq!(cost("(?:ab){1,500}"), 101 * 8);
    assert_eq!(cost("(?:a{10}){10}"), 101);
    assert_eq!(cost(r"(?:\pL{10}){10}"), 101 * 51);
}
