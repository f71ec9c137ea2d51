//! One key of a pattern, with or without an anchor.

use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_value::{Map, Text, Value};

use super::{
    ComparedPath, ComparisonResult, Halt, MISSING, PatternComparison, ReportDetail, StopKind, shown_value,
};
use crate::gotext;
use crate::pattern::node::{Exists, PatternAnchor, PatternEntry, PatternNode};
use kubewright_dialect_kit::notes::TraceNote;

/// An entry of the pattern that is to be compared.
#[derive(Clone, Copy)]
pub(super) struct ComparedEntry<'n> {
    pub(super) entry: &'n PatternEntry,
    /// For a key with wildcards: the object's keys that fit it, if there are any.
    pub(super) keys: Option<&'n [&'n Text]>,
}

/// An entry whose key may have wildcards, and the object's keys that fit it.
pub(super) struct Expanded<'n> {
    entry: &'n PatternEntry,
    keys: Option<Vec<&'n Text>>,
    // The key with its anchor, the first of the object's keys in place of the wildcards.
    raw: String,
}

impl Expanded<'_> {
    pub(super) fn asked(&self) -> ComparedEntry<'_> {
        ComparedEntry { entry: self.entry, keys: self.keys.as_deref() }
    }
}

impl PatternComparison<'_> {
    pub(super) fn entry(
        &mut self,
        asked: ComparedEntry<'_>,
        map: &Map,
        place: &ComparedPath<'_>,
    ) -> ComparisonResult {
        if asked.entry.anchor.is_none() {
            return self.any_key(asked, map, place);
        }
        self.notes.open();
        let walked = self.any_key(asked, map, place);
        self.say_anchor(asked, map, place, &walked);
        walked
    }

    /// A key with wildcards matches when the value of one of the matching keys does; without a matching key it is
    /// compared literally.
    fn any_key(&mut self, asked: ComparedEntry<'_>, map: &Map, place: &ComparedPath<'_>) -> ComparisonResult {
        let entry = asked.entry;
        let Some(keys) = asked.keys else {
            let value = entry.position_hint.get(map, &entry.key);
            return self.keyed(entry, (&entry.key, value), place);
        };
        let mut first = None;
        for key in keys {
            match self.keyed(entry, (key, map.get(key)), place) {
                Err(Halt::Stop(stop)) => first = first.or(Some(stop)),
                walked => return walked,
            }
        }
        first.map_or(Ok(()), |stop| Err(Halt::Stop(stop)))
    }

    fn keyed(
        &mut self,
        entry: &PatternEntry,
        (key, value): (&Text, Option<&Value>),
        place: &ComparedPath<'_>,
    ) -> ComparisonResult {
        let below = place.under(entry, key);
        let Some(anchor) = entry.anchor else {
            if !entry.wants_any {
                return self.node(&entry.value, value.unwrap_or(&MISSING), &below);
            }
            self.budget.step(1)?;
            return match value {
                Some(value) if !value.is_null() => Ok(()),
                _ => Err(self.not_found(key, value.unwrap_or(&MISSING), place, &below)?),
            };
        };
        self.budget.step(1)?;
        let Some(value) = value else {
            return if anchor == PatternAnchor::Condition { Err(self.no_condition(&below)?) } else { Ok(()) };
        };
        match anchor {
            PatternAnchor::Negation => Err(self.not_allowed(value, &below)?),
            PatternAnchor::Existence => self.exists(&entry.value, value, &below),
            PatternAnchor::Equality => self.node(&entry.value, value, &below),
            PatternAnchor::Condition => {
                self.condition("conditional anchor mismatch: ", &entry.value, value, &below)
            }
            PatternAnchor::Global => self.condition("global anchor mismatch: ", &entry.value, value, &below),
        }
    }

    fn exists(&mut self, node: &PatternNode, value: &Value, place: &ComparedPath<'_>) -> ComparisonResult {
        let Value::Array(items) = value else {
            return Err(self.mismatch(value, place, || {
                let found = gotext::go_type_name(value);
                format!("invalid resource type {found}: Existence ^ () anchor can be used only on list/array type resource")
            })?);
        };
        let (wanted, is_valid) = match node {
            PatternNode::Exists(Exists::AllOf(wanted)) => (wanted, true),
            PatternNode::Exists(Exists::AllOfThenInvalid(wanted)) => (wanted, false),
            PatternNode::Exists(Exists::NotList(type_name)) => {
                return Err(self.mismatch(value, place, || {
                    format!("invalid pattern type {type_name}: Pattern has to be of list to compare against resource")
                })?);
            }
            _ => return Ok(()),
        };
        for (at, node) in wanted.iter().enumerate() {
            if !self.has_one(node, at, items, place)? {
                return Err(self.mismatch(value, place, || {
                    format!("existence anchor validation failed at path {}", place.text())
                })?);
            }
        }
        if is_valid {
            return Ok(());
        }
        let message = "invalid pattern type []interface {}: Pattern has to be of type map to compare against items in resource";
        Err(self.mismatch(value, place, || message.to_owned())?)
    }

    /// Returns whether an element matches; a skipped one does not. The mismatches of the others are not reported.
    fn has_one(
        &mut self,
        node: &PatternNode,
        at: usize,
        items: &[Value],
        place: &ComparedPath<'_>,
    ) -> Result<bool, Halt> {
        self.conditions += 1;
        let mut has_one = false;
        for (index, item) in items.iter().enumerate() {
            match self.node(node, item, &place.element(index, at)) {
                Ok(()) => {
                    has_one = true;
                    break;
                }
                Err(Halt::Stop(_)) => {}
                Err(exhausted) => return Err(exhausted),
            }
        }
        self.conditions -= 1;
        Ok(has_one)
    }

    /// Whatever is wrong under a condition means that it does not hold.
    fn condition(
        &mut self,
        prefix: &str,
        node: &PatternNode,
        value: &Value,
        place: &ComparedPath<'_>,
    ) -> ComparisonResult {
        self.conditions += 1;
        let walked = self.node(node, value, place);
        self.conditions -= 1;
        let Err(Halt::Stop(mut stop)) = walked else { return walked };
        stop.kind = StopKind::Skip;
        if let Some(told) = &mut stop.told {
            self.budget.produce(prefix.len() + told.message.len())?;
            told.message.insert_str(0, prefix);
            if self.conditions == 0 {
                told.at = place.in_pattern();
            }
        }
        Err(Halt::Stop(stop))
    }

    fn no_condition(&mut self, place: &ComparedPath<'_>) -> Result<Halt, Halt> {
        self.stop(StopKind::Skip, place, |told| {
            told.message =
                "conditional anchor mismatch: conditional anchor key doesn't exist in the resource"
                    .to_owned();
        })
    }

    fn not_allowed(&mut self, value: &Value, place: &ComparedPath<'_>) -> Result<Halt, Halt> {
        self.stop(StopKind::Negation, place, |told| {
            told.message = format!("negation anchor matched in resource: {} is not allowed", place.text());
            if told.detail == ReportDetail::Whole {
                told.wanted = "nothing".to_owned();
                told.found = shown_value(value);
            }
        })
    }

    /// `"*"` and a missing value: Kyverno reports the path of the object around it.
    fn not_found(
        &mut self,
        key: &Text,
        value: &Value,
        place: &ComparedPath<'_>,
        below: &ComparedPath<'_>,
    ) -> Result<Halt, Halt> {
        self.stop(StopKind::Mismatch, below, |told| {
            told.message = format!("{}/{key} not found", place.text());
            if told.detail != ReportDetail::Message {
                told.text_path = Some(place.text());
            }
            if told.detail == ReportDetail::Whole {
                told.path = place.in_object();
                told.wanted = "\"*\"".to_owned();
                told.found = shown_value(value);
            }
        })
    }

    /// Remembers which keys of conditions the object has; when one was never seen, a failure is an error.
    pub(super) fn seek<'n>(&mut self, anchors: impl Iterator<Item = ComparedEntry<'n>>, map: &Map) {
        for ComparedEntry { entry, keys } in anchors {
            if !matches!(entry.anchor, Some(PatternAnchor::Condition | PatternAnchor::Existence)) {
                continue;
            }
            let is_there = keys.is_some() || map.contains_key(&entry.key);
            match self.sought.iter_mut().find(|(raw, _)| *raw == entry.raw) {
                Some((_, was_there)) => *was_there |= is_there,
                None => self.sought.push((entry.raw.clone(), is_there)),
            }
        }
    }

    /// Finds the object's keys that match those with wildcards, and sorts by the result.
    pub(super) fn expanded<'n>(
        &mut self,
        entries: &'n [PatternEntry],
        map: &'n Map,
    ) -> Result<Vec<Expanded<'n>>, Halt> {
        let mut all = Vec::with_capacity(entries.len());
        for entry in entries {
            let keys = self.matching(entry, map)?;
            let raw = match keys.first() {
                Some(key) => entry.raw.replacen(entry.key.as_str(), key, 1),
                None => entry.raw.to_string(),
            };
            self.budget.produce(raw.len())?;
            all.push(Expanded { entry, keys: (!keys.is_empty()).then_some(keys), raw });
        }
        // As the compiler sorts: `<( )` first, the last of them before the others.
        let is_global = |expanded: &Expanded<'_>| expanded.entry.anchor == Some(PatternAnchor::Global);
        all.sort_by(|a, b| match (is_global(a), is_global(b)) {
            (true, true) => b.raw.cmp(&a.raw),
            (false, false) => a.raw.cmp(&b.raw),
            (a, b) => b.cmp(&a),
        });
        Ok(all)
    }

    /// Returns the object's keys, sorted, that have texts and that the wildcards of the entry fit.
    fn matching<'n>(&mut self, entry: &PatternEntry, map: &'n Map) -> Result<Vec<&'n Text>, Halt> {
        let mut keys = Vec::new();
        let Some(glob) = &entry.wild else { return Ok(keys) };
        for (key, value) in map.iter() {
            if value.as_str().is_some() && glob.matches(key, self.budget)? {
                keys.push(key);
            }
        }
        keys.sort_unstable();
        Ok(keys)
    }

    fn say_anchor(
        &mut self,
        asked: ComparedEntry<'_>,
        map: &Map,
        place: &ComparedPath<'_>,
        walked: &ComparisonResult,
    ) {
        let entry = asked.entry;
        let key = asked.keys.and_then(|keys| keys.first()).map_or(&entry.key, |key| *key);
        let below = place.under(entry, key);
        let source = self.source;
        self.notes.close(|| {
            let at = below.in_pattern();
            let wanted = source.follow(&at).map(TraceNode::show).unwrap_or_default();
            let verdict = match walked {
                Ok(()) => TraceVerdict::Yes,
                Err(Halt::Stop(_)) => TraceVerdict::No,
                Err(Halt::Exhausted(_)) => TraceVerdict::Error,
            };
            TraceNote {
                what: format!("{}: {wanted}", entry.raw),
                found: shown_value(map.get(key).unwrap_or(&MISSING)),
                verdict,
                at,
                subject: below.in_object(),
                ..TraceNote::default()
            }
        });
    }
}
