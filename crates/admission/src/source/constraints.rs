//! Reads the constraints of a policy or a binding.

use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_k8s::{Operation, Operations, kind_of_resource, resource_name};
use kubewright_value::Text;

use super::{ConstraintPlaces, ConstraintsSource, ResourceRule, code};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};
use kubewright_dialect_kit::selector;

/// Reads the constraints at `key`.
pub(crate) fn read_constraints<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<ConstraintsSource> {
    let fields = reader.object(fields, key)?;
    reader.only(
        &fields,
        &["resourceRules", "excludeResourceRules", "namespaceSelector", "objectSelector", "matchPolicy"],
    );
    if let Some(policy) = reader.string(&fields, "matchPolicy") {
        reader.one_of(&policy, "matchPolicy", &[("Exact", ()), ("Equivalent", ())]);
    }
    let rules = read_resource_rules(reader, &fields, "resourceRules");
    let place = |key: &str| reader.document.locate_key(&child_path(&fields.path, key));
    let named = rules.first().and_then(|rule| rule.resources.first());
    let places = ConstraintPlaces {
        rules: named.map_or_else(|| place("resourceRules"), |resource| reader.place(&resource.path)),
        exclude: place("excludeResourceRules"),
        namespaces: place("namespaceSelector"),
        objects: place("objectSelector"),
    };
    Some(ConstraintsSource {
        path: fields.path.clone(),
        places: Some(Arc::new(places)),
        rules,
        exclude: read_resource_rules(reader, &fields, "excludeResourceRules"),
        namespace_selector: selector::read_selector(reader, &fields, "namespaceSelector"),
        object_selector: selector::read_selector(reader, &fields, "objectSelector"),
    })
}

fn read_resource_rules<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Vec<ResourceRule> {
    let items = reader.objects(fields, key).unwrap_or_default();
    items.iter().map(|item| read_resource_rule(reader, item)).collect()
}

fn read_resource_rule<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> ResourceRule {
    reader.only(item, &["apiGroups", "apiVersions", "resources", "operations", "resourceNames", "scope"]);
    let scope = reader.string(item, "scope").and_then(|text| {
        reader.one_of(&text, "scope", &[("Cluster", Some(false)), ("Namespaced", Some(true)), ("*", None)])
    });
    ResourceRule {
        path: item.path.clone(),
        groups: read_nonempty_list(reader, item, "apiGroups"),
        versions: read_nonempty_list(reader, item, "apiVersions"),
        resources: read_resources(reader, item),
        operations: read_operations(reader, item),
        names: reader.plain(item, "resourceNames"),
        is_namespaced: scope.flatten(),
    }
}

/// Reads a list that must not be empty.
fn read_nonempty_list<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    key: &str,
) -> Vec<Text> {
    let texts = reader.plain(item, key);
    if texts.is_empty() {
        reader.missing(item, key);
    }
    texts
}

fn read_resources<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Vec<Located<Text>> {
    let resources = reader.strings(item, "resources").unwrap_or_default();
    if resources.is_empty() {
        reader.missing(item, "resources");
    }
    for resource in &resources {
        if let Some((message, help)) = resource_name_problem(&resource.value) {
            let location = reader.place(&resource.path);
            reader.report(Diagnostic::new(&code::KIND_NOT_RESOURCE, message, location).help(help));
        }
    }
    resources
}

/// Returns the problem of a resource name, and a suggestion.
fn resource_name_problem(text: &str) -> Option<(String, String)> {
    let name = text.split('/').next().unwrap_or_default();
    if name.chars().next().is_some_and(char::is_uppercase) {
        let message = format!("`{text}` is a kind, and `resources` are plural names");
        return Some((message, format!("write `{}`", resource_name(name))));
    }
    if name.chars().any(char::is_uppercase) {
        let message = format!("`{text}` has capitals, and the names of `resources` have none");
        return Some((message, format!("write `{}`", text.to_lowercase())));
    }
    let plural = resource_name(name);
    let is_singular = kind_of_resource(name).is_none() && kind_of_resource(&plural).is_some();
    is_singular.then(|| {
        (format!("`{text}` is not a plural, but `resources` are plural names"), format!("write `{plural}`"))
    })
}

/// The API server refuses a policy without operations; outside a cluster it matches all of them.
fn read_operations<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Operations {
    let texts = reader.strings(item, "operations").unwrap_or_default();
    if texts.is_empty() {
        let location = reader.document.locate_key(&item.path);
        let message = "`operations` is missing, so all operations match".to_owned();
        let help = "give `operations: [CREATE, UPDATE]`; the API server refuses a policy without them";
        reader.report(Diagnostic::new(&code::NO_OPERATIONS, message, location).help(help));
        return Operations::ALL;
    }
    let mut words: Vec<(&str, Operations)> =
        Operation::ALL.iter().map(|one| (one.name(), Operations::NONE.with(*one))).collect();
    words.push(("*", Operations::ALL));
    let found = texts.iter().filter_map(|text| reader.one_of(text, "operation", &words));
    found.collect::<Vec<_>>().into_iter().fold(Operations::NONE, Operations::and)
}
