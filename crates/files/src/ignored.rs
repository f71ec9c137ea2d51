//! Files that the project leaves out of folders. A file that is named itself is always read.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::glob::glob_matches;

/// The folder of the project, and the patterns of the files that it leaves out.
static IGNORED: Mutex<Option<(PathBuf, Vec<String>)>> = Mutex::new(None);

/// Leaves files and folders out of every search below `folder` that fit one of `patterns`: `*` and `?` within a name, `**` for
/// any number of folders. A pattern without `/` is about names in every folder.
pub fn ignore_files(folder: &Path, patterns: &[String]) {
    let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    *IGNORED.lock().unwrap_or_else(PoisonError::into_inner) = Some((folder, patterns.to_vec()));
}

/// Returns whether the project leaves `path` out.
pub(crate) fn is_ignored(path: &Path) -> bool {
    let ignored = IGNORED.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((folder, patterns)) = ignored.as_ref().filter(|(_, patterns)| !patterns.is_empty()) else {
        return false;
    };
    let Ok(path) = std::path::absolute(path) else { return false };
    let real = path.parent().and_then(|parent| std::fs::canonicalize(parent).ok()).unwrap_or_default();
    let real = path.file_name().map_or(path.clone(), |name| real.join(name));
    let Ok(below) = real.strip_prefix(folder) else { return false };
    let names: Vec<&str> = below.iter().filter_map(|name| name.to_str()).collect();
    patterns.iter().any(|pattern| fits(pattern, &names))
}

fn fits(pattern: &str, names: &[&str]) -> bool {
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let mut segments: Vec<&str> = pattern.split('/').filter(|segment| !segment.is_empty()).collect();
    if segments.len() == 1 {
        segments.insert(0, "**");
    }
    // What is below a folder that is left out is never searched.
    (1..=names.len()).any(|count| glob_matches(&segments, names.get(..count).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_fits(pattern: &str, path: &str, want: bool) {
        let names: Vec<&str> = path.split('/').collect();
        assert_eq!(fits(pattern, &names), want, "{pattern} on {path}");
    }

    #[test]
    fn patterns_leave_out_names_paths_and_whole_folders() {
        check_fits("generated", "a/generated/x.yaml", true);
        check_fits("*.tmp.yaml", "a/b/x.tmp.yaml", true);
        check_fits("a/*.yaml", "a/x.yaml", true);
        check_fits("a/*.yaml", "b/a/x.yaml", false);
        check_fits("vendor/", "vendor/deep/x.yaml", true);
        check_fits("**/test/**", "a/test/x.yaml", true);
        check_fits("test", "a/tests/x.yaml", false);
    }
}
