//! What no rule is asked about, so that nobody has to guess.

use kubewright_engine::WatchRole;
use kubewright_value::Value;

use super::finding::Findings;
use super::view::{View, called, text};

pub(super) fn check(view: &View, findings: &mut Findings) {
    labels(view, findings);
    let exempt = view.flag("guard-exempt");
    if !exempt.is_empty() {
        let why = format!("{} may take namespaces out of all rules by a label", exempt.join(", "));
        findings.warn("exempt users", why, "take `--guard-exempt` away if that is not meant");
    }
    exceptions(view, findings);
    let hosts = view.flag("allow-host");
    if !hosts.is_empty() {
        findings.ok("services", format!("rules may call {}", hosts.join(", ")));
    }
}

fn labels(view: &View, findings: &mut Findings) {
    let namespaces = match &view.namespaces {
        Ok(namespaces) => namespaces,
        Err(error) => return findings.unseen("excluded namespaces", error),
    };
    for language in view.dialects.iter().filter_map(|one| one.cluster_support()) {
        let Some((key, value)) = language.ignore_label() else { continue };
        let is_usual = |name: &str| language.ignored_namespaces().iter().any(|usual| usual.name == name);
        let ignored = namespaces.iter().filter(|one| text(one, &["metadata", "labels", key]) == value);
        let mut names: Vec<&str> = ignored.map(|one| text(one, &["metadata", "name"])).collect();
        names.retain(|name| *name != view.namespace && !is_usual(name));
        match names.as_slice() {
            [] => findings.ok(
                "excluded namespaces",
                format!("none by the label {key}={value}, besides those of the system"),
            ),
            names => {
                let why = format!(
                    "{} by the label {key}={value}: no rule is asked about what is in there",
                    names.join(", ")
                );
                findings.warn("excluded namespaces", why, "take the label away where that is not meant");
            }
        }
    }
}

fn exceptions(view: &View, findings: &mut Findings) {
    let from = view.flag("exceptions-from");
    let all: Vec<&Value> = view.rules(WatchRole::Exception).map(|(_, one)| one).collect();
    let is_heard =
        |one: &&&Value| from.iter().any(|name| name == "*" || name == text(one, &["metadata", "namespace"]));
    let heard: Vec<String> = all.iter().filter(is_heard).map(|one| called(one)).collect();
    match (from.is_empty(), all.len(), heard.as_slice()) {
        (true, 0, _) => findings.ok("exceptions", "are off"),
        (true, count, _) => {
            findings.ok("exceptions", format!("are off: {count} that are there count for nothing"));
        }
        (false, _, []) => findings.ok("exceptions", format!("there are none in {}", from.join(", "))),
        (false, _, names) => {
            let why = format!("{} count: {}", names.len(), names.join(", "));
            findings.warn("exceptions", why, "delete those that have served their purpose");
        }
    }
    if from.iter().any(|name| name == "*") {
        let why = "exceptions count from any namespace: whoever may write one in theirs is above all rules";
        findings.warn("exceptions", why, "name the namespaces with `--exceptions-from`");
    }
}
