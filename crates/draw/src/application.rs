//! Which application an object belongs to, and which controller a Pod.

use super::select::is_ownership;
use super::slots::IndexedList;
use super::{LineStyle, Picture};
use kubewright_value::Text;
use std::collections::HashMap;

/// How often applications are handed on from neighbour to neighbour.
const MAX_ROUNDS: usize = 3;
/// The most controllers above one another.
const MAX_OWNERS: usize = 8;

/// Returns the name by which an application of a frame is opened.
pub(super) fn application_key(frame: &str, name: &str) -> Text {
    format!("{frame}/{name}").into()
}

/// Returns the name by which a namespace that is one box is opened. No key of an application is like it: frames have no colon.
pub(super) fn namespace_key(frame: &str) -> Text {
    format!("namespace:{frame}").into()
}

/// Returns the owner of every node, where exactly one object owns it.
fn owners(picture: &Picture) -> HashMap<usize, usize> {
    let mut owners: HashMap<usize, Option<usize>> = HashMap::new();
    let count = picture.nodes.len();
    let lines = picture.lines.iter().filter(|line| line.from.max(line.to) < count && line.from != line.to);
    for line in lines.filter(|line| is_ownership(&line.label) && line.style != LineStyle::Missing) {
        let owner = owners.entry(line.to).or_insert(Some(line.from));
        if *owner != Some(line.from) {
            *owner = None;
        }
    }
    owners.into_iter().filter_map(|(place, owner)| Some((place, owner?))).collect()
}

/// Returns for every Pod, ReplicaSet and Job the controller above all others, and for everything else itself.
pub(super) fn folded_places(picture: &Picture, kept: &IndexedList<bool>) -> Vec<usize> {
    let owners = owners(picture);
    let is_made = |place: usize| {
        let kind = picture.nodes.get(place).map_or("", |node| node.kind.as_str());
        matches!(kind, "Pod" | "ReplicaSet" | "Job" | "ControllerRevision") && !kept.at(place)
    };
    let top = |place: usize| {
        let mut at = place;
        for _ in 0..MAX_OWNERS {
            match owners.get(&at) {
                Some(owner) if is_made(at) && !kept.at(*owner) => at = *owner,
                _ => break,
            }
        }
        at
    };
    (0..picture.nodes.len()).map(top).collect()
}

/// Returns the application of every node; empty where none is known. An object without labels belongs to the
/// application of its owner, or to the only one that it is linked to.
pub(super) fn applications(picture: &Picture) -> Vec<&str> {
    let owners = owners(picture);
    let count = picture.nodes.len();
    let mut known: Vec<&str> = picture.nodes.iter().map(|node| node.application.as_str()).collect();
    for _ in 0..MAX_ROUNDS {
        let before = known.clone();
        for (place, owner) in &owners {
            let above = before.get(*owner).copied().unwrap_or_default();
            if let Some(own) = known.get_mut(*place).filter(|own| own.is_empty()) {
                *own = above;
            }
        }
        // The application of the neighbours; nothing where they are of several.
        let mut beside: HashMap<usize, Option<&str>> = HashMap::new();
        let lines = picture.lines.iter().filter(|line| line.from.max(line.to) < count);
        for line in lines.filter(|line| line.style != LineStyle::Missing) {
            for (place, other) in [(line.from, line.to), (line.to, line.from)] {
                let name = before.get(other).copied().unwrap_or_default();
                let is_here = picture.nodes.get(place).map(|node| &node.namespace)
                    == picture.nodes.get(other).map(|node| &node.namespace);
                if name.is_empty() || !is_here {
                    continue;
                }
                let only = beside.entry(place).or_insert(Some(name));
                if *only != Some(name) {
                    *only = None;
                }
            }
        }
        for (place, name) in beside {
            if let (Some(own), Some(name)) = (known.get_mut(place).filter(|own| own.is_empty()), name) {
                *own = name;
            }
        }
        if known == before {
            break;
        }
    }
    known
}
