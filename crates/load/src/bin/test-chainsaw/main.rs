//! Runs chainsaw suites against real control planes in which `kubewright` stands in for Kyverno: `make test-chainsaw`.
//!
//! Suites make cluster-wide policies and assume that no other suite does, so each worker has a control plane of its own and
//! runs one suite at a time. Between suites everything is removed that a suite has left behind.

mod accounts;
mod bed;
mod installations;
mod skip_list;
mod suites;
mod table;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;

use clap::Parser;

use bed::{ChainsawRun, TestBed};
use installations::{ProgramInstallation, installation_for, read_installations};
use skip_list::SkipList;
use suites::ChainsawSuite;
use table::{SuiteResult, SuiteTable, Verdict};

/// Runs chainsaw suites against control planes with `kubewright` in place of Kyverno.
#[derive(Debug, Parser)]
struct ChainsawArguments {
    /// A folder with `chainsaw/**/chainsaw-test.yaml`
    #[arg(long)]
    corpus: PathBuf,

    /// Only suites whose path below `chainsaw` starts so; may be repeated
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,

    /// How many control planes run at the same time
    #[arg(long, default_value_t = 3)]
    workers: usize,

    /// Suites that are skipped, with reasons
    #[arg(long, default_value = "conformance/chainsaw-skipped.yaml")]
    skipped: PathBuf,

    /// Suites for which the programs are started with other flags
    #[arg(long, default_value = "conformance/chainsaw-installations.yaml")]
    installations: PathBuf,

    /// The file with the number of suites of each folder that must pass
    #[arg(long)]
    floor: Option<PathBuf>,

    /// Write the floor instead of comparing with it
    #[arg(long, requires = "floor")]
    write_floor: bool,

    /// How long a suite waits for an assertion, as chainsaw writes it
    #[arg(long, default_value = "30s")]
    patience: String,

    /// The folder for the output of each suite
    #[arg(long, default_value = "target/chainsaw")]
    logs: PathBuf,
}

fn main() -> ExitCode {
    match run(&ChainsawArguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("test-chainsaw: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether no folder has fewer passes than its floor, or, without a floor, whether nothing failed.
fn run(arguments: &ChainsawArguments) -> Result<bool, String> {
    let skips = SkipList::read(&arguments.skipped)?;
    let installations = read_installations(&arguments.installations)?;
    // Scripts of suites write beside themselves, so they get a copy.
    let corpus = suites::copy_suites(&arguments.corpus, &arguments.logs.join("corpus"))?;
    let all = suites::find_suites(&corpus, &arguments.only)?;
    if all.is_empty() {
        return Err(format!("no suites in {}", arguments.corpus.display()));
    }
    let mut table = SuiteTable::default();
    let mut queue = VecDeque::new();
    for suite in all {
        match skips.reason_for(&suite) {
            Some(reason) => table.add(SuiteResult::skipped(suite.name, reason)),
            None => queue.push_back((installation_for(&installations, &suite), suite)),
        }
    }
    let workers = arguments.workers.clamp(1, queue.len().max(1));
    let (queue, table) = (Mutex::new(queue), Mutex::new(table));
    if !queue.lock().unwrap_or_else(PoisonError::into_inner).is_empty() {
        thread::scope(|scope| {
            let work = |_| scope.spawn(|| work_off(arguments, &queue, &table));
            let threads: Vec<_> = (0..workers).map(work).collect();
            let ended =
                threads.into_iter().map(|thread| thread.join().unwrap_or(Err("a worker died".into())));
            ended.collect::<Result<Vec<()>, String>>()
        })?;
    }
    let table = table.into_inner().unwrap_or_else(PoisonError::into_inner);
    table.print();
    match &arguments.floor {
        Some(floor) if arguments.write_floor => table.write_floor(floor).map(|()| true),
        // The floor is about whole folders.
        Some(floor) if arguments.only.is_empty() => table.meets_floor(floor),
        _ => Ok(!table.has_failures()),
    }
}

/// Runs suites of the queue until there are none.
fn work_off(
    arguments: &ChainsawArguments,
    queue: &Mutex<VecDeque<(ProgramInstallation, ChainsawSuite)>>,
    table: &Mutex<SuiteTable>,
) -> Result<(), String> {
    let bed = TestBed::start()?;
    let mut current = ProgramInstallation::default();
    let mut running = bed.run_kubewright(&current)?;
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some((installation, suite)) = next else { return Ok(()) };
        if installation != current {
            drop(running);
            running = bed.run_kubewright(&installation)?;
            current = installation;
        }
        let run = ChainsawRun { suite: &suite, patience: &arguments.patience, logs: &arguments.logs };
        let result = bed.run_suite(&run)?;
        let is_failed = result.verdict == Verdict::Failed;
        table.lock().unwrap_or_else(PoisonError::into_inner).add(result);
        running.check()?;
        bed.clean_up(is_failed);
    }
}
