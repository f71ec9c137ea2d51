//! `derived`: what the helpers of `configurations`, `workload` and `dependencies` give, computed once.
//!
//! The names must be those that the original makes, because they are the names of objects in clusters. Those of secrets
//! change with what they refer to, so that a Pod never reads a stale one.

mod ports;

use std::collections::BTreeMap;

use kubewright_golib::naming::{self, MAX_SUBDOMAIN_CHARS};
use kubewright_value::{Map, Value};

use super::{endpoints, put};

/// Returns `derived` for the other variables of a component.
///
/// Endpoints of `workload` may carry the `schema` that describes them; what it lists is then among the result.
#[must_use]
pub fn derived(workload: &Value, configurations: &Value, dependencies: &Value, metadata: &Value) -> Value {
    let word = |key| metadata.str_at(&[key]);
    let prefix = format!("{}-{}", word("componentName"), word("environmentName"));
    let of = |section, key| list(configurations.at(&[section, key]));
    let (config_envs, secret_envs) = (of("configs", "envs"), of("secrets", "envs"));
    let (config_files, secret_files) = (of("configs", "files"), of("secrets", "files"));
    let given = |key| Value::array(list(dependencies.get(key)).to_vec());

    let configs = (!config_envs.is_empty()).then(|| name(&[&prefix, "env-configs"], ""));
    let secrets =
        (!secret_envs.is_empty()).then(|| name(&[&prefix, "env-secrets"], &references(secret_envs)));
    let config_files: Vec<File<'_>> = config_files.iter().map(|file| File::config(file, &prefix)).collect();
    let secret_files: Vec<File<'_>> = secret_files.iter().map(|file| File::secret(file, &prefix)).collect();
    let files = || config_files.iter().chain(&secret_files);
    Value::object(Map::from([
        ("configFileList", config_files.iter().map(File::listed).collect::<Vec<_>>().into()),
        ("secretFileList", secret_files.iter().map(File::listed).collect::<Vec<_>>().into()),
        ("containerEnvFrom", env_from(configs.as_deref(), secrets.as_deref())),
        ("configVolumeMounts", files().map(File::mount).collect::<Vec<_>>().into()),
        ("configVolumes", volumes(files())),
        ("configEnvs", by_container(configs, config_envs)),
        ("secretEnvs", by_container(secrets, secret_envs)),
        ("servicePorts", ports::service_ports(workload)),
        ("dependencyEnvVars", given("envVars")),
        ("dependencyVolumeMounts", given("volumeMounts")),
        ("dependencyVolumes", given("volumes")),
        ("endpointResources", endpoints::described(workload)),
    ]))
}

/// A file with the object that holds it.
struct File<'v> {
    given: &'v Value,
    object: String,
    is_secret: bool,
}

impl<'v> File<'v> {
    fn config(given: &'v Value, prefix: &str) -> Self {
        let object = name(&[prefix, "config", &text(given, "name").replace('.', "-")], "");
        Self { given, object, is_secret: false }
    }

    fn secret(given: &'v Value, prefix: &str) -> Self {
        let parts = [prefix, "secret", &text(given, "name").replace('.', "-")];
        let reference = given.get("remoteRef").filter(|reference| !reference.is_null());
        let extra = reference.map(|reference| naming::fnv1a(&written(reference))).unwrap_or_default();
        Self { given, object: name(&parts, &extra), is_secret: true }
    }

    fn listed(&self) -> Value {
        let mut map = Map::from([
            ("name", text(self.given, "name").into()),
            ("mountPath", text(self.given, "mountPath").into()),
        ]);
        if !self.is_secret {
            map.insert("value".into(), text(self.given, "value").into());
        }
        map.insert("resourceName".into(), self.object.as_str().into());
        let reference = self.given.get("remoteRef").filter(|reference| !reference.is_null());
        put(&mut map, "remoteRef", reference.cloned());
        Value::object(map)
    }

    fn mount(&self) -> Value {
        Value::object(Map::from([
            ("name", self.volume().into()),
            ("mountPath", self.place().into()),
            ("subPath", text(self.given, "name").into()),
        ]))
    }

    fn volume(&self) -> String {
        format!("file-mount-{}", naming::fnv1a(&self.place()))
    }

    fn place(&self) -> String {
        format!("{}/{}", text(self.given, "mountPath"), text(self.given, "name"))
    }
}

/// Returns one volume for every name, sorted; of two files in one place the last one counts, as for the kubelet.
fn volumes<'f, 'v: 'f>(files: impl Iterator<Item = &'f File<'v>>) -> Value {
    let by_name: BTreeMap<String, &File<'_>> = files.map(|file| (file.volume(), file)).collect();
    let volume = |(name, file): (String, &File<'_>)| {
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

/// There is one container, and nothing for it where there are no variables.
fn by_container(object: Option<String>, envs: &[Value]) -> Value {
    let one = |name: String| {
        Value::object(Map::from([("resourceName", name.into()), ("envs", Value::array(envs.to_vec()))]))
    };
    Value::array(object.map(one).into_iter().collect())
}

/// Returns the hash of all that the variables refer to.
fn references(envs: &[Value]) -> String {
    let all = envs.iter().filter_map(|env| {
        let reference = env.get("remoteRef").filter(|reference| !reference.is_null())?;
        Some(format!("{}\0{}\0", text(env, "name"), written(reference)))
    });
    naming::fnv1a(&all.collect::<String>())
}

fn written(reference: &Value) -> String {
    ["key", "property", "version"].map(|key| text(reference, key)).join("\0")
}

fn name(parts: &[&str], extra: &str) -> String {
    naming::hashed_name(parts, extra, MAX_SUBDOMAIN_CHARS).unwrap_or_default()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.str_at(&[key])
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).unwrap_or_default()
}
