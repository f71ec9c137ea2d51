//! `--watch`: runs a command again whenever a file changes that it read, or a folder that it searched.
//!
//! Files are looked at by their metadata several times a second, which needs no help of the operating system and costs a few
//! milliseconds for thousands of files.

mod problems;

use std::collections::BTreeMap;
use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use kubewright_files as files;
use kubewright_report::text::plural;

use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, print_stderr};
pub(crate) use problems::recorded;

/// How often files are looked at.
const POLL_INTERVAL: Duration = Duration::from_millis(30);

/// Clears a terminal and puts the cursor at its start.
const CLEAR_SCREEN: &str = "\u{1b}[2J\u{1b}[3J\u{1b}[H";

static IS_WATCHING: AtomicBool = AtomicBool::new(false);

/// Returns whether this process runs its command again and again.
pub(crate) fn is_watching() -> bool {
    IS_WATCHING.load(Ordering::Relaxed)
}

/// What says that a file is another than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileStamp {
    modified: Option<SystemTime>,
    length: u64,
}

/// Runs `command` now and after each change, until the process is interrupted.
///
/// # Errors
/// When the process cannot wait for a signal.
pub(crate) fn watch_command(
    color: ColorChoice,
    mut command: impl FnMut() -> Result<ExitStatus, CommandFailure>,
) -> Result<ExitStatus, CommandFailure> {
    end_when_interrupted()?;
    IS_WATCHING.store(true, Ordering::Relaxed);
    let mut before = None;
    let mut stamps = BTreeMap::new();
    loop {
        if std::io::stdout().is_terminal() {
            print_stderr(CLEAR_SCREEN);
        }
        files::forget_inputs();
        problems::start();
        if let Err(failure) = command() {
            failure.report(color.paint_errors());
        }
        let _ = std::io::stdout().flush();
        // A file that is gone may come back, so that what was read once stays watched.
        let known = std::mem::take(&mut stamps).into_keys();
        let paths: Vec<PathBuf> = known.chain(files::watched_paths()).collect();
        stamps = paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect();
        let found = problems::take();
        print_stderr(color.paint_errors().dim(&status_line(before.as_ref(), &found, stamps.len())));
        before = Some(found);
        while stamps.iter().all(|(path, known)| stamp(path) == *known) {
            thread::sleep(POLL_INTERVAL);
        }
    }
}

/// Returns what says that a file is another than before; nothing for one that is not there.
pub(crate) fn stamp(path: &Path) -> Option<FileStamp> {
    let data = fs::metadata(path).ok()?;
    // The length of a folder says nothing that its time does not say.
    let length = if data.is_file() { data.len() } else { 0 };
    Some(FileStamp { modified: data.modified().ok(), length })
}

/// Returns `2 fixed, 1 new, 4 problems in all; watching 12 files`.
fn status_line(
    before: Option<&problems::ProblemSet>,
    found: &problems::ProblemSet,
    watched: usize,
) -> String {
    let watching = format!("watching {}", plural(watched, "path"));
    let Some(before) = before else { return watching };
    let (fixed, new) = (before.difference(found).count(), found.difference(before).count());
    let change = match (fixed, new) {
        (0, 0) => "nothing changed".to_owned(),
        (fixed, 0) => format!("{fixed} fixed"),
        (0, new) => format!("{new} new"),
        (fixed, new) => format!("{fixed} fixed, {new} new"),
    };
    format!("{change}, {} in all; {watching}", plural(found.len(), "problem"))
}

/// Ends the process with code 0 at the first interrupt.
#[cfg(feature = "serve")]
fn end_when_interrupted() -> Result<(), CommandFailure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::spawn(move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            std::process::exit(0);
        }
    });
    Ok(())
}

#[cfg(not(feature = "serve"))]
fn end_when_interrupted() -> Result<(), CommandFailure> {
    Ok(())
}
