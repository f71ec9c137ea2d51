//! From the words of the command line to arguments: what follows `-r`, and help for words that mean nothing here.
//!
//! `-r` takes one value. A word after it is a positional argument again, with one exception: command lines such as
//! `apply rules/ -r a.yaml b.yaml` were allowed before, so a word that follows the value of `-r` and holds no rules is
//! another value of `-r`.

use std::cell::LazyCell;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process;

use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Command, Parser as _};
use kubewright_dialects::DialectOptions;
use kubewright_files as files;
use kubewright_patterns::shipped::shipped_pattern;

use super::{CommandLine, described_program};
use crate::failure::CommandFailure;
use crate::output::ColorChoice;

/// The names of the option for manifests.
const RESOURCE_FLAGS: [&str; 3] = ["-r", "--resources", "--resource"];
/// How many files of a folder are looked into to learn what it holds.
const MAX_SAMPLED_FILES: usize = 20;

/// Words that other tools have for what a command does.
const WISHES: &[(&str, &str, &str)] = &[
    ("validate", "apply RULES -r MANIFESTS", "runs rules on manifests"),
    ("check", "apply RULES -r MANIFESTS", "runs rules on manifests"),
    ("verify", "apply RULES -r MANIFESTS", "runs rules on manifests"),
    ("audit", "apply RULES -r MANIFESTS", "runs rules on manifests"),
    ("mutate", "apply RULES -r MANIFESTS --diff", "shows what rules change"),
    ("analyze", "detect -r MANIFESTS", "finds patterns and smells"),
    ("smells", "detect -r MANIFESTS", "finds patterns and smells"),
    ("draw", "graph -r MANIFESTS", "draws objects and the edges between them"),
    ("picture", "graph -r MANIFESTS", "draws objects and the edges between them"),
    ("visualize", "graph -r MANIFESTS", "draws objects and the edges between them"),
    ("template", "render -f MANIFESTS --trait TRAIT", "applies traits to manifests"),
    ("build", "render -f MANIFESTS --trait TRAIT", "applies traits to manifests"),
    ("explain-error", "explain CODE", "shows the page of a diagnostic"),
    ("docs", "explain CODE", "shows the page of a diagnostic"),
    ("jp", "eval jmespath EXPRESSION -f FILE", "evaluates an expression on an object"),
    ("create", "new KIND NAME", "writes a rule with a test that passes"),
    ("unittest", "test FOLDER", "runs the cases of test files"),
    ("version", "--version", "prints the version"),
    ("debug", "trace RULES -r MANIFESTS", "shows why each rule did what it did"),
    ("completion", "completions SHELL", "prints a completion script"),
];

/// Returns the arguments, or ends the program with what is wrong with them.
pub(crate) fn parse_command_line() -> CommandLine {
    let words = with_resource_flags(with_called_name(env::args_os().collect()));
    match CommandLine::try_parse_from(&words) {
        Ok(arguments) => arguments,
        Err(error) => match better_failure(&error, &words) {
            None => error.exit(),
            Some(failure) => {
                let code = failure.report(ColorChoice::Auto.paint_errors());
                // The only exit code of a usage failure.
                debug_assert_eq!(code, process::ExitCode::from(2));
                process::exit(2)
            }
        },
    }
}

/// Returns `words` with the name that the user typed: kubectl runs `kubectl-kubewright` for `kubectl kubewright`.
fn with_called_name(mut words: Vec<OsString>) -> Vec<OsString> {
    if let Some(program) = words.first_mut() {
        let name = Path::new(program).file_stem().and_then(OsStr::to_str).unwrap_or_default();
        if let Some(plugin) = name.strip_prefix("kubectl-") {
            *program = format!("kubectl {plugin}").into();
        }
    }
    words
}

/// Returns `words` with `-r` before each further value of it.
fn with_resource_flags(words: Vec<OsString>) -> Vec<OsString> {
    let said: Vec<String> = words.iter().filter_map(|word| word.to_str().map(str::to_owned)).collect();
    // Few command lines have a word to decide about, and only those need the description of all commands.
    let command = LazyCell::new(|| named_command(&said));
    let mut sorted = Vec::with_capacity(words.len());
    let mut is_after_value = false;
    let mut rest = words.into_iter();
    while let Some(word) = rest.next() {
        let text = word.to_str().unwrap_or_default();
        if RESOURCE_FLAGS.contains(&text) {
            sorted.push(word);
            sorted.extend(rest.next());
            is_after_value = true;
            continue;
        }
        is_after_value &= text == "-" || !text.starts_with('-');
        if is_after_value
            && let Some(command) = &*command
            && !(command.get_positionals().next().is_some() && is_positional(text))
        {
            sorted.push("-r".into());
        }
        sorted.push(word);
    }
    sorted
}

/// Returns the command that `words` name.
fn named_command(words: &[String]) -> Option<Command> {
    let program = described_program();
    words
        .iter()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .find_map(|word| program.find_subcommand(word))
        .cloned()
}

/// Returns whether a word after the value of `-r` names rules or a built-in pattern.
fn is_positional(word: &str) -> bool {
    match contents(word) {
        FileContents::Rules => true,
        FileContents::Objects | FileContents::Both => false,
        FileContents::Nothing => !Path::new(word).exists() && shipped_pattern(word).is_some(),
    }
}

/// What a file or folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileContents {
    Rules,
    Objects,
    Both,
    Nothing,
}

/// Returns what the file or folder holds, as far as its first files say.
fn contents(path: &str) -> FileContents {
    if path == "-" || !Path::new(path).exists() {
        return FileContents::Nothing;
    }
    let mut inputs = files::find_files(&[path.to_owned()]).inputs;
    inputs.truncate(MAX_SAMPLED_FILES);
    let documents = files::read_documents(&inputs, &mut Vec::new());
    let dialects = kubewright_dialects::all_dialects(&DialectOptions::default());
    let is_rule = |document: &&_| dialects.iter().any(|dialect| dialect.claims(document));
    let rules = documents.iter().filter(is_rule).count();
    let objects =
        documents.iter().filter(|document| !is_rule(document) && document.value.get("kind").is_some());
    match (rules, objects.count()) {
        (0, 0) => FileContents::Nothing,
        (0, _) => FileContents::Objects,
        (_, 0) => FileContents::Rules,
        _ => FileContents::Both,
    }
}

/// Returns what to say in place of `error`, where more is known than that an argument is missing or unknown.
fn better_failure(error: &Error, words: &[OsString]) -> Option<CommandFailure> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(&context(ContextKind::InvalidSubcommand)?),
        ErrorKind::UnknownArgument => {
            let words: Vec<String> =
                words.iter().filter_map(|word| word.to_str().map(str::to_owned)).collect();
            unexpected_argument(&context(ContextKind::InvalidArg)?, &words)
        }
        _ => None,
    }
}

/// Returns which command does what an unknown one promises.
fn unknown_command(word: &str) -> Option<CommandFailure> {
    let (_, command, what) = WISHES.iter().find(|(wish, ..)| *wish == word)?;
    let failure = CommandFailure::usage(format!("there is no command `{word}`"));
    Some(failure.help(format!("`kubewright {command}` {what}")))
}

/// Returns what to write in place of `paths` that hold objects where rules are expected.
pub(crate) fn misplaced_manifests(paths: &[String]) -> Option<String> {
    let objects = paths.iter().filter(|path| contents(path) == FileContents::Objects);
    let flags: Vec<String> = objects.map(|path| format!("-r {path}")).collect();
    (!flags.is_empty()).then(|| format!("did you mean `{}`?", flags.join(" ")))
}

/// Returns what to write where a command has no positional arguments and is given manifests.
fn unexpected_argument(argument: &str, words: &[String]) -> Option<CommandFailure> {
    let command = words.get(1)?;
    let program = described_program();
    let takes_resources =
        program.find_subcommand(command)?.get_arguments().any(|one| one.get_long() == Some("resources"));
    if !takes_resources || argument.starts_with('-') || contents(argument) == FileContents::Nothing {
        return None;
    }
    let failure = CommandFailure::usage(format!("`{argument}` is not expected here: manifests follow `-r`"));
    Some(failure.help(format!("did you mean `-r {argument}`?")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: &str) {
        let words = line.split(' ').map(OsString::from).collect();
        let sorted = with_resource_flags(words);
        let sorted: Vec<&str> = sorted.iter().filter_map(|word| word.to_str()).collect();
        assert_eq!(sorted.join(" "), want);
    }

    #[test]
    fn resource_flag_takes_one_value_and_what_follows_is_told_by_its_contents() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../kubewright/tests/fixtures");
        let (rules, objects) = (format!("{folder}/rules"), format!("{folder}/manifests/shop.yaml"));
        check(
            &format!("kubewright apply -r {objects} {rules}"),
            &format!("kubewright apply -r {objects} {rules}"),
        );
        check(
            &format!("kubewright apply {rules} -r {objects} {objects} -q"),
            &format!("kubewright apply {rules} -r {objects} -r {objects} -q"),
        );
        check("kubewright apply rules -r a b - -o json", "kubewright apply rules -r a -r b -r - -o json");
        check("kubewright detect -r a orphan-service", "kubewright detect -r a orphan-service");
        check("kubewright graph -r a orphan-service", "kubewright graph -r a -r orphan-service");
        check("kubewright apply rules -r a -q b", "kubewright apply rules -r a -q b");
    }
}
