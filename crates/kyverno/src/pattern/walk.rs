//! Compares an object with a compiled pattern.
//!
//! Most objects match, so a first walk only computes the result and allocates nothing: this one, or that of
//! [`quick`](super::quick) for patterns without conditions. When it is not "yes", or a trace is requested, a second walk over
//! the same values collects the explanation.

mod entry;

use kubewright_engine::{TraceNode, TraceVerdict};
use kubewright_value::text::{PathStyle, path_text};
use kubewright_value::{Budget, Exhausted, Map, Step, Text, Value};

use super::compile;
use super::leaf::Leaf;
use super::node::{MapNode, PatternNode};
use super::place::ComparedPath;
use super::stop::{ComparisonStop, Halt, MismatchReport, ReportDetail, Skips, StopKind};
use crate::gotext;
use entry::{ComparedEntry, Expanded};
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};

/// The substitute for a missing key.
static MISSING: Value = Value::Null;

/// One comparison.
pub(super) struct PatternComparison<'w> {
    pub(super) budget: &'w mut Budget,
    pub(super) notes: &'w mut TraceNotes,
    /// The pattern as it is written.
    pub(super) source: &'w Value,
    /// Whether stops have an explanation.
    pub(super) tells: bool,
    /// Whether explanations have places and values, which only people read.
    pub(super) wants_places: bool,
    /// Whether a value that does not fit is explained by a message even outside of conditions.
    pub(super) wants_message: bool,
    /// How many conditions this is in; there a stop becomes a skip, of which only the message is kept.
    pub(super) conditions: u32,
    /// The keys of `( )` and `^( )` that were looked for, and whether the object has them somewhere.
    pub(super) sought: Vec<(Text, bool)>,
}

type ComparisonResult = Result<(), Halt>;

impl<'w> PatternComparison<'w> {
    /// Returns a comparison that only computes the result.
    pub(super) fn new(budget: &'w mut Budget, notes: &'w mut TraceNotes, source: &'w Value) -> Self {
        Self {
            budget,
            notes,
            source,
            tells: false,
            wants_places: false,
            wants_message: true,
            conditions: 0,
            sought: Vec::new(),
        }
    }

    /// Compares `object` with `node`.
    pub(super) fn node(
        &mut self,
        node: &PatternNode,
        object: &Value,
        place: &ComparedPath<'_>,
    ) -> ComparisonResult {
        self.budget.step(1)?;
        match node {
            PatternNode::Leaf(leaf) => self.leaf(leaf, object, place),
            PatternNode::Shared(node) => self.node(node, object, place),
            PatternNode::Map(_)
            | PatternNode::Each(_)
            | PatternNode::EachScalar(_)
            | PatternNode::InOrder(_) => {
                self.budget.enter()?;
                let walked = self.nested(node, object, place);
                self.budget.leave();
                walked
            }
            PatternNode::EmptyList if object.as_array().is_some() => {
                Err(self.mismatch(object, place, || "pattern Array empty".to_owned())?)
            }
            PatternNode::EmptyList => Err(self.no_list(object, place)?),
            // These are evaluated by the entry around them.
            PatternNode::Exists(_) | PatternNode::Ignored => Ok(()),
            PatternNode::TooDeep => Err(Exhausted::Depth(compile::DEPTH).into()),
        }
    }

    fn nested(&mut self, node: &PatternNode, object: &Value, place: &ComparedPath<'_>) -> ComparisonResult {
        if let PatternNode::Map(node) = node {
            return match object {
                Value::Object(map) => self.map(node, map, place),
                _ => Err(self.no_map(object, place)?),
            };
        }
        let Value::Array(items) = object else { return Err(self.no_list(object, place)?) };
        match node {
            PatternNode::Each(node) => {
                let pairs = items.iter().enumerate().map(|(index, item)| (index, 0, &**node, item));
                self.elements(pairs, place)
            }
            PatternNode::EachScalar(leaf) => self.leaf(leaf, object, &place.first()),
            PatternNode::InOrder(nodes) if items.len() < nodes.len() => {
                Err(self.too_short(nodes.len(), items.len(), place)?)
            }
            PatternNode::InOrder(nodes) => {
                let pairs = nodes.iter().zip(&**items).enumerate();
                self.elements(pairs.map(|(index, (node, item))| (index, index, node, item)), place)
            }
            _ => Ok(()),
        }
    }

    /// Every scalar, and every element of a list, must fit.
    fn leaf(&mut self, leaf: &Leaf, object: &Value, place: &ComparedPath<'_>) -> ComparisonResult {
        let fits = match object {
            Value::Array(items) => {
                let mut fits = true;
                for item in &**items {
                    self.budget.step(1)?;
                    fits = leaf.fits(item, self.budget)?;
                    if !fits {
                        break;
                    }
                }
                fits
            }
            scalar => leaf.fits(scalar, self.budget)?,
        };
        if fits { Ok(()) } else { Err(self.unfit(leaf, object, place)?) }
    }

    /// An element that fails fails the list; if all that is left of it was skipped, the list is.
    fn elements<'n>(
        &mut self,
        pairs: impl Iterator<Item = (usize, usize, &'n PatternNode, &'n Value)>,
        place: &ComparedPath<'_>,
    ) -> ComparisonResult {
        let mut skips = Skips::default();
        let mut has_applied = false;
        for (index, wanted, node, item) in pairs {
            match self.node(node, item, &place.element(index, wanted)) {
                Err(Halt::Stop(stop)) if stop.kind.is_skip() => skips.add(stop),
                walked => {
                    walked?;
                    has_applied = true;
                }
            }
        }
        if skips.has_any && !has_applied { Err(Halt::Stop(skips.into_stop())) } else { Ok(()) }
    }

    fn map(&mut self, node: &MapNode, map: &Map, place: &ComparedPath<'_>) -> ComparisonResult {
        if node.has_wild_keys {
            return self.tags(node, map, place);
        }
        let asked = |entry| ComparedEntry { entry, keys: None };
        if self.tells {
            self.seek(node.anchors.iter().map(asked), map);
        }
        self.anchors(node.anchors.iter().map(asked), map, place)?;
        node.rest.iter().try_for_each(|entry| self.entry(asked(entry), map, place))
    }

    /// Labels or annotations of which keys have wildcards: the object's keys decide in which order.
    fn tags(&mut self, node: &MapNode, map: &Map, place: &ComparedPath<'_>) -> ComparisonResult {
        let anchors = self.expanded(&node.anchors, map)?;
        let rest = self.expanded(&node.rest, map)?;
        if self.tells {
            self.seek(anchors.iter().map(Expanded::asked), map);
        }
        self.anchors(anchors.iter().map(Expanded::asked), map, place)?;
        rest.iter().try_for_each(|expanded| self.entry(expanded.asked(), map, place))
    }

    /// The object is skipped when one of its own conditions does not hold, whatever its other anchors give; and when
    /// something below was skipped and no other anchor was checked.
    fn anchors<'n>(
        &mut self,
        entries: impl Iterator<Item = ComparedEntry<'n>>,
        map: &Map,
        place: &ComparedPath<'_>,
    ) -> ComparisonResult {
        let mut skips = Skips::default();
        let mut has_applied = false;
        for asked in entries {
            match self.entry(asked, map, place) {
                Ok(()) => has_applied = true,
                Err(Halt::Stop(stop)) if stop.kind.is_skip() => skips.add(stop),
                Err(Halt::Stop(_)) if skips.has_own => {}
                Err(halt) => return Err(halt),
            }
        }
        let is_skipped = skips.has_own || (skips.has_any && !has_applied);
        if is_skipped { Err(Halt::Stop(skips.into_stop())) } else { Ok(()) }
    }

    fn unfit(&mut self, leaf: &Leaf, object: &Value, place: &ComparedPath<'_>) -> Result<Halt, Halt> {
        if !self.tells {
            return Ok(silent(StopKind::Mismatch));
        }
        if !self.wants_message && self.conditions == 0 {
            return self.mismatch(object, place, String::new);
        }
        let found = gotext::format_go_value(object, self.budget)?;
        self.mismatch(object, place, || {
            format!("resource value '{found}' does not match '{}' at path {}", leaf.go_text(), place.text())
        })
    }

    fn no_map(&mut self, object: &Value, place: &ComparedPath<'_>) -> Result<Halt, Halt> {
        self.mismatch(object, place, || {
            format!(
                "pattern and resource have different structures. Path: {}. Expected map[string]interface {{}}, found {}",
                place.text(),
                gotext::go_type_name(object)
            )
        })
    }

    fn no_list(&mut self, object: &Value, place: &ComparedPath<'_>) -> Result<Halt, Halt> {
        self.mismatch(object, place, || {
            format!(
                "validation rule failed at path {}, resource does not satisfy the expected overlay pattern",
                place.text()
            )
        })
    }

    fn too_short(&mut self, wanted: usize, found: usize, place: &ComparedPath<'_>) -> Result<Halt, Halt> {
        self.stop(StopKind::Mismatch, place, |told| {
            told.message = format!(
                "validate Array failed, array length mismatch, resource Array len is {found} and pattern Array len is {wanted}"
            );
            told.text_path = None;
            told.wanted = format!("{wanted} elements");
            told.found = format!("{found} elements");
        })
    }

    /// Returns the stop with `message`.
    fn mismatch(
        &mut self,
        object: &Value,
        place: &ComparedPath<'_>,
        message: impl FnOnce() -> String,
    ) -> Result<Halt, Halt> {
        let source = self.source;
        self.stop(StopKind::Mismatch, place, |told| {
            told.message = message();
            if told.detail == ReportDetail::Whole {
                told.wanted = source.follow(&told.at).map(TraceNode::show).unwrap_or_default();
                told.found = shown_value(object);
            }
        })
    }

    /// Returns a stop; its explanation is built only on demand.
    fn stop(
        &mut self,
        kind: StopKind,
        place: &ComparedPath<'_>,
        tell: impl FnOnce(&mut MismatchReport),
    ) -> Result<Halt, Halt> {
        if !self.tells {
            return Ok(silent(kind));
        }
        let mut told = match self.notes.is_on() {
            false if self.conditions > 0 => MismatchReport::brief(),
            false if !self.wants_places => MismatchReport::named_at(place),
            _ => MismatchReport::at(place),
        };
        tell(&mut told);
        self.budget.produce(told.message.len())?;
        // Other stops are told by their anchors.
        if kind == StopKind::Mismatch {
            self.notes.say(|| TraceNote {
                what: shown_place(place, &told.path),
                found: told.found.clone(),
                wanted: format!("wanted {}", told.wanted),
                verdict: TraceVerdict::No,
                at: told.at.clone(),
                subject: told.path.clone(),
                ..TraceNote::default()
            });
        }
        Ok(Halt::Stop(ComparisonStop { kind, told: Some(Box::new(told)) }))
    }
}

/// Returns a stop without explanation.
fn silent(kind: StopKind) -> Halt {
    Halt::Stop(ComparisonStop { kind, told: None })
}

/// Returns the path of a mismatch for people; that of Kyverno where it ends at a key that the object does not have.
fn shown_place(place: &ComparedPath<'_>, path: &[Step]) -> String {
    let text = place.text();
    match text.split('/').filter(|key| !key.is_empty()).count() == path.len() {
        true => path_text(path, PathStyle::Quoted),
        false => text,
    }
}

/// Returns a value for people.
fn shown_value(object: &Value) -> String {
    if std::ptr::eq(object, &raw const MISSING) { "nothing".to_owned() } else { TraceNode::show(object) }
}
