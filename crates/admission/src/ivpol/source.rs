//! An ImageValidatingPolicy as it is written, field by field.

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Map, Text, Value};

use crate::diagnostics as code;
use crate::source::{CelPolicySource, FIELD_CODES, read_common_fields};
use crate::vpol::source::{
    VALIDATING_POLICY_FIELDS, ValidatingPolicySettings, read_validating_policy_settings,
};
use kubewright_cel_rules::source::{NamedExpression, read_named_expressions};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

/// What only an ImageValidatingPolicy says.
#[derive(Clone)]
pub(super) struct ImagePolicySettings {
    pub(super) common: ValidatingPolicySettings,
    pub(super) mutates_digest: bool,
    pub(super) verifies_digest: bool,
    pub(super) is_required: bool,
    /// Globs, of which one must match, or one of the expressions.
    pub(super) globs: Vec<Text>,
    pub(super) references: Vec<NamedExpression>,
    /// Further lists of images, by name.
    pub(super) extractors: Vec<NamedExpression>,
    /// By name, as they are written.
    pub(super) attestors: Map,
    pub(super) attestations: Map,
    pub(super) credentials: Value,
}

/// The fields that only these policies have.
const IMAGE_FIELDS: [&str; 6] = [
    "validationConfigurations",
    "matchImageReferences",
    "credentials",
    "images",
    "attestors",
    "attestations",
];

/// Reads a policy; unreadable fields are reported.
pub(super) fn read_image_policy(
    document: &Document,
) -> (Option<(CelPolicySource, ImagePolicySettings)>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_image_policy_fields)
}

fn read_image_policy_fields(
    reader: &mut DocumentReader<'_>,
) -> Option<(CelPolicySource, ImagePolicySettings)> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(&spec, &[&VALIDATING_POLICY_FIELDS[..], &IMAGE_FIELDS].concat());
    let common = read_validating_policy_settings(reader, &spec);
    let (globs, references) = read_image_references(reader, &spec);
    let configuration = reader.object(&spec, "validationConfigurations");
    let mut is_set = |key: &str| match &configuration {
        Some(fields) => reader.boolean(fields, key).unwrap_or(true),
        None => true,
    };
    let (mutates_digest, verifies_digest, is_required) =
        (is_set("mutateDigest"), is_set("verifyDigest"), is_set("required"));
    if let Some(fields) = &configuration {
        reader.only(fields, &["mutateDigest", "verifyDigest", "required"]);
    }
    let settings = ImagePolicySettings {
        common,
        mutates_digest,
        verifies_digest,
        is_required,
        globs,
        references,
        extractors: read_named_expressions(reader, &spec, "images"),
        attestors: read_entries(reader, &spec, "attestors", &["cosign", "notary"]),
        attestations: read_entries(reader, &spec, "attestations", &["intoto", "referrer"]),
        credentials: reader.any(&spec, "credentials").map(|found| found.value.clone()).unwrap_or_default(),
    };
    let is_namespaced = crate::text_field(reader.document, "kind").starts_with("Namespaced");
    let namespace = reader.string(&metadata, "namespace").map(|text| text.value);
    let namespace = is_namespaced.then(|| namespace.unwrap_or_else(|| Text::new("default")));
    Some((CelPolicySource { namespace, ..read_common_fields(reader, &metadata, &spec)? }, settings))
}

fn read_image_references<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> (Vec<Text>, Vec<NamedExpression>) {
    let (mut globs, mut expressions) = (Vec::new(), Vec::new());
    for item in reader.objects(spec, "matchImageReferences").unwrap_or_default() {
        reader.only(&item, &["glob", "expression"]);
        globs.extend(reader.string(&item, "glob").map(|text| text.value).filter(|text| !text.is_empty()));
        if let Some(expression) = reader.string(&item, "expression").filter(|text| !text.value.is_empty()) {
            let name = Located { value: "matchImageReferences".into(), path: item.path.clone() };
            expressions.push(NamedExpression { name, expression });
        }
    }
    (globs, expressions)
}

/// Reads a list of entries with names, each of exactly one of `kinds`.
fn read_entries<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    key: &str,
    kinds: &[&str],
) -> Map {
    let mut entries = Map::new();
    for item in reader.objects(spec, key).unwrap_or_default() {
        let known: Vec<&str> = kinds.iter().copied().chain(["name"]).collect();
        reader.only(&item, &known);
        let given = kinds.iter().filter(|kind| reader.any(&item, kind).is_some()).count();
        if given != 1 {
            let location = reader.place(&item.path);
            let names: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
            let message = format!("an entry of `{key}` has exactly one of {}", names.join(" and "));
            reader.report(Diagnostic::new(&code::MISSING_FIELD, message, location));
        }
        let Some(name) = reader.filled(&item, "name") else { continue };
        let whole: Map = item.values().into_iter().map(|(name, value)| (name, value.value)).collect();
        if entries.insert(name.value.clone(), whole.into()).is_some() {
            let message = format!("there are two entries named `{}`", name.value);
            let location = reader.place(&child_path(&item.path, "name"));
            reader.report(Diagnostic::new(&code::DUPLICATE_NAME, message, location));
        }
    }
    entries
}
