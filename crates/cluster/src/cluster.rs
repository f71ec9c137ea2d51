//! A running control plane.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::component::Layout;
use crate::guard::Guard;
use crate::output::run;
use crate::port::Port;
use crate::process::{Plan, Process, kept_environment, resident, signal};
use crate::{ClusterError, Component, Output, binaries, folder, kubeconfig, node, skip};

/// How long a component may take until it answers.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long one call of kubectl or helm may take.
const CALL: Duration = Duration::from_secs(120);

/// What is to be started. Made by [`Cluster::builder`].
#[derive(Debug, Clone)]
pub struct Builder {
    components: Vec<Component>,
    nodes: usize,
    flags: Vec<(Component, String)>,
}

impl Builder {
    /// Leaves out the controller manager or the scheduler.
    ///
    /// Without controllers nobody makes service accounts, so the API server does not ask for them.
    #[must_use]
    pub fn without(mut self, component: Component) -> Self {
        self.components.retain(|other| *other != component);
        self
    }

    /// Only etcd and the API server, without a node.
    #[must_use]
    pub fn api_server_only(self) -> Self {
        self.without(Component::ControllerManager).without(Component::Scheduler).nodes(0)
    }

    /// How many nodes there are: `node-1`, `node-2` and so on.
    #[must_use]
    pub fn nodes(mut self, count: usize) -> Self {
        self.nodes = count;
        self
    }

    /// Adds a flag such as `--etcd-compaction-interval=5s`; it wins over the same flag of ours.
    #[must_use]
    pub fn flag(mut self, component: Component, flag: &str) -> Self {
        self.flags.push((component, flag.to_owned()));
        self
    }

    /// Starts it, for a test: `None` if this machine cannot, which is announced as skipped.
    ///
    /// # Panics
    /// If it should have started and did not.
    #[must_use]
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn start(self) -> Option<Cluster> {
        match self.try_start() {
            Ok(cluster) => Some(cluster),
            Err(ClusterError::Unavailable(reason)) if !skip::is_required() => {
                skip::announce(&reason);
                None
            }
            Err(error) => panic!("no cluster: {error}"),
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// `Unavailable` if this machine has not the programs and cannot build them, `Failed` if it did not start.
    pub fn try_start(self) -> Result<Cluster, ClusterError> {
        if skip::is_off() {
            return Err(ClusterError::Unavailable("clusters are switched off".to_owned()));
        }
        let mut names: Vec<&str> = self.components.iter().map(|component| component.program()).collect();
        names.push("kubectl");
        let programs = binaries::programs(&names)?;
        let cluster = Cluster::prepare(&self, programs)?;
        match cluster.bring_up(&self) {
            Ok(()) => Ok(cluster),
            Err(error) => {
                cluster.lock().guard.keep_logs();
                let logs = folder::kept_logs(&cluster.folder);
                Err(ClusterError::failed(format!("{error}; logs in {}", logs.display())))
            }
        }
    }
}

/// A control plane on the loopback interface. It is gone, with all its files, when this is dropped.
pub struct Cluster {
    folder: PathBuf,
    programs: PathBuf,
    token: String,
    etcd: Port,
    api_server: Port,
    _etcd_peer: Port,
    plans: Vec<Plan>,
    running: Mutex<Running>,
}

struct Running {
    processes: BTreeMap<Component, Process>,
    guard: Guard,
}

impl Cluster {
    /// Starts everything, with one node that is ready.
    ///
    /// # Panics
    /// If it should have started and did not.
    #[must_use]
    #[track_caller]
    pub fn start() -> Option<Cluster> {
        Cluster::builder().start()
    }

    /// Returns the cluster that all tests of this process share, with everything and one node.
    ///
    /// It is gone when the process ends. Tests keep apart by namespaces.
    ///
    /// # Panics
    /// If it should have started and did not.
    pub fn shared() -> Option<&'static Cluster> {
        static SHARED: OnceLock<Option<Cluster>> = OnceLock::new();
        let cluster = SHARED.get_or_init(|| {
            Cluster::start().inspect(|cluster| cluster.lock().guard.keep_logs_after_any_panic())
        });
        cluster.as_ref()
    }

    /// Everything and one node, to be changed before it starts.
    #[must_use]
    pub fn builder() -> Builder {
        use Component::{ApiServer, ControllerManager, Etcd, Scheduler};
        let components = vec![Etcd, ApiServer, ControllerManager, Scheduler];
        Builder { components, nodes: 1, flags: Vec::new() }
    }

    /// The kubeconfig of an administrator.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.join("kubeconfig")
    }

    /// The address of the API server, such as `https://127.0.0.1:26000`.
    #[must_use]
    pub fn server(&self) -> String {
        format!("https://127.0.0.1:{}", self.api_server.number)
    }

    /// The certificate that signed the API server's, in a PEM file.
    #[must_use]
    pub fn ca(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// The administrator's bearer token.
    #[must_use]
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A folder that is removed with the cluster; tests may write here.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a component has written so far.
    #[must_use]
    pub fn log(&self, component: Component) -> String {
        fs::read_to_string(self.log_path(component)).unwrap_or_default()
    }

    /// Runs kubectl as the administrator, with `stdin` as its input.
    #[must_use]
    pub fn kubectl(&self, arguments: &[&str], stdin: &str) -> Output {
        self.call(&self.programs.join("kubectl"), arguments, stdin)
    }

    /// Runs helm as the administrator. The first call may build it.
    #[must_use]
    pub fn helm(&self, arguments: &[&str]) -> Output {
        match binaries::programs(&["helm"]) {
            Ok(folder) => self.call(&folder.join("helm"), arguments, ""),
            Err(error) => Output {
                command: format!("helm {}", arguments.join(" ")),
                code: None,
                stdout: String::new(),
                stderr: error.to_string(),
            },
        }
    }

    /// Asks the API server for a path such as `/readyz` or `/api/v1/nodes`.
    #[must_use]
    pub fn get(&self, path: &str) -> Output {
        self.kubectl(&["get", "--raw", path, "--request-timeout=5s"], "")
    }

    /// Makes a namespace and waits until pods can be made in it.
    ///
    /// # Panics
    /// If it cannot be made.
    #[track_caller]
    pub fn create_namespace(&self, name: &str) {
        self.kubectl(&["create", "namespace", name], "").expect_success();
        if self.has(Component::ControllerManager) {
            self.wait_until("the namespace has its service account", || {
                self.kubectl(&["get", "serviceaccount/default", "configmap/kube-root-ca.crt", "-n", name], "")
                    .is_success()
            });
        }
    }

    /// Makes a node that is ready. Nothing runs there: a pod that is bound to it stays `Pending`.
    ///
    /// # Errors
    /// If the API server refuses it.
    pub fn create_node(&self, name: &str, labels: &[(&str, &str)]) -> Result<(), ClusterError> {
        let made = self.kubectl(&["create", "-f", "-"], &node::manifest(name, labels));
        // Every new node is tainted until a controller has seen that it is ready; there may be none.
        let untaint = ["patch", "node", name, "--type=merge", "-p", r#"{"spec":{"taints":null}}"#];
        for output in [made, self.kubectl(&untaint, "")] {
            if !output.is_success() {
                return Err(ClusterError::failed(output.to_string()));
            }
        }
        Ok(())
    }

    /// Writes a kubeconfig for a service account, which must exist, and returns its path.
    ///
    /// # Panics
    /// If there is no such account.
    #[must_use]
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn kubeconfig_of(&self, namespace: &str, service_account: &str) -> PathBuf {
        let token = self.kubectl(&["create", "token", service_account, "-n", namespace], "").success();
        let path = self.folder.join(format!("kubeconfig-{namespace}-{service_account}"));
        let written = folder::read(&self.ca())
            .and_then(|ca| folder::write(&path, &kubeconfig::kubeconfig(&self.server(), &ca, token.trim())));
        match written {
            Ok(()) => path,
            Err(error) => panic!("{error}"),
        }
    }

    /// Asks again and again until `is_so`, for at most a minute.
    ///
    /// # Panics
    /// If it does not come true; `what` is in the message.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test fails by panicking")]
    pub fn wait_until(&self, what: &str, is_so: impl FnMut() -> bool) {
        if !poll(PATIENCE, is_so) {
            panic!("waited {} s and it did not come true: {what}", PATIENCE.as_secs());
        }
    }

    /// Asks a component to end, waits for that, and kills it after 20 s.
    pub fn stop(&self, component: Component) {
        let running = &mut *self.lock();
        if let Some(process) = running.processes.remove(&component) {
            process.stop(&mut running.guard);
        }
    }

    /// Kills a component without warning.
    pub fn kill(&self, component: Component) {
        let running = &mut *self.lock();
        if let Some(process) = running.processes.remove(&component) {
            process.kill(&mut running.guard);
        }
    }

    /// Starts a component that was stopped or killed, with the same data and ports, and waits until it answers.
    ///
    /// # Errors
    /// If it does not start, or is no part of this cluster.
    pub fn start_again(&self, component: Component) -> Result<(), ClusterError> {
        self.kill(component);
        self.launch(component)?;
        self.await_answer(component)
    }

    /// Holds a component: its connections stay open and it answers nobody until it is resumed.
    pub fn pause(&self, component: Component) {
        if let Some(pid) = self.pid(component) {
            signal("STOP", pid);
        }
    }

    /// Lets a paused component go on.
    pub fn resume(&self, component: Component) {
        if let Some(pid) = self.pid(component) {
            signal("CONT", pid);
        }
    }

    /// The process of a component, if it runs.
    #[must_use]
    pub fn pid(&self, component: Component) -> Option<u32> {
        self.lock().processes.get(&component).map(Process::id)
    }

    /// The memory that a component uses, in bytes; `None` if it does not run or the system does not say.
    #[must_use]
    pub fn memory(&self, component: Component) -> Option<u64> {
        self.pid(component).and_then(resident)
    }

    fn prepare(builder: &Builder, programs: PathBuf) -> Result<Self, ClusterError> {
        let locks = binaries::cache()?.join("ports");
        let (etcd, api_server, etcd_peer) = (Port::take(&locks)?, Port::take(&locks)?, Port::take(&locks)?);
        let folder = folder::make()?;
        let guard = Guard::over(&folder)?;
        let token = kubeconfig::random_token()?;
        folder::write(&folder.join("tokens.csv"), &format!("{token},admin,admin,\"system:masters\"\n"))?;

        let layout = Layout {
            folder: &folder,
            etcd_client: etcd.number,
            etcd_peer: etcd_peer.number,
            api_server: api_server.number,
            has_controllers: builder.components.contains(&Component::ControllerManager),
        };
        let plan = |component: Component| {
            let own = builder.flags.iter().filter(|(of, _)| *of == component).map(|(_, flag)| flag.clone());
            Plan {
                component,
                program: programs.join(component.program()),
                flags: layout.flags(component).into_iter().chain(own).collect(),
                log: folder.join("logs").join(format!("{component}.log")),
            }
        };
        let plans = builder.components.iter().copied().map(plan).collect();
        let running = Mutex::new(Running { processes: BTreeMap::new(), guard });
        Ok(Cluster { folder, programs, token, etcd, api_server, _etcd_peer: etcd_peer, plans, running })
    }

    fn bring_up(&self, builder: &Builder) -> Result<(), ClusterError> {
        for plan in &self.plans {
            self.launch(plan.component)?;
            self.await_answer(plan.component)?;
        }
        for number in 1..=builder.nodes {
            self.create_node(&format!("node-{number}"), &[])?;
        }
        let first = if self.has(Component::ControllerManager) {
            "serviceaccount/default"
        } else {
            "namespace/default"
        };
        self.await_that(Component::ApiServer, || self.kubectl(&["get", first], "").is_success())
    }

    fn launch(&self, component: Component) -> Result<(), ClusterError> {
        let plan = self.plans.iter().find(|plan| plan.component == component);
        let plan = plan.ok_or_else(|| ClusterError::failed(format!("this cluster has no {component}")))?;
        let running = &mut *self.lock();
        let process = plan.start(&mut running.guard)?;
        running.processes.insert(component, process);
        Ok(())
    }

    /// The controllers and the scheduler serve nothing that could be asked; what they do is waited for where it matters.
    fn await_answer(&self, component: Component) -> Result<(), ClusterError> {
        match component {
            Component::Etcd => self.await_that(component, || self.etcd.is_open()),
            Component::ApiServer => {
                self.await_that(component, || self.api_server.is_open())?;
                self.write_kubeconfig()?;
                self.await_that(component, || self.get("/readyz").is_success())
            }
            Component::ControllerManager | Component::Scheduler => Ok(()),
        }
    }

    fn await_that(&self, component: Component, mut is_so: impl FnMut() -> bool) -> Result<(), ClusterError> {
        let mut ended = Ok(());
        let came_true = poll(PATIENCE, || {
            ended = self.lock().processes.get_mut(&component).map_or(Ok(()), Process::check);
            ended.is_err() || is_so()
        });
        ended?;
        if came_true {
            return Ok(());
        }
        Err(ClusterError::failed(format!("{component} does not answer after {} s", PATIENCE.as_secs())))
    }

    /// The API server has made its certificate before it listens.
    fn write_kubeconfig(&self) -> Result<(), ClusterError> {
        let chain = folder::read(&self.folder.join("certificates/apiserver.crt"))?;
        let ca = kubeconfig::root_of(&chain);
        folder::write(&self.ca(), ca)?;
        folder::write(&self.kubeconfig(), &kubeconfig::kubeconfig(&self.server(), ca, &self.token))
    }

    fn call(&self, program: &Path, arguments: &[&str], stdin: &str) -> Output {
        let mut command = Command::new(program);
        // A home of its own and nothing of the environment: neither caches nor settings of the user count.
        command.args(arguments).env_clear().envs(kept_environment());
        command.env("KUBECONFIG", self.kubeconfig()).env("HOME", self.folder.join("home"));
        run(command, stdin.as_bytes(), CALL)
    }

    fn has(&self, component: Component) -> bool {
        self.plans.iter().any(|plan| plan.component == component)
    }

    fn log_path(&self, component: Component) -> PathBuf {
        self.folder.join("logs").join(format!("{component}.log"))
    }

    fn lock(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Cluster {
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

fn poll(limit: Duration, mut is_so: impl FnMut() -> bool) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        if is_so() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        thread::sleep(Duration::from_millis(50));
    }
}
