//! A Trait or ClusterTrait.

use kubewright_value::Value;

use super::parts::{self, RULE_FIELDS, SCHEMA_FIELDS};
use super::{Operation, Patch, PathOp, Removal, Target, Template, Trait, code};
use crate::admission;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, article, child_path};

pub(super) fn read(reader: &mut DocumentReader<'_>, is_cluster: bool) -> Option<Trait> {
    let (metadata, spec) = parts::heads(reader)?;
    let known: Vec<&str> =
        SCHEMA_FIELDS.iter().chain(&RULE_FIELDS).chain(&["creates", "patches", "removes"]).copied().collect();
    reader.only(&spec, &known);
    parts::renamed(reader, &spec, "environmentConfigs", "envOverrides");
    let sections = parts::schemas(reader, &spec);
    let before = parts::rules_before(reader, &spec);
    let after = parts::rules_after(reader, &spec);
    let creates = parts::templates(reader, &spec, "creates");
    for template in &creates {
        no_object(reader, template);
        workload_made(reader, template);
    }
    let patches = reader.objects(&spec, "patches").unwrap_or_default();
    let patches = patches.iter().filter_map(|fields| patch(reader, fields)).collect();
    let removes = reader.objects(&spec, "removes").unwrap_or_default();
    let removes = removes.iter().filter_map(|fields| removal(reader, fields)).collect();
    Some(Trait { metadata, is_cluster, sections, before, after, creates, patches, removes })
}

fn patch<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<Patch> {
    reader.only(fields, &["target", "targetPlane", "forEach", "var", "operations"]);
    let target = parts::target(reader, fields);
    let plane = parts::plane(reader, fields);
    let each = parts::each(reader, fields);
    let operations = reader.objects(fields, "operations").unwrap_or_default();
    if operations.is_empty() && reader.any(fields, "operations").is_none() {
        reader.missing(fields, "operations");
    }
    let operations = operations.iter().filter_map(|fields| operation(reader, fields)).collect();
    Some(Patch { path: fields.path.clone(), target: target?, plane, each, operations })
}

fn operation<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<Operation> {
    reader.only(fields, &["op", "path", "value"]);
    let path = reader.filled(fields, "path");
    let op = reader.required_string(fields, "op")?;
    let words = [("add", PathOp::Add), ("replace", PathOp::Replace), ("remove", PathOp::Remove)];
    // The original's engine takes any case.
    let known = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(&op.value));
    let op = known.map(|(_, op)| *op).or_else(|| reader.one_of(&op, "operation", &words))?;
    let at = child_path(&fields.path, "value");
    let written = reader.document.value.follow(&at).cloned();
    let value = match (op, written) {
        (PathOp::Remove, Some(_)) => {
            parts::unread(reader, &at, "`remove` reads no `value`");
            None
        }
        (PathOp::Remove, None) => None,
        // null is a value like any other, and must be written to be meant.
        (_, Some(value)) => Some(kubewright_dialect_kit::fields::Located { value, path: at }),
        (_, None) => {
            reader.missing(fields, "value");
            Some(kubewright_dialect_kit::fields::Located { value: Value::Null, path: at })
        }
    };
    Some(Operation { op, path: path?, value })
}

fn removal<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<Removal> {
    reader.only(fields, &["target", "targetPlane", "forEach", "var"]);
    let target = parts::target(reader, fields)?;
    let plane = parts::plane(reader, fields);
    let each = parts::each(reader, fields);
    workload_removed(reader, &target);
    Some(Removal { path: fields.path.clone(), target, plane, each })
}

/// Reports a template that can never be a manifest. Whether an object is one is seen when patches are through.
fn no_object(reader: &mut DocumentReader<'_>, template: &Template) {
    let found = &template.template.value;
    let is_expression = found.as_str().is_some_and(|text| text.contains("${"));
    if found.as_object().is_none() && !is_expression {
        let message = format!("the template is {}, expected an object", article(found.kind()));
        parts::report(reader, &code::BAD_TEMPLATE, &template.template.path, &message, "");
    }
}

fn workload_made(reader: &mut DocumentReader<'_>, template: &Template) {
    let Some(kind) = template.template.value.get("kind").and_then(Value::as_str) else { return };
    if admission::is_workload(kind) {
        let path = child_path(&template.template.path, "kind");
        let message = format!("a trait creates a `{kind}`, which the cluster does not let it");
        let help = "workloads belong to the component type";
        parts::report(reader, &code::TRAIT_MAKES_WORKLOAD, &path, &message, help);
    }
}

fn workload_removed(reader: &mut DocumentReader<'_>, target: &Target) {
    let is_built_in = target.group.as_deref().is_none_or(|group| matches!(group, "apps" | "batch"));
    let Some(kind) = target.kind.as_deref().filter(|kind| is_built_in && admission::is_workload(kind)) else {
        return;
    };
    let message = format!("a trait removes the `{kind}`, which the cluster does not let it");
    parts::report(reader, &code::TRAIT_MAKES_WORKLOAD, &target.path, &message, "");
}
