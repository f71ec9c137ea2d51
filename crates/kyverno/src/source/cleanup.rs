//! The document of a CleanupPolicy or ClusterCleanupPolicy.

use kubewright_engine::{DeletionPropagation, Diagnostic};
use kubewright_k8s::CronSchedule;
use kubewright_value::{Document, Text, Value};

use super::super::diagnostics as code;
use super::{ContextEntry, FIELD_CODES, Match, context, filter, rule};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};

/// A policy that deletes objects by schedule.
#[derive(Debug, Clone)]
pub struct CleanupSource {
    /// `metadata.name`
    pub name: Located<Text>,
    /// The namespace of a `CleanupPolicy`, `default` unless given; a `ClusterCleanupPolicy` has none.
    pub namespace: Option<Text>,
    /// `policies.kyverno.io/severity`
    pub severity: Text,
    /// `policies.kyverno.io/category`
    pub category: Text,
    /// `match`, as far as it could be read.
    pub matching: Match,
    /// `exclude`
    pub exclude: Option<Match>,
    /// `context`
    pub context: Vec<ContextEntry>,
    /// `conditions`, as they are written.
    pub conditions: Option<Located<Value>>,
    /// `schedule`; nothing where it cannot be read.
    pub schedule: Option<CronSchedule>,
    /// `deletionPropagationPolicy`
    pub propagation: Option<DeletionPropagation>,
}

/// A time from which the first run is searched: any will do, because schedules repeat.
const SOME_TIME: i64 = 0;

/// Reads `document`; unreadable parts are reported.
pub(crate) fn read_cleanup_policy(document: &Document) -> (Option<CleanupSource>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_cleanup_spec)
}

fn read_cleanup_spec(reader: &mut DocumentReader<'_>) -> Option<CleanupSource> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    let known = ["match", "exclude", "context", "conditions", "schedule", "deletionPropagationPolicy"];
    reader.only(&spec, &known);
    let name = reader.required_string(&metadata, "name");
    let written =
        reader.string(&metadata, "namespace").map(|text| text.value).filter(|text| !text.is_empty());
    let is_namespaced = reader.document.value.str_at(&["kind"]) == "CleanupPolicy";
    let annotations = reader.texts(&metadata, "annotations").unwrap_or_default();
    let annotation = |name: &str| -> Text {
        let found =
            annotations.iter().find(|(key, _)| key.strip_prefix("policies.kyverno.io/") == Some(name));
        found.map(|(_, text)| text.value.clone()).unwrap_or_default()
    };
    let (severity, category) = (annotation("severity"), annotation("category"));
    let matching = reader.required_object(&spec, "match").map(|fields| filter::read_match(reader, &fields));
    let exclude = reader.object(&spec, "exclude").map(|fields| filter::read_match(reader, &fields));
    let propagation = reader.string(&spec, "deletionPropagationPolicy");
    let propagation =
        propagation.and_then(|text| reader.one_of(&text, "propagation policy", &DeletionPropagation::ALL));
    Some(CleanupSource {
        namespace: is_namespaced.then(|| written.unwrap_or_else(|| Text::new("default"))),
        severity,
        category,
        exclude,
        context: context::read_context(reader, &spec),
        conditions: rule::read_conditions(reader, &spec, "conditions"),
        schedule: read_schedule(reader, &spec),
        propagation,
        name: name?,
        matching: matching.unwrap_or_default(),
    })
}

fn read_schedule<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> Option<CronSchedule> {
    let text = reader.filled(spec, "schedule")?;
    let location = reader.place(&text.path);
    match CronSchedule::parse(&text.value) {
        Ok(schedule) => {
            if schedule.next_after(SOME_TIME).is_none() {
                let message = format!("`{}` names a day that never comes", text.value);
                reader.report(Diagnostic::new(&code::NEVER_DUE, message, location));
            }
            Some(schedule)
        }
        Err(message) => {
            let help = "write five fields, as in `*/5 * * * *`, or `@daily`";
            reader.report(Diagnostic::new(&code::BAD_SCHEDULE, message, location).help(help));
            None
        }
    }
}
