//! The search after changes.

use std::collections::HashSet;
use std::sync::Arc;

use kubewright_graph::{Graph, GraphChanges, Id};
use kubewright_k8s::ObjectName;
use kubewright_value::Text;

use super::super::detect::{
    DetectionFailure, DetectionSettings, WholeSearch, contain_panic, detect_leaders, detection_budget,
};
use super::super::finding::PatternFinding;
use super::super::pattern::Pattern;
use super::super::suppression::suppression;
use super::change::{FindingChange, FindingObject, IncompleteReason};
use super::exchanged::ExchangedRoles;
use super::locality::{Affected, Seeds, Surroundings};
use super::records::{LeaderUpdate, ObservedFinding};
use super::{LivePattern, LivePatterns};

/// How long a search that did not end is not tried again, in seconds; twice as long after each further failure.
const FIRST_RETRY_SECONDS: i64 = 30;
/// How often that doubles.
const MAX_RETRY_DOUBLINGS: u32 = 7;

/// How many names more than twice those it was built with a graph may have before it is built anew.
const MIN_FORGOTTEN_NAMES: usize = 100_000;

impl LivePatterns {
    /// Looks for patterns again where changes since the last call can matter, and returns what is different. `now` is in
    /// seconds since the epoch.
    pub fn refresh(&mut self, now: i64) -> Vec<FindingChange> {
        let mut changes = Vec::new();
        self.refresh_each(now, |_, change| changes.push(change));
        changes
    }

    /// Does what [`LivePatterns::refresh`] does, and calls `visit` with each change as soon as it is known: there may be as
    /// many as findings when all objects are new.
    pub fn refresh_each(&mut self, now: i64, mut visit: impl FnMut(&Graph, FindingChange)) {
        std::mem::take(&mut self.pending).into_iter().for_each(|change| visit(&self.graph, change));
        self.load();
        let changes = self.graph.take_changes();
        let is_changed = std::mem::take(&mut self.is_changed);
        let Self { patterns, settings, graph, suppressed, counts, .. } = self;
        let observing = Observing { graph, settings, suppressed, now };
        let mut whole: Vec<usize> = Vec::new();
        for (place, live) in patterns.iter_mut().enumerate() {
            match live.affected(&observing, &changes, is_changed) {
                Affected::All => whole.push(place),
                Affected::Leaders(leaders) => {
                    let is_done = live.detect_some(&observing, leaders, &mut counts.leaders, &mut |change| {
                        visit(graph, change);
                    });
                    whole.extend((!is_done).then_some(place));
                }
            }
        }
        let shared: Vec<Arc<Pattern>> = whole
            .iter()
            .filter_map(|place| patterns.get(*place))
            .map(|live| Arc::clone(&live.pattern))
            .collect();
        let search = WholeSearch::new(shared.iter().map(Arc::as_ref), graph, settings);
        for place in whole {
            let Some(live) = patterns.get_mut(place) else { continue };
            counts.patterns += 1;
            live.detect_whole(&search, &observing, &mut |change| visit(graph, change));
        }
        self.forget_names();
    }

    /// Builds the graph of the objects that came before the first search. [`refresh`](Self::refresh) does so too; this is for
    /// a caller that searches the [graph](Self::graph) itself.
    pub fn load(&mut self) {
        let Some(loading) = self.loading.take() else { return };
        self.interner.sweep();
        let graph = std::mem::replace(&mut self.graph, Graph::new(&Default::default()));
        let mut graph = graph.filled(loading.into_values().collect::<Vec<_>>());
        graph.shrink();
        self.names_at_build = graph.name_count();
        self.graph = graph;
    }

    /// Builds the graph anew if most of the names that it knows are of objects that are gone.
    fn forget_names(&mut self) {
        let most = self.names_at_build.saturating_mul(2).saturating_add(MIN_FORGOTTEN_NAMES);
        if self.graph.name_count() > most {
            let graph = std::mem::replace(&mut self.graph, Graph::new(&Default::default()));
            self.graph = graph.compacted();
            self.names_at_build = self.graph.name_count();
        }
    }
}

/// What a search reads besides the pattern.
struct Observing<'a> {
    graph: &'a Graph,
    settings: &'a DetectionSettings,
    suppressed: &'a HashSet<(Text, Text)>,
    now: i64,
}

impl LivePattern {
    /// Returns the leaders to look at, and forgets why.
    fn affected(&mut self, observing: &Observing<'_>, changes: &GraphChanges, is_changed: bool) -> Affected {
        let Self { pattern, locality, records, incomplete, seeds, leaders, is_due, retry, .. } = self;
        let seeds: Seeds = std::mem::take(seeds);
        let (graph, settings) = (observing.graph, observing.settings);
        let mut affected = match *is_due || (is_changed && locality.is_about_all()) {
            true => Affected::All,
            false => locality.affected(&Surroundings { pattern, graph, settings, changes }, &seeds),
        };
        leaders.extend(records.due(observing.now).cloned());
        let is_asked = |affected: &Affected| match affected {
            Affected::All => true,
            Affected::Leaders(found) => !found.is_empty() || !leaders.is_empty(),
        };
        if let Some((at, _)) = retry {
            // The search of before did not end, and what changed since then is not known.
            *is_due = true;
            let longest = FIRST_RETRY_SECONDS << MAX_RETRY_DOUBLINGS;
            let is_set_back = *at > observing.now.saturating_add(longest);
            affected = match *at <= observing.now || is_set_back {
                true => Affected::All,
                false => Affected::Leaders(HashSet::new()),
            };
            leaders.clear();
        } else if *incomplete == Some(IncompleteReason::Truncated) && is_asked(&affected) {
            affected = Affected::All;
        }
        affected
    }

    /// Looks for the pattern with some leaders. Returns false where all leaders have to be looked at.
    fn detect_some(
        &mut self,
        observing: &Observing<'_>,
        ids: HashSet<Id>,
        count: &mut u64,
        visit: &mut dyn FnMut(FindingChange),
    ) -> bool {
        let mut names = std::mem::take(&mut self.leaders);
        if ids.is_empty() && names.is_empty() {
            return true;
        }
        let graph = observing.graph;
        let find = |name: &ObjectName| graph.find(&name.group, &name.kind, &name.namespace, &name.name);
        let mut ids = ids;
        ids.extend(names.iter().filter_map(find));
        names.extend(
            ids.iter().filter_map(|id| graph.node(*id)).map(|node| FindingObject::of(node).object_name()),
        );
        let mut ids: Vec<Id> = ids.into_iter().collect();
        graph.sort_by_rank(&mut ids);
        *count += ids.len() as u64;
        let pattern = Arc::clone(&self.pattern);
        let budget = &mut detection_budget(&pattern, graph);
        let asked = (graph, observing.settings);
        let search = || match &self.ordered {
            None => detect_leaders(&pattern, asked, &ids, budget),
            Some(ordered) => {
                let exchange = ExchangedRoles { pattern: ordered, records: &self.records, asked };
                exchange.detect(&mut names, &ids, budget)
            }
        };
        let found = match contain_panic(search) {
            Ok(found) => found,
            Err(failure) => {
                self.fail(failure, observing.now);
                return true;
            }
        };
        let is_above = self.records.len() + found.findings.len() > observing.settings.per_pattern;
        if is_above || (found.is_truncated && self.ordered.is_some()) {
            // Which ones are above the limit depends on all.
            return false;
        }
        let mut update = LeaderUpdate::of_leaders(&pattern, &mut self.records, names.into_iter());
        for finding in found.findings {
            update.observe(observing.observation(&pattern, finding), observing.now);
        }
        update.finish(visit);
        if found.is_truncated {
            self.incomplete = Some(IncompleteReason::Truncated);
        }
        true
    }

    /// Looks for the pattern with all leaders.
    fn detect_whole(
        &mut self,
        search: &WholeSearch<'_>,
        observing: &Observing<'_>,
        visit: &mut dyn FnMut(FindingChange),
    ) {
        let pattern = Arc::clone(&self.pattern);
        let found = match search.detect(&pattern) {
            Ok(found) => found,
            Err(failure) => return self.fail(failure, observing.now),
        };
        self.leaders.clear();
        (self.is_due, self.retry) = (false, None);
        self.incomplete = found.truncated.then_some(IncompleteReason::Truncated);
        let mut update = LeaderUpdate::of_all(&pattern, &mut self.records);
        for finding in found.findings {
            update.observe(observing.observation(&pattern, finding), observing.now);
        }
        if found.truncated {
            let graph = observing.graph;
            update.keep(|name| {
                let id = graph.find(&name.group, &name.kind, &name.namespace, &name.name);
                id.is_some_and(|id| graph.is_object(id))
            });
        }
        update.finish(visit);
    }

    /// Keeps what was found before, and has the search tried again later.
    fn fail(&mut self, failure: DetectionFailure, now: i64) {
        self.incomplete = Some(match failure {
            DetectionFailure::Exhausted(exhausted) => IncompleteReason::Exhausted(exhausted),
            DetectionFailure::Panicked => IncompleteReason::Panicked,
        });
        let count = self.retry.map_or(0, |(_, count)| count + 1).min(MAX_RETRY_DOUBLINGS);
        self.retry = Some((now.saturating_add(FIRST_RETRY_SECONDS << count), count));
        self.is_due = true;
        self.leaders.clear();
    }
}

impl Observing<'_> {
    /// Returns `finding` with the names of its objects, and why it is suppressed if it is.
    fn observation(&self, pattern: &Pattern, finding: PatternFinding) -> ObservedFinding {
        let objects = finding.roles.iter().filter_map(|(_, id)| self.graph.node(*id));
        let actors: Vec<FindingObject> = objects.map(FindingObject::of).collect();
        let leader = finding.roles.first().and_then(|(_, id)| self.graph.node(*id));
        let annotated = leader.and_then(|node| suppression(node.object.as_ref()?, &pattern.name));
        let uid = leader.map(|node| node.uid.clone()).filter(|uid| !uid.is_empty());
        let is_stored = uid.is_some_and(|uid| self.suppressed.contains(&(pattern.name.clone(), uid)));
        let suppressed = annotated.or_else(|| is_stored.then(Text::default));
        ObservedFinding::new(actors, finding, suppressed, self.graph)
    }
}
