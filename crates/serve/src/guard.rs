//! The guard of the labels that exempt a namespace from all rules.
//!
//! No webhook matches a namespace with the ignore label of a rule language, so that a user who may label namespaces
//! could switch all rules off. Only administrators and the users of `--guard-exempt` may set the label; removing it is
//! always allowed.

use kubewright_value::{Value, json};

use crate::Snapshot;
use crate::review::AdmissionResponse;

/// Those who may do everything anyway.
const ADMINISTRATORS_GROUP: &str = "system:masters";

/// Returns the CEL condition under which the API server calls the guard: a user who is not exempt sets one of
/// `labels` on a namespace, or changes its value. `None` without labels.
pub(crate) fn guard_condition(labels: &[(&str, &str)], exempt: &[String]) -> Option<String> {
    let changes: Vec<String> = labels.iter().map(|(key, _)| label_changed(&json::quote(key))).collect();
    if changes.is_empty() {
        return None;
    }
    let (mut groups, mut users) = (vec![json::quote(ADMINISTRATORS_GROUP)], Vec::new());
    for entry in exempt.iter().map(|entry| GuardExemption::of(entry)) {
        groups.extend(entry.group.map(json::quote));
        users.extend(entry.user.map(json::quote));
    }
    let groups = groups.join(", ");
    let mut parts = vec![
        format!("({})", changes.join(" || ")),
        format!(
            "!(has(request.userInfo.groups) && request.userInfo.groups.exists(group, group in [{groups}]))"
        ),
    ];
    if !users.is_empty() {
        parts.push(format!(
            "!(has(request.userInfo.username) && request.userInfo.username in [{}])",
            users.join(", ")
        ));
    }
    Some(parts.join(" && "))
}

/// Returns the response to `request`, the request of an AdmissionReview about a namespace.
#[must_use]
pub fn review_guarded_label(snapshot: &Snapshot, exempt: &[String], request: &Value) -> AdmissionResponse {
    let labels: Vec<_> = snapshot.languages().filter_map(|language| language.ignore_label()).collect();
    match guard_refusal(request, &labels, exempt) {
        None => AdmissionResponse::allowed(),
        Some(message) => AdmissionResponse::refused(403, message),
    }
}

/// Returns why `request`, that of an AdmissionReview about a namespace, is refused; nothing if it is not.
#[must_use]
pub fn guard_refusal(request: &Value, labels: &[(&str, &str)], exempt: &[String]) -> Option<String> {
    let label_of = |object: &str, key: &str| {
        request.at(&[object, "metadata", "labels", key]).and_then(Value::as_str).map(str::to_owned)
    };
    let key = labels.iter().map(|(key, _)| *key).find(|key| {
        let new = label_of("object", key);
        new.is_some() && new != label_of("oldObject", key)
    })?;
    let user = request.str_at(&["userInfo", "username"]);
    let groups = request.at(&["userInfo", "groups"]).and_then(Value::as_array).unwrap_or_default();
    let is_in = |group: &str| groups.iter().any(|other| other.as_str() == Some(group));
    let is_exempt = |entry: &String| {
        let entry = GuardExemption::of(entry);
        entry.user.is_some_and(|name| name == user) || entry.group.is_some_and(is_in)
    };
    if is_in(ADMINISTRATORS_GROUP) || exempt.iter().any(is_exempt) {
        return None;
    }
    Some(format!(
        "the label `{key}` exempts a namespace from all rules, and `{user}` may not set it: only members of \
         `{ADMINISTRATORS_GROUP}` and the users and groups of `--guard-exempt` may"
    ))
}

/// Who is exempt: `user:name`, `group:name`, or a name that may be either.
struct GuardExemption<'e> {
    user: Option<&'e str>,
    group: Option<&'e str>,
}

impl<'e> GuardExemption<'e> {
    fn of(entry: &'e str) -> Self {
        match (entry.strip_prefix("user:"), entry.strip_prefix("group:")) {
            (Some(user), _) => Self { user: Some(user), group: None },
            (_, Some(group)) => Self { user: None, group: Some(group) },
            _ => Self { user: Some(entry), group: Some(entry) },
        }
    }
}

/// CEL for: the object has the label, and the old object, if there is one, has it not or with another value.
fn label_changed(key: &str) -> String {
    let has = |object: &str| format!("has({object}.metadata.labels) && {key} in {object}.metadata.labels");
    format!(
        "({} && !(oldObject != null && {} && oldObject.metadata.labels[{key}] == object.metadata.labels[{key}]))",
        has("object"),
        has("oldObject")
    )
}

#[cfg(test)]
mod tests;
