//! A running control plane.

mod components;

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::KubectlClient;
use crate::guard::Guard;
use crate::kubeconfig::KubeconfigUser;
use crate::port::LoopbackPort;
use crate::process::{Process, ProcessPlan};
use crate::{Builder, ClusterError, CommandOutput, ControlPlaneComponent, Kubelet, folder, kubeconfig, node};

/// How long anything may take to come true.
const CLUSTER_TIMEOUT: Duration = Duration::from_secs(60);

/// A control plane on the loopback interface. It is gone, with all its files, when this is dropped.
pub struct TestCluster {
    pub(crate) client: KubectlClient,
    pub(crate) token: String,
    pub(crate) etcd: LoopbackPort,
    pub(crate) api_server: LoopbackPort,
    /// The address at which the API server is asked, and which its certificate names.
    pub(crate) api_server_address: &'static str,
    pub(crate) _etcd_peer: LoopbackPort,
    pub(crate) reserved: Mutex<Vec<LoopbackPort>>,
    pub(crate) plans: Vec<ProcessPlan>,
    pub(crate) running: Mutex<RunningProcesses>,
}

pub(crate) struct RunningProcesses {
    pub(crate) processes: BTreeMap<ControlPlaneComponent, Process>,
    pub(crate) guard: Guard,
}

impl TestCluster {
    /// Starts everything, with one node that is ready.
    ///
    /// # Panics
    /// If it should have started and did not.
    #[must_use]
    #[track_caller]
    pub fn start() -> Option<TestCluster> {
        TestCluster::builder().start()
    }

    /// Returns the cluster that all tests of this process share, with everything and one node.
    ///
    /// It is gone when the process ends. Tests keep apart by namespaces.
    ///
    /// # Panics
    /// If it should have started and did not.
    pub fn shared() -> Option<&'static TestCluster> {
        static SHARED_CLUSTER: OnceLock<Option<TestCluster>> = OnceLock::new();
        let cluster = SHARED_CLUSTER.get_or_init(|| {
            TestCluster::start().inspect(|cluster| cluster.lock().guard.keep_logs_after_any_panic())
        });
        cluster.as_ref()
    }

    /// Everything and one node, to be changed before it starts.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::whole()
    }

    /// The kubeconfig of an administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.client.kubeconfig()
    }

    /// The address of the API server, such as `https://127.0.0.1:26000`.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://{}:{}", self.api_server_address, self.api_server.number)
    }

    /// The certificate that signed the API server's, in a PEM file.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.folder().join("ca.crt")
    }

    /// The administrator's bearer token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A folder that is removed with the cluster; tests may write here.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.client.folder
    }

    /// What a component has written so far.
    #[must_use]
    pub fn log(&self, component: ControlPlaneComponent) -> String {
        let plan = self.plans.iter().find(|plan| plan.component == component);
        plan.and_then(|plan| fs::read_to_string(&plan.log).ok()).unwrap_or_default()
    }

    /// The kubectl of this cluster's version.
    #[must_use]
    pub fn kubectl_program(&self) -> &Path {
        &self.client.kubectl
    }

    /// Runs kubectl as the administrator, with `stdin` as its input.
    #[must_use]
    pub fn kubectl(&self, arguments: &[&str], stdin: &str) -> CommandOutput {
        self.client.kubectl(arguments, stdin)
    }

    /// Runs helm as the administrator. The first call may build it.
    #[must_use]
    pub fn helm(&self, arguments: &[&str]) -> CommandOutput {
        self.client.helm(arguments)
    }

    /// Returns an address that a server of the test can listen on. Nothing else takes it while the cluster lives,
    /// neither another test nor an outgoing connection.
    ///
    /// # Panics
    /// If no port is free.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn reserve_address(&self) -> SocketAddr {
        let port = LoopbackPort::reserve().unwrap_or_else(|error| panic!("{error}"));
        let address = port.address();
        self.reserved.lock().unwrap_or_else(PoisonError::into_inner).push(port);
        address
    }

    /// Runs `kubectl delete` and waits until everything that it names is gone.
    ///
    /// An API server that cannot delete a definition because its storage is being made anew tries again minutes
    /// later, or when the definition changes; so definitions that are about to go are changed.
    ///
    /// # Panics
    /// If something is still there after four minutes.
    #[track_caller]
    pub fn delete(&self, arguments: &[&str], stdin: &str) {
        let arguments = [&["delete", "--timeout=240s"], arguments].concat();
        let client = &self.client;
        let output = thread::scope(|scope| {
            let deletion = scope.spawn(|| client.kubectl(&arguments, stdin));
            let mut round = 0_u32;
            while !deletion.is_finished() {
                thread::sleep(Duration::from_millis(100));
                round += 1;
                if round.is_multiple_of(20) {
                    self.touch_terminating_definitions(round);
                }
            }
            deletion.join()
        });
        match output {
            Ok(output) => output.expect_success(),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }

    fn touch_terminating_definitions(&self, round: u32) {
        let terminating =
            "jsonpath={range .items[?(@.metadata.deletionTimestamp)]}{.metadata.name}{\"\\n\"}{end}";
        let names = self.kubectl(&["get", "crd", "-o", terminating], "").stdout;
        for name in names.lines() {
            // It may be gone by now, which is what is wanted.
            let _ = self.kubectl(&["annotate", "--overwrite", "crd", name, &format!("round={round}")], "");
        }
    }

    /// Asks the API server for a path such as `/readyz` or `/api/v1/nodes`.
    #[must_use]
    pub fn get(&self, path: &str) -> CommandOutput {
        self.kubectl(&["get", "--raw", path, "--request-timeout=5s"], "")
    }

    /// Makes a namespace and waits until pods can be made in it.
    ///
    /// # Panics
    /// If it cannot be made.
    #[track_caller]
    pub fn create_namespace(&self, name: &str) {
        self.kubectl(&["create", "namespace", name], "").expect_success();
        if self.has(ControlPlaneComponent::ControllerManager) {
            let needed = ["get", "serviceaccount/default", "configmap/kube-root-ca.crt", "-n", name];
            self.wait_until("the namespace has its service account", || {
                self.kubectl(&needed, "").is_success()
            });
        }
    }

    /// Makes a node that is ready. Nothing runs there: a pod that is bound to it stays `Pending`, unless
    /// [`TestCluster::run_pods`] pretends otherwise.
    ///
    /// # Panics
    /// If the API server refuses it.
    #[track_caller]
    pub fn create_node(&self, name: &str, labels: &[(&str, &str)]) {
        self.make_node(name, labels).into_iter().for_each(CommandOutput::expect_success);
    }

    /// From now on, and as long as the answer is kept, bound pods are said to run, and deleted ones to have ended.
    #[must_use = "it ends when it is dropped"]
    pub fn run_pods(&self) -> Kubelet {
        Kubelet::start(self.client.clone())
    }

    /// Writes a kubeconfig for a service account, which must exist, and returns its path. Its token is valid for an hour, and
    /// [`TestCluster::renew_token`] writes another one.
    ///
    /// # Panics
    /// If there is no such account.
    #[must_use]
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn kubeconfig_of(&self, namespace: &str, service_account: &str) -> PathBuf {
        self.renew_token(namespace, service_account, Duration::from_secs(3600)).expect_success();
        let path = self.folder().join(format!("kubeconfig-{namespace}-{service_account}"));
        let written = folder::read_text_file(&self.ca()).and_then(|ca| {
            let token = self.token_file(namespace, service_account);
            let user = KubeconfigUser::TokenFile(&token);
            folder::write_text_file(&path, &kubeconfig::kubeconfig(&self.server(), &ca, &user))
        });
        match written {
            Ok(()) => path,
            Err(error) => panic!("{error}"),
        }
    }

    /// Writes a new token for the kubeconfig of a service account, as a kubelet does for Pods, and returns how asking for it
    /// went; the API server grants no life below ten minutes.
    ///
    /// # Panics
    /// If the token cannot be written.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn renew_token(&self, namespace: &str, service_account: &str, life: Duration) -> CommandOutput {
        let life = format!("--duration={}s", life.as_secs());
        let fields = ["create", "token", service_account, "-n", namespace, &life];
        let output = self.kubectl(&fields, "");
        if output.is_success()
            && let Err(error) =
                folder::replace_text_file(&self.token_file(namespace, service_account), output.stdout.trim())
        {
            panic!("{error}");
        }
        output
    }

    fn token_file(&self, namespace: &str, service_account: &str) -> PathBuf {
        self.folder().join(format!("token-{namespace}-{service_account}"))
    }

    /// Asks again and again until `is_so`, for at most a minute.
    ///
    /// # Panics
    /// If it does not come true; `what` is in the message.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn wait_until(&self, what: &str, is_so: impl FnMut() -> bool) {
        if !poll_until(is_so) {
            panic!("timed out after {} s: {what}", CLUSTER_TIMEOUT.as_secs());
        }
    }

    /// Waits until every CustomResourceDefinition is established, for at most a minute.
    ///
    /// # Errors
    /// The last answer of `kubectl wait`.
    pub fn await_definitions(&self) -> Result<(), ClusterError> {
        let established = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
        let mut answer = None;
        // `kubectl wait` gives up on a definition that has no conditions yet.
        if poll_until(|| answer.insert(self.kubectl(&established, "")).is_success()) {
            return Ok(());
        }
        Err(ClusterError::failed(answer.map(|answer| answer.to_string()).unwrap_or_default()))
    }

    pub(crate) fn bring_up(&self, nodes: usize) -> Result<(), ClusterError> {
        for plan in &self.plans {
            self.launch(plan.component)?;
            self.await_answer(plan.component)?;
        }
        for number in 1..=nodes {
            let outputs = self.make_node(&format!("node-{number}"), &[]);
            if let Some(failed) = outputs.iter().find(|output| !output.is_success()) {
                return Err(ClusterError::failed(failed.to_string()));
            }
        }
        // The last thing that is made for everybody; by the API server itself where there are no controllers.
        let last = if self.has(ControlPlaneComponent::ControllerManager) {
            "serviceaccount/default"
        } else {
            "namespace/default"
        };
        self.await_that(ControlPlaneComponent::ApiServer, || self.kubectl(&["get", last], "").is_success())
    }

    /// Every new node is tainted until a controller has seen that it is ready; there may be none.
    fn make_node(&self, name: &str, labels: &[(&str, &str)]) -> [CommandOutput; 2] {
        let untaint = ["patch", "node", name, "--type=merge", "-p", r#"{"spec":{"taints":null}}"#];
        [self.kubectl(&["create", "-f", "-"], &node::node_manifest(name, labels)), self.kubectl(&untaint, "")]
    }

    fn has(&self, component: ControlPlaneComponent) -> bool {
        self.plans.iter().any(|plan| plan.component == component)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, RunningProcesses> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for TestCluster {
    fn drop(&mut self) {
        let running = &mut *self.lock();
        if thread::panicking() {
            running.guard.keep_logs();
        }
        while let Some((_, process)) = running.processes.pop_last() {
            process.kill(&mut running.guard);
        }
    }
}

pub(crate) fn poll_until(mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + CLUSTER_TIMEOUT;
    while !is_so() {
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(50));
    }
    true
}
