//! The audit log of the API server: what accounts asked for, and what they were refused.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use kubewright_controlplane::{Builder, ControlPlaneComponent};
use kubewright_value::{Value, json};

use crate::roles::ApiRequest;

/// Only our accounts, when a request is answered or a watch begins.
const POLICY: &str = "\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, userGroups: ['system:serviceaccounts:kubewright-system']}
  - {level: None}
";

/// The log of one API server. It is deleted when this is dropped.
pub(crate) struct AuditLog(PathBuf);

/// What an account did.
#[derive(Debug, Default)]
pub(crate) struct Audited {
    pub(crate) allowed: BTreeSet<ApiRequest>,
    pub(crate) refused: BTreeSet<ApiRequest>,
}

impl AuditLog {
    pub(crate) fn new() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rights-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("policy.yaml"), POLICY).expect("a policy");
        Self(folder)
    }

    /// Lets the API server of `builder` write it.
    pub(crate) fn of(&self, builder: Builder) -> Builder {
        let server = ControlPlaneComponent::ApiServer;
        builder
            .flag(server, &format!("--audit-policy-file={}", self.0.join("policy.yaml").display()))
            .flag(server, &format!("--audit-log-path={}", self.0.join("audit.log").display()))
    }

    /// Returns what the ServiceAccount called `account` did until now.
    pub(crate) fn read(&self, account: &str) -> Audited {
        let user = format!("system:serviceaccount:kubewright-system:{account}");
        let mut audited = Audited::default();
        let text = fs::read_to_string(self.0.join("audit.log")).unwrap_or_default();
        // The last line may not be whole yet.
        for event in text.lines().filter_map(|line| json::parse(line).ok()) {
            if event.str_at(&["user", "username"]) != user || event.get("objectRef").is_none() {
                continue;
            }
            let decision = event.at(&["annotations", "authorization.k8s.io/decision"]);
            match decision.and_then(Value::as_str) {
                Some("allow") => audited.allowed.extend(requests(&event)),
                _ => audited.refused.extend(requests(&event)),
            }
        }
        audited
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// Returns the request of an event. A patch that made an object needed the right to create it as well.
fn requests(event: &Value) -> Vec<ApiRequest> {
    let word = |key: &str| event.str_at(&["objectRef", key]).to_owned();
    let part = word("subresource");
    let resource = if part.is_empty() { word("resource") } else { format!("{}/{part}", word("resource")) };
    let request = ApiRequest {
        verb: event.str_at(&["verb"]).to_owned(),
        group: word("apiGroup"),
        resource,
        namespace: word("namespace"),
        name: word("name"),
    };
    let is_created =
        request.verb == "patch" && event.at(&["responseStatus", "code"]).and_then(Value::as_i64) == Some(201);
    let created = is_created.then(|| ApiRequest { verb: "create".to_owned(), ..request.clone() });
    [request].into_iter().chain(created).collect()
}
