//! A Trait or ClusterTrait.

use kubewright_value::Value;

use super::parts::{self, RULE_FIELDS, SCHEMA_FIELDS};
use super::{
    OperationDefinition, PatchDefinition, PathOp, RemovalDefinition, TargetDefinition, TemplateDefinition,
    TraitDefinition, code,
};
use crate::admission;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, article, child_path};

pub(super) fn read_trait(reader: &mut DocumentReader<'_>, is_cluster: bool) -> Option<TraitDefinition> {
    let (metadata, spec) = parts::read_metadata_and_spec(reader)?;
    let known: Vec<&str> =
        SCHEMA_FIELDS.iter().chain(&RULE_FIELDS).chain(&["creates", "patches", "removes"]).copied().collect();
    reader.only(&spec, &known);
    parts::read_renamed_field(reader, &spec, "environmentConfigs", "envOverrides");
    let sections = parts::read_schemas(reader, &spec);
    let before = parts::read_pre_render_validations(reader, &spec);
    let after = parts::read_post_render_validations(reader, &spec);
    let creates = parts::read_templates(reader, &spec, "creates");
    for template in &creates {
        check_template_object(reader, template);
        check_no_workload_created(reader, template);
    }
    let patches = reader.objects(&spec, "patches").unwrap_or_default();
    let patches = patches.iter().filter_map(|fields| read_patch(reader, fields)).collect();
    let removes = reader.objects(&spec, "removes").unwrap_or_default();
    let removes = removes.iter().filter_map(|fields| read_removal(reader, fields)).collect();
    Some(TraitDefinition { metadata, is_cluster, sections, before, after, creates, patches, removes })
}

fn read_patch<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<PatchDefinition> {
    reader.only(fields, &["target", "targetPlane", "forEach", "var", "operations"]);
    let target = parts::read_patch_target(reader, fields);
    let plane = parts::read_plane(reader, fields);
    let each = parts::read_loop(reader, fields);
    let operations = reader.objects(fields, "operations").unwrap_or_default();
    if operations.is_empty() && reader.any(fields, "operations").is_none() {
        reader.missing(fields, "operations");
    }
    let operations = operations.iter().filter_map(|fields| read_operation(reader, fields)).collect();
    Some(PatchDefinition { path: fields.path.clone(), target: target?, plane, each, operations })
}

fn read_operation<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<OperationDefinition> {
    reader.only(fields, &["op", "path", "value"]);
    let path = reader.filled(fields, "path");
    let op = reader.required_string(fields, "op")?;
    let words = [("add", PathOp::Add), ("replace", PathOp::Replace), ("remove", PathOp::Remove)];
    // The original ignores the case of `op`.
    let known = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(&op.value));
    let op = known.map(|(_, op)| *op).or_else(|| reader.one_of(&op, "operation", &words))?;
    let at = child_path(&fields.path, "value");
    let written = reader.document.value.follow(&at).cloned();
    let value = match (op, written) {
        (PathOp::Remove, Some(_)) => {
            parts::report_unread(reader, &at, "`remove` reads no `value`");
            None
        }
        (PathOp::Remove, None) => None,
        // An explicit null is a value; only a missing field is an error.
        (_, Some(value)) => Some(kubewright_dialect_kit::fields::Located { value, path: at }),
        (_, None) => {
            reader.missing(fields, "value");
            Some(kubewright_dialect_kit::fields::Located { value: Value::Null, path: at })
        }
    };
    Some(OperationDefinition { op, path: path?, value })
}

fn read_removal<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<RemovalDefinition> {
    reader.only(fields, &["target", "targetPlane", "forEach", "var"]);
    let target = parts::read_patch_target(reader, fields)?;
    let plane = parts::read_plane(reader, fields);
    let each = parts::read_loop(reader, fields);
    check_no_workload_removed(reader, &target);
    Some(RemovalDefinition { path: fields.path.clone(), target, plane, each })
}

/// Reports a template that is not an object. Missing fields are checked after the patches, which may add them.
fn check_template_object(reader: &mut DocumentReader<'_>, template: &TemplateDefinition) {
    let found = &template.template.value;
    let is_expression = found.as_str().is_some_and(|text| text.contains("${"));
    if found.as_object().is_none() && !is_expression {
        let message = format!("the template is {}, expected an object", article(found.kind()));
        parts::report_problem(reader, &code::BAD_TEMPLATE, &template.template.path, &message, "");
    }
}

fn check_no_workload_created(reader: &mut DocumentReader<'_>, template: &TemplateDefinition) {
    let Some(kind) = template.template.value.get("kind").and_then(Value::as_str) else { return };
    if admission::is_container_kind(kind) {
        let path = child_path(&template.template.path, "kind");
        let message = format!("a trait creates a `{kind}`, which the cluster does not let it");
        let help = "workloads belong to the component type";
        parts::report_problem(reader, &code::TRAIT_MAKES_WORKLOAD, &path, &message, help);
    }
}

fn check_no_workload_removed(reader: &mut DocumentReader<'_>, target: &TargetDefinition) {
    let is_built_in = target.group.as_deref().is_none_or(|group| matches!(group, "apps" | "batch"));
    let Some(kind) = target.kind.as_deref().filter(|kind| is_built_in && admission::is_container_kind(kind))
    else {
        return;
    };
    let message = format!("a trait removes the `{kind}`, which the cluster does not let it");
    parts::report_problem(reader, &code::TRAIT_MAKES_WORKLOAD, &target.path, &message, "");
}
