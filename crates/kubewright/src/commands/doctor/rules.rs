//! Whether rules do what their authors think.

use kubewright_engine::WatchRole;
use kubewright_value::Value;

use super::finding::Findings;
use super::view::{View, called, text};

/// How many rules are named.
const SHOWN: usize = 20;

pub(super) fn check(view: &View, findings: &mut Findings) {
    for kind in &view.kinds {
        let name = format!("{}.{}", kind.watched.resource, kind.watched.group);
        match &kind.objects {
            Err(error) => findings.unseen("rules", &format!("{name}: {error}")),
            Ok(None) if kind.watched.role == WatchRole::Rule => {
                let why = format!("the cluster does not know {name}");
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
        let who = format!("{} {}", watched.kind, called(rule));
        let conditions = rule.at(&["status", "conditions"]).and_then(Value::as_array).unwrap_or_default();
        match conditions.iter().find(|condition| text(condition, &["type"]) == "Ready") {
            None => silent += 1,
            Some(ready) if text(ready, &["status"]) != "True" => {
                broken.push(format!("{who}: {}", first_line(text(ready, &["message"]))));
            }
            Some(_) => {}
        }
        if let Some(failure) =
            rule.at(&["status", "lastFailure"]).filter(|failure| failure.as_object().is_some())
        {
            let (time, why) = (text(failure, &["time"]), first_line(text(failure, &["message"])));
            failed.push(format!("{who}: {time} on {}: {why}", text(failure, &["object"])));
        }
    }
    for line in broken.iter().take(SHOWN) {
        findings.bad("rule", line, "`kubewright lint` on its file says what is wrong with it");
    }
    for line in failed.iter().take(SHOWN) {
        findings.warn("rule failure", line, "`kubewright trace` on the object says why");
    }
    let more = broken.len().saturating_sub(SHOWN) + failed.len().saturating_sub(SHOWN);
    if more > 0 {
        findings.warn("rules", format!("and {more} more like these"), "");
    }
    if silent > 0 {
        let why =
            format!("{silent} of {all} rules have no status: no server has read them, or it may not say so");
        findings.warn("rules", why, "look at the log of the servers");
    }
    if broken.is_empty() && failed.is_empty() && silent == 0 {
        findings.ok("rules", format!("{all} rules, all of which run"));
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
