//! Which objects and whose requests: `match` and `exclude`, with selectors and subjects.

use kubewright_k8s::Operation;

use super::{Match, ResourceFilter, SubjectFilter, SubjectKind};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader};
use kubewright_dialect_kit::selector;

const USER_FIELDS: [&str; 3] = ["subjects", "roles", "clusterRoles"];

/// Reads a `match` or `exclude`; the older form without `any` and `all` is kept apart.
pub(super) fn read_match<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Match {
    let mark = reader.diagnostics.len();
    reader.only(fields, &["any", "all", "resources", "subjects", "roles", "clusterRoles"]);
    let has_flat =
        std::iter::once("resources").chain(USER_FIELDS).any(|key| reader.any(fields, key).is_some());
    Match {
        any: read_filters(reader, fields, "any"),
        all: read_filters(reader, fields, "all"),
        flat: has_flat.then(|| read_filter(reader, fields, mark)),
        path: fields.path.clone(),
    }
}

const IN_RESOURCES: &str = "it goes into `resources`";

/// Where fields belong that people write into an entry of `any` or `all`.
const NOT_IN_ENTRY: &[(&str, &str)] = &[
    ("kinds", IN_RESOURCES),
    ("name", IN_RESOURCES),
    ("names", IN_RESOURCES),
    ("namespaces", IN_RESOURCES),
    ("operations", IN_RESOURCES),
    ("annotations", IN_RESOURCES),
    ("selector", IN_RESOURCES),
    ("namespaceSelector", IN_RESOURCES),
    ("kind", "subjects are a list: `subjects: [{kind: …, name: …}]`"),
];

fn read_filters<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Vec<ResourceFilter> {
    let items = reader.objects(fields, key).unwrap_or_default();
    let mut filters = Vec::with_capacity(items.len());
    for item in &items {
        let mark = reader.diagnostics.len();
        reader.only_or(item, &["resources", "subjects", "roles", "clusterRoles"], NOT_IN_ENTRY);
        filters.push(read_filter(reader, item, mark));
    }
    filters
}

/// Reads one entry, whose errors follow the first `mark` diagnostics.
fn read_filter<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    mark: usize,
) -> ResourceFilter {
    let mut filter = ResourceFilter { path: item.path.clone(), ..ResourceFilter::default() };
    if let Some(resources) = reader.object(item, "resources") {
        read_resource_filter(reader, &resources, &mut filter);
    }
    let subjects = reader.objects(item, "subjects").unwrap_or_default();
    filter.subjects = subjects.iter().filter_map(|item| read_subject(reader, item)).collect();
    filter.roles = reader.plain(item, "roles");
    filter.cluster_roles = reader.plain(item, "clusterRoles");
    filter.is_faulty = reader.has_error_since(mark);
    filter
}

fn read_resource_filter<'d>(
    reader: &mut DocumentReader<'d>,
    resources: &DocumentFields<'d>,
    filter: &mut ResourceFilter,
) {
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
    filter.annotations = reader.pairs(resources, "annotations");
    filter.selector = selector::read_selector(reader, resources, "selector");
    filter.namespace_selector = selector::read_selector(reader, resources, "namespaceSelector");
    let words = Operation::ALL.map(|operation| (operation.name(), operation));
    let operations = reader.strings(resources, "operations").unwrap_or_default();
    filter.operations =
        operations.iter().filter_map(|text| reader.one_of(text, "operation", &words)).collect();
}

fn read_subject<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Option<SubjectFilter> {
    reader.only(item, &["kind", "name", "namespace", "apiGroup"]);
    let words = [
        ("User", SubjectKind::User),
        ("Group", SubjectKind::Group),
        ("ServiceAccount", SubjectKind::ServiceAccount),
    ];
    let namespace = reader.string(item, "namespace").map(|text| text.value).unwrap_or_default();
    let name = reader.required_string(item, "name");
    let kind = reader.required_string(item, "kind")?;
    let kind = reader.one_of(&kind, "kind of subject", &words)?;
    let name = name?.value;
    if kind == SubjectKind::ServiceAccount && namespace.is_empty() {
        reader.missing(item, "namespace");
        return None;
    }
    Some(SubjectFilter { kind, name, namespace })
}
