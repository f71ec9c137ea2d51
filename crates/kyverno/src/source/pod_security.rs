//! `podSecurity` of a rule, and of an exception.

use kubewright_engine::Diagnostic;

use super::super::diagnostics as code;
use super::super::pod_security::{Control, PodSecurityLevel, StandardsVersion};
use super::{ControlExclusion, PodSecurity};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader};

/// Reads the profile that `key` of `fields` is.
pub(super) fn read_pod_security<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<PodSecurity> {
    let fields = reader.object(fields, key)?;
    reader.only(&fields, &["level", "version", "exclude"]);
    let level = reader.required_string(&fields, "level");
    let level = level.and_then(|level| reader.one_of(&level, "level", &PodSecurityLevel::ALL));
    let text = reader.string(&fields, "version");
    let exclude = exclusions(reader, &fields, "exclude");
    let version = match text.as_ref().filter(|text| !text.value.is_empty()) {
        None => Some(StandardsVersion::LATEST),
        Some(text) => {
            let version = StandardsVersion::parse(&text.value);
            if version.is_none() {
                let location = reader.place(&text.path);
                let message = format!("unknown version `{}`", text.value);
                let help = "use `latest`, or a version of Kubernetes such as `v1.32`";
                reader.report(Diagnostic::new(&code::UNKNOWN_VALUE, message, location).help(help));
            }
            version
        }
    };
    Some(PodSecurity {
        path: fields.path,
        level: level?,
        version: version?,
        version_text: text.map(|text| text.value).unwrap_or_default(),
        exclude,
    })
}

/// Reads the controls that `key` of `fields` excludes; one that is not known is reported and left out.
pub(super) fn exclusions<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Vec<ControlExclusion> {
    let items = reader.objects(fields, key).unwrap_or_default();
    items.iter().filter_map(|item| read_control_exclusion(reader, item)).collect()
}

fn read_control_exclusion<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<ControlExclusion> {
    reader.only(item, &["controlName", "images", "restrictedField", "values"]);
    let control = reader.required_string(item, "controlName");
    let control = control.and_then(|name| reader.one_of(&name, "control", &Control::ALL));
    let restricted_field = reader.string(item, "restrictedField").filter(|field| !field.value.is_empty());
    let images = reader.plain(item, "images");
    let values = reader.plain(item, "values");
    Some(ControlExclusion { path: item.path.clone(), control: control?, images, restricted_field, values })
}
