//! Runs the public conformance suites and prints a score. A development tool; it does not ship.

mod differs;
mod score;
mod suites;

use std::path::PathBuf;
use std::process::ExitCode;

use differs::Differs;
use score::{ConformanceScore, ScoreFloor};

const USAGE: &str = "\
usage: kubewright-conformance --corpus DIR [--suite PREFIX] [--json] [--differs FILE] [--floor FILE] [--write-floor FILE] [-v]

  --corpus DIR        a folder of suites, as described in its README
  --suite PREFIX      only suites whose name starts with PREFIX, such as modrule/x-
  --json              print the score as JSON
  --differs FILE      cases answered differently on purpose (default: conformance/differs.yaml)
  --floor FILE        fail when a suite scores below what FILE records
  --write-floor FILE  record the score in FILE
  -v                  say why each failed case failed

exit codes: 0 the score was printed and no floor was broken, 1 a floor was broken, 2 bad usage or input
";

struct ConformanceArguments {
    corpus: PathBuf,
    suite: String,
    is_json: bool,
    is_verbose: bool,
    differs: PathBuf,
    floor: Option<PathBuf>,
    write_floor: Option<PathBuf>,
}

fn main() -> ExitCode {
    match arguments().and_then(|arguments| run_conformance(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Result<ConformanceArguments, String> {
    let mut found = ConformanceArguments {
        corpus: PathBuf::new(),
        suite: String::new(),
        is_json: false,
        is_verbose: false,
        differs: PathBuf::from("conformance/differs.yaml"),
        floor: None,
        write_floor: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} needs a value\n\n{USAGE}"));
        match word.as_str() {
            "--corpus" => found.corpus = value()?.into(),
            "--suite" => found.suite = value()?,
            "--differs" => found.differs = value()?.into(),
            "--floor" => found.floor = Some(value()?.into()),
            "--write-floor" => found.write_floor = Some(value()?.into()),
            "--json" => found.is_json = true,
            "-v" => found.is_verbose = true,
            other => return Err(format!("unknown argument `{other}`\n\n{USAGE}")),
        }
    }
    if found.corpus.as_os_str().is_empty() {
        return Err(format!("--corpus is missing\n\n{USAGE}"));
    }
    Ok(found)
}

fn run_conformance(arguments: &ConformanceArguments) -> Result<bool, String> {
    let differs = Differs::read(&arguments.differs)?;
    let results = suites::run_suites(&arguments.corpus, &arguments.suite)?;
    let score = ConformanceScore::new(results, &differs);
    if arguments.is_json {
        println!("{}", score.to_json());
    } else {
        print!("{}", score.to_table(arguments.is_verbose));
    }
    if let Some(file) = &arguments.write_floor {
        std::fs::write(file, ScoreFloor::of(&score))
            .map_err(|error| format!("{}: {error}", file.display()))?;
    }
    match &arguments.floor {
        None => Ok(true),
        Some(file) => {
            let broken = ScoreFloor::read(file)?.broken_by(&score, &arguments.suite);
            broken.iter().for_each(|line| eprintln!("below the floor: {line}"));
            Ok(broken.is_empty())
        }
    }
}
