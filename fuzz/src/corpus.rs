//! Inputs that are known to reach much code: `fuzz/corpus/TARGET.jsonl` has one a line, a JSON string, or an object
//! with `base64` for bytes that are not UTF-8.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::{Source, Value, json, yaml};

use crate::targets::FuzzTarget;

/// The most bytes that the corpus of one target may have in the repository.
const MAX_CORPUS_BYTES: usize = 56 << 10;

/// The most bytes that one input may have in the repository.
const MAX_KEPT_INPUT_BYTES: usize = 4 << 10;

/// The folders of the repository whose files are inputs.
const INPUT_FOLDERS: &[&str] = &["examples", "patterns", "tests", "crates"];

/// The endings of files that are inputs.
const INPUT_ENDINGS: &[&str] = &["yaml", "yml", "json", "jsonl", "tpl"];

/// The longest file that is an input.
const MAX_FILE_BYTES: u64 = 16 << 10;

/// The longest text within a file that is an input of its own.
const MAX_TEXT_BYTES: usize = 1 << 10;

/// Characters of expressions, templates, patterns and documents, which names and images do not have.
const SYNTAX: [char; 16] = ['{', '(', '[', '$', '@', '*', '?', '<', '>', '=', '!', '&', '|', '%', '~', '\n'];

/// Returns the seeds of a target and its corpus.
///
/// # Errors
///
/// When the corpus cannot be read.
pub fn known_inputs(target: &FuzzTarget) -> Result<Vec<Vec<u8>>, String> {
    let mut inputs: Vec<Vec<u8>> = target.seeds.iter().map(|text| text.as_bytes().to_vec()).collect();
    inputs.extend(read_corpus(target)?);
    Ok(inputs)
}

/// Writes inputs as the corpus of a target, the shortest first and as many as the repository is to have.
///
/// # Errors
///
/// When the file cannot be written.
pub fn write_corpus(target: &FuzzTarget, mut inputs: Vec<Vec<u8>>) -> Result<usize, String> {
    inputs.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
    inputs.dedup();
    let mut text = String::new();
    let mut count = 0;
    for input in inputs.iter().filter(|input| input.len() <= MAX_KEPT_INPUT_BYTES) {
        let line = write_input(input);
        if text.len() + line.len() > MAX_CORPUS_BYTES {
            break;
        }
        text.push_str(&line);
        text.push('\n');
        count += 1;
    }
    let path = corpus_file(target);
    std::fs::write(&path, text).map_err(|error| format!("cannot write `{}`: {error}", path.display()))?;
    Ok(count)
}

/// Writes each input as a file of `folder`, which libFuzzer reads.
///
/// # Errors
///
/// When a file cannot be written.
pub fn write_input_files(folder: &Path, inputs: &[Vec<u8>]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write to `{}`: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(failed)?;
    for input in inputs {
        std::fs::write(folder.join(input_name(input)), input).map_err(failed)?;
    }
    Ok(())
}

/// Returns the content of all files of `folder`.
///
/// # Errors
///
/// When the folder or a file cannot be read.
pub fn read_input_files(folder: &Path) -> Result<Vec<Vec<u8>>, String> {
    let failed = |error: std::io::Error| format!("cannot read `{}`: {error}", folder.display());
    let mut inputs = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        inputs.push(std::fs::read(entry.map_err(failed)?.path()).map_err(failed)?);
    }
    Ok(inputs)
}

/// Returns the files below `folders` that are not too long, and the texts within them that are more than names: a
/// target takes from these what reaches new code.
#[must_use]
pub fn inputs_below(folders: &[PathBuf]) -> Vec<Vec<u8>> {
    let mut found = BTreeSet::new();
    for file in folders.iter().flat_map(|folder| files_below(folder)) {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        // A line of `jsonl` is a case of its own.
        for document in yaml::read(&Source::new("input", text.as_str())).documents {
            add_texts(&document.value, &mut found);
        }
        for value in text.lines().filter_map(|line| json::parse(line).ok()) {
            add_texts(&value, &mut found);
        }
        found.insert(text.into_bytes());
    }
    found.into_iter().collect()
}

/// Returns the folders of the repository that have inputs.
#[must_use]
pub fn repository_folders() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    INPUT_FOLDERS.iter().map(|name| root.join(name)).collect()
}

/// Returns a name for an input that depends on its bytes alone.
pub(crate) fn input_name(input: &[u8]) -> String {
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn corpus_file(target: &FuzzTarget) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{}.jsonl", target.name))
}

fn read_corpus(target: &FuzzTarget) -> Result<Vec<Vec<u8>>, String> {
    let path = corpus_file(target);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
    let lines = text.lines().enumerate();
    lines
        .map(|(index, line)| {
            read_input(line).ok_or_else(|| format!("{}:{}: not an input", path.display(), index + 1))
        })
        .collect()
}

fn read_input(line: &str) -> Option<Vec<u8>> {
    let value = json::parse(line).ok()?;
    match value.as_str() {
        Some(text) => Some(text.as_bytes().to_vec()),
        None => STANDARD.decode(value.get("base64")?.as_str()?).ok(),
    }
}

fn write_input(input: &[u8]) -> String {
    match std::str::from_utf8(input) {
        Ok(text) => json::quote(text),
        Err(_) => format!("{{\"base64\":\"{}\"}}", STANDARD.encode(input)),
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let is_input =
            path.extension().is_some_and(|ending| INPUT_ENDINGS.iter().any(|known| ending == *known));
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if is_input && path.metadata().is_ok_and(|file| file.len() <= MAX_FILE_BYTES) {
            files.push(path);
        }
    }
    files
}

/// Adds the texts of a value that are more than a name.
fn add_texts(value: &Value, found: &mut BTreeSet<Vec<u8>>) {
    match value {
        Value::String(text) if text.len() <= MAX_TEXT_BYTES && text.contains(SYNTAX) => {
            found.insert(text.as_bytes().to_vec());
        }
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, found)),
        Value::Object(map) => map.values().for_each(|item| add_texts(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{read_input, write_input};

    #[track_caller]
    fn check(input: &[u8], line: &str) {
        assert_eq!(write_input(input), line);
        assert_eq!(read_input(line).as_deref(), Some(input));
    }

    #[test]
    fn inputs_are_read_as_they_were_written() {
        check(b"a\n\"b\"", r#""a\n\"b\"""#);
        check(b"", r#""""#);
        check(&[0xff, 0], r#"{"base64":"/wA="}"#);
    }
}
