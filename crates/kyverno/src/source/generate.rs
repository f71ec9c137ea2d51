//! Reads `generate`: the objects that a rule makes, and what becomes of them.

use kubewright_engine::Diagnostic;
use kubewright_value::{Step, Text, Value};

use super::super::diagnostics as code;
use super::{ContextEntry, context, owned_value, rule};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};

/// `generate`
#[derive(Debug, Clone)]
pub struct GenerateSource {
    /// The path in the document.
    pub path: Vec<Step>,
    /// `synchronize`
    pub synchronizes: bool,
    /// `orphanDownstreamOnPolicyDelete`
    pub orphans_downstream: bool,
    /// `generateExisting`, which overrides that of the policy.
    pub generates_existing: Option<bool>,
    /// What is made: one for the rule, or one for each loop.
    pub downstreams: Vec<DownstreamSource>,
}

/// Objects that a rule makes, once or for each element of a list.
#[derive(Debug, Clone)]
pub struct DownstreamSource {
    /// The path in the document.
    pub path: Vec<Step>,
    /// The loop it is made in.
    pub each: Option<GenerateLoop>,
    /// `apiVersion`
    pub api_version: Option<Located<Text>>,
    /// `kind`
    pub kind: Option<Located<Text>>,
    /// `name`
    pub name: Option<Located<Text>>,
    /// `namespace`
    pub namespace: Option<Located<Text>>,
    /// Where the content comes from.
    pub content: DownstreamContent,
}

/// An entry of `foreach`.
#[derive(Debug, Clone)]
pub struct GenerateLoop {
    /// JMESPath, without braces.
    pub list: Located<Text>,
    /// `context`
    pub context: Vec<ContextEntry>,
    /// `preconditions`, as it is written.
    pub preconditions: Option<Located<Value>>,
}

/// Where the content of a downstream comes from. Values have variables in them.
#[derive(Debug, Clone)]
pub enum DownstreamContent {
    /// There is none besides the name.
    Nothing,
    /// `data`
    Data(Located<Value>),
    /// `clone`
    Clone {
        /// The path in the document.
        path: Vec<Step>,
        /// `name`
        name: Option<Located<Text>>,
        /// `namespace`
        namespace: Option<Located<Text>>,
    },
    /// `cloneList`
    CloneList {
        /// The path in the document.
        path: Vec<Step>,
        /// `kinds`, such as `v1/Secret`.
        kinds: Vec<Located<Text>>,
        /// `namespace`
        namespace: Option<Located<Text>>,
        /// `selector`, as it is written.
        selector: Option<Located<Value>>,
    },
}

/// The fields of what is made, which variables are put into.
pub(crate) const DOWNSTREAM_FIELDS: [&str; 8] =
    ["apiVersion", "kind", "name", "namespace", "uid", "data", "clone", "cloneList"];

const GENERATE_FIELDS: [&str; 4] =
    ["synchronize", "orphanDownstreamOnPolicyDelete", "generateExisting", "foreach"];

const LOOP_FIELDS: [&str; 3] = ["list", "context", "preconditions"];

const CONTENTS: [&str; 4] = ["data", "clone", "cloneList", "foreach"];

/// Reads `generate`.
pub(super) fn read_generate<'d>(
    reader: &mut DocumentReader<'d>,
    rule: &DocumentFields<'d>,
) -> Option<GenerateSource> {
    let fields = reader.object(rule, "generate")?;
    let known: Vec<&str> = DOWNSTREAM_FIELDS.into_iter().chain(GENERATE_FIELDS).collect();
    reader.only(&fields, &known);
    let loops = reader.objects(&fields, "foreach").unwrap_or_default();
    report_several_contents(reader, &fields);
    let downstreams = match loops.is_empty() {
        true => vec![read_downstream(reader, &fields, None)],
        false => loops.iter().filter_map(|one| read_loop(reader, one)).collect(),
    };
    Some(GenerateSource {
        synchronizes: reader.boolean(&fields, "synchronize").unwrap_or(false),
        orphans_downstream: reader.boolean(&fields, "orphanDownstreamOnPolicyDelete").unwrap_or(false),
        generates_existing: reader.boolean(&fields, "generateExisting"),
        path: fields.path,
        downstreams,
    })
}

fn read_loop<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<DownstreamSource> {
    let known: Vec<&str> = DOWNSTREAM_FIELDS.into_iter().chain(LOOP_FIELDS).collect();
    reader.only(fields, &known);
    report_several_contents(reader, fields);
    let context = context::read_context(reader, fields);
    let preconditions = rule::read_conditions(reader, fields, "preconditions");
    let list = reader.required_string(fields, "list")?;
    Some(read_downstream(reader, fields, Some(GenerateLoop { list, context, preconditions })))
}

fn read_downstream<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    each: Option<GenerateLoop>,
) -> DownstreamSource {
    DownstreamSource {
        path: fields.path.clone(),
        each,
        api_version: reader.string(fields, "apiVersion"),
        kind: reader.string(fields, "kind"),
        name: reader.string(fields, "name"),
        namespace: reader.string(fields, "namespace"),
        content: read_content(reader, fields),
    }
}

fn read_content<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> DownstreamContent {
    if let Some(source) = reader.object(fields, "clone") {
        reader.only(&source, &["name", "namespace"]);
        let name = reader.required_string(&source, "name");
        let namespace = reader.string(&source, "namespace");
        return DownstreamContent::Clone { path: source.path, name, namespace };
    }
    if let Some(source) = reader.object(fields, "cloneList") {
        reader.only(&source, &["namespace", "kinds", "selector"]);
        if let Some(selector) = reader.object(&source, "selector") {
            reader.only(&selector, &["matchLabels", "matchExpressions"]);
        }
        return DownstreamContent::CloneList {
            kinds: reader.strings(&source, "kinds").unwrap_or_default(),
            namespace: reader.string(&source, "namespace"),
            selector: reader.any(&source, "selector").map(owned_value),
            path: source.path,
        };
    }
    match reader.any(fields, "data") {
        Some(data) => DownstreamContent::Data(owned_value(data)),
        None => DownstreamContent::Nothing,
    }
}

fn report_several_contents<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) {
    let is_there = |key: &&str| match reader.any(fields, key).map(|found| found.value) {
        Some(Value::Object(map)) => !map.is_empty(),
        Some(Value::Array(items)) => !items.is_empty(),
        other => other.is_some(),
    };
    let given: Vec<&str> = CONTENTS.into_iter().filter(is_there).collect();
    let [first, second, ..] = given.as_slice() else { return };
    let location = reader.document.locate_key(&fields.path);
    let message = format!("there are both `{first}` and `{second}`");
    let help = "give at most one of `data`, `clone`, `cloneList`, `foreach`";
    reader.report(Diagnostic::new(&code::GENERATE_CONTENT, message, location).help(help));
}
