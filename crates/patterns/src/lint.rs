//! Warnings about patterns that compile and are probably wrong.

mod contradictions;
mod schema;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Text};

use super::compile::locate_field;
use super::diagnostics as code;
use super::pattern::{KindRef, Pattern, RelationshipEffect, RelationshipLink, RelationshipList, Topology};
use super::source::Definition;
use super::types;

/// Returns warnings about `pattern`, which is written as `definition` in `document`.
pub(crate) fn lint_pattern(
    pattern: &Pattern,
    definition: &Definition,
    document: &Document,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    lint_threshold(pattern, definition, document, &mut diagnostics);
    lint_actors(pattern, definition, document, &mut diagnostics);
    lint_relationships(pattern, document, definition, &mut diagnostics);
    lint_unused_resources(pattern, &mut diagnostics);
    contradictions::find_contradictions(pattern, &mut diagnostics);
    schema::check_paths(definition, document, &mut diagnostics);
    diagnostics
}

fn lint_threshold(
    pattern: &Pattern,
    definition: &Definition,
    document: &Document,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(minimum) = &definition.minimum else { return };
    let list = pattern.common_minimum.is_some().then_some(RelationshipList::Relationships);
    let reachable = pattern.maximum_of(list);
    if minimum.value <= reachable {
        return;
    }
    let message = format!("the minimum is {} points, but at most {reachable} can be reached", minimum.value);
    let help = match reachable.is_zero() {
        true => "only relationships with `required: false` score; remove the minimum".to_owned(),
        false => format!("lower the minimum to {reachable} or less"),
    };
    let location = document.locate(&minimum.path);
    diagnostics.push(Diagnostic::new(&code::UNREACHABLE_THRESHOLD, message, location).help(help));
}

fn lint_actors(
    pattern: &Pattern,
    definition: &Definition,
    document: &Document,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let spec = ["spec".into()];
    let leader = pattern.roles.get(pattern.leader);
    if let Some(leader) =
        leader.filter(|leader| !definition.actors.iter().any(|actor| actor.value == leader.id))
    {
        let message = format!("the leader `{}` is not in `actors`; it counts as the first actor", leader.id);
        let help = "add it to `actors`";
        let location = locate_field(document, &spec, "actors");
        diagnostics.push(Diagnostic::new(&code::LEADER_NOT_ACTOR, message, location).help(help));
    }
    if pattern.topology == Topology::Single {
        if pattern.entries.iter().any(|entry| entry.list == RelationshipList::Common) {
            let message = "`commonRelationships` need two actors; with the topology `SINGLE` any object of the other resource matches";
            let location = document.locate_key(&["spec".into(), "commonRelationships".into()]);
            let help = "use `relationships`, or the topology `LEADER_FOLLOWER`";
            diagnostics.push(Diagnostic::new(&code::COMMON_IN_SINGLE, message, location).help(help));
        }
        return;
    }
    let connected = roles_connected_to_leader(pattern);
    for actor in pattern.actors.iter().filter(|actor| !connected.contains(actor)) {
        let Some(role) = pattern.roles.get(*actor) else { continue };
        let message = format!("no required relationship connects `{}` with the leader", role.id);
        let help = "every object in the leader's namespace matches; add a relationship with `required: true` and `shared: true`";
        diagnostics
            .push(Diagnostic::new(&code::UNCONNECTED_FOLLOWER, message, role.location.clone()).help(help));
    }
}

/// Returns the roles that mandatory entries connect with the leader, and the leader.
pub(crate) fn roles_connected_to_leader(pattern: &Pattern) -> Vec<usize> {
    let mut connected = vec![pattern.leader];
    loop {
        let before = connected.len();
        for entry in pattern.entries.iter().filter(|entry| entry.rule == RelationshipEffect::Mandatory) {
            for (one, other) in &entry.pairs {
                match (connected.contains(one), connected.contains(other)) {
                    (true, false) => connected.push(*other),
                    (false, true) => connected.push(*one),
                    _ => {}
                }
            }
        }
        if connected.len() == before {
            return connected;
        }
    }
}

fn lint_relationships(
    pattern: &Pattern,
    document: &Document,
    definition: &Definition,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let kinds = |role: usize| all_named_kinds(&pattern.roles.get(role)?.kinds);
    for (entry, written) in pattern.entries.iter().zip(&definition.entries) {
        let RelationshipLink::Edge { types, .. } = &entry.link else { continue };
        // Dead only if none of several types can link them.
        let reason = entry.pairs.iter().find_map(|(one, other)| {
            let (ones, others) = (kinds(*one)?, kinds(*other)?);
            let reasons: Option<Vec<String>> =
                types.names.iter().map(|name| cannot_link_kinds(name, &ones, &others)).collect();
            reasons?.into_iter().next()
        });
        let Some(reason) = reason else { continue };
        let help = match types.name.as_str() {
            "MOUNTS" => "to ask for a volume that both mount, use `commonRelationships`",
            _ => "use another type, or another kind",
        };
        let location = locate_field(document, &written.path, "type");
        diagnostics.push(Diagnostic::new(&code::DEAD_RELATIONSHIP, reason, location).help(help));
    }
}

/// Returns why no two of the kinds can be linked; nothing where some can.
fn cannot_link_kinds(name: &str, ones: &[&Text], others: &[&Text]) -> Option<String> {
    let mut first = None;
    for one in ones {
        for other in others {
            let reason = types::cannot_link(name, one, other)?;
            first = first.or(Some(reason));
        }
    }
    first
}

fn lint_unused_resources(pattern: &Pattern, diagnostics: &mut Vec<Diagnostic>) {
    let in_texts: Vec<usize> = pattern.message.roles().collect();
    for (at, role) in pattern.roles.iter().enumerate() {
        let in_entry =
            pattern.entries.iter().any(|entry| entry.pairs.iter().any(|pair| pair.0 == at || pair.1 == at));
        if !in_entry && !pattern.actors.contains(&at) && !in_texts.contains(&at) {
            let message = format!("the resource `{}` is never used", role.id);
            let help = "remove it, or use it in a relationship";
            diagnostics
                .push(Diagnostic::new(&code::UNUSED_RESOURCE, message, role.location.clone()).help(help));
        }
    }
}

/// Returns the kinds that a role is for; none where they are not all named.
pub(crate) fn all_named_kinds(kinds: &[KindRef]) -> Option<Vec<&Text>> {
    let named = |kind| match kind {
        &KindRef::Kind { kind: Some(ref kind), .. } => Some(kind),
        _ => None,
    };
    kinds.iter().map(named).collect()
}

/// Returns the kinds that a role is for, as a message names them.
pub(crate) fn shown_kinds(kinds: &[KindRef]) -> String {
    match all_named_kinds(kinds).as_deref() {
        Some([kind]) => format!("the kind `{kind}`"),
        Some(kinds) => {
            let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
            format!("the kinds {}", kinds.join(", "))
        }
        None => "these kinds".to_owned(),
    }
}

#[cfg(test)]
mod tests;
