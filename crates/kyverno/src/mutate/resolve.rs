//! Resolves the anchors of an overlay against an object: what is left is merged.
//!
//! A condition that does not hold ends the overlay, or, in a list, the element. Each element of the object's list is
//! resolved on its own, so what was found for one never decides for another.

use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_patch::Pointer;
use kubewright_patch::strategic::{ElementPatch, ListPatch, ObjectPatch, PatchEntry, StrategicPatch};
use kubewright_value::{Budget, Exhausted, Step, Text, Value};

use super::overlay::{
    ConditionTest, OverlayCondition, OverlayEntry, OverlayMap, OverlayNode, text_of_scalar,
};
use crate::pattern::PatternVerdict;
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
use kubewright_value::CompactSort as _;

/// The field that says which elements of a list can be patched.
const NAME: &str = "name";

/// Why nothing is merged.
#[derive(Debug)]
pub(super) enum OverlayStop {
    /// A `( )` does not hold.
    Condition,
    /// A `<( )` does not hold.
    Global,
    /// There are templates for the elements of this, which is no list, at this path of the object.
    NotAList(Value, Vec<Step>),
    Exhausted(Exhausted),
}

impl From<Exhausted> for OverlayStop {
    fn from(exhausted: Exhausted) -> Self {
        Self::Exhausted(exhausted)
    }
}

/// What is left of a part of an overlay; nothing where it had only anchors.
type Resolved = Result<Option<StrategicPatch>, OverlayStop>;

/// The state of resolving.
pub(super) struct OverlayResolver<'r> {
    pub(super) budget: &'r mut Budget,
    pub(super) notes: &'r mut TraceNotes,
    /// The path in the patch.
    pub(super) at: Vec<Step>,
    /// The path in the object.
    pub(super) place: Vec<Step>,
    /// Whether the object has something that would be added otherwise.
    pub(super) is_there: bool,
}

impl OverlayResolver<'_> {
    /// Resolves `node` against what the object has at its place.
    pub(super) fn node(&mut self, node: &OverlayNode, object: Option<&Value>) -> Resolved {
        self.budget.step(1)?;
        match node {
            OverlayNode::Plain(value) => Ok(Some(StrategicPatch::Plain(value.clone()))),
            OverlayNode::Map(map) => self.map(map, object),
            OverlayNode::List(nodes) => self.list(nodes, object),
        }
    }

    fn map(&mut self, map: &OverlayMap, object: Option<&Value>) -> Resolved {
        let mut entries = Vec::with_capacity(map.entries.len());
        for condition in &map.conditions {
            self.condition(condition, object)?;
            if let Some(rest) = &condition.remainder {
                let (key, written) = (condition.key.clone(), condition.written.clone());
                entries.push(PatchEntry { key, written, patch: StrategicPatch::Plain(rest.clone()) });
            }
        }
        for entry in &map.entries {
            let current = object.and_then(|object| object.get(&entry.key));
            if entry.is_added && !self.is_added(entry, current) {
                continue;
            }
            self.enter(Step::Key(entry.written.clone()), Step::Key(entry.key.clone()));
            let resolved = self.node(&entry.node, current)?;
            self.leave();
            let (key, written) = (entry.key.clone(), entry.written.clone());
            entries.extend(resolved.map(|patch| PatchEntry { key, written, patch }));
        }
        let is_nothing = entries.is_empty() && map.directive.is_none();
        let directive = map.directive.clone();
        Ok((!is_nothing).then_some(StrategicPatch::Object(ObjectPatch { directive, entries })))
    }

    fn is_added(&mut self, entry: &OverlayEntry, current: Option<&Value>) -> bool {
        self.tell(&entry.written, entry.written.to_string(), &entry.key, current, current.is_none());
        self.is_there |= current.is_some();
        current.is_none()
    }

    fn condition(&mut self, condition: &OverlayCondition, object: Option<&Value>) -> Result<(), OverlayStop> {
        let found = object.and_then(|object| object.get(&condition.key));
        let holds = match found {
            None => false,
            Some(found) => {
                let verdict = match &condition.test {
                    ConditionTest::IsPresent => PatternVerdict::Pass,
                    ConditionTest::Matches(pattern) => {
                        pattern.check(found, self.budget, &mut TraceNotes::off())?
                    }
                    ConditionTest::MatchesAsText(pattern) => {
                        pattern.check(&text_of_scalar(found), self.budget, &mut TraceNotes::off())?
                    }
                };
                verdict == PatternVerdict::Pass
            }
        };
        if self.notes.is_on() {
            self.tell(&condition.written, condition.text(), &condition.key, found, holds);
        }
        match (holds, condition.is_global) {
            (true, _) => Ok(()),
            (false, true) => Err(OverlayStop::Global),
            (false, false) => Err(OverlayStop::Condition),
        }
    }

    /// Resolves a list of which some elements are templates for the elements of the object's list.
    fn list(&mut self, nodes: &[OverlayNode], object: Option<&Value>) -> Resolved {
        let items = match object {
            None => None,
            Some(Value::Array(items)) => Some(items.as_slice()),
            Some(Value::Null) => Some(&[][..]),
            Some(other) if nodes.iter().any(|node| node.anchors().has_any) => {
                return Err(OverlayStop::NotAList(other.clone(), self.place.clone()));
            }
            Some(_) => None,
        };
        let mut list = ListPatch { in_place_key: Some(NAME), ..ListPatch::default() };
        for (written, node) in nodes.iter().enumerate() {
            if node.anchors().has_any {
                let depth = (self.at.len(), self.place.len());
                self.template(written, node, items, &mut list.in_place)?;
                self.at.truncate(depth.0);
                self.place.truncate(depth.1);
            } else if let Some(patch) = self.node(node, None)? {
                list.elements.push(ElementPatch { index: written, written, patch });
            }
        }
        list.in_place.compact_sort_by_key(|element| element.index);
        let is_nothing = list.in_place.is_empty() && list.elements.is_empty();
        Ok((!is_nothing).then_some(StrategicPatch::List(list)))
    }

    /// Resolves a template against every element.
    fn template(
        &mut self,
        written: usize,
        node: &OverlayNode,
        items: Option<&[Value]>,
        into: &mut Vec<ElementPatch>,
    ) -> Result<(), OverlayStop> {
        let is_global = node.anchors().has_global;
        let mut is_met = false;
        // A list without elements refuses nothing.
        let mut has_refused = items.is_none();
        let depth = (self.at.len(), self.place.len());
        for (index, item) in items.unwrap_or_default().iter().enumerate() {
            self.enter(Step::Index(written), Step::Index(index));
            let resolved = self.node(node, Some(item));
            self.at.truncate(depth.0);
            self.place.truncate(depth.1);
            match resolved {
                Err(OverlayStop::Condition) => {}
                Err(OverlayStop::Global) => has_refused = true,
                Err(other) => return Err(other),
                Ok(_) if is_global => is_met = true,
                Ok(patch) if item.get(NAME).is_some() => {
                    into.extend(patch.and_then(nameless).map(|patch| ElementPatch { index, written, patch }));
                }
                Ok(_) => {}
            }
        }
        match is_global && has_refused && !is_met {
            true => Err(OverlayStop::Global),
            false => Ok(()),
        }
    }

    fn enter(&mut self, at: Step, place: Step) {
        self.at.push(at);
        self.place.push(place);
    }

    fn leave(&mut self) {
        self.at.pop();
        self.place.pop();
    }

    /// Notes an anchor with its place in the patch and in the object.
    fn tell(&mut self, written: &Text, what: String, key: &Text, found: Option<&Value>, holds: bool) {
        let (at, place) = (&self.at, &self.place);
        self.notes.say(|| {
            let step = |path: &[Step], step: &Text| [path, &[Step::Key(step.clone())]].concat();
            TraceNote {
                what,
                found: found.map_or_else(|| "nothing".to_owned(), TraceNode::show),
                wanted: Pointer::from_steps(&step(place, key)).to_string(),
                verdict: if holds { TraceVerdict::Yes } else { TraceVerdict::No },
                at: step(at, written),
                ..TraceNote::default()
            }
        });
    }
}

/// Returns the patch of an element without a name of its own: a template is for every element that it fits.
fn nameless(patch: StrategicPatch) -> Option<StrategicPatch> {
    match patch {
        StrategicPatch::Object(mut object) => {
            object.entries.retain(|entry| entry.key != NAME);
            let is_nothing = object.entries.is_empty() && object.directive.is_none();
            (!is_nothing).then_some(StrategicPatch::Object(object))
        }
        other => Some(other),
    }
}
