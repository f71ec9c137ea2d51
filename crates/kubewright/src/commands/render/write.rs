//! Where rendered manifests go: a stream, one JSON document, a folder, or what changed.
//!
//! Those of the observability plane come after the others: behind a comment in a stream, and below a folder of their own.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use kubewright_k8s::{ObjectName, object_title};
use kubewright_traits::{Manifest, ManifestOrigin, Plane, Rendering, manifest_sort_key};
use kubewright_value::{Document, Map, Value, json};

use crate::arguments::{Render, RenderFormat, RenderPlane};
use crate::failure::Failure;
use crate::output::{
    ColorChoice, FileNames, Paint, hunks, refuse_input, refuse_link, standard_output, visible,
    write_named_by_object, yaml_text,
};

/// What stands before the manifests of the observability plane.
const OBSERVABILITY: &str = "# From here on: the observability plane.\n";
/// The folder of the manifests of the observability plane.
const OBSERVABILITY_FOLDER: &str = "observabilityplane";

/// Manifests that belong together.
pub(super) struct Part<'m> {
    /// What a stream says before them.
    pub(super) title: Option<String>,
    /// Where they go in a folder.
    pub(super) folder: PathBuf,
    pub(super) manifests: &'m [Manifest],
}

/// Writes what `rendering` made of `base` as `arguments` say, and nothing in the place of a file that was read.
///
/// # Errors
/// When it cannot be written.
pub(super) fn write(
    arguments: &Render,
    base: &[Document],
    rendering: &Rendering,
    color: ColorChoice,
) -> Result<(), Failure> {
    if arguments.output_dir.is_some() || !arguments.diff {
        let part = Part { title: None, folder: PathBuf::new(), manifests: &rendering.manifests };
        manifests(arguments, &[part])?;
    }
    if arguments.diff {
        show(base, rendering, &chosen(arguments, &rendering.manifests), color.paint_output())?;
    }
    Ok(())
}

/// Writes all manifests of `parts`.
///
/// # Errors
/// When they cannot be written.
pub(super) fn manifests(arguments: &Render, parts: &[Part<'_>]) -> Result<(), Failure> {
    match (&arguments.output_dir, arguments.output) {
        (Some(folder), _) => into_folder(folder, arguments, parts),
        (None, RenderFormat::Yaml) => Ok(stream(arguments, parts)?),
        (None, RenderFormat::Json) => Ok(document(arguments, parts)?),
    }
}

/// Returns the manifests in the order in which they are written.
fn chosen<'m>(arguments: &Render, manifests: &'m [Manifest]) -> Vec<&'m Manifest> {
    let is_wanted = |manifest: &&Manifest| match arguments.plane {
        None => true,
        Some(RenderPlane::Dataplane) => manifest.plane == Plane::Data,
        Some(RenderPlane::Observabilityplane) => manifest.plane == Plane::Observability,
    };
    let mut chosen: Vec<&Manifest> = manifests.iter().filter(is_wanted).collect();
    if arguments.sort {
        chosen.sort_by_cached_key(|manifest| manifest_sort_key(&manifest.object));
    }
    chosen.sort_by_key(|manifest| manifest.plane == Plane::Observability);
    chosen
}

fn stream(arguments: &Render, parts: &[Part<'_>]) -> io::Result<()> {
    let mut out = standard_output();
    let mut is_first = true;
    for part in parts {
        let mut title = part.title.as_ref();
        // Where one plane is asked for, there is nothing to tell apart.
        let mut is_told = arguments.plane.is_some();
        for manifest in chosen(arguments, part.manifests) {
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

fn document(arguments: &Render, parts: &[Part<'_>]) -> io::Result<()> {
    let manifests = parts.iter().flat_map(|part| chosen(arguments, part.manifests));
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

fn into_folder(root: &Path, arguments: &Render, parts: &[Part<'_>]) -> Result<(), Failure> {
    let mut names: HashMap<PathBuf, FileNames> = HashMap::new();
    let mut files: Vec<(PathBuf, String)> = Vec::new();
    for part in parts {
        for manifest in chosen(arguments, part.manifests) {
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
        fs::create_dir_all(folder).map_err(Failure::writing(folder))?;
    }
    files.iter().try_for_each(|(path, text)| write_named_by_object(path, text))
}

/// Shows what became of each manifest of `base`, and what is new.
///
/// # Errors
/// When it cannot be written.
pub(in crate::commands) fn differences(
    base: &[Document],
    rendering: &Rendering,
    paint: Paint,
) -> io::Result<()> {
    show(base, rendering, &rendering.manifests.iter().collect::<Vec<_>>(), paint)
}

fn show(base: &[Document], rendering: &Rendering, manifests: &[&Manifest], paint: Paint) -> io::Result<()> {
    let mut out = standard_output();
    for manifest in manifests {
        let (head, before) = match manifest.origin {
            ManifestOrigin::Given(number) => {
                let Some(document) = base.get(number) else { continue };
                if document.value == manifest.object {
                    continue;
                }
                (place(document), yaml_text(&document.value))
            }
            ManifestOrigin::Made(_) => ("(nothing)".to_owned(), String::new()),
        };
        let writers = written_by(manifest, rendering);
        let after = match manifest.origin {
            ManifestOrigin::Given(_) => format!("after {writers}"),
            ManifestOrigin::Made(_) => format!("{}  created by {writers}", subject(&manifest.object)),
        };
        difference(&mut out, [&head, &after], [&before, &yaml_text(&manifest.object)], paint)?;
    }
    let still_there: HashSet<usize> = rendering.manifests.iter().filter_map(number).collect();
    for (number, document) in base.iter().enumerate() {
        if !still_there.contains(&number) {
            let before = yaml_text(&document.value);
            difference(&mut out, [&place(document), "(removed)"], [&before, ""], paint)?;
        }
    }
    out.flush()
}

fn difference(out: &mut impl io::Write, heads: [&str; 2], texts: [&str; 2], paint: Paint) -> io::Result<()> {
    let [head, after] = heads.map(visible);
    let [before, now] = texts;
    writeln!(out, "{}", paint.bold(&format!("--- {head}")))?;
    writeln!(out, "{}", paint.bold(&format!("+++ {after}")))?;
    writeln!(out, "{}", hunks(before, now, paint))
}

/// Returns which of the base manifests `manifest` is.
pub(super) fn number(manifest: &Manifest) -> Option<usize> {
    match manifest.origin {
        ManifestOrigin::Given(number) => Some(number),
        ManifestOrigin::Made(_) => None,
    }
}

/// Returns where a manifest was given and what it is.
fn place(document: &Document) -> String {
    format!("{}  {}", document.source.name, subject(&document.value))
}

/// Returns how a manifest is called: `Deployment shop/web`.
pub(super) fn subject(object: &Value) -> String {
    let ObjectName { kind, namespace, name, .. } = ObjectName::of(object);
    object_title(&kind, &namespace, &name)
}

/// Returns who wrote something that is still there; where only something was taken away, all who could have.
fn written_by(manifest: &Manifest, rendering: &Rendering) -> String {
    let written = manifest.writers();
    let writers: BTreeSet<u32> = written.places().iter().map(|(_, writer)| writer.instance).collect();
    let is_writer = |number: usize| u32::try_from(number).is_ok_and(|number| writers.contains(&number));
    let all = rendering.writers.iter().enumerate();
    let names = all.filter(|(number, _)| writers.is_empty() || is_writer(*number));
    names.map(|(_, applied)| applied.to_string()).collect::<Vec<_>>().join(", ")
}
