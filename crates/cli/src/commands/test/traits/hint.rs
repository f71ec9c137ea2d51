//! The `render` command that reproduces a case.
//!
//! There is none if the command line cannot express the case, for example with inline objects.

use std::path::Path;

use kubewright_files::relative_path;
use kubewright_value::{Document, Map, Text, Value, json};

use super::super::file::TestCaseFile;
use super::file::{CaseManifests, TraitCase, TraitSubject};

/// The roots that `--set` accepts, except those of a trait.
const SETTABLE: [&str; 7] =
    ["metadata", "workload", "configurations", "dependencies", "dataplane", "environment", "gateway"];

/// Returns the command that reproduces `case`; `trait_file` is the file that contains its only trait and no other.
pub(super) fn render_command(
    case: &TraitCase,
    file: &TestCaseFile,
    folder: &Path,
    trait_file: Option<&str>,
) -> Option<String> {
    let mut words = vec!["kubewright render".to_owned()];
    if let TraitSubject::Component(..) = &case.subject {
        words.extend(file.rules.iter().map(|path| format!("-f {}", relative_path(folder, path))));
    }
    words.extend(base_files(case, file)?.map(|path| format!("-f {}", relative_path(folder, path))));
    for context in [&file.context, &case.context] {
        for (name, value) in context.value.as_object().into_iter().flat_map(Map::iter) {
            words.extend(SETTABLE.contains(&name.as_str()).then(|| setting_words(name, value))??);
        }
    }
    words.extend(setting_words("metadata", &case.metadata.value)?);
    match &case.subject {
        TraitSubject::Stack(path) => {
            words.push(format!("--stack {}", relative_path(folder, path)));
            words.extend(file.rules.iter().map(|path| format!("--trait {}", relative_path(folder, path))));
        }
        TraitSubject::Component(name, environment) => {
            words.push(format!("--component {name}"));
            words.extend(environment.iter().map(|name| format!("--environment {name}")));
        }
        TraitSubject::Instances(uses) => {
            let [used] = uses.as_slice() else { return None };
            // An instance of another name can only be in a stack.
            if used.name != used.of {
                return None;
            }
            words.push(format!("--trait {}", trait_file?));
            let given: [(&str, &Document); 2] =
                [("parameters", &used.parameters), ("environmentConfigs", &used.environment_configs)];
            for (root, given) in given {
                words.extend(setting_words(root, &given.value)?);
            }
        }
    }
    words.extend(case.is_strict.then(|| "--strict".to_owned()));
    words.push("--trace".to_owned());
    Some(words.join(" "))
}

/// Returns the files of the base; `None` if a manifest is inline.
fn base_files<'c>(case: &'c TraitCase, file: &'c TestCaseFile) -> Option<impl Iterator<Item = &'c String>> {
    let own: Option<Vec<&String>> = match &case.base {
        None => Some(file.resources.iter().collect()),
        Some(given) => given
            .iter()
            .map(|given| match given {
                CaseManifests::Files(path) => Some(path),
                CaseManifests::Inline(_) => None,
            })
            .collect(),
    };
    own.filter(|paths| !paths.is_empty()).map(Vec::into_iter)
}

/// Returns a `--set` argument for each entry of `values`.
fn setting_words(root: &str, values: &Value) -> Option<Vec<String>> {
    let setting = |(key, value): (&Text, &Value)| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
        let key = key.replace('.', "\\.");
        let text = json::to_shown_string(value);
        let is_simple = key.chars().all(is_plain) && text.chars().all(is_plain);
        let setting = format!("{root}.{key}={text}");
        // No argument for keys or texts that the shell or `--set` would read differently.
        let is_sayable = key.chars().all(|c| is_plain(c) || c == '\\') && !text.contains(['\'', '\n']);
        is_sayable.then(|| if is_simple { format!("--set {setting}") } else { format!("--set '{setting}'") })
    };
    values.as_object().into_iter().flat_map(Map::iter).map(setting).collect()
}
