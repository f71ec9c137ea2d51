//! Whether the API server asks us, about what it should, and gets an answer.

use kubewright_cluster::{DiscoveredResources, Error};
use kubewright_engine::{ClusterExtensions, ClusterResources, WatchRole};
use kubewright_serve::webhooks::{
    WEBHOOKS_ANNOTATION, WebhookAddress, WebhookInputs, desired_configurations,
};
use kubewright_value::Value;

use super::admission_policies;
use super::finding::Findings;
use super::selector::selects_namespace;
use super::view::{View, text, webhooks_of};

/// Which namespaces no webhook may hold up that refuses when nobody answers, besides our own.
const SPARED: [&str; 2] = ["kube-system", "kube-node-lease"];

/// What of a webhook is compared. The rest depends on how the server was started, or is looked at elsewhere.
const COMPARED: [&str; 5] = ["rules", "failurePolicy", "timeoutSeconds", "objectSelector", "matchPolicy"];

const RESTART: &str =
    "a running server puts it right within 5 s; see its log, and `kubewright rescue --resume` if it is held";

pub(super) fn check(view: &View, findings: &mut Findings) {
    held(view, findings);
    let all = match &view.configurations {
        Ok(all) => all,
        Err(error) => return findings.unseen("webhooks", error),
    };
    if !all.iter().any(|one| view.is_ours(one)) {
        let why = format!("there is no webhook configuration `{}`: no rule is asked", view.name);
        return findings.bad("webhooks", why, RESTART);
    }
    compare(view, findings);
    owned(view, all, findings);
    doors(view, findings);
    answer(view, findings);
}

fn held(view: &View, findings: &mut Findings) {
    let Ok(Some(role)) = &view.role else { return };
    if text(role, &["metadata", "annotations", WEBHOOKS_ANNOTATION]) == "off" {
        let why = "the webhooks are held off: no rule is asked until somebody lets them come back";
        findings.bad("held", why, "`kubewright rescue --resume`");
    }
}

/// Compares what is there with what the rules of the moment want.
fn compare(view: &View, findings: &mut Findings) {
    let resources = match &view.resources {
        Ok(resources) => resources,
        Err(error) => return findings.unseen("webhooks", error),
    };
    if let Some(error) = view.kinds.iter().find_map(|kind| kind.objects.as_ref().err()) {
        return findings.unseen("webhooks", &format!("rules cannot be read: {error}"));
    }
    let wanted = wanted(view, resources);
    let wanted: Vec<(&str, &Value)> = wanted.iter().flat_map(webhooks_of).collect();
    let wrong = differences(&wanted, &view.webhooks());
    if wrong.is_empty() {
        let rules = view.rules(WatchRole::Rule).count();
        findings.ok("webhooks", format!("{} webhooks, as {rules} rules want them", wanted.len()));
    } else {
        findings.bad("webhooks", wrong.join("; "), RESTART);
    }
}

/// Returns the configurations that the rules of the moment want.
pub(super) fn wanted(view: &View, resources: &DiscoveredResources) -> [Value; 2] {
    let snapshot = admission_policies::snapshot(view);
    let languages = || view.dialects.iter().filter_map(|dialect| dialect.cluster_support());
    // Where the program that a language comes from is installed, its rules are not checked by us.
    let checked = languages().filter(|language| !view.has_configuration(language.upstream_webhooks()));
    let checked =
        checked.flat_map(ClusterResources::watched_resources).filter(|kind| kind.role != WatchRole::Shared);
    let wanted = WebhookInputs {
        name: &view.name,
        namespace: &view.namespace,
        address: WebhookAddress::Service { namespace: view.namespace.clone(), name: view.name.clone() },
        bundle: None,
        hooks: snapshot.hooks.iter().map(|hook| (hook.path.as_str(), &hook.webhook)).collect(),
        kinds: languages().flat_map(ClusterResources::watched_resources).copied().collect(),
        checked: checked.copied().collect(),
        labels: languages().filter_map(ClusterResources::ignore_label).collect(),
        observes_pod_bindings: languages().any(ClusterExtensions::observes_pod_bindings),
        exempt: &view.flag("guard-exempt"),
        owner: None,
        injected_from: None,
    };
    desired_configurations(&wanted, resources)
}

fn differences(wanted: &[(&str, &Value)], actual: &[(&str, &Value)]) -> Vec<String> {
    let name = |webhook: &Value| text(webhook, &["name"]).to_owned();
    let mut wrong = Vec::new();
    for (kind, webhook) in wanted {
        let same = actual.iter().find(|(other, one)| other == kind && name(one) == name(webhook));
        let Some((_, same)) = same else {
            wrong.push(format!("`{}` is missing", name(webhook)));
            continue;
        };
        let fields: Vec<&str> =
            COMPARED.into_iter().filter(|field| same.get(field) != webhook.get(field)).collect();
        if !fields.is_empty() {
            wrong.push(format!("`{}` is not as its rules want it: {}", name(webhook), fields.join(", ")));
        }
    }
    let extra = actual
        .iter()
        .filter(|(kind, one)| !wanted.iter().any(|(other, two)| other == kind && name(two) == name(one)));
    wrong.extend(extra.map(|(_, one)| format!("no rule wants `{}`", name(one))));
    wrong
}

/// Whether they go when the installation goes.
fn owned(view: &View, all: &[Value], findings: &mut Findings) {
    let role = match &view.role {
        Ok(role) => role.as_ref().map(|role| text(role, &["metadata", "uid"])),
        Err(error) => return findings.unseen("uninstalling", error),
    };
    let is_owned = |one: &Value| {
        let owners = one.at(&["metadata", "ownerReferences"]).and_then(Value::as_array).unwrap_or_default();
        owners.iter().any(|owner| role.is_some_and(|role| text(owner, &["uid"]) == role))
    };
    if all.iter().filter(|one| view.is_ours(one)).all(is_owned) {
        findings.ok("uninstalling", "the webhook configurations go with the ClusterRole");
    } else {
        let why =
            "a webhook configuration does not belong to the ClusterRole, and stays when everything else goes";
        findings.warn("uninstalling", why, "`kubewright rescue --yes` after uninstalling");
    }
}

/// What happens when nobody answers, and what is never asked about.
fn doors(view: &View, findings: &mut Findings) {
    let mut open = Vec::new();
    let (mut fails, mut ignores) = (0, 0);
    for (_, webhook) in view.webhooks() {
        if text(webhook, &["failurePolicy"]) == "Ignore" {
            ignores += 1;
            continue;
        }
        fails += 1;
        if is_about_rules_alone(view, webhook) {
            continue;
        }
        let namespaces = SPARED.into_iter().chain([view.namespace.as_str()]);
        let held = namespaces
            .filter(|name| selects_namespace(webhook.get("namespaceSelector"), name, view.labels(name)));
        let held: Vec<&str> = held.collect();
        if !held.is_empty() {
            open.push(format!("`{}` would hold up {}", text(webhook, &["name"]), held.join(", ")));
        }
    }
    let policies = format!("{fails} webhooks refuse when nobody answers (Fail), {ignores} let pass (Ignore)");
    findings.ok("failure policies", policies);
    if open.is_empty() {
        findings.ok(
            "spared namespaces",
            format!("{}, {} are held up by no webhook that refuses", SPARED.join(", "), view.namespace),
        );
    } else {
        findings.bad(
            "spared namespaces",
            format!("{}: the cluster may not come up again", open.join("; ")),
            RESTART,
        );
    }
}

/// Whether a webhook is about kinds of ours only.
fn is_about_rules_alone(view: &View, webhook: &Value) -> bool {
    let rules = webhook.get("rules").and_then(Value::as_array).unwrap_or_default();
    rules.iter().all(|rule| {
        let list = |key: &str| rule.get(key).and_then(Value::as_array).unwrap_or_default();
        list("apiGroups")
            .iter()
            .all(|group| view.kinds.iter().any(|kind| group.as_str() == Some(kind.watched.group)))
    })
}

fn answer(view: &View, findings: &mut Findings) {
    match &view.answer {
        None => {
            findings.ok("answers", "there is no rule by which it could be tried whether the servers answer");
        }
        Some(Ok(())) => findings.ok("answers", "the API server asks the webhook and gets an answer"),
        Some(Err(Error::Status(status))) if status.message.contains("failed calling webhook") => {
            let mend = "look at the Service, its endpoints and NetworkPolicies; `kubewright rescue` opens the door meanwhile";
            findings.bad("answers", format!("the API server gets no answer: {status}"), mend);
        }
        Some(Err(Error::Status(status))) if status.message.contains("denied the request") => {
            findings.ok("answers", "the API server asks the webhook and gets an answer");
        }
        Some(Err(error)) => findings.unseen("answers", &error.to_string()),
    }
}
