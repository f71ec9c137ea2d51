//! Commands that are shown without `$`, such as those for a cluster, are not run; but their subcommand and flags exist.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use super::{pages, repository};

const BINARY: &str = env!("CARGO_BIN_EXE_kubewright");

/// The commands of a page: lines of blocks, and code in the text.
fn mentioned_commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            let line = line.strip_prefix("$ ").unwrap_or(line);
            found.extend(line.split(['|', ';']).flat_map(|part| part.split("&&")).map(str::to_owned));
        } else {
            found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    found.retain(|command| command.trim_start().starts_with("kubewright "));
    found
}

/// The subcommand and the long flags of a command.
fn used_flags(command: &str) -> Option<(String, Vec<String>)> {
    let command = command.split([' ', '\t']).filter(|word| !word.is_empty());
    let words: Vec<&str> = command.take_while(|word| !word.starts_with(['#', '>', '\\'])).collect();
    let name = words.get(1).filter(|word| word.bytes().all(|byte| byte.is_ascii_lowercase()))?;
    let is_flag = |word: &&&str| {
        word.strip_prefix("--").is_some_and(|name| name.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let flags = words.iter().filter(is_flag).map(|word| {
        word.chars().take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-').collect()
    });
    let name = if *name == "generate" { "generate vap" } else { name };
    Some((name.to_owned(), flags.collect()))
}

fn help(subcommand: &str) -> Option<Vec<String>> {
    let output =
        Command::new(BINARY).args(subcommand.split(' ')).arg("--help").output().expect("the binary starts");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').map(str::to_owned);
    output.status.success().then(|| words.collect())
}

#[test]
fn every_flag_of_the_pages_exists() {
    let mut known: BTreeMap<String, Option<Vec<String>>> = BTreeMap::new();
    let (mut count, mut unknown) = (0, Vec::new());
    // The changelog has flags of the past, and the other page a table of crates.
    let others = ["CHANGELOG.md", "ARCHITECTURE.md"];
    for page in pages().into_iter().filter(|page| !others.contains(&page.as_str())) {
        let text = fs::read_to_string(repository(&page)).expect("a page");
        for command in mentioned_commands(&text) {
            let Some((name, flags)) = used_flags(&command) else { continue };
            let words = known.entry(name.clone()).or_insert_with(|| help(&name));
            let Some(words) = words else {
                unknown.push(format!("{page}: {command}"));
                continue;
            };
            count += flags.len();
            let missing = flags.iter().filter(|flag| !words.contains(flag));
            unknown.extend(missing.map(|flag| format!("{page}: {flag} in {command}")));
        }
    }
    assert!(count > 100, "only {count} flags were found");
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}
