//! The parts of a Pod that the standards are about, read once.

use kubewright_engine::EvalError;
use kubewright_value::{Budget, Kind, Map, Value};

use crate::fields::article;
use crate::kyverno::source::Workload;

/// A Pod, or the description of one.
#[derive(Default)]
pub(super) struct Pod<'a> {
    pub(super) annotations: Option<&'a Map>,
    pub(super) is_windows: bool,
    /// `hostUsers: false`
    pub(super) has_own_users: bool,
    pub(super) host_network: bool,
    pub(super) host_pid: bool,
    pub(super) host_ipc: bool,
    pub(super) security: Security<'a>,
    pub(super) sysctls: Vec<&'a str>,
    pub(super) volumes: Vec<Volume<'a>>,
    /// Of all three lists: init containers, containers, ephemeral ones.
    pub(super) containers: Vec<Container<'a>>,
}

/// A container.
#[derive(Clone, Default)]
pub(super) struct Container<'a> {
    pub(super) list: List,
    pub(super) index: usize,
    pub(super) name: &'a str,
    pub(super) image: &'a str,
    pub(super) security: Security<'a>,
    /// The host ports that are not 0, with the index of the port.
    pub(super) host_ports: Vec<(usize, i64)>,
    /// The hosts that probes and lifecycle handlers name, each with its field.
    pub(super) hosts: Vec<(&'static str, &'a str)>,
}

/// Which list a container is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum List {
    Init,
    #[default]
    Main,
    Ephemeral,
}

impl List {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Init => "initContainers",
            Self::Main => "containers",
            Self::Ephemeral => "ephemeralContainers",
        }
    }
}

/// A security context, of a Pod or of a container.
#[derive(Clone, Default)]
pub(super) struct Security<'a> {
    pub(super) is_given: bool,
    pub(super) privileged: Option<bool>,
    pub(super) allow_privilege_escalation: Option<bool>,
    pub(super) run_as_non_root: Option<bool>,
    pub(super) run_as_user: Option<i64>,
    pub(super) proc_mount: Option<&'a str>,
    pub(super) capabilities: Option<Capabilities<'a>>,
    /// The type of the profile, empty when it has none.
    pub(super) seccomp: Option<&'a str>,
    /// The type of the profile, empty when it has none.
    pub(super) app_armor: Option<&'a str>,
    pub(super) se_linux: Option<SeLinux<'a>>,
    pub(super) is_host_process: bool,
}

#[derive(Clone, Default)]
pub(super) struct Capabilities<'a> {
    pub(super) add: Vec<&'a str>,
    pub(super) drop: Vec<&'a str>,
}

#[derive(Clone, Copy, Default)]
pub(super) struct SeLinux<'a> {
    pub(super) kind: &'a str,
    pub(super) user: &'a str,
    pub(super) role: &'a str,
}

/// A volume.
#[derive(Clone, Copy)]
pub(super) struct Volume<'a> {
    /// The path of a `hostPath`.
    pub(super) host_path: Option<&'a str>,
    /// The type, when it is none of those that everybody may use.
    pub(super) restricted: Option<&'static str>,
}

/// What every Pod may mount.
const FREE_VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// What only some Pods may mount, in the order in which they are looked for.
pub(super) const RESTRICTED_VOLUMES: [&str; 21] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
];

impl<'a> Pod<'a> {
    /// Reads the Pod that `object` is or describes. A part of another type than Kubernetes has is an error.
    pub(super) fn read(
        object: &'a Value,
        workload: Workload,
        budget: &mut Budget,
    ) -> Result<Self, EvalError> {
        let mut pod = Self::default();
        let mut described = Some(object);
        for key in workload.keys() {
            described = described.and_then(|value| value.get(key));
        }
        let Some(described) = described else { return Ok(pod) };
        pod.annotations = annotations(described)
            .map_err(|malformed| malformed.below("metadata.annotations").into_error(workload))?;
        let Some(spec) = described.get("spec").filter(|spec| !spec.is_null()) else { return Ok(pod) };
        budget.step(1 + size(spec) + pod.annotations.map_or(0, |map| map.len() as u64))?;
        pod.spec(spec).map_err(|malformed| malformed.below("spec").into_error(workload))?;
        Ok(pod)
    }

    fn spec(&mut self, spec: &'a Value) -> Result<(), Malformed> {
        for (key, value) in entries(spec)? {
            match key {
                "hostNetwork" => self.host_network = flag(value, key)?,
                "hostPID" => self.host_pid = flag(value, key)?,
                "hostIPC" => self.host_ipc = flag(value, key)?,
                "hostUsers" => self.has_own_users = !flag(value, key)?,
                "os" => self.is_windows = field(value, "name", key)? == "windows",
                "volumes" => {
                    self.volumes = list(value, key)?.iter().map(Volume::read).collect::<Result<_, _>>()?;
                }
                "securityContext" => {
                    self.security = Security::read(value)?;
                    if let Some(sysctls) = value.get("sysctls").filter(|value| !value.is_null()) {
                        let names = list(sysctls, "sysctls")?.iter().map(|one| field(one, "name", "sysctls"));
                        self.sysctls = names.collect::<Result<_, _>>()?;
                    }
                }
                _ => {}
            }
        }
        for kind in [List::Init, List::Main, List::Ephemeral] {
            let Some(value) = spec.get(kind.name()).filter(|value| !value.is_null()) else { continue };
            for (index, container) in list(value, kind.name())?.iter().enumerate() {
                let read = Container::read(container, kind, index);
                let place = || format!("{}[{index}]", kind.name());
                self.containers.push(read.map_err(|malformed| malformed.below(&place()))?);
            }
        }
        Ok(())
    }
}

impl<'a> Container<'a> {
    fn read(value: &'a Value, list_kind: List, index: usize) -> Result<Self, Malformed> {
        let mut container = Self { list: list_kind, index, ..Self::default() };
        for (key, value) in entries(value)? {
            match key {
                "name" => container.name = text(value, key)?,
                "image" => container.image = text(value, key)?,
                "securityContext" => container.security = Security::read(value)?,
                "ports" => {
                    for (i, port) in list(value, key)?.iter().enumerate() {
                        let Some(number) = port.get("hostPort").filter(|number| !number.is_null()) else {
                            continue;
                        };
                        match integer(number, "hostPort").map_err(|malformed| malformed.below(key))? {
                            0 => {}
                            number => container.host_ports.push((i, number)),
                        }
                    }
                }
                "livenessProbe" | "readinessProbe" | "startupProbe" => {
                    hosts(value, key, &mut container.hosts)?;
                }
                "lifecycle" => {
                    for handler in ["lifecycle.postStart", "lifecycle.preStop"] {
                        let (_, name) = handler.split_once('.').unwrap_or_default();
                        if let Some(value) = value.get(name) {
                            hosts(value, handler, &mut container.hosts)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(container)
    }
}

impl<'a> Security<'a> {
    fn read(value: &'a Value) -> Result<Self, Malformed> {
        Self::fields(value).map_err(|malformed| malformed.below("securityContext"))
    }

    fn fields(value: &'a Value) -> Result<Self, Malformed> {
        let mut security = Self { is_given: true, ..Self::default() };
        for (key, value) in entries(value)? {
            match key {
                "privileged" => security.privileged = Some(flag(value, key)?),
                "allowPrivilegeEscalation" => security.allow_privilege_escalation = Some(flag(value, key)?),
                "runAsNonRoot" => security.run_as_non_root = Some(flag(value, key)?),
                "runAsUser" => security.run_as_user = Some(integer(value, key)?),
                "procMount" => security.proc_mount = Some(text(value, key)?),
                "capabilities" => {
                    let mut capabilities = Capabilities::default();
                    for (name, value) in entries(value).map_err(|malformed| malformed.below(key))? {
                        match name {
                            "add" => capabilities.add = words(value, name)?,
                            "drop" => capabilities.drop = words(value, name)?,
                            _ => {}
                        }
                    }
                    security.capabilities = Some(capabilities);
                }
                "seccompProfile" => security.seccomp = Some(field(value, "type", key)?),
                "appArmorProfile" => security.app_armor = Some(field(value, "type", key)?),
                "seLinuxOptions" => {
                    security.se_linux = Some(SeLinux {
                        kind: field(value, "type", key)?,
                        user: field(value, "user", key)?,
                        role: field(value, "role", key)?,
                    });
                }
                "windowsOptions" => {
                    if let Some(value) = value.get("hostProcess").filter(|value| !value.is_null()) {
                        security.is_host_process = flag(value, "hostProcess")?;
                    }
                }
                _ => {}
            }
        }
        Ok(security)
    }
}

impl<'a> Volume<'a> {
    fn read(value: &'a Value) -> Result<Self, Malformed> {
        // A volume that says nothing is made an `emptyDir` by the API server, and `unknown` by Kyverno.
        let mut is_empty_dir = true;
        let mut has_free = false;
        let mut restricted = None;
        for (key, _) in entries(value).map_err(|malformed| malformed.below("volumes"))? {
            is_empty_dir &= key == "name";
            if FREE_VOLUMES.contains(&key) {
                has_free = true;
            } else if let Some(at) = RESTRICTED_VOLUMES.iter().position(|kind| *kind == key) {
                restricted = Some(restricted.map_or(at, |before: usize| before.min(at)));
            }
        }
        let host_path = match value.get("hostPath").filter(|value| !value.is_null()) {
            Some(host_path) => Some(field(host_path, "path", "hostPath")?),
            None => None,
        };
        let kind = restricted.and_then(|at| RESTRICTED_VOLUMES.get(at)).copied().unwrap_or("unknown");
        Ok(Self { host_path, restricted: (!is_empty_dir && !has_free).then_some(kind) })
    }
}

fn annotations(described: &Value) -> Result<Option<&Map>, Malformed> {
    let found = described.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let annotations = found.and_then(Value::as_object);
    for (key, value) in annotations.into_iter().flat_map(Map::iter).filter(|(_, value)| !value.is_null()) {
        text(value, key)?;
    }
    Ok(annotations)
}

/// Collects the hosts that a probe or handler names.
fn hosts<'a>(value: &'a Value, key: &str, into: &mut Vec<(&'static str, &'a str)>) -> Result<(), Malformed> {
    for (handler, action, place) in HOSTS.into_iter().filter(|(handler, ..)| *handler == key) {
        let Some(value) = value.get(action).filter(|value| !value.is_null()) else { continue };
        let host = field(value, "host", action).map_err(|malformed| malformed.below(handler))?;
        if !host.is_empty() {
            into.push((place, host));
        }
    }
    Ok(())
}

/// Where a host can be named: the handler, the action and the field.
const HOSTS: [(&str, &str, &str); 10] = [
    ("livenessProbe", "httpGet", "livenessProbe.httpGet.host"),
    ("livenessProbe", "tcpSocket", "livenessProbe.tcpSocket.host"),
    ("readinessProbe", "httpGet", "readinessProbe.httpGet.host"),
    ("readinessProbe", "tcpSocket", "readinessProbe.tcpSocket.host"),
    ("startupProbe", "httpGet", "startupProbe.httpGet.host"),
    ("startupProbe", "tcpSocket", "startupProbe.tcpSocket.host"),
    ("lifecycle.postStart", "httpGet", "lifecycle.postStart.httpGet.host"),
    ("lifecycle.postStart", "tcpSocket", "lifecycle.postStart.tcpSocket.host"),
    ("lifecycle.preStop", "httpGet", "lifecycle.preStop.httpGet.host"),
    ("lifecycle.preStop", "tcpSocket", "lifecycle.preStop.tcpSocket.host"),
];

/// A part that has another type than Kubernetes gives it.
struct Malformed {
    path: String,
    found: Kind,
    expected: Kind,
}

impl Malformed {
    fn new(key: &str, found: &Value, expected: Kind) -> Self {
        Self { path: key.to_owned(), found: found.kind(), expected }
    }

    fn below(self, key: &str) -> Self {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{key}.{}", self.path) };
        Self { path, ..self }
    }

    fn into_error(self, workload: Workload) -> EvalError {
        let keys: Vec<&str> = workload.keys().iter().copied().chain([self.path.as_str()]).collect();
        let (found, expected) = (article(self.found), article(self.expected));
        EvalError::new(format!(
            "Error while getting new resource: `{}` is {found}, expected {expected}",
            keys.join(".")
        ))
    }
}

/// Returns what an object has; null has nothing, and a field that is null is not there.
fn entries(value: &Value) -> Result<impl Iterator<Item = (&str, &Value)>, Malformed> {
    let map = match value {
        Value::Object(map) => Some(map.as_ref()),
        Value::Null => None,
        other => return Err(Malformed::new("", other, Kind::Object)),
    };
    let filled = map.into_iter().flat_map(Map::iter).filter(|(_, value)| !value.is_null());
    Ok(filled.map(|(key, value)| (key.as_str(), value)))
}

/// Returns a text in an object, empty when it is not there.
fn field<'a>(object: &'a Value, key: &str, outer: &str) -> Result<&'a str, Malformed> {
    match object {
        Value::Object(map) => match map.get(key) {
            None | Some(Value::Null) => Ok(""),
            Some(value) => text(value, key).map_err(|malformed| malformed.below(outer)),
        },
        Value::Null => Ok(""),
        other => Err(Malformed::new(outer, other, Kind::Object)),
    }
}

fn flag(value: &Value, key: &str) -> Result<bool, Malformed> {
    value.as_bool().ok_or_else(|| Malformed::new(key, value, Kind::Bool))
}

fn integer(value: &Value, key: &str) -> Result<i64, Malformed> {
    value.as_i64().ok_or_else(|| Malformed::new(key, value, Kind::Number))
}

fn text<'a>(value: &'a Value, key: &str) -> Result<&'a str, Malformed> {
    value.as_str().ok_or_else(|| Malformed::new(key, value, Kind::String))
}

fn list<'a>(value: &'a Value, key: &str) -> Result<&'a [Value], Malformed> {
    value.as_array().ok_or_else(|| Malformed::new(key, value, Kind::Array))
}

fn words<'a>(value: &'a Value, key: &str) -> Result<Vec<&'a str>, Malformed> {
    let word = |value: &'a Value| if value.is_null() { Ok("") } else { text(value, key) };
    list(value, key)?.iter().map(word).collect()
}

/// Returns about how much there is to look at.
fn size(spec: &Value) -> u64 {
    let lists = ["containers", "initContainers", "ephemeralContainers", "volumes"];
    let length = |key: &&str| spec.get(key).and_then(Value::as_array).map_or(0, <[Value]>::len);
    lists.iter().map(length).map(|length| length as u64 * 20).sum()
}
