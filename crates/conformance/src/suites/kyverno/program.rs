//! The program under test, found beside this one.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use kubewright_value::{Value, json};

const BUILD_HELP: &str = "build it with `cargo build --release -p kubewright`";

/// The path of the program, or why it was not found.
pub(super) struct KubewrightProgram {
    path: Result<PathBuf, String>,
}

/// The output of the program.
pub(super) struct ProgramOutput {
    pub(super) document: Value,
    pub(super) code: Option<i32>,
}

impl KubewrightProgram {
    /// Finds the program. Under `cargo run` it is built first, so that it is never an old one.
    pub(super) fn find() -> Self {
        Self { path: find_binary() }
    }

    /// Runs the program in `folder` and reads the JSON that it prints.
    pub(super) fn run(&self, folder: &Path, words: &[&str]) -> Result<ProgramOutput, String> {
        let path = self.path.as_ref().map_err(Clone::clone)?;
        let output = Command::new(path)
            .args(words)
            .args(["-o", "json"])
            .current_dir(folder)
            .env("NO_COLOR", "1")
            .output()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let printed = String::from_utf8_lossy(&output.stdout);
        match json::parse(&printed) {
            Ok(document) => Ok(ProgramOutput { document, code: output.status.code() }),
            Err(_) => Err(format!("no JSON was printed: {}", describe_failure(&output))),
        }
    }
}

fn find_binary() -> Result<PathBuf, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let folder = this.parent().unwrap_or(Path::new("."));
    build_binary(folder)?;
    let path = folder.join(format!("kubewright{}", std::env::consts::EXE_SUFFIX));
    if path.is_file() { Ok(path) } else { Err(format!("there is no {}: {BUILD_HELP}", path.display())) }
}

/// Cargo says where it is; `folder` is the folder of a profile in a target folder.
fn build_binary(folder: &Path) -> Result<(), String> {
    let (Some(cargo), Some(manifest)) = (std::env::var_os("CARGO"), std::env::var_os("CARGO_MANIFEST_DIR"))
    else {
        return Ok(());
    };
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--locked", "-p", "kubewright", "--target-dir"]);
    command.arg(folder.parent().unwrap_or(folder)).current_dir(manifest);
    // The folder is called by the profile, except for that of `dev`.
    if let Some(profile) = folder.file_name().filter(|name| *name != "debug") {
        command.arg("--profile").arg(profile);
    }
    let output = command.output().map_err(|error| format!("cargo: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(describe_failure(&output)) }
}

/// Returns the exit status and the last lines of standard error.
fn describe_failure(output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    let start = lines.len().saturating_sub(3);
    format!("{}; {}", output.status, lines.get(start..).unwrap_or_default().join(" / "))
}
