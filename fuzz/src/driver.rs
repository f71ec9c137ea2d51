//! Runs one target: makes inputs, catches panics, watches the time.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::corpus::{input_name, known_inputs};
use crate::dictionary::dictionary_words;
use crate::mutate::mutate;
use crate::random::FuzzRandom;
use crate::targets::FuzzTarget;

/// The time after which an input counts as a failure.
const INPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of failures after which a target stops.
pub(crate) const MAX_FAILURES: u32 = 5;

/// The maximum number of inputs kept for mutation, besides the seeds.
const MAX_KEPT_INPUTS: usize = 2000;

/// How the message about an input that takes too long begins.
pub(crate) const SLOW_INPUT: &str = "the input took";

/// Tries the seeds, the corpus, and mutations of both for `time`, and returns how many inputs failed.
///
/// # Errors
///
/// When the corpus cannot be read.
pub fn run_target(target: &FuzzTarget, time: Duration, seed: u64) -> Result<u32, String> {
    let mut random = FuzzRandom::new(seed);
    let mut known = known_inputs(target)?;
    let words = dictionary_words(target);
    let seeds = known.len();
    let mut failures = 0;
    for input in known.clone() {
        failures += u32::from(!try_one(target, &input));
    }
    let start = Instant::now();
    let mut tried: u64 = 0;
    while failures < MAX_FAILURES && start.elapsed() < time {
        let input = mutate(&mut random, &known, &words);
        failures += u32::from(!try_one(target, &input));
        tried += 1;
        // Some mutations are kept, so that inputs move away from the seeds.
        if random.below(50) == 0 {
            if known.len() < seeds + MAX_KEPT_INPUTS {
                known.push(input);
            } else {
                let place = seeds + random.below(MAX_KEPT_INPUTS);
                if let Some(old) = known.get_mut(place) {
                    *old = input;
                }
            }
        }
    }
    let rate = tried as f64 / start.elapsed().as_secs_f64();
    println!(
        "{:<20} {seeds:>5} known, {tried:>10} inputs {rate:>9.0}/s  {failures} failures (seed {seed})",
        target.name
    );
    Ok(failures)
}

/// Tries one input and returns whether it passed; reports it if not.
#[must_use]
pub fn try_one(target: &FuzzTarget, input: &[u8]) -> bool {
    let is_fine = catch_unwind(AssertUnwindSafe(|| run_within_time(target, input))).is_ok();
    if !is_fine {
        report_input(target, input);
    }
    is_fine
}

/// Runs a target on an input.
///
/// # Panics
///
/// When something is wrong, or when it takes longer than an input may. The time of the processor counts, because on a
/// busy machine any input may have to wait. To ask for it takes longer than most inputs do, so it is measured only where
/// the clock shows a long time, in a second run.
pub fn run_within_time(target: &FuzzTarget, input: &[u8]) {
    let start = Instant::now();
    (target.run)(input);
    if start.elapsed() <= INPUT_TIMEOUT {
        return;
    }
    let start = processor_time();
    (target.run)(input);
    let took = processor_time().saturating_sub(start);
    assert!(took <= INPUT_TIMEOUT, "{SLOW_INPUT} {} ms", took.as_millis());
}

/// Returns the time that the thread has run, or the time that has passed where the system does not tell.
fn processor_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = statistics.split(' ').next().and_then(|number| number.parse().ok());
    nanoseconds.map_or_else(|| START.elapsed(), Duration::from_nanos)
}

/// Returns the folder that failed inputs are written to.
pub(crate) fn artifact_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("artifacts")
}

fn report_input(target: &FuzzTarget, input: &[u8]) {
    let artifact = save_input(target.name, input);
    println!("{}: failed on {:?}", target.name, String::from_utf8_lossy(input));
    println!("{}: written to {}", target.name, artifact.display());
}

fn save_input(name: &str, input: &[u8]) -> PathBuf {
    let folder = artifact_folder();
    let path = folder.join(format!("{name}-{}", input_name(input)));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::File::create(&path))
        .and_then(|mut file| file.write_all(input));
    if let Err(error) = written {
        eprintln!("cannot write {}: {error}", path.display());
    }
    path
}
