//! The scanner on a real control plane, and whether it keeps its limits.
//!
//! Objects are written by a generator with the kinds and proportions of a real cluster; what an API server cannot hold
//! on one machine is a simulated store. The machine should be idle otherwise.

mod arguments;
mod changes;
mod churn;
mod cluster;
mod fleet;
mod impact;
mod kyverno;
mod objects;
mod policies;
mod programs;
mod simulate;

use std::process::ExitCode;

use clap::Parser as _;
use kubewright_load::BenchLimits;
use tokio::runtime::Builder;

use arguments::{ScanBenchArguments, ScanBenchPart};
use programs::ScanProgram;

fn main() -> ExitCode {
    match run(&ScanBenchArguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-scan: {error}");
            ExitCode::from(2)
        }
    }
}

/// As in the measured binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Returns whether all limits were kept.
fn run(arguments: &ScanBenchArguments) -> Result<bool, String> {
    if let Some(objects) = arguments.simulate {
        return simulate::simulate(objects).map(|()| true);
    }
    let runtime = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    let program = ScanProgram::build()?;
    let mut limits = BenchLimits::default();
    println!("Profile `{}`.", program.profile);
    for part in &arguments.parts {
        match part {
            ScanBenchPart::Simulated => simulate::measure_simulated(arguments, &mut limits)?,
            ScanBenchPart::Cluster => {
                cluster::measure_cluster(arguments, &runtime, &program, &mut limits)?;
            }
            ScanBenchPart::Kyverno if arguments.kyverno_objects > 0 => {
                kyverno::measure_kyverno(arguments, &runtime, &program)?;
            }
            ScanBenchPart::Kyverno => {}
            ScanBenchPart::Impact => impact::measure_impact(arguments, &runtime, &program, &mut limits)?,
        }
    }
    Ok(limits.print())
}
