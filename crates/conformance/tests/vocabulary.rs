//! Names that can be told apart: what the workspace calls its types, functions and constants.
//!
//! A name is counted where its item is declared at the top level of a file of production code. `rustfmt` puts such
//! items at the start of a line, so lines are enough to find them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use kubewright_conformance::workspace::{files_below, production_sources, workspace_root};

/// How many of a hundred declarations must have a name that no declaration before them has.
const MIN_DISTINCT_TYPE_PERCENT: usize = 85;
const MIN_DISTINCT_FUNCTION_PERCENT: usize = 80;

/// How many files may declare a type of the same name.
const MAX_FILES_PER_TYPE_NAME: usize = 4;

/// How many of the most repeated names a failing test prints.
const WORST_NAMES_SHOWN: usize = 40;

/// Types and traits that every Rust file has in scope.
const PRELUDE: &[&str] = &[
    "AsMut",
    "AsRef",
    "AsyncFn",
    "AsyncFnMut",
    "AsyncFnOnce",
    "Box",
    "Clone",
    "Copy",
    "Default",
    "DoubleEndedIterator",
    "Drop",
    "Eq",
    "ExactSizeIterator",
    "Extend",
    "Fn",
    "FnMut",
    "FnOnce",
    "From",
    "FromIterator",
    "Future",
    "Into",
    "IntoFuture",
    "IntoIterator",
    "Iterator",
    "Option",
    "Ord",
    "PartialEq",
    "PartialOrd",
    "Result",
    "Send",
    "Sized",
    "String",
    "Sync",
    "ToOwned",
    "ToString",
    "TryFrom",
    "TryInto",
    "Unpin",
    "Vec",
];

/// Endings that say what a constant of type `Duration` measures.
const DURATION_NOUNS: &[&str] = &[
    "AGE", "BACKOFF", "DEADLINE", "DEBOUNCE", "DELAY", "DURATION", "GRACE", "INTERVAL", "JITTER", "LATENCY",
    "LIFETIME", "MARGIN", "PAUSE", "PERIOD", "SILENCE", "TIME", "TIMEOUT", "TTL", "VALIDITY", "WINDOW",
];

/// Constants that say how much and not of what.
const NOUNLESS_CONSTANTS: &[&str] = &[
    "BIG", "ENOUGH", "FEW", "GOOD", "LARGEST", "LEAST", "LONG", "LONGEST", "MANY", "MAX", "MIN", "MOMENT",
    "MOST", "OFTEN", "PATIENCE", "QUIET", "SELDOM", "SHORT", "SHOWN", "SMALL", "SOON", "TOGETHER", "TOLD",
    "VERY_OLD",
];

/// Words that hide what a sentence is about, and the pages and sources in which they are counted.
const RIDDLES: &[&str] = &["nobody", "somebody", "whoever", "hardly meant"];
const MAX_RIDDLES: usize = 10;

/// One declaration at the top level of a file.
struct Declaration {
    name: String,
    file: PathBuf,
}

#[test]
fn type_names_are_distinct() {
    let types = declarations(|line| declared_after(line, &["struct", "enum", "trait", "type", "union"]));
    let crowded: Vec<String> = by_name(&types)
        .into_iter()
        .filter(|(_, files)| files.iter().collect::<BTreeSet<_>>().len() > MAX_FILES_PER_TYPE_NAME)
        .map(|(name, files)| format!("{name}: {files:?}"))
        .collect();
    assert!(crowded.is_empty(), "types declared in more than {MAX_FILES_PER_TYPE_NAME} files: {crowded:#?}");
    check_distinct("types", &types, MIN_DISTINCT_TYPE_PERCENT);
}

#[test]
fn free_function_names_are_distinct() {
    let functions = declarations(|line| declared_after(line, &["fn"])).into_iter();
    let functions: Vec<Declaration> = functions.filter(|function| function.name != "main").collect();
    check_distinct("free functions", &functions, MIN_DISTINCT_FUNCTION_PERCENT);
}

#[test]
fn no_type_shadows_the_prelude() {
    let types = declarations(|line| declared_after(line, &["struct", "enum", "trait", "type", "union"]));
    let shadows: Vec<String> = types
        .iter()
        .filter(|declared| PRELUDE.contains(&declared.name.as_str()))
        .map(|declared| format!("{}: {}", declared.file.display(), declared.name))
        .collect();
    assert!(shadows.is_empty(), "{shadows:#?}");
}

#[test]
fn constants_have_a_noun_and_durations_say_what_they_measure() {
    let mut wrong = Vec::new();
    for (path, content) in production_sources() {
        for line in content.lines() {
            let Some(name) = declared_after(line, &["const", "static"]) else { continue };
            let is_duration = line.contains(": Duration");
            let measures = DURATION_NOUNS.iter().any(|noun| name.split('_').next_back() == Some(noun));
            if NOUNLESS_CONSTANTS.contains(&name.as_str()) || is_duration && !measures {
                wrong.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn texts_name_what_they_are_about() {
    let mut files = production_sources();
    files.extend(files_below(&workspace_root().join("docs"), "md"));
    for page in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"] {
        files.push((PathBuf::from(page), fs::read_to_string(workspace_root().join(page)).expect("a page")));
    }
    let mut found = Vec::new();
    for (path, content) in files.iter().filter(|(path, _)| !path.ends_with("vocabulary.rs")) {
        for (number, line) in content.lines().enumerate() {
            let lower = line.to_lowercase();
            let riddles = RIDDLES.iter().filter(|word| lower.contains(**word));
            found.extend(riddles.map(|word| format!("{}:{}: {word}", path.display(), number + 1)));
        }
    }
    assert!(found.len() <= MAX_RIDDLES, "{} riddles: {found:#?}", found.len());
}

#[test]
fn the_glossary_is_short_and_its_code_exists() {
    let page = fs::read_to_string(workspace_root().join("docs/glossary.md")).expect("docs/glossary.md");
    // The words for users, before these, have no name in the code.
    let (_, code_words) = page.split_once("## For contributors").expect("the words of the code");
    let rows: Vec<Vec<&str>> = code_words
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| word"))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(!rows.is_empty() && rows.len() <= 60, "{} words, at most 60", rows.len());
    let code: String = production_sources().into_iter().map(|(_, content)| content).collect();
    let names = rows
        .iter()
        .flat_map(|row| row.last().map(|cell| cell.split('`').skip(1).step_by(2)).into_iter().flatten());
    let missing: Vec<&str> = names.filter(|name| !code.contains(name.trim_end_matches(['_', '…']))).collect();
    assert!(missing.is_empty(), "named in the glossary and not in the code: {missing:?}");
}

fn check_distinct(what: &str, declared: &[Declaration], min_percent: usize) {
    let names = by_name(declared);
    let percent = names.len() * 100 / declared.len();
    println!("{what}: {} declared, {} distinct ({percent} %)", declared.len(), names.len());
    let mut worst: Vec<(usize, &str)> = names.iter().map(|(name, files)| (files.len(), *name)).collect();
    worst.sort_by(|left, right| right.cmp(left));
    worst.truncate(WORST_NAMES_SHOWN);
    assert!(
        percent >= min_percent,
        "{what}: {percent} % distinct, want {min_percent} %; most repeated: {worst:?}"
    );
}

fn by_name(declared: &[Declaration]) -> BTreeMap<&str, Vec<&Path>> {
    let mut names: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
    for declaration in declared {
        names.entry(&declaration.name).or_default().push(&declaration.file);
    }
    names
}

fn declarations(name_of: impl Fn(&str) -> Option<String>) -> Vec<Declaration> {
    let mut found = Vec::new();
    for (file, content) in production_sources() {
        let names = content.lines().filter_map(&name_of);
        found.extend(names.map(|name| Declaration { name, file: file.clone() }));
    }
    assert!(found.len() > 1000, "only {} declarations", found.len());
    found
}

/// Returns the name that `line` declares with one of `keywords`.
fn declared_after(line: &str, keywords: &[&str]) -> Option<String> {
    let mut words = line.split_whitespace().peekable();
    if line.starts_with(' ') {
        return None;
    }
    while words
        .next_if(|word| word.starts_with("pub") || ["const", "async"].contains(word) && keywords == ["fn"])
        .is_some()
    {}
    let keyword = words.next()?;
    let name = words.next()?;
    let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
    let name = name.get(..end)?;
    (keywords.contains(&keyword) && !name.is_empty() && name != "_").then(|| name.to_owned())
}
