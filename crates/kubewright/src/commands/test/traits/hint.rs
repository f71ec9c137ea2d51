//! The words that render what a case renders, for whoever wants to see why it fails.
//!
//! Only where the command line can say all of it: what is written in the test file itself stays there.

use std::path::Path;

use kubewright_files::relative_path;
use kubewright_value::{Document, Map, Text, Value, json};

use super::super::file::TestFile;
use super::file::{Given, Subject, TraitCase};

/// What can be set with `--set`, besides what a trait is given.
const SETTABLE: [&str; 7] =
    ["metadata", "workload", "configurations", "dependencies", "dataplane", "environment", "gateway"];

/// Returns the command that does what `case` does; `trait_file` is the file that holds its only trait and no other.
pub(super) fn command(
    case: &TraitCase,
    file: &TestFile,
    folder: &Path,
    trait_file: Option<&str>,
) -> Option<String> {
    let mut words = vec!["kubewright render".to_owned()];
    if let Subject::Component(..) = &case.subject {
        words.extend(file.rules.iter().map(|path| format!("-f {}", relative_path(folder, path))));
    }
    words.extend(base(case, file)?.map(|path| format!("-f {}", relative_path(folder, path))));
    for context in [&file.context, &case.context] {
        for (name, value) in context.value.as_object().into_iter().flat_map(Map::iter) {
            words.extend(SETTABLE.contains(&name.as_str()).then(|| settings(name, value))??);
        }
    }
    words.extend(settings("metadata", &case.metadata.value)?);
    match &case.subject {
        Subject::Stack(path) => {
            words.push(format!("--stack {}", relative_path(folder, path)));
            words.extend(file.rules.iter().map(|path| format!("--trait {}", relative_path(folder, path))));
        }
        Subject::Component(name, environment) => {
            words.push(format!("--component {name}"));
            words.extend(environment.iter().map(|name| format!("--environment {name}")));
        }
        Subject::Instances(uses) => {
            let [used] = uses.as_slice() else { return None };
            // An instance of another name can only be in a stack.
            if used.name != used.of {
                return None;
            }
            words.push(format!("--trait {}", trait_file?));
            let given: [(&str, &Document); 2] =
                [("parameters", &used.parameters), ("environmentConfigs", &used.environment_configs)];
            for (root, given) in given {
                words.extend(settings(root, &given.value)?);
            }
        }
    }
    words.extend(case.is_strict.then(|| "--strict".to_owned()));
    words.push("--trace".to_owned());
    Some(words.join(" "))
}

/// Returns the files of the base; nothing where a manifest stands in the test file.
fn base<'c>(case: &'c TraitCase, file: &'c TestFile) -> Option<impl Iterator<Item = &'c String>> {
    let own: Option<Vec<&String>> = match &case.base {
        None => Some(file.resources.iter().collect()),
        Some(given) => given
            .iter()
            .map(|given| match given {
                Given::Files(path) => Some(path),
                Given::Inline(_) => None,
            })
            .collect(),
    };
    own.filter(|paths| !paths.is_empty()).map(Vec::into_iter)
}

/// Returns a word for each entry of `values`.
fn settings(root: &str, values: &Value) -> Option<Vec<String>> {
    let setting = |(key, value): (&Text, &Value)| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
        let key = key.replace('.', "\\.");
        let text = json::to_shown_string(value);
        let is_simple = key.chars().all(is_plain) && text.chars().all(is_plain);
        let setting = format!("{root}.{key}={text}");
        // A key or text that the shell or `--set` would read otherwise is not said.
        let is_sayable = key.chars().all(|c| is_plain(c) || c == '\\') && !text.contains(['\'', '\n']);
        is_sayable.then(|| if is_simple { format!("--set {setting}") } else { format!("--set '{setting}'") })
    };
    values.as_object().into_iter().flat_map(Map::iter).map(setting).collect()
}
