//! Every resulting object in a file of its own.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubewright_report::render::yaml_text;
use kubewright_report::{ObjectRow, Renderer, Report};
use kubewright_value::Value;

use super::file::write_named_by_object;
use crate::failure::CommandFailure;

/// The longest file name that is made from an object's name.
const MAX_FILE_NAME_CHARACTERS: usize = 200;

/// Writes objects into a folder.
pub(crate) struct FolderRenderer {
    path: PathBuf,
    names: FileNames,
}

/// The names of the files in one folder, none of them twice, not even where capital letters do not count.
#[derive(Debug, Default)]
pub(crate) struct FileNames {
    // In lower case.
    taken: HashSet<String>,
    // The number to try next for a name that was taken.
    next: HashMap<String, usize>,
}

impl FolderRenderer {
    /// Makes the folder.
    pub(crate) fn create(path: &Path) -> Result<Self, CommandFailure> {
        fs::create_dir_all(path).map_err(CommandFailure::writing(path))?;
        Ok(Self { path: path.to_owned(), names: FileNames::default() })
    }
}

impl FileNames {
    /// Keeps `name` from being given to anything else.
    pub(crate) fn keep(&mut self, name: &str) {
        self.take(name);
    }

    /// Returns `kind-namespace-name.EXTENSION`, numbered from the second of that name on.
    pub(crate) fn next(&mut self, kind: &str, namespace: &str, name: &str, extension: &str) -> String {
        let kind = kind.to_lowercase();
        let parts = [kind.as_str(), namespace, name];
        let parts: Vec<String> =
            parts.iter().filter(|part| !part.is_empty()).map(|part| safe_file_name(part)).collect();
        let stem: String = parts.join("-").chars().take(MAX_FILE_NAME_CHARACTERS).collect();
        let mut name = format!("{stem}.{extension}");
        while !self.take(&name) {
            let number = self.next.entry(stem.to_lowercase()).or_insert(2);
            name = format!("{stem}-{number}.{extension}");
            *number += 1;
        }
        name
    }

    /// Returns whether `name` was free.
    fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.to_lowercase())
    }
}

/// Returns `part` with everything replaced that could lead out of the folder.
pub(crate) fn safe_file_name(part: &str) -> String {
    let is_dots = part.chars().all(|c| c == '.');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c) || (c == '.' && !is_dots);
    part.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

impl Renderer for FolderRenderer {
    fn object(&mut self, row: &ObjectRow, _prepared: &str) -> io::Result<()> {
        let is_own = |object: &Value| object.str_at(&["kind"]) == row.kind;
        for object in row.resulting_objects() {
            let text = |key: &str| object.str_at(&["metadata", key]);
            // The object that was read may get its namespace from an option.
            let name = match is_own(object) && text("name") == row.name.as_str() {
                true => self.names.next(&row.kind, &row.namespace, &row.name, "yaml"),
                false => self.names.next(object.str_at(&["kind"]), text("namespace"), text("name"), "yaml"),
            };
            let path = self.path.join(name);
            write_named_by_object(&path, &yaml_text(object)).map_err(io::Error::other)?;
        }
        Ok(())
    }

    fn finish(&mut self, _report: &Report<'_>) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out_of_the_folder() {
        for (name, want) in [
            ("..", "__"),
            (".", "_"),
            ("...", "___"),
            ("../../x", ".._.._x"),
            ("a.b", "a.b"),
            ("/etc", "_etc"),
        ] {
            assert_eq!(safe_file_name(name), want);
        }
    }

    #[test]
    fn names_that_differ_in_capital_letters_are_numbered() {
        let mut names = FileNames::default();
        let next: Vec<String> = ["a", "A", "a", "b"].map(|name| names.next("Role", "", name, "yaml")).into();
        assert_eq!(next, ["role-a.yaml", "role-A-2.yaml", "role-a-3.yaml", "role-b.yaml"]);
    }
}
