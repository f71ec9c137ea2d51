//! `--trace`: what each trait looked at and did, and who wrote which field in the end.

use std::io::{self, Write as _};

use kubewright_engine::{Diagnostic, TraceNode};
use kubewright_k8s::ObjectName;
use kubewright_patch::Pointer;
use kubewright_report::text::plural;
use kubewright_report::trace::node_value;
use kubewright_traits::{Manifest, ManifestOrigin, ManifestWriter, Plane, Rendering};
use kubewright_value::{Document, Map, Text, Value, json};

use super::write::subject;
use crate::arguments::RenderFormat;
use crate::output::{Paint, json_diagnostic, json_place, standard_output, tree, visible};

/// The widest path that the writers are lined up behind.
const WIDEST: usize = 72;

/// One rendering that is shown.
pub(super) struct Traced<'r> {
    /// The component and its environment, where components are rendered.
    pub(super) release: Option<(&'r str, &'r str)>,
    pub(super) rendering: &'r Rendering,
    /// What was given.
    pub(super) base: &'r [Document],
}

/// Writes what was done as `format` has it; `problems` are all that is wrong.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(
    traced: &[Traced<'_>],
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
                text(&mut out, one, has_failed, paint)?;
            }
        }
        RenderFormat::Json => writeln!(out, "{}", json::to_shown_pretty(&document(traced, problems)))?,
    }
    out.flush()
}

/// Writes what each trait did; and what came of it, unless it `has_failed`.
fn text(out: &mut impl io::Write, traced: &Traced<'_>, has_failed: bool, paint: Paint) -> io::Result<()> {
    let rendering = traced.rendering;
    for node in &rendering.trace {
        writeln!(out, "{}  {}", paint.bold(&visible(&node.what)), paint.cyan(&place(node)))?;
        if node.children.is_empty() {
            writeln!(out, "  {}", paint.dim("· does nothing"))?;
        }
        out.write_all(tree(&node.children, 1, paint).as_bytes())?;
        writeln!(out)?;
    }
    if has_failed {
        return Ok(());
    }
    let mut unchanged = 0;
    for manifest in &rendering.manifests {
        let fields = fields(manifest, rendering);
        if fields.is_empty() {
            unchanged += 1;
            continue;
        }
        let subject = paint.bold(&visible(&subject(&manifest.object)));
        match manifest.origin {
            ManifestOrigin::Given(_) => writeln!(out, "{subject}")?,
            ManifestOrigin::Made(_) => writeln!(out, "{subject}  created")?,
        }
        let widths = fields.iter().map(|field| field.path.chars().count());
        let width = widths.filter(|width| *width <= WIDEST).max().unwrap_or_default();
        for field in &fields {
            let by = visible(&field.by);
            let place = paint.cyan(&visible(&field.place));
            writeln!(out, "  {:width$}  {by}  {place}", visible(&field.path))?;
        }
    }
    for document in removed(traced) {
        writeln!(out, "{}  removed", paint.bold(&visible(&subject(&document.value))))?;
    }
    if unchanged > 0 {
        let text = format!("{} stayed as given", plural(unchanged, "manifest"));
        writeln!(out, "{}", paint.dim(&text))?;
    }
    Ok(())
}

/// Returns all of it as one document: of components, each in a part of its own.
fn document(traced: &[Traced<'_>], problems: &[Diagnostic]) -> Value {
    let mut components = Vec::new();
    let mut all = Map::new();
    for one in traced {
        let part = part(one);
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

fn part(traced: &Traced<'_>) -> Vec<(Text, Value)> {
    let rendering = traced.rendering;
    let instances = rendering.trace.iter().map(node_value).collect();
    let manifests = rendering.manifests.iter().map(|manifest| json_manifest(manifest, traced));
    let removed = removed(traced).map(|document| {
        let mut item = head(&document.value);
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
struct Field {
    /// `(all of it)` for the whole.
    path: String,
    by: String,
    place: String,
}

fn fields(manifest: &Manifest, rendering: &Rendering) -> Vec<Field> {
    let field = |(path, writer): (Vec<_>, &ManifestWriter)| {
        let by = rendering.writer(*writer)?;
        let path = match path.is_empty() {
            true => "(all of it)".to_owned(),
            false => Pointer::from_steps(&path).to_string(),
        };
        Some(Field { path, by: by.to_string(), place: by.location(writer.part).to_string() })
    };
    manifest.writers().places().into_iter().filter_map(field).collect()
}

/// Returns what was given and is there no more.
fn removed<'r>(traced: &'r Traced<'r>) -> impl Iterator<Item = &'r Document> {
    let is_there = |number: usize| {
        traced.rendering.manifests.iter().any(|manifest| manifest.origin == ManifestOrigin::Given(number))
    };
    let all = traced.base.iter().enumerate().filter(move |(number, _)| !is_there(*number));
    all.map(|(_, document)| document)
}

fn json_manifest(manifest: &Manifest, traced: &Traced<'_>) -> Value {
    let rendering = traced.rendering;
    let mut item = head(&manifest.object);
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

fn head(object: &Value) -> Map {
    let ObjectName { kind, namespace, name, .. } = ObjectName::of(object);
    let version = object.str_at(&["apiVersion"]);
    Map::from([
        ("apiVersion", Value::from(version)),
        ("kind", kind.into()),
        ("namespace", namespace.into()),
        ("name", name.into()),
    ])
}

fn place(node: &TraceNode) -> String {
    node.location.as_ref().map(|location| visible(&location.source.name).into_owned()).unwrap_or_default()
}
