//! Rules that are wrong, and rules that never end.

use std::thread::sleep;
use std::time::{Duration, Instant};

use kubewright_load::LoadRun;

use crate::stage::Stage;
use crate::table::Row;

/// One that is stored already affects no other rule and says so in its status; a new one is refused with the reason.
pub(crate) fn one_does_not_compile(stage: &mut Stage<'_>) -> Row {
    let wrong =
        "{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {name: also-wrong, namespace: faults},
        spec: {type: Patch, match: [{select: '$.kind['}], patch: [{op: add, path: /a, value: b}]}}";
    let (run, refused) = stage.load.during(|_| {
        let refused = stage.cluster.kubectl(&["create", "-f", "-"], wrong);
        sleep(Duration::from_secs(2));
        refused
    });
    let mut row = Row::of(&run).recovered(&run, Duration::ZERO);
    row.expect(!refused.is_success() && refused.stderr.contains("KW-M"), format!("not refused: {refused}"));
    row.expect(row.right == row.requests, "a request went wrong");
    for rule in ["modrule/wrong", "clusterpolicy/wrong"] {
        let fields = ["get", rule, "-n", "faults", "-o", "jsonpath={.status.conditions[*].status}"];
        let status = stage.cluster.kubectl(&fields, "").stdout;
        row.expect(status.contains("False"), format!("the status of {rule} is `{status}`"));
    }
    row
}

/// It fails by itself, and costs those beside it nothing.
pub(crate) fn one_does_not_end(stage: &mut Stage<'_>) -> Row {
    // Six loops in one another over a hundred entries.
    let text = "{{ range $.Target.data }}".repeat(6) + "x" + &"{{ end }}".repeat(6);
    let rule = format!(
        "{{apiVersion: api.kubemod.io/v1beta1, kind: ModRule, metadata: {{name: endless, namespace: loops}},
          spec: {{type: Patch, match: [{{select: '$.kind', matchValue: ConfigMap}}], patch: [{{op: add, path: /metadata/labels/x, value: '{text}'}}]}}}}"
    );
    stage.cluster.create_namespace("loops");
    let lasting = stage.seconds(3, 20);
    let (calm, ()) = stage.load.during(|_| sleep(lasting));
    stage.cluster.kubectl(&["apply", "-f", "-"], &rule).expect_success();
    let data: Vec<String> = (0..100).map(|number| format!(r#""k{number}":"v""#)).collect();
    let body = format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"big","namespace":"loops"}},"data":{{{}}}}}"#,
        data.join(",")
    );
    let ask = |stage: &Stage<'_>| {
        let asked = Instant::now();
        let answer = stage.load.post("/api/v1/namespaces/loops/configmaps?dryRun=All", body.clone());
        (asked.elapsed(), answer.map(|(status, _)| status))
    };
    let failures = |stage: &mut Stage<'_>| -> f64 {
        let replicas = stage.installation.replicas();
        replicas.iter().map(|replica| replica.metric("kubewright_rule_errors_total")).sum()
    };
    let before = failures(stage);
    let deadline = Instant::now() + Duration::from_secs(10);
    while failures(stage) <= before && Instant::now() < deadline {
        ask(stage).1.expect("an answer");
    }
    let mut answers = Vec::new();
    let (busy, ()) = stage.load.during(|start| {
        while start.elapsed() < lasting {
            answers.push(ask(stage));
            sleep(Duration::from_millis(100));
        }
    });
    let failed = failures(stage) - before;
    let mut row = Row::of(&busy).recovered(&busy, Duration::ZERO);
    let p99 = |run: &LoadRun| run.latencies().at(0.99);
    row.notes.push(format!(
        "p99 of its neighbours {:.2?} without it, {:.2?} with it",
        p99(&calm),
        p99(&busy)
    ));
    let slowest = answers.iter().map(|(time, _)| *time).max().unwrap_or_default();
    row.notes
        .push(format!("asked {} times it failed {failed} times, at last after {slowest:.2?}", answers.len()));
    row.expect(failed >= answers.len() as f64, "it did not fail");
    row.expect(answers.iter().all(|(_, status)| *status == Ok(201)), format!("not let through: {answers:?}"));
    row.expect(row.right == row.requests, "a request went wrong");
    stage.cluster.kubectl(&["delete", "modrule", "endless", "-n", "loops"], "").expect_success();
    row
}
