//! `--trace`: what each trait matched and changed, and the last writer of each field.

use std::io::{self, Write as _};

use kubewright_engine::{Diagnostic, TraceNode};
use kubewright_k8s::ObjectName;
use kubewright_patch::Pointer;
use kubewright_report::render::DOCUMENT_VERSION;
use kubewright_report::text::plural;
use kubewright_report::trace::node_value;
use kubewright_traits::{Manifest, ManifestOrigin, ManifestWriter, Plane, Rendering, manifest_label};
use kubewright_value::{Document, Map, Text, Value, json};

use super::write::manifest_name;
use crate::arguments::RenderFormat;
use crate::output::{Paint, json_diagnostic, json_place, standard_output, trace_tree, visible};

/// The maximum width of the path column.
const MAX_FIELD_WIDTH: usize = 72;

/// One rendering that is shown.
pub(super) struct TracedRendering<'r> {
    /// The component and its environment, if components are rendered.
    pub(super) release: Option<(&'r str, &'r str)>,
    pub(super) rendering: &'r Rendering,
    /// The base manifests.
    pub(super) base: &'r [Document],
}

/// Writes the trace in `format`, with all diagnostics.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_render_trace(
    traced: &[TracedRendering<'_>],
    problems: &[Diagnostic],
    format: RenderFormat,
    paint: Paint,
) -> io::Result<()> {
    let mut out = standard_output();
    match format {
        RenderFormat::Yaml => {
            let has_failed = problems.iter().any(Diagnostic::is_error);
            for (number, one) in traced.iter().enumerate() {
                if let Some((component, environment)) = one.release.filter(|_| traced.len() > 1) {
                    let line = if number > 0 { "\n" } else { "" };
                    let title = format!("component {component}, environment {environment}");
                    writeln!(out, "{line}{}\n", paint.bold(&format!("# {}", visible(&title))))?;
                }
                write_trace_text(&mut out, one, has_failed, paint)?;
            }
        }
        RenderFormat::Json => writeln!(out, "{}", json::to_shown_pretty(&trace_document(traced, problems)))?,
    }
    out.flush()
}

/// Writes what each trait did, and the result unless rendering `has_failed`.
fn write_trace_text(
    out: &mut impl io::Write,
    traced: &TracedRendering<'_>,
    has_failed: bool,
    paint: Paint,
) -> io::Result<()> {
    let rendering = traced.rendering;
    for node in &rendering.trace {
        writeln!(out, "{}  {}", paint.bold(&visible(&node.what)), paint.cyan(&node_place(node)))?;
        if node.children.is_empty() {
            writeln!(out, "  {}", paint.dim("· does nothing"))?;
        }
        let mut steps = node.children.clone();
        steps.iter_mut().for_each(|step| place_manifest(step, traced.base));
        out.write_all(trace_tree(&steps, 1, paint).as_bytes())?;
        writeln!(out)?;
    }
    if has_failed {
        return Ok(());
    }
    let mut unchanged = 0;
    for manifest in &rendering.manifests {
        let fields = written_fields(manifest, rendering);
        if fields.is_empty() {
            unchanged += 1;
            continue;
        }
        let subject = paint.bold(&visible(&manifest_name(&manifest.object)));
        match manifest.origin {
            ManifestOrigin::Given(_) => writeln!(out, "{subject}")?,
            ManifestOrigin::Made(_) => writeln!(out, "{subject}  created")?,
        }
        let widths = fields.iter().map(|field| field.path.chars().count());
        let width = widths.filter(|width| *width <= MAX_FIELD_WIDTH).max().unwrap_or_default();
        for field in &fields {
            let by = visible(&field.by);
            let place = paint.cyan(&visible(&field.place));
            writeln!(out, "  {:width$}  {by}  {place}", visible(&field.path))?;
        }
    }
    for document in removed(traced) {
        writeln!(out, "{}  removed", paint.bold(&visible(&manifest_name(&document.value))))?;
    }
    if unchanged > 0 {
        let text = format!("{} stayed as given", plural(unchanged, "manifest"));
        writeln!(out, "{}", paint.dim(&text))?;
    }
    Ok(())
}

/// Adds the places of the base manifests that steps are about.
fn place_manifest(step: &mut TraceNode, base: &[Document]) {
    let is_it = |document: &&Document| manifest_label(&document.value) == step.what;
    if let Some(document) = base.iter().find(is_it) {
        step.subject_location = Some(document.locate(&["metadata".into(), "name".into()]));
    }
    step.children.iter_mut().for_each(|child| place_manifest(child, base));
}

/// Returns the trace as one document, with an entry for each component.
fn trace_document(traced: &[TracedRendering<'_>], problems: &[Diagnostic]) -> Value {
    let mut components = Vec::new();
    let mut all = Map::from([("version", Value::from(DOCUMENT_VERSION))]);
    for one in traced {
        let part = trace_part(one);
        match one.release {
            Some((component, environment)) => {
                let names = [("component", Value::from(component)), ("environment", environment.into())];
                let names = names.into_iter().map(|(key, value)| (key.into(), value));
                components.push(Value::from(names.chain(part).collect::<Map>()));
            }
            None => part.into_iter().for_each(|(key, value)| drop(all.insert(key, value))),
        }
    }
    if !components.is_empty() {
        all.insert("components".into(), components.into());
    }
    let problems: Vec<Value> = problems.iter().map(json_diagnostic).collect();
    all.insert("diagnostics".into(), problems.into());
    all.into()
}

fn trace_part(traced: &TracedRendering<'_>) -> Vec<(Text, Value)> {
    let rendering = traced.rendering;
    let instances = rendering.trace.iter().map(node_value).collect();
    let manifests = rendering.manifests.iter().map(|manifest| json_manifest(manifest, traced));
    let removed = removed(traced).map(|document| {
        let mut item = manifest_head(&document.value);
        let (file, line, _) = json_place(Some(&document.locate(&[])));
        item.insert("file".into(), file);
        item.insert("line".into(), line);
        Value::from(item)
    });
    vec![
        ("traits".into(), Value::array(instances)),
        ("manifests".into(), manifests.collect::<Vec<_>>().into()),
        ("removed".into(), removed.collect::<Vec<_>>().into()),
    ]
}

/// A part of a manifest that was written.
struct WrittenField {
    /// `(all of it)` for the whole.
    path: String,
    by: String,
    place: String,
}

fn written_fields(manifest: &Manifest, rendering: &Rendering) -> Vec<WrittenField> {
    let field = |(path, writer): (Vec<_>, &ManifestWriter)| {
        let by = rendering.writer(*writer)?;
        let path = match path.is_empty() {
            true => "(all of it)".to_owned(),
            false => Pointer::from_steps(&path).to_string(),
        };
        Some(WrittenField { path, by: by.to_string(), place: by.location(writer.part).to_string() })
    };
    manifest.writers().places().into_iter().filter_map(field).collect()
}

/// Returns the removed manifests.
fn removed<'r>(traced: &'r TracedRendering<'r>) -> impl Iterator<Item = &'r Document> {
    let is_there = |number: usize| {
        traced.rendering.manifests.iter().any(|manifest| manifest.origin == ManifestOrigin::Given(number))
    };
    let all = traced.base.iter().enumerate().filter(move |(number, _)| !is_there(*number));
    all.map(|(_, document)| document)
}

fn json_manifest(manifest: &Manifest, traced: &TracedRendering<'_>) -> Value {
    let rendering = traced.rendering;
    let mut item = manifest_head(&manifest.object);
    let plane = match manifest.plane {
        Plane::Data => "dataplane",
        Plane::Observability => "observabilityplane",
    };
    let (origin, location) = match manifest.origin {
        ManifestOrigin::Given(number) => {
            ("given", traced.base.get(number).map(|document| document.locate(&[])))
        }
        ManifestOrigin::Made(writer) => {
            ("created", rendering.writer(writer).map(|by| by.location(writer.part).clone()))
        }
    };
    let (file, line, _) = json_place(location.as_ref());
    let more = [("plane", plane.into()), ("origin", Value::from(origin)), ("file", file), ("line", line)];
    more.into_iter().for_each(|(key, value)| drop(item.insert(key.into(), value)));
    let field = |(path, writer): (Vec<_>, &ManifestWriter)| {
        let by = rendering.writer(*writer)?;
        let (file, line, column) = json_place(Some(by.location(writer.part)));
        let path = Pointer::from_steps(&path).to_string();
        Some(Value::from(Map::from([
            ("path", Value::from(path)),
            ("kind", by.kind.into()),
            ("trait", by.of.clone().into()),
            ("instance", by.name.clone().into()),
            ("file", file),
            ("line", line),
            ("column", column),
        ])))
    };
    let fields: Vec<Value> = manifest.writers().places().into_iter().filter_map(field).collect();
    item.insert("fields".into(), fields.into());
    item.into()
}

fn manifest_head(object: &Value) -> Map {
    let ObjectName { kind, namespace, name, .. } = ObjectName::of(object);
    let version = object.str_at(&["apiVersion"]);
    Map::from([
        ("apiVersion", Value::from(version)),
        ("kind", kind.into()),
        ("namespace", namespace.into()),
        ("name", name.into()),
    ])
}

fn node_place(node: &TraceNode) -> String {
    node.location.as_ref().map(|location| visible(&location.source.name).into_owned()).unwrap_or_default()
}
