//! The checks of a rendering as a whole: incomplete manifests, duplicates, and fields written by two instances.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_engine::Diagnostic;
use kubewright_patch::Pointer;
use kubewright_patch::path::PathOp;
use kubewright_value::{Step, Text};

use super::AppliedInstance;
use crate::diagnostics as code;
use crate::manifest::{Manifest, ManifestOrigin, ManifestWriter, Overlap, Plane, manifest_identity};
use kubewright_dialect_kit::fields::article;

/// Reports incomplete manifests and duplicates.
pub(crate) fn check_rendered_manifests(
    manifests: &[Manifest],
    writers: &[AppliedInstance],
    diagnostics: &mut Vec<Diagnostic>,
) {
    // Each plane is a separate cluster, so names are unique per plane.
    let mut known: BTreeMap<(bool, [Text; 4]), &Manifest> = BTreeMap::new();
    for manifest in manifests {
        let made = manifest_creator(manifest, writers);
        let identity = manifest_identity(&manifest.object);
        let [version, kind, _, name] = &identity;
        let lacks = [("apiVersion", version), ("kind", kind), ("metadata.name", name)];
        let lacks = lacks.iter().find(|(_, text)| text.is_empty()).map(|(field, _)| *field);
        // An input manifest may have no name, as with `generateName`.
        let spoiled = || {
            let path: Vec<Step> = lacks?.split('.').map(Step::from).collect();
            let writer = manifest.last_at(&path)?;
            writers.get(writer.instance as usize).map(|by| (by, writer))
        };
        if let (Some(field), Some((by, writer))) = (lacks, made.or_else(spoiled)) {
            let message = missing_text_message(manifest, field, by, made.is_some());
            diagnostics.push(Diagnostic::new(&code::NO_MANIFEST, message, by.location(writer.part).clone()));
        } else if let Some(earlier) = known.insert((manifest.plane == Plane::Data, identity), manifest)
            && let Some((made, writer)) = made.or_else(|| manifest_creator(earlier, writers))
        {
            let message = format!("{} is there twice", manifest.label());
            diagnostics.push(
                Diagnostic::new(&code::TWICE, message, made.location(writer.part).clone())
                    .about(&manifest.object, "")
                    .help("the later one replaces the earlier in a cluster; give one another name"),
            );
        }
    }
}

/// Returns the message that `by` left `manifest` without a text in `field`.
fn missing_text_message(manifest: &Manifest, field: &str, by: &AppliedInstance, is_made: bool) -> String {
    let (by, keys) = (by.to_string(), field.split('.').collect::<Vec<_>>());
    match manifest.object.at(&keys) {
        Some(found) if !found.is_null() && found.as_str().is_none() => {
            format!("{by} makes `{field}` {}, expected text", article(found.kind()))
        }
        _ if is_made => format!("what {by} makes has no `{field}`"),
        _ => format!("{by} leaves a manifest without `{field}`"),
    }
}

/// Reports values that one instance wrote and another overwrote, once per pair of operations.
pub(super) fn report_overlaps(
    manifests: &[Manifest],
    writers: &[AppliedInstance],
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut reported = BTreeSet::new();
    for manifest in manifests {
        for Overlap { lost, op, writer } in manifest.overlaps() {
            let at = |writer: ManifestWriter| writers.get(writer.instance as usize);
            // Traits are meant to change the resources of the component type.
            let earlier = at(lost.writer).filter(|earlier| earlier.is_trait());
            let (Some(earlier), Some(later)) = (earlier, at(writer)) else { continue };
            if !reported.insert((lost.writer, writer)) {
                continue;
            }
            let path = Pointer::from_steps(&lost.place).to_string();
            let place = if path.is_empty() { "the whole".to_owned() } else { format!("`{path}`") };
            let verb = if op == PathOp::Remove { "removes" } else { "writes" };
            let message = format!(
                "{} {verb} {place} of {}, which {} wrote at {}",
                later,
                manifest.label(),
                earlier,
                earlier.location(lost.writer.part)
            );
            let location = later.location(writer.part).clone();
            let help = "the later trait wins; let one of the two write it, or give one a condition";
            let overlap = Diagnostic::new(&code::OVERLAP, message, location).about(&manifest.object, path);
            diagnostics.push(overlap.help(help));
        }
    }
}

/// Returns the creator of `manifest`; `None` for an input manifest.
fn manifest_creator<'w>(
    manifest: &Manifest,
    writers: &'w [AppliedInstance],
) -> Option<(&'w AppliedInstance, ManifestWriter)> {
    match manifest.origin {
        ManifestOrigin::Made(writer) => writers.get(writer.instance as usize).map(|made| (made, writer)),
        ManifestOrigin::Given(_) => None,
    }
}
