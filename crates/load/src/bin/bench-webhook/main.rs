//! The webhook under load, beside one that does nothing, and whether it keeps its limits.
//!
//! Both are processes of their own with the same network, TLS, HTTP and JSON, and are measured in turn.

mod arguments;
mod limits;
mod measure;
mod memory;
mod servers;
mod spike;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use kubewright_load::{BenchLimits, Reviews};
use tokio::runtime::{Builder, Runtime};

use arguments::{BenchArguments, BenchPart};
use measure::{Load, MeasuredServer, measure};
use servers::{BenchPrograms, Scratch};

fn main() -> ExitCode {
    match run(&BenchArguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("bench-webhook: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns whether all limits were kept.
fn run(arguments: &BenchArguments) -> Result<bool, String> {
    let runtime = runtime()?;
    let programs = BenchPrograms::build()?;
    let scratch = Scratch::new()?;
    let mut limits = BenchLimits::default();
    println!(
        "Profile `{}`, {} s a measurement, {} rounds.",
        programs.profile, arguments.seconds, arguments.rounds
    );

    let pods = arguments.pods()?;
    for part in &arguments.parts {
        let pod = &pods.allowed;
        match part {
            BenchPart::Load => under_load(arguments, &runtime, &programs, &scratch, &pods, &mut limits)?,
            BenchPart::Spike => {
                spike::measure_spike(arguments, &programs, &scratch, pod, &mut limits)?;
            }
            BenchPart::Memory => {
                memory::measure_memory(arguments, &runtime, &programs, &scratch, pod, &mut limits)?;
            }
        }
    }
    Ok(limits.print())
}

fn under_load(
    arguments: &BenchArguments,
    runtime: &Runtime,
    programs: &BenchPrograms,
    scratch: &Scratch,
    pods: &arguments::Pods,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    let nothing = programs.allow_all(scratch)?;
    let ours = programs.serve(scratch, "load", &arguments.policies)?;
    for (title, pod, is_allowed) in [("allowed", &pods.allowed, true), ("denied", &pods.denied, false)] {
        let subjects = [
            MeasuredServer::new(
                "allow-all",
                &nothing,
                Reviews::of_pod(pod, "shop", true),
                arguments.connections,
            )?,
            MeasuredServer::new(
                "kubewright",
                &ours,
                Reviews::of_pod(pod, "shop", is_allowed),
                arguments.connections,
            )?,
        ];
        for subject in &subjects {
            subject.await_answer(runtime)?;
        }
        let size = subjects.first().map_or(0, |subject| subject.reviews.size());
        println!("\n## A Pod of {} bytes, {title} (review of {size} bytes)\n", pod.len());
        table::print_table_head();
        let rates = arguments.rates.iter().map(|rate| Load::Rate(*rate));
        for load in rates.chain([Load::Saturation(arguments.under_way)]) {
            let seconds = Duration::from_secs(arguments.seconds);
            let figures = measure(runtime, &subjects, load, seconds, arguments.rounds);
            table::print_table_rows(load, &subjects, &figures);
            limits::add_load_limits(limits, (title, is_allowed), load, &figures);
        }
    }
    Ok(())
}

fn runtime() -> Result<Runtime, String> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| error.to_string())
}
