//! Who may take a namespace out of everything.
//!
//! A namespace with the label of a language that says "ignore" is asked about by no webhook that judges. Whoever may
//! label namespaces could so switch all rules off, so giving the label is left to administrators and to those whom
//! the operator names. Taking it away is everybody's right.

use kubewright_value::{Map, Value, json};

use crate::Snapshot;

/// Those who may do everything anyway.
const ADMINISTRATORS: &str = "system:masters";

/// Returns the CEL condition under which the API server asks: somebody who is not exempt gives a namespace one of
/// `labels`, or another value of it. Nothing where there are no such labels.
pub(crate) fn condition(labels: &[(&str, &str)], exempt: &[String]) -> Option<String> {
    let changes: Vec<String> = labels.iter().map(|(key, _)| change(&json::quote(key))).collect();
    if changes.is_empty() {
        return None;
    }
    let (mut groups, mut users) = (vec![json::quote(ADMINISTRATORS)], Vec::new());
    for entry in exempt.iter().map(|entry| Exempt::of(entry)) {
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

/// Answers `request`, the request of an AdmissionReview about a namespace, with the response of that review.
#[must_use]
pub fn review(snapshot: &Snapshot, exempt: &[String], request: &Value) -> Value {
    let labels: Vec<_> = snapshot.languages().filter_map(|language| language.ignore_label()).collect();
    let refusal = refusal(request, &labels, exempt);
    let mut response = Map::from([
        ("uid", request.get("uid").cloned().unwrap_or_default()),
        ("allowed", refusal.is_none().into()),
    ]);
    if let Some(message) = refusal {
        let status = [("message", message.into()), ("reason", "Forbidden".into()), ("code", 403_u64.into())];
        response.insert("status".into(), Map::from(status).into());
    }
    response.into()
}

/// Returns why `request`, that of an AdmissionReview about a namespace, is refused; nothing if it is not.
#[must_use]
pub fn refusal(request: &Value, labels: &[(&str, &str)], exempt: &[String]) -> Option<String> {
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
        let entry = Exempt::of(entry);
        entry.user.is_some_and(|name| name == user) || entry.group.is_some_and(is_in)
    };
    if is_in(ADMINISTRATORS) || exempt.iter().any(is_exempt) {
        return None;
    }
    Some(format!(
        "the label `{key}` takes a namespace out of all rules, and `{user}` may not give it: only members of \
         `{ADMINISTRATORS}` and those whom kubewright is told of by `--guard-exempt` may"
    ))
}

/// Who is exempt: `user:name`, `group:name`, or a name that may be either.
struct Exempt<'e> {
    user: Option<&'e str>,
    group: Option<&'e str>,
}

impl<'e> Exempt<'e> {
    fn of(entry: &'e str) -> Self {
        match (entry.strip_prefix("user:"), entry.strip_prefix("group:")) {
            (Some(user), _) => Self { user: Some(user), group: None },
            (_, Some(group)) => Self { user: None, group: Some(group) },
            _ => Self { user: Some(entry), group: Some(entry) },
        }
    }
}

/// CEL for: the object has the label, and the old object, if there is one, has it not or with another value.
fn change(key: &str) -> String {
    let has = |object: &str| format!("has({object}.metadata.labels) && {key} in {object}.metadata.labels");
    format!(
        "({} && !(oldObject != null && {} && oldObject.metadata.labels[{key}] == object.metadata.labels[{key}]))",
        has("object"),
        has("oldObject")
    )
}

#[cfg(test)]
mod tests;
