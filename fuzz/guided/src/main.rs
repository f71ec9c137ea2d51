//! One fuzz target under libFuzzer, which keeps the inputs that reach code that no input before them has reached.
//!
//! The target is the one in `KUBEWRIGHT_FUZZ_TARGET`, or else the one that the program file is named after, so that
//! a copy of the program for each target is enough. All arguments are those of libFuzzer. With a folder in
//! `KUBEWRIGHT_FUZZ_EXPORT`, the program writes what OSS-Fuzz needs of every target to it instead.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use kubewright_fuzz::driver::run_within_time;
use kubewright_fuzz::guided::export_target;
use kubewright_fuzz::targets::{FuzzTarget, TARGETS, find_target};

libfuzzer_sys::fuzz_target!(init: export_targets(), |input: &[u8]| run_within_time(&TARGET, input));

static TARGET: LazyLock<&FuzzTarget> = LazyLock::new(|| match find_target(&target_name()) {
    Ok(target) => target,
    Err(message) => fail(&message),
});

/// Writes the targets and ends, if that is asked for.
fn export_targets() {
    let Some(folder) = std::env::var_os("KUBEWRIGHT_FUZZ_EXPORT") else { return };
    match TARGETS.iter().try_for_each(|target| export_target(target, Path::new(&folder))) {
        Ok(()) => std::process::exit(0),
        Err(message) => fail(&message),
    }
}

fn fail(message: &str) -> ! {
    eprintln!("error: {message}");
    std::process::exit(2)
}

fn target_name() -> String {
    std::env::var("KUBEWRIGHT_FUZZ_TARGET").unwrap_or_else(|_| {
        let program = std::env::args().next().unwrap_or_default();
        Path::new(&program).file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    })
}
