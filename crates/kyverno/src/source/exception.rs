//! The document of a PolicyException.

use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Step, Text};

use super::{ExceptionSource, FIELD_CODES, filter, pod_security, rule};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, child_path};

/// Reads `document`; unreadable parts are reported, and an exception with an error is left out.
///
/// The objects it would exempt are then reported, which is the safe side.
pub(in super::super) fn read_exception(document: &Document) -> (Option<ExceptionSource>, Vec<Diagnostic>) {
    let mut reader = DocumentReader::new(document, FIELD_CODES);
    let exception = read_exception_spec(&mut reader);
    let has_error = reader.diagnostics.iter().any(Diagnostic::is_error);
    (exception.filter(|_| !has_error), reader.diagnostics)
}

fn read_exception_spec(reader: &mut DocumentReader<'_>) -> Option<ExceptionSource> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    let name = reader.required_string(&metadata, "name");
    let namespace = reader.string(&metadata, "namespace").map(|text| text.value).unwrap_or_default();
    reader.only(&spec, &["background", "match", "conditions", "exceptions", "podSecurity", "expiresAt"]);
    let matching = reader.required_object(&spec, "match").map(|fields| filter::read_match(reader, &fields));
    if reader.any(&spec, "exceptions").is_none() {
        reader.missing(&spec, "exceptions");
    }
    Some(ExceptionSource {
        policies: read_excepted_policies(reader, &spec),
        conditions: rule::read_conditions(reader, &spec, "conditions"),
        pod_security: pod_security::exclusions(reader, &spec, "podSecurity"),
        is_background: reader.boolean(&spec, "background").unwrap_or(true),
        key: Text::new(if namespace.is_empty() {
            name?.value.to_string()
        } else {
            format!("{namespace}/{}", name?.value)
        }),
        path: child_path(&[], "spec"),
        location: reader.document.locate(&[Step::from("spec"), Step::from("exceptions")]),
        document: Arc::new(reader.document.clone()),
        matching: matching?,
    })
}

fn read_excepted_policies<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Vec<(Text, Vec<Text>)> {
    let mut policies = Vec::new();
    for item in reader.objects(spec, "exceptions").unwrap_or_default() {
        reader.only(&item, &["policyName", "ruleNames"]);
        if reader.any(&item, "ruleNames").is_none() {
            reader.missing(&item, "ruleNames");
        }
        let rules = reader.plain(&item, "ruleNames");
        if let Some(policy) = reader.required_string(&item, "policyName") {
            policies.push((policy.value, rules));
        }
    }
    policies
}
