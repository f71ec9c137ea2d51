//! The suites of a corpus.

use std::fs;
use std::path::{Path, PathBuf};

/// The file that makes a folder a suite.
const SUITE_FILE: &str = "chainsaw-test.yaml";

/// What Kyverno's webhook configurations are called, and what ours are: a suite that asserts that there is one, and nothing of
/// its contents, asserts ours.
const OWN_NAMES: [(&str, &str); 3] = [
    ("kyverno-resource-validating-webhook-cfg", "kubewright"),
    ("kyverno-resource-mutating-webhook-cfg", "kubewright"),
    ("webhook.kyverno.io/managed-by: kyverno", "app.kubernetes.io/name: kubewright"),
];

/// One suite.
pub(crate) struct ChainsawSuite {
    /// Its folder below `chainsaw`, such as `validate/clusterpolicy/standard/any`.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) folder: PathBuf,
}

impl ChainsawSuite {
    /// The texts of all files of the suite.
    pub(crate) fn texts(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| fs::read_to_string(entry.path()).ok()).collect()
    }
}

/// Copies the suites of `corpus` into the folder `copy`, and returns that.
pub(crate) fn copy_suites(corpus: &Path, copy: &Path) -> Result<PathBuf, String> {
    let root = corpus.join("chainsaw");
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    if copy.exists() {
        fs::remove_dir_all(copy).map_err(|error| failed(copy, error))?;
    }
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let to = copy.join("chainsaw").join(folder.strip_prefix(&root).unwrap_or(&folder));
        fs::create_dir_all(&to).map_err(|error| failed(&to, error))?;
        for entry in fs::read_dir(&folder).map_err(|error| failed(&folder, error))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                copy_file(&path, &to.join(entry.file_name())).map_err(|error| failed(&path, error))?;
            }
        }
    }
    provide_templates(&copy.join("chainsaw"))?;
    Ok(copy.to_owned())
}

/// Copies a file of a suite with our names in place of Kyverno's.
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::copy(from, to)?;
    let Ok(text) = fs::read_to_string(from) else { return Ok(()) };
    let own = OWN_NAMES.iter().fold(text.clone(), |text, (theirs, own)| text.replace(theirs, own));
    if own == text { Ok(()) } else { fs::write(to, own) }
}

/// Gives suites the templates of the corpus where they name ones that are not there: folders of suites are moved without
/// theirs.
fn provide_templates(root: &Path) -> Result<(), String> {
    for suite in suites_below(root)? {
        let text = fs::read_to_string(suite.folder.join(SUITE_FILE)).unwrap_or_default();
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("template: "));
        for wanted in names
            .map(|name| suite.folder.join(name.trim().trim_start_matches('/')))
            .filter(|wanted| !wanted.exists())
        {
            let Some(name) = wanted.file_name() else { continue };
            let common = root.join("_step-templates").join(name);
            if let Some(folder) = wanted.parent().filter(|_| common.is_file()) {
                // A folder that a path only passes through must be there too.
                let folder = plain_path(folder);
                let made = fs::create_dir_all(&folder).and_then(|()| fs::copy(&common, folder.join(name)));
                made.map_err(|error| format!("{}: {error}", folder.display()))?;
            }
        }
    }
    Ok(())
}

/// Returns `path` without `..`.
fn plain_path(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// Returns the suites below `corpus`, sorted, of which the names start with one of `only`.
pub(crate) fn find_suites(corpus: &Path, only: &[String]) -> Result<Vec<ChainsawSuite>, String> {
    let root = corpus.join("chainsaw");
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let mut suites = suites_below(&root)?;
    suites.retain(|suite| only.is_empty() || only.iter().any(|start| is_below(&suite.name, start)));
    suites.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(suites)
}

fn suites_below(root: &Path) -> Result<Vec<ChainsawSuite>, String> {
    let mut suites = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in
            fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?.flatten()
        {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().is_some_and(|name| name == SUITE_FILE) {
                let name = folder.strip_prefix(root).unwrap_or(&folder).display().to_string();
                suites.push(ChainsawSuite { name, folder: folder.clone() });
            }
        }
    }
    Ok(suites)
}

/// Returns whether `name` is `start` or below it.
pub(crate) fn is_below(name: &str, start: &str) -> bool {
    let start = start.trim_end_matches('/');
    name.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn a_name_is_below_its_folders_only() {
        assert!(is_below("validate/any", "validate"));
        assert!(is_below("validate/any", "validate/any/"));
        assert!(!is_below("validating-policies/any", "valid"));
    }
}
