//! Processors of their own for a server and for the generator, so that neither takes the time of the other.

use std::process::Command;
use std::thread::available_parallelism;

/// The server and this process on processors of their own. This process gets all of them again when it is dropped.
#[derive(Debug)]
pub struct SeparateProcessors {
    all: String,
    /// The processors of the server, as `taskset` lists them.
    pub server: String,
    /// Those of this process.
    pub generator: String,
}

impl SeparateProcessors {
    /// Gives the process `server` the first half of the processors, and this process the others.
    ///
    /// # Errors
    /// When there is one processor only, or no program `taskset`.
    pub fn separate(server: u32) -> Result<Self, String> {
        let (all, for_server, for_generator) = halves(available_parallelism().map_or(1, usize::from))
            .ok_or_else(|| "there is one processor only".to_owned())?;
        set_processors(server, &for_server)?;
        let separate = Self { all, server: for_server, generator: for_generator };
        set_processors(std::process::id(), &separate.generator)?;
        Ok(separate)
    }
}

impl Drop for SeparateProcessors {
    fn drop(&mut self) {
        let _ = set_processors(std::process::id(), &self.all);
    }
}

/// Returns all of `count` processors, the first half and the others; nothing where there are no two.
fn halves(count: usize) -> Option<(String, String, String)> {
    let list = |from: usize, until: usize| match until - from {
        1 => from.to_string(),
        _ => format!("{from}-{}", until - 1),
    };
    let half = count / 2;
    (half > 0).then(|| (list(0, count), list(0, half), list(half, count)))
}

/// Lets all threads of `process` run on `processors` alone.
fn set_processors(process: u32, processors: &str) -> Result<(), String> {
    let mut command = Command::new("taskset");
    command.args(["--all-tasks", "--cpu-list", "--pid", processors, &process.to_string()]);
    match command.output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("taskset: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_has_processors_of_its_own() {
        let split = |count| halves(count).map(|(_, server, generator)| (server, generator));
        assert_eq!(split(1), None);
        assert_eq!(split(2), Some(("0".to_owned(), "1".to_owned())));
        assert_eq!(split(5), Some(("0-1".to_owned(), "2-4".to_owned())));
        assert_eq!(halves(2).map(|(all, ..)| all).as_deref(), Some("0-1"));
    }
}
