//! Slow work: it ends at its deadline and does not delay other reviews.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kubewright_engine::AdmissionPhase;
use kubewright_serve::Snapshot;
use kubewright_value::json;

use crate::programs::rule;
use crate::server::{Client, Running, review, snapshot};

const JOB: &str = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"shop"}}"#;
const SERVICE: &str = r#"{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"shop"}}"#;

/// What is waited for in a busy process on a busy machine, for what takes less than a millisecond.
const SMALL_REVIEW_TIME: Duration = Duration::from_millis(1000);

/// Returns a server whose rules about Jobs take all the steps that they may.
fn burning() -> Running {
    let rule = |number: usize| {
        let mut rule = rule("burns", "Job");
        rule.id = kubewright_engine::RuleId { rule: number.to_string().into(), ..(*rule.id).clone() }.into();
        rule
    };
    let rules = (0..100).map(rule).collect();
    Running::start(Snapshot::of_rules(AdmissionPhase::Validating, rules, 1), |_| {})
}

fn map(data: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","namespace":"shop"}},"data":{{"big":"{data}"}}}}"#
    )
}

/// Rules as an attacker would write them: each costs far more than it seems to.
const HOSTILE: &str = r#"
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: automaton, namespace: shop}
spec:
  type: Patch
  match:
    - {select: '$.kind', matchValue: ConfigMap}
    - {select: '$.data.big', matchRegex: '(a|b)*a(a|b){120}c'}
  patch: [{op: add, path: /metadata/labels/a, value: b}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: cel}
spec:
  validationFailureAction: Enforce
  rules:
    - name: find-all
      match: {any: [{resources: {kinds: [Secret]}}]}
      validate:
        cel:
          expressions:
            - expression: "object.data.big.findAll('a.*c|a').size() >= 0"
    - name: replace
      match: {any: [{resources: {kinds: [PersistentVolume]}}]}
      validate:
        cel:
          expressions:
            - expression: "[1,2,3,4,5,6,7,8,9].all(i, [1,2,3,4,5,6,7,8,9].all(j, ''.replace(object.data.big, 'x') == ''))"
    - name: nested
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      validate:
        message: nested
        foreach:
          - list: "range(`0`, `1000`, `1`)"
            foreach:
              - list: "range(`0`, `1000`, `1`)"
                foreach:
                  - list: "range(`0`, `1000`, `1`)"
                    deny: {conditions: {any: [{key: "{{ element }}", operator: Equals, value: x}]}}
"#;

/// The hook, the kind and how much it is given of each rule. In a build without optimisation steps take fifty times as
/// long as they should, so that less is as bad here as more is elsewhere.
const ATTACKS: [(&str, &str, usize); 5] = [
    ("/mutate", "ConfigMap", 20_000),
    ("/validate", "Secret", 3_000),
    ("/validate", "PersistentVolume", 300_000),
    ("/validate", "ConfigMap", 10),
    ("/validate", "ConfigMap", 1_000_000),
];

#[test]
fn slow_rules_do_not_delay_others_and_are_answered_in_time() {
    let server = Running::with_rules(HOSTILE);
    let is_over = AtomicBool::new(false);
    let (small, slow) = std::thread::scope(|scope| {
        let attackers: Vec<_> =
            ATTACKS.iter().map(|attack| scope.spawn(|| attacked(&server, attack, &is_over))).collect();
        // Reviews that keep others waiting do so once.
        std::thread::sleep(Duration::from_secs(2));
        let mut small: Vec<Duration> = (0..60).map(|_| small_review(&server)).collect();
        is_over.store(true, Ordering::Relaxed);
        small.sort();
        let answers = attackers.into_iter().flat_map(|attacker| attacker.join().expect("answers"));
        (small, answers.collect::<Vec<_>>())
    });
    assert!(small.iter().rev().nth(1).is_some_and(|took| *took < SMALL_REVIEW_TIME), "{small:?}");
    let is_late = |(took, ..): &&(Duration, u16, &str)| *took > Duration::from_millis(2000);
    assert_eq!(slow.iter().skip(1).filter(is_late).count(), 0, "{slow:?}");
    assert!(slow.iter().all(|(_, status, _)| matches!(status, 200 | 429 | 500)), "{slow:?}");
}

/// Sends the same review again and again; returns how long each answer took.
fn attacked(
    server: &Running,
    (hook, kind, size): &(&'static str, &'static str, usize),
    is_over: &AtomicBool,
) -> Vec<(Duration, u16, &'static str)> {
    let object = map(&"a".repeat(*size)).replace("ConfigMap", kind);
    let body = review("CREATE", &object);
    let mut took = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let answer = server.post(&format!("{hook}?timeout=2s"), body.clone());
        took.push((begun.elapsed(), answer.status, *kind));
    }
    took
}

fn small_review(server: &Running) -> Duration {
    std::thread::sleep(Duration::from_millis(20));
    server.runtime.block_on(async {
        let mut client = server.client(b"h2").await;
        let begun = Instant::now();
        let answer = client.post("/validate", review("CREATE", SERVICE)).await;
        assert!(answer.is_allowed());
        begun.elapsed()
    })
}

#[test]
fn a_review_that_takes_too_long_is_given_up_half_a_second_before_its_deadline_and_its_work_ends() {
    let server = burning();
    for _ in 0..3 {
        let begun = Instant::now();
        let answer = server.post("/validate?timeout=1500ms", review("CREATE", JOB));
        let took = begun.elapsed();
        assert_eq!(answer.status, 500, "{}", answer.text);
        // Steps may be used up before the time is.
        assert!(took < Duration::from_millis(1400), "{took:?}");
        // Were the one before still at work, this one would not even begin.
        assert!(
            answer.text.contains("too long") || answer.text.contains("too many steps"),
            "{}",
            answer.text
        );
    }
}

#[test]
fn a_step_that_takes_far_longer_than_a_step_costs_the_others_one_review() {
    // It spends next to no steps, and 400 ms.
    let mut slow = rule("naps", "Job");
    slow.evaluation_modes = kubewright_engine::EvaluationModes::default();
    let server = Running::start(Snapshot::of_rules(AdmissionPhase::Validating, vec![slow], 1), |_| {});
    assert!(server.post("/validate", review("CREATE", JOB)).is_allowed());
    assert!(server.metric("kubewright_review_overruns_total") > 0.5);
    // From now on such reviews are decided apart, so that many at once leave the others their threads.
    let others = server.runtime.block_on(async {
        let mut reviews = tokio::task::JoinSet::new();
        for _ in 0..6 {
            let Client::Two(sender) = server.client(b"h2").await else {
                unreachable!("HTTP/2 was asked for")
            };
            reviews.spawn(async move {
                Client::Two(sender).post("/validate?timeout=30s", review("CREATE", JOB)).await.status
            });
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        assert!(server.client(b"h2").await.post("/validate", review("CREATE", SERVICE)).await.is_allowed());
        let others = begun.elapsed();
        assert!(reviews.join_all().await.iter().all(|status| *status == 200));
        others
    });
    assert!(others < Duration::from_millis(350), "{others:?}");
}

#[test]
fn one_slow_large_review_does_not_hold_up_the_other_large_ones() {
    let server = burning();
    let large = |object: &str| format!("{}{}", " ".repeat(700 << 10), review("CREATE", object));
    let (slow, other) = server.runtime.block_on(async {
        let mut slow = server.client(b"h2").await;
        let body = large(JOB);
        let slow = tokio::spawn(async move { slow.post("/validate?timeout=4s", body).await.status });
        tokio::time::sleep(Duration::from_millis(300)).await;
        let begun = Instant::now();
        let mut client = server.client(b"h2").await;
        assert!(client.post("/validate?timeout=4s", large(SERVICE)).await.is_allowed());
        let other = begun.elapsed();
        (slow.await.expect("an answer"), other)
    });
    assert_eq!(slow, 500);
    assert!(other < Duration::from_secs(1), "{other:?}");
}

/// Returns a dry run whose rule loops as often as it may.
fn dry_run(rounds: usize) -> String {
    let numbers = (0..rounds).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let template = "{{ range .Target.data }}{{ range $.Target.data }}{{ range $.Target.data }}{{ . }}{{ end }}{{ end }}{{ end }}";
    let template = json::quote(template);
    let rules: Vec<String> = (0..50)
        .map(|number| {
            format!(
                r#"{{"metadata":{{"name":"r{number}"}},"spec":{{"type":"Patch","match":[{{"select":"$.kind","matchValue":"ConfigMap"}}],
                "patch":[{{"op":"add","path":"/metadata/annotations/a{number}","value":{template}}}]}}}}"#
            )
        })
        .collect();
    format!(
        r#"{{"resourceManifest":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","annotations":{{}}}},"data":[{numbers}]}},"modRules":[{}]}}"#,
        rules.join(",")
    )
}

#[test]
fn a_dry_run_ends_at_its_deadline_and_leaves_the_lane_to_the_next() {
    let server = Running::with_rules("");
    let put = |body: String, timeout: &str| {
        let begun = Instant::now();
        let path = format!("/v1/dryrun?timeout={timeout}");
        let answer = server.runtime.block_on(async {
            server.client(b"h2").await.send("PUT", &path, Some("application/json"), body.into()).await
        });
        (answer.expect("an answer"), begun.elapsed())
    };
    for _ in 0..3 {
        let (answer, took) = put(dry_run(400), "1s");
        assert!(matches!(answer.status, 400 | 504), "{} {}", answer.status, answer.text);
        assert!(took < Duration::from_millis(1000), "{took:?}");
    }
    let (answer, took) = put(dry_run(1), "5s");
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(took < Duration::from_secs(2), "{took:?}");
    let (answer, _) = put(" ".repeat(3 << 20), "5s");
    assert_eq!(answer.status, 413, "{}", answer.text);
}

/// Returns a review of a policy with `count` unused context variables.
fn policy(count: usize) -> String {
    let variables: Vec<String> = (0..count)
        .map(|number| format!(r#"{{"name":"v{number}","variable":{{"value":"a{number}"}}}}"#))
        .collect();
    let policy = format!(
        r#"{{"apiVersion":"kyverno.io/v1","kind":"ClusterPolicy","metadata":{{"name":"p"}},"spec":{{"rules":[{{"name":"r",
        "context":[{}],"match":{{"any":[{{"resources":{{"kinds":["Pod"]}}}}]}},"validate":{{"message":"m","pattern":{{"kind":"Pod"}}}}}}]}}}}"#,
        variables.join(",")
    );
    review("CREATE", &policy)
}

#[test]
fn compiling_rules_that_are_about_to_be_stored_keeps_no_review_waiting() {
    let server = Running::with_rules("");
    let body = policy(2000);
    let (small, checks) = std::thread::scope(|scope| {
        let checks: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let begun = Instant::now();
                    let answer = server.post("/rules?timeout=2s", body.clone());
                    (answer.status, begun.elapsed())
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(100));
        let small: Vec<Duration> = (0..20).map(|_| small_review(&server)).collect();
        (small, checks.into_iter().map(|check| check.join().expect("an answer")).collect::<Vec<_>>())
    });
    assert!(small.iter().all(|took| *took < SMALL_REVIEW_TIME), "{small:?}");
    for (status, took) in checks {
        assert!(matches!(status, 200 | 429 | 504) && took < Duration::from_secs(2), "{status} {took:?}");
    }
    let rules = snapshot(HOSTILE);
    assert!(rules.states.iter().all(|state| state.rules > 0), "the hostile rules compile");
    assert_eq!(server.post("/rules", "x".repeat(5 << 20)).status, 413);
}

#[test]
fn many_dry_runs_leave_reviews_their_places() {
    let server = Running::with_rules("");
    let statuses = server.runtime.block_on(async {
        let mut tries = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let Client::Two(sender) = server.client(b"h2").await else {
                unreachable!("HTTP/2 was asked for")
            };
            for _ in 0..50 {
                let (mut client, body) = (Client::Two(sender.clone()), dry_run(300));
                let path = "/v1/dryrun?timeout=3s";
                tries.spawn(async move {
                    let answer = client.send("PUT", path, Some("application/json"), body.into()).await;
                    answer.map_or(0, |answer| answer.status)
                });
            }
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        for _ in 0..10 {
            let mut client = server.client(b"h2").await;
            assert!(client.post("/validate", review("CREATE", SERVICE)).await.is_allowed());
        }
        tries.join_all().await
    });
    assert!(statuses.iter().filter(|status| **status == 429).count() > 150, "{statuses:?}");
}
