//! GeneratingPolicy and NamespacedGeneratingPolicy as they are written, field by field.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Step, Text};

use crate::diagnostics as code;
use crate::source::{CelPolicySource, FIELD_CODES, read_common_fields, read_home};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};

/// The settings that only a GeneratingPolicy has.
#[derive(Debug, Clone, Default)]
pub(super) struct GeneratingPolicySettings {
    pub(super) synchronizes: bool,
    pub(super) orphans_downstream: bool,
    pub(super) generates_existing: bool,
    pub(super) uses_server_side_apply: bool,
    pub(super) skips_background_requests: bool,
    pub(super) generate: Vec<GenerateEntry>,
}

/// An entry of `generate`.
#[derive(Debug, Clone)]
pub(super) enum GenerateEntry {
    Expression(Located<Text>),
    Template { text: Located<Text>, interpolates: bool },
}

const SPEC_FIELDS: &[&str] = &[
    "matchConstraints",
    "matchConditions",
    "variables",
    "generate",
    "evaluation",
    "auditAnnotations",
    "useServerSideApply",
    "webhookConfiguration",
    "failurePolicy",
];

/// Reads a policy; unreadable fields are reported.
pub(super) fn read_generating_policy(
    document: &Document,
) -> (Option<(CelPolicySource, GeneratingPolicySettings)>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_policy_fields)
}

fn read_policy_fields(
    reader: &mut DocumentReader<'_>,
) -> Option<(CelPolicySource, GeneratingPolicySettings)> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(&spec, SPEC_FIELDS);
    if let Some(webhook) = reader.object(&spec, "webhookConfiguration") {
        reader.only(&webhook, &["timeoutSeconds", "matchConditions"]);
    }
    let mut settings = GeneratingPolicySettings {
        uses_server_side_apply: reader.boolean(&spec, "useServerSideApply").unwrap_or(false),
        skips_background_requests: true,
        generate: read_entries(reader, &spec),
        ..GeneratingPolicySettings::default()
    };
    if let Some(evaluation) = reader.object(&spec, "evaluation") {
        read_evaluation(reader, &evaluation, &mut settings);
    }
    let namespace = read_home(reader, &metadata);
    Some((CelPolicySource { namespace, ..read_common_fields(reader, &metadata, &spec)? }, settings))
}

fn read_evaluation<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    settings: &mut GeneratingPolicySettings,
) {
    reader.only(
        fields,
        &[
            "admission",
            "generateExisting",
            "synchronize",
            "orphanDownstreamOnPolicyDelete",
            "skipBackgroundRequests",
            "useServerSideApply",
        ],
    );
    read_switch(reader, fields, "admission");
    settings.synchronizes = read_switch(reader, fields, "synchronize");
    settings.orphans_downstream = read_switch(reader, fields, "orphanDownstreamOnPolicyDelete");
    settings.generates_existing = read_switch(reader, fields, "generateExisting");
    settings.skips_background_requests = reader.boolean(fields, "skipBackgroundRequests").unwrap_or(true);
    settings.uses_server_side_apply |= reader.boolean(fields, "useServerSideApply").unwrap_or(false);
}

/// Reads `{enabled: true}`; a missing field means off.
fn read_switch<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>, key: &str) -> bool {
    let Some(fields) = reader.object(fields, key) else { return false };
    reader.only(&fields, &["enabled"]);
    reader.boolean(&fields, "enabled").unwrap_or(false)
}

fn read_entries<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> Vec<GenerateEntry> {
    let items = reader.objects(spec, "generate").unwrap_or_default();
    items.iter().filter_map(|item| read_entry(reader, item)).collect()
}

fn read_entry<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<GenerateEntry> {
    reader.only(item, &["expression", "template"]);
    let has = |key: &str| reader.any(item, key).is_some();
    match (has("expression"), has("template")) {
        (true, false) => reader.filled(item, "expression").map(GenerateEntry::Expression),
        (false, true) => {
            let template = reader.object(item, "template")?;
            reader.only(&template, &["value", "interpolate"]);
            let interpolates = match reader.string(&template, "interpolate") {
                Some(text) if !text.value.is_empty() => {
                    reader.one_of(&text, "`interpolate`", &[("cel", true), ("CEL", true)])?
                }
                _ => false,
            };
            let text = reader.filled(&template, "value")?;
            Some(GenerateEntry::Template { text, interpolates })
        }
        (is_both, _) => {
            report_entry(reader, &item.path, is_both);
            None
        }
    }
}

fn report_entry(reader: &mut DocumentReader<'_>, path: &[Step], is_both: bool) {
    let message = match is_both {
        true => "there are both `expression` and `template`",
        false => "there is neither `expression` nor `template`",
    };
    let location = reader.place(path);
    let help = "give exactly one of the two; several are several entries";
    reader.report(Diagnostic::new(&code::GENERATE_ENTRY, message.to_owned(), location).help(help));
}
