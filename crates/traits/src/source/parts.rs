//! Readers of fields that several kinds share: metadata, schemas, rules, templates, targets, loops.

use kubewright_engine::{Code, Diagnostic, DiagnosticLevel};
use kubewright_value::{Position, Step, Text, Value};

use super::code;
use super::{
    ComponentOwner, LoopDefinition, Metadata, Plane, PostRenderValidation, PreRenderValidation,
    TargetDefinition, TemplateDefinition,
};
use crate::schema::{Sections, read_sections};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path, locate_within};

/// The fields of `spec` that declare parameters, in any shape.
pub(super) const SCHEMA_FIELDS: [&str; 4] = ["schema", "parameters", "environmentConfigs", "envOverrides"];
/// The fields of `spec` that hold rules.
pub(super) const RULE_FIELDS: [&str; 3] = ["validations", "preRenderValidations", "postRenderValidations"];

/// Returns the metadata and the spec. A missing name is reported and read as empty.
pub(super) fn read_metadata_and_spec<'d>(
    reader: &mut DocumentReader<'d>,
) -> Option<(Metadata, DocumentFields<'d>)> {
    let (metadata, spec) = reader.metadata_and_spec()?;
    let name = reader.filled(&metadata, "name").map(|name| name.value).unwrap_or_default();
    // The labels are not used, but they must be texts.
    reader.pairs(&metadata, "labels");
    let metadata = Metadata {
        name,
        namespace: read_plain_text(reader, &metadata, "namespace"),
        uid: read_plain_text(reader, &metadata, "uid"),
        annotations: reader.pairs(&metadata, "annotations"),
    };
    Some((metadata, spec))
}

/// Returns a text without its place; an empty one counts as missing.
pub(super) fn read_plain_text<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<Text> {
    reader.string(fields, key).map(|text| text.value).filter(|text| !text.is_empty())
}

/// Returns a value of any shape.
pub(super) fn read_raw_value<'d>(
    reader: &DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<Located<Value>> {
    reader.any(fields, key).map(|found| Located { value: found.value.clone(), path: found.path })
}

/// Returns the value under `key`, or under the name that the field had before, with a warning.
pub(super) fn read_renamed_field<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &'static str,
    old: &'static str,
) -> &'static str {
    if reader.any(fields, key).is_some() || reader.any(fields, old).is_none() {
        return key;
    }
    let location = reader.document.locate_key(&child_path(&fields.path, old));
    let message = format!("`{old}` is called `{key}` now");
    reader.report(Diagnostic::new(&code::OLD_NAME, message, location).help(format!("write `{key}`")));
    old
}

/// Returns the schemas of the document, with a diagnostic for every mistake in them.
pub(super) fn read_schemas(reader: &mut DocumentReader<'_>, spec: &DocumentFields<'_>) -> Sections {
    let Some(value) = reader.document.value.follow(&spec.path) else { return Sections::default() };
    let (sections, problems) = read_sections(value);
    for problem in problems {
        let mut path = spec.path.clone();
        path.extend(problem.path);
        let location = match problem.span {
            Some(span) => locate_within(reader.document, &path, span.position, span.length),
            None => reader.place(&path),
        };
        let code = match problem.severity {
            DiagnosticLevel::Error => &code::BAD_SCHEMA,
            DiagnosticLevel::Warning | DiagnosticLevel::Hint => &code::DOUBTFUL_SCHEMA,
        };
        reader.report(Diagnostic::new(code, problem.message, location).help(problem.help));
    }
    sections
}

pub(super) fn read_owner<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>) -> ComponentOwner {
    let Some(owner) = reader.object(spec, "owner") else { return ComponentOwner::default() };
    reader.only(&owner, &["projectName", "componentName"]);
    ComponentOwner {
        project: read_plain_text(reader, &owner, "projectName"),
        component: read_plain_text(reader, &owner, "componentName"),
    }
}

/// Returns `preRenderValidations`, under either of its names.
pub(super) fn read_pre_render_validations<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Vec<PreRenderValidation> {
    let (new, old) = ("preRenderValidations", "validations");
    if reader.any(spec, new).is_some() && reader.any(spec, old).is_some() {
        let location = reader.document.locate_key(&child_path(&spec.path, old));
        let message = format!("`{old}` and `{new}` are both set, and they are the same field");
        let help = format!("move its rules to `{new}`");
        reader.report(Diagnostic::new(&code::TWO_VALIDATIONS, message, location).help(help));
    }
    let mut rules = Vec::new();
    for key in [new, old] {
        for fields in reader.objects(spec, key).unwrap_or_default() {
            reader.only(&fields, &["rule", "message"]);
            let (rule, message) = (reader.filled(&fields, "rule"), read_message(reader, &fields));
            let Some(rule) = rule else { continue };
            check_whole_expression(reader, &rule, "rule");
            rules.push(PreRenderValidation { rule, message });
        }
    }
    rules
}

/// Returns `postRenderValidations`.
pub(super) fn read_post_render_validations<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> Vec<PostRenderValidation> {
    let mut assertions = Vec::new();
    for fields in reader.objects(spec, "postRenderValidations").unwrap_or_default() {
        reader.only(&fields, &["when", "forEach", "var", "target", "targetPlane", "rule", "message"]);
        let when = read_expression(reader, &fields, "when");
        let each = read_loop(reader, &fields);
        let plane = read_plane(reader, &fields);
        let rule = reader.filled(&fields, "rule");
        let message = read_message(reader, &fields);
        let target = reader.required_object(&fields, "target");
        let (Some(rule), Some(target)) = (rule, target) else { continue };
        check_whole_expression(reader, &rule, "rule");
        let must_match = reader.boolean(&target, "mustMatch").unwrap_or(true);
        let target = read_target_fields(reader, &target, &["mustMatch"]);
        assertions.push(PostRenderValidation { when, each, target, plane, must_match, rule, message });
    }
    assertions
}

fn read_message<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Text {
    reader.required_string(fields, "message").map(|message| message.value).unwrap_or_default()
}

/// Returns the templates in `creates` or `resources`.
pub(super) fn read_templates<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    key: &str,
) -> Vec<TemplateDefinition> {
    let mut templates = Vec::new();
    for fields in reader.objects(spec, key).unwrap_or_default() {
        reader.only(&fields, &["id", "targetPlane", "includeWhen", "forEach", "var", "template"]);
        let id = read_plain_text(reader, &fields, "id");
        let plane = read_plane(reader, &fields);
        let include_when = read_expression(reader, &fields, "includeWhen");
        let each = read_loop(reader, &fields);
        let Some(template) = read_raw_value(reader, &fields, "template") else {
            reader.missing(&fields, "template");
            continue;
        };
        templates.push(TemplateDefinition { path: fields.path, id, plane, include_when, each, template });
    }
    templates
}

/// Returns the target of a patch or removal.
pub(super) fn read_patch_target<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<TargetDefinition> {
    let target = reader.required_object(fields, "target")?;
    Some(read_target_fields(reader, &target, &[]))
}

fn read_target_fields<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    more: &[&str],
) -> TargetDefinition {
    let mut known = vec!["kind", "group", "version", "name", "where"];
    known.extend(more);
    reader.only(fields, &known);
    let text = |reader: &mut DocumentReader<'d>, key| reader.string(fields, key).map(|text| text.value);
    let target = TargetDefinition {
        path: fields.path.clone(),
        kind: text(reader, "kind").filter(|kind| !kind.is_empty()),
        group: text(reader, "group"),
        version: text(reader, "version").filter(|version| !version.is_empty()),
        name: reader.string(fields, "name").filter(|name| !name.value.is_empty()),
        condition: read_expression(reader, fields, "where"),
    };
    if target.kind.is_none() {
        let message = "the target has no `kind`, so it would match everything";
        report_problem(
            reader,
            &code::MISSING_FIELD,
            &target.path,
            message,
            "set the kind of the resources to match",
        );
    }
    let parts = [("group", &target.group), ("version", &target.version)];
    let missing: Vec<String> =
        parts.iter().filter(|(_, part)| part.is_none()).map(|(name, _)| format!("`{name}`")).collect();
    if !missing.is_empty() {
        let message = format!("the target has no {}, so any fits", missing.join(" and no "));
        let location = reader.document.locate_key(&fields.path);
        let help = "the cluster wants `kind`, `group` and `version`; write `group: \"\"` for core resources such as Service";
        reader.report(Diagnostic::new(&code::WIDE_TARGET, message, location).help(help));
    }
    target
}

/// Returns the plane; the data plane by default.
pub(super) fn read_plane<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Plane {
    let words = [("dataplane", Plane::Data), ("observabilityplane", Plane::Observability)];
    let Some(found) = reader.string(fields, "targetPlane").filter(|plane| !plane.value.is_empty()) else {
        return Plane::Data;
    };
    reader.one_of(&found, "plane", &words).unwrap_or_default()
}

/// Returns `forEach` and its variable, `item` by default.
pub(super) fn read_loop<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<LoopDefinition> {
    let over = read_expression(reader, fields, "forEach");
    let variable = reader.string(fields, "var").filter(|variable| !variable.value.is_empty());
    match (over, variable) {
        (Some(over), Some(variable)) => {
            if !is_loop_variable_name(&variable.value) {
                let location = reader.place(&variable.path);
                let message = format!("`{}` is not a valid variable name", variable.value);
                let help = "use letters, digits and `_`, and no digit first";
                reader.report(Diagnostic::new(&code::BAD_VARIABLE, message, location).help(help));
            }
            Some(LoopDefinition { over, variable: variable.value })
        }
        (Some(over), None) => {
            let location = reader.document.locate_key(&over.path);
            let message = "`forEach` without `var`: the variable is `item`";
            let help = "write `var: item`; the cluster wants it";
            reader.report(Diagnostic::new(&code::NO_VARIABLE, message, location).help(help));
            Some(LoopDefinition { over, variable: "item".into() })
        }
        (None, Some(variable)) => {
            let path = variable.path;
            report_unread(reader, &path, "`var` without `forEach` names nothing");
            None
        }
        (None, None) => None,
    }
}

/// Returns a field that is one expression; an empty text counts as missing.
pub(super) fn read_expression<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<Located<Text>> {
    let found = reader.string(fields, key).filter(|text| !text.value.trim().is_empty())?;
    check_whole_expression(reader, &found, key);
    Some(found)
}

/// Reports a text that is not one `${…}` as a whole.
fn check_whole_expression(reader: &mut DocumentReader<'_>, found: &Located<Text>, key: &str) {
    let text = found.value.trim();
    if text.starts_with("${") && text.ends_with('}') {
        return;
    }
    let location = locate_within(reader.document, &found.path, Position::START, 1);
    let message = format!("`{key}` must be wrapped in `${{…}}`");
    let help = format!("write `${{{}}}`", text.trim_start_matches("${").trim_end_matches('}'));
    reader.report(Diagnostic::new(&code::NOT_AN_EXPRESSION, message, location).help(help));
}

pub(super) fn report_unread(reader: &mut DocumentReader<'_>, path: &[Step], message: &str) {
    report_problem(reader, &code::VALUE_NOT_READ, path, message, "");
}

pub(super) fn report_problem(
    reader: &mut DocumentReader<'_>,
    code: &'static Code,
    path: &[Step],
    message: &str,
    help: &str,
) {
    let location = reader.document.locate_key(path);
    reader.report(Diagnostic::new(code, message, location).help(help));
}

fn is_loop_variable_name(text: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_start) && text.chars().all(|c| is_start(c) || c.is_ascii_digit())
}
