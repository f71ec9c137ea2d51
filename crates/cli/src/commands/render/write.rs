//! Output of rendered manifests: a stream, one JSON document, a folder, or a diff.
//!
//! Manifests of the observability plane come last: after a comment in a stream, and in a folder of their own.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kubewright_k8s::{ObjectName, object_title};
use kubewright_traits::{Manifest, ManifestOrigin, Plane, Rendering, manifest_sort_key};
use kubewright_value::{Document, Map, Value, json};

use crate::arguments::{RenderArguments, RenderFormat, RenderPlane};
use crate::failure::CommandFailure;
use crate::output::{
    ColorChoice, FileNames, Paint, hunks, refuse_input, refuse_link, standard_output, visible,
    write_named_by_object, yaml_text,
};
use kubewright_value::CompactSort as _;

/// The comment before the manifests of the observability plane.
const OBSERVABILITY: &str = "# From here on: the observability plane.\n";
/// The folder of the manifests of the observability plane.
const OBSERVABILITY_FOLDER: &str = "observabilityplane";

/// Manifests that belong together.
pub(super) struct ManifestGroup<'m> {
    /// The comment before them in a stream.
    pub(super) title: Option<String>,
    /// Their subfolder.
    pub(super) folder: PathBuf,
    pub(super) manifests: &'m [Manifest],
}

/// Writes the manifests of `rendering` as `arguments` request, never over an input file.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write_rendered(
    arguments: &RenderArguments,
    base: &[Document],
    rendering: &Rendering,
    color: ColorChoice,
) -> Result<(), CommandFailure> {
    if arguments.output_dir.is_some() || !arguments.diff {
        let part = ManifestGroup { title: None, folder: PathBuf::new(), manifests: &rendering.manifests };
        manifests(arguments, &[part])?;
    }
    if arguments.diff {
        write_manifest_changes(
            base,
            rendering,
            &ordered_manifests(arguments, &rendering.manifests),
            color.paint_output(),
        )?;
    }
    Ok(())
}

/// Writes all manifests of `parts`.
///
/// # Errors
/// When they cannot be written.
pub(super) fn manifests(
    arguments: &RenderArguments,
    parts: &[ManifestGroup<'_>],
) -> Result<(), CommandFailure> {
    match (&arguments.output_dir, arguments.output) {
        (Some(folder), _) => write_manifest_files(folder, arguments, parts),
        (None, RenderFormat::Yaml) => Ok(write_yaml_stream(arguments, parts)?),
        (None, RenderFormat::Json) => Ok(write_list_object(arguments, parts)?),
    }
}

/// Returns the manifests in the order in which they are written.
fn ordered_manifests<'m>(arguments: &RenderArguments, manifests: &'m [Manifest]) -> Vec<&'m Manifest> {
    let is_wanted = |manifest: &&Manifest| match arguments.plane {
        None => true,
        Some(RenderPlane::Dataplane) => manifest.plane == Plane::Data,
        Some(RenderPlane::Observabilityplane) => manifest.plane == Plane::Observability,
    };
    let mut chosen: Vec<&Manifest> = manifests.iter().filter(is_wanted).collect();
    if arguments.sort {
        chosen.compact_sort_by_cached_key(|manifest| manifest_sort_key(&manifest.object));
    }
    chosen.compact_sort_by_key(|manifest| manifest.plane == Plane::Observability);
    chosen
}

fn write_yaml_stream(arguments: &RenderArguments, parts: &[ManifestGroup<'_>]) -> io::Result<()> {
    let mut out = standard_output();
    let mut is_first = true;
    for part in parts {
        let mut title = part.title.as_ref();
        // With a single plane, no comment is needed.
        let mut is_told = arguments.plane.is_some();
        for manifest in ordered_manifests(arguments, part.manifests) {
            if !std::mem::take(&mut is_first) {
                out.write_all(b"---\n")?;
            }
            if let Some(title) = title.take() {
                writeln!(out, "# {}", visible(title))?;
            }
            if manifest.plane == Plane::Observability && !std::mem::replace(&mut is_told, true) {
                out.write_all(OBSERVABILITY.as_bytes())?;
            }
            out.write_all(yaml_text(&manifest.object).as_bytes())?;
        }
    }
    out.flush()
}

fn write_list_object(arguments: &RenderArguments, parts: &[ManifestGroup<'_>]) -> io::Result<()> {
    let manifests = parts.iter().flat_map(|part| ordered_manifests(arguments, part.manifests));
    let items = manifests.map(|manifest| manifest.object.clone()).collect();
    let list = Map::from([
        ("apiVersion", Value::from("v1")),
        ("kind", "List".into()),
        ("items", Value::array(items)),
    ]);
    let mut out = standard_output();
    writeln!(out, "{}", json::to_shown_pretty(&list.into()))?;
    out.flush()
}

fn write_manifest_files(
    root: &Path,
    arguments: &RenderArguments,
    parts: &[ManifestGroup<'_>],
) -> Result<(), CommandFailure> {
    let mut names: HashMap<PathBuf, FileNames> = HashMap::new();
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for part in parts {
        for manifest in ordered_manifests(arguments, part.manifests) {
            let ObjectName { kind, namespace, name, .. } = ObjectName::of(&manifest.object);
            let (extension, text) = match arguments.output {
                RenderFormat::Yaml => ("yaml", yaml_text(&manifest.object)),
                RenderFormat::Json => ("json", format!("{}\n", json::to_shown_pretty(&manifest.object))),
            };
            let folder = match manifest.plane {
                Plane::Data => root.join(&part.folder),
                Plane::Observability => root.join(&part.folder).join(OBSERVABILITY_FOLDER),
            };
            let file = names.entry(folder.clone()).or_default().next(&kind, &namespace, &name, extension);
            files.push((folder.join(file), text));
        }
    }
    files.iter().try_for_each(|(path, _)| refuse_link(path).and_then(|()| refuse_input(path)))?;
    for folder in names.keys().map(PathBuf::as_path).chain([root]) {
        fs::create_dir_all(folder).map_err(CommandFailure::writing(folder))?;
    }
    files.iter().try_for_each(|(path, text)| write_named_by_object(path, text))
}

/// Shows the changes of each manifest of `base`, and created manifests.
///
/// # Errors
/// When it cannot be written.
pub(in crate::commands) fn write_differences(
    base: &[Document],
    rendering: &Rendering,
    paint: Paint,
) -> io::Result<()> {
    write_manifest_changes(base, rendering, &rendering.manifests.iter().collect::<Vec<_>>(), paint)
}

fn write_manifest_changes(
    base: &[Document],
    rendering: &Rendering,
    manifests: &[&Manifest],
    paint: Paint,
) -> io::Result<()> {
    let mut out = standard_output();
    for manifest in manifests {
        let (head, before) = match manifest.origin {
            ManifestOrigin::Given(number) => {
                let Some(document) = base.get(number) else { continue };
                if document.value == manifest.object {
                    continue;
                }
                (base_place(document), yaml_text(&document.value))
            }
            ManifestOrigin::Made(_) => ("(nothing)".to_owned(), String::new()),
        };
        let writers = written_by(manifest, rendering);
        let after = match manifest.origin {
            ManifestOrigin::Given(_) => format!("after {writers}"),
            ManifestOrigin::Made(_) => format!("{}  created by {writers}", manifest_name(&manifest.object)),
        };
        write_difference(&mut out, [&head, &after], [&before, &yaml_text(&manifest.object)], paint)?;
    }
    let still_there: HashSet<usize> = rendering.manifests.iter().filter_map(base_number).collect();
    for (number, document) in base.iter().enumerate() {
        if !still_there.contains(&number) {
            let before = yaml_text(&document.value);
            write_difference(&mut out, [&base_place(document), "(removed)"], [&before, ""], paint)?;
        }
    }
    out.flush()
}

fn write_difference(
    out: &mut impl io::Write,
    heads: [&str; 2],
    texts: [&str; 2],
    paint: Paint,
) -> io::Result<()> {
    let [head, after] = heads.map(visible);
    let [before, now] = texts;
    writeln!(out, "{}", paint.bold(&format!("--- {head}")))?;
    writeln!(out, "{}", paint.bold(&format!("+++ {after}")))?;
    writeln!(out, "{}", hunks(before, now, paint))
}

/// Returns the index of `manifest` in the base, if it was given.
pub(super) fn base_number(manifest: &Manifest) -> Option<usize> {
    match manifest.origin {
        ManifestOrigin::Given(number) => Some(number),
        ManifestOrigin::Made(_) => None,
    }
}

/// Returns the position and name of a base manifest.
fn base_place(document: &Document) -> String {
    format!("{}  {}", document.source.name, manifest_name(&document.value))
}

/// Returns the name of a manifest: `Deployment shop/web`.
pub(super) fn manifest_name(object: &Value) -> String {
    let ObjectName { kind, namespace, name, .. } = ObjectName::of(object);
    object_title(&kind, &namespace, &name)
}

/// Returns the writers of fields that are still present; if fields were only removed, all possible writers.
fn written_by(manifest: &Manifest, rendering: &Rendering) -> String {
    let written = manifest.writers();
    let writers: BTreeSet<u32> = written.places().iter().map(|(_, writer)| writer.instance).collect();
    let is_writer = |number: usize| u32::try_from(number).is_ok_and(|number| writers.contains(&number));
    let all = rendering.writers.iter().enumerate();
    let names = all.filter(|(number, _)| writers.is_empty() || is_writer(*number));
    names.map(|(_, applied)| applied.to_string()).collect::<Vec<_>>().join(", ")
}
