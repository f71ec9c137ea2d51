//! ValidatingAdmissionPolicy and ValidatingAdmissionPolicyBinding.

use std::collections::HashSet;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Text};

use super::{Actions, Binding, FIELD_CODES, Policy, code, constraints};
use kubewright_cel_rules::source::{annotations, named, param_kind, param_ref, validations};
use kubewright_dialect_kit::fields::{Fields, Placed, Reader};

/// Reads a policy; what cannot be read is reported.
pub(in super::super) fn read(document: &Document) -> (Option<Policy>, Vec<Diagnostic>) {
    let mut reader = Reader::new(document, FIELD_CODES);
    let policy = policy(&mut reader);
    (policy, reader.diagnostics)
}

fn policy(reader: &mut Reader<'_>) -> Option<Policy> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(
        &spec,
        &[
            "paramKind",
            "matchConstraints",
            "validations",
            "failurePolicy",
            "auditAnnotations",
            "matchConditions",
            "variables",
        ],
    );
    let param_kind = param_kind(reader, &spec);
    Some(Policy { param_kind, ..common(reader, &metadata, &spec)? })
}

/// Reads what all policies have.
pub(super) fn common<'d>(
    reader: &mut Reader<'d>,
    metadata: &Fields<'d>,
    spec: &Fields<'d>,
) -> Option<Policy> {
    let is_fail_closed = reader
        .string(spec, "failurePolicy")
        .and_then(|text| reader.one_of(&text, "failurePolicy", &[("Fail", true), ("Ignore", false)]));
    let about = reader.texts(metadata, "annotations").unwrap_or_default();
    let annotation = |name: &str| -> Text {
        let found = about.iter().find(|(key, _)| key.strip_prefix("policies.kyverno.io/") == Some(name));
        found.map(|(_, text)| text.value.clone()).unwrap_or_default()
    };
    let policy = Policy {
        namespace: None,
        severity: annotation("severity"),
        category: annotation("category"),
        is_scored: annotation("scored") != "false",
        constraints: constraints::read(reader, spec, "matchConstraints"),
        conditions: named(reader, spec, "matchConditions"),
        variables: named(reader, spec, "variables"),
        validations: validations(reader, spec, "validations"),
        annotations: annotations(reader, spec),
        is_fail_closed: is_fail_closed.unwrap_or(true),
        param_kind: None,
        path: spec.path.clone(),
        name: Placed { value: Text::default(), path: Vec::new() },
    };
    Some(Policy { name: reader.filled(metadata, "name")?, ..policy })
}

/// Reads a binding; what cannot be read is reported.
pub(in super::super) fn read_binding(document: &Document) -> (Option<Binding>, Vec<Diagnostic>) {
    let mut reader = Reader::new(document, FIELD_CODES);
    let binding = binding(&mut reader);
    (binding, reader.diagnostics)
}

fn binding(reader: &mut Reader<'_>) -> Option<Binding> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    reader.only(&spec, &["policyName", "paramRef", "matchResources", "validationActions"]);
    let params = param_ref(reader, &spec);
    let constraints = constraints::read(reader, &spec, "matchResources");
    let actions = actions(reader, &spec);
    match actions {
        Some(Actions { denies: true, warns: true }) => {
            let message = "`Deny` and `Warn` say the same twice".to_owned();
            let help = "keep one of them; the API server does not take both";
            let location = reader.document.locate_key(&["spec".into(), "validationActions".into()]);
            reader.report(Diagnostic::new(&code::BAD_ACTIONS, message, location).help(help));
        }
        Some(_) => {}
        None => no_actions(reader, &spec),
    }
    let name = reader.filled(&metadata, "name")?.value;
    let policy = reader.filled(&spec, "policyName")?;
    Some(Binding { name, policy, constraints, params, actions: actions.unwrap_or_default() })
}

/// Kyverno's command line takes such bindings, and so do the tests that people have for it.
fn no_actions<'d>(reader: &mut Reader<'d>, spec: &Fields<'d>) {
    let location = match reader.any(spec, "validationActions") {
        Some(empty) => reader.document.locate_key(&empty.path),
        None => reader.document.locate_key(&spec.path),
    };
    let message = "the binding has no `validationActions`, and the API server does not take it";
    let help = "add `validationActions: [Deny]`; without it a violation is reported and refuses nothing";
    reader.report(Diagnostic::new(&code::NO_ACTIONS, message, location).help(help));
}

/// Reads `validationActions`; nothing where there are none.
pub(super) fn actions<'d>(reader: &mut Reader<'d>, spec: &Fields<'d>) -> Option<Actions> {
    let texts = reader.strings(spec, "validationActions")?;
    let (deny, warn) = (Actions { denies: true, warns: false }, Actions { denies: false, warns: true });
    let words = [("Deny", deny), ("Warn", warn), ("Audit", Actions::default())];
    let found: Vec<Actions> =
        texts.iter().filter_map(|text| reader.one_of(text, "validation action", &words)).collect();
    let mut known = HashSet::new();
    if let Some(text) = texts.iter().find(|text| !known.insert(&text.value)) {
        let message = format!("`{}` is there twice", text.value);
        let location = reader.place(&text.path);
        reader.report(Diagnostic::new(&code::BAD_ACTIONS, message, location).help("leave out one"));
    }
    (!texts.is_empty()).then(|| Actions {
        denies: found.iter().any(|one| one.denies),
        warns: found.iter().any(|one| one.warns),
    })
}
