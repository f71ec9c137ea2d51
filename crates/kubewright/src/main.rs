//! kubewright: one engine for rules about Kubernetes objects, on the command line.
//!
//! The commands are in `kubewright-cli`. This crate is only the binary, because link-time optimization of the whole program
//! runs at its level (`profile.dist` of the workspace): the commands are built for size, and what they call for speed.

use std::process::ExitCode;

// Objects are made and dropped by the thousand on every core, which the system's allocator serialises.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kubewright_cli::run()
}
