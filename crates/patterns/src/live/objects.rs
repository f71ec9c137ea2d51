//! Objects of a live search: what is kept of them, and which patterns a change of one may matter to.

use std::sync::Arc;

use kubewright_graph::Id;
use kubewright_k8s::{GroupVersionKind, ObjectName, is_cluster_scoped};
use kubewright_value::{Text, Value};

use super::fields::pattern_fields;
use super::locality::roles_of_object;
use super::{KindReading, LivePatterns};

impl LivePatterns {
    /// Puts `object` in place of the one with the same name. Only the fields that are read are kept.
    pub fn insert(&mut self, object: &Value) {
        let kind = GroupVersionKind::of(object);
        let reading = self.reading(&kind.group, &kind.kind);
        let Some(kept) = reading.kept.kept(object) else { return };
        let mut name = ObjectName::of(&kept);
        if is_cluster_scoped(&kind) {
            name.namespace = Text::default();
        }
        match &mut self.loading {
            Some(loading) => {
                loading.insert(name, self.interner.share_parts(kept));
            }
            None => self.replace(&name, kept, &reading),
        }
    }

    /// Takes the object called `name` out; does nothing where there is none.
    pub fn remove(&mut self, name: &ObjectName) {
        if let Some(loading) = &mut self.loading {
            loading.remove(name);
        }
        if let Some(id) = self.graph.find(&name.group, &name.kind, &name.namespace, &name.name) {
            self.take_out(id);
        }
    }

    fn replace(&mut self, name: &ObjectName, kept: Value, reading: &KindReading) {
        let id = self.graph.find(&name.group, &name.kind, &name.namespace, &name.name);
        let old = id.and_then(|id| self.graph.node(id)?.object.clone());
        if old.as_ref() == Some(&kept) {
            self.counts.unread_changes += 1;
            return;
        }
        if let Some(twin) = self.graph.twin_of(&kept) {
            self.take_out(twin);
        }
        let kept = self.interner.share_parts(kept);
        let mut changed = Vec::new();
        for (place, tree) in &reading.readers {
            let is_read = old.as_ref().is_none_or(|old| tree.differs(old, &kept));
            let roles = if is_read { self.roles(*place, name, &kept, old.as_ref()) } else { 0 };
            changed.extend((roles != 0).then_some((*place, roles)));
        }
        let had_kind = old.is_some() || self.has_objects_of(name);
        let id = self.graph.insert(kept);
        for (place, roles) in changed {
            if let Some(live) = self.patterns.get_mut(place) {
                *live.seeds.nodes.entry(id).or_default() |= roles;
            }
        }
        self.is_changed = true;
        self.note_kind(name, had_kind);
    }

    fn take_out(&mut self, id: Id) {
        let Some((name, old)) = self.graph.node(id).and_then(|node| {
            let name = ObjectName {
                group: node.group().into(),
                kind: node.kind.clone(),
                namespace: node.namespace.clone(),
                name: node.name.clone(),
            };
            Some((name, node.object.clone()?))
        }) else {
            return;
        };
        let reading = self.reading(&name.group, &name.kind);
        for (place, _) in &reading.readers {
            let roles = self.roles(*place, &name, &old, None);
            let Some(live) = self.patterns.get_mut(*place) else { continue };
            // It may have changed since the last search, which knows it as it was then.
            let roles = roles | live.seeds.nodes.remove(&id).unwrap_or(0);
            if roles != 0 {
                live.seeds.gone.push((roles, name.clone()));
                live.leaders.insert(name.clone());
            }
        }
        self.graph.remove(id);
        self.is_changed = true;
        self.note_kind(&name, true);
    }

    /// Returns the roles of a pattern that an object may fill as it is, or might as it was.
    fn roles(&self, place: usize, name: &ObjectName, object: &Value, old: Option<&Value>) -> u64 {
        let Some(live) = self.patterns.get(place) else { return 0 };
        let asked = (live.pattern.as_ref(), &self.graph, &self.settings);
        let objects = std::iter::once(object).chain(old);
        objects.fold(0, |roles, object| roles | roles_of_object(asked, (&name.group, &name.kind), object))
    }

    fn has_objects_of(&self, name: &ObjectName) -> bool {
        let mut nodes = self.graph.of_kind(&name.kind).iter().filter_map(|id| self.graph.node(*id));
        nodes.any(|node| node.group() == name.group)
    }

    /// Has all leaders looked at again where it matters that a kind has its first object, or none any more.
    fn note_kind(&mut self, name: &ObjectName, had_kind: bool) {
        if had_kind != self.has_objects_of(name) {
            let counting = self.patterns.iter_mut().filter(|live| live.locality.counts_kind(&name.kind));
            counting.for_each(|live| live.is_due = true);
        }
    }

    /// Returns what is read of objects of a kind.
    fn reading(&mut self, group: &Text, kind: &Text) -> Arc<KindReading> {
        let key = (group.clone(), kind.clone());
        if let Some(known) = self.kinds.get(&key) {
            return Arc::clone(known);
        }
        let mut kept = self.graph.fields_of_kind(group, kind);
        let mut readers = Vec::new();
        for (place, live) in self.patterns.iter().enumerate() {
            if let Some(fields) = pattern_fields(&live.pattern, group, kind) {
                kept.merge(&fields);
                readers.push((place, fields));
            }
        }
        let reading = Arc::new(KindReading { kept, readers });
        self.kinds.insert(key, Arc::clone(&reading));
        reading
    }
}
