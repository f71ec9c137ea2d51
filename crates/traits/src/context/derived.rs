//! The variable `derived`: the results of the helpers of `configurations`, `workload` and `dependencies`, computed once.
//!
//! The names must equal the original's, because they are the names of objects in clusters. The name of a secret contains
//! a hash of its references, so that a Pod never reads a stale secret.

mod ports;

use std::collections::BTreeMap;

use kubewright_golib::naming::{self, MAX_SUBDOMAIN_CHARS};
use kubewright_value::{Map, Value};

use super::{endpoints, insert_present};

/// Returns `derived` for the other variables of a component.
///
/// If endpoints of `workload` have a `schema`, the result contains the operations it describes.
#[must_use]
pub fn derive_variables(
    workload: &Value,
    configurations: &Value,
    dependencies: &Value,
    metadata: &Value,
) -> Value {
    let word = |key| metadata.str_at(&[key]);
    let prefix = format!("{}-{}", word("componentName"), word("environmentName"));
    let of = |section, key| items_or_empty(configurations.at(&[section, key]));
    let (config_envs, secret_envs) = (of("configs", "envs"), of("secrets", "envs"));
    let (config_files, secret_files) = (of("configs", "files"), of("secrets", "files"));
    let given = |key| Value::array(items_or_empty(dependencies.get(key)).to_vec());

    let configs = (!config_envs.is_empty()).then(|| derived_name(&[&prefix, "env-configs"], ""));
    let secrets = (!secret_envs.is_empty())
        .then(|| derived_name(&[&prefix, "env-secrets"], &hash_references(secret_envs)));
    let config_files: Vec<MountedFile<'_>> =
        config_files.iter().map(|file| MountedFile::config(file, &prefix)).collect();
    let secret_files: Vec<MountedFile<'_>> =
        secret_files.iter().map(|file| MountedFile::secret(file, &prefix)).collect();
    let files = || config_files.iter().chain(&secret_files);
    Value::object(Map::from([
        ("configFileList", config_files.iter().map(MountedFile::listed).collect::<Vec<_>>().into()),
        ("secretFileList", secret_files.iter().map(MountedFile::listed).collect::<Vec<_>>().into()),
        ("containerEnvFrom", env_from(configs.as_deref(), secrets.as_deref())),
        ("configVolumeMounts", files().map(MountedFile::mount).collect::<Vec<_>>().into()),
        ("configVolumes", volumes_of_files(files())),
        ("configEnvs", by_container(configs, config_envs)),
        ("secretEnvs", by_container(secrets, secret_envs)),
        ("servicePorts", ports::service_ports(workload)),
        ("dependencyEnvVars", given("envVars")),
        ("dependencyVolumeMounts", given("volumeMounts")),
        ("dependencyVolumes", given("volumes")),
        ("endpointResources", endpoints::describe_endpoints(workload)),
    ]))
}

/// A mounted file, with the ConfigMap or Secret that contains it.
struct MountedFile<'v> {
    given: &'v Value,
    object: String,
    is_secret: bool,
}

impl<'v> MountedFile<'v> {
    fn config(given: &'v Value, prefix: &str) -> Self {
        let object = derived_name(&[prefix, "config", &text_entry(given, "name").replace('.', "-")], "");
        Self { given, object, is_secret: false }
    }

    fn secret(given: &'v Value, prefix: &str) -> Self {
        let parts = [prefix, "secret", &text_entry(given, "name").replace('.', "-")];
        let reference = given.get("remoteRef").filter(|reference| !reference.is_null());
        let extra =
            reference.map(|reference| naming::fnv1a(&written_reference(reference))).unwrap_or_default();
        Self { given, object: derived_name(&parts, &extra), is_secret: true }
    }

    fn listed(&self) -> Value {
        let mut map = Map::from([
            ("name", text_entry(self.given, "name").into()),
            ("mountPath", text_entry(self.given, "mountPath").into()),
        ]);
        if !self.is_secret {
            map.insert("value".into(), text_entry(self.given, "value").into());
        }
        map.insert("resourceName".into(), self.object.as_str().into());
        let reference = self.given.get("remoteRef").filter(|reference| !reference.is_null());
        insert_present(&mut map, "remoteRef", reference.cloned());
        Value::object(map)
    }

    fn mount(&self) -> Value {
        Value::object(Map::from([
            ("name", self.volume().into()),
            ("mountPath", self.place().into()),
            ("subPath", text_entry(self.given, "name").into()),
        ]))
    }

    fn volume(&self) -> String {
        format!("file-mount-{}", naming::fnv1a(&self.place()))
    }

    fn place(&self) -> String {
        format!("{}/{}", text_entry(self.given, "mountPath"), text_entry(self.given, "name"))
    }
}

/// Returns one volume per name, sorted. Of two files at the same path the last one wins, as in the kubelet.
fn volumes_of_files<'f, 'v: 'f>(files: impl Iterator<Item = &'f MountedFile<'v>>) -> Value {
    let by_name: BTreeMap<String, &MountedFile<'_>> = files.map(|file| (file.volume(), file)).collect();
    let volume = |(name, file): (String, &MountedFile<'_>)| {
        let (kind, key) = if file.is_secret { ("secret", "secretName") } else { ("configMap", "name") };
        let source = Map::from([(key, file.object.as_str().into())]);
        Value::object(Map::from([("name", name.into()), (kind, Value::object(source))]))
    };
    Value::array(by_name.into_iter().map(volume).collect())
}

fn env_from(configs: Option<&str>, secrets: Option<&str>) -> Value {
    let named = |kind: &str, name: &str| {
        Value::object(Map::from([(kind, Value::object(Map::from([("name", name.into())])))]))
    };
    let configs = configs.map(|name| named("configMapRef", name));
    let secrets = secrets.map(|name| named("secretRef", name));
    Value::array(configs.into_iter().chain(secrets).collect())
}

/// Returns the variables of the one container; an empty list without variables.
fn by_container(object: Option<String>, envs: &[Value]) -> Value {
    let one = |name: String| {
        Value::object(Map::from([("resourceName", name.into()), ("envs", Value::array(envs.to_vec()))]))
    };
    Value::array(object.map(one).into_iter().collect())
}

/// Returns the hash of all references of the variables.
fn hash_references(envs: &[Value]) -> String {
    let all = envs.iter().filter_map(|env| {
        let reference = env.get("remoteRef").filter(|reference| !reference.is_null())?;
        Some(format!("{}\0{}\0", text_entry(env, "name"), written_reference(reference)))
    });
    naming::fnv1a(&all.collect::<String>())
}

fn written_reference(reference: &Value) -> String {
    ["key", "property", "version"].map(|key| text_entry(reference, key)).join("\0")
}

fn derived_name(parts: &[&str], extra: &str) -> String {
    naming::hashed_name(parts, extra, MAX_SUBDOMAIN_CHARS).unwrap_or_default()
}

fn text_entry<'v>(value: &'v Value, key: &str) -> &'v str {
    value.str_at(&[key])
}

fn items_or_empty(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).unwrap_or_default()
}
