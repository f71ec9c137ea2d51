//! `why`: what every rule says about one object, and why; and what rules did to it in a cluster.

mod past;

use std::io::Write as _;

use kubewright_value::{Map, Value, json};

use super::trace::{ChosenTraces, are_patterns, trace_patterns, trace_rules};
use crate::arguments::{TraceFormat, WhyArguments};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, Paint, keep_inputs};
use past::{PastRequest, past_text, past_values, read_webhook_log};

/// Where it is told what happened to an object, and what.
struct PastOrigin {
    /// What one of them is.
    noun: &'static str,
    place: String,
    told: Vec<PastRequest>,
}

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid, the object is not there, or output cannot be written.
pub(crate) fn run_why(arguments: &WhyArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    if !arguments.object.contains('/') {
        let message = format!("`{}` is not an object", arguments.object);
        return Err(CommandFailure::usage(message)
            .help("name it as `Kind/namespace/name` or `Kind/name`, before the rules"));
    }
    let given = (&arguments.rules, &arguments.objects);
    let has_rules = !given.0.rules.is_empty();
    let past = past_requests(arguments, has_rules)?;
    if !has_rules && !past.is_empty() {
        write_past(arguments, &past, color)?;
        let is_any = past.iter().any(|origin| !origin.told.is_empty());
        return Ok(if is_any { ExitStatus::Clean } else { ExitStatus::BadInput });
    }
    if are_patterns(&given.0.rules) {
        let named = std::slice::from_ref(&arguments.object);
        let status = trace_patterns(given, named, (color, &arguments.output))?;
        return Ok(if status == ExitStatus::Violations { ExitStatus::Clean } else { status });
    }
    if *arguments.output.format == TraceFormat::Tree && arguments.output.file.is_none() {
        write_past(arguments, &past, color)?;
    }
    let chosen = ChosenTraces::new(&arguments.choice, std::slice::from_ref(&arguments.object));
    let output = (color, &arguments.output);
    let traced = trace_rules(given.0, given.1, &chosen, output)?;
    Ok(if traced.is_incomplete { ExitStatus::BadInput } else { ExitStatus::Clean })
}

/// Returns what happened to the object, by where it is told. Beside what rules say, Events are told where there are some.
fn past_requests(arguments: &WhyArguments, has_rules: bool) -> Result<Vec<PastOrigin>, CommandFailure> {
    let mut past = Vec::new();
    if let Some(log) = &arguments.log {
        let told = read_webhook_log(log, &arguments.object)?;
        past.push(PastOrigin { noun: "request", place: format!("the log `{log}`"), told });
    }
    let is_live = arguments.objects.resources.iter().any(|path| path.starts_with("cluster:"));
    if is_live {
        let events = match live_events(arguments) {
            Err(failure) if !has_rules => return Err(failure),
            found => found.unwrap_or_default(),
        };
        if !has_rules || !events.is_empty() {
            past.push(PastOrigin { noun: "Event", place: "the cluster".to_owned(), told: events });
        }
    }
    Ok(past)
}

#[cfg(feature = "serve")]
fn live_events(arguments: &WhyArguments) -> Result<Vec<PastRequest>, CommandFailure> {
    let cluster = crate::live::LiveCluster::find(&arguments.objects.inputs.cluster())?;
    let path = kubewright_cluster::GroupVersionResource::new("", "v1", "events").all();
    let events = cluster
        .list(path, "")
        .map_err(|error| CommandFailure::usage(format!("cannot list the Events of the cluster: {error}")))?;
    Ok(past::past_events(&events, &arguments.object))
}

#[cfg(not(feature = "serve"))]
fn live_events(_arguments: &WhyArguments) -> Result<Vec<PastRequest>, CommandFailure> {
    Err(CommandFailure::usage("this build of kubewright cannot talk to a cluster"))
}

/// Writes what happened to the object.
fn write_past(
    arguments: &WhyArguments,
    past: &[PastOrigin],
    color: ColorChoice,
) -> Result<(), CommandFailure> {
    if past.is_empty() {
        return Ok(());
    }
    keep_inputs(std::slice::from_ref(&arguments.output))?;
    let mut out = arguments.output.writer()?;
    match arguments.output.format {
        TraceFormat::Tree => {
            let is_file = arguments.output.file.is_some();
            let paint = if is_file { Paint::OFF } else { color.paint_output() };
            for origin in past {
                let told = past_text(&origin.told, (origin.noun, &origin.place), paint);
                writeln!(out, "{told}")?;
            }
        }
        TraceFormat::Json => {
            let requests = past.iter().flat_map(|origin| past_values(&origin.told)).collect();
            let document = Map::from([("requests", Value::array(requests))]);
            writeln!(out, "{}", json::to_shown_pretty(&document.into()))?;
        }
    }
    out.flush()?;
    Ok(())
}
