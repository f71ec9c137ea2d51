//! What a Secret holds is in nothing that the server says to anybody but the API server's patch.

use std::time::Instant;

use base64::Engine as _;
use kubewright_engine::Query;
use kubewright_serve::log::{Log, LogLevel};
use kubewright_serve::{Looking, Lookup};
use kubewright_value::json;

use crate::server::{Running, review_with, snapshot};

const CANARY: &str = "xylophone-4711";

/// What was wrong before is forgiven, so there was nothing wrong.
const EMPTY: &str = r#"{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s","namespace":"shop"},"data":{"password":""}}"#;

const RULES: &str = r#"
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: copy, namespace: shop}
spec:
  type: Patch
  match: [{select: '$.kind', matchValue: Secret}]
  patch:
  - {op: add, path: /data/copy, value: '{{ .Target.data.password }}'}
  - {op: add, path: /metadata/labels/leak, value: '"{{ .Target.data.password }}"'}
---
apiVersion: api.kubemod.io/v1beta1
kind: ModRule
metadata: {name: never, namespace: shop}
spec:
  type: Reject
  rejectMessage: 'the password is {{ .Target.data.password }}'
  match: [{select: '$.metadata.labels.refuse', matchValue: 'yes'}]
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: loud}
spec:
  validationFailureAction: Enforce
  rules:
  - name: shout
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      message: "it is {{ request.object.data.password }}, or {{ base64_decode(request.object.data.password) }}"
      deny: {conditions: {all: [{key: "{{ request.object.data.password }}", operator: NotEquals, value: ""}]}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: quiet}
spec:
  validationFailureAction: Audit
  emitWarning: true
  rules:
  - name: whisper
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      message: "it is {{ request.object.data.password }}"
      pattern: {data: {password: "nothing"}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: devious}
spec:
  validationFailureAction: Audit
  emitWarning: true
  rules:
  - name: ways
    match: {any: [{resources: {kinds: [Secret]}}]}
    context:
    - name: plain
      variable: {value: "{{ request.object.stringData.plain }}"}
    validate:
      message: >-
        {{ truncate(plain, `6`) }} {{ to_upper(plain) }} {{ sha256(plain) }} {{ split(plain, '-')[0] }}
        {{ replace_all(plain, 'o', '0') }} {{ regex_replace_all('[aeiou]', plain, '.') }} {{ base64_encode(plain) }}
        {{ join('', sort(split(plain, ''))) }} {{ length(plain) }} {{ contains(plain, 'xylo') }}
        {{ request.object.metadata.annotations }} {{ request.object }}
      deny: {}
  - name: by-error
    match: {any: [{resources: {kinds: [Secret]}}]}
    validate:
      message: never
      deny: {conditions: {all: [{key: "{{ parse_json(request.object.stringData.plain) }}", operator: Equals, value: 1}]}}
"#;

#[test]
fn values_of_secrets_are_never_shown() {
    let (log, lines) = Log::captured(LogLevel::Debug);
    let mut server = Running::start(snapshot(RULES), |state| state.log = log);
    let encoded = base64::engine::general_purpose::STANDARD.encode(CANARY);
    let secret = |more: &str| {
        let applied = format!(r#"{{\"kind\":\"Secret\",\"data\":{{\"password\":\"{encoded}\"}}}}"#);
        format!(
            r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"s","namespace":"shop","labels":{{"a":"b"{more}}},
            "annotations":{{"kubectl.kubernetes.io/last-applied-configuration":"{applied}"}}}},
            "data":{{"password":"{encoded}"}},"stringData":{{"plain":"{CANARY}"}}}}"#
        )
    };
    let mut said = Vec::new();
    for more in ["", r#","refuse":"yes""#] {
        for (operation, old) in
            [("CREATE", "null".to_owned()), ("UPDATE", EMPTY.to_owned()), ("DELETE", secret(more))]
        {
            let body = review_with(operation, &secret(more), &old, "");
            let answer = server.post("/validate", body.clone());
            let is_said = answer.message().contains("(secret)");
            assert!(operation == "DELETE" || (!answer.is_allowed() && is_said), "{}", answer.text);
            said.push(answer.text);
            let answer = server.post("/mutate", body);
            match answer.patch() {
                Some(patch) => {
                    assert!(patch.to_string().contains(&encoded), "the API server needs it: {patch}");
                }
                None => said.push(answer.text),
            }
        }
    }
    said.extend(std::iter::from_fn(|| server.notices.try_recv().ok()).map(|notice| format!("{notice:?}")));
    said.push(server.get_health("/metrics").text);
    let before = said.len();
    said.extend(lines.take_while(|line| !line.is_empty()));
    assert!(said.len() >= before + 10, "every review has its line");
    assert!(said.iter().any(|line| line.contains("\"patch\"") && line.contains("(secret)")), "{said:#?}");
    // Any five letters of it in a row, in either case, with or without its vowels, are too much.
    let windows = |text: &str| -> Vec<String> {
        let letters: Vec<char> = text.to_lowercase().chars().collect();
        letters.windows(5).map(|window| window.iter().collect()).collect()
    };
    let sorted = {
        let mut letters: Vec<char> = CANARY.chars().collect();
        letters.sort_unstable();
        letters.into_iter().collect::<String>()
    };
    let parts = [CANARY, &encoded, &sorted, &CANARY.replace('o', "0")].map(windows).concat();
    for line in &said {
        let line = line.to_lowercase();
        if let Some(part) = parts.iter().find(|part| line.contains(part.as_str())) {
            panic!("`{part}` is in {line}");
        }
    }
}

/// Puts values of a Secret into annotations of a Pod, as a value and as a key.
const COPYING: &str = r#"
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: copying}
spec:
  rules:
  - name: copy
    match: {any: [{resources: {kinds: [Pod]}}]}
    context:
    - name: password
      apiCall: {urlPath: /api/v1/namespaces/shop/secrets/s, jmesPath: data.password}
    mutate:
      patchStrategicMerge:
        metadata: {annotations: {reviewed: "yes", copy: "{{ password }}", "{{ password }}": key}}
"#;

/// Answers every question with a Secret.
struct OneSecret(String);

impl Lookup for OneSecret {
    fn look_up<'a>(&'a self, _: &'a Query, _: Instant) -> Looking<'a> {
        let secret = format!(
            r#"{{"apiVersion":"v1","kind":"Secret","metadata":{{"name":"s","namespace":"shop"}},"data":{{"password":"{}"}}}}"#,
            self.0
        );
        Box::pin(async move { Ok(Some(json::parse(&secret).expect("JSON"))) })
    }
}

#[test]
fn what_is_written_of_a_looked_up_secret_is_not_logged() {
    let (log, lines) = Log::captured(LogLevel::Debug);
    let mut server = Running::start(snapshot(COPYING), |state| {
        state.log = log;
        state.lookup = Box::new(OneSecret(CANARY.to_owned()));
        state.world = Box::new(kubewright_engine::OpenWorld::default());
    });
    let pod = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop"},"spec":{"containers":[]}}"#;
    let answer = server.post("/mutate", review_with("CREATE", pod, "null", ""));
    let patch = answer.patch().expect("a patch").to_string();
    assert_eq!(patch.matches(CANARY).count(), 2, "the API server needs both: {patch}");
    let notices = std::iter::from_fn(|| server.notices.try_recv().ok()).map(|notice| format!("{notice:?}"));
    let mut said: Vec<String> = notices.collect();
    said.extend(lines.take_while(|line| !line.is_empty()));
    let line = said.iter().find(|line| line.contains("\"patch\"")).expect("a line with the patch");
    assert!(line.contains("reviewed") && line.contains("(secret)"), "{line}");
    assert!(!said.iter().any(|line| line.contains(CANARY)), "{said:#?}");
}
