//! What a cluster is to have, and its start.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use crate::client::KubectlClient;
use crate::cluster::{RunningProcesses, TestCluster};
use crate::component::ControlPlaneLayout;
use crate::guard::Guard;
use crate::port::LoopbackPort;
use crate::process::ProcessPlan;
use crate::{ClusterError, ControlPlaneComponent, binaries, folder, kubeconfig, skip};

/// What is to be started. Made by [`TestCluster::builder`].
#[derive(Debug, Clone)]
pub struct Builder {
    components: Vec<ControlPlaneComponent>,
    nodes: usize,
    flags: Vec<(ControlPlaneComponent, String)>,
    administrator: String,
    pub(crate) api_server_address: &'static str,
}

impl Builder {
    /// Everything, and one node.
    pub(crate) fn whole() -> Self {
        use ControlPlaneComponent::{ApiServer, ControllerManager, Etcd, Scheduler};
        Builder {
            components: vec![Etcd, ApiServer, ControllerManager, Scheduler],
            nodes: 1,
            flags: Vec::new(),
            administrator: "admin".to_owned(),
            api_server_address: "127.0.0.1",
        }
    }

    /// Leaves out the controller manager or the scheduler.
    ///
    /// Without controllers there are no service accounts, so the API server does not require them.
    #[must_use]
    pub fn without(mut self, component: ControlPlaneComponent) -> Self {
        self.components.retain(|other| *other != component);
        self
    }

    /// Only etcd and the API server, without a node.
    #[must_use]
    pub fn api_server_only(self) -> Self {
        self.without(ControlPlaneComponent::ControllerManager)
            .without(ControlPlaneComponent::Scheduler)
            .nodes(0)
    }

    /// How many nodes there are: `node-1`, `node-2` and so on.
    #[must_use]
    pub fn nodes(mut self, count: usize) -> Self {
        self.nodes = count;
        self
    }

    /// Adds a flag such as `--etcd-compaction-interval=5s`; it wins over the same flag of ours.
    #[must_use]
    pub fn flag(mut self, component: ControlPlaneComponent, flag: &str) -> Self {
        self.flags.push((component, flag.to_owned()));
        self
    }

    /// The name of the administrator; `admin` otherwise.
    #[must_use]
    pub fn administrator(mut self, name: &str) -> Self {
        name.clone_into(&mut self.administrator);
        self
    }

    /// Starts it, for a test: `None` if this machine cannot, which is announced as skipped.
    ///
    /// # Panics
    /// If it should have started and did not.
    #[must_use]
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn start(self) -> Option<TestCluster> {
        match self.try_start() {
            Ok(cluster) => Some(cluster),
            Err(ClusterError::Unavailable(reason)) if !skip::is_required() => {
                skip::announce_skip(&reason);
                None
            }
            Err(error) => panic!("no cluster: {error}"),
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// `Unavailable` if this machine has not the programs and cannot build them, `Failed` if it did not start.
    pub fn try_start(self) -> Result<TestCluster, ClusterError> {
        if skip::is_off() {
            return Err(ClusterError::Unavailable("clusters are switched off".to_owned()));
        }
        let mut names: Vec<&str> = self.components.iter().map(|component| component.program()).collect();
        names.push("kubectl");
        let cluster = self.assemble(&binaries::programs(&names)?)?;
        match cluster.bring_up(self.nodes) {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.lock().guard.keep_logs();
                let logs = folder::kept_logs(&cluster.client.folder);
                Err(ClusterError::failed(format!("{error}; logs in {}", logs.display())))
            }
        }
    }

    /// A cluster of which nothing runs yet.
    fn assemble(&self, programs: &Path) -> Result<TestCluster, ClusterError> {
        let (etcd, api_server, etcd_peer) =
            (LoopbackPort::reserve()?, LoopbackPort::reserve()?, LoopbackPort::reserve()?);
        let folder = folder::make_folder()?;
        let guard = Guard::over(&folder)?;
        let token = kubeconfig::random_token()?;
        folder::write_text_file(
            &folder.join("tokens.csv"),
            &format!("{token},{0},{0},\"system:masters\"\n", self.administrator),
        )?;

        let layout = ControlPlaneLayout {
            folder: &folder,
            etcd_client: etcd.number,
            etcd_peer: etcd_peer.number,
            api_server: api_server.number,
            has_controllers: self.components.contains(&ControlPlaneComponent::ControllerManager),
        };
        let plan = |component: ControlPlaneComponent| {
            let own = self.flags.iter().filter(|(of, _)| *of == component).map(|(_, flag)| flag.clone());
            ProcessPlan {
                component,
                program: programs.join(component.program()),
                flags: layout.flags(component).into_iter().chain(own).collect(),
                log: folder.join("logs").join(format!("{component}.log")),
            }
        };
        let plans = self.components.iter().copied().map(plan).collect();
        let running = Mutex::new(RunningProcesses { processes: BTreeMap::new(), guard });
        let client = KubectlClient { kubectl: programs.join("kubectl"), folder };
        Ok(TestCluster {
            client,
            token,
            etcd,
            api_server,
            api_server_address: self.api_server_address,
            _etcd_peer: etcd_peer,
            reserved: Mutex::default(),
            plans,
            running,
        })
    }
}
