//! Exceptions from ValidatingPolicies.

use kubewright_engine::Diagnostic;
use kubewright_value::Document;

use super::PolicyExceptionSource;
use crate::source::FIELD_CODES;
use kubewright_cel_rules::source::read_named_expressions;
use kubewright_dialect_kit::fields::DocumentReader;

/// The annotation that orders several exceptions for the report.
const PRIORITY_ANNOTATION: &str = "polex.kyverno.io/priority";

/// Reads an exception; unreadable fields are reported.
pub(in super::super) fn read_policy_exception(
    document: &Document,
) -> (Option<PolicyExceptionSource>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_policy_exception_fields)
}

fn read_policy_exception_fields(reader: &mut DocumentReader<'_>) -> Option<PolicyExceptionSource> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(
        &spec,
        &[
            "policyRefs",
            "matchConditions",
            "images",
            "allowedValues",
            "reportResult",
            "expiresAt",
            "properties",
            "evaluationMode",
        ],
    );
    let items = reader.objects(&spec, "policyRefs").unwrap_or_default();
    let mut policies = Vec::with_capacity(items.len());
    for item in &items {
        reader.only(item, &["name", "kind"]);
        let (name, kind) = (reader.filled(item, "name"), reader.filled(item, "kind"));
        if let (Some(name), Some(kind)) = (name, kind) {
            policies.push((name, kind.value));
        }
    }
    if items.is_empty() {
        reader.missing(&spec, "policyRefs");
    }
    let labels = reader.pairs(&metadata, "labels");
    let priority = labels.iter().find(|(key, _)| key == PRIORITY_ANNOTATION);
    let conditions = read_named_expressions(reader, &spec, "matchConditions");
    let (images, values) = (reader.plain(&spec, "images"), reader.plain(&spec, "allowedValues"));
    let result = reader.string(&spec, "reportResult").filter(|text| !text.value.is_empty());
    let is_pass =
        result.and_then(|text| reader.one_of(&text, "reportResult", &[("pass", true), ("skip", false)]));
    let expires = reader.string(&spec, "expiresAt");
    let namespace = reader.string(&metadata, "namespace").map(|text| text.value).unwrap_or_default();
    let name = reader.filled(&metadata, "name")?.value;
    Some(PolicyExceptionSource {
        key: if namespace.is_empty() { name } else { format!("{namespace}/{name}").into() },
        policies,
        conditions,
        images,
        values,
        is_pass: is_pass.unwrap_or(false),
        priority: priority.and_then(|(_, text)| text.parse().ok()).unwrap_or(0),
        expires,
    })
}
