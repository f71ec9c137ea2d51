//! Reviews over HTTPS: what is asked, and what comes back.

use std::time::{Duration, Instant};

use kubewright_engine::{AdmissionPhase, Query};
use kubewright_serve::{Looking, Lookup, NoticeKind, Snapshot};
use kubewright_value::Value;

use crate::programs::rule;
use crate::server::{Client, Running, review, review_with, snapshot};

const RULES: &str = r#"
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: label, namespace: shop}
spec:
  type: Patch
  match: [{select: '$.kind', matchValue: Pod}]
  patch: [{op: add, path: /metadata/labels/added, value: '"yes"'}]
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: rename, namespace: shop}
spec:
  type: Patch
  match: [{select: '$.metadata.labels.rename', matchValue: now}]
  patch: [{op: replace, path: /metadata/name, value: '"other"'}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: need}
spec:
  validationFailureAction: Enforce
  rules:
  - name: team
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: a team is needed, pattern: {metadata: {labels: {team: "?*"}}}}
  - name: keep
    match: {any: [{resources: {kinds: [ConfigMap], operations: [DELETE]}}]}
    validate: {message: kept for ever, deny: {}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: audited}
spec:
  validationFailureAction: Audit
  rules:
  - name: owner
    match: {any: [{resources: {kinds: [Pod]}}]}
    validate: {message: an owner is needed, pattern: {metadata: {labels: {owner: "?*"}}}}
"#;

fn pod(labels: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"p","namespace":"shop","labels":{{{labels}}}}},
        "spec":{{"containers":[{{"name":"a","image":"b"}}]}}}}"#
    )
}

#[test]
fn a_rule_changes_an_object_and_another_refuses_one() {
    let server = Running::with_rules(RULES);
    let answer = server.post("/mutate?timeout=5s", review("CREATE", &pod("")));
    assert!(answer.is_allowed());
    assert_eq!(
        answer.patch().expect("a patch").to_string(),
        r#"[{"op":"add","path":"/metadata/labels/added","value":"yes"}]"#
    );
    let answer = server.post("/validate", review("CREATE", &pod("")));
    assert!(!answer.is_allowed());
    assert!(answer.message().contains("a team is needed"), "{}", answer.message());
    assert_eq!(answer.review().at(&["status", "code"]).and_then(Value::as_i64), Some(403));
    assert_eq!(answer.review().get("uid").and_then(Value::as_str), Some("some-uid"));
    let answer = server.post("/validate/fail", review("CREATE", &pod(r#""team":"a","owner":"b""#)));
    assert!(answer.is_allowed());
    assert!(answer.patch().is_none());
}

#[test]
fn both_versions_of_http_are_spoken() {
    let server = Running::with_rules(RULES);
    for protocol in [&b"h2"[..], b"http/1.1"] {
        let answer = server.runtime.block_on(async {
            let mut client = server.client(protocol).await;
            let first = client.post("/validate", review("CREATE", &pod(""))).await;
            assert!(!first.is_allowed());
            client.post("/validate", review("CREATE", &pod(r#""team":"a""#))).await
        });
        assert!(answer.is_allowed());
    }
}

#[test]
fn what_is_deleted_is_judged_as_it_was_and_never_patched() {
    let server = Running::with_rules(RULES);
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"shop"}}"#;
    let answer = server.post("/validate", review_with("DELETE", "null", map, ""));
    assert!(answer.message().contains("kept for ever"), "{}", answer.text);
    let answer = server.post("/mutate", review_with("DELETE", "null", &pod(""), ""));
    assert!(answer.is_allowed() && answer.patch().is_none(), "{}", answer.text);
    // The API server says neither of some objects.
    assert!(server.post("/validate", missing("DELETE")).is_allowed());
    assert!(server.post("/mutate", missing("DELETE")).is_allowed());
    assert!(server.post("/mutate", missing("CREATE")).patch().is_none());
}

fn missing(operation: &str) -> String {
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"some-uid",
        "kind":{{"group":"x.dev","version":"v1","kind":"Thing"}},"operation":"{operation}"}}}}"#
    )
}

#[test]
fn connections_and_parts_of_objects_are_reviewed_too() {
    let server = Running::with_rules(RULES);
    let options = r#"{"apiVersion":"v1","kind":"PodExecOptions","container":"a","command":["sh"]}"#;
    let more = r#","subResource":"exec","name":"p","namespace":"shop""#;
    assert!(server.post("/validate", review_with("CONNECT", options, "null", more)).is_allowed());
    let more = r#","subResource":"status""#;
    let answer = server.post("/validate", review_with("UPDATE", &pod(""), &pod(""), more));
    assert!(answer.is_allowed(), "a rule about Pods is not one about their status: {}", answer.text);
}

#[track_caller]
fn check_bad(server: &Running, body: &str, want: &str) {
    let answer = server.post("/validate", body.to_owned());
    assert_eq!(answer.status, 400, "{}", answer.text);
    assert!(answer.text.contains(want), "{}", answer.text);
}

#[test]
fn what_is_no_review_is_refused_with_the_reason() {
    let server = Running::with_rules(RULES);
    let good = review("CREATE", &pod(""));
    check_bad(
        &server,
        &good.replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1"),
        "v1beta1` is not answered",
    );
    check_bad(&server, &good.replace("AdmissionReview", "Review"), "not an AdmissionReview");
    check_bad(&server, &good.replace("\"uid\"", "\"id\""), "request.uid");
    check_bad(&server, &good.replace("CREATE", "MAKE"), "request.operation");
    check_bad(&server, "{\"kind\":", "not JSON");
    check_bad(&server, "[]", "not an AdmissionReview");
    check_bad(&server, &"[".repeat(1000), "nested deeper");
    check_bad(&server, &format!("[{}0]", "0,".repeat(1_100_000)), "too many values");
    let more = r#","aField":{"unknown":["field"]},"options":{"kind":"CreateOptions"}"#;
    assert!(!server.post("/validate", review_with("CREATE", &pod(""), "null", more)).is_allowed());
}

#[test]
fn a_rule_may_not_change_by_what_the_cluster_knows_an_object() {
    let mut server = Running::with_rules(RULES);
    let answer = server.post("/mutate", review("CREATE", &pod(r#""rename":"now""#)));
    assert!(answer.is_allowed());
    let patch = answer.patch().expect("the other rule's patch").to_string();
    assert_eq!(patch, r#"[{"op":"add","path":"/metadata/labels/added","value":"yes"}]"#);
    let [notice] = server.notices.try_recv().expect("notices").try_into().expect("one notice");
    assert_eq!(notice.kind, NoticeKind::Failed);
    assert!(notice.message.contains("metadata.name"), "{}", notice.message);
}

#[test]
fn others_hear_of_what_rules_did_but_not_of_a_dry_run() {
    let mut server = Running::with_rules(RULES);
    let body = review_with("CREATE", &pod(""), "null", r#","dryRun":true"#);
    assert!(!server.post("/validate", body).is_allowed());
    assert!(server.notices.try_recv().is_err());
    server.post("/validate", review("CREATE", &pod("")));
    let mut kinds: Vec<_> = std::iter::from_fn(|| server.notices.try_recv().ok())
        .flatten()
        .map(|notice| (notice.document.name.to_string(), notice.subject.name.to_string(), notice.kind))
        .collect();
    kinds.sort_by_key(|(document, ..)| document.clone());
    let [first, second] = kinds.try_into().expect("two notices");
    assert_eq!(first, ("audited".into(), "p".into(), NoticeKind::Reported));
    assert_eq!(second, ("need".into(), "p".into(), NoticeKind::Refused));
}

#[test]
fn nothing_is_decided_before_the_rules_are_there() {
    let server = Running::with_rules(RULES);
    server.state.readiness.wait_for("rules");
    assert_eq!(server.post("/validate", review("CREATE", &pod(""))).status, 503);
    let ready = server.get_health("/readyz");
    assert_eq!((ready.status, ready.text.trim()), (503, "waiting for rules"));
    assert_eq!(server.get_health("/healthz").status, 200);
    server.state.readiness.done("rules");
    assert_eq!(server.get_health("/readyz").status, 200);
    assert_eq!(server.post("/validate", review("CREATE", &pod(""))).status, 200);
}

#[test]
fn a_panic_is_the_error_of_one_review() {
    let server = Running::start(
        Snapshot::of_rules(AdmissionPhase::Validating, vec![rule("panics", "Pod")], 1),
        |_| {},
    );
    for _ in 0..3 {
        let answer = server.post("/validate", review("CREATE", &pod("")));
        assert_eq!(answer.status, 500, "{}", answer.text);
    }
    let map = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"shop"}}"#;
    assert!(server.post("/validate", review("CREATE", map)).is_allowed());
    assert!((server.metric("kubewright_panics_total") - 3.0).abs() < 0.5);
}

#[test]
fn rule_that_exceeds_its_budget_fails_alone_and_does_not_delay_others() {
    let rules = vec![rule("burns", "Job"), rule("passes", "Pod")];
    let server = Running::start(Snapshot::of_rules(AdmissionPhase::Validating, rules, 1), |_| {});
    let job = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"shop"}}"#;
    let longest = server.runtime.block_on(async {
        let mut slow = server.client(b"h2").await;
        let slow =
            tokio::spawn(async move { slow.post("/validate?timeout=20s", review("CREATE", job)).await });
        let mut client = server.client(b"h2").await;
        let mut longest = Duration::ZERO;
        let mut rounds = 0;
        while !slow.is_finished() || rounds < 10 {
            let begun = Instant::now();
            assert!(client.post("/validate", review("CREATE", &pod(""))).await.is_allowed());
            longest = longest.max(begun.elapsed());
            rounds += 1;
        }
        let answer = slow.await.expect("an answer");
        // Its own budget ends it: an error of the rule, which lets the object pass.
        assert!(answer.is_allowed(), "{}", answer.text);
        longest
    });
    assert!((server.metric("kubewright_slow_reviews_total") - 1.0).abs() < 0.5);
    assert!((server.metric("kubewright_rule_errors_total{reason=\"limit\"}") - 1.0).abs() < 0.5);
    assert!(longest < Duration::from_secs(2), "{longest:?}");
}

#[test]
fn expressions_that_cost_much_are_decided_apart_from_the_others() {
    let loops = "object.data.all(a, object.data.all(b, object.data.all(c, a + b != c + 'x')))";
    let server = Running::with_rules(&format!(
        "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {{name: loops}}\nspec:\n  rules:\n  - name: r\n    \
         match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    \
         validate: {{failureAction: Audit, cel: {{expressions: [{{expression: \"{loops}\", message: m}}]}}}}\n"
    ));
    let data: Vec<String> = (0..60).map(|number| format!("\"k{number}\":\"v\"")).collect();
    let map = |data: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","namespace":"shop"}},"data":{{{data}}}}}"#
        )
    };
    assert!(server.post("/validate", review("CREATE", &map("\"k\":\"v\""))).is_allowed());
    assert!(server.metric("kubewright_slow_reviews_total") < 0.5);
    assert!(server.post("/validate?timeout=30s", review("CREATE", &map(&data.join(",")))).is_allowed());
    assert!((server.metric("kubewright_slow_reviews_total") - 1.0).abs() < 0.5);
}

#[test]
fn too_many_slow_reviews_are_refused_at_once_and_late_ones_are_errors() {
    let server = Running::start(
        Snapshot::of_rules(AdmissionPhase::Validating, vec![rule("sleeps", "Job")], 1),
        |_| {},
    );
    let job = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"shop"}}"#;
    let statuses = server.runtime.block_on(async {
        let mut reviews = tokio::task::JoinSet::new();
        let client = server.client(b"h2").await;
        let Client::Two(sender) = client else { unreachable!("HTTP/2 was asked for") };
        for _ in 0..100 {
            let mut client = Client::Two(sender.clone());
            reviews.spawn(
                async move { client.post("/validate?timeout=1s", review("CREATE", job)).await.status },
            );
        }
        reviews.join_all().await
    });
    let count = |wanted: u16| statuses.iter().filter(|status| **status == wanted).count();
    assert!(count(429) > 0, "{statuses:?}");
    assert!(count(500) > 0, "{statuses:?}");
    assert_eq!(count(429) + count(500) + count(200), 100, "{statuses:?}");
}

/// Answers every query, or none.
struct CachedWorld(Result<Option<Value>, String>, Duration);

impl Lookup for CachedWorld {
    fn look_up<'a>(&'a self, _: &'a Query, _: Instant) -> Looking<'a> {
        Box::pin(async {
            tokio::time::sleep(self.1).await;
            self.0.clone()
        })
    }
}

fn asking(name: &'static str, answer: Result<Option<Value>, String>, time: Duration) -> Running {
    Running::start(Snapshot::of_rules(AdmissionPhase::Validating, vec![rule(name, "Pod")], 1), |state| {
        state.world = Box::new(kubewright_engine::OpenWorld::default());
        state.lookup = Box::new(CachedWorld(answer, time));
    })
}

#[test]
fn what_a_rule_asks_for_is_looked_up_and_decided_again() {
    let server = asking("asks", Ok(Some(Value::Null)), Duration::ZERO);
    assert!(server.post("/validate", review("CREATE", &pod(""))).is_allowed());
    let server = asking("asks", Ok(None), Duration::ZERO);
    let answer = server.post("/validate", review("CREATE", &pod("")));
    assert!(!answer.is_allowed());
    assert!(answer.message().contains("there is none"), "{}", answer.text);
}

#[test]
fn what_cannot_be_looked_up_is_the_error_of_the_rule_that_asked() {
    let server = asking("asks", Err("the server is gone".to_owned()), Duration::ZERO);
    let answer = server.post("/validate", review("CREATE", &pod("")));
    assert!(answer.message().contains("the server is gone"), "{}", answer.text);
    let server = asking("asks", Ok(None), Duration::from_secs(60));
    let begun = Instant::now();
    let answer = server.post("/validate?timeout=1s", review("CREATE", &pod("")));
    assert!(answer.message().contains("the lookup timed out"), "{}", answer.text);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_rule_cannot_ask_for_ever() {
    let server = asking("asks for more", Ok(None), Duration::ZERO);
    let answer = server.post("/validate", review("CREATE", &pod("")));
    assert!(!answer.is_allowed());
    let looked_up = server.metric("kubewright_lookups_total");
    assert!((1.0..=32.0).contains(&looked_up), "{looked_up}");
}

#[test]
fn a_line_of_the_log_does_not_grow_with_the_number_of_rules() {
    let (log, mut lines) = kubewright_serve::log::Log::captured(kubewright_serve::log::LogLevel::Info);
    let rule = |number: usize| {
        format!(
            "  - name: r{number}\n    match: {{any: [{{resources: {{kinds: [ConfigMap]}}}}]}}\n    \
             validate: {{message: '{}', deny: {{}}}}\n",
            "no ".repeat(2_000)
        )
    };
    let rules: String = (0..200).map(rule).collect();
    let head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: many}\nspec:\n  validationFailureAction: Enforce\n  rules:\n";
    let server = Running::start(snapshot(&format!("{head}{rules}")), |state| state.log = log);
    let object = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"shop"}}"#;
    assert!(!server.post("/validate", review("CREATE", object)).is_allowed());
    let line = lines.find(|line| line.contains("\"review\"")).expect("a line");
    assert!(line.contains("\"moreRules\":") && line.len() < 64 << 10, "{}", line.len());
}
