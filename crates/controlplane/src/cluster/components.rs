//! Starting, stopping and holding the parts of a cluster.

use super::{CLUSTER_TIMEOUT, TestCluster, poll_until};
use crate::kubeconfig::KubeconfigUser;
use crate::process::{Process, resident, signal};
use crate::{ClusterError, ControlPlaneComponent, folder, kubeconfig};

impl TestCluster {
    /// Asks a component to end, waits for that, and kills it after 20 s.
    pub fn stop(&self, component: ControlPlaneComponent) {
        let running = &mut *self.lock();
        if let Some(process) = running.processes.remove(&component) {
            process.stop(&mut running.guard);
        }
    }

    /// Kills a component without warning.
    pub fn kill(&self, component: ControlPlaneComponent) {
        let running = &mut *self.lock();
        if let Some(process) = running.processes.remove(&component) {
            process.kill(&mut running.guard);
        }
    }

    /// Starts a component that was stopped or killed, with the same data and ports, and waits until it answers.
    ///
    /// # Errors
    /// If it does not start, or is no part of this cluster.
    pub fn start_again(&self, component: ControlPlaneComponent) -> Result<(), ClusterError> {
        self.kill(component);
        self.launch(component)?;
        self.await_answer(component)
    }

    /// Pauses a component: its connections stay open and it answers nothing until it is resumed.
    pub fn pause(&self, component: ControlPlaneComponent) {
        if let Some(pid) = self.pid(component) {
            signal("STOP", pid);
        }
    }

    /// Lets a paused component go on.
    pub fn resume(&self, component: ControlPlaneComponent) {
        if let Some(pid) = self.pid(component) {
            signal("CONT", pid);
        }
    }

    /// The process of a component, if it runs.
    #[must_use]
    pub fn pid(&self, component: ControlPlaneComponent) -> Option<u32> {
        self.lock().processes.get(&component).map(Process::id)
    }

    /// The memory that a component uses, in bytes; `None` if it does not run or the system does not say.
    #[must_use]
    pub fn memory(&self, component: ControlPlaneComponent) -> Option<u64> {
        self.pid(component).and_then(resident)
    }

    pub(super) fn launch(&self, component: ControlPlaneComponent) -> Result<(), ClusterError> {
        let plan = self.plans.iter().find(|plan| plan.component == component);
        let plan = plan.ok_or_else(|| ClusterError::failed(format!("this cluster has no {component}")))?;
        let running = &mut *self.lock();
        let process = plan.start(&mut running.guard)?;
        running.processes.insert(component, process);
        Ok(())
    }

    /// The controllers and the scheduler serve nothing that could be asked; what they do is waited for where it
    /// matters.
    pub(super) fn await_answer(&self, component: ControlPlaneComponent) -> Result<(), ClusterError> {
        match component {
            ControlPlaneComponent::Etcd => self.await_that(component, || self.etcd.is_open()),
            ControlPlaneComponent::ApiServer => {
                self.await_that(component, || self.api_server.is_open())?;
                self.write_kubeconfig()?;
                self.await_that(component, || self.get("/readyz").is_success())
            }
            ControlPlaneComponent::ControllerManager | ControlPlaneComponent::Scheduler => Ok(()),
        }
    }

    /// Waits until `is_so`, unless `component` has ended by itself meanwhile.
    pub(super) fn await_that(
        &self,
        component: ControlPlaneComponent,
        mut is_so: impl FnMut() -> bool,
    ) -> Result<(), ClusterError> {
        let mut ended = Ok(());
        let came_true = poll_until(|| {
            ended = self.lock().processes.get_mut(&component).map_or(Ok(()), Process::check);
            ended.is_err() || is_so()
        });
        ended?;
        if came_true {
            return Ok(());
        }
        Err(ClusterError::failed(format!(
            "{component} does not answer after {} s",
            CLUSTER_TIMEOUT.as_secs()
        )))
    }

    /// The API server has made its certificate before it listens.
    fn write_kubeconfig(&self) -> Result<(), ClusterError> {
        let chain = folder::read_text_file(&self.folder().join("certificates/apiserver.crt"))?;
        let ca = kubeconfig::root_of(&chain);
        folder::write_text_file(&self.ca(), ca)?;
        folder::write_text_file(
            &self.kubeconfig(),
            &kubeconfig::kubeconfig(&self.server(), ca, &KubeconfigUser::Token(&self.token)),
        )
    }
}
