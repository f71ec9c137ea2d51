//! The variable `configurations`: environment variables and files, plain ones apart from those in a secret store.

use kubewright_engine::Diagnostic;
use kubewright_value::suggest::did_you_mean;
use kubewright_value::{Document, Map, Value};

use super::super::diagnostics as code;
use super::super::named_resources::NamedResources;
use super::super::source::{ConfigVariable, SecretReference, SecretSource};
use super::insert_present;

/// A variable or file, with its document.
#[derive(Clone, Copy)]
pub(crate) struct SourcedVariable<'a> {
    pub(crate) variable: &'a ConfigVariable,
    pub(crate) document: &'a Document,
}

/// The SecretReferences that a component in a namespace may use.
#[derive(Clone, Copy)]
pub(crate) struct VisibleSecrets<'a> {
    pub(crate) all: &'a NamedResources<SecretReference>,
    pub(crate) namespace: Option<&'a str>,
}

/// Returns `configurations`. An entry that names a missing secret is left out and reported.
pub(crate) fn resolve_configurations(
    env: &[SourcedVariable<'_>],
    files: &[SourcedVariable<'_>],
    secrets: VisibleSecrets<'_>,
) -> (Value, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let (configs_env, secrets_env) = split_by_source(env, secrets, &mut diagnostics);
    let (configs_files, secrets_files) = split_by_source(files, secrets, &mut diagnostics);
    let both =
        |env, files| Value::object(Map::from([("envs", Value::array(env)), ("files", Value::array(files))]));
    let value = Map::from([
        ("configs", both(configs_env, configs_files)),
        ("secrets", both(secrets_env, secrets_files)),
    ]);
    (Value::object(value), diagnostics)
}

fn split_by_source(
    settings: &[SourcedVariable<'_>],
    secrets: VisibleSecrets<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Vec<Value>, Vec<Value>) {
    let (mut plain, mut secret) = (Vec::new(), Vec::new());
    for setting in settings {
        let variable = setting.variable;
        let Some((name, key)) = &variable.secret else {
            plain.push(configuration_entry(variable, variable.value.as_deref().unwrap_or_default(), None));
            continue;
        };
        match find_secret_source(secrets, name, key) {
            Ok(source) => secret.push(configuration_entry(variable, "", Some(source))),
            Err((message, help)) => {
                let location = setting.document.locate(&variable.path);
                diagnostics.push(Diagnostic::new(&code::UNKNOWN_SECRET, message, location).help(help));
            }
        }
    }
    (plain, secret)
}

fn find_secret_source<'s>(
    secrets: VisibleSecrets<'s>,
    name: &str,
    key: &str,
) -> Result<&'s SecretSource, (String, String)> {
    let Some(reference) = secrets.all.find(name, secrets.namespace) else {
        let help = match secrets.all.nearest(name) {
            Some(near) => did_you_mean(near),
            None => "add the SecretReference to the files that are read".to_owned(),
        };
        return Err((format!("there is no SecretReference `{name}`"), help));
    };
    let found = reference.data.iter().find(|source| source.key == key);
    found.ok_or_else(|| {
        let known: Vec<String> = reference.data.iter().map(|source| format!("`{}`", source.key)).collect();
        (format!("the SecretReference `{name}` has no key `{key}`"), format!("it has {}", known.join(", ")))
    })
}

fn configuration_entry(variable: &ConfigVariable, value: &str, source: Option<&SecretSource>) -> Value {
    let mut map = Map::from([("name", variable.key.clone().into())]);
    insert_present(&mut map, "mountPath", variable.mount_path.clone());
    insert_present(&mut map, "value", Some(value));
    insert_present(&mut map, "remoteRef", source.map(remote_reference));
    Value::object(map)
}

fn remote_reference(source: &SecretSource) -> Value {
    let mut map = Map::from([("key", source.remote_key.clone().unwrap_or_default().into())]);
    insert_present(&mut map, "property", source.property.clone());
    insert_present(&mut map, "version", source.version.clone());
    Value::object(map)
}
