//! `kubewright ui --cluster` as a process.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `kubewright ui --cluster` as a process, which is killed when this is dropped.
pub(crate) struct LaptopPage {
    child: Child,
    pub(crate) address: String,
}

impl LaptopPage {
    pub(crate) fn start(kubeconfig: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_kubewright"))
            .args(["ui", "--cluster", "--no-open", "--kubeconfig"])
            .arg(kubeconfig)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let address = line.trim().trim_start_matches("listening on http://").trim_end_matches('/');
        Self { address: address.to_owned(), child }
    }
}

impl Drop for LaptopPage {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}
