//! The dialect with a target, its dependencies, and relationships with criteria.

use std::collections::HashSet;

use kubewright_engine::Diagnostic;
use kubewright_value::Text;

use super::super::diagnostics as code;
use super::super::pattern::{KindRef, Level, List, Presence, Topology};
use super::conditions::{self, Style};
use super::contract::{check_id, ids};
use super::{Definition, Link, Relationship, Resource, Rule, criteria, name, parts, word};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

/// The id by which messages name the target.
const TARGET: &str = "target";
const SEVERITIES: [(&str, Level); 4] =
    [("LOW", Level::Low), ("MEDIUM", Level::Medium), ("HIGH", Level::High), ("CRITICAL", Level::Critical)];

pub(super) fn read<'d>(
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
    let name = name(reader, metadata);
    let display_name = reader.filled(spec, "displayName");
    let category = reader.filled(spec, "category");
    let severity = reader.filled(spec, "severity");
    let severity = severity.and_then(|found| word(reader, &found, "severity", &SEVERITIES));
    let message = reader.filled(spec, "message");
    let reference = reader.string(spec, "reference").map(|found| found.value).unwrap_or_default();
    let description = reader.string(spec, "description").map(|found| found.value).unwrap_or_default();
    reader.string(spec, "for");
    let target = reader.required_object(spec, "target");
    let emits_on_empty =
        target.as_ref().and_then(|target| reader.boolean(target, "emitOnEmpty")).unwrap_or(false);
    let target = target.and_then(|target| resource(reader, &target, Some(TARGET)));
    let dependencies = reader.objects(spec, "dependencies").unwrap_or_default();
    let mut resources: Vec<Resource> = target.into_iter().collect();
    let mut is_whole = !resources.is_empty();
    let mut known: HashSet<Text> = resources.iter().map(|target| target.id.clone()).collect();
    for item in &dependencies {
        let Some(dependency) = resource(reader, item, None) else {
            is_whole = false;
            continue;
        };
        if !known.insert(dependency.id.clone()) {
            let message = format!("two dependencies have the id `{}`, or it is `{TARGET}`", dependency.id);
            let location = reader.place(&child_path(&item.path, "id"));
            reader.report(Diagnostic::new(&code::DUPLICATE_ID, message, location));
        }
        resources.push(dependency);
    }
    let entries = relationships(reader, spec, &resources);
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
        actors: vec![Located { value: TARGET.into(), path: child_path(&spec.path, "target") }],
        resources,
        leader: 0,
        entries,
        minimum: None,
        common_minimum: None,
        emits_on_empty,
        is_unordered: false,
        is_successor: true,
    })
}

/// Reads the target, which has the id `fixed`, or a dependency.
fn resource<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    fixed: Option<&str>,
) -> Option<Resource> {
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
    let kinds = if from_target.is_some() { Some(any_kind()) } else { kinds(reader, item) };
    let mut resource = Resource {
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
    conditions::read(reader, item, Style::Successor, &mut resource);
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

fn kinds<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<Vec<KindRef>> {
    if let Some(category) = reader.string(item, "category") {
        return Some(vec![KindRef::Category(category.value)]);
    }
    match reader.objects(item, "kinds") {
        Some(several) => several.iter().map(|one| kind(reader, one)).collect(),
        None => kind(reader, item).map(|kind| vec![kind]),
    }
}

fn kind<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<KindRef> {
    let kind = reader.filled(item, "kind");
    let api_version = reader.filled(item, "apiVersion");
    reader.string(item, "plural");
    let (group, version) = parts(&api_version?.value);
    let kind = kind?.value;
    Some(KindRef::Kind { kind: (kind != "*").then_some(kind), group, version })
}

fn relationships<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    resources: &[Resource],
) -> Vec<Relationship> {
    let Some(groups) = reader.object(spec, "relationships") else { return Vec::new() };
    reader.only(&groups, &["matchAll", "matchAny", "matchNone"]);
    let mut entries = Vec::new();
    for (key, rule) in [
        ("matchAll", Rule::Matrix { required: true, shared: true }),
        ("matchAny", Rule::OneOf),
        ("matchNone", Rule::Matrix { required: true, shared: false }),
    ] {
        let items = reader.objects(&groups, key).unwrap_or_default();
        for (at, item) in items.iter().enumerate() {
            let id = format!("{key}[{at}]").into();
            entries.extend(relationship(reader, item, resources, rule, id));
        }
    }
    entries
}

fn relationship<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    resources: &[Resource],
    rule: Rule,
    id: Text,
) -> Option<Relationship> {
    reader.only(item, &["with", "type", "criteria", "selectorPath", "description"]);
    let with = reader.filled(item, "with");
    if let Some(with) = &with
        && !resources.iter().skip(1).any(|resource| resource.id == with.value)
    {
        let message = format!("`{}` is no dependency of the pattern", with.value);
        let location = reader.place(&with.path);
        reader.report(Diagnostic::new(&code::UNKNOWN_ID, message, location).help(ids(resources)));
    }
    let link = link(reader, item);
    let description = reader.string(item, "description");
    let target = Located { value: TARGET.into(), path: item.path.clone() };
    Some(Relationship {
        path: item.path.clone(),
        id,
        list: List::Relationships,
        ids: vec![target, with?],
        link: link?,
        at_least: None,
        rule,
        weight: None,
        description,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Custom,
    Owns,
    OwnedBy,
    Selects,
    SelectedBy,
}

fn link<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<Link> {
    let found = reader.filled(item, "type")?;
    let words = [
        ("custom", Type::Custom),
        ("owns", Type::Owns),
        ("ownedBy", Type::OwnedBy),
        ("selects", Type::Selects),
        ("selectedBy", Type::SelectedBy),
    ];
    let kind = word(reader, &found, "relationship type", &words)?;
    let criteria = criteria::read(reader, item);
    let location = reader.place(&found.path);
    let count = reader.array(item, "criteria").map_or(0, |items| items.value.len());
    match kind {
        Type::Custom if count == 0 => {
            let message = "a custom relationship has no criteria";
            let help = "say in `criteria` which values must agree";
            reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
        }
        Type::Owns | Type::OwnedBy if count > 0 => {
            let message = format!("`{}` is known from owner references and takes no criteria", found.value);
            let help = "use `custom` to compare values";
            reader.report(Diagnostic::new(&code::BAD_CRITERIA, message, location).help(help));
        }
        _ => {}
    }
    let selector = reader.string(item, "selectorPath");
    let path = found.path;
    let selector = selector.unwrap_or(Located { value: "spec.selector".into(), path });
    Some(match kind {
        Type::Custom => Link::Custom(criteria),
        Type::Owns => Link::Owns,
        Type::OwnedBy => Link::OwnedBy,
        Type::Selects => Link::Selects(selector, criteria),
        Type::SelectedBy => Link::SelectedBy(selector, criteria),
    })
}
