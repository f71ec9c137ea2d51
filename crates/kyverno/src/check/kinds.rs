//! One entry of `kinds`: whether it can be read, means something, and means the same for Kyverno.

use kubewright_value::Text;

use super::super::matching::kind::{Notation, connect_subresource, read_kind};
use super::{PolicyChecks, code};
use kubewright_dialect_kit::fields::Located;

/// Checks one entry of `kinds`. Variables are reported elsewhere.
pub(super) fn check_kind(findings: &mut PolicyChecks<'_>, kind: &Located<Text>) {
    let text = kind.value.as_str();
    if text.contains("{{") {
        return;
    }
    match read_kind(text) {
        Some(([_, _, name, ""], Notation::Kyverno)) if connect_subresource(name).is_some() => {
            let message =
                format!("`{name}` is the kind of the connect options; name the kind that is connected to");
            let help = format!("write `{}`", connect_subresource(name).unwrap_or_default());
            findings.at(&code::UNLIKELY_KIND, &kind.path, message, help);
        }
        Some((_, Notation::Kyverno)) => {}
        Some((parts, Notation::Extended)) => {
            let message = format!("`{text}` is {} here, and nothing that exists for Kyverno", meaning(parts));
            let help = format!("write `{}`, which both read alike", kyverno_kind_notation(parts));
            findings.at(&code::KIND_NOTATION, &kind.path, message, help);
        }
        Some((parts, Notation::Unlikely)) => {
            let (message, help) = unlikely(text, parts);
            findings.at(&code::UNLIKELY_KIND, &kind.path, message, help);
        }
        None => {
            let message = format!("`{text}` is not a kind");
            let help = "write `Kind`, `version/Kind` or `group/version/Kind`, and `/subresource` behind it";
            findings.at(&code::BAD_KIND, &kind.path, message, help);
        }
    }
}

/// Returns the meaning in words.
fn meaning([group, version, kind, _]: [&str; 4]) -> String {
    let kind = if kind == "*" { "every kind".to_owned() } else { format!("kind `{kind}`") };
    let group = match group {
        "*" => "any group".to_owned(),
        "" => "the core group".to_owned(),
        group => format!("group `{group}`"),
    };
    match version {
        "*" => format!("{kind} of {group}"),
        version => format!("{kind} of {group}, version `{version}`"),
    }
}

/// Returns the equivalent in Kyverno's notation.
fn kyverno_kind_notation([group, version, kind, _]: [&str; 4]) -> String {
    match (group, version) {
        ("*", "*") => kind.to_owned(),
        ("*", version) => format!("{version}/{kind}"),
        (group, version) => format!("{group}/{version}/{kind}"),
    }
}

fn unlikely(text: &str, [_, _, kind, subresource]: [&str; 4]) -> (String, String) {
    if !kind.starts_with(char::is_lowercase) {
        let message = format!("`{text}` names the subresource `{subresource}`, which does not exist");
        return (message, "write `group/version/Kind`, or `Kind/subresource`".to_owned());
    }
    let message = format!("`{text}` names the kind `{kind}`, but kinds begin with a capital letter");
    let help = "write the `kind` of a manifest, such as `Deployment`, and not the name of its resource";
    (message, help.to_owned())
}
