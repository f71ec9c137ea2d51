//! One object of a hundred changes each minute; one change of ten changes a result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_load::{BenchLimits, Latencies};
use kubewright_value::Value;
use tokio::sync::Mutex;
use tokio::task::JoinSet;

use crate::arguments::ScanBenchArguments;
use crate::fleet::{Fleet, wait_for};
use crate::objects::{application_name, compliant_applications, namespace_of};
use crate::programs::RunningScanner;

/// The share of all objects that change in a minute.
const CHURN_A_MINUTE: f64 = 0.01;
/// One change of so many changes a result.
const RESULT_CHANGE_PERIOD: usize = 10;
const MAX_CORES: f64 = 0.1;
const MAX_ROW_DELAY: Duration = Duration::from_secs(2);
/// How long a row is waited for.
const ROW_TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn measure_churn(
    arguments: &ScanBenchArguments,
    fleet: &Fleet,
    scanner: &mut RunningScanner<'_>,
    applications: usize,
    limits: &mut BenchLimits,
) -> Result<(), String> {
    let rate = arguments.objects as f64 * CHURN_A_MINUTE / 60.0;
    let duration = Duration::from_secs(arguments.churn_seconds);
    let delays: Arc<Mutex<Vec<Duration>>> = Arc::default();
    let before = (scanner.usage().cpu, scanner.metric("kubewright_scan_judgements_total", "")?);
    let mut tasks = JoinSet::new();
    let (start, mut changes) = (Instant::now(), 0_usize);
    let mut targets = compliant_applications(applications).cycle();
    while start.elapsed() < duration {
        let due = Duration::from_secs_f64(changes as f64 / rate);
        tokio::time::sleep(due.saturating_sub(start.elapsed())).await;
        let Some(number) = targets.next() else { return Err("no application to change".to_owned()) };
        let (fleet, delays) = (fleet.clone(), Arc::clone(&delays));
        let change = changes;
        tasks.spawn(async move {
            if change.is_multiple_of(RESULT_CHANGE_PERIOD) {
                let delay = change_result(&fleet, number).await?;
                delays.lock().await.extend(delay);
                return Ok(());
            }
            change_content(&fleet, number, change).await
        });
        changes += 1;
    }
    let elapsed = start.elapsed();
    let used = scanner.usage().cpu.saturating_sub(before.0);
    while let Some(ended) = tasks.join_next().await {
        ended.unwrap_or_else(|error| Err::<(), String>(error.to_string()))?;
    }
    let judged = scanner.metric("kubewright_scan_judgements_total", "")? - before.1;
    let cores = used.as_secs_f64() / elapsed.as_secs_f64();
    let delays = Latencies::new(std::mem::take(&mut *delays.lock().await));
    let seconds = |share| delays.at(share).as_secs_f64();
    println!(
        "\n| churn | changes | judgements | CPU cores | row right: p50 s | p99 s | max s |\n|---|---:|---:|---:|---:|---:|---:|"
    );
    println!(
        "| {:.0} s | {changes} | {judged:.0} | {cores:.3} | {:.2} | {:.2} | {:.2} |",
        elapsed.as_secs_f64(),
        seconds(0.5),
        seconds(0.99),
        delays.longest().as_secs_f64()
    );
    limits.add(
        "CPU at a churn of 1 % a minute",
        "≤ 0.1 cores",
        format!("{cores:.3} cores"),
        cores <= MAX_CORES,
    );
    let p99 = delays.at(0.99);
    limits.add(
        "the row of a changed object is right (p99)",
        "≤ 2 s",
        format!("{:.2} s", p99.as_secs_f64()),
        p99 <= MAX_ROW_DELAY,
    );
    Ok(())
}

/// Changes what no policy reads, as most changes do.
async fn change_content(fleet: &Fleet, application: usize, change: usize) -> Result<(), String> {
    let (name, namespace) = (application_name(application), namespace_of(application));
    let (path, patch) = match change % 3 {
        0 => (
            format!("/api/v1/namespaces/{namespace}/configmaps/{name}-settings"),
            format!(r#"{{"data":{{"CACHE_TTL":"{change}s"}}}}"#),
        ),
        1 => (
            format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}"),
            format!(r#"{{"metadata":{{"annotations":{{"shop.example/build":"{change}"}}}}}}"#),
        ),
        _ => (
            format!("/api/v1/namespaces/{namespace}/pods/{name}-7d9c5bf6c4-4xk2m"),
            format!(r#"{{"metadata":{{"annotations":{{"shop.example/probe":"{change}"}}}}}}"#),
        ),
    };
    fleet.patch(&path, &patch).await.map(drop)
}

/// Takes the label from a Deployment that `require-labels` asks for, gives it back, and returns how long each took to
/// be seen in its report.
async fn change_result(fleet: &Fleet, application: usize) -> Result<[Duration; 2], String> {
    let (name, namespace) = (application_name(application), namespace_of(application));
    let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
    let mut delays = [Duration::ZERO; 2];
    for (delay, (label, is_row)) in delays.iter_mut().zip([("null", true), ("\"team-shop\"", false)]) {
        let patch = format!(r#"{{"metadata":{{"labels":{{"shop.example/team":{label}}}}}}}"#);
        let changed = fleet.patch(&path, &patch).await?;
        let uid = changed.str_at(&["metadata", "uid"]).to_owned();
        let start = Instant::now();
        wait_for(ROW_TIMEOUT, || async {
            Ok(has_row(fleet, &namespace, &uid, "require-labels").await? == is_row)
        })
        .await
        .map_err(|error| format!("row of `require-labels` for {path}: {error}"))?;
        *delay = start.elapsed();
    }
    Ok(delays)
}

/// Whether the report of an object has a row of `policy`.
pub(crate) async fn has_row(fleet: &Fleet, namespace: &str, uid: &str, policy: &str) -> Result<bool, String> {
    let path = format!("/apis/openreports.io/v1alpha1/namespaces/{namespace}/reports/kubewright-{uid}");
    let report = fleet.get(&path).await?;
    let rows = report.as_ref().and_then(|report| report.get("results")).and_then(Value::as_array);
    Ok(rows.unwrap_or_default().iter().any(|row| row.str_at(&["policy"]) == policy))
}
