//! A fake kubelet: it reports bound pods as running and removes deleted ones. No container runs.
//!
//! Without it a bound pod stays `Pending`, and a deleted one waits for a kubelet for ever.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::client::KubectlClient;

/// One line for each pod and each change of it. Not with tabs: kubectl would make columns of them.
const POD_FIELDS_TEMPLATE: &str = r#"jsonpath={.metadata.namespace}{"|"}{.metadata.name}{"|"}{.spec.nodeName}{"|"}{.status.phase}{"|"}{.metadata.deletionTimestamp}{"\n"}"#;

const RUNNING_STATUS: &str = r#"{"status":{"phase":"Running","conditions":[
    {"type":"Initialized","status":"True"},{"type":"ContainersReady","status":"True"},{"type":"Ready","status":"True"}]}}"#;

/// Says of every bound pod that it runs and is ready, and of every deleted one that it has ended, until it is dropped.
/// Made by [`TestCluster::run_pods`](crate::TestCluster::run_pods).
pub struct Kubelet {
    shared: Arc<KubeletState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct KubeletState {
    is_over: AtomicBool,
    watch: Mutex<Option<Child>>,
}

impl Kubelet {
    pub(crate) fn start(client: KubectlClient) -> Self {
        let shared = Arc::new(KubeletState::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            // A watch ends with the API server, which may come back.
            while !of_thread.is_over.load(Ordering::SeqCst) {
                of_thread.watch(&client);
                thread::sleep(Duration::from_millis(200));
            }
        });
        Kubelet { shared, thread: Some(thread) }
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.shared.end_watch();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl KubeletState {
    fn watch(&self, client: &KubectlClient) {
        let arguments = ["get", "pods", "--all-namespaces", "--watch", "-o", POD_FIELDS_TEMPLATE];
        let mut command = client.command(&client.kubectl, &arguments);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else { return };
        let Some(lines) = child.stdout.take() else { return };
        *self.watch.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
        // If it was dropped between the check and here, only this thread can end the watch.
        if self.is_over.load(Ordering::SeqCst) {
            self.end_watch();
        }
        for line in BufReader::new(lines).lines().map_while(Result::ok) {
            advance_pod(client, &line);
        }
        self.end_watch();
    }

    fn end_watch(&self) {
        if let Some(mut child) = self.watch.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What becomes of it is seen in the next line about the pod; one that is gone meanwhile needs nothing.
fn advance_pod(client: &KubectlClient, line: &str) {
    let fields: Vec<&str> = line.split('|').collect();
    let _ = match fields.as_slice() {
        [_, _, "", ..] => return,
        [namespace, name, _, "Pending", ""] => client.kubectl(
            &["patch", "pod", name, "-n", namespace, "--subresource=status", "-p", RUNNING_STATUS],
            "",
        ),
        [_, _, _, _, ""] => return,
        [namespace, name, ..] => client.kubectl(
            &["delete", "pod", name, "-n", namespace, "--grace-period=0", "--force", "--wait=false"],
            "",
        ),
        _ => return,
    };
}
