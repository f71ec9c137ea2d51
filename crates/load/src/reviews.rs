//! Admission reviews, each with an id of its own, and what is to be answered.

use bytes::Bytes;
use kubewright_value::{Value, json};

use crate::{LoadAnswer, LoadError, RequestOutcome};

/// How many different reviews are made; they are sent in turn.
const REVIEW_COUNT: usize = 256;

/// Reviews of the creation of one object, made before anything is measured.
#[derive(Debug, Clone)]
pub struct Reviews {
    bodies: Vec<(String, Bytes)>,
    is_allowed: bool,
}

impl Reviews {
    /// Makes reviews of the creation of `pod`, a Pod in JSON, and expects that it `is_allowed`.
    #[must_use]
    pub fn of_pod(pod: &str, namespace: &str, is_allowed: bool) -> Self {
        let body = |number: usize| {
            let id = format!("9a1e7c5e-1f2d-4c3b-8d4e-{number:012x}");
            let body = admission_review(&id, namespace, pod);
            (id, Bytes::from(body))
        };
        Self { bodies: (0..REVIEW_COUNT).map(body).collect(), is_allowed }
    }

    /// Returns the review that is sent as the `number`th, and its id.
    #[must_use]
    pub fn get(&self, number: usize) -> (String, Bytes) {
        self.bodies.get(number % REVIEW_COUNT).cloned().unwrap_or_default()
    }

    /// Returns the size of one.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bodies.first().map_or(0, |(_, body)| body.len())
    }

    /// Judges the answer to the review `id`. Reading it costs the generator and not the server.
    #[must_use]
    pub fn judge(&self, id: &str, answer: Result<LoadAnswer, LoadError>) -> RequestOutcome {
        let answer = match answer {
            Ok(answer) if matches!(answer.status, 429 | 503) => return RequestOutcome::Refused,
            Ok(answer) => answer,
            Err(error) => return RequestOutcome::Wrong(error.to_string()),
        };
        let text = String::from_utf8_lossy(&answer.body);
        let review = json::parse(&text).unwrap_or_default();
        let said = |key: &str| review.at(&["response", key]);
        let is_right = answer.status == 200
            && said("uid").and_then(Value::as_str) == Some(id)
            && said("allowed").and_then(Value::as_bool) == Some(self.is_allowed);
        if is_right {
            return RequestOutcome::Right;
        }
        RequestOutcome::Wrong(format!(
            "status {}: {}",
            answer.status,
            text.chars().take(300).collect::<String>()
        ))
    }
}

/// Returns `pod`, a Pod in JSON, with a container that may do what several Pod Security policies forbid; nothing if `pod` has no
/// field that says it may not.
#[must_use]
pub fn harmful_pod(pod: &str) -> Option<String> {
    let (harmless, harmful) = (
        r#""allowPrivilegeEscalation":false"#,
        r#""allowPrivilegeEscalation":true,"privileged":true,"procMount":"Unmasked""#,
    );
    pod.contains(harmless).then(|| pod.replacen(harmless, harmful, 1))
}

fn admission_review(id: &str, namespace: &str, pod: &str) -> String {
    let name = json::parse(pod).unwrap_or_default();
    let name = name.str_at(&["metadata", "name"]).to_owned();
    format!(
        r#"{{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{{"uid":"{id}","kind":{{"group":"","version":"v1","kind":"Pod"}},"resource":{{"group":"","version":"v1","resource":"pods"}},"requestKind":{{"group":"","version":"v1","kind":"Pod"}},"requestResource":{{"group":"","version":"v1","resource":"pods"}},"name":"{name}","namespace":"{namespace}","operation":"CREATE","userInfo":{{"username":"system:serviceaccount:kube-system:replicaset-controller","uid":"7c1b4c0a-0b0e-4f3e-8f54-0a9d3d2f7c11","groups":["system:serviceaccounts","system:serviceaccounts:kube-system","system:authenticated"]}},"object":{pod},"oldObject":null,"dryRun":false,"options":{{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}}}}"#
    )
}
