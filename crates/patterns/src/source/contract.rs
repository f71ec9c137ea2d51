//! The dialect of the contract: resources, actors and two lists of relationships.

use std::collections::HashSet;

use kubewright_engine::Diagnostic;
use kubewright_value::Text;

use super::super::diagnostics as code;
use super::super::pattern::{KindRef, Level, Presence, RelationshipList, Topology};
use super::conditions::{self, ConditionStyle};
use super::{
    Definition, WrittenEffect, WrittenLink, WrittenRelationship, WrittenResource, options,
    read_lasting_seconds, read_pattern_name, read_points, read_word, split_api_version,
};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

const CONTRACT_SEVERITIES: [(&str, Level); 3] =
    [("CRITICAL", Level::Critical), ("WARNING", Level::Warning), ("INFO", Level::Info)];
const PATTERN_TYPES: [&str; 9] = [
    "STRUCTURAL",
    "BEHAVIORAL",
    "FUNCTIONAL",
    "FOUNDATIONAL",
    "CONFIGURATION",
    "CONFIGURATIONAL",
    "SECURITY",
    "ADVANCED",
    "CUSTOM",
];
const CONTRACT_CATEGORIES: [&str; 6] =
    ["BestPractice", "Security", "Reliability", "Performance", "CostOptimization", "architecture"];

pub(super) fn read_contract<'d>(
    reader: &mut DocumentReader<'d>,
    version: Text,
    metadata: &DocumentFields<'d>,
    spec: &DocumentFields<'d>,
) -> Option<Definition> {
    let about = read_pattern_metadata(reader, metadata);
    let known = [
        "message",
        "topology",
        "resources",
        "actors",
        "relationships",
        "commonRelationships",
        "minRelationshipPoints",
        "minCommonRelationshipPoints",
        "dedupe",
        "for",
    ];
    reader.only(spec, &known);
    let message = reader.filled(spec, "message");
    let topology = reader.filled(spec, "topology");
    let words = [("SINGLE", Topology::Single), ("LEADER_FOLLOWER", Topology::LeaderFollower)];
    let topology = topology.and_then(|found| read_word(reader, &found, "topology", &words));
    let (resources, leaders) = read_contract_resources(reader, spec);
    let mut entries =
        read_contract_relationships(reader, spec, "relationships", RelationshipList::Relationships);
    entries.extend(read_contract_relationships(
        reader,
        spec,
        "commonRelationships",
        RelationshipList::Common,
    ));
    duplicates(reader, &entries);
    let minimum = read_points(reader, spec, "minRelationshipPoints");
    let common_minimum = read_points(reader, spec, "minCommonRelationshipPoints").map(|found| found.value);
    let actors = reader.strings(spec, "actors");
    let (topology, resources) = (topology?, resources?);
    let leader = find_leader(reader, spec, &resources, &leaders, actors.as_deref());
    let actors = match actors {
        Some(actors) => actors,
        None => assumed_actors(reader, spec, topology, &resources, leader, &entries),
    };
    check_actors(reader, spec, topology, &resources, &actors);
    let is_unordered = is_unordered(reader, spec, topology);
    let lasting_seconds = read_lasting_seconds(reader, spec);
    Some(Definition {
        version,
        message: message?,
        topology,
        resources,
        leader: leader?,
        actors,
        entries,
        minimum,
        common_minimum,
        emits_on_empty: false,
        lasting_seconds,
        is_unordered,
        is_successor: false,
        ..about
    })
}

/// Reads whether the same objects in other roles count as the same finding.
fn is_unordered<'d>(reader: &mut DocumentReader<'d>, spec: &DocumentFields<'d>, topology: Topology) -> bool {
    let Some(found) = reader.string(spec, "dedupe") else { return false };
    let words = [("UNORDERED", true), ("ORDERED", false)];
    let is_unordered = read_word(reader, &found, "dedupe", &words).unwrap_or(false);
    if is_unordered && topology == Topology::Single {
        let message = "`dedupe` needs several actors";
        let location = reader.place(&found.path);
        let help = "remove it, or use the topology `LEADER_FOLLOWER`";
        reader.report(Diagnostic::new(&code::BAD_OPTION, message, location).help(help));
    }
    is_unordered
}

/// Reads what a pattern says about itself; what it is for stays empty.
fn read_pattern_metadata<'d>(reader: &mut DocumentReader<'d>, metadata: &DocumentFields<'d>) -> Definition {
    let known = [
        "name",
        "displayName",
        "patternType",
        "severity",
        "category",
        "docUrl",
        "gitUrl",
        "description",
        "namespace",
        "labels",
        "annotations",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "managedFields",
    ];
    reader.only(metadata, &known);
    let name = read_pattern_name(reader, metadata);
    let display_name = reader.filled(metadata, "displayName");
    let pattern_type = reader.filled(metadata, "patternType");
    let severity = reader.filled(metadata, "severity");
    let severity = severity.and_then(|found| read_word(reader, &found, "severity", &CONTRACT_SEVERITIES));
    let category = reader.filled(metadata, "category");
    warn_unlisted(reader, pattern_type.as_ref(), "pattern type", &PATTERN_TYPES);
    warn_unlisted(reader, category.as_ref(), "category", &CONTRACT_CATEGORIES);
    let mut text = |key: &str| {
        let found = reader.string(metadata, key)?;
        if key.ends_with("Url") && !found.value.starts_with("http://") && !found.value.starts_with("https://")
        {
            let message = format!("`{key}` does not start with `http://` or `https://`");
            let location = reader.place(&found.path);
            reader.report(Diagnostic::new(&code::BAD_URL, message, location));
        }
        Some(found.value)
    };
    let doc_url = text("docUrl").unwrap_or_default();
    let git_url = text("gitUrl").unwrap_or_default();
    let description = text("description").unwrap_or_default();
    let text_of = |found: Option<Located<Text>>| found.map(|found| found.value).unwrap_or_default();
    Definition {
        version: Text::default(),
        name: name.unwrap_or_default(),
        display_name: text_of(display_name),
        pattern_type: text_of(pattern_type),
        severity: severity.unwrap_or(Level::Info),
        category: text_of(category),
        description,
        doc_url,
        git_url,
        message: Located { value: Text::default(), path: Vec::new() },
        topology: Topology::Single,
        resources: Vec::new(),
        leader: 0,
        actors: Vec::new(),
        entries: Vec::new(),
        minimum: None,
        common_minimum: None,
        emits_on_empty: false,
        lasting_seconds: 0,
        is_unordered: false,
        is_successor: false,
    }
}

fn warn_unlisted(reader: &mut DocumentReader<'_>, found: Option<&Located<Text>>, what: &str, words: &[&str]) {
    let Some(found) = found else { return };
    if words.iter().any(|word| word.eq_ignore_ascii_case(&found.value)) {
        return;
    }
    let message = format!("`{}` is not a {what} of the contract", found.value);
    let help = format!("the contract has {}", words.join(", "));
    let location = reader.place(&found.path);
    reader.report(Diagnostic::new(&code::OPEN_VALUE, message, location).help(help));
}

/// Returns the resources, and which of them are marked as leaders.
fn read_contract_resources<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
) -> (Option<Vec<WrittenResource>>, Vec<usize>) {
    if reader.any(spec, "resources").is_none() {
        reader.missing(spec, "resources");
        return (None, Vec::new());
    }
    let Some(items) = reader.objects(spec, "resources") else { return (None, Vec::new()) };
    if items.is_empty() {
        let location = reader.place(&child_path(&spec.path, "resources"));
        let message = "`resources` is empty, expected at least one";
        reader.report(Diagnostic::new(&code::MISSING_FIELD, message, location));
        return (None, Vec::new());
    }
    let (mut resources, mut leaders) = (Vec::<WrittenResource>::new(), Vec::new());
    let (mut is_whole, mut known) = (true, HashSet::new());
    for item in &items {
        let Some((resource, leads)) = read_contract_resource(reader, item) else {
            is_whole = false;
            continue;
        };
        if !known.insert(resource.id.clone()) {
            let message = format!("duplicate resource id `{}`", resource.id);
            let location = reader.place(&child_path(&item.path, "id"));
            reader.report(Diagnostic::new(&code::DUPLICATE_ID, message, location));
        }
        if leads && resource.presence == Presence::Absent {
            let message = format!("the absent resource `{}` cannot be the leader", resource.id);
            let location = reader.place(&child_path(&item.path, "presence"));
            let help = "make the resource that refers to it the leader";
            reader.report(Diagnostic::new(&code::BAD_PRESENCE, message, location).help(help));
        }
        if leads {
            leaders.push(resources.len());
        }
        resources.push(resource);
    }
    (is_whole.then_some(resources), leaders)
}

fn read_contract_resource<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<(WrittenResource, bool)> {
    reader.only(item, &["resource", "id", "leader", "filters", "apiVersion", "presence", "ifListed"]);
    let api_version = reader.string(item, "apiVersion").map(|found| found.value);
    let kinds = read_contract_kinds(reader, item, api_version.as_deref());
    let id = reader.filled(item, "id");
    if let Some(id) = &id {
        check_id(reader, id);
    }
    let leads = reader.boolean(item, "leader").unwrap_or(false);
    let words = [("PRESENT", Presence::Present), ("ABSENT", Presence::Absent)];
    let presence = reader.string(item, "presence");
    let presence =
        presence.and_then(|found| read_word(reader, &found, "presence", &words)).unwrap_or_default();
    let if_listed = options::read_texts(reader, item, "ifListed");
    if let Some(listed) = if_listed.first().filter(|_| presence == Presence::Present) {
        let message = "`ifListed` applies to absent objects only";
        let location = reader.place(&listed.path);
        reader.report(Diagnostic::new(&code::BAD_OPTION, message, location).help("add `presence: ABSENT`"));
    }
    let mut resource = WrittenResource {
        presence,
        if_listed: if_listed.into_iter().map(|found| found.value).collect(),
        path: item.path.clone(),
        id: Text::default(),
        kinds: Vec::new(),
        from_target: None,
        all: Vec::new(),
        any: Vec::new(),
        none: Vec::new(),
    };
    conditions::read_filters(reader, item, ConditionStyle::Contract, &mut resource);
    resource.kinds = kinds?;
    resource.id = id?.value;
    Some((resource, leads))
}

/// Reads a kind, or a list of kinds.
fn read_contract_kinds<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    api_version: Option<&str>,
) -> Option<Vec<KindRef>> {
    let found = reader.any(item, "resource");
    if found.is_none_or(|found| found.value.as_array().is_none()) {
        return reader.filled(item, "resource").map(|kind| vec![kind_ref(&kind.value, api_version)]);
    }
    let kinds = reader.strings(item, "resource")?;
    if kinds.is_empty() || kinds.iter().any(|kind| kind.value.trim().is_empty()) {
        reader.missing(item, "resource");
        return None;
    }
    let mut read: Vec<KindRef> = Vec::with_capacity(kinds.len());
    for kind in &kinds {
        let one = kind_ref(&kind.value, api_version);
        if read.contains(&one) {
            let message = format!("duplicate kind `{}`", kind.value);
            let location = reader.place(&kind.path);
            reader.report(Diagnostic::new(&code::DUPLICATE_ID, message, location));
        }
        read.push(one);
    }
    Some(read)
}

/// Reads `Kind`, `Kind.group` or `group/version/Kind`.
fn kind_ref(text: &str, api_version: Option<&str>) -> KindRef {
    if let Some((api_version, kind)) = text.rsplit_once('/') {
        let (group, version) = split_api_version(api_version);
        return KindRef::Kind { kind: Some(kind.into()), group, version };
    }
    let (group, version) = api_version.map_or((None, None), split_api_version);
    match text.split_once('.') {
        Some((kind, group)) => KindRef::Kind { kind: Some(kind.into()), group: Some(group.into()), version },
        None => KindRef::Kind { kind: (text != "*").then(|| text.into()), group, version },
    }
}

pub(super) fn check_id(reader: &mut DocumentReader<'_>, id: &Located<Text>) {
    if id.value.contains(['.', '{', '}', '[', '(', ')']) {
        let message = format!("the id `{}` cannot be used in a message", id.value);
        let location = reader.place(&id.path);
        let help = "leave out `.`, `{`, `}`, brackets and parentheses";
        reader.report(Diagnostic::new(&code::BAD_NAME, message, location).help(help));
    }
}

fn read_contract_relationships<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    key: &str,
    list: RelationshipList,
) -> Vec<WrittenRelationship> {
    let items = reader.objects(spec, key).unwrap_or_default();
    let read = |(at, item): (usize, &DocumentFields<'d>)| {
        read_contract_relationship(reader, item, list, format!("{key}[{at}]"))
    };
    items.iter().enumerate().filter_map(read).collect()
}

fn read_contract_relationship<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    list: RelationshipList,
    fallback: String,
) -> Option<WrittenRelationship> {
    let known = ["id", "type", "description", "weight", "required", "shared", "resourceIds"];
    let known: Vec<&str> = known.into_iter().chain(options::OPTION_FIELDS).collect();
    reader.only(item, &known);
    let id = reader.string(item, "id").map_or_else(|| fallback.into(), |found| found.value);
    let names = options::read_relationship_types(reader, item);
    let description = reader.string(item, "description");
    let weight = read_points(reader, item, "weight");
    let options = options::read_edge_options(reader, item, &names, list);
    let at_least = options::at_least(reader, item);
    let mut flag = |key: &str, help: &str| {
        if reader.any(item, key).is_none() {
            reader.missing_help(item, key, help);
        }
        reader.boolean(item, key)
    };
    let required =
        flag("required", "`true` where it decides whether there is a finding, `false` where it scores");
    let shared =
        flag("shared", "`true` where the relationship is to be there, `false` where it is not to be there");
    if reader.any(item, "resourceIds").is_none() {
        reader.missing(item, "resourceIds");
    }
    let ids = reader.strings(item, "resourceIds")?;
    if names.is_empty() {
        return None;
    }
    let location = reader.place(&child_path(&item.path, "resourceIds"));
    if ids.len() < 2 {
        let message = "a relationship needs two resources";
        reader
            .report(Diagnostic::new(&code::BAD_ACTORS, message, location).help("name both in `resourceIds`"));
    } else if ids.len() > 2 {
        let message = format!("every two of the {} resources must be related for this to hold", ids.len());
        let help = "write one relationship for each pair";
        reader.report(Diagnostic::new(&code::MANY_IDS, message, location).help(help));
    }
    Some(WrittenRelationship {
        path: item.path.clone(),
        id,
        list,
        ids,
        link: WrittenLink::Typed { names, options },
        at_least,
        rule: WrittenEffect::Matrix { required: required?, shared: shared? },
        weight,
        description,
    })
}

fn duplicates(reader: &mut DocumentReader<'_>, entries: &[WrittenRelationship]) {
    let mut known = HashSet::new();
    for entry in entries {
        if !known.insert(&entry.id) {
            let message = format!("duplicate relationship id `{}`", entry.id);
            let location = reader.place(&child_path(&entry.path, "id"));
            reader.report(Diagnostic::new(&code::DUPLICATE_ID, message, location));
        }
    }
}

/// Returns the position of the leader: the one that is marked, otherwise the first actor, otherwise the first resource.
fn find_leader<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    resources: &[WrittenResource],
    marked: &[usize],
    actors: Option<&[Located<Text>]>,
) -> Option<usize> {
    let location = reader.place(&child_path(&spec.path, "resources"));
    let help = "mark one resource with `leader: true`";
    match marked {
        [leader] => Some(*leader),
        [] => {
            let first = actors.and_then(<[_]>::first);
            let position = |actor: &Located<Text>| resources.iter().position(|found| found.id == actor.value);
            let leader = first.map_or(Some(0), position)?;
            let id = resources.get(leader).map(|found| found.id.as_str()).unwrap_or_default();
            let what = if first.is_some() { "first actor" } else { "first resource" };
            let message = format!("no resource is marked as the leader; the {what} `{id}` is used");
            reader.report(Diagnostic::new(&code::ASSUMED_LEADER, message, location).help(help));
            Some(leader)
        }
        several => {
            let message = format!("{} resources are marked as the leader", several.len());
            reader.report(Diagnostic::new(&code::BAD_LEADER, message, location).help(help));
            None
        }
    }
}

/// Returns the actors where none are named, with a warning: the leader, and with followers whatever may be there.
fn assumed_actors<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    topology: Topology,
    resources: &[WrittenResource],
    leader: Option<usize>,
    entries: &[WrittenRelationship],
) -> Vec<Located<Text>> {
    let is_forbidden = |id: &Text| {
        let mut naming =
            entries.iter().filter(|entry| entry.ids.iter().any(|named| named.value == *id)).peekable();
        let is_veto = |entry: &WrittenRelationship| {
            entry.rule == WrittenEffect::Matrix { required: true, shared: false }
        };
        naming.peek().is_some() && naming.all(is_veto)
    };
    let is_actor = |(at, resource): &(usize, &WrittenResource)| {
        Some(*at) == leader || (topology == Topology::LeaderFollower && !is_forbidden(&resource.id))
    };
    let actors: Vec<Located<Text>> = resources
        .iter()
        .enumerate()
        .filter(is_actor)
        .map(|(_, resource)| Located { value: resource.id.clone(), path: resource.path.clone() })
        .collect();
    let names: Vec<String> = actors.iter().map(|actor| format!("`{}`", actor.value)).collect();
    let verb = if names.len() == 1 { "is taken" } else { "are taken" };
    let message = format!("field `actors` is missing, so {} {verb}", names.join(" and "));
    let help = "list the actors, as in `actors: [app]`";
    let location = reader.document.locate_key(&spec.path);
    reader.report(Diagnostic::new(&code::ASSUMED_ACTORS, message, location).help(help));
    actors
}

fn check_actors<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    topology: Topology,
    resources: &[WrittenResource],
    actors: &[Located<Text>],
) {
    let mut known = HashSet::new();
    for actor in actors {
        let location = reader.place(&actor.path);
        if !resources.iter().any(|resource| resource.id == actor.value) {
            let message = format!("unknown resource id `{}` in `actors`", actor.value);
            reader.report(Diagnostic::new(&code::UNKNOWN_ID, message, location).help(ids(resources)));
        } else if !known.insert(&actor.value) {
            let message = format!("duplicate actor `{}`", actor.value);
            reader.report(Diagnostic::new(&code::DUPLICATE_ID, message, location));
        }
    }
    let (least, word) = match topology {
        Topology::Single => (1, "one"),
        Topology::LeaderFollower => (2, "two"),
    };
    if known.len() < least && actors.len() < least {
        let message = format!("{} actors, expected at least {word}", actors.len());
        let location = match reader.any(spec, "actors") {
            Some(found) => reader.place(&found.path),
            None => reader.document.locate_key(&spec.path),
        };
        let help = "for one actor the topology is `SINGLE`, for more `LEADER_FOLLOWER`";
        reader.report(Diagnostic::new(&code::BAD_ACTORS, message, location).help(help));
    }
}

pub(super) fn ids(resources: &[WrittenResource]) -> String {
    let ids: Vec<String> = resources.iter().map(|resource| format!("`{}`", resource.id)).collect();
    format!("use one of {}", ids.join(", "))
}
