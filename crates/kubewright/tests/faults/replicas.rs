//! Replicas that end: one without a warning, all in turn as they should, all at once.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::installation::NAMESPACE;
use crate::stage::Stage;
use crate::table::Row;

/// A process must have ended so long after it was asked to.
const GRACE: Duration = Duration::from_secs(15);

/// How long the connections of a process that is gone may be used by others.
const NOTICE: Duration = Duration::from_millis(700);

/// The one that the API server is connected to is killed. What was under way there is lost, because the API server does
/// not ask again; nothing later is.
pub(crate) fn one_is_killed(stage: &mut Stage<'_>) -> Row {
    let mut victim = stage.installation.take_busiest();
    let (before, after) = (stage.seconds(2, 10), stage.seconds(3, 20));
    let (run, fault) = stage.load.during(|start| {
        sleep(before);
        let fault = start.elapsed();
        victim.server.kill();
        sleep(after);
        fault
    });
    stage.installation.forget(&victim);
    let mut row = Row::of(&run).recovered(&run, fault);
    let is_under_way = |due: Duration, latency: Duration| due <= fault && due + latency >= fault;
    let under_way = run.samples.iter().filter(|sample| is_under_way(sample.due, sample.latency)).count();
    let late = run.wrong().filter(|(sample, _)| sample.due > fault + NOTICE).count();
    row.notes.push(format!("{under_way} requests were under way"));
    row.expect(late == 0, format!("{late} requests that came {NOTICE:?} later were lost"));
    row
}

/// As a Deployment does it: a new one is ready before an old one is asked to end.
pub(crate) fn all_are_replaced(stage: &mut Stage<'_>) -> Row {
    let count = if stage.is_long { 3 } else { 1 };
    let mut ends = Vec::new();
    let Stage { installation, load, .. } = stage;
    let (run, fault) = load.during(|start| {
        sleep(Duration::from_secs(1));
        let fault = start.elapsed();
        for _ in 0..count {
            installation.start();
            let deadline = Instant::now() + Duration::from_secs(60);
            while installation.ready() < 4 && Instant::now() < deadline {
                sleep(Duration::from_millis(20));
            }
            let mut old = installation.take_oldest();
            let asked = Instant::now();
            old.server.terminate().expect("a signal");
            let code = loop {
                match old.server.ended() {
                    Ok(Some(code)) => break code,
                    _ if asked.elapsed() > GRACE => break None,
                    _ => sleep(Duration::from_millis(20)),
                }
            };
            ends.push((asked.elapsed(), code));
            installation.forget(&old);
        }
        sleep(Duration::from_secs(1));
        fault
    });
    let mut row = Row::of(&run).recovered(&run, fault);
    row.notes.push(format!("each ended after, with: {ends:.2?}"));
    row.expect(ends.iter().all(|(time, code)| *time < GRACE && *code == Some(0)), "one did not end well");
    row.expect(row.right == row.requests, "a request went wrong");
    row
}

/// With webhooks that fail: the rules' own objects are refused then, and what the cluster lives by is not.
pub(crate) fn all_are_gone(stage: &mut Stage<'_>) -> Row {
    stage.installation.kill_all();
    let away = Instant::now();
    let mut row = Row::default();
    row.expect(!stage.load.is_right(0), "a replica still answers");
    for (what, problem) in lifelines(stage) {
        row.expect(problem.is_none(), format!("{what}: {}", problem.unwrap_or_default()));
    }
    row.notes.push(format!("all were gone for {:.1?}", away.elapsed()));
    row.recovery = stage.recover();
    row
}

/// What must go on, each with what went wrong.
fn lifelines(stage: &Stage<'_>) -> Vec<(&'static str, Option<String>)> {
    let run = |arguments: &[&str], stdin: &str| {
        let output = stage.cluster.kubectl(arguments, stdin);
        (!output.is_success()).then_some(output.stderr)
    };
    let own = format!(
        "{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: life, namespace: {NAMESPACE}}}, spec: {{selector: {{matchLabels: {{app: life}}}},
          template: {{metadata: {{labels: {{app: life}}}}, spec: {{securityContext: {{runAsNonRoot: true, seccompProfile: {{type: RuntimeDefault}}}},
          containers: [{{name: life, image: life, securityContext: {{allowPrivilegeEscalation: false, capabilities: {{drop: [ALL]}}}}}}]}}}}}}}}"
    );
    let lease = "{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: life, namespace: kube-node-lease}}";
    let node = r#"{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Life"}]}}"#;
    let deployment = run(&["apply", "-f", "-"], &own);
    let has_pod = || {
        let pods = ["get", "pods", "-n", NAMESPACE, "-l", "app=life", "-o", "name"];
        stage.cluster.kubectl(&pods, "").stdout.contains("pod/")
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while !has_pod() && Instant::now() < deadline {
        sleep(Duration::from_millis(100));
    }
    let lines = vec![
        ("a Deployment in our own namespace", deployment),
        ("its pods", (!has_pod()).then(|| "none was made".to_owned())),
        ("kube-system", run(&["create", "configmap", "life", "-n", "kube-system"], "")),
        ("a lease of a node", run(&["create", "-f", "-"], lease)),
        ("the status of a node", run(&["patch", "node", "node-1", "--subresource=status", "-p", node], "")),
        ("a namespace", run(&["create", "namespace", "life"], "")),
        (
            "rules can be removed",
            run(&["delete", "clusterpolicy", "none-of-this-name", "--ignore-not-found"], ""),
        ),
    ];
    let _ = run(&["delete", "deployment", "life", "-n", NAMESPACE], "");
    let _ = run(&["delete", "configmap", "life", "-n", "kube-system"], "");
    let _ = run(&["delete", "lease", "life", "-n", "kube-node-lease"], "");
    let _ = run(&["delete", "namespace", "life", "--wait=false"], "");
    lines
}
