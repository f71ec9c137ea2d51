//! Which requests a policy or a binding is about.

use kubewright_engine::Diagnostic;
use kubewright_k8s::{Operation, Operations, kind_of_resource, resource_name};
use kubewright_value::Text;

use super::{Constraints, ResourceRule, code};
use kubewright_dialect_kit::fields::{Fields, Placed, Reader};
use kubewright_dialect_kit::selector;

/// Reads the constraints at `key`.
pub(crate) fn read<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> Option<Constraints> {
    let fields = reader.object(fields, key)?;
    reader.only(
        &fields,
        &["resourceRules", "excludeResourceRules", "namespaceSelector", "objectSelector", "matchPolicy"],
    );
    if let Some(policy) = reader.string(&fields, "matchPolicy") {
        reader.one_of(&policy, "matchPolicy", &[("Exact", ()), ("Equivalent", ())]);
    }
    Some(Constraints {
        path: fields.path.clone(),
        rules: rules(reader, &fields, "resourceRules"),
        exclude: rules(reader, &fields, "excludeResourceRules"),
        namespace_selector: selector::read(reader, &fields, "namespaceSelector"),
        object_selector: selector::read(reader, &fields, "objectSelector"),
    })
}

fn rules<'d>(reader: &mut Reader<'d>, fields: &Fields<'d>, key: &str) -> Vec<ResourceRule> {
    let items = reader.objects(fields, key).unwrap_or_default();
    items.iter().map(|item| rule(reader, item)).collect()
}

fn rule<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> ResourceRule {
    reader.only(item, &["apiGroups", "apiVersions", "resources", "operations", "resourceNames", "scope"]);
    let scope = reader.string(item, "scope").and_then(|text| {
        reader.one_of(&text, "scope", &[("Cluster", Some(false)), ("Namespaced", Some(true)), ("*", None)])
    });
    ResourceRule {
        path: item.path.clone(),
        groups: some(reader, item, "apiGroups"),
        versions: some(reader, item, "apiVersions"),
        resources: resources(reader, item),
        operations: operations(reader, item),
        names: reader.plain(item, "resourceNames"),
        is_namespaced: scope.flatten(),
    }
}

/// Reads a list that must not be empty.
fn some<'d>(reader: &mut Reader<'d>, item: &Fields<'d>, key: &str) -> Vec<Text> {
    let texts = reader.plain(item, key);
    if texts.is_empty() {
        reader.missing(item, key);
    }
    texts
}

fn resources<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Vec<Placed<Text>> {
    let resources = reader.strings(item, "resources").unwrap_or_default();
    if resources.is_empty() {
        reader.missing(item, "resources");
    }
    for resource in &resources {
        if let Some((message, help)) = no_plural(&resource.value) {
            let location = reader.place(&resource.path);
            reader.report(Diagnostic::new(&code::KIND_NOT_RESOURCE, message, location).help(help));
        }
    }
    resources
}

/// Returns what is wrong with the name of a resource, and what helps.
fn no_plural(text: &str) -> Option<(String, String)> {
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
        (format!("`{text}` is no plural, and `resources` are plural names"), format!("write `{plural}`"))
    })
}

/// Without any the API server refuses the policy; outside a cluster they are all meant.
fn operations<'d>(reader: &mut Reader<'d>, item: &Fields<'d>) -> Operations {
    let texts = reader.strings(item, "operations").unwrap_or_default();
    if texts.is_empty() {
        let location = reader.document.locate_key(&item.path);
        let message = "`operations` is missing, and all of them are taken as meant".to_owned();
        let help = "give `operations: [CREATE, UPDATE]`; the API server does not take a policy without";
        reader.report(Diagnostic::new(&code::NO_OPERATIONS, message, location).help(help));
        return Operations::ALL;
    }
    let mut words: Vec<(&str, Operations)> =
        Operation::ALL.iter().map(|one| (one.name(), Operations::NONE.with(*one))).collect();
    words.push(("*", Operations::ALL));
    let found = texts.iter().filter_map(|text| reader.one_of(text, "operation", &words));
    found.collect::<Vec<_>>().into_iter().fold(Operations::NONE, Operations::and)
}
