//! Objects that are read and judged again, though they have not changed: their rules or something they depend on has.
//!
//! Objects are not kept, so they are read from the API server: a few one by one, many by a list of their kind. While that
//! goes on, a watch may bring a newer state of such an object; then the older one that was read does not count.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kubewright_cluster::{ApiResource, Client, Error};
use kubewright_scan::{JudgementCause, KindKey, ObjectKey};
use kubewright_value::{Text, Value};
use tokio::sync::mpsc::Sender;

use crate::scan_input::ScanInput;

/// Up to how many objects are read one by one.
const MAX_SINGLE_READS: usize = 100;

/// How many of them are read at the same time.
const PARALLEL_READS: usize = 8;

/// How many objects a page of a list has.
const RESCAN_PAGE_OBJECTS: u32 = 500;

/// How many kinds are read again at the same time.
const MAX_ACTIVE_RESCANS: usize = 3;

/// How long is waited after a rescan that failed.
const RESCAN_BACKOFF: Duration = Duration::from_secs(2);

/// Which objects of a kind are read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RescanScope {
    /// All of them.
    All,
    /// Those in some namespaces, and some others.
    Some { namespaces: BTreeSet<Text>, keys: BTreeSet<ObjectKey> },
}

impl RescanScope {
    fn contains(&self, key: &ObjectKey) -> bool {
        match self {
            Self::All => true,
            Self::Some { namespaces, keys } => namespaces.contains(&key.namespace) || keys.contains(key),
        }
    }

    fn add(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::All, _) => {}
            (_, Self::All) => *self = Self::All,
            (Self::Some { namespaces, keys }, Self::Some { namespaces: more, keys: other }) => {
                namespaces.extend(more);
                keys.extend(other);
            }
        }
    }
}

/// What waits to be read again, and what is being read.
#[derive(Debug, Default)]
pub(crate) struct RescanQueue {
    waiting: BTreeMap<KindKey, WaitingRescan>,
    active: BTreeMap<KindKey, ActiveRescan>,
}

#[derive(Debug)]
struct WaitingRescan {
    scope: RescanScope,
    cause: JudgementCause,
    since: Instant,
    not_before: Instant,
}

#[derive(Debug)]
struct ActiveRescan {
    scope: Arc<RescanScope>,
    cause: JudgementCause,
    since: Instant,
    /// The versions of objects that a watch brought meanwhile; the largest number for those that are gone.
    seen: HashMap<ObjectKey, u64>,
}

/// A rescan that is to be started.
#[derive(Debug)]
pub(crate) struct RescanOrder {
    pub(crate) kind: KindKey,
    pub(crate) scope: Arc<RescanScope>,
}

impl RescanQueue {
    /// Adds objects of `kind`.
    pub(crate) fn add(&mut self, kind: KindKey, scope: RescanScope, cause: JudgementCause, now: Instant) {
        match self.waiting.get_mut(&kind) {
            Some(waiting) => {
                waiting.scope.add(scope);
                // A full pass does not count as waiting, so it is told apart from the rest.
                waiting.cause = waiting.cause.min(cause);
            }
            None => {
                drop(self.waiting.insert(kind, WaitingRescan { scope, cause, since: now, not_before: now }));
            }
        }
    }

    /// Adds single objects of any kind.
    pub(crate) fn add_keys(
        &mut self,
        keys: impl IntoIterator<Item = ObjectKey>,
        cause: JudgementCause,
        now: Instant,
    ) {
        let mut by_kind: BTreeMap<KindKey, BTreeSet<ObjectKey>> = BTreeMap::new();
        for key in keys {
            by_kind.entry(KindKey::of(&key)).or_default().insert(key);
        }
        for (kind, keys) in by_kind {
            self.add(kind, RescanScope::Some { namespaces: BTreeSet::new(), keys }, cause, now);
        }
    }

    /// Returns the rescans that begin now.
    pub(crate) fn begin(&mut self, now: Instant) -> Vec<RescanOrder> {
        let mut orders = Vec::new();
        let ready: Vec<KindKey> = self
            .waiting
            .iter()
            .filter(|(kind, waiting)| waiting.not_before <= now && !self.active.contains_key(*kind))
            .map(|(kind, _)| kind.clone())
            .collect();
        for kind in ready {
            if self.active.len() >= MAX_ACTIVE_RESCANS {
                break;
            }
            let Some(waiting) = self.waiting.remove(&kind) else { continue };
            let scope = Arc::new(waiting.scope);
            let active = ActiveRescan {
                scope: Arc::clone(&scope),
                cause: waiting.cause,
                since: waiting.since,
                seen: HashMap::new(),
            };
            self.active.insert(kind.clone(), active);
            orders.push(RescanOrder { kind, scope });
        }
        orders
    }

    /// Notes the end of a rescan; one that failed is done again.
    pub(crate) fn ended(&mut self, kind: &KindKey, has_failed: bool, now: Instant) {
        let Some(active) = self.active.remove(kind) else { return };
        if has_failed {
            let scope = Arc::unwrap_or_clone(active.scope);
            self.add(kind.clone(), scope, active.cause, active.since);
            if let Some(waiting) = self.waiting.get_mut(kind) {
                waiting.not_before = now + RESCAN_BACKOFF;
            }
        }
    }

    /// Forgets everything about a kind that is no longer watched.
    pub(crate) fn forget(&mut self, kind: &KindKey) {
        self.waiting.remove(kind);
    }

    /// Notes that a watch brought `object`. Returns why it must be judged, if that is not only because it changed.
    pub(crate) fn watched(
        &mut self,
        kind: &KindKey,
        key: &ObjectKey,
        object: &Value,
    ) -> Option<JudgementCause> {
        let active = self.active.get_mut(kind)?;
        if !active.scope.contains(key) {
            return None;
        }
        active.seen.insert(key.clone(), version_number(object));
        Some(active.cause)
    }

    /// Notes that an object is gone.
    pub(crate) fn removed(&mut self, kind: &KindKey, key: &ObjectKey) {
        if let Some(active) = self.active.get_mut(kind).filter(|active| active.scope.contains(key)) {
            active.seen.insert(key.clone(), u64::MAX);
        }
    }

    /// Returns why an object that was read again must be judged; nothing if a watch has brought a newer state.
    pub(crate) fn cause(&self, kind: &KindKey, key: &ObjectKey, object: &Value) -> Option<JudgementCause> {
        let active = self.active.get(kind)?;
        let is_old = active.seen.get(key).is_some_and(|seen| *seen > version_number(object));
        (!is_old).then_some(active.cause)
    }

    /// Returns since when the oldest rescan waits, full passes apart.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        let waiting = self.waiting.values().map(|waiting| (waiting.cause, waiting.since));
        let active = self.active.values().map(|active| (active.cause, active.since));
        let urgent = waiting.chain(active).filter(|(cause, _)| *cause != JudgementCause::FullPass);
        urgent.map(|(_, since)| since).min()
    }

    /// Returns whether objects of `kind` are being read again.
    pub(crate) fn is_busy(&self, kind: &KindKey) -> bool {
        self.active.contains_key(kind)
    }

    /// Returns how many objects wait by name; a kind or namespace that waits whole counts as one.
    pub(crate) fn waiting_objects(&self) -> usize {
        let count = |scope: &RescanScope| match scope {
            RescanScope::All => 1,
            RescanScope::Some { namespaces, keys } => namespaces.len() + keys.len(),
        };
        let active = self.active.values().map(|active| count(&active.scope));
        self.waiting.values().map(|waiting| count(&waiting.scope)).chain(active).sum()
    }

    /// Returns whether nothing waits and nothing is read.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.active.is_empty()
    }
}

/// Returns the version of an object as a number; versions of one kind are compared.
fn version_number(object: &Value) -> u64 {
    object.str_at(&["metadata", "resourceVersion"]).parse().unwrap_or_default()
}

/// Reads what `order` names and sends it to the scan thread.
pub(crate) async fn run_rescan(
    client: Client,
    resource: ApiResource,
    order: RescanOrder,
    inputs: Sender<ScanInput>,
) {
    let RescanOrder { kind, scope } = order;
    let read = match &*scope {
        RescanScope::All => read_lists(&client, &resource, &kind, &scope, &inputs, &[""]).await,
        RescanScope::Some { namespaces, keys } => {
            let lists: Vec<&str> = namespaces.iter().map(Text::as_str).collect();
            let single = keys.iter().filter(|key| !namespaces.contains(&key.namespace));
            let single: Vec<&ObjectKey> = single.collect();
            // The empty namespace is that of objects without one: their list is that of all.
            match single.len() > MAX_SINGLE_READS || lists.contains(&"") {
                true => read_lists(&client, &resource, &kind, &scope, &inputs, &[""]).await,
                false => match read_lists(&client, &resource, &kind, &scope, &inputs, &lists).await {
                    Ok(()) => read_singly(&client, &resource, &kind, &single, &inputs).await,
                    failed => failed,
                },
            }
        }
    };
    let failure = read.err().map(|error| error.to_string());
    let _ = inputs.send(ScanInput::RescanEnded { kind, failure }).await;
}

async fn read_lists(
    client: &Client,
    resource: &ApiResource,
    kind: &KindKey,
    scope: &RescanScope,
    inputs: &Sender<ScanInput>,
    namespaces: &[&str],
) -> Result<(), Error> {
    for namespace in namespaces {
        let path = resource.address().within(namespace);
        let visit = |object: Value| {
            if !scope.contains(&ObjectKey::of(&object)) {
                return ControlFlow::Continue(());
            }
            let input = ScanInput::Rescanned { kind: kind.clone(), object };
            // The list waits while the scan is busy.
            match tokio::task::block_in_place(|| inputs.blocking_send(input)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        };
        client.visit_list(&path, RESCAN_PAGE_OBJECTS, false, visit).await?;
    }
    Ok(())
}

async fn read_singly(
    client: &Client,
    resource: &ApiResource,
    kind: &KindKey,
    keys: &[&ObjectKey],
    inputs: &Sender<ScanInput>,
) -> Result<(), Error> {
    for chunk in keys.chunks(PARALLEL_READS) {
        let reads: Vec<_> = chunk
            .iter()
            .map(|key| {
                let (client, path) = (client.clone(), resource.address().named(&key.namespace, &key.name));
                tokio::spawn(async move { client.get(&path).await })
            })
            .collect();
        for read in reads {
            match read.await {
                Ok(Ok(object)) => {
                    let _ = inputs.send(ScanInput::Rescanned { kind: kind.clone(), object }).await;
                }
                // Its watch says so too.
                Ok(Err(error)) if error.is_not_found() => {}
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(Error::Unreadable("a read was given up".to_owned())),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
