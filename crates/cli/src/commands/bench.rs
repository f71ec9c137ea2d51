//! `bench`: what each rule costs on a set of objects, the most expensive first.
//!
//! A rule is evaluated alone, on one core, on the objects that it may be about. The best of several rounds counts, so that
//! other work on the machine shows little.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_engine::{Diagnostic, Engine, Rule};
use kubewright_files as files;
use kubewright_k8s::AdmissionRequest;
use kubewright_report::text::plural;
use kubewright_value::{Map, Value, json};

use crate::arguments::{BenchArguments, TableFormat};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, Columns, Paint, standard_output, visible, write_file};
use crate::progress::ProgressBar;
use crate::review::Reviewer;
use crate::rule_inputs::{RuleInputs, no_objects, print_diagnostics};

/// How often a rule is measured at most.
const MAX_ROUNDS: usize = 10;

/// How long a rule is measured, unless a single round takes longer.
const MEASURING_TIME: Duration = Duration::from_millis(100);

/// Runs the command.
///
/// # Errors
/// When the arguments are invalid, or a file cannot be read or written.
pub(crate) fn run_bench(
    arguments: &BenchArguments,
    color: ColorChoice,
) -> Result<ExitStatus, CommandFailure> {
    let baseline = arguments.baseline.as_deref().map(read_baseline).transpose()?;
    let mut inputs = RuleInputs::open(&arguments.rules, &arguments.objects)?;
    let mut requests: Vec<AdmissionRequest> = Vec::new();
    let reviewer = inputs.reviewer(Columns::default());
    let problems = files::stream_objects(
        &inputs.manifests,
        inputs.wanted(),
        |document| reviewer.request(document),
        |request, _| {
            requests.push(request);
            Ok(())
        },
    )?;
    let mut costs = measure_rules(&inputs, &requests);
    inputs.diagnostics.extend(problems);
    if requests.is_empty() && !inputs.diagnostics.iter().any(Diagnostic::is_error) {
        inputs.diagnostics.push(no_objects(&arguments.objects.resources));
    }
    costs.sort_by(|one, other| other.time.cmp(&one.time).then_with(|| one.rule.cmp(&other.rule)));
    let report = bench_value(&costs, requests.len());
    match arguments.output {
        TableFormat::Json => {
            let mut out = standard_output();
            writeln!(out, "{}", json::to_shown_string(&report))?;
            out.flush()?;
        }
        TableFormat::Table => write_table(&costs, requests.len(), baseline.as_ref(), color.paint_output())?,
    }
    if let Some(path) = &arguments.write_baseline {
        let text = format!("{}\n", json::to_string(&report));
        write_file(path, text.as_bytes())?;
    }
    let is_incomplete = print_diagnostics(&inputs.diagnostics, color.paint_errors());
    Ok(if is_incomplete { ExitStatus::BadInput } else { ExitStatus::Clean })
}

/// What one rule costs.
struct RuleCost {
    rule: String,
    /// How many objects it judged.
    verdicts: usize,
    /// The time of the best round.
    time: Duration,
}

impl RuleCost {
    /// Returns the nanoseconds of a verdict.
    fn per_verdict(&self) -> u64 {
        let verdicts = u128::try_from(self.verdicts.max(1)).unwrap_or(1);
        u64::try_from(self.time.as_nanos() / verdicts).unwrap_or(u64::MAX)
    }
}

/// Measures every rule on the requests that it may be about.
fn measure_rules(inputs: &RuleInputs, requests: &[AdmissionRequest]) -> Vec<RuleCost> {
    let mut bar = ProgressBar::new();
    let rules = inputs.engine.rules();
    let mut costs = Vec::new();
    for (at, rule) in rules.iter().enumerate() {
        costs.push(measure_rule(inputs, rule, requests));
        let percent = u32::try_from((at + 1) * 100 / rules.len().max(1)).unwrap_or(100);
        bar.show(files::Progress { objects: requests.len(), share: f64::from(percent) / 100.0 });
    }
    bar.clear();
    costs
}

fn measure_rule(inputs: &RuleInputs, rule: &Arc<Rule>, requests: &[AdmissionRequest]) -> RuleCost {
    let engine = Engine::sharing(vec![Arc::clone(rule)]);
    let reviewer = Reviewer { engine: &engine, ..inputs.reviewer(Columns::default()) };
    let about: Vec<&AdmissionRequest> = requests.iter().filter(|one| rule.scope.admits(one)).collect();
    let started = Instant::now();
    let mut best = None;
    let mut verdicts = 0;
    // The first round also reads what rules look up.
    for round in 0..MAX_ROUNDS {
        let begin = Instant::now();
        let judged = about.iter().map(|request| {
            let decision = reviewer.decide(request);
            decision.outcomes.iter().filter(|outcome| outcome.is_judged).count()
        });
        verdicts = judged.sum();
        let time = begin.elapsed();
        best = if round == 0 { Some(time) } else { best.map(|best: Duration| best.min(time)) };
        if round > 0 && started.elapsed() > MEASURING_TIME {
            break;
        }
    }
    RuleCost { rule: rule.id.to_string(), verdicts, time: best.unwrap_or_default() }
}

fn bench_value(costs: &[RuleCost], objects: usize) -> Value {
    let rules = costs.iter().map(|cost| {
        Value::from(Map::from([
            ("rule", Value::from(cost.rule.as_str())),
            ("verdicts", cost.verdicts.into()),
            ("nanoseconds", u64::try_from(cost.time.as_nanos()).unwrap_or(u64::MAX).into()),
            ("nanosecondsPerVerdict", cost.per_verdict().into()),
        ]))
    });
    Map::from([("objects", Value::from(objects)), ("rules", Value::array(rules.collect()))]).into()
}

fn read_baseline(path: &Path) -> Result<Value, CommandFailure> {
    let text = fs::read_to_string(path).map_err(|error| {
        let why = files::io_error_text(&error);
        CommandFailure::usage(format!("cannot read `{}`: {why}", path.display()))
    })?;
    let baseline = json::parse(&text).ok().filter(|value| value.get("rules").is_some());
    baseline.ok_or_else(|| {
        CommandFailure::usage(format!("`{}` is not a baseline", path.display()))
            .help("write one with `--write-baseline`")
    })
}

/// Returns the nanoseconds of a verdict of `rule` in a baseline.
#[expect(clippy::cast_precision_loss, reason = "figures are shown to a person")]
fn baseline_of(baseline: &Value, rule: &str) -> Option<f64> {
    let rules = baseline.get("rules").and_then(Value::as_array)?;
    let own = rules.iter().find(|one| one.str_at(&["rule"]) == rule)?;
    let time = own.get("nanosecondsPerVerdict").and_then(Value::as_i64)?;
    Some(time as f64).filter(|time| *time > 0.0)
}

#[expect(clippy::cast_precision_loss, reason = "figures are shown to a person")]
fn write_table(
    costs: &[RuleCost],
    objects: usize,
    baseline: Option<&Value>,
    paint: Paint,
) -> Result<(), CommandFailure> {
    let mut out = standard_output();
    let total: Duration = costs.iter().map(|cost| cost.time).sum();
    let width = costs.iter().map(|cost| visible(&cost.rule).chars().count()).max().unwrap_or(4).max(4);
    let change = if baseline.is_some() { "  baseline" } else { "" };
    writeln!(out, "{:width$}  verdicts  per verdict       total  share{change}", "rule")?;
    for cost in costs {
        let share = 100.0 * cost.time.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        let per_verdict = time_text(cost.per_verdict() as f64);
        let whole = time_text(cost.time.as_nanos() as f64);
        write!(
            out,
            "{:width$}  {:>8}  {per_verdict:>11}  {whole:>10}  {share:>4.0}%",
            visible(&cost.rule),
            cost.verdicts
        )?;
        match baseline.map(|baseline| baseline_of(baseline, &cost.rule)) {
            None => {}
            Some(None) => write!(out, "       new")?,
            Some(Some(before)) => {
                let factor = cost.per_verdict() as f64 / before;
                let text = format!("{:>10}", format!("{factor:.2}×"));
                write!(out, "{}", if factor > 1.5 { paint.red(&text) } else { text })?;
            }
        }
        writeln!(out)?;
    }
    let counted = (plural(costs.len(), "rule"), plural(objects, "object"));
    writeln!(out, "\n{} on {}: {} on one core", counted.0, counted.1, time_text(total.as_nanos() as f64))?;
    out.flush()?;
    Ok(())
}

/// Returns a time with three digits and its unit.
fn time_text(nanoseconds: f64) -> String {
    match nanoseconds {
        time if time < 1e3 => format!("{time:.0} ns"),
        time if time < 1e6 => format!("{:.1} µs", time / 1e3),
        time if time < 1e9 => format!("{:.1} ms", time / 1e6),
        time => format!("{:.2} s", time / 1e9),
    }
}
