//! What is excluded from all rules: namespaces, users and exceptions.

use kubewright_engine::WatchRole;
use kubewright_value::Value;

use super::finding::DoctorFindings;
use super::view::{ClusterView, short_object_name, view_text};

pub(super) fn check_exclusions(view: &ClusterView, findings: &mut DoctorFindings) {
    check_exclusion_labels(view, findings);
    let exempt = view.flag("guard-exempt");
    if !exempt.is_empty() {
        let why = format!("{} may exempt namespaces from all rules by a label", exempt.join(", "));
        findings.warn("exempt users", why, "remove `--guard-exempt` if that is not intended");
    }
    check_exception_objects(view, findings);
    let hosts = view.flag("allow-host");
    if !hosts.is_empty() {
        findings.ok("services", format!("rules may call {}", hosts.join(", ")));
    }
}

fn check_exclusion_labels(view: &ClusterView, findings: &mut DoctorFindings) {
    let namespaces = match &view.namespaces {
        Ok(namespaces) => namespaces,
        Err(error) => return findings.unseen("excluded namespaces", error),
    };
    for language in view.dialects.iter().filter_map(|one| one.cluster_support()) {
        let Some((key, value)) = language.ignore_label() else { continue };
        let is_usual = |name: &str| language.ignored_namespaces().iter().any(|usual| usual.name == name);
        let ignored = namespaces.iter().filter(|one| view_text(one, &["metadata", "labels", key]) == value);
        let mut names: Vec<&str> = ignored.map(|one| view_text(one, &["metadata", "name"])).collect();
        names.retain(|name| *name != view.namespace && !is_usual(name));
        match names.as_slice() {
            [] => findings.ok(
                "excluded namespaces",
                format!("none by the label {key}={value}, except system namespaces"),
            ),
            names => {
                let why = format!(
                    "{} by the label {key}={value}: no rule is evaluated for their objects",
                    names.join(", ")
                );
                findings.warn("excluded namespaces", why, "remove the label if that is not intended");
            }
        }
    }
}

fn check_exception_objects(view: &ClusterView, findings: &mut DoctorFindings) {
    let from = view.flag("exceptions-from");
    let all: Vec<&Value> = view.rules(WatchRole::Exception).map(|(_, one)| one).collect();
    let is_heard = |one: &&&Value| {
        from.iter().any(|name| name == "*" || name == view_text(one, &["metadata", "namespace"]))
    };
    let heard: Vec<String> = all.iter().filter(is_heard).map(|one| short_object_name(one)).collect();
    match (from.is_empty(), all.len(), heard.as_slice()) {
        (true, 0, _) => findings.ok("exceptions", "are off"),
        (true, count, _) => {
            findings.ok("exceptions", format!("are off: {count} existing ones are ignored"));
        }
        (false, _, []) => findings.ok("exceptions", format!("there are none in {}", from.join(", "))),
        (false, _, names) => {
            let why = format!("{} count: {}", names.len(), names.join(", "));
            findings.warn("exceptions", why, "delete those that are no longer needed");
        }
    }
    if from.iter().any(|name| name == "*") {
        let why = "exceptions from any namespace are honoured: a user who may create one in any namespace can bypass all rules";
        findings.warn("exceptions", why, "name the namespaces with `--exceptions-from`");
    }
}
