//! The Pod Security checks, with their names, levels and versions.

use super::{PodSecurityLevel, StandardsVersion};

/// One check of the standards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodSecurityCheck {
    AllowPrivilegeEscalation,
    AppArmorProfile,
    CapabilitiesBaseline,
    CapabilitiesRestricted,
    HostNamespaces,
    HostPathVolumes,
    HostPorts,
    HostProbesAndLifecycle,
    Privileged,
    ProcMount,
    RestrictedVolumes,
    RunAsNonRoot,
    RunAsUser,
    SeLinuxOptions,
    SeccompBaseline,
    SeccompRestricted,
    Sysctls,
    WindowsHostProcess,
}

impl PodSecurityCheck {
    /// All checks, in the order in which they are reported.
    pub(super) const ALL: [Self; 18] = [
        Self::AllowPrivilegeEscalation,
        Self::AppArmorProfile,
        Self::CapabilitiesBaseline,
        Self::CapabilitiesRestricted,
        Self::HostNamespaces,
        Self::HostPathVolumes,
        Self::HostPorts,
        Self::HostProbesAndLifecycle,
        Self::Privileged,
        Self::ProcMount,
        Self::RestrictedVolumes,
        Self::RunAsNonRoot,
        Self::RunAsUser,
        Self::SeLinuxOptions,
        Self::SeccompBaseline,
        Self::SeccompRestricted,
        Self::Sysctls,
        Self::WindowsHostProcess,
    ];

    /// Returns whether `level` has it at `version`.
    pub(super) fn is_in(self, level: PodSecurityLevel, version: StandardsVersion) -> bool {
        let has_level = match level {
            PodSecurityLevel::Privileged => false,
            PodSecurityLevel::Baseline => !self.is_restricted(),
            PodSecurityLevel::Restricted => true,
        };
        has_level && self.since() <= version
    }

    fn is_restricted(self) -> bool {
        matches!(
            self,
            Self::AllowPrivilegeEscalation
                | Self::CapabilitiesRestricted
                | Self::RestrictedVolumes
                | Self::RunAsNonRoot
                | Self::RunAsUser
                | Self::SeccompRestricted
        )
    }

    fn since(self) -> StandardsVersion {
        StandardsVersion::of(match self {
            Self::AllowPrivilegeEscalation => 8,
            Self::SeccompRestricted => 19,
            Self::CapabilitiesRestricted => 22,
            Self::RunAsUser => 23,
            Self::HostProbesAndLifecycle => 34,
            _ => 0,
        })
    }

    /// Returns the control that excludes it; one check cannot be excluded.
    pub(super) fn control(self) -> Option<Control> {
        Some(match self {
            Self::AllowPrivilegeEscalation => Control::PrivilegeEscalation,
            Self::AppArmorProfile => Control::AppArmor,
            Self::CapabilitiesBaseline | Self::CapabilitiesRestricted => Control::Capabilities,
            Self::HostNamespaces => Control::HostNamespaces,
            Self::HostPathVolumes => Control::HostPathVolumes,
            Self::HostPorts => Control::HostPorts,
            Self::HostProbesAndLifecycle => return None,
            Self::Privileged => Control::PrivilegedContainers,
            Self::ProcMount => Control::ProcMountType,
            Self::RestrictedVolumes => Control::VolumeTypes,
            Self::RunAsNonRoot => Control::RunningAsNonRoot,
            Self::RunAsUser => Control::RunningAsNonRootUser,
            Self::SeLinuxOptions => Control::SeLinux,
            Self::SeccompBaseline | Self::SeccompRestricted => Control::Seccomp,
            Self::Sysctls => Control::Sysctls,
            Self::WindowsHostProcess => Control::HostProcess,
        })
    }

    /// Returns the name that Kubernetes has for it.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::AllowPrivilegeEscalation => "allowPrivilegeEscalation",
            Self::AppArmorProfile => "appArmorProfile",
            Self::CapabilitiesBaseline => "capabilities_baseline",
            Self::CapabilitiesRestricted => "capabilities_restricted",
            Self::HostNamespaces => "hostNamespaces",
            Self::HostPathVolumes => "hostPathVolumes",
            Self::HostPorts => "hostPorts",
            Self::HostProbesAndLifecycle => "hostProbesAndHostLifecycle",
            Self::Privileged => "privileged",
            Self::ProcMount => "procMount",
            Self::RestrictedVolumes => "restrictedVolumes",
            Self::RunAsNonRoot => "runAsNonRoot",
            Self::RunAsUser => "runAsUser",
            Self::SeLinuxOptions => "seLinuxOptions",
            Self::SeccompBaseline => "seccompProfile_baseline",
            Self::SeccompRestricted => "seccompProfile_restricted",
            Self::Sysctls => "sysctls",
            Self::WindowsHostProcess => "windowsHostProcess",
        }
    }

    /// Returns its name in traces: the control and, where that has two checks, the level.
    pub(super) fn title(self) -> String {
        let level = match self {
            Self::CapabilitiesBaseline | Self::SeccompBaseline => " (baseline)",
            Self::CapabilitiesRestricted | Self::SeccompRestricted => " (restricted)",
            _ => "",
        };
        format!("{}{level}", self.control().map_or("Host Probes and Lifecycle", Control::name))
    }
}

/// A control: the standards' name for one or two checks, by which they are excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    HostProcess,
    HostNamespaces,
    PrivilegedContainers,
    Capabilities,
    HostPathVolumes,
    HostPorts,
    AppArmor,
    SeLinux,
    ProcMountType,
    Seccomp,
    Sysctls,
    VolumeTypes,
    PrivilegeEscalation,
    RunningAsNonRoot,
    RunningAsNonRootUser,
}

impl Control {
    /// All of them, with their names.
    pub(crate) const ALL: [(&'static str, Self); 15] = [
        ("HostProcess", Self::HostProcess),
        ("Host Namespaces", Self::HostNamespaces),
        ("Privileged Containers", Self::PrivilegedContainers),
        ("Capabilities", Self::Capabilities),
        ("HostPath Volumes", Self::HostPathVolumes),
        ("Host Ports", Self::HostPorts),
        ("AppArmor", Self::AppArmor),
        ("SELinux", Self::SeLinux),
        ("/proc Mount Type", Self::ProcMountType),
        ("Seccomp", Self::Seccomp),
        ("Sysctls", Self::Sysctls),
        ("Volume Types", Self::VolumeTypes),
        ("Privilege Escalation", Self::PrivilegeEscalation),
        ("Running as Non-root", Self::RunningAsNonRoot),
        ("Running as Non-root user", Self::RunningAsNonRootUser),
    ];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, control)| *control == self).map_or("", |(name, _)| name)
    }

    /// Returns whether it covers only containers, so that an exclusion must name images.
    pub(crate) fn needs_images(self) -> bool {
        matches!(
            self,
            Self::Capabilities
                | Self::PrivilegedContainers
                | Self::HostPorts
                | Self::ProcMountType
                | Self::PrivilegeEscalation
        )
    }

    /// Returns whether it covers only the Pod, so that images have no effect.
    pub(crate) fn forbids_images(self) -> bool {
        matches!(self, Self::HostNamespaces | Self::HostPathVolumes | Self::Sysctls | Self::VolumeTypes)
    }

    /// Returns whether no check of `level` is excluded by it.
    pub(crate) fn is_above(self, level: PodSecurityLevel) -> bool {
        !PodSecurityCheck::ALL
            .iter()
            .any(|check| check.control() == Some(self) && check.is_in(level, StandardsVersion::LATEST))
    }

    /// Returns the fields that its checks can report, with `*` for indexes.
    pub(crate) fn fields(self) -> Vec<String> {
        let (of_pod, of_container): (&[&str], &[&str]) = match self {
            Self::HostProcess => (
                &["securityContext.windowsOptions.hostProcess"],
                &["securityContext.windowsOptions.hostProcess"],
            ),
            Self::HostNamespaces => (&["hostNetwork", "hostPID", "hostIPC"], &[]),
            Self::PrivilegedContainers => (&[], &["securityContext.privileged"]),
            Self::Capabilities => {
                (&[], &["securityContext.capabilities.add", "securityContext.capabilities.drop"])
            }
            Self::HostPathVolumes => (&["volumes[*].hostPath"], &[]),
            Self::HostPorts => (&[], &["ports[*].hostPort"]),
            Self::AppArmor => {
                (&["securityContext.appArmorProfile.type"], &["securityContext.appArmorProfile.type"])
            }
            Self::SeLinux => (&SE_LINUX, &SE_LINUX),
            Self::ProcMountType => (&[], &["securityContext.procMount"]),
            Self::Seccomp => {
                (&["securityContext.seccompProfile.type"], &["securityContext.seccompProfile.type"])
            }
            Self::Sysctls => (&["securityContext.sysctls[*].name"], &[]),
            Self::VolumeTypes => (&[], &[]),
            Self::PrivilegeEscalation => (&[], &["securityContext.allowPrivilegeEscalation"]),
            Self::RunningAsNonRoot => (&["securityContext.runAsNonRoot"], &["securityContext.runAsNonRoot"]),
            Self::RunningAsNonRootUser => (&["securityContext.runAsUser"], &["securityContext.runAsUser"]),
        };
        let mut fields: Vec<String> = of_pod.iter().map(|field| format!("spec.{field}")).collect();
        if self == Self::VolumeTypes {
            let kinds = super::pod::RESTRICTED_VOLUMES.iter().chain(&["unknown"]);
            fields.extend(kinds.map(|kind| format!("spec.volumes[*].{kind}")));
        }
        for list in ["containers", "initContainers", "ephemeralContainers"] {
            fields.extend(of_container.iter().map(|field| format!("spec.{list}[*].{field}")));
        }
        fields
    }
}

const SE_LINUX: [&str; 3] = [
    "securityContext.seLinuxOptions.type",
    "securityContext.seLinuxOptions.user",
    "securityContext.seLinuxOptions.role",
];
