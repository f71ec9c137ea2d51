//! The scan against a real API server: reports follow objects, rules and everything that rules look up.

#![expect(clippy::expect_used, reason = "a test fails by panicking")]

#[path = "scanning/reporting.rs"]
mod reporting;
#[path = "scanning/stage.rs"]
#[expect(dead_code, reason = "parts of it are for the tests of what rules do in the background")]
mod stage;

use std::time::Duration;

use kubewright_scan_controller::ScanPhase;
use kubewright_value::Value;
use stage::{Scan, Stage, policy, second_policy};

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn reports_follow_objects_rules_and_what_rules_look_up() {
    let Some(stage) = Stage::start() else { return };
    stage.apply(&policy("require-team", "team is missing", ""));
    stage.namespace("shop", "{}");
    stage.service("shop", "web", "{}");
    stage.service("shop", "api", "{team: a}");
    let scan = stage.scan("one");
    stage.within("a violation has a row", 30 * SECOND, || {
        stage.rows("web") == ["fail require-team team is missing"]
    });
    assert_eq!(stage.rows("api"), Vec::<String>::new(), "what passes has no report");

    let clock = "kubewright_scan_judgements_total{cause=\"clock\"}";
    stage.request_scan();
    stage.within("a pass that was asked for judges both", 10 * SECOND, || scan.metric(clock) >= 2);
    assert!(scan.call("GET", "/v1/policies", "").contains("\"require-team\""));
    assert!(scan.call("GET", "/v1/policies/require-team", "").contains("ClusterPolicy"));
    assert!(scan.call("GET", "/v1/policies/other", "").starts_with("HTTP/1.1 404"));
    let asked = r#"{"resource":{"apiVersion":"v1","kind":"Service","name":"web","namespace":"shop"},
        "policies":[{"name":"require-team","rules":[{"name":"rule"}]}]}"#;
    let exception = scan.call("POST", "/v1/policies/exception", asked);
    assert!(exception.contains("PolicyException"), "{exception}");
    assert!(scan.call("POST", "/v1/policies/exception", &" ".repeat(300 << 10)).starts_with("HTTP/1.1 413"));

    // The case that Kyverno keeps for ever.
    stage.apply(&policy("require-team", "team is missing", "exclude: {any: [{resources: {names: [web]}}]}"));
    stage.within("an excluded object has no row", 5 * SECOND, || stage.rows("web").is_empty());
    stage.apply(&policy("require-team", "say who owns it", ""));
    stage.within("a changed rule has another row", 10 * SECOND, || {
        stage.rows("web") == ["fail require-team say who owns it"]
    });

    stage.service("shop", "api", "{}");
    stage.within("a changed object has a row", 2 * SECOND, || stage.rows("api").len() == 1);
    stage.service("shop", "api", "{team: b}");
    stage.within("a repaired object has none", 2 * SECOND, || stage.rows("api").is_empty());
    stage.kubectl(&["delete", "service", "web", "-n", "shop"]);
    stage.within("a deleted object has no report", 5 * SECOND, || stage.reports().is_empty());
    scan.stop();
}

#[test]
fn namespaces_config_maps_and_exceptions_judge_again_what_depends_on_them() {
    let Some(stage) = Stage::start() else { return };
    stage.namespace("shop", "{}");
    stage.namespace("lab", "{}");
    stage.service("shop", "web", "{}");
    stage.service("lab", "test", "{}");
    stage.apply(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: teams, namespace: shop}, data: {needed: 'no'}}",
    );
    stage.apply(stage::NAMESPACE_POLICY);
    stage.apply(stage::CONFIG_MAP_POLICY);
    let scan = stage.scan("one");
    stage.within("the first pass ends", 30 * SECOND, || scan.is_ready());
    assert!(stage.reports().is_empty(), "{:?}", stage.reports());

    stage.namespace("shop", "{env: prod}");
    stage.within("a label of the namespace counts", 5 * SECOND, || {
        stage.rows("web") == ["fail in-prod in prod"]
    });
    stage.namespace("shop", "{env: test}");
    stage.within("and counts no more", 5 * SECOND, || stage.rows("web").is_empty());

    // Until what depends on the namespace is judged.
    std::thread::sleep(2 * SECOND);
    let judged = scan.metric("kubewright_scan_judgements_total{cause=\"dependency\"}");
    stage.apply(
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: teams, namespace: shop}, data: {needed: 'yes'}}",
    );
    stage.within("a ConfigMap counts", 5 * SECOND, || {
        stage.rows("web") == ["fail by-config-map needed"]
            && stage.rows("test") == ["fail by-config-map needed"]
    });
    std::thread::sleep(2 * SECOND);
    let more = scan.metric("kubewright_scan_judgements_total{cause=\"dependency\"}") - judged;
    // The ConfigMap is a change once, whichever of its watches tells.
    assert!((2..=12).contains(&more), "{more} judgements for two dependents, after {judged}");

    stage.apply(stage::EXCEPTION);
    stage.within("an exception counts", 10 * SECOND, || {
        stage.rows("web").iter().all(|row| row.starts_with("skip by-config-map"))
            && stage.rows("test") == ["fail by-config-map needed"]
    });
    stage.kubectl(&["delete", "policyexception", "web", "-n", "shop"]);
    stage.within("and counts no more", 10 * SECOND, || stage.rows("web") == ["fail by-config-map needed"]);
    scan.stop();
}

#[test]
fn a_second_start_writes_nothing_and_leaves_reports_of_others_alone() {
    let Some(stage) = Stage::start() else { return };
    stage.namespace("shop", "{}");
    stage.apply(&policy("require-team", "team is missing", ""));
    for number in 0..5 {
        stage.service("shop", &format!("web-{number}"), "{}");
    }
    stage.apply(stage::FOREIGN_REPORT);
    let foreign = stage.report("kubewright-of-another-program");
    let scan = stage.scan("one");
    stage.within("all violations have reports", 30 * SECOND, || stage.reports().len() == 5);
    scan.stop();
    let before = stage.reports();

    let scan = stage.scan("two");
    stage.within("the first pass ends", 30 * SECOND, || scan.is_ready());
    std::thread::sleep(4 * SECOND);
    let written: u64 = ["create", "update", "delete"]
        .map(|verb| scan.metric(&format!("kubewright_report_writes_total{{verb=\"{verb}\"}}")))
        .iter()
        .sum();
    assert_eq!(written, 0, "writes of a second start");
    assert_eq!(stage.reports(), before, "not even a version has changed");

    // What happens while no scan runs is found out by the next start, and other rows keep their times.
    scan.kill();
    stage.apply(&stage::second_policy("web-1"));
    stage.kubectl(&["delete", "service", "web-0", "-n", "shop"]);
    let scan = stage.scan("three");
    stage.within("rows follow", 60 * SECOND, || {
        stage.rows("web-0").is_empty()
            && stage.rows("web-1") == ["fail require-team team is missing", "fail second again"]
    });
    let since = |reports: &[Value], policy: &str| stage::since(reports, "web-1", policy);
    assert_eq!(since(&stage.reports(), "require-team"), since(&before, "require-team"));
    assert_eq!(stage.report("kubewright-of-another-program"), foreign);
    scan.stop();
}

#[test]
fn another_replica_takes_over_and_only_one_writes() {
    let Some(stage) = Stage::start() else { return };
    stage.namespace("shop", "{}");
    stage.apply(&policy("require-team", "team is missing", ""));
    stage.service("shop", "web", "{}");
    let one = stage.scan("one");
    stage.within("the first one leads", 30 * SECOND, || {
        one.metric("kubewright_leader") == 1 && one.is_ready()
    });
    let two = stage.scan("two");
    stage.within("the second one is ready", 30 * SECOND, || two.is_ready());
    assert_eq!(two.metric("kubewright_leader"), 0);
    stage.within("there is a row", 10 * SECOND, || stage.rows("web").len() == 1);

    one.stop();
    stage.within("the second one leads", 10 * SECOND, || two.metric("kubewright_leader") == 1);
    stage.service("shop", "api", "{}");
    stage.within("it writes", 30 * SECOND, || stage.rows("api").len() == 1);

    let three = stage.scan("three");
    stage.within("the third one is ready", 30 * SECOND, || three.is_ready());
    two.kill();
    stage.service("shop", "late", "{}");
    stage.within("the third one takes over", 40 * SECOND, || stage.rows("late").len() == 1);
    assert_eq!(three.metric("kubewright_leader"), 1);
    three.stop();
}

#[test]
fn a_view_of_the_scan_follows_its_progress_its_reports_and_what_was_refused() {
    let Some(stage) = Stage::start() else { return };
    stage.apply(&policy("require-team", "team is missing", ""));
    stage.namespace("shop", "{}");
    stage.service("shop", "web", "{}");
    let one = stage.scan("one");
    let progress = |scan: &Scan| scan.view.progress.borrow().clone();
    stage.within("it has judged everything", 30 * SECOND, || {
        let seen = progress(&one);
        (seen.phase, seen.judged, seen.total, seen.pending) == (ScanPhase::Watching, 1, 1, 0)
    });
    let seen = progress(&one);
    assert_eq!((seen.leader.as_str(), seen.is_leader), ("one", true));
    assert!(seen.last_pass.is_some());
    stage.within("it has a report", 10 * SECOND, || stage.reports().len() == 1);
    let two = stage.scan("two");
    stage.within("the other one knows who scans", 10 * SECOND, || {
        let seen = progress(&two);
        (seen.phase, seen.leader.as_str(), seen.is_leader) == (ScanPhase::Standby, "one", false)
    });

    let version = || *one.view.report_version.borrow();
    let before = version();
    stage.service("shop", "web", "{team: a}");
    stage.within("a report that is gone is a new version", 10 * SECOND, || version() > before);

    let blocked = || [&one, &two].map(|scan| scan.view.blocked.newest_first());
    assert!(blocked().iter().all(Vec::is_empty), "{:?}", blocked());
    stage.apply(&refusal_event("first", "Resource Blocked"));
    stage.apply(&refusal_event("second", "Resource Passed"));
    stage.within("both replicas know what was refused", 10 * SECOND, || {
        blocked().iter().all(|seen| seen.iter().any(|one| one.rule == "kyverno/require-team/rule"))
    });
    assert!(blocked().iter().all(|seen| seen.len() == 1), "{:?}", blocked());
    one.stop();
    stage.within("the other one scans", 20 * SECOND, || progress(&two).is_leader);
    two.stop();
}

/// Returns an Event as the webhook writes it.
fn refusal_event(name: &str, action: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Event, metadata: {{name: {name}, namespace: default, annotations: {{kubewright.dev/rule: \
         kyverno/require-team/rule}}}}, type: Warning, reason: PolicyViolation, action: {action}, message: refused, \
         involvedObject: {{apiVersion: kyverno.io/v1, kind: ClusterPolicy, name: require-team}}, related: {{apiVersion: v1, \
         kind: Service, namespace: shop, name: web}}, source: {{component: kubewright}}, count: 1, lastTimestamp: \
         '2026-01-01T00:00:00Z'}}"
    )
}

#[test]
fn a_new_violation_has_an_event_about_the_policy_and_one_about_the_object() {
    let Some(stage) = Stage::start() else { return };
    stage.apply(&policy("require-team", "team is missing", ""));
    stage.namespace("shop", "{}");
    stage.service("shop", "web", "{}");
    stage.service("shop", "api", "{team: a}");
    let scan = stage.scan_with("one", |settings| settings.has_violation_events = true);
    let events = || {
        let text = |event: &Value, path: &[&str]| event.str_at(path).to_owned();
        let events = stage.list("", "v1", "events").into_iter();
        let mut events: Vec<String> = events
            .filter(|event| text(event, &["reportingComponent"]) == "kubewright.dev/scan")
            .filter(|event| text(event, &["reason"]) == "PolicyViolation")
            .map(|event| {
                let about = |key: &str| text(&event, &["involvedObject", key]);
                format!("{} {} {}", about("apiVersion"), about("kind"), about("name"))
            })
            .collect();
        events.sort();
        events
    };
    stage.within("the first pass is in a report", 30 * SECOND, || stage.rows("web").len() == 1);
    stage.service("shop", "api", "{}");
    let told = ["kyverno.io/v1 ClusterPolicy require-team", "v1 Service api"];
    stage.within("what is new is told", 30 * SECOND, || events() == told);
    // What is so already is not told again after a restart.
    stage.within("it is in a report", 30 * SECOND, || stage.rows("api").len() == 1);
    scan.stop();
    let scan = stage.scan_with("two", |settings| settings.has_violation_events = true);
    stage.within("it is ready", 30 * SECOND, || scan.is_ready());
    stage.apply(&second_policy("web"));
    stage.within("another rule has its own", 30 * SECOND, || events().len() == 4);
    assert_eq!(events().last().map(String::as_str), Some("v1 Service web"));
    scan.stop();
}
