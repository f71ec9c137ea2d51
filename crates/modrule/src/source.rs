//! A ModRule as it is written, every field with its place.

use kubewright_engine::Diagnostic;
use kubewright_k8s::Operation;
use kubewright_value::{Document, Step, Text};

use super::diagnostics as code;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, FieldCodes, Located, child_path};

/// The document.
pub(super) struct ModRuleSource {
    pub(super) name: Located<Text>,
    pub(super) namespace: Option<Text>,
    pub(super) rule_type: Option<RuleType>,
    pub(super) criteria: Vec<SourceCriterion>,
    pub(super) operations: Vec<SourceOperation>,
    pub(super) reject_message: Option<Located<Text>>,
    pub(super) target_namespace_regex: Option<Located<Text>>,
    pub(super) admission_operations: Vec<Operation>,
    pub(super) tier: i32,
}

/// The type of the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleType {
    Patch,
    Reject,
}

/// One item of `match`.
pub(super) struct SourceCriterion {
    pub(super) select: Located<Text>,
    pub(super) match_value: Option<Located<Text>>,
    pub(super) match_values: Vec<Located<Text>>,
    pub(super) match_regex: Option<Located<Text>>,
    pub(super) match_for: MatchFor,
    pub(super) is_negated: bool,
}

/// Whether one selected value is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum MatchFor {
    /// One is enough.
    Any,
    /// All must pass.
    All,
}

/// One item of `patch`.
pub(super) struct SourceOperation {
    pub(super) path_in_rule: Vec<Step>,
    pub(super) op: OperationType,
    pub(super) select: Option<Located<Text>>,
    pub(super) path: Located<Text>,
    pub(super) value: Option<Located<Text>>,
}

/// The type of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationType {
    Add,
    Replace,
    Remove,
}

impl OperationType {
    /// Returns the word for it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Replace => "replace",
            Self::Remove => "remove",
        }
    }
}

/// The diagnostics that any field can have.
pub(super) const FIELD_CODES: FieldCodes = FieldCodes {
    unknown: &code::UNKNOWN_FIELD,
    wrong_type: &code::WRONG_TYPE,
    missing: &code::MISSING_FIELD,
    unquoted: &code::UNQUOTED_TEXT,
    unknown_value: &code::UNKNOWN_VALUE,
};

/// Reads `document`; unreadable parts are reported and left out.
pub(super) fn read_modrule(document: &Document) -> (Option<ModRuleSource>, Vec<Diagnostic>) {
    DocumentReader::read(document, FIELD_CODES, read_modrule_fields)
}

fn read_modrule_fields<'d>(reader: &mut DocumentReader<'d>) -> Option<ModRuleSource> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    let name = reader.required_string(&metadata, "name");
    let namespace =
        reader.string(&metadata, "namespace").map(|namespace| namespace.value).filter(|n| !n.is_empty());
    reader.only(
        &spec,
        &[
            "type",
            "match",
            "matches",
            "patch",
            "rejectMessage",
            "targetNamespaceRegex",
            "admissionOperations",
            "executionTier",
        ],
    );
    let source = ModRuleSource {
        rule_type: read_rule_type(reader, &spec),
        criteria: read_criteria(reader, &spec),
        operations: read_patch_operations(reader, &spec),
        reject_message: reader.string(&spec, "rejectMessage"),
        target_namespace_regex: reader.string(&spec, "targetNamespaceRegex"),
        admission_operations: read_admission_operations(reader, &spec),
        tier: read_tier(reader, &spec),
        name: name?,
        namespace,
    };
    report_misplaced_fields(reader, &spec, &source);
    Some(source)
}

fn read_rule_type<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> Option<RuleType> {
    let text = reader.required_string(spec, "type")?;
    match text.value.as_str() {
        "Patch" => Some(RuleType::Patch),
        "Reject" => Some(RuleType::Reject),
        other => {
            report_unknown_value(
                reader,
                &text.path,
                &format!("unknown type `{other}`"),
                &["Patch", "Reject"],
            );
            None
        }
    }
}

fn read_criteria<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> Vec<SourceCriterion> {
    let key = match (reader.any(spec, "match"), reader.any(spec, "matches")) {
        (None, Some(found)) => {
            let location = reader.document.locate_key(&found.path);
            reader.report(
                Diagnostic::new(&code::MATCHES_SPELLING, "`matches` is read as `match`", location).help(
                    "write `match`: where KubeMod's own schema is installed, `matches` is dropped and the rule has no criteria",
                ),
            );
            "matches"
        }
        (Some(_), Some(found)) => {
            let location = reader.document.locate_key(&found.path);
            reader.report(
                Diagnostic::new(&code::UNKNOWN_FIELD, "`matches` beside `match`", location)
                    .help("keep only `match`"),
            );
            "match"
        }
        _ => "match",
    };
    let Some(items) = reader.objects(spec, key) else {
        if reader.any(spec, key).is_none() {
            reader.missing(spec, "match");
        }
        return Vec::new();
    };
    if items.is_empty() {
        let location = reader.document.locate_key(&child_path(&spec.path, key));
        reader.report(
            Diagnostic::new(&code::MISSING_FIELD, "`match` has no criteria", location)
                .help("a rule without criteria would match every object; name at least a kind"),
        );
    }
    items.iter().filter_map(|item| read_criterion(reader, item)).collect()
}

/// Reads one criterion.
pub(super) fn read_criterion<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<SourceCriterion> {
    reader.only(item, &["select", "matchValue", "matchValues", "matchRegex", "matchFor", "negate"]);
    let match_for = match reader.string(item, "matchFor") {
        None => MatchFor::Any,
        Some(text) => match text.value.as_str() {
            "" | "Any" => MatchFor::Any,
            "All" => MatchFor::All,
            other => {
                report_unknown_value(
                    reader,
                    &text.path,
                    &format!("unknown matchFor `{other}`"),
                    &["Any", "All"],
                );
                MatchFor::All
            }
        },
    };
    let match_value = reader.string(item, "matchValue");
    let match_values = reader.strings(item, "matchValues").unwrap_or_default();
    let match_regex = reader.string(item, "matchRegex");
    let is_negated = reader.boolean(item, "negate").unwrap_or(false);
    let select = reader.required_string(item, "select")?;
    Some(SourceCriterion { select, match_value, match_values, match_regex, match_for, is_negated })
}

fn read_patch_operations<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Vec<SourceOperation> {
    let items = reader.objects(spec, "patch").unwrap_or_default();
    items.iter().filter_map(|item| read_patch_operation(reader, item)).collect()
}

fn read_patch_operation<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<SourceOperation> {
    reader.only(item, &["op", "select", "path", "value"]);
    let select = reader.string(item, "select");
    let value = reader.string(item, "value");
    let path = reader.required_string(item, "path");
    let op = reader.required_string(item, "op")?;
    let op = match op.value.as_str() {
        "add" => OperationType::Add,
        "replace" => OperationType::Replace,
        "remove" => OperationType::Remove,
        other => {
            report_unknown_value(
                reader,
                &op.path,
                &format!("unknown operation `{other}`"),
                &["add", "replace", "remove"],
            );
            return None;
        }
    };
    Some(SourceOperation { path_in_rule: item.path.clone(), op, select, path: path?, value })
}

fn read_admission_operations<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Vec<Operation> {
    let mut operations = Vec::new();
    for text in reader.strings(spec, "admissionOperations").unwrap_or_default() {
        match Operation::named(&text.value) {
            Some(operation) if operation != Operation::Connect => operations.push(operation),
            _ => {
                let message = format!("unknown admission operation `{}`", text.value);
                report_unknown_value(reader, &text.path, &message, &["CREATE", "UPDATE", "DELETE"]);
            }
        }
    }
    if operations.is_empty() { vec![Operation::Create, Operation::Update] } else { operations }
}

/// The two ends of the 16-bit range are KubeMod's own markers, so a rule cannot have them.
const TIER_RANGE: std::ops::RangeInclusive<i64> = -32767..=32766;

fn read_tier<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> i32 {
    let Some(found) = reader.any(spec, "executionTier") else { return 0 };
    match found.value.as_i64().filter(|tier| TIER_RANGE.contains(tier)) {
        Some(tier) => i32::try_from(tier).unwrap_or_default(),
        None => {
            let message = format!(
                "executionTier {} is not an integer from {} to {}",
                found.value,
                TIER_RANGE.start(),
                TIER_RANGE.end()
            );
            let location = reader.place(&found.path);
            reader.report(Diagnostic::new(&code::TIER_RANGE, message, location));
            0
        }
    }
}

/// Reports fields that do not belong to a rule of this type.
fn report_misplaced_fields<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    source: &ModRuleSource,
) {
    match source.rule_type {
        Some(RuleType::Patch) => {
            if reader.any(spec, "patch").and_then(|patch| patch.value.as_array()).is_none_or(<[_]>::is_empty)
            {
                reader.missing(spec, "patch");
            }
            if let Some(message) = &source.reject_message {
                let location = reader.document.locate_key(&message.path);
                reader.report(Diagnostic::new(
                    &code::NOT_FOR_TYPE,
                    "`rejectMessage` belongs to rules of type Reject",
                    location,
                ));
            }
        }
        Some(RuleType::Reject) => {
            if let Some(patch) = reader
                .any(spec, "patch")
                .filter(|patch| patch.value.as_array().is_none_or(|items| !items.is_empty()))
            {
                let location = reader.document.locate_key(&patch.path);
                reader.report(Diagnostic::new(
                    &code::NOT_FOR_TYPE,
                    "`patch` belongs to rules of type Patch",
                    location,
                ));
            }
        }
        None => {}
    }
}

fn report_unknown_value(reader: &mut DocumentReader<'_>, path: &[Step], message: &str, known: &[&str]) {
    let location = reader.place(path);
    let list = known.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    reader
        .report(Diagnostic::new(&code::UNKNOWN_VALUE, message, location).help(format!("use one of {list}")));
}
