//! A ComponentType or ClusterComponentType.

use kubewright_engine::Diagnostic;
use kubewright_value::{Text, Value};

use super::parts::{self, RULE_FIELDS, SCHEMA_FIELDS};
use super::{ComponentTypeDefinition, TraitName, TraitUse, code};
use crate::admission;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

const WORKLOAD_TYPES: [&str; 5] = ["deployment", "statefulset", "cronjob", "job", "proxy"];

pub(super) fn read_component_type(
    reader: &mut DocumentReader<'_>,
    is_cluster: bool,
) -> Option<ComponentTypeDefinition> {
    let (metadata, spec) = parts::read_metadata_and_spec(reader)?;
    let own = ["workloadType", "traits", "allowedTraits", "allowedWorkflows", "resources"];
    let known: Vec<&str> = SCHEMA_FIELDS.iter().chain(&RULE_FIELDS).chain(&own).copied().collect();
    reader.only(&spec, &known);
    parts::read_renamed_field(reader, &spec, "environmentConfigs", "envOverrides");
    let workload_type = reader.string(&spec, "workloadType").filter(|kind| !kind.value.is_empty());
    if let Some(found) = &workload_type {
        reader.one_of(found, "workload type", &WORKLOAD_TYPES.map(|word| (word, ())));
    }
    let sections = parts::read_schemas(reader, &spec);
    let before = parts::read_pre_render_validations(reader, &spec);
    let after = parts::read_post_render_validations(reader, &spec);
    let traits = read_trait_uses(reader, &spec, Some(is_cluster));
    let allowed_traits = read_allowed_traits(reader, &spec, is_cluster);
    let resources = parts::read_templates(reader, &spec, "resources");
    if let Some(workload_type) = &workload_type {
        let templates: Vec<&Value> = resources.iter().map(|resource| &resource.template.value).collect();
        for problem in admission::check_workload_resources(&workload_type.value, &templates) {
            let path = match problem.item.and_then(|item| resources.get(item)) {
                Some(resource) => problem
                    .inside
                    .iter()
                    .fold(resource.template.path.clone(), |path, key| child_path(&path, *key)),
                None => child_path(&spec.path, "resources"),
            };
            let location = reader.document.locate_key(&path);
            reader.report(Diagnostic::new(problem.code, problem.message, location));
        }
    }
    Some(ComponentTypeDefinition {
        metadata,
        is_cluster,
        workload_type,
        sections,
        before,
        after,
        traits,
        allowed_traits,
        resources,
    })
}

/// Returns the traits that are used, with what is given to them; `embedding` says that a component type uses them, and
/// whether it is there for the whole cluster.
pub(super) fn read_trait_uses<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    embedding: Option<bool>,
) -> Vec<TraitUse> {
    let mut uses: Vec<TraitUse> = Vec::new();
    let is_embedded = embedding.is_some();
    for fields in reader.objects(spec, "traits").unwrap_or_default() {
        let embedded: &[&str] = if is_embedded { &["environmentConfigs", "envOverrides"] } else { &[] };
        let known: Vec<&str> =
            ["kind", "name", "instanceName", "parameters"].iter().chain(embedded).copied().collect();
        reader.only(&fields, &known);
        let is_cluster = is_cluster_trait(reader, &fields, embedding.unwrap_or_default());
        let (name, instance) = (reader.filled(&fields, "name"), reader.filled(&fields, "instanceName"));
        let (Some(name), Some(instance)) = (name, instance) else { continue };
        if uses.iter().any(|known| known.instance.value == instance.value) {
            let message = format!("duplicate instance name `{}`", instance.value);
            let location = reader.place(&instance.path);
            let help = "give each use of a trait a name of its own";
            reader.report(Diagnostic::new(&code::DUPLICATE_INSTANCE, message, location).help(help));
        }
        let environment = parts::read_renamed_field(reader, &fields, "environmentConfigs", "envOverrides");
        uses.push(TraitUse {
            name: TraitName { is_cluster, name: name.value },
            instance,
            parameters: parts::read_raw_value(reader, &fields, "parameters"),
            environment_configs: parts::read_raw_value(reader, &fields, environment).filter(|_| is_embedded),
            path: fields.path,
        });
    }
    uses
}

/// Returns `allowedTraits`: objects, or names alone as they were written once.
fn read_allowed_traits<'d>(
    reader: &mut DocumentReader<'d>,
    spec: &DocumentFields<'d>,
    otherwise: bool,
) -> Vec<TraitName> {
    let Some(items) = reader.array(spec, "allowedTraits") else { return Vec::new() };
    if items.value.iter().all(|item| item.as_str().is_some()) {
        let names = items.value.iter().filter_map(Value::as_str);
        return names.map(|name| TraitName { is_cluster: otherwise, name: Text::new(name) }).collect();
    }
    let mut names = Vec::new();
    for fields in reader.objects(spec, "allowedTraits").unwrap_or_default() {
        reader.only(&fields, &["kind", "name"]);
        let is_cluster = is_cluster_trait(reader, &fields, otherwise);
        let Some(Located { value: name, .. }) = reader.filled(&fields, "name") else { continue };
        names.push(TraitName { is_cluster, name });
    }
    names
}

/// Reads the kind of a trait. What is there for the whole cluster can only have traits that are, too, so that it need not
/// say so.
fn is_cluster_trait<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    otherwise: bool,
) -> bool {
    let is_said = reader.any(fields, "kind").is_some_and(|kind| kind.value.as_str() != Some(""));
    let is_cluster = read_is_cluster_kind(reader, fields, "Trait", "ClusterTrait");
    if is_said { is_cluster } else { otherwise }
}

/// Reads `kind`, one of two; the default is the first.
pub(super) fn read_is_cluster_kind<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    one: &'static str,
    cluster: &'static str,
) -> bool {
    let Some(kind) = reader.string(fields, "kind").filter(|kind| !kind.value.is_empty()) else {
        return false;
    };
    reader.one_of(&kind, "kind", &[(one, false), (cluster, true)]).unwrap_or(false)
}
