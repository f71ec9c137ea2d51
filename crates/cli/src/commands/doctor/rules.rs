//! Whether the rule objects are in force.

use kubewright_engine::WatchRole;
use kubewright_report::text::plural;
use kubewright_value::Value;

use super::finding::DoctorFindings;
use super::view::{ClusterView, short_object_name, view_text};

/// The maximum number of rules listed.
const MAX_SHOWN_RULES: usize = 20;

pub(super) fn check_rule_objects(view: &ClusterView, findings: &mut DoctorFindings) {
    for kind in &view.kinds {
        let name = format!("{}.{}", kind.watched.resource, kind.watched.group);
        match &kind.objects {
            Err(error) => findings.unseen("rules", &format!("{name}: {error}")),
            Ok(None) if kind.watched.role == WatchRole::Rule => {
                let why = format!("the cluster has no CustomResourceDefinition for {name}");
                findings.bad("rules", why, "`kubewright install --crds | kubectl apply -f -`");
            }
            Ok(_) => {}
        }
    }
    let mut broken = Vec::new();
    let mut failed = Vec::new();
    let (mut all, mut silent) = (0, 0);
    for (watched, rule) in view.rules(WatchRole::Rule) {
        all += 1;
        let who = format!("{} {}", watched.kind, short_object_name(rule));
        let conditions = rule.at(&["status", "conditions"]).and_then(Value::as_array).unwrap_or_default();
        match conditions.iter().find(|condition| view_text(condition, &["type"]) == "Ready") {
            None => silent += 1,
            Some(ready) if view_text(ready, &["status"]) != "True" => {
                broken.push(format!("{who}: {}", first_line(view_text(ready, &["message"]))));
            }
            Some(_) => {}
        }
        if let Some(failure) =
            rule.at(&["status", "lastFailure"]).filter(|failure| failure.as_object().is_some())
        {
            let (time, why) = (view_text(failure, &["time"]), first_line(view_text(failure, &["message"])));
            failed.push(format!("{who}: {time} on {}: {why}", view_text(failure, &["object"])));
        }
    }
    for line in broken.iter().take(MAX_SHOWN_RULES) {
        findings.bad("rule", line, "run `kubewright lint` on its file");
    }
    for line in failed.iter().take(MAX_SHOWN_RULES) {
        findings.warn("rule failure", line, "run `kubewright trace` on the object");
    }
    let more = broken.len().saturating_sub(MAX_SHOWN_RULES) + failed.len().saturating_sub(MAX_SHOWN_RULES);
    if more > 0 {
        findings.warn("rules", format!("and {more} more like these"), "");
    }
    if silent > 0 {
        let why = format!(
            "{silent} of {all} rules have no status: no server has read them, or it may not write their status"
        );
        findings.warn("rules", why, "look at the log of the servers");
    }
    if broken.is_empty() && failed.is_empty() && silent == 0 {
        findings.ok("rules", format!("{}, all in force", plural(all, "rule")));
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
