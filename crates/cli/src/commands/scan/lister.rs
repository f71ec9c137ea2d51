//! Lists the kinds of a scan, in the order of the API server, and hands objects over in batches as they arrive.
//!
//! A list that must begin again, because its pages have become old, goes on after the last object that was handed over, so
//! that each is seen once and in order.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;

use kubewright_cluster::{ApiResource, Error};
use kubewright_engine::Diagnostic;
use kubewright_k8s::ApiPath;
use kubewright_value::{Source, Text, Value};

use super::cluster::ScanCluster;
use super::extent::ScanExtent;
use super::kinds::ScanKind;
use crate::codes::{self, KIND_NOT_LISTED};

/// How many objects one page has.
const PAGE_OBJECTS: u32 = 500;

/// How many objects are handed over together.
const BATCH_OBJECTS: usize = 16;

/// How often a list begins again because its pages have become old.
const MAX_LIST_RESTARTS: usize = 3;

/// Some objects of one kind, in the order of the API server.
pub(super) struct ListedBatch {
    /// Its place among all batches.
    pub(super) number: usize,
    /// Whether rules judge the objects.
    pub(super) is_judged: bool,
    /// Whether patterns read the objects.
    pub(super) is_in_graph: bool,
    /// The name of the resource, in place of that of a file.
    pub(super) source: Arc<Source>,
    /// The objects.
    pub(super) objects: Vec<Value>,
}

/// A kind that could not be listed as a whole.
pub(super) struct UnreadKind {
    /// The kind.
    pub(super) resource: ApiResource,
    /// Why.
    pub(super) diagnostic: Diagnostic,
}

/// Lists kinds and sends their objects.
pub(super) struct KindLister<'a> {
    /// The cluster.
    pub(super) cluster: &'a ScanCluster,
    /// Which objects are wanted.
    pub(super) extent: &'a ScanExtent,
    /// Takes the objects.
    pub(super) batches: SyncSender<ListedBatch>,
    /// Has room for as many batches as may be under way.
    pub(super) permits: SyncSender<()>,
    /// How many batches were sent.
    pub(super) sent: usize,
}

impl KindLister<'_> {
    /// Lists all `kinds`; returns what could not be listed.
    pub(super) fn list_all(mut self, kinds: &[ScanKind]) -> Vec<UnreadKind> {
        let mut problems = Vec::new();
        for kind in kinds {
            if self.is_stopped() {
                break;
            }
            problems.extend(self.list_kind(kind));
        }
        problems
    }

    fn is_stopped(&self) -> bool {
        self.cluster.stop.load(Ordering::Relaxed)
    }

    /// Lists one kind: all objects where patterns read them, otherwise those of the wanted namespaces.
    fn list_kind(&mut self, kind: &ScanKind) -> Option<UnreadKind> {
        let address = kind.resource.address();
        let namespaces = &self.extent.namespaces;
        if !kind.resource.is_namespaced || namespaces.is_empty() {
            let listed = self.list_path(&address.all(), kind);
            return listed.err().map(|error| kind_not_listed(kind, &error));
        }
        if kind.is_in_graph {
            match self.list_path(&address.all(), kind) {
                Ok(()) => return None,
                Err(error) if !error.is_forbidden() => return Some(kind_not_listed(kind, &error)),
                // The objects of the namespaces are still judged; patterns lack those of others.
                Err(error) => {
                    let problem = self.list_namespaces(kind).unwrap_or_else(|| kind_not_listed(kind, &error));
                    return Some(problem);
                }
            }
        }
        self.list_namespaces(kind)
    }

    fn list_namespaces(&mut self, kind: &ScanKind) -> Option<UnreadKind> {
        let address = kind.resource.address();
        let namespaces = self.extent.namespaces.clone();
        let mut failed = namespaces.iter().filter_map(|namespace| {
            let error = self.list_path(&address.within(namespace), kind).err()?;
            Some(kind_not_listed(kind, &error))
        });
        let first = failed.next();
        failed.for_each(drop);
        first
    }

    /// Sends every object at `path`.
    fn list_path(&mut self, path: &ApiPath, kind: &ScanKind) -> Result<(), Error> {
        let mut batch = PendingBatch::new(kind);
        let mut restarts = 0;
        loop {
            let (client, handle) = (&self.cluster.client, self.cluster.handle());
            let visit = |object: Value| {
                batch.add(object, self.cluster, (&self.batches, &self.permits), &mut self.sent)
            };
            match handle.block_on(client.visit_list(path, PAGE_OBJECTS, false, visit)) {
                Err(error) if error.is_gone() && restarts < MAX_LIST_RESTARTS => restarts += 1,
                Err(error) => {
                    let _ = batch.send((&self.batches, &self.permits), &mut self.sent);
                    return Err(error);
                }
                Ok(_) => {
                    let _ = batch.send((&self.batches, &self.permits), &mut self.sent);
                    return Ok(());
                }
            }
        }
    }
}

/// Where batches go, and the room for them.
type BatchSenders<'s> = (&'s SyncSender<ListedBatch>, &'s SyncSender<()>);

/// Objects that are not sent yet.
struct PendingBatch<'k> {
    kind: &'k ScanKind,
    source: Arc<Source>,
    objects: Vec<Value>,
    /// The key of the last object, in the API server's order.
    last: Option<Text>,
}

impl<'k> PendingBatch<'k> {
    fn new(kind: &'k ScanKind) -> Self {
        let source = Source::new(kind.resource.full_name(), "");
        Self { kind, source, objects: Vec::new(), last: None }
    }

    /// Adds an object, and sends the batch when it is full.
    fn add(
        &mut self,
        object: Value,
        cluster: &ScanCluster,
        senders: BatchSenders<'_>,
        sent: &mut usize,
    ) -> ControlFlow<()> {
        let key: Text = listed_key(&object).into();
        if self.last.as_ref().is_some_and(|last| key <= *last) {
            return ControlFlow::Continue(());
        }
        self.last = Some(key);
        self.objects.push(object);
        if cluster.stop.load(Ordering::Relaxed) {
            return ControlFlow::Break(());
        }
        if self.objects.len() < BATCH_OBJECTS { ControlFlow::Continue(()) } else { self.send(senders, sent) }
    }

    /// Sends the batch; breaks if the receiver is gone.
    fn send(&mut self, (batches, permits): BatchSenders<'_>, sent: &mut usize) -> ControlFlow<()> {
        let objects = std::mem::take(&mut self.objects);
        if objects.is_empty() {
            return ControlFlow::Continue(());
        }
        let batch = ListedBatch {
            number: *sent,
            is_judged: self.kind.is_judged,
            is_in_graph: self.kind.is_in_graph,
            source: Arc::clone(&self.source),
            objects,
        };
        *sent += 1;
        if permits.send(()).is_err() || batches.send(batch).is_err() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Returns the key by which the API server sorts objects of a kind.
fn listed_key(object: &Value) -> String {
    let (namespace, name) = (object.str_at(&["metadata", "namespace"]), object.str_at(&["metadata", "name"]));
    if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") }
}

fn kind_not_listed(kind: &ScanKind, error: &Error) -> UnreadKind {
    let name = kind.resource.full_name();
    let message = format!("objects of `{name}` could not be read: {error}");
    let problem = codes::about_path(&KIND_NOT_LISTED, &name, message);
    let diagnostic = match error.is_forbidden() {
        true => problem.help(format!("allow `list` on `{name}`: nothing is known about these objects")),
        false => problem,
    };
    UnreadKind { resource: kind.resource.clone(), diagnostic }
}
