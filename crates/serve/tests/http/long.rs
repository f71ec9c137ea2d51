//! Names that no API server sends: they fill neither memory, nor counters, nor the log.

use kubewright_engine::AdmissionPhase;
use kubewright_serve::Snapshot;
use kubewright_serve::log::{Log, LogLevel};
use kubewright_value::{Value, json};

use crate::server::{Running, snapshot};

const LONG: usize = 6 << 20;

/// Returns a review in which `field`, a path below `request`, has `length` bytes.
fn review(field: &str, length: usize) -> String {
    let long = "k".repeat(length);
    let name = |key: &str, usual: &str| if key == field { long.clone() } else { usual.to_owned() };
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"{}",
        "kind":{{"group":"{}","version":"{}","kind":"{}"}},"resource":{{"group":"","version":"v1","resource":"{}"}},
        "subResource":"{}","name":"{}","namespace":"{}","operation":"CREATE","userInfo":{{"username":"{}"}},
        "object":{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"m","namespace":"shop"}}}}}}}}"#,
        name("uid", "u"),
        name("kind.group", ""),
        name("kind.version", "v1"),
        name("kind.kind", "ConfigMap"),
        name("resource.resource", "configmaps"),
        name("subResource", ""),
        name("name", "m"),
        name("namespace", "shop"),
        name("userInfo.username", "ada"),
    )
}

#[test]
fn a_name_longer_than_an_api_has_is_a_bad_request() {
    let server = Running::start(Snapshot::of_rules(AdmissionPhase::Validating, Vec::new(), 1), |_| {});
    for (field, longest) in [
        ("uid", 128),
        ("kind.group", 253),
        ("kind.version", 253),
        ("kind.kind", 253),
        ("resource.resource", 253),
        ("subResource", 253),
        ("namespace", 253),
    ] {
        assert_eq!(server.post("/validate", review(field, longest)).status, 200, "{field}");
        for length in [longest + 1, LONG] {
            let answer = server.post("/validate", review(field, length));
            assert_eq!(answer.status, 400, "{field}");
            assert!(answer.text.contains(field) && answer.text.len() < 200, "{}", answer.text);
        }
    }
    assert_eq!(server.post(&format!("/validate/own/{}", "n".repeat(1000)), review("", 0)).status, 404);
    let metrics = server.get_health("/metrics").text;
    assert!(metrics.len() < 40_000, "{}", metrics.len());
}

#[test]
fn long_names_of_objects_and_users_are_answered_and_shortened_in_the_log() {
    let mut lines = None;
    let rules = "\
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: refuse, namespace: shop}
spec:
  type: Reject
  match: [{select: '$.kind', matchValue: ConfigMap}]
";
    let server = Running::start(snapshot(rules), |state| {
        let (log, taken) = Log::captured(LogLevel::Info);
        state.log = log;
        lines = Some(taken);
    });
    for field in ["name", "userInfo.username"] {
        let answer = server.post("/mutate", review(field, LONG));
        assert!(!answer.is_allowed(), "{}", answer.text);
    }
    let lines = lines.expect("a log");
    let reviews: Vec<String> = lines.filter(|line| line.contains("\"review\"")).take(2).collect();
    assert_eq!(reviews.len(), 2);
    for (line, key) in reviews.iter().zip(["name", "user"]) {
        assert!(line.len() < 10_000, "{}", line.len());
        let line = json::parse(line.trim_end()).expect("JSON");
        let shown = line.get(key).and_then(Value::as_str).expect("a name");
        assert!(shown.ends_with("…[6291456 bytes]"), "{shown}");
    }
}
