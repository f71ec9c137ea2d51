//! Runs one target: makes inputs, catches panics, watches the time.

use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::mutate::mutate;
use crate::random::FuzzRandom;
use crate::targets::FuzzTarget;

/// The time after which an input counts as a failure.
const INPUT_TIMEOUT: Duration = Duration::from_secs(1);

/// The number of failures after which a target stops.
const MAX_FAILURES: u32 = 5;

/// The maximum number of inputs kept for mutation, besides the seeds.
const MAX_KEPT_INPUTS: usize = 2000;

/// Tries mutations of the seeds for `time` and returns how many failed.
pub(crate) fn run_target(target: &FuzzTarget, time: Duration, seed: u64) -> u32 {
    let mut random = FuzzRandom::new(seed);
    let mut known: Vec<Vec<u8>> = target.seeds.iter().map(|text| text.as_bytes().to_vec()).collect();
    let seeds = known.len();
    let mut failures = 0;
    for input in known.clone() {
        failures += u32::from(!try_one(target, &input));
    }
    let start = Instant::now();
    let mut tried: u64 = 0;
    while failures < MAX_FAILURES && start.elapsed() < time {
        let input = mutate(&mut random, &known, target.words);
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
    println!("{:<12} {tried:>10} inputs {rate:>9.0}/s  {failures} failures (seed {seed})", target.name);
    failures
}

/// Tries one input and returns whether it passed; reports it if not.
pub(crate) fn try_one(target: &FuzzTarget, input: &[u8]) -> bool {
    let start = Instant::now();
    let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input)));
    let took = start.elapsed();
    let what = match outcome {
        Err(_) => "panicked".to_owned(),
        Ok(()) if took > INPUT_TIMEOUT => format!("took {} ms", took.as_millis()),
        Ok(()) => return true,
    };
    let artifact = save_input(target.name, input);
    println!("{}: {what} on {:?}", target.name, String::from_utf8_lossy(input));
    println!("{}: written to {}", target.name, artifact.display());
    false
}

fn save_input(name: &str, input: &[u8]) -> PathBuf {
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/artifacts"));
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let path = folder.join(format!("{name}-{hash:016x}"));
    let written = std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::File::create(&path))
        .and_then(|mut file| file.write_all(input));
    if let Err(error) = written {
        eprintln!("cannot write {}: {error}", path.display());
    }
    path
}
