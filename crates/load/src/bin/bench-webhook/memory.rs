//! Many policies: the memory that they take and the time in which they are loaded; and a long run.

use std::fs;
use std::time::Duration;

use kubewright_load::{BenchLimits, Reviews, generated_policies};
use tokio::runtime::Runtime;

use crate::arguments::BenchArguments;
use crate::measure::{Load, MeasuredServer};
use crate::servers::{BenchPrograms, Scratch};
use crate::table::megabytes;

/// What 1,000 policies may take, in MB.
const MAX_MEMORY_MEGABYTES: f64 = 60.0;
/// In which time 10,000 rules are to be loaded.
const MAX_LOAD_TIME: Duration = Duration::from_secs(3);
/// How far memory may grow in a long run, after it has warmed up.
const MAX_MEMORY_GROWTH: f64 = 1.05;

pub(crate) fn measure_memory(
    arguments: &BenchArguments,
    runtime: &Runtime,
    programs: &BenchPrograms,
    scratch: &Scratch,
    pod: &str,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    println!("\n## Many policies\n\n| policies | answers after s | memory MB, idle | under load | at most |");
    println!("|---:|---:|---:|---:|---:|");
    for count in [18, 1_000, 10_000] {
        let file = scratch.file(&format!("policies-{count}.yaml"));
        fs::write(&file, generated_policies(count)).map_err(|error| error.to_string())?;
        let ours = programs.serve(scratch, &format!("policies-{count}"), &file)?;
        let subject = MeasuredServer::new("kubewright", &ours, Reviews::of_pod(pod, "shop", true), 4)?;
        subject.await_answer(runtime)?;
        let idle = ours.server.usage();
        let _ = subject.run(runtime, Load::Rate(500.0), Duration::from_secs(arguments.seconds));
        let busy = ours.server.usage();
        let seconds = ours.started_in.as_secs_f64();
        let [idle, busy, peak] = [idle.memory, busy.memory, busy.peak].map(megabytes);
        println!("| {count} | {seconds:.2} | {idle:.1} | {busy:.1} | {peak:.1} |");
        match count {
            1_000 => limits.add(
                "1,000 policies, memory under load",
                "< 60 MB",
                format!("{busy:.1} MB"),
                busy < MAX_MEMORY_MEGABYTES,
            ),
            10_000 => {
                let is_fast = ours.started_in <= MAX_LOAD_TIME;
                limits.add("10,000 rules are loaded", "≤ 3 s", format!("{seconds:.2} s"), is_fast);
            }
            _ => {}
        }
    }
    if arguments.soak > 0 {
        measure_soak(arguments, runtime, programs, scratch, pod, limits)?;
    }
    Ok(())
}

fn measure_soak(
    arguments: &BenchArguments,
    runtime: &Runtime,
    programs: &BenchPrograms,
    scratch: &Scratch,
    pod: &str,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    println!(
        "\n## {} minutes at 1,000/s\n\n| minute | p99 ms | wrong | memory MB |\n|---:|---:|---:|---:|",
        arguments.soak
    );
    let ours = programs.serve(scratch, "soak", &arguments.policies)?;
    let subject = MeasuredServer::new("kubewright", &ours, Reviews::of_pod(pod, "shop", true), 4)?;
    subject.await_answer(runtime)?;
    let (mut warm, mut last, mut wrong) = (0, 0, 0);
    for minute in 1..=arguments.soak {
        let run = subject.run(runtime, Load::Rate(1_000.0), Duration::from_secs(60));
        last = ours.server.usage().memory;
        if minute == 1 {
            warm = last;
        }
        wrong += run.wrong().count();
        let p99 = crate::table::milliseconds(run.latencies().at(0.99));
        println!("| {minute} | {p99} | {} | {:.1} |", run.wrong().count(), megabytes(last));
    }
    let growth = last as f64 / warm.max(1) as f64;
    limits.add(
        "a long run: memory",
        "≤ 1.05 times",
        format!("{growth:.3} times"),
        growth <= MAX_MEMORY_GROWTH,
    );
    limits.add("a long run: wrong", "0", wrong.to_string(), wrong == 0);
    Ok(())
}
