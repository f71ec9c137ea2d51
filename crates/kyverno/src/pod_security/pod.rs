//! The parts of a Pod that the standards check, read once.

use kubewright_engine::EvalError;
use kubewright_value::{Budget, Map, Value, ValueKind};

use super::reading::{
    Malformed, typed_bool, typed_child, typed_entries, typed_integer, typed_list, typed_text,
    typed_text_field, typed_texts,
};
use kubewright_k8s::PodTemplatePath;

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
    pub(super) list: ContainerList,
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
pub(super) enum ContainerList {
    Init,
    #[default]
    Main,
    Ephemeral,
}

impl ContainerList {
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
    /// The type, when it is not one that every Pod may use.
    pub(super) restricted: Option<&'static str>,
}

/// The volume types that every Pod may mount.
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

/// The restricted volume types, in the order in which they are checked.
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
        workload: PodTemplatePath,
        budget: &mut Budget,
    ) -> Result<Self, EvalError> {
        let mut pod = Self::default();
        let Some(described) = pod_template_of(object, workload)? else { return Ok(pod) };
        let place = |malformed: Malformed| malformed.into_error(workload);
        pod.annotations = pod_annotations(described).map_err(place)?;
        let Some(spec) = typed_child(described, "spec", "").map_err(place)? else { return Ok(pod) };
        budget.step(1 + pod_spec_size(spec) + pod.annotations.map_or(0, |map| map.len() as u64))?;
        pod.spec(spec).map_err(|malformed| place(malformed.below("spec")))?;
        Ok(pod)
    }

    fn spec(&mut self, spec: &'a Value) -> Result<(), Malformed> {
        for (key, value) in typed_entries(spec)? {
            match key {
                "hostNetwork" => self.host_network = typed_bool(value, key)?,
                "hostPID" => self.host_pid = typed_bool(value, key)?,
                "hostIPC" => self.host_ipc = typed_bool(value, key)?,
                "hostUsers" => self.has_own_users = !typed_bool(value, key)?,
                "os" => self.is_windows = typed_text_field(value, "name", key)? == "windows",
                "volumes" => {
                    self.volumes =
                        typed_list(value, key)?.iter().map(Volume::read).collect::<Result<_, _>>()?;
                }
                "securityContext" => {
                    self.security = Security::read(value, SecurityContextOwner::Pod)?;
                    if let Some(sysctls) = typed_child(value, "sysctls", key)? {
                        let names = typed_list(sysctls, "sysctls")?
                            .iter()
                            .map(|one| typed_text_field(one, "name", "sysctls"));
                        self.sysctls = names.collect::<Result<_, _>>()?;
                    }
                }
                _ => {}
            }
        }
        for kind in [ContainerList::Init, ContainerList::Main, ContainerList::Ephemeral] {
            let Some(value) = spec.get(kind.name()).filter(|value| !value.is_null()) else { continue };
            for (index, container) in typed_list(value, kind.name())?.iter().enumerate() {
                let read = Container::read(container, kind, index);
                let place = || format!("{}[{index}]", kind.name());
                self.containers.push(read.map_err(|malformed| malformed.below(&place()))?);
            }
        }
        Ok(())
    }
}

impl<'a> Container<'a> {
    fn read(value: &'a Value, list_kind: ContainerList, index: usize) -> Result<Self, Malformed> {
        let mut container = Self { list: list_kind, index, ..Self::default() };
        for (key, value) in typed_entries(value)? {
            match key {
                "name" => container.name = typed_text(value, key)?,
                "image" => container.image = typed_text(value, key)?,
                "securityContext" => {
                    container.security = Security::read(value, SecurityContextOwner::Container)?;
                }
                "ports" => {
                    for (i, port) in typed_list(value, key)?.iter().enumerate() {
                        let Some(number) = typed_child(port, "hostPort", key)? else { continue };
                        match typed_integer(number, "hostPort").map_err(|malformed| malformed.below(key))? {
                            0 => {}
                            number => container.host_ports.push((i, number)),
                        }
                    }
                }
                "livenessProbe" | "readinessProbe" | "startupProbe" => {
                    collect_hosts(value, key, &mut container.hosts)?;
                }
                "lifecycle" => {
                    for handler in ["lifecycle.postStart", "lifecycle.preStop"] {
                        let (_, name) = handler.split_once('.').unwrap_or_default();
                        if let Some(value) = typed_child(value, name, key)? {
                            collect_hosts(value, handler, &mut container.hosts)?;
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(container)
    }
}

/// Whose security context it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecurityContextOwner {
    Pod,
    Container,
}

impl<'a> Security<'a> {
    fn read(value: &'a Value, owner: SecurityContextOwner) -> Result<Self, Malformed> {
        Self::fields(value, owner).map_err(|malformed| malformed.below("securityContext"))
    }

    fn fields(value: &'a Value, owner: SecurityContextOwner) -> Result<Self, Malformed> {
        let mut security = Self { is_given: true, ..Self::default() };
        for (key, value) in typed_entries(value)? {
            match key {
                // A Pod has no such fields, so their values are ignored.
                "privileged" | "allowPrivilegeEscalation" | "procMount" | "capabilities"
                    if owner == SecurityContextOwner::Pod => {}
                "privileged" => security.privileged = Some(typed_bool(value, key)?),
                "allowPrivilegeEscalation" => {
                    security.allow_privilege_escalation = Some(typed_bool(value, key)?);
                }
                "runAsNonRoot" => security.run_as_non_root = Some(typed_bool(value, key)?),
                "runAsUser" => security.run_as_user = Some(typed_integer(value, key)?),
                "procMount" => security.proc_mount = Some(typed_text(value, key)?),
                "capabilities" => {
                    let mut capabilities = Capabilities::default();
                    for (name, value) in typed_entries(value).map_err(|malformed| malformed.below(key))? {
                        match name {
                            "add" => capabilities.add = typed_texts(value, name)?,
                            "drop" => capabilities.drop = typed_texts(value, name)?,
                            _ => {}
                        }
                    }
                    security.capabilities = Some(capabilities);
                }
                "seccompProfile" => security.seccomp = Some(typed_text_field(value, "type", key)?),
                "appArmorProfile" => security.app_armor = Some(typed_text_field(value, "type", key)?),
                "seLinuxOptions" => {
                    security.se_linux = Some(SeLinux {
                        kind: typed_text_field(value, "type", key)?,
                        user: typed_text_field(value, "user", key)?,
                        role: typed_text_field(value, "role", key)?,
                    });
                }
                "windowsOptions" => {
                    if let Some(value) = typed_child(value, "hostProcess", key)? {
                        security.is_host_process = typed_bool(value, "hostProcess")?;
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
        // A volume without a type becomes an `emptyDir` in the API server, and `unknown` in Kyverno.
        let mut is_empty_dir = true;
        let mut has_free = false;
        let mut restricted = None;
        for (key, _) in typed_entries(value).map_err(|malformed| malformed.below("volumes"))? {
            is_empty_dir &= key == "name";
            if FREE_VOLUMES.contains(&key) {
                has_free = true;
            } else if let Some(at) = RESTRICTED_VOLUMES.iter().position(|kind| *kind == key) {
                restricted = Some(restricted.map_or(at, |before: usize| before.min(at)));
            }
        }
        let host_path = match value.get("hostPath").filter(|value| !value.is_null()) {
            Some(host_path) => Some(typed_text_field(host_path, "path", "hostPath")?),
            None => None,
        };
        let kind = restricted.and_then(|at| RESTRICTED_VOLUMES.get(at)).copied().unwrap_or("unknown");
        Ok(Self { host_path, restricted: (!is_empty_dir && !has_free).then_some(kind) })
    }
}

/// Returns the part of `object` that describes a Pod.
fn pod_template_of(object: &Value, workload: PodTemplatePath) -> Result<Option<&Value>, EvalError> {
    let mut described = object;
    let mut outer = "";
    for key in workload.keys() {
        let found = typed_child(described, key, outer)
            .map_err(|malformed| malformed.into_error(PodTemplatePath::Pod))?;
        let Some(found) = found else { return Ok(None) };
        (described, outer) = (found, key);
    }
    Ok(Some(described))
}

fn pod_annotations(described: &Value) -> Result<Option<&Map>, Malformed> {
    let Some(metadata) = typed_child(described, "metadata", "")? else { return Ok(None) };
    let found = match typed_child(metadata, "annotations", "metadata")? {
        None => return Ok(None),
        Some(Value::Object(map)) => map.as_ref(),
        Some(other) => return Err(Malformed::new("metadata.annotations", other, ValueKind::Object)),
    };
    for (key, value) in found.iter().filter(|(_, value)| !value.is_null()) {
        typed_text(value, key).map_err(|malformed| malformed.below("metadata.annotations"))?;
    }
    Ok(Some(found))
}

/// Collects the hosts that a probe or handler names.
fn collect_hosts<'a>(
    value: &'a Value,
    key: &str,
    into: &mut Vec<(&'static str, &'a str)>,
) -> Result<(), Malformed> {
    for (handler, action, place) in HOSTS.into_iter().filter(|(handler, ..)| *handler == key) {
        let Some(value) = typed_child(value, action, handler)? else { continue };
        let host = typed_text_field(value, "host", action).map_err(|malformed| malformed.below(handler))?;
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

/// Returns an estimate of the number of checked values.
fn pod_spec_size(spec: &Value) -> u64 {
    let lists = ["containers", "initContainers", "ephemeralContainers", "volumes"];
    let length = |key: &&str| spec.get(key).and_then(Value::as_array).map_or(0, <[Value]>::len);
    lists.iter().map(length).map(|length| length as u64 * 20).sum()
}
