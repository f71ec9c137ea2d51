//! The dialect with a target, its dependencies, and relationships with criteria.

use std::collections::HashSet;

use kubewright_engine::Diagnostic;
use kubewright_value::Text;

use super::super::diagnostics as code;
use super::super::pattern::{KindRef, Level, Presence, RelationshipList, Topology};
use super::conditions::{self, ConditionStyle};
use super::contract::{check_id, ids};
use super::{
    Definition, WrittenEffect, WrittenLink, WrittenRelationship, WrittenResource, criteria,
    read_lasting_seconds, read_pattern_name, read_word, split_api_version,
};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

/// The id by which messages name the target.
const TARGET_ID: &str = "target";
const SUCCESSOR_SEVERITIES: [(&str, Level); 4] =
    [("LOW", Level::Low), ("MEDIUM", Level::Medium), ("HIGH", Level::High), ("CRITICAL", Level::Critical)];

pub(super) fn read_successor<'d>(
    reader: &mut DocumentReader<'d>,
    version: Text,
    metadata: &DocumentFields<'d>,
    spec: &DocumentFields<'d>,
) -> Option<Definition> {
    let known = [
        "displayName",
        "category",
        "severity",
        "message",
        "reference",
        "description",
        "for",
        "target",
        "dependencies",
        "relationships",
    ];
    reader.only(spec, &known);
    let name = read_pattern_name(reader, metadata);
    let display_name = reader.filled(spec, "displayName");
    let category = reader.filled(spec, "category");
    let severity = reader.filled(spec, "severity");
    let severity = severity.and_then(|found| read_word(reader, &found, "severity", &SUCCESSOR_SEVERITIES));
    let message = reader.filled(spec, "message");
    let reference = reader.string(spec, "reference").map(|found| found.value).unwrap_or_default();
    let description = reader.string(spec, "description").map(|found| found.value).unwrap_or_default();
    let lasting_seconds = read_lasting_seconds(reader, spec);
    let target = reader.required_object(spec, "target");
    let emits_on_empty =
        target.as_ref().and_then(|target| reader.boolean(target, "emitOnEmpty")).unwrap_or(false);
    let target = target.and_then(|target| read_successor_resource(reader, &target, Some(TARGET_ID)));
    let dependencies = reader.objects(spec, "dependencies").unwrap_or_default();
    let mut resources: Vec<WrittenResource> = target.into_iter().collect();
    let mut is_whole = !resources.is_empty();
    let mut known: HashSet<Text> = resources.iter().map(|target| target.id.clone()).collect();
    for item in &dependencies {
        let Some(dependency) = read_successor_resource(reader, item, None) else {
            is_whole = false;
            continue;
        };
        if !known.insert(dependency.id.clone()) {
            let message =
                format!("duplicate dependency id `{}`, or the reserved id `{TARGET_ID}`", dependency.id);
            let location = reader.place(&child_path(&item.path, "id"));
            reader.report(Diagnostic::new(&code::DUPLICATE_ID, message, location));
        }
        resources.push(dependency);
    }
    let entries = read_successor_relationships(reader, spec, &resources);
    if !is_whole {
        return None;
    }
    Some(Definition {
        version,
        name: name?,
        display_name: display_name?.value,
        pattern_type: Text::default(),
        severity: severity?,
        category: category?.value,
        description,
        doc_url: reference,
        git_url: Text::default(),
        message: message?,
        topology: Topology::Single,
        actors: vec![Located { value: TARGET_ID.into(), path: child_path(&spec.path, "target") }],
        resources,
        leader: 0,
        entries,
        minimum: None,
        common_minimum: None,
        emits_on_empty,
        lasting_seconds,
        is_unordered: false,
        is_successor: true,
    })
}

/// Reads the target, which has the id `fixed`, or a dependency.
fn read_successor_resource<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    fixed: Option<&str>,
) -> Option<WrittenResource> {
    let known: &[&str] = match fixed {
        Some(_) => &["kind", "apiVersion", "plural", "kinds", "category", "filters", "emitOnEmpty"],
        None => &["id", "kind", "apiVersion", "plural", "kinds", "category", "filters", "fromTarget"],
    };
    reader.only(item, known);
    let id = match fixed {
        Some(id) => Some(Text::from(id)),
        None => {
            let id = reader.filled(item, "id");
            if let Some(id) = &id {
                check_id(reader, id);
            }
            id.map(|id| id.value)
        }
    };
    let from_target = match fixed {
        None => from_target(reader, item),
        Some(_) => None,
    };
    let kinds = if from_target.is_some() { Some(any_kind()) } else { read_successor_kinds(reader, item) };
    let mut resource = WrittenResource {
        path: item.path.clone(),
        id: Text::default(),
        kinds: Vec::new(),
        presence: Presence::Present,
        if_listed: Vec::new(),
        from_target,
        all: Vec::new(),
        any: Vec::new(),
        none: Vec::new(),
    };
    conditions::read_filters(reader, item, ConditionStyle::Successor, &mut resource);
    resource.id = id?;
    resource.kinds = kinds?;
    Some(resource)
}

fn any_kind() -> Vec<KindRef> {
    vec![KindRef::Kind { kind: None, group: None, version: None }]
}

fn from_target<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<(Located<Text>, Located<Text>)> {
    let fields = reader.object(item, "fromTarget")?;
    reader.only(&fields, &["apiVersionPath", "kindPath"]);
    let version = reader.filled(&fields, "apiVersionPath");
    let kind = reader.filled(&fields, "kindPath");
    Some((version?, kind?))
}

fn read_successor_kinds<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<Vec<KindRef>> {
    if let Some(category) = reader.string(item, "category") {
        return Some(vec![KindRef::Category(category.value)]);
    }
    match reader.objects(item, "kinds") {
        Some(several) => several.iter().map(|one| read_successor_kind(reader, one)).collect(),
        None => read_successor_kind(reader, item).map(|kind| vec![kind]),
    }
}

fn read_successor_kind<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<KindRef> {
    let kind = reader.filled(item, "kind");
    let api_version = reader.filled(item, "apiVersion");
    reader.string(item, "plural");
    let (group, version) = split_api_version(&api_version?.value);
    let kind = kind?.value;
    Some(KindRef::Kind { kind: (kind != "*").then_some(kind), group, version })
}

fn read_successor_relationships<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    resources: &[WrittenResource],
) -> Vec<WrittenRelationship> {
    let Some(groups) = reader.object(spec, "relationships") else { return Vec::new() };
    reader.only(&groups, &["matchAll", "matchAny", "matchNone"]);
    let mut entries = Vec::new();
    for (key, rule) in [
        ("matchAll", WrittenEffect::Matrix { required: true, shared: true }),
        ("matchAny", WrittenEffect::OneOf),
        ("matchNone", WrittenEffect::Matrix { required: true, shared: false }),
    ] {
        let items = reader.objects(&groups, key).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            let id = format!("{key}[{at}]").into();
            entries.extend(read_successor_relationship(reader, item, resources, rule, id));
        }
    }
    entries
}

fn read_successor_relationship<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    resources: &[WrittenResource],
    rule: WrittenEffect,
    id: Text,
) -> Option<WrittenRelationship> {
    reader.only(item, &["with", "type", "criteria", "selectorPath", "description"]);
    let with = reader.filled(item, "with");
    if let Some(with) = &with
        && !resources.iter().skip(1).any(|resource| resource.id == with.value)
    {
        let message = format!("unknown dependency id `{}`", with.value);
        let location = reader.place(&with.path);
        reader.report(Diagnostic::new(&code::UNKNOWN_ID, message, location).help(ids(resources)));
    }
    let link = read_successor_link(reader, item);
    let description = reader.string(item, "description");
    let target = Located { value: TARGET_ID.into(), path: item.path.clone() };
    Some(WrittenRelationship {
        path: item.path.clone(),
        id,
        list: RelationshipList::Relationships,
        ids: vec![target, with?],
        link: link?,
        at_least: None,
        rule,
        weight: None,
        description,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum SuccessorLinkType {
    Custom,
    Owns,
    OwnedBy,
    Selects,
    SelectedBy,
}

fn read_successor_link<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<WrittenLink> {
    let found = reader.filled(item, "type")?;
    let words = [
        ("custom", SuccessorLinkType::Custom),
        ("owns", SuccessorLinkType::Owns),
        ("ownedBy", SuccessorLinkType::OwnedBy),
        ("selects", SuccessorLinkType::Selects),
        ("selectedBy", SuccessorLinkType::SelectedBy),
    ];
    let kind = read_word(reader, &found, "relationship type", &words)?;
    let criteria = criteria::read_successor_criteria(reader, item);
    let location = reader.place(&found.path);
    let count = reader.array(item, "criteria").map_or(0, |items| items.value.len());
    match kind {
        SuccessorLinkType::Custom if count == 0 => {
            let message = "a custom relationship has no criteria";
            let help = "add `criteria`: which values must agree";
            reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
        }
        SuccessorLinkType::Owns | SuccessorLinkType::OwnedBy if count > 0 => {
            let message = format!("`{}` follows from owner references and takes no criteria", found.value);
            let help = "use `custom` to compare values";
            reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
        }
        _ => {}
    }
    let selector = reader.string(item, "selectorPath");
    let path = found.path;
    let selector = selector.unwrap_or(Located { value: "spec.selector".into(), path });
    Some(match kind {
        SuccessorLinkType::Custom => WrittenLink::Custom(criteria),
        SuccessorLinkType::Owns => WrittenLink::Owns,
        SuccessorLinkType::OwnedBy => WrittenLink::OwnedBy,
        SuccessorLinkType::Selects => WrittenLink::Selects(selector, criteria),
        SuccessorLinkType::SelectedBy => WrittenLink::SelectedBy(selector, criteria),
    })
}
