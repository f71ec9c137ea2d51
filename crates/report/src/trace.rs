//! Traces as JSON, in the form that `docs/trace.schema.json` describes.

mod leader;
pub mod patterns;

use kubewright_engine::{RuleStatus, TraceNode};
use kubewright_value::{Map, Value};

use crate::render::location_values;
use crate::{ObjectRow, OutcomeRow};

pub use leader::{LeaderReport, candidacy_nodes};

/// Returns the trace of one rule on one object.
#[must_use]
pub fn outcome_trace(row: &OutcomeRow, object: &ObjectRow) -> Value {
    let children = row.trace.as_ref().map(|trace| trace.children.as_slice()).unwrap_or_default();
    let mut item = rule_trace_head(&row.rule.to_string(), object);
    item.insert("inScope".into(), true.into());
    item.insert("status".into(), row.status.name().into());
    item.insert("message".into(), row.message.as_str().into());
    item.insert("path".into(), row.path.as_str().into());
    item.insert("pathLine".into(), u64::from(row.position.line).into());
    let (file, line, column) = location_values(row.rule_location.as_ref());
    item.insert("ruleFile".into(), file);
    item.insert("ruleLine".into(), line);
    item.insert("ruleColumn".into(), column);
    item.insert("trace".into(), children.iter().map(node_value).collect::<Vec<_>>().into());
    item.into()
}

/// Returns the item of a rule whose scope leaves out the object, and why it does.
#[must_use]
pub fn out_of_scope_trace(rule: &str, reason: &str, object: &ObjectRow) -> Value {
    let mut item = rule_trace_head(rule, object);
    item.insert("inScope".into(), false.into());
    item.insert("status".into(), RuleStatus::Skip.name().into());
    item.insert("message".into(), reason.into());
    item.insert("trace".into(), Value::array(Vec::new()));
    item.into()
}

fn rule_trace_head(rule: &str, object: &ObjectRow) -> Map {
    Map::from([
        ("rule", Value::from(rule)),
        ("file", object.location.file.clone().into()),
        ("line", u64::from(object.location.position.line).into()),
        ("kind", object.kind.clone().into()),
        ("namespace", object.namespace.clone().into()),
        ("name", object.name.clone().into()),
    ])
}

/// Returns one node of a trace and all below it.
#[must_use]
pub fn node_value(node: &TraceNode) -> Value {
    let (file, line, column) = location_values(node.location.as_ref());
    let (object_file, object_line, object_column) = location_values(node.subject_location.as_ref());
    Map::from([
        ("what", Value::from(node.what.as_str())),
        ("found", node.found.as_str().into()),
        ("wanted", node.wanted.as_str().into()),
        ("verdict", node.verdict.name().into()),
        ("ruleFile", file),
        ("ruleLine", line),
        ("ruleColumn", column),
        ("objectFile", object_file),
        ("objectLine", object_line),
        ("objectColumn", object_column),
        ("help", node.help.as_str().into()),
        ("children", node.children.iter().map(node_value).collect::<Vec<_>>().into()),
    ])
    .into()
}
