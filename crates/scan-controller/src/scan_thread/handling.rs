//! What is done with each input.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use kubewright_cluster::{DiscoveredResources, Error, ResourceEvent};
use kubewright_scan::{JudgementCause, KindKey, ObjectKey, RescanTarget};
use kubewright_serve::log::LogLevel;
use kubewright_value::Value;

use super::ScanThread;
use crate::kinds::watched_kinds;
use crate::rescan::RescanScope;
use crate::rule_source::LoadedRules;
use crate::scan_input::ScanInput;

impl ScanThread {
    pub(super) fn handle(&mut self, input: ScanInput) {
        match input {
            ScanInput::Watched { kind, watch, event, since } => {
                if let Some(watched) = self.watches.current(&kind, watch) {
                    let is_judged = watched.is_judged;
                    self.handle_event(&kind, is_judged, event, since);
                }
            }
            ScanInput::Rescanned { kind, object } => {
                let key = ObjectKey::of(&object);
                if let Some(cause) = self.rescans.cause(&kind, &key, &object) {
                    self.batch.add(key, object, cause, Instant::now());
                }
            }
            ScanInput::RescanEnded { kind, failure } => {
                self.flush();
                if let Some(why) = &failure {
                    let line = self.context.log.line(LogLevel::Warn, "objects not read again");
                    line.text("kind", &kind_name(&kind)).text("problem", why).write();
                }
                self.rescans.ended(&kind, failure.is_some(), Instant::now());
            }
            ScanInput::Rules(rules) => self.handle_rules(&rules),
            ScanInput::Served(served) => self.handle_served(served),
            ScanInput::Changed(key) => self.note_change(&key),
            ScanInput::SharedChanged(name) => {
                self.context.world.forget_shared();
                let dependents = self.scanner_mut().dependents_of_shared(&name);
                self.rescans.add_keys(dependents, JudgementCause::Dependency, Instant::now());
            }
            ScanInput::ScanNow => {
                let kinds: Vec<KindKey> = self.watches.judged().cloned().collect();
                for kind in kinds {
                    self.rescans.add(kind, RescanScope::All, JudgementCause::FullPass, Instant::now());
                }
            }
        }
    }

    fn handle_event(&mut self, kind: &KindKey, is_judged: bool, event: ResourceEvent, since: Instant) {
        match event {
            ResourceEvent::InitialListStarted => {
                self.flush();
                if is_judged {
                    self.scanner_mut().begin_list(kind);
                }
            }
            ResourceEvent::InitialObject(object) => {
                let key = key_in(kind, &object);
                // What was looked up in just this version was not changed since.
                if !self.context.world.has_version(&key, &object) {
                    self.note_change(&key);
                }
                if is_judged {
                    self.add_watched(kind, key, object, since);
                }
            }
            ResourceEvent::InitialListEnded => self.end_list(kind, is_judged),
            ResourceEvent::Applied(object) => {
                let key = key_in(kind, &object);
                self.note_change(&key);
                if is_judged {
                    self.add_watched(kind, key, object, since);
                }
            }
            ResourceEvent::Deleted(object) => {
                let key = key_in(kind, &object);
                self.batch.remove(&key);
                self.rescans.removed(kind, &key);
                self.note_change(&key);
                if is_judged {
                    self.scanner_mut().remove(&key);
                }
            }
            ResourceEvent::Failed(error) => self.handle_failure(kind, &error),
        }
    }

    fn add_watched(&mut self, kind: &KindKey, key: ObjectKey, object: Value, since: Instant) {
        let cause = self.rescans.watched(kind, &key, &object).unwrap_or(JudgementCause::Object);
        self.batch.add(key, object, cause, since);
    }

    fn end_list(&mut self, kind: &KindKey, is_judged: bool) {
        self.flush();
        if is_judged {
            self.scanner_mut().end_list(kind);
        }
        self.unsynced.remove(kind);
        if self.context.status.set_unavailable(kind, None) {
            let line = self.context.log.line(LogLevel::Info, "kind can be read again");
            line.text("kind", &kind_name(kind)).write();
        }
        self.check_first_pass();
    }

    /// A kind that may not be read is named once; everything else goes on.
    fn handle_failure(&mut self, kind: &KindKey, error: &Error) {
        let is_lasting = matches!(error.code(), Some(401 | 403 | 404 | 405 | 406));
        if !is_lasting {
            let line = self.context.log.line(LogLevel::Debug, "watch interrupted");
            line.text("kind", &kind_name(kind)).shown("problem", error).write();
            return;
        }
        if self.context.status.set_unavailable(kind, Some(error.to_string())) {
            let line = self.context.log.line(LogLevel::Warn, "kind is not scanned");
            line.text("kind", &kind_name(kind)).shown("problem", error).write();
        }
        self.unsynced.remove(kind);
        self.check_first_pass();
    }

    /// Lets everything be judged again that depends on `key`.
    fn note_change(&mut self, key: &ObjectKey) {
        self.context.world.forget(key);
        let dependents = self.scanner_mut().dependents_of(key);
        if !dependents.is_empty() {
            self.rescans.add_keys(dependents, JudgementCause::Dependency, Instant::now());
        }
    }

    fn handle_rules(&mut self, rules: &Arc<LoadedRules>) {
        self.flush();
        let targets = self.scanner_mut().replace_rules(Arc::clone(&rules.rules));
        self.rules = Some(Arc::clone(rules));
        if let Some(violations) = &self.context.violations {
            violations.set_rules(&rules.documents);
        }
        let begun: BTreeSet<KindKey> = self.reconcile_watches().into_iter().collect();
        let kinds: Vec<KindKey> =
            self.watches.judged().filter(|kind| !begun.contains(*kind)).cloned().collect();
        for kind in kinds {
            let of_kind: Vec<&RescanTarget> =
                targets.iter().filter(|target| target.contains_kind(&kind)).collect();
            if of_kind.is_empty() {
                continue;
            }
            let namespaces: Option<BTreeSet<_>> =
                of_kind.iter().map(|target| target.namespace.clone()).collect();
            let scope = match namespaces {
                Some(namespaces) => RescanScope::Some { namespaces, keys: BTreeSet::new() },
                None => RescanScope::All,
            };
            self.rescans.add(kind, scope, JudgementCause::Rule, Instant::now());
        }
        self.publish_changes();
        self.check_first_pass();
    }

    fn handle_served(&mut self, served: Arc<DiscoveredResources>) {
        self.flush();
        self.served = Some(served);
        self.reconcile_watches();
        self.publish_changes();
        self.check_first_pass();
    }

    /// Watches the kinds that rules judge or look up, and returns those that were not watched before.
    pub(super) fn reconcile_watches(&mut self) -> Vec<KindKey> {
        let (Some(rules), Some(served)) = (&self.rules, &self.served) else { return Vec::new() };
        let wanted = watched_kinds(served, &rules.rules, &self.watched_inputs);
        let judged: BTreeSet<KindKey> =
            wanted.iter().filter(|(_, kind)| kind.is_judged).map(|(key, _)| key.clone()).collect();
        let (begun, ended) = self.watches.reconcile(wanted);
        for kind in &ended {
            self.unsynced.remove(kind);
            self.rescans.forget(kind);
            self.context.status.set_unavailable(kind, None);
            if !judged.contains(kind) {
                self.scanner_mut().forget_kind(kind);
            }
        }
        self.unsynced.extend(begun.iter().filter(|kind| judged.contains(*kind)).cloned());
        self.count_objects(begun.iter().filter(|kind| judged.contains(*kind)));
        begun
    }

    /// Asks how many objects of `kinds` there are, so that the progress of the first pass has a total.
    fn count_objects<'k>(&self, kinds: impl Iterator<Item = &'k KindKey>) {
        if self.context.status.is_complete() {
            return;
        }
        let of_kind = |key: &KindKey| Some((key.clone(), self.watches.kind(key)?.resource.address().all()));
        let kinds: Vec<_> = kinds.filter_map(of_kind).collect();
        let (client, status) = (self.context.client.clone(), Arc::clone(&self.context.status));
        self.runtime.spawn(async move {
            for (kind, path) in kinds {
                if let Ok(Some(count)) = client.count_objects(&path).await {
                    status.set_counted(kind, count);
                }
            }
        });
    }

    /// Notes the end of the first pass, when every kind has been listed that can be.
    fn check_first_pass(&mut self) {
        let is_known = self.rules.is_some() && self.served.is_some();
        if self.context.status.is_complete() || !is_known || !self.unsynced.is_empty() {
            return;
        }
        self.publish_changes();
        self.context.status.completed();
        let took = self.begun.elapsed();
        self.passed(took);
        self.pass_begun = Instant::now();
        let objects = self.scanner().totals().objects;
        self.context.status.set_judged(objects as u64, 0);
        let line = self.context.log.line(LogLevel::Info, "first pass complete");
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        line.number("objects", objects as u64).number("milliseconds", millis).write();
        self.context.changed.notify_one();
    }
}

/// Returns the key of an object, which may have only its metadata.
fn key_in(kind: &KindKey, object: &Value) -> ObjectKey {
    let text = |key: &str| object.str_at(&["metadata", key]).into();
    ObjectKey {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        namespace: text("namespace"),
        name: text("name"),
    }
}

/// Returns a kind as logs and metrics name it.
pub(super) fn kind_name(kind: &KindKey) -> String {
    match kind.group.as_str() {
        "" => kind.kind.to_string(),
        group => format!("{}.{group}", kind.kind),
    }
}
