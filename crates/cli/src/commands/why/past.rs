//! What rules did to an object in a cluster: from the log of the webhook, and from Events.

use std::io::Read as _;

use kubewright_report::text::plural;
use kubewright_value::{Map, Text, Value, json};

use super::super::trace::is_called;
use crate::failure::CommandFailure;
use crate::output::{Paint, visible};

/// How many requests are shown: the last ones.
const MAX_SHOWN_REQUESTS: usize = 20;

/// How many fields of a patch are named.
const MAX_SHOWN_FIELDS: usize = 10;

/// One thing that happened to an object.
pub(super) struct PastRequest {
    /// When.
    time: Text,
    /// What was asked and by whom, or which rule object an Event is about.
    head: String,
    /// What became of it.
    result: String,
    is_refused: bool,
    /// Each rule, its mark and what it says.
    rules: Vec<(char, String, String)>,
    /// The fields that the patch of all rules changes.
    fields: Vec<String>,
}

/// Reads what the log of the webhook says about `object`; `-` is standard input.
///
/// # Errors
/// When the file cannot be read.
pub(super) fn read_webhook_log(path: &str, object: &str) -> Result<Vec<PastRequest>, CommandFailure> {
    let mut text = String::new();
    let read = match path {
        "-" => std::io::stdin().read_to_string(&mut text).map(drop),
        path => std::fs::read_to_string(path).map(|read| text = read),
    };
    read.map_err(|error| {
        let reason = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
            _ => error.to_string(),
        };
        CommandFailure::usage(format!("cannot read the log `{path}`: {reason}"))
    })?;
    let lines = text.lines().filter_map(|line| json::parse(line.get(line.find('{')?..)?).ok());
    Ok(lines.filter_map(|line| logged_request(&line, object)).collect())
}

/// Returns the request of a line of the log; nothing for other lines and other objects.
fn logged_request(line: &Value, object: &str) -> Option<PastRequest> {
    let text = |key: &str| line.str_at(&[key]);
    let kind = text("kind").rsplit('/').next().unwrap_or_default();
    let is_it = text("message") == "review" && is_called(object, [kind, text("namespace"), text("name")]);
    if !is_it {
        return None;
    }
    let is_allowed = line.get("allowed") == Some(&Value::Bool(true));
    let patch = line.get("patch").and_then(Value::as_array).unwrap_or_default();
    let fields: Vec<String> = patch.iter().map(|one| one.str_at(&["path"]).to_owned()).collect();
    let rules = line.get("rules").and_then(Value::as_array).unwrap_or_default();
    let dry = if line.get("dryRun") == Some(&Value::Bool(true)) { ", dry run" } else { "" };
    Some(PastRequest {
        time: text("time").into(),
        head: format!("{} by {}{dry}", text("operation"), text("user")),
        result: match (is_allowed, fields.len()) {
            (false, _) => "refused".to_owned(),
            (true, 0) => "allowed".to_owned(),
            (true, changes) => format!("allowed with {}", plural(changes, "change")),
        },
        is_refused: !is_allowed,
        rules: rules.iter().map(logged_rule).collect(),
        fields,
    })
}

fn logged_rule(rule: &Value) -> (char, String, String) {
    let mark = match rule.str_at(&["result"]) {
        "fail" => '✗',
        "error" => '!',
        "warn" => '⚠',
        "skip" => '·',
        _ => '~',
    };
    (mark, rule.str_at(&["rule"]).to_owned(), rule.str_at(&["message"]).to_owned())
}

/// Returns what Events say about `object`, those of rules alone.
#[cfg(feature = "serve")]
pub(super) fn past_events(events: &[Value], object: &str) -> Vec<PastRequest> {
    let mut found: Vec<PastRequest> = events.iter().filter_map(|event| told_event(event, object)).collect();
    found.sort_by(|one, other| one.time.cmp(&other.time));
    found
}

#[cfg(feature = "serve")]
fn told_event(event: &Value, object: &str) -> Option<PastRequest> {
    let part = |of: &str, key: &str| event.str_at(&[of, key]).to_owned();
    let is_about =
        |of: &str| is_called(object, [&part(of, "kind"), &part(of, "namespace"), &part(of, "name")]);
    let reason = event.str_at(&["reason"]);
    let is_ours = event.str_at(&["source", "component"]) == "kubewright"
        || event.str_at(&["reportingComponent"]).starts_with("kyverno");
    if !is_ours || !(is_about("related") || is_about("involvedObject")) {
        return None;
    }
    let count = event.get("count").and_then(Value::as_i64).unwrap_or(1);
    let times = if count > 1 { format!(", {count} times") } else { String::new() };
    let is_refused = reason == "PolicyViolation" && event.str_at(&["message"]).contains("refused");
    let mark = match reason {
        "PolicyViolation" => '✗',
        "PolicyError" => '!',
        "ExceptionUsed" | "PolicySkipped" => '·',
        _ => '✓',
    };
    let rule =
        [part("involvedObject", "kind"), part("involvedObject", "namespace"), part("involvedObject", "name")];
    let rule: Vec<String> = rule.into_iter().filter(|part| !part.is_empty()).collect();
    Some(PastRequest {
        time: event.str_at(&["lastTimestamp"]).into(),
        head: "Event".to_owned(),
        result: format!("{reason}{times}"),
        is_refused,
        rules: vec![(mark, rule.join("/"), event.str_at(&["message"]).to_owned())],
        fields: Vec::new(),
    })
}

/// Returns what happened as text, the last things last; `noun` is what one of them is, and `origin` says it.
pub(super) fn past_text(requests: &[PastRequest], (noun, origin): (&str, &str), paint: Paint) -> String {
    let title = format!("{} in {}", plural(requests.len(), noun), visible(origin));
    let mut text = format!("{}\n", paint.bold(&title));
    let hidden = requests.len().saturating_sub(MAX_SHOWN_REQUESTS);
    if hidden > 0 {
        text.push_str(&paint.dim(&format!("  · the first {hidden} are not shown\n")));
    }
    for request in requests.iter().skip(hidden) {
        let result = match request.is_refused {
            true => paint.red(&request.result),
            false => paint.yellow(&request.result),
        };
        text.push_str(&format!("  {}  {}     {result}\n", visible(&request.time), visible(&request.head)));
        for (mark, rule, message) in &request.rules {
            text.push_str(
                &format!("    {mark} {}  {}\n", visible(rule), visible(message)).replace("  \n", "\n"),
            );
        }
        for field in request.fields.iter().take(MAX_SHOWN_FIELDS) {
            text.push_str(&format!("        {}\n", visible(field)));
        }
    }
    text
}

/// Returns the requests as JSON.
pub(super) fn past_values(requests: &[PastRequest]) -> Vec<Value> {
    let rule = |(_, rule, message): &(char, String, String)| -> Value {
        Map::from([("rule", Value::from(rule.as_str())), ("message", message.as_str().into())]).into()
    };
    let one = |request: &PastRequest| -> Value {
        Map::from([
            ("time", Value::from(request.time.clone())),
            ("request", request.head.as_str().into()),
            ("result", request.result.as_str().into()),
            ("refused", request.is_refused.into()),
            ("rules", request.rules.iter().map(rule).collect::<Vec<_>>().into()),
            (
                "fields",
                request.fields.iter().map(|field| Value::from(field.as_str())).collect::<Vec<_>>().into(),
            ),
        ])
        .into()
    };
    requests.iter().map(one).collect()
}
