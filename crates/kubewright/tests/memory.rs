//! How much memory hostile rules and objects can take, measured on the real binary.
//!
//! Parts of a value are shared, so a small value can be gigabytes of text. Everything that makes text, patterns or
//! values is charged to the budget of the rule first; this shows that nothing goes around it. Each case runs in a
//! process of its own, whose peak is read from `/proc`, and which could not take more than [`MAX_ADDRESS_KIB`] without
//! being aborted. `KUBEWRIGHT_MEMORY_CASES` says how many generated cases of each language run; make it thousands after a
//! change of the budgets.

#![expect(clippy::expect_used, reason = "a test that cannot do its work has failed")]

#[path = "memory/attacks.rs"]
mod attacks;
#[path = "memory/generated.rs"]
mod generated;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use kubewright_value::{Limits, Value, json};

/// What the process takes besides the budget of a rule: itself, the object, its text, and copies on their way.
const CONSTANT_BYTES: u64 = 224 << 20;

/// So that a case that goes wrong is aborted, and does not take the machine with it.
const MAX_ADDRESS_KIB: u64 = 6_000_000;

/// What became of a run.
struct Run {
    code: Option<i32>,
    peak_bytes: u64,
    text: String,
}

/// A folder with the files of one case, which is removed afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("memory-{name}"));
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn write(&self, name: &str, value: &Value) -> String {
        let path = self.0.join(name);
        fs::write(&path, json::to_string(value)).expect("a file");
        path.to_string_lossy().into_owned()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Runs `kubewright ARGUMENTS` and measures it.
fn measured(arguments: &[&str], folder: &Folder) -> Run {
    let output = folder.0.join("output");
    let file = fs::File::create(&output).expect("a file");
    let process = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MAX_ADDRESS_KIB} && exec \"$@\""), "sh"])
        .arg(env!("CARGO_BIN_EXE_kubewright"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(file.try_clone().expect("a file"))
        .stderr(file)
        .spawn()
        .expect("the binary starts");
    let (code, peak_bytes) = wait(process);
    let text = fs::read(&output).expect("output");
    Run { code, peak_bytes, text: String::from_utf8_lossy(&text).into_owned() }
}

/// Waits for a process, and returns its exit code and the most memory it had.
fn wait(mut process: Child) -> (Option<i32>, u64) {
    let status = format!("/proc/{}/status", process.id());
    let mut peak = 0;
    loop {
        if let Ok(text) = fs::read_to_string(&status) {
            let kib = text.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next());
            peak = peak.max(kib.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) << 10);
        }
        if let Some(status) = process.try_wait().expect("a process") {
            return (status.code(), peak);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs a case, and fails unless it ends in an ordinary way and stays below `budget` and the constant.
#[track_caller]
fn holds(name: &str, arguments: &[&str], budget: u64, folder: &Folder) -> Run {
    let run = measured(arguments, folder);
    let shown: String = run.text.chars().take(500).collect();
    assert!(matches!(run.code, Some(0..=2)), "{name}: exit {:?}: {shown}", run.code);
    let limit = budget + CONSTANT_BYTES;
    let (peak, most) = (run.peak_bytes >> 20, limit >> 20);
    assert!(run.peak_bytes < limit, "{name}: a peak of {peak} MiB, expected less than {most}: {shown}");
    run
}

/// Runs `rule` on `object` with `apply` and with `trace`; `wanted` is what `apply` says.
#[track_caller]
fn stays_small(name: &str, rule: &Value, object: &Value, wanted: &str) {
    let folder = Folder::new(name);
    let (rule, object) = (folder.write("rule.json", rule), folder.write("object.json", object));
    let budget = Limits::default().bytes;
    let applied = holds(name, &["apply", &rule, "-r", &object], budget, &folder);
    let shown: String = applied.text.chars().take(2000).collect();
    assert!(applied.text.contains(wanted), "{name}: expected `{wanted}` in: {shown}");
    holds(name, &["trace", &rule, "-r", &object], budget, &folder);
}
