//! An update is forgiven what was wrong before it, where the API server says how the object was, and nowhere else.

use crate::server::{Running, review_with};

const POLICY: &str = "
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: labels}
spec:
  validationFailureAction: Enforce
  rules:
  - name: team
    match: {any: [{resources: {kinds: [ConfigMap]}}]}
    validate: {message: label it, pattern: {metadata: {labels: {team: '?*'}}}}
";

#[test]
fn unknown_old_object_forgives_no_violation() {
    let server = Running::with_rules(POLICY);
    let object = |labels: &str| {
        format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c","namespace":"a","labels":{{{labels}}}}}}}"#
        )
    };
    let (bad, good) = (object(r#""a":"b""#), object(r#""team":"t""#));
    for (old, is_allowed) in [("null", false), (good.as_str(), false), (bad.as_str(), true), (r#"{}"#, false)]
    {
        let answer = server.post("/validate", review_with("UPDATE", &bad, old, ""));
        assert_eq!(answer.is_allowed(), is_allowed, "{old}: {}", answer.text);
    }
    let without = review_with("UPDATE", &bad, "null", "").replace(r#","oldObject":null"#, "");
    assert!(!server.post("/validate", without).is_allowed());
}
