//! Texts made to be slow, deep or large. Each takes well under a second, also unoptimised.

use super::*;

#[track_caller]
fn stopped(text: &str, kind: ParseProblemKind) {
    assert_eq!(parse(text).map_err(|error| error.kind), Err(kind));
    let reading = read(&Source::new("t", text));
    assert_eq!(reading.problems.first().map(|problem| problem.kind), Some(kind));
}

#[test]
fn depth_is_bounded_in_every_style() {
    let block = |levels: usize| (0..levels).map(|i| format!("{}a:\n", " ".repeat(i))).collect::<String>();
    assert!(parse(&("[".repeat(256) + &"]".repeat(256))).is_ok());
    assert!(parse(&block(256)).is_ok());
    stopped(&block(257), ParseProblemKind::Depth);
    stopped(&"[".repeat(1 << 20), ParseProblemKind::Depth);
    stopped(&"{a: ".repeat(1 << 18), ParseProblemKind::Depth);
    stopped(&"- ".repeat(1 << 19), ParseProblemKind::Depth);
    stopped(&"[\n".repeat(1 << 19), ParseProblemKind::Depth);
    stopped(&("x: &a [".to_owned() + &"&a [".repeat(1 << 18)), ParseProblemKind::Depth);
}

#[test]
fn aliases_cannot_nest_deeper_than_text() {
    let chain: String = (1..300).map(|i| format!("- &a{i} [*a{}]\n", i - 1)).collect();
    stopped(&format!("- &a0 [x]\n{chain}"), ParseProblemKind::Depth);
}

#[test]
fn aliases_cannot_multiply_beyond_their_limit() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..20 {
        bomb += &format!("a{i}: &a{i} [{}]\n", vec![format!("*a{}", i - 1); 10].join(", "));
    }
    stopped(&bomb, ParseProblemKind::AliasExpansion);
    let many = format!("a: &a x\nb:\n{}", "- *a\n".repeat(100_000));
    assert!(parse(&many).is_ok());
    let large = format!("a: &a {}\nb:\n{}", "x".repeat(10_000), "- *a\n".repeat(2_000));
    stopped(&large, ParseProblemKind::AliasExpansion);
}

#[test]
fn repetition_is_linear() {
    assert!(parse(&"a: ".repeat(1 << 18)).is_err());
    assert!(parse(&"? ".repeat(1 << 18)).is_err());
    assert!(parse(&"x".repeat(1 << 20)).is_ok());
    assert!(parse(&format!("a: {}", "é ".repeat(1 << 19))).is_ok());
    assert!(parse(&format!("a: [{}]", "é, ".repeat(1 << 17))).is_ok());
    assert!(parse(&(0..100_000).map(|i| format!("k{i}: v\n")).collect::<String>()).is_ok());
    assert!(parse(&format!("{{{}}}", (0..50_000).map(|i| format!("k{i}: v, ")).collect::<String>())).is_ok());
    assert!(parse(&"&a ".repeat(1 << 18)).is_ok());
    assert!(parse(&"!a ".repeat(1 << 18)).is_ok());
    assert!(parse(&("a: \"".to_owned() + &"\\n\n".repeat(1 << 17) + "\"")).is_ok());
    assert!(parse(&("a: |\n".to_owned() + &" \n".repeat(1 << 18))).is_ok());
    assert!(parse(&("a: ".to_owned() + &"\n".repeat(1 << 18) + &" ".repeat(1 << 18) + "b")).is_ok());
}

#[test]
fn directives_and_tags_are_linear() {
    let many: String = (0..50_000).map(|i| format!("%TAG !e{i}! x{i}\n")).collect();
    assert!(parse(&format!("{many}---\na: 1")).is_ok());
    let long = "x".repeat(100_000);
    assert!(parse(&format!("%TAG !e! {long}\n---\n{}", "- !e!a b\n".repeat(20_000))).is_ok());
}

#[test]
fn merges_around_merges_are_bounded() {
    let mut text: String = (0..250).map(|i| format!("{0}<<: {{}}\n{0}a:\n", " ".repeat(i))).collect();
    text += &format!("{}b: [{}]\n", " ".repeat(250), "1,".repeat(200_000));
    stopped(&text, ParseProblemKind::Size);
}

#[test]
fn streams_of_broken_documents_are_linear() {
    assert_eq!(read(&Source::new("t", "---\n@\n".repeat(50_000))).problems.len(), 50_000);
    assert_eq!(read(&Source::new("t", "%x\n---\n".repeat(20_000))).documents.len(), 0);
}

#[test]
fn too_many_equal_keys_are_refused() {
    stopped(&"a: 1\n".repeat(1002), ParseProblemKind::Size);
    assert_eq!(read(&Source::new("t", "a: 1\n".repeat(1001))).problems.len(), 1000);
}

#[test]
fn a_document_of_more_than_32_mebibytes_is_refused() {
    stopped(&"# comment\n".repeat((32 << 20) / 10 + 1), ParseProblemKind::Size);
}
