//! The Pod Security checks.

use super::check::PodSecurityCheck;
use super::finding::{ForbiddenValue, PodSecurityField, PodSecurityFinding, PodSecurityViolation};
use super::pod::{Container, Pod, SeLinux, Security};
use super::{PodSecurityLevel, StandardsVersion};

/// The version since which Windows Pods need not set Linux fields.
const WINDOWS: StandardsVersion = StandardsVersion::of(25);
/// Since when a Pod with its own users may be root among them.
const OWN_USERS: StandardsVersion = StandardsVersion::of(35);
/// Since when seccomp profiles are fields; before, they are annotations.
const SECCOMP_FIELDS: StandardsVersion = StandardsVersion::of(19);

const DEFAULT_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

const SE_LINUX_TYPES: [(StandardsVersion, &str); 5] = [
    (StandardsVersion::of(0), ""),
    (StandardsVersion::of(0), "container_t"),
    (StandardsVersion::of(0), "container_init_t"),
    (StandardsVersion::of(0), "container_kvm_t"),
    (StandardsVersion::of(31), "container_engine_t"),
];

const SAFE_SYSCTLS: [(StandardsVersion, &str); 14] = [
    (StandardsVersion::of(0), "kernel.shm_rmid_forced"),
    (StandardsVersion::of(0), "net.ipv4.ip_local_port_range"),
    (StandardsVersion::of(0), "net.ipv4.tcp_syncookies"),
    (StandardsVersion::of(0), "net.ipv4.ping_group_range"),
    (StandardsVersion::of(0), "net.ipv4.ip_unprivileged_port_start"),
    (StandardsVersion::of(27), "net.ipv4.ip_local_reserved_ports"),
    (StandardsVersion::of(29), "net.ipv4.tcp_keepalive_time"),
    (StandardsVersion::of(29), "net.ipv4.tcp_fin_timeout"),
    (StandardsVersion::of(29), "net.ipv4.tcp_keepalive_intvl"),
    (StandardsVersion::of(29), "net.ipv4.tcp_keepalive_probes"),
    (StandardsVersion::of(32), "net.ipv4.tcp_rmem"),
    (StandardsVersion::of(32), "net.ipv4.tcp_wmem"),
    (StandardsVersion::of(37), "net.ipv4.tcp_slow_start_after_idle"),
    (StandardsVersion::of(37), "net.ipv4.tcp_notsent_lowat"),
];

const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD_ANNOTATION: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_ANNOTATION: &str = "container.seccomp.security.alpha.kubernetes.io/";

type PodSecurityFindings<'a> = Vec<PodSecurityFinding<'a>>;

impl PodSecurityCheck {
    /// Returns the violations of the check in `pod`, as of `version`.
    pub(super) fn run<'a>(
        self,
        pod: &Pod<'a>,
        level: PodSecurityLevel,
        version: StandardsVersion,
    ) -> Option<PodSecurityViolation<'a>> {
        let findings = match self {
            Self::AllowPrivilegeEscalation => allow_privilege_escalation(pod, version),
            Self::AppArmorProfile => app_armor(pod),
            Self::CapabilitiesBaseline => added_capabilities(pod, &DEFAULT_CAPABILITIES),
            Self::CapabilitiesRestricted => capabilities_restricted(pod, version),
            Self::HostNamespaces => host_namespaces(pod),
            Self::HostPathVolumes => host_path_volumes(pod),
            Self::HostPorts => host_ports(pod),
            Self::HostProbesAndLifecycle => check_probe_hosts(pod),
            Self::Privileged => of_containers(pod, "securityContext.privileged", |security| {
                (security.privileged == Some(true)).then_some(ForbiddenValue::Flag(true))
            }),
            Self::ProcMount => proc_mount(pod, level, version),
            Self::RestrictedVolumes => restricted_volumes(pod),
            Self::RunAsNonRoot => run_as_non_root(pod, version),
            Self::RunAsUser => run_as_user(pod, version),
            Self::SeLinuxOptions => se_linux(pod, version),
            Self::SeccompBaseline if version < SECCOMP_FIELDS => seccomp_annotations(pod),
            Self::SeccompBaseline => seccomp_baseline(pod),
            Self::SeccompRestricted => seccomp_restricted(pod, version),
            Self::Sysctls => sysctls(pod, version),
            Self::WindowsHostProcess => {
                check_security_contexts(pod, "securityContext.windowsOptions.hostProcess", |security| {
                    security.is_host_process.then_some(ForbiddenValue::Flag(true))
                })
            }
        };
        (!findings.is_empty()).then(|| PodSecurityViolation {
            check: self,
            reason: self.reason(&findings),
            findings,
        })
    }

    fn reason(self, findings: &[PodSecurityFinding<'_>]) -> &'static str {
        match self {
            Self::AllowPrivilegeEscalation => "allowPrivilegeEscalation != false",
            Self::AppArmorProfile if distinct_profiles(findings) == 1 => "forbidden AppArmor profile",
            Self::AppArmorProfile => "forbidden AppArmor profiles",
            Self::CapabilitiesBaseline => "non-default capabilities",
            Self::CapabilitiesRestricted => "unrestricted capabilities",
            Self::HostNamespaces => "host namespaces",
            Self::HostPathVolumes => "hostPath volumes",
            Self::HostPorts => "hostPort",
            Self::HostProbesAndLifecycle => "probe or lifecycle host",
            Self::Privileged => "privileged",
            Self::ProcMount => "procMount",
            Self::RestrictedVolumes => "restricted volume types",
            Self::RunAsNonRoot => "runAsNonRoot != true",
            Self::RunAsUser => "runAsUser=0",
            Self::SeLinuxOptions => "seLinuxOptions",
            Self::SeccompBaseline | Self::SeccompRestricted => "seccompProfile",
            Self::Sysctls => "forbidden sysctls",
            Self::WindowsHostProcess => "hostProcess",
        }
    }
}

/// Returns the violations in the security contexts of the containers.
fn of_containers<'a>(
    pod: &Pod<'a>,
    field: &'static str,
    bad: impl Fn(&Security<'a>) -> Option<ForbiddenValue<'a>>,
) -> PodSecurityFindings<'a> {
    let find = |container: &Container<'a>| {
        bad(&container.security).map(|bad| PodSecurityFinding::of_container(container, field, bad))
    };
    pod.containers.iter().filter_map(find).collect()
}

/// Returns the violations in the security contexts of the Pod and of its containers.
fn check_security_contexts<'a>(
    pod: &Pod<'a>,
    field: &'static str,
    bad: impl Fn(&Security<'a>) -> Option<ForbiddenValue<'a>>,
) -> PodSecurityFindings<'a> {
    let mut findings: PodSecurityFindings<'a> =
        bad(&pod.security).map(|bad| PodSecurityFinding::of_pod(field, bad)).into_iter().collect();
    findings.extend(of_containers(pod, field, bad));
    findings
}

fn allow_privilege_escalation<'a>(pod: &Pod<'a>, version: StandardsVersion) -> PodSecurityFindings<'a> {
    if pod.is_windows && version >= WINDOWS {
        return Vec::new();
    }
    of_containers(pod, "securityContext.allowPrivilegeEscalation", |security| {
        match security.allow_privilege_escalation {
            Some(false) => None,
            Some(true) => Some(ForbiddenValue::Flag(true)),
            // In Kyverno's wording.
            None if security.is_given => Some(ForbiddenValue::Text("nil")),
            None => Some(ForbiddenValue::Missing),
        }
    })
}

fn app_armor<'a>(pod: &Pod<'a>) -> PodSecurityFindings<'a> {
    let mut findings = check_security_contexts(pod, "securityContext.appArmorProfile.type", |security| {
        security.app_armor.filter(|kind| !is_safe_profile(kind)).map(ForbiddenValue::Text)
    });
    let mut annotations: Vec<(&str, &str)> = Vec::new();
    for (key, value) in pod.annotations.into_iter().flat_map(|annotations| annotations.iter()) {
        let value = value.as_str().unwrap_or_default();
        let is_safe = value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
        if key.starts_with(APP_ARMOR_ANNOTATION) && !is_safe {
            annotations.push((key, value));
        }
    }
    annotations.sort_unstable();
    findings.extend(annotations.into_iter().map(forbidden_annotation));
    findings
}

fn forbidden_annotation<'a>((key, value): (&'a str, &'a str)) -> PodSecurityFinding<'a> {
    PodSecurityFinding { place: PodSecurityField::Annotation(key), bad: ForbiddenValue::Text(value) }
}

/// Returns how many different profiles there are, where every annotation is one of its own.
fn distinct_profiles(findings: &[PodSecurityFinding<'_>]) -> usize {
    let mut seen: Vec<&ForbiddenValue<'_>> = Vec::new();
    let mut count = 0;
    for finding in findings {
        let is_annotation = matches!(finding.place, PodSecurityField::Annotation(_));
        if is_annotation || !seen.contains(&&finding.bad) {
            count += 1;
        }
        if !is_annotation {
            seen.push(&finding.bad);
        }
    }
    count
}

/// Returns the capabilities that containers add beyond `allowed`.
fn added_capabilities<'a>(pod: &Pod<'a>, allowed: &[&str]) -> PodSecurityFindings<'a> {
    of_containers(pod, "securityContext.capabilities.add", |security| {
        let added = &security.capabilities.as_ref()?.add;
        let bad: Vec<&str> = added.iter().copied().filter(|one| !allowed.contains(one)).collect();
        (!bad.is_empty()).then(|| ForbiddenValue::Words(sorted_unique(bad)))
    })
}

fn capabilities_restricted<'a>(pod: &Pod<'a>, version: StandardsVersion) -> PodSecurityFindings<'a> {
    if pod.is_windows && version >= WINDOWS {
        return Vec::new();
    }
    let mut findings = of_containers(pod, "securityContext.capabilities.drop", |security| {
        let dropped = security.capabilities.as_ref().map(|all| all.drop.as_slice()).unwrap_or_default();
        match dropped {
            [] => Some(ForbiddenValue::Missing),
            dropped if dropped.contains(&"ALL") => None,
            dropped => Some(ForbiddenValue::Words(sorted_unique(dropped.to_vec()))),
        }
    });
    findings.extend(added_capabilities(pod, &["NET_BIND_SERVICE"]));
    findings
}

fn host_namespaces<'a>(pod: &Pod<'a>) -> PodSecurityFindings<'a> {
    let fields = [("hostNetwork", pod.host_network), ("hostPID", pod.host_pid), ("hostIPC", pod.host_ipc)];
    let bad = fields.into_iter().filter(|(_, is_shared)| *is_shared);
    bad.map(|(field, _)| PodSecurityFinding::of_pod(field, ForbiddenValue::Flag(true))).collect()
}

fn host_path_volumes<'a>(pod: &Pod<'a>) -> PodSecurityFindings<'a> {
    let volumes = pod.volumes.iter().enumerate();
    let finding = |(i, path)| PodSecurityFinding {
        place: PodSecurityField::Volume(i, "hostPath"),
        bad: ForbiddenValue::Text(path),
    };
    volumes.filter_map(|(i, volume)| Some((i, volume.host_path?))).map(finding).collect()
}

fn restricted_volumes<'a>(pod: &Pod<'a>) -> PodSecurityFindings<'a> {
    let volumes = pod.volumes.iter().enumerate();
    let finding = |(i, kind)| PodSecurityFinding {
        place: PodSecurityField::Volume(i, kind),
        bad: ForbiddenValue::Field,
    };
    volumes.filter_map(|(i, volume)| Some((i, volume.restricted?))).map(finding).collect()
}

fn host_ports<'a>(pod: &Pod<'a>) -> PodSecurityFindings<'a> {
    let mut findings = Vec::new();
    for container in &pod.containers {
        let Container { list, index, name, .. } = *container;
        findings.extend(container.host_ports.iter().map(|(port, number)| PodSecurityFinding {
            place: PodSecurityField::Port { list, index, name, port: *port },
            bad: ForbiddenValue::Number(*number),
        }));
    }
    findings
}

fn check_probe_hosts<'a>(pod: &Pod<'a>) -> PodSecurityFindings<'a> {
    let mut findings = Vec::new();
    for container in &pod.containers {
        let finding = |(field, host): &(&'static str, &'a str)| {
            PodSecurityFinding::of_container(container, field, ForbiddenValue::Unlisted(host))
        };
        findings.extend(container.hosts.iter().map(finding));
    }
    findings
}

fn proc_mount<'a>(
    pod: &Pod<'a>,
    level: PodSecurityLevel,
    version: StandardsVersion,
) -> PodSecurityFindings<'a> {
    if level == PodSecurityLevel::Baseline && pod.has_own_users && version >= OWN_USERS {
        return Vec::new();
    }
    of_containers(pod, "securityContext.procMount", |security| {
        security.proc_mount.filter(|kind| *kind != "Default").map(ForbiddenValue::Text)
    })
}

fn run_as_non_root<'a>(pod: &Pod<'a>, version: StandardsVersion) -> PodSecurityFindings<'a> {
    const FIELD: &str = "securityContext.runAsNonRoot";
    if pod.has_own_users && version >= OWN_USERS {
        return Vec::new();
    }
    let mut findings = check_security_contexts(pod, FIELD, |security| {
        (security.run_as_non_root == Some(false)).then_some(ForbiddenValue::Flag(false))
    });
    if pod.security.run_as_non_root != Some(true) {
        findings.extend(of_containers(pod, FIELD, |security| {
            security.run_as_non_root.is_none().then_some(ForbiddenValue::Missing)
        }));
    }
    findings
}

fn run_as_user<'a>(pod: &Pod<'a>, version: StandardsVersion) -> PodSecurityFindings<'a> {
    if pod.has_own_users && version >= OWN_USERS {
        return Vec::new();
    }
    check_security_contexts(pod, "securityContext.runAsUser", |security| {
        (security.run_as_user == Some(0)).then_some(ForbiddenValue::Number(0))
    })
}

fn se_linux<'a>(pod: &Pod<'a>, version: StandardsVersion) -> PodSecurityFindings<'a> {
    let mut findings = Vec::new();
    if let Some(options) = pod.security.se_linux {
        let bad = bad_se_linux(options, version);
        findings
            .extend(bad.map(|(field, value)| PodSecurityFinding::of_pod(field, ForbiddenValue::Text(value))));
    }
    for container in &pod.containers {
        let Some(options) = container.security.se_linux else { continue };
        let bad = bad_se_linux(options, version);
        findings.extend(bad.map(|(field, value)| {
            PodSecurityFinding::of_container(container, field, ForbiddenValue::Text(value))
        }));
    }
    findings
}

fn bad_se_linux(
    options: SeLinux<'_>,
    version: StandardsVersion,
) -> impl Iterator<Item = (&'static str, &str)> {
    let is_type = is_among(&SE_LINUX_TYPES, options.kind, version);
    let fields = [
        ("securityContext.seLinuxOptions.type", options.kind, !is_type),
        ("securityContext.seLinuxOptions.user", options.user, !options.user.is_empty()),
        ("securityContext.seLinuxOptions.role", options.role, !options.role.is_empty()),
    ];
    fields.into_iter().filter(|(_, _, is_bad)| *is_bad).map(|(field, value, _)| (field, value))
}

fn seccomp_annotations<'a>(pod: &Pod<'a>) -> PodSecurityFindings<'a> {
    let Some(annotations) = pod.annotations.filter(|annotations| !annotations.is_empty()) else {
        return Vec::new();
    };
    let bad = |name: &str| {
        let at = annotations.position(name)?;
        let (key, value) = annotations.entry(at)?;
        let value = value.as_str().unwrap_or_default();
        let is_safe =
            matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/");
        (!is_safe).then(|| forbidden_annotation((key.as_str(), value)))
    };
    let of_containers =
        pod.containers.iter().filter_map(|container| bad(&format!("{SECCOMP_ANNOTATION}{}", container.name)));
    bad(SECCOMP_POD_ANNOTATION).into_iter().chain(of_containers).collect()
}

fn seccomp_baseline<'a>(pod: &Pod<'a>) -> PodSecurityFindings<'a> {
    check_security_contexts(pod, "securityContext.seccompProfile.type", |security| {
        security.seccomp.filter(|kind| !is_safe_profile(kind)).map(ForbiddenValue::Text)
    })
}

fn seccomp_restricted<'a>(pod: &Pod<'a>, version: StandardsVersion) -> PodSecurityFindings<'a> {
    if pod.is_windows && version >= WINDOWS {
        return Vec::new();
    }
    let explicit = seccomp_baseline(pod);
    if !explicit.is_empty() || pod.security.seccomp.is_some() {
        return explicit;
    }
    of_containers(pod, "securityContext.seccompProfile.type", |security| {
        security.seccomp.is_none().then_some(ForbiddenValue::Missing)
    })
}

fn sysctls<'a>(pod: &Pod<'a>, version: StandardsVersion) -> PodSecurityFindings<'a> {
    let names = pod.sysctls.iter().enumerate();
    let bad = names.filter(|(_, name)| !is_among(&SAFE_SYSCTLS, name, version));
    bad.map(|(i, name)| PodSecurityFinding {
        place: PodSecurityField::Sysctl(i),
        bad: ForbiddenValue::Text(name),
    })
    .collect()
}

fn is_safe_profile(kind: &str) -> bool {
    matches!(kind, "RuntimeDefault" | "Localhost")
}

fn is_among(known: &[(StandardsVersion, &str)], name: &str, version: StandardsVersion) -> bool {
    known.iter().any(|(since, known)| *known == name && *since <= version)
}

/// Returns the words sorted, without duplicates.
fn sorted_unique(mut words: Vec<&str>) -> Vec<&str> {
    words.sort_unstable();
    words.dedup();
    words
}
