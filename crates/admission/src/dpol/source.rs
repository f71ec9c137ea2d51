//! DeletingPolicy and NamespacedDeletingPolicy as they are written, field by field.

use kubewright_engine::{DeletionPropagation, Diagnostic};
use kubewright_k8s::{CronSchedule, Operations};
use kubewright_value::Document;

use crate::diagnostics as code;
use crate::source::{CelPolicySource, FIELD_CODES, read_common_fields, read_home};
use kubewright_cel_rules::source::read_named_expressions;
use kubewright_dialect_kit::fields::DocumentReader;

/// The settings that only a DeletingPolicy has.
#[derive(Debug, Clone, Default)]
pub(super) struct DeletingPolicySettings {
    /// Nothing where it cannot be read.
    pub(super) schedule: Option<CronSchedule>,
    pub(super) propagation: Option<DeletionPropagation>,
}

/// A time from which the first run is searched: any will do, because schedules repeat.
const SOME_TIME: i64 = 0;

/// Reads a policy; unreadable fields are reported. Its conditions are where other policies have match conditions.
pub(super) fn read_deleting_policy(
    document: &Document,
) -> (Option<(CelPolicySource, DeletingPolicySettings)>, Vec<Diagnostic>) {
    let mut reader = DocumentReader::new(document, FIELD_CODES);
    let policy = read_policy_fields(&mut reader);
    // Operations do not count for objects that are stored already.
    let mut diagnostics = reader.diagnostics;
    diagnostics.retain(|found| found.code.id != code::NO_OPERATIONS.id);
    (policy, diagnostics)
}

fn read_policy_fields(reader: &mut DocumentReader<'_>) -> Option<(CelPolicySource, DeletingPolicySettings)> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(
        &spec,
        &["schedule", "matchConstraints", "conditions", "variables", "deletionPropagationPolicy"],
    );
    let mut settings = DeletingPolicySettings::default();
    if let Some(text) = reader.filled(&spec, "schedule") {
        settings.schedule = match CronSchedule::parse(&text.value) {
            Ok(schedule) => {
                if schedule.next_after(SOME_TIME).is_none() {
                    let message = format!("`{}` names a day that never comes", text.value);
                    reader.report(Diagnostic::new(&code::NEVER_DUE, message, reader.place(&text.path)));
                }
                Some(schedule)
            }
            Err(message) => {
                let help = "write five fields, as in `*/5 * * * *`, or `@daily`";
                let location = reader.place(&text.path);
                reader.report(Diagnostic::new(&code::BAD_SCHEDULE, message, location).help(help));
                None
            }
        };
    }
    if let Some(text) = reader.string(&spec, "deletionPropagationPolicy") {
        settings.propagation = reader.one_of(&text, "propagation policy", &DeletionPropagation::ALL);
    }
    let namespace = read_home(reader, &metadata);
    let conditions = read_named_expressions(reader, &spec, "conditions");
    let mut policy =
        CelPolicySource { namespace, conditions, ..read_common_fields(reader, &metadata, &spec)? };
    for rule in
        policy.constraints.iter_mut().flat_map(|found| found.rules.iter_mut().chain(&mut found.exclude))
    {
        rule.operations = Operations::ALL;
    }
    Some((policy, settings))
}
