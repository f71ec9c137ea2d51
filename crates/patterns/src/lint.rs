//! What works and was hardly meant.

mod contradictions;
mod schema;

use kubewright_engine::Diagnostic;
use kubewright_value::{Document, Text};

use super::compile::place;
use super::diagnostics as code;
use super::pattern::{KindRef, Link, List, Pattern, Rule, Topology};
use super::source::Definition;
use super::types;

/// Returns what is doubtful about `pattern`, which is written as `definition` in `document`.
pub(crate) fn lint(pattern: &Pattern, definition: &Definition, document: &Document) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    threshold(pattern, definition, document, &mut diagnostics);
    actors(pattern, definition, document, &mut diagnostics);
    relationships(pattern, document, definition, &mut diagnostics);
    unused(pattern, &mut diagnostics);
    contradictions::find(pattern, &mut diagnostics);
    schema::check(definition, document, &mut diagnostics);
    diagnostics
}

fn threshold(
    pattern: &Pattern,
    definition: &Definition,
    document: &Document,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let Some(minimum) = &definition.minimum else { return };
    let list = pattern.common_minimum.is_some().then_some(List::Relationships);
    let reachable = pattern.maximum_of(list);
    if minimum.value <= reachable {
        return;
    }
    let message = format!("{} points are asked for, and at most {reachable} can be reached", minimum.value);
    let help = match reachable.is_zero() {
        true => "only relationships with `required: false` score; remove the minimum".to_owned(),
        false => format!("ask for at most {reachable}"),
    };
    let location = document.locate(&minimum.path);
    diagnostics.push(Diagnostic::new(&code::UNREACHABLE_THRESHOLD, message, location).help(help));
}

fn actors(
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
        let message = format!("the leader `{}` is no actor; it is taken as the first", leader.id);
        let help = "add it to `actors`";
        let location = place(document, &spec, "actors");
        diagnostics.push(Diagnostic::new(&code::LEADER_NOT_ACTOR, message, location).help(help));
    }
    if pattern.topology == Topology::Single {
        if pattern.entries.iter().any(|entry| entry.list == List::Common) {
            let message =
                "with one actor there is nobody to have something in common with, so any object will do";
            let location = document.locate_key(&["spec".into(), "commonRelationships".into()]);
            let help = "use `relationships`, or the topology `LEADER_FOLLOWER`";
            diagnostics.push(Diagnostic::new(&code::COMMON_IN_SINGLE, message, location).help(help));
        }
        return;
    }
    let connected = connected(pattern);
    for actor in pattern.actors.iter().filter(|actor| !connected.contains(actor)) {
        let Some(role) = pattern.roles.get(*actor) else { continue };
        let message = format!("no required relationship connects `{}` with the leader", role.id);
        let help = "every object in the leader's namespace will do; add a relationship with `required: true` and `shared: true`";
        diagnostics
            .push(Diagnostic::new(&code::UNCONNECTED_FOLLOWER, message, role.location.clone()).help(help));
    }
}

/// Returns the roles that mandatory entries connect with the leader, and the leader.
pub(crate) fn connected(pattern: &Pattern) -> Vec<usize> {
    let mut connected = vec![pattern.leader];
    loop {
        let before = connected.len();
        for entry in pattern.entries.iter().filter(|entry| entry.rule == Rule::Mandatory) {
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

fn relationships(
    pattern: &Pattern,
    document: &Document,
    definition: &Definition,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let kinds = |role: usize| named_kinds(&pattern.roles.get(role)?.kinds);
    for (entry, written) in pattern.entries.iter().zip(&definition.entries) {
        let Link::Edge { types, .. } = &entry.link else { continue };
        // Dead only if none of several types can link them.
        let reason = entry.pairs.iter().find_map(|(one, other)| {
            let (ones, others) = (kinds(*one)?, kinds(*other)?);
            let reasons: Option<Vec<String>> =
                types.names.iter().map(|name| cannot_link(name, &ones, &others)).collect();
            reasons?.into_iter().next()
        });
        let Some(reason) = reason else { continue };
        let help = match types.name.as_str() {
            "MOUNTS" => "to ask for a volume that both mount, use `commonRelationships`",
            _ => "use another type, or another kind",
        };
        let location = place(document, &written.path, "type");
        diagnostics.push(Diagnostic::new(&code::DEAD_RELATIONSHIP, reason, location).help(help));
    }
}

/// Returns why no two of the kinds can be linked; nothing where some can.
fn cannot_link(name: &str, ones: &[&Text], others: &[&Text]) -> Option<String> {
    let mut first = None;
    for one in ones {
        for other in others {
            let reason = types::cannot_link(name, one, other)?;
            first = first.or(Some(reason));
        }
    }
    first
}

fn unused(pattern: &Pattern, diagnostics: &mut Vec<Diagnostic>) {
    let in_texts: Vec<usize> = pattern.message.roles().collect();
    for (at, role) in pattern.roles.iter().enumerate() {
        let in_entry =
            pattern.entries.iter().any(|entry| entry.pairs.iter().any(|pair| pair.0 == at || pair.1 == at));
        if !in_entry && !pattern.actors.contains(&at) && !in_texts.contains(&at) {
            let message = format!("nothing names the resource `{}`", role.id);
            let help = "remove it, or name it in a relationship";
            diagnostics
                .push(Diagnostic::new(&code::UNUSED_RESOURCE, message, role.location.clone()).help(help));
        }
    }
}

/// Returns the kinds that a role is for; none where they are not all named.
pub(crate) fn named_kinds(kinds: &[KindRef]) -> Option<Vec<&Text>> {
    let named = |kind| match kind {
        &KindRef::Kind { kind: Some(ref kind), .. } => Some(kind),
        _ => None,
    };
    kinds.iter().map(named).collect()
}

/// Returns the kinds that a role is for, as a message names them.
pub(crate) fn shown_kinds(kinds: &[KindRef]) -> String {
    match named_kinds(kinds).as_deref() {
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
