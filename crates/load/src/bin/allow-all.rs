//! The webhook that does nothing, to be measured beside one that decides.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Parser;
use tokio::net::TcpListener;

// The allocator of the program that it is compared with.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Reads admission reviews and allows them.
#[derive(Parser)]
struct AllowAllArguments {
    /// Where to listen
    #[arg(long)]
    address: SocketAddr,
    /// Where to write the certificate to trust
    #[arg(long)]
    write_ca: PathBuf,
}

fn main() -> io::Result<()> {
    let arguments = AllowAllArguments::parse();
    let workers = std::thread::available_parallelism().map_or(2, |cpus| cpus.get().max(2));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(arguments.address).await?;
        let write_certificate = |certificate: &str| std::fs::write(&arguments.write_ca, certificate);
        kubewright_load::serve_allow_all(listener, write_certificate).await
    })
}
