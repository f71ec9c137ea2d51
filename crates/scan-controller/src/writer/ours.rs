//! Which reports are ours: those with our label whose names have exactly the form that we give them.
//!
//! The label is `kubewright`, or `kyverno` where programs are to find our reports that know only those of Kyverno.
//! Both are checked before anything is changed or deleted, so that a report of another program stays as it is, whatever
//! its labels say.

use kubewright_report::cluster_report::{
    MANAGED_BY, MANAGED_BY_LABEL, REPORT_NAME_PREFIX, SUMMARY_REPORT_NAME,
};
use kubewright_value::Value;

/// The length of a uid.
const UID_BYTES: usize = 36;

/// The length of the digits by which a report about an object without uid is named.
const DIGITS_BYTES: usize = 32;

/// Rule languages, and what Kyverno names as the source of their results.
const COMPATIBLE_SOURCES: [(&str, &str); 7] = [
    ("kyverno", "kyverno"),
    ("vpol", "KyvernoValidatingPolicy"),
    ("mpol", "KyvernoMutatingPolicy"),
    ("gpol", "KyvernoGeneratingPolicy"),
    ("ivpol", "KyvernoImageValidatingPolicy"),
    ("vap", "ValidatingAdmissionPolicy"),
    ("map", "MutatingAdmissionPolicy"),
];

/// The label of reports by which other programs find those of Kyverno.
const COMPATIBLE_MANAGED_BY: &str = "kyverno";

/// Returns the values that the label of our reports can have; the first is the usual one.
#[must_use]
pub fn report_managers() -> [&'static str; 2] {
    [MANAGED_BY, COMPATIBLE_MANAGED_BY]
}

/// Returns whether `object` is a report that this program wrote.
pub(super) fn is_ours(object: &Value) -> bool {
    let label = object.str_at(&["metadata", "labels", MANAGED_BY_LABEL]);
    (label == MANAGED_BY || label == COMPATIBLE_MANAGED_BY)
        && is_our_name(object.str_at(&["metadata", "name"]))
}

/// Returns the selector of reports that may be ours.
pub(super) fn report_selector(is_compatible: bool) -> String {
    match is_compatible {
        true => format!("{MANAGED_BY_LABEL} in ({MANAGED_BY},{COMPATIBLE_MANAGED_BY})"),
        false => format!("{MANAGED_BY_LABEL}={MANAGED_BY}"),
    }
}

/// Returns the source of the results of a rule language, as Kyverno names it.
fn compatible_source(dialect: &str) -> Option<&'static str> {
    COMPATIBLE_SOURCES.iter().find(|(name, _)| *name == dialect).map(|(_, source)| *source)
}

/// Returns which work of Kyverno leads to results of `source`.
fn compatible_process(source: &str) -> &'static str {
    match source {
        // It never asks them about stored objects.
        "KyvernoGeneratingPolicy" => "admission review",
        _ => "background scan",
    }
}

/// Returns `report` with the label by which other programs find it, and the names that Kyverno gives to sources of rows.
pub(super) fn labelled(mut report: Value, is_compatible: bool) -> Value {
    let rows = report.as_object_mut().and_then(|map| map.get_mut("results")).and_then(Value::as_array_mut);
    for row in rows.into_iter().flatten().filter(|_| is_compatible) {
        let source = compatible_source(row.str_at(&["properties", "dialect"]));
        if let (Some(source), Some(row)) = (source, row.as_object_mut()) {
            row.insert("source".into(), source.into());
            if let Some(properties) = row.get_mut("properties").and_then(Value::as_object_mut) {
                properties.insert("process".into(), compatible_process(source).into());
                // Kyverno names exceptions without their namespaces.
                if let Some(exceptions) = properties.get("exceptions").and_then(Value::as_str) {
                    let names = exceptions.split(',').map(|key| key.rsplit('/').next().unwrap_or(key));
                    let names = names.collect::<Vec<_>>().join(",");
                    properties.insert("exceptions".into(), names.into());
                }
            }
        }
    }
    let metadata = report.as_object_mut().and_then(|map| map.get_mut("metadata"));
    let labels = metadata.and_then(Value::as_object_mut).and_then(|map| map.get_mut("labels"));
    if let Some(labels) = labels.and_then(Value::as_object_mut).filter(|_| is_compatible) {
        labels.insert(MANAGED_BY_LABEL.into(), COMPATIBLE_MANAGED_BY.into());
    }
    report
}

/// Returns whether `name` is `kubewright-ID`, `kubewright-patterns-ID`, either with a number, or that of the summary.
/// An ID is a uid, or digits that stand for an object without one.
fn is_our_name(name: &str) -> bool {
    if name == SUMMARY_REPORT_NAME {
        return true;
    }
    let Some(rest) = name.strip_prefix(REPORT_NAME_PREFIX) else { return false };
    let rest = rest.strip_prefix("patterns-").unwrap_or(rest);
    is_id_with_part(rest, UID_BYTES, is_uid) || is_id_with_part(rest, DIGITS_BYTES, is_hexadecimal)
}

/// Returns whether `text` is an id of `length` bytes, and perhaps a number.
fn is_id_with_part(text: &str, length: usize, is_id: fn(&str) -> bool) -> bool {
    let Some((id, part)) = text.split_at_checked(length) else { return false };
    let is_part = part.is_empty()
        || part.strip_prefix('-').is_some_and(|number| {
            !number.is_empty() && number.len() < 6 && number.bytes().all(|digit| digit.is_ascii_digit())
        });
    is_id(id) && is_part
}

fn is_hexadecimal(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn is_uid(text: &str) -> bool {
    text.bytes().enumerate().all(|(place, byte)| match place {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_with_the_label_of_kyverno_is_ours_only_with_our_name() {
        let uid = "6f1c4f3e-95a1-4c60-8b32-0a9a1f7c2d10";
        let report = |name: &str| {
            let text = format!(
                r#"{{"metadata": {{"name": "{name}", "labels": {{"{MANAGED_BY_LABEL}": "kubewright"}}}}}}"#
            );
            labelled(kubewright_value::json::parse(&text).expect("JSON"), true)
        };
        let ours = report(&format!("kubewright-{uid}"));
        assert_eq!(ours.str_at(&["metadata", "labels", MANAGED_BY_LABEL]), "kyverno");
        assert!(is_ours(&ours));
        assert!(!is_ours(&report(uid)), "Kyverno names its own so");
    }

    #[test]
    fn rows_have_the_sources_and_processes_of_kyverno_where_that_is_asked_for() {
        let text = r#"{"results": [{"source": "kubewright", "properties": {"dialect": "gpol", "exceptions": "a/b,c"}},
            {"source": "kubewright", "properties": {"dialect": "kyverno"}}]}"#;
        let report = || kubewright_value::json::parse(text).expect("JSON");
        let rows = |report: &Value| -> Vec<[String; 3]> {
            let rows = report.get("results").and_then(Value::as_array).unwrap_or_default();
            let paths: [&[&str]; 3] =
                [&["source"], &["properties", "process"], &["properties", "exceptions"]];
            rows.iter().map(|row| paths.map(|path| row.str_at(path).to_owned())).collect()
        };
        let generating = ["KyvernoGeneratingPolicy", "admission review", "b,c"].map(str::to_owned);
        let rule = ["kyverno", "background scan", ""].map(str::to_owned);
        assert_eq!(rows(&labelled(report(), true)), [generating, rule]);
        assert_eq!(labelled(report(), false), report());
    }

    #[test]
    fn only_names_that_we_give_are_ours() {
        let uid = "6f1c4f3e-95a1-4c60-8b32-0a9a1f7c2d10";
        assert!(is_our_name(&format!("kubewright-{uid}")));
        assert!(is_our_name(&format!("kubewright-{uid}-12")));
        assert!(is_our_name(&format!("kubewright-patterns-{uid}-2")));
        assert!(is_our_name("kubewright-summary"));
        for foreign in [
            uid,
            "kubewright",
            "kubewright-",
            "kubewright-team-report",
            &format!("kubewright-{uid}-"),
            &format!("kubewright-{uid}-old"),
            &format!("other-{uid}"),
            &format!("kubewright-{}", uid.to_uppercase()),
        ] {
            assert!(!is_our_name(foreign), "{foreign}");
        }
    }
}
