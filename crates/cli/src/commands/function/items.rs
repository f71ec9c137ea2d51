//! The items of the list that comes out, in the order of the list that came in.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use kubewright_k8s::ObjectName;
use kubewright_traits::{Manifest, ManifestOrigin, Plane, Rendering};
use kubewright_value::Value;

use super::list::{ItemRole, ResourceList};
use super::marks;
use super::results::ItemNote;
use crate::arguments::RenderPlane;
use crate::output::FileNames;

/// Where the files of manifests of the observability plane go.
const OBSERVABILITY_FOLDER: &str = "observabilityplane";

/// Returns the items of `list` after `rendering`, those of `plane` if one is asked for, and what is to be told of them.
/// What is created comes at the end, or in the place of what it replaces.
pub(super) fn items_after(
    list: &ResourceList,
    rendering: Rendering,
    plane: Option<RenderPlane>,
) -> (Vec<Value>, Vec<ItemNote>) {
    let (mut given, mut made): (HashMap<usize, Manifest>, Vec<Option<Manifest>>) = Default::default();
    for manifest in rendering.manifests {
        match manifest.origin {
            ManifestOrigin::Given(number) => drop(given.insert(number, manifest)),
            ManifestOrigin::Made(_) => made.push(Some(manifest)),
        }
    }
    let (mut items, mut notes) = (Vec::new(), Vec::new());
    let mut keep = |mut manifest: Manifest, before: Option<&Value>, items: &mut Vec<Value>| {
        if !is_wanted(manifest.plane, plane) {
            return;
        }
        if let Some(before) = before {
            marks::put_back(&mut manifest.object, before);
        }
        if manifest.plane == Plane::Observability && plane.is_none() {
            notes.push(ItemNote::other_plane(&manifest));
        }
        items.push(manifest.object);
    };
    for item in &list.items {
        let value = &item.document.value;
        let ItemRole::Manifest(number) = item.role else {
            items.push(value.clone());
            continue;
        };
        let base = list.base.get(number).map(|base| &base.value);
        match given.remove(&number) {
            Some(same) if base == Some(&same.object) && is_wanted(same.plane, plane) => {
                items.push(value.clone());
            }
            Some(changed) => keep(changed, Some(value), &mut items),
            None => {
                let name = ObjectName::of(value);
                let is_same = |made: &Manifest| ObjectName::of(&made.object) == name;
                let mut again = made.iter_mut().filter(|made| made.as_ref().is_some_and(is_same));
                if let Some(manifest) = again.next().and_then(Option::take) {
                    keep(manifest, Some(value), &mut items);
                }
            }
        }
    }
    let mut files = ItemFiles::of(list);
    for mut manifest in made.into_iter().flatten() {
        files.name(&mut manifest);
        keep(manifest, None, &mut items);
    }
    (items, notes)
}

fn is_wanted(plane: Plane, wanted: Option<RenderPlane>) -> bool {
    match wanted {
        None => true,
        Some(RenderPlane::Dataplane) => plane == Plane::Data,
        Some(RenderPlane::Observabilityplane) => plane == Plane::Observability,
    }
}

/// The files in which items are kept.
struct ItemFiles {
    /// Which of the forms of a path are in use.
    forms: [bool; 2],
    /// The folder that all manifests are in.
    folder: PathBuf,
    names: HashMap<PathBuf, FileNames>,
}

impl ItemFiles {
    fn of(list: &ResourceList) -> Self {
        let is_used =
            |key: &str| list.items.iter().any(|item| marks::has_annotation(&item.document.value, key));
        let forms = match marks::PATHS.map(is_used) {
            // Without any path annotation, the newer form is used.
            [false, false] => [true, false],
            forms => forms,
        };
        let mut names: HashMap<PathBuf, FileNames> = HashMap::new();
        let mut folder: Option<PathBuf> = None;
        for item in &list.items {
            let Some((path, _)) = marks::marked_file(&item.document.value) else { continue };
            let path = Path::new(path);
            if !marks::stays_in_folder(path) {
                continue;
            }
            let own = path.parent().unwrap_or(Path::new(""));
            if let Some(name) = path.file_name() {
                names.entry(own.to_owned()).or_default().keep(&name.to_string_lossy());
            }
            if let ItemRole::Manifest(_) = item.role {
                folder = Some(folder.map_or_else(|| own.to_owned(), |folder| common_folder(&folder, own)));
            }
        }
        Self { forms, folder: folder.unwrap_or_default(), names }
    }

    /// Gives a manifest that was created a file of its own.
    fn name(&mut self, manifest: &mut Manifest) {
        // A template may say where its manifest is kept, and not that something else is written over.
        marks::stay_inside(&mut manifest.object);
        if marks::marked_file(&manifest.object).is_some() {
            return;
        }
        let folder = match manifest.plane {
            Plane::Data => self.folder.clone(),
            Plane::Observability => self.folder.join(OBSERVABILITY_FOLDER),
        };
        let ObjectName { kind, namespace, name, .. } = ObjectName::of(&manifest.object);
        let file = self.names.entry(folder.clone()).or_default().next(&kind, &namespace, &name, "yaml");
        let path = folder.join(file);
        let forms = marks::PATHS.into_iter().zip(marks::INDICES).zip(self.forms);
        for ((key, index), _) in forms.filter(|(_, is_used)| *is_used) {
            marks::add_missing_annotation(&mut manifest.object, index, "0");
            marks::add_missing_annotation(&mut manifest.object, key, &path.to_string_lossy());
        }
    }
}

/// Returns the folder that both are in.
fn common_folder(one: &Path, other: &Path) -> PathBuf {
    let parts = one.components().zip(other.components());
    parts.take_while(|(one, other)| one == other).map(|(one, _)| one).collect()
}
