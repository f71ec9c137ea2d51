//! Which objects and whose requests: `match` and `exclude`, with selectors and subjects.

use kubewright_engine::Operation;
use kubewright_value::Text;

use super::{Filter, LabelOperator, Match, Requirement, Selector, Subject, SubjectKind, one_of};
use crate::fields::{Fields, Reader};

const USER_FIELDS: [&str; 3] = ["subjects", "roles", "clusterRoles"];

/// Reads a `match` or `exclude`; the older form without `any` and `all` is kept apart.
pub(super) fn matching<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>) -> Match {
    reader.only(fields, &["any", "all", "resources", "subjects", "roles", "clusterRoles"]);
    let has_flat =
        std::iter::once("resources").chain(USER_FIELDS).any(|key| reader.any(fields, key).is_some());
    Match {
        any: filters(reader, fields, "any"),
        all: filters(reader, fields, "all"),
        flat: has_flat.then(|| filter(reader, fields)),
        path: fields.path.clone(),
    }
}

/// Reads a label selector.
pub(super) fn selector<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> Option<Selector> {
    let selector = reader.object(fields, key)?;
    reader.only(&selector, &["matchLabels", "matchExpressions"]);
    let labels = pairs(reader, &selector, "matchLabels");
    let items = reader.objects(&selector, "matchExpressions").unwrap_or_default();
    let expressions = items.iter().filter_map(|item| requirement(reader, item)).collect();
    Some(Selector { path: selector.path, labels, expressions })
}

fn filters<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> Vec<Filter> {
    let items = reader.objects(fields, key).unwrap_or_default();
    let mut filters = Vec::with_capacity(items.len());
    for item in &items {
        reader.only(item, &["resources", "subjects", "roles", "clusterRoles"]);
        filters.push(filter(reader, item));
    }
    filters
}

fn filter<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Filter {
    let mut filter = Filter { path: item.path.clone(), ..Filter::default() };
    if let Some(resources) = reader.object(item, "resources") {
        resource(reader, &resources, &mut filter);
    }
    let subjects = reader.objects(item, "subjects").unwrap_or_default();
    filter.subjects = subjects.iter().filter_map(|item| subject(reader, item)).collect();
    filter.roles = plain(reader, item, "roles");
    filter.cluster_roles = plain(reader, item, "clusterRoles");
    filter
}

fn resource<'d>(reader: &mut Reader<'d>, resources: &Fields<'d>, filter: &mut Filter) {
    let known = [
        "kinds",
        "name",
        "names",
        "namespaces",
        "operations",
        "annotations",
        "selector",
        "namespaceSelector",
    ];
    reader.only(resources, &known);
    filter.kinds = reader.strings(resources, "kinds").unwrap_or_default();
    filter.name = reader.string(resources, "name").filter(|name| !name.value.is_empty());
    filter.names = reader.strings(resources, "names").unwrap_or_default();
    filter.namespaces = reader.strings(resources, "namespaces").unwrap_or_default();
    filter.annotations = pairs(reader, resources, "annotations");
    filter.selector = selector(reader, resources, "selector");
    filter.namespace_selector = selector(reader, resources, "namespaceSelector");
    let words = Operation::ALL.map(|operation| (operation.name(), operation));
    let operations = reader.strings(resources, "operations").unwrap_or_default();
    filter.operations =
        operations.iter().filter_map(|text| one_of(reader, text, "operation", &words)).collect();
}

/// Reads a list of texts whose places nobody asks for.
pub(super) fn plain<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> Vec<Text> {
    let texts = reader.strings(fields, key).unwrap_or_default();
    texts.into_iter().map(|text| text.value).collect()
}

fn pairs<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> Vec<(Text, Text)> {
    let texts = reader.texts(fields, key).unwrap_or_default();
    texts.into_iter().map(|(name, text)| (name, text.value)).collect()
}

fn requirement<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Option<Requirement> {
    reader.only(item, &["key", "operator", "values"]);
    let values = plain(reader, item, "values");
    let key = reader.required_string(item, "key");
    let operator = reader.required_string(item, "operator")?;
    let words = [
        ("In", LabelOperator::In),
        ("NotIn", LabelOperator::NotIn),
        ("Exists", LabelOperator::Exists),
        ("DoesNotExist", LabelOperator::DoesNotExist),
    ];
    let operator = one_of(reader, &operator, "operator", &words)?;
    Some(Requirement { key: key?.value, operator, values })
}

fn subject<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Option<Subject> {
    reader.only(item, &["kind", "name", "namespace", "apiGroup"]);
    let words = [
        ("User", SubjectKind::User),
        ("Group", SubjectKind::Group),
        ("ServiceAccount", SubjectKind::ServiceAccount),
    ];
    let namespace = reader.string(item, "namespace").map(|text| text.value).unwrap_or_default();
    let name = reader.required_string(item, "name");
    let kind = reader.required_string(item, "kind")?;
    let kind = one_of(reader, &kind, "kind of subject", &words)?;
    let name = name?.value;
    if kind == SubjectKind::ServiceAccount && namespace.is_empty() {
        reader.missing(item, "namespace");
        return None;
    }
    Some(Subject { kind, name, namespace })
}
