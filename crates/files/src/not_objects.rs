//! One diagnostic for all documents of a folder that are not objects, such as values files and package lists.

use std::collections::BTreeSet;

use kubewright_engine::Diagnostic;

use crate::codes::NOT_AN_OBJECT;

/// How many files are named.
const MAX_NAMED_FILES: usize = 5;

/// Returns `problems` with one in place of several documents that are not objects, where the first one was.
pub(super) fn merged(mut problems: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let is_not_object = |problem: &Diagnostic| problem.code == &NOT_AN_OBJECT;
    let documents = problems.iter().filter(|problem| is_not_object(problem)).count();
    if documents < 2 {
        return problems;
    }
    let mut files: Vec<String> = Vec::new();
    let mut seen = BTreeSet::new();
    for problem in problems.iter().filter(|problem| is_not_object(problem)) {
        let name = &problem.location.source.name;
        if seen.insert(name.clone()) {
            files.push(format!("`{name}`"));
        }
    }
    let mut is_first = true;
    problems.retain(|problem| !is_not_object(problem) || std::mem::take(&mut is_first));
    if let Some(problem) = problems.iter_mut().find(|problem| is_not_object(problem)) {
        problem.message =
            format!("{documents} documents are not objects and are left out, in {}", named(&files));
    }
    problems
}

fn named(files: &[String]) -> String {
    let shown = files.iter().take(MAX_NAMED_FILES).cloned().collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(MAX_NAMED_FILES) {
        0 => shown,
        1 => format!("{shown} and 1 other file"),
        others => format!("{shown} and {others} other files"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codes::{UNREADABLE, about_path};

    #[test]
    fn files_without_objects_share_one_line() {
        let files = ["a.yaml", "b.yaml", "b.yaml", "c.yaml", "d.yaml", "e.yaml", "f.yaml"];
        let mut problems: Vec<Diagnostic> =
            files.iter().map(|file| about_path(&NOT_AN_OBJECT, file, "this document is one")).collect();
        problems.push(about_path(&UNREADABLE, "x", "cannot read `x`"));
        let texts: Vec<String> = merged(problems).into_iter().map(|problem| problem.message).collect();
        let all = "7 documents are not objects and are left out, in `a.yaml`, `b.yaml`, `c.yaml`, `d.yaml`, `e.yaml` and 1 other file";
        assert_eq!(texts, [all, "cannot read `x`"]);
    }
}
