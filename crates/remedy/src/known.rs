//! Fields of Pods and Services whose safe values are known, for rules whose check does not say what it wants.
//!
//! A change is proposed only where the rule or its message names the field.

use kubewright_value::{Step, Value};

use crate::FieldChange;

/// What is safe for a field.
enum SafeValue {
    Text(&'static str),
    Flag(bool),
    Number(i64),
    /// It should not be there.
    Absent,
}

/// A field below a Pod's spec or a container, and what is safe for it.
struct SafeField {
    path: &'static [&'static str],
    safe: SafeValue,
}

const POD_FIELDS: [SafeField; 13] = [
    SafeField { path: &["hostNetwork"], safe: SafeValue::Absent },
    SafeField { path: &["hostPID"], safe: SafeValue::Absent },
    SafeField { path: &["hostIPC"], safe: SafeValue::Absent },
    SafeField { path: &["shareProcessNamespace"], safe: SafeValue::Absent },
    SafeField { path: &["automountServiceAccountToken"], safe: SafeValue::Flag(false) },
    SafeField { path: &["securityContext", "runAsNonRoot"], safe: SafeValue::Flag(true) },
    SafeField { path: &["securityContext", "runAsUser"], safe: SafeValue::Number(1000) },
    SafeField { path: &["securityContext", "runAsGroup"], safe: SafeValue::Number(1000) },
    SafeField { path: &["securityContext", "fsGroup"], safe: SafeValue::Number(1000) },
    SafeField {
        path: &["securityContext", "seccompProfile", "type"],
        safe: SafeValue::Text("RuntimeDefault"),
    },
    SafeField { path: &["securityContext", "seLinuxOptions"], safe: SafeValue::Absent },
    SafeField { path: &["securityContext", "sysctls"], safe: SafeValue::Absent },
    SafeField { path: &["securityContext", "windowsOptions"], safe: SafeValue::Absent },
];

const CONTAINER_FIELDS: [SafeField; 14] = [
    SafeField { path: &["securityContext", "privileged"], safe: SafeValue::Flag(false) },
    SafeField { path: &["securityContext", "allowPrivilegeEscalation"], safe: SafeValue::Flag(false) },
    SafeField { path: &["securityContext", "runAsNonRoot"], safe: SafeValue::Flag(true) },
    SafeField { path: &["securityContext", "readOnlyRootFilesystem"], safe: SafeValue::Flag(true) },
    SafeField { path: &["securityContext", "runAsUser"], safe: SafeValue::Number(1000) },
    SafeField { path: &["securityContext", "runAsGroup"], safe: SafeValue::Number(1000) },
    SafeField {
        path: &["securityContext", "seccompProfile", "type"],
        safe: SafeValue::Text("RuntimeDefault"),
    },
    SafeField { path: &["securityContext", "seLinuxOptions"], safe: SafeValue::Absent },
    SafeField { path: &["securityContext", "windowsOptions"], safe: SafeValue::Absent },
    SafeField { path: &["securityContext", "procMount"], safe: SafeValue::Absent },
    SafeField { path: &["securityContext", "capabilities", "add"], safe: SafeValue::Absent },
    SafeField { path: &["imagePullPolicy"], safe: SafeValue::Text("Always") },
    SafeField { path: &["resources", "limits", "memory"], safe: SafeValue::Text("128Mi") },
    SafeField { path: &["resources", "requests", "memory"], safe: SafeValue::Text("128Mi") },
];

const SERVICE_FIELDS: [SafeField; 2] = [
    SafeField { path: &["type"], safe: SafeValue::Text("ClusterIP") },
    SafeField { path: &["externalIPs"], safe: SafeValue::Absent },
];

const CONTAINER_LISTS: [&str; 3] = ["containers", "initContainers", "ephemeralContainers"];

/// Returns changes of `object` to values that are known to be safe, for the fields that `words` name.
#[must_use]
pub fn known_changes(object: &Value, words: &str) -> Vec<FieldChange> {
    let mut proposals = Proposals { words, changes: Vec::new() };
    let spec: Vec<Step> = match object.str_at(&["kind"]) {
        "Service" => {
            proposals.fields(&SERVICE_FIELDS, object.get("spec"), &["spec".into()]);
            return proposals.changes;
        }
        "Pod" => vec!["spec".into()],
        "CronJob" => ["spec", "jobTemplate", "spec", "template", "spec"].map(Step::from).into(),
        _ => ["spec", "template", "spec"].map(Step::from).into(),
    };
    let Some(pod) = object.follow(&spec) else { return Vec::new() };
    proposals.fields(&POD_FIELDS, Some(pod), &spec);
    proposals.host_paths(pod, &spec);
    for list in CONTAINER_LISTS {
        let containers = pod.get(list).and_then(Value::as_array).unwrap_or_default();
        for (index, container) in containers.iter().enumerate() {
            let path = [spec.as_slice(), &[list.into(), index.into()]].concat();
            proposals.fields(&CONTAINER_FIELDS, Some(container), &path);
            proposals.dropped_capabilities(container, &path);
            proposals.host_ports(container, &path);
        }
    }
    proposals.changes
}

struct Proposals<'w> {
    words: &'w str,
    changes: Vec<FieldChange>,
}

impl Proposals<'_> {
    fn fields(&mut self, fields: &[SafeField], owner: Option<&Value>, path: &[Step]) {
        let words = self.words;
        for field in fields.iter().filter(|field| field.path.iter().all(|key| words.contains(key))) {
            let found = owner.and_then(|owner| owner.at(field.path));
            let at: Vec<Step> =
                path.iter().cloned().chain(field.path.iter().map(|key| (*key).into())).collect();
            let value: Value = match field.safe {
                SafeValue::Text(text) => text.into(),
                SafeValue::Flag(flag) => flag.into(),
                SafeValue::Number(number) => number.into(),
                SafeValue::Absent => {
                    self.changes.extend(found.map(|_| FieldChange::Remove { path: at }));
                    continue;
                }
            };
            if found != Some(&value) {
                self.changes.push(FieldChange::Set { path: at, value });
            }
        }
    }

    /// Proposes to drop all capabilities, and those that are named.
    fn dropped_capabilities(&mut self, container: &Value, path: &[Step]) {
        if !self.names("drop") {
            return;
        }
        let dropped = container.at(&["securityContext", "capabilities", "drop"]).and_then(Value::as_array);
        let known = dropped.unwrap_or_default();
        let is_missing = |name: &str| self.names(name) && !known.iter().any(|own| own.as_str() == Some(name));
        let names = ["ALL", "CAP_NET_RAW", "NET_RAW"].into_iter().filter(|name| is_missing(name));
        let missing: Vec<Value> = names.map(Value::from).collect();
        let keys = ["securityContext", "capabilities", "drop"].map(Step::from);
        let at = [path, &keys].concat();
        if dropped.is_none() && !missing.is_empty() {
            self.changes.push(FieldChange::Set { path: at, value: Value::array(missing) });
            return;
        }
        for (count, name) in missing.into_iter().enumerate() {
            let path = [at.as_slice(), &[(known.len() + count).into()]].concat();
            self.changes.push(FieldChange::Set { path, value: name });
        }
    }

    /// Proposes an empty folder in place of one of the node.
    fn host_paths(&mut self, pod: &Value, spec: &[Step]) {
        let volumes = pod.get("volumes").and_then(Value::as_array).unwrap_or_default();
        for (index, _) in volumes.iter().enumerate().filter(|(_, volume)| volume.get("hostPath").is_some()) {
            if self.names("hostPath") {
                let path = [spec, &["volumes".into(), index.into(), "hostPath".into()]].concat();
                self.changes.push(FieldChange::Remove { path });
            }
        }
    }

    fn host_ports(&mut self, container: &Value, path: &[Step]) {
        let ports = container.get("ports").and_then(Value::as_array).unwrap_or_default();
        for (index, _) in ports.iter().enumerate().filter(|(_, port)| port.get("hostPort").is_some()) {
            if self.names("hostPort") {
                let path = [path, &["ports".into(), index.into(), "hostPort".into()]].concat();
                self.changes.push(FieldChange::Remove { path });
            }
        }
    }

    fn names(&self, key: &str) -> bool {
        self.words.contains(key)
    }
}
