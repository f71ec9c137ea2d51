//! The last writer of each place.

use kubewright_value::Step;

use super::{Budget, PatchPath, PathOp, Value, value};
use crate::Pointer;
use crate::path::PathWriters;

/// Lets writers do `writer: op path <- value` to `{}` one after another; returns the document, what is known in the end,
/// and what was written over, as `loser/place by writer`.
fn run(start: &str, operations: &[&str]) -> (Value, PathWriters<String>, Vec<String>) {
    let mut document = value(start);
    let (mut writers, mut lost) = (PathWriters::default(), Vec::new());
    for operation in operations {
        let (writer, operation) = operation.split_once(": ").unwrap();
        let (op, rest) = operation.split_once(' ').unwrap();
        let (path, new) = rest.split_once(" <- ").unwrap_or((rest, "null"));
        let (op, path, new) = (PathOp::named(op).unwrap(), PatchPath::parse(path).unwrap(), value(new));
        let applied = path.apply(op, &new, &mut document, &mut Budget::default()).unwrap();
        for over in writers.note(op, &new, &applied, &writer.to_owned()) {
            lost.push(format!("{}{} by {writer}", over.writer, Pointer::from_steps(&over.place)));
        }
    }
    (document, writers, lost)
}

/// Checks everything that is known in the end, as `place writer`.
#[track_caller]
fn knows(operations: &[&str], want: &[&str]) {
    let (_, writers, _) = run("{}", operations);
    let known: Vec<String> = writers
        .places()
        .iter()
        .map(|(place, writer)| format!("{} {writer}", Pointer::from_steps(place)))
        .collect();
    assert_eq!(known, want);
}

#[track_caller]
fn loses(start: &str, operations: &[&str], want: &[&str]) {
    assert_eq!(run(start, operations).2, want);
}

#[test]
fn the_last_one_counts_and_a_part_counts_more_than_the_whole() {
    let (_, writers, _) = run("{}", &["a: add /x <- {\"y\":1,\"z\":2}", "b: add /x/y <- 3"]);
    let last = |steps: &[&str]| {
        let place: Vec<Step> = steps.iter().map(|key| Step::from(*key)).collect();
        writers.last(&place).map(String::as_str)
    };
    assert_eq!(last(&["x"]), Some("a"));
    assert_eq!(last(&["x", "y"]), Some("b"));
    assert_eq!(last(&["x", "z", "deep"]), Some("a"));
    assert_eq!(last(&["other"]), None);
}

#[test]
fn items_that_move_keep_their_writers() {
    knows(
        &["a: add /l/- <- 1", "b: add /l/0 <- 2", "c: add /l[*] <- 3"],
        &["/l/0 c", "/l/1 b", "/l/2 c", "/l/3 a"],
    );
    knows(&["a: add /l/- <- {\"k\":1}", "b: add /l/- <- {}", "c: remove /l[?(@.k=='1')]"], &["/l/0 b"]);
    knows(
        &["a: add /l/- <- 1", "b: add /l/- <- 2", "c: add /l/- <- 3", "a: remove /l/1"],
        &["/l/0 a", "/l/1 c"],
    );
    knows(&["a: add /l/- <- 1", "b: add /l/- <- 2", "a: remove /l[*]"], &[]);
}

#[test]
fn what_one_writes_over_another_is_told() {
    loses("{}", &["a: add /x <- 1", "b: add /x <- 2"], &["a/x by b"]);
    loses("{}", &["a: add /x <- 1", "a: add /x <- 2"], &[]);
    loses("{}", &["a: add /x <- {\"y\":1}", "b: replace /x/y <- 2"], &["a/x/y by b"]);
    loses("{}", &["a: add /x/y <- 1", "b: replace /x <- {}"], &["a/x/y by b"]);
    loses("{}", &["a: add /x/y <- 1", "b: remove /x"], &["a/x/y by b"]);
    loses("{}", &["a: add /l/- <- 1", "a: add /l/- <- 2", "b: remove /l[*]"], &["a/l/0 by b", "a/l/1 by b"]);
    loses(
        "{}",
        &["a: mergeShallow /m <- {\"x\":1}", "b: mergeShallow /m <- {\"x\":2,\"y\":3}"],
        &["a/m/x by b"],
    );
}

#[test]
fn what_stands_beside_another_is_not_written_over() {
    loses("{}", &["a: add /x/y <- 1", "b: add /x/z <- 2"], &[]);
    loses("{}", &["a: add /x <- {\"y\":1}", "b: add /x/z <- 2"], &[]);
    loses("{}", &["a: add /l/- <- 1", "b: add /l/- <- 2", "b: add /l/0 <- 3"], &[]);
    loses("{\"x\":1}", &["a: add /x <- 2"], &[]);
    loses("{}", &["a: add /x <- 1", "b: remove /y"], &[]);
}
