//! Checks of `podSecurity`: an exclusion must name something that is checked.

use kubewright_engine::nearest_word;
use kubewright_value::suggest::did_you_mean;

use super::super::diagnostics as code;
use super::super::pod_security::{PodSecurityLevel, StandardsVersion};
use super::super::source::{ControlExclusion, PodSecurity};
use super::PolicyChecks;
use kubewright_dialect_kit::fields::child_path;

/// The newest version that Kyverno lets a policy have.
const NEWEST_OF_KYVERNO: &str = "v1.32";
/// The oldest one.
const OLDEST_OF_KYVERNO: &str = "v1.19";

/// Checks a profile.
pub(super) fn check_pod_security(findings: &mut PolicyChecks<'_>, profile: &PodSecurity) {
    check_standards_version(findings, profile);
    for one in &profile.exclude {
        check_control_exclusion(findings, one);
        if profile.level != PodSecurityLevel::Privileged && one.control.is_above(profile.level) {
            let name = one.control.name();
            let message = format!("`{name}` is not checked at this level, so there is nothing to exclude");
            let help = "remove it, or use `level: restricted`";
            findings.at(&code::CONTROL_ABOVE_LEVEL, &child_path(&one.path, "controlName"), message, help);
        }
    }
}

/// Checks one thing that is excluded, by a rule or by an exception.
pub(super) fn check_control_exclusion(findings: &mut PolicyChecks<'_>, one: &ControlExclusion) {
    let name = one.control.name();
    if one.control.needs_images() && one.images.is_empty() {
        let message = format!("`{name}` checks containers, but `images` does not name any");
        let help = "name the images of the containers, with wildcards: `images: [\"ghcr.io/shop/*\"]`";
        findings.at(&code::CONTROL_IMAGES, &child_path(&one.path, "controlName"), message, help);
    }
    if one.control.forbids_images() && !one.images.is_empty() {
        let message = format!("`{name}` checks the whole Pod, so it cannot have `images`");
        findings.at_key(&code::CONTROL_IMAGES, &child_path(&one.path, "images"), message, "remove `images`");
    }
    match (&one.restricted_field, one.values.is_empty()) {
        (Some(field), true) => {
            let message = "`restrictedField` without `values` excludes nothing";
            findings.at(&code::FIELD_AND_VALUES, &field.path, message, "add `values`, with wildcards");
        }
        (None, false) => {
            let message = "`values` without `restrictedField` excludes nothing";
            findings.at_key(
                &code::FIELD_AND_VALUES,
                &child_path(&one.path, "values"),
                message,
                "add `restrictedField`",
            );
        }
        _ => {}
    }
    check_restricted_field(findings, one);
}

fn check_restricted_field(findings: &mut PolicyChecks<'_>, one: &ControlExclusion) {
    let Some(field) = &one.restricted_field else { return };
    let known = one.control.fields();
    let is_known =
        known.contains(&field.value.to_string()) || field.value.starts_with("metadata.annotations[");
    if is_known {
        return;
    }
    let help = match nearest_word(&field.value, known.iter().map(String::as_str)) {
        Some(near) => did_you_mean(near),
        None => format!(
            "it has {}",
            known.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    let message = format!("`{}` has no field `{}`, so nothing is excluded", one.control.name(), field.value);
    findings.at(&code::UNKNOWN_RESTRICTED_FIELD, &field.path, message, help);
}

fn check_standards_version(findings: &mut PolicyChecks<'_>, profile: &PodSecurity) {
    let of = |text| StandardsVersion::parse(text).unwrap_or(StandardsVersion::LATEST);
    let path = child_path(&profile.path, "version");
    if profile.version != StandardsVersion::LATEST && profile.version > StandardsVersion::NEWEST_KNOWN {
        let message = format!("version `{}` is unknown, so it is checked as `latest`", profile.version);
        findings.at(&code::UNKNOWN_VERSION, &path, message, "");
        return;
    }
    let is_listed = (of(OLDEST_OF_KYVERNO)..=of(NEWEST_OF_KYVERNO)).contains(&profile.version);
    if profile.version != StandardsVersion::LATEST && !is_listed {
        let message = format!("Kyverno does not accept `{}`", profile.version);
        let help = format!("it accepts {OLDEST_OF_KYVERNO} to {NEWEST_OF_KYVERNO}, and `latest`");
        findings.at(&code::UNKNOWN_VERSION, &path, message, help);
    }
}
