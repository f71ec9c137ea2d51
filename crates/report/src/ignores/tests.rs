//! Which lines and rules an ignore is about.

use kubewright_value::{Source, yaml};

use super::*;

const TEXT: &str = "\
# kubewright: ignore before-all
---
# kubewright: ignore first until 2027-01-01: known since the migration
kind: Pod
spec:
  # kubewright: ignore inside
  containers:
  - name: api
    image: api  # kubewright: ignore this-line
  - name: log
  volumes: []
# kubewright: ignore after
---
kind: Service
spec:
  ports: []
";

/// Returns the names of the comments that cover `line` of document `number`.
fn covering(number: usize, line: u32) -> Vec<String> {
    let source = Source::new("pod.yaml", TEXT);
    let document = yaml::read(&source).documents.into_iter().nth(number).unwrap();
    let lines = ObjectLines::of(&document);
    let (comments, mistakes) = ignore_comments(&source);
    assert_eq!(mistakes, []);
    comments
        .iter()
        .filter(|comment| comment.covers(line, lines, &source))
        .map(|comment| comment.rules.join(","))
        .collect()
}

#[test]
fn comments_around_an_object_cover_all_of_it() {
    assert_eq!(covering(0, 4), ["before-all", "first", "after"]);
    assert_eq!(covering(0, 11), ["before-all", "first", "after"]);
    assert!(covering(1, 14).is_empty());
}

#[test]
fn comments_inside_cover_the_lines_below_that_belong_together() {
    assert_eq!(covering(0, 7), ["before-all", "first", "inside", "after"]);
    assert_eq!(covering(0, 9), ["before-all", "first", "inside", "this-line", "after"]);
    assert_eq!(covering(0, 10), ["before-all", "first", "inside", "after"]);
}

#[track_caller]
fn check_mistake(comment: &str, want: &str) {
    let (comments, mistakes) =
        ignore_comments(&Source::new("a.yaml", format!("a: 1 # kubewright: {comment}\n")));
    assert!(comments.is_empty(), "{comments:?}");
    assert!(mistakes.iter().any(|mistake| mistake.message.contains(want)), "{mistakes:?}");
}

#[test]
fn mistakes_in_comments_are_named() {
    check_mistake("ignroe x", "unknown word `ignroe`");
    check_mistake("ignore", "names no rule");
    check_mistake("ignore x until tomorrow: why", "`tomorrow` is not a date");
    check_mistake("ignore x until: why", "`until` has no date");
}

#[test]
fn ignores_have_rules_a_date_and_a_reason() {
    let source = Source::new("a.yaml", "# kubewright: ignore a/b, c-* until 2027-12-31: see: #12\n");
    let (comments, _) = ignore_comments(&source);
    let comment = comments.first().unwrap();
    assert_eq!(
        (comment.rules.join(" "), comment.until.as_deref()),
        ("a/b c-*".to_owned(), Some("2027-12-31"))
    );
    assert_eq!(comment.reason, "see: #12");
}
