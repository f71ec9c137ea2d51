//! Reads the context entries of a rule or a loop.

use kubewright_engine::Diagnostic;
use kubewright_value::{Text, Value};

use super::super::diagnostics as code;
use super::{ContextEntry, ContextSource, RegistryCredentials, Service, owned_value};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located};

const SOURCES: [&str; 5] = ["configMap", "apiCall", "imageRegistry", "variable", "globalReference"];

/// Reads the entries of a `context`.
pub(super) fn read_context<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Vec<ContextEntry> {
    let items = reader.objects(fields, "context").unwrap_or_default();
    items.iter().filter_map(|item| read_context_entry(reader, item)).collect()
}

fn read_context_entry<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<ContextEntry> {
    reader.only(item, &["name", "configMap", "apiCall", "imageRegistry", "variable", "globalReference"]);
    let name = reader.required_string(item, "name");
    let given: Vec<&str> = SOURCES.into_iter().filter(|key| reader.any(item, key).is_some()).collect();
    let [key] = given.as_slice() else {
        let message = match given.as_slice() {
            [] => "the context entry does not say where its value comes from".to_owned(),
            [first, second, ..] => format!("the context entry has both `{first}` and `{second}`"),
            [_] => String::new(),
        };
        let help = format!("give exactly one of {}", SOURCES.map(|key| format!("`{key}`")).join(", "));
        let location = reader.place(&item.path);
        reader.report(Diagnostic::new(&code::CONTEXT_SOURCE, message, location).help(help));
        return None;
    };
    let source = reader.object(item, key)?;
    let from = match *key {
        "configMap" => config_map(reader, &source)?,
        "apiCall" => api_call(reader, &source),
        "imageRegistry" => image_registry(reader, &source)?,
        "globalReference" => global_reference(reader, &source)?,
        _ => read_context_variable(reader, &source),
    };
    Some(ContextEntry { name: name?, path: item.path.clone(), from })
}

fn read_context_variable<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> ContextSource {
    reader.only(fields, &["value", "jmesPath", "default"]);
    ContextSource::Variable {
        value: reader.any(fields, "value").map(owned_value),
        jmes_path: read_jmespath_field(reader, fields),
        default: reader.any(fields, "default").map(owned_value),
    }
}

fn config_map<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<ContextSource> {
    reader.only(fields, &["name", "namespace"]);
    let namespace = reader.string(fields, "namespace").filter(|text| !text.value.is_empty());
    let name = reader.required_string(fields, "name")?;
    Some(ContextSource::ConfigMap { name, namespace })
}

fn api_call<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> ContextSource {
    reader.only(fields, &["urlPath", "service", "method", "data", "jmesPath", "default"]);
    let service = reader.object(fields, "service").and_then(|service| {
        reader.only(&service, &["url", "headers", "caBundle"]);
        let headers = read_key_value_list(reader, &service, "headers");
        let ca_bundle = reader.string(&service, "caBundle").map(|text| text.value).unwrap_or_default();
        Some(Service { url: reader.required_string(&service, "url")?, headers, ca_bundle })
    });
    let method = reader.string(fields, "method");
    let method = method.and_then(|text| reader.one_of(&text, "method", &[("GET", "GET"), ("POST", "POST")]));
    ContextSource::ApiCall {
        url_path: reader.string(fields, "urlPath").filter(|text| !text.value.is_empty()),
        service,
        method: Text::new(method.unwrap_or("GET")),
        data: read_key_value_list(reader, fields, "data"),
        jmes_path: read_jmespath_field(reader, fields),
        default: reader.any(fields, "default").map(owned_value),
    }
}

/// Reads a list of `key` and `value`.
fn read_key_value_list<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Vec<(Text, Located<Value>)> {
    let mut pairs = Vec::new();
    for item in reader.objects(fields, key).unwrap_or_default() {
        reader.only(&item, &["key", "value"]);
        let value = reader.any(&item, "value").map(owned_value);
        if value.is_none() {
            reader.missing(&item, "value");
        }
        if let (Some(key), Some(value)) = (reader.required_string(&item, "key"), value) {
            pairs.push((key.value, value));
        }
    }
    pairs
}

fn image_registry<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<ContextSource> {
    reader.only(fields, &["reference", "jmesPath", "imageRegistryCredentials"]);
    let mut credentials = RegistryCredentials::default();
    if let Some(given) = reader.object(fields, "imageRegistryCredentials") {
        // Helpers and providers are programs of a cloud, which are not run here.
        reader.only(&given, &["allowInsecureRegistry", "helpers", "providers", "secrets"]);
        credentials.is_insecure = reader.boolean(&given, "allowInsecureRegistry").unwrap_or_default();
        credentials.secrets = reader.plain(&given, "secrets");
    }
    let jmes_path = read_jmespath_field(reader, fields);
    let reference = reader.required_string(fields, "reference")?;
    Some(ContextSource::ImageRegistry { reference, credentials, jmes_path })
}

fn global_reference<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<ContextSource> {
    reader.only(fields, &["name", "jmesPath"]);
    let jmes_path = read_jmespath_field(reader, fields);
    let name = reader.required_string(fields, "name")?;
    Some(ContextSource::GlobalReference { name, jmes_path })
}

/// Reads a `jmesPath`; an empty one counts as absent.
fn read_jmespath_field<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> Option<Located<Text>> {
    reader.string(fields, "jmesPath").filter(|text| !text.value.is_empty())
}
