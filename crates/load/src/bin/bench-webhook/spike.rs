//! Ten times too much for a few seconds, and the time after it.

use std::time::Duration;

use kubewright_load::{BenchLimits, Flood, LoadRun, Reviews, SeparateProcessors};

use crate::arguments::BenchArguments;
use crate::measure::REVIEW_PATH;
use crate::servers::{BenchPrograms, Scratch};
use crate::table::{megabytes, milliseconds};

/// As long as the spike is, and as what comes before and follows it is looked at.
const SPIKE_TIME: Duration = Duration::from_secs(5);
const WARM_UP_TIME: Duration = Duration::from_secs(1);
const RECOVERY_TIME: Duration = Duration::from_secs(4);
/// When everything should be as before.
const CALM_AFTER_DELAY: Duration = Duration::from_secs(2);
const USUAL_RATE: f64 = 2_000.0;
/// How often more is sent where nothing was refused, which would say nothing of refusals.
const MAX_SPIKES: usize = 5;
/// Many connections, so that it is the server that sets the limit and not the streams of a few of them, and as many requests
/// in turn on one as are due in half a millisecond, so that the generator has time for all of them.
const CONNECTIONS: (usize, usize) = (32, 10);

pub(crate) fn measure_spike(
    arguments: &BenchArguments,
    programs: &BenchPrograms,
    scratch: &Scratch,
    pod: &str,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    let ours = programs.serve(scratch, "spike", &arguments.policies)?;
    let reviews = Reviews::of_pod(pod, "shop", true);
    let flood = Flood::new(ours.target.clone(), REVIEW_PATH, reviews, CONNECTIONS);
    let flood = flood.map_err(|error| error.to_string())?;
    let send =
        |rate, time| -> Result<LoadRun, String> { flood.run(rate, time).map_err(|error| error.to_string()) };
    // The rules are compiled and the memory of the server is as it will be.
    send(USUAL_RATE, WARM_UP_TIME)?;
    let processors = SeparateProcessors::separate(ours.server.id());
    let usual = send(USUAL_RATE, RECOVERY_TIME)?;
    let mut rate = arguments.spike;
    let mut spikes = vec![(rate, send(rate, SPIKE_TIME)?)];
    while spikes.len() < MAX_SPIKES && spikes.last().is_some_and(|(_, run)| run.refusals().count() == 0) {
        rate *= 1.5;
        spikes.push((rate, send(rate, SPIKE_TIME)?));
    }
    let after = send(USUAL_RATE, RECOVERY_TIME)?;

    println!("\n## A spike of {:.0}/s for {} s\n", arguments.spike, SPIKE_TIME.as_secs());
    match &processors {
        Ok(on) => {
            println!("The server runs on processor {}, the generator on {}.", on.server, on.generator);
        }
        Err(error) => println!("Server and generator share all processors: {error}."),
    }
    let refused = spikes.last().map_or(0, |(_, run)| run.refusals().count());
    match (spikes.len(), refused) {
        (1, _) => {}
        (_, 0) => println!("Nothing was refused, though half as much again was sent each time."),
        _ => println!("Nothing was refused at first, so half as much again was sent until something was."),
    }
    print_spikes(&spikes);
    let wrong: usize = spikes.iter().map(|(_, run)| run.wrong().count()).sum();
    let p99 = spikes.iter().map(|(_, run)| run.refusals().at(0.99)).max().unwrap_or_default();
    println!("\nPeak memory {:.1} MB.", megabytes(ours.server.usage().peak));
    let mut calm = after;
    calm.samples.retain(|sample| sample.due >= CALM_AFTER_DELAY);
    let (before, after) = (usual.latencies().at(0.99), calm.latencies().at(0.99));
    println!(
        "\np99 at {USUAL_RATE:.0}/s before it {before:.2?}, from {} s after it {after:.2?}",
        CALM_AFTER_DELAY.as_secs()
    );

    limits.add(
        "a spike: what is too much is answered",
        "< 50 ms (p99)",
        if refused == 0 { "nothing was refused".to_owned() } else { format!("{p99:.2?}") },
        refused > 0 && p99.as_millis() < 50,
    );
    limits.add("a spike: neither answered nor refused", "0", wrong.to_string(), wrong == 0);
    let is_calm = after < before * 2 + Duration::from_millis(1);
    limits.add("a spike: p99 2 s after it", "as before", format!("{before:.2?}, then {after:.2?}"), is_calm);
    Ok(())
}

/// Prints what was answered at each rate.
fn print_spikes(spikes: &[(f64, LoadRun)]) {
    println!(
        "\n| requests/s | requests | answers/s | right | refused | wrong | refused: p50 ms | p99 ms | max ms | sent late: p99 ms |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    for (rate, run) in spikes {
        let (refusals, went_wrong) = (run.refusals(), run.wrong().count());
        println!(
            "| {rate:.0} | {} | {:.0} | {} | {} | {went_wrong} | {} | {} | {} | {} |",
            run.samples.len(),
            run.rate(),
            run.samples.len() - refusals.count() - went_wrong,
            refusals.count(),
            milliseconds(refusals.at(0.5)),
            milliseconds(refusals.at(0.99)),
            milliseconds(refusals.longest()),
            milliseconds(run.delays().at(0.99)),
        );
        if let Some((_, reason)) = run.wrong().next() {
            println!("{reason}");
        }
    }
}
