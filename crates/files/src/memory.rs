//! Texts in place of files, for a server whose clients send the files.
//!
//! While texts are in place, the thread that put them there and the threads that it works with see these files and no
//! others: nothing that a text says can make the program read the file system.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use kubewright_value::Source;

use crate::find::{Input, PathFilter, is_relative_below};

/// Files by the paths that name them.
#[derive(Debug, Default)]
pub struct MemoryFiles {
    texts: BTreeMap<String, Arc<Source>>,
}

thread_local! {
    static CURRENT: RefCell<Option<Arc<MemoryFiles>>> = const { RefCell::new(None) };
}

impl MemoryFiles {
    /// Adds a file at `path`, whose name in messages is that of `source`; it replaces one at the same path.
    pub fn insert(&mut self, path: impl Into<String>, source: Arc<Source>) {
        self.texts.insert(path.into(), source);
    }

    /// Returns the file at `path`.
    #[must_use]
    pub fn source(&self, path: &str) -> Option<Arc<Source>> {
        self.texts.get(path).cloned()
    }

    /// Does `work`, which reads these files in place of all others.
    pub fn in_place_of_all<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        with_memory(Some(Arc::clone(self)), work)
    }

    /// Returns the file at `path`, or the files below it that are `wanted`.
    pub(crate) fn find(&self, path: &str, wanted: PathFilter<'_>) -> Vec<Input> {
        if let Some(source) = self.texts.get(path) {
            return vec![Input::Text(Arc::clone(source))];
        }
        let below =
            self.texts.iter().filter(|(name, _)| is_relative_below(name, path) && wanted(name.as_ref()));
        below.map(|(_, source)| Input::Text(Arc::clone(source))).collect()
    }
}

/// Returns the files that are in place of all others on this thread.
pub(crate) fn current_memory() -> Option<Arc<MemoryFiles>> {
    CURRENT.with_borrow(Clone::clone)
}

/// Does `work` on this thread with `files`, which another thread has in place.
pub(crate) fn with_memory<T>(files: Option<Arc<MemoryFiles>>, work: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also when the work panics.
    struct Restored(Option<Arc<MemoryFiles>>);
    impl Drop for Restored {
        fn drop(&mut self) {
            CURRENT.set(self.0.take());
        }
    }
    let _restored = Restored(CURRENT.replace(files));
    work()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kubewright_value::Source;

    use super::MemoryFiles;
    use crate::{Input, find_files, read_documents, workers};

    fn memory(files: &[(&str, &str)]) -> Arc<MemoryFiles> {
        let mut memory = MemoryFiles::default();
        for (path, text) in files {
            memory.insert(*path, Source::new(*path, *text));
        }
        Arc::new(memory)
    }

    fn names(paths: &[&str]) -> Vec<String> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let mut names: Vec<String> = find_files(&paths).inputs.iter().map(Input::name).collect();
        names.extend(find_files(&paths).problems.iter().map(|problem| problem.message.clone()));
        names
    }

    #[test]
    fn texts_are_found_by_file_and_folder() {
        let files = memory(&[
            ("a/one.yaml", ""),
            ("a/b/two.yaml", ""),
            ("a/kubewright-test.yaml", ""),
            ("ab.yaml", ""),
        ]);
        files.in_place_of_all(|| {
            assert_eq!(names(&["a/one.yaml"]), ["a/one.yaml"]);
            assert_eq!(names(&["a"]), ["a/b/two.yaml", "a/one.yaml"]);
            assert_eq!(names(&["./a/"]), ["a/b/two.yaml", "a/one.yaml"]);
            assert_eq!(names(&["."]), ["a/b/two.yaml", "a/one.yaml", "ab.yaml"]);
        });
    }

    #[test]
    fn the_file_system_is_out_of_reach() {
        let files = memory(&[]);
        let own = env!("CARGO_MANIFEST_DIR");
        files.in_place_of_all(|| {
            for path in [&format!("{own}/Cargo.toml"), own, "-", "/etc/hosts", "src/*.rs"] {
                assert_eq!(
                    names(&[path]),
                    [format!("cannot read `{path}`: there is no such file")],
                    "{path}"
                );
            }
            let read = read_documents(&[Input::File(format!("{own}/Cargo.toml").into())], &mut Vec::new());
            assert!(read.is_empty());
        });
        assert_eq!(names(&[&format!("{own}/Cargo.toml")]).len(), 1);
    }

    #[test]
    fn threads_that_help_see_the_same_files() {
        let files = memory(&[("one.yaml", "a: 1")]);
        let seen = files.in_place_of_all(|| workers::run_on_workers(&[1, 2, 3], |_| names(&["one.yaml"])));
        assert_eq!(seen.expect("threads"), vec![vec!["one.yaml".to_owned()]; 3]);
    }
}
