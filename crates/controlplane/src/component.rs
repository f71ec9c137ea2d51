//! The parts of a control plane, and the flags each is started with.

use std::fmt;
use std::path::Path;

/// One process of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ControlPlaneComponent {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers: Deployments, service accounts, garbage collection, node life and so on.
    ControllerManager,
    /// The scheduler, which binds pods to nodes.
    Scheduler,
}

impl ControlPlaneComponent {
    /// The name of its program and of its log.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            ControlPlaneComponent::Etcd => "etcd",
            ControlPlaneComponent::ApiServer => "kube-apiserver",
            ControlPlaneComponent::ControllerManager => "kube-controller-manager",
            ControlPlaneComponent::Scheduler => "kube-scheduler",
        }
    }
}

impl fmt::Display for ControlPlaneComponent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.program())
    }
}

/// What the flags of all components are made from.
pub(crate) struct ControlPlaneLayout<'c> {
    pub(crate) folder: &'c Path,
    pub(crate) etcd_client: u16,
    pub(crate) etcd_peer: u16,
    pub(crate) api_server: u16,
    pub(crate) has_controllers: bool,
}

impl ControlPlaneLayout<'_> {
    pub(crate) fn flags(&self, component: ControlPlaneComponent) -> Vec<String> {
        match component {
            ControlPlaneComponent::Etcd => self.etcd(),
            ControlPlaneComponent::ApiServer => self.api_server(),
            ControlPlaneComponent::ControllerManager => self.controller_manager(),
            ControlPlaneComponent::Scheduler => self.scheduler(),
        }
    }

    fn etcd(&self) -> Vec<String> {
        let client = format!("http://127.0.0.1:{}", self.etcd_client);
        vec![
            format!("--data-dir={}", self.path("etcd")),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls=http://127.0.0.1:{}", self.etcd_peer),
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
        ]
    }

    fn api_server(&self) -> Vec<String> {
        // The API server makes `apiserver.crt` and `.key` itself before it reads the keys for service accounts.
        let key = self.path("certificates/apiserver.key");
        let mut flags = vec![
            format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_client),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", self.api_server),
            format!("--cert-dir={}", self.path("certificates")),
            format!("--token-auth-file={}", self.path("tokens.csv")),
            "--authorization-mode=RBAC".to_owned(),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={key}"),
            format!("--service-account-signing-key-file={key}"),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
            // An endpoint of the service `kubernetes` may not be a loopback address.
            "--endpoint-reconciler-type=none".to_owned(),
            // Without this a stop waits a minute for those who watch.
            "--shutdown-watch-termination-grace-period=2s".to_owned(),
            "--profiling=false".to_owned(),
        ];
        if !self.has_controllers {
            // Without controllers the service account that this plugin requires is never created.
            flags.push("--disable-admission-plugins=ServiceAccount".to_owned());
        }
        flags
    }

    fn controller_manager(&self) -> Vec<String> {
        let mut flags = self.client();
        flags.extend([
            format!("--service-account-private-key-file={}", self.path("certificates/apiserver.key")),
            format!("--root-ca-file={}", self.path("ca.crt")),
            // No kubelet renews the leases of our nodes; they are to stay as the test made them.
            "--node-monitor-grace-period=240h".to_owned(),
        ]);
        flags
    }

    fn scheduler(&self) -> Vec<String> {
        self.client()
    }

    /// What every client of the API server gets. It serves nothing, so that two clusters need no ports for it.
    fn client(&self) -> Vec<String> {
        let kubeconfig = self.path("kubeconfig");
        vec![
            format!("--kubeconfig={kubeconfig}"),
            format!("--authentication-kubeconfig={kubeconfig}"),
            format!("--authorization-kubeconfig={kubeconfig}"),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
            "--profiling=false".to_owned(),
        ]
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}
