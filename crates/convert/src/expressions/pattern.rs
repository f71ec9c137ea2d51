//! A pattern in CEL: when an object fits it, and when it is none of its business.
//!
//! This follows the walk of a pattern over an object to the letter. A part of an object passes, fails, is skipped by a
//! condition of its own, or because something below it was; each of these but failing is a formula here.

use kubewright_value::Step;

use super::formula::{Formula, LARGEST};
use super::leaf;
use super::shape::Shape;
use super::text::{Field, element_name};
use crate::Inexpressible;
use kubewright_kyverno::pattern::leaf::Leaf;
use kubewright_kyverno::pattern::node::{Exists, MapNode, PatternAnchor, PatternEntry, PatternNode};

/// What comes of comparing something with a part of a pattern.
#[derive(Debug, Clone)]
pub(super) struct Outcome {
    /// It is as the pattern says.
    pub(super) pass: Formula,
    /// A condition on it does not hold.
    own: Formula,
    /// Everything below it that was looked at was skipped.
    below: Formula,
    /// It does not fail.
    pub(super) okay: Formula,
}

/// How deep patterns are followed.
const DEPTH: usize = 64;

type Made<T> = Result<T, Inexpressible>;

/// Returns what comes of comparing `value`, of which only the shape is known, with `node`.
pub(super) fn translate(node: &PatternNode, value: &str, shape: Shape) -> Made<Outcome> {
    Translator { at: Vec::new(), names: Vec::new() }.node(node, value, shape)
}

impl Outcome {
    fn decided(pass: Formula) -> Self {
        Self { okay: pass.clone(), pass, own: Formula::False, below: Formula::False }
    }

    /// Returns when it is skipped.
    pub(super) fn skip(&self) -> Formula {
        self.own.clone().or(self.below.clone())
    }

    fn can_skip(&self) -> bool {
        self.own != Formula::False || self.below != Formula::False
    }

    /// Returns the same, asked only where `guard` holds, and failed elsewhere.
    fn if_also(self, guard: &Formula) -> Self {
        let also = |formula: Formula| guard.clone().and(formula);
        Self { pass: also(self.pass), own: also(self.own), below: also(self.below), okay: also(self.okay) }
    }

    /// Returns the same, asked only where `guard` holds, and passed elsewhere.
    fn unless(self, guard: &Formula) -> Self {
        let absent = || guard.clone().not();
        Self {
            pass: absent().or(self.pass),
            own: guard.clone().and(self.own),
            below: guard.clone().and(self.below),
            okay: absent().or(self.okay),
        }
    }
}

struct Translator {
    at: Vec<Step>,
    names: Vec<String>,
}

impl Translator {
    fn because<T>(&self, why: impl Into<String>) -> Made<T> {
        Err(Inexpressible { why: why.into(), path: self.at.clone() })
    }

    fn said<T>(&self, said: leaf::Said<T>) -> Made<T> {
        said.or_else(|why| self.because(why))
    }

    fn node(&mut self, node: &PatternNode, value: &str, shape: Shape) -> Made<Outcome> {
        if self.at.len() > DEPTH {
            return self.because("the pattern is nested too deep");
        }
        let outcome = self.outcome(node, value, shape)?;
        let Outcome { pass, own, below, okay } = &outcome;
        if [pass, own, below, okay].iter().any(|formula| formula.size() > LARGEST) {
            return self.because("the pattern makes an expression that is too long");
        }
        Ok(outcome)
    }

    fn outcome(&mut self, node: &PatternNode, value: &str, shape: Shape) -> Made<Outcome> {
        match node {
            PatternNode::Leaf(leaf) => self.leaf(leaf, value, shape).map(Outcome::decided),
            PatternNode::Shared(node) => self.node(node, value, shape),
            PatternNode::Map(map) => {
                let outcome = self.map(map, value, shape)?;
                Ok(match shape.is_map() {
                    true => outcome,
                    false if shape.is_any() => outcome.if_also(&is_a("map", value)),
                    false => Outcome::decided(Formula::False),
                })
            }
            PatternNode::Each(each) => self.each(each, value, shape),
            PatternNode::EachScalar(leaf) => {
                let formula = self.every(leaf, value, shape)?;
                Ok(Outcome::decided(match shape.is_list() {
                    true => formula,
                    false if shape.is_any() => is_a("list", value).and(formula),
                    false => Formula::False,
                }))
            }
            PatternNode::InOrder(_) => self.because("the pattern has a list in a list"),
            PatternNode::EmptyList => Ok(Outcome::decided(Formula::False)),
            PatternNode::Exists(_) | PatternNode::Ignored => Ok(Outcome::decided(Formula::True)),
            PatternNode::TooDeep => self.because("the pattern is nested too deep"),
        }
    }

    /// Every scalar, and every element of a list, must fit.
    fn leaf(&mut self, leaf: &Leaf, value: &str, shape: Shape) -> Made<Formula> {
        if shape.is_list() {
            return self.every(leaf, value, shape);
        }
        if !shape.is_any() {
            return self.said(leaf::fits(leaf, value, shape));
        }
        self.every(leaf, &format!("(type({value}) == list ? {value} : [{value}])"), shape)
    }

    /// Returns whether every element of the list `value` fits.
    fn every(&mut self, leaf: &Leaf, value: &str, shape: Shape) -> Made<Formula> {
        let name = self.element();
        let each = self.said(leaf::fits(leaf, &name, shape.element()))?;
        Ok(Formula::all(value, &name, each))
    }

    /// Returns a name for an element of the list that is looked at.
    fn element(&self) -> String {
        let keys = self.at.iter().rev().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        });
        let key = keys.map(bare).next().unwrap_or_default();
        element_name(key, &self.names)
    }

    /// Runs `below` for an element called by a name of its own.
    fn for_element<T>(
        &mut self,
        index: usize,
        below: impl FnOnce(&mut Self, &str) -> Made<T>,
    ) -> Made<(String, T)> {
        let name = self.element();
        self.names.push(name.clone());
        self.at.push(Step::Index(index));
        let made = below(self, &name);
        self.at.pop();
        self.names.pop();
        Ok((name, made?))
    }

    fn each(&mut self, each: &PatternNode, value: &str, shape: Shape) -> Made<Outcome> {
        let (name, one) = self.for_element(0, |this, name| this.node(each, name, shape.element()))?;
        let okay = Formula::all(value, &name, one.okay.clone());
        let outcome = match one.can_skip() {
            false => Outcome::decided(okay),
            true => {
                let size = format!("size({value})");
                let is_empty = Formula::compare(&size, "==", "0");
                Outcome {
                    pass: okay.clone().and(is_empty.clone().or(Formula::exists(
                        value,
                        &name,
                        one.pass.clone(),
                    ))),
                    own: Formula::False,
                    below: is_empty.not().and(Formula::all(value, &name, one.skip())),
                    okay,
                }
            }
        };
        Ok(match shape.is_list() {
            true => outcome,
            false if shape.is_any() => outcome.if_also(&is_a("list", value)),
            false => Outcome::decided(Formula::False),
        })
    }

    /// The anchors of a map decide first, and on whether the rest is looked at.
    fn map(&mut self, map: &MapNode, value: &str, shape: Shape) -> Made<Outcome> {
        let (conditions, others): (Vec<&PatternEntry>, Vec<&PatternEntry>) =
            map.anchors.iter().partition(|entry| entry.anchor == Some(PatternAnchor::Condition));
        let mut holds = Formula::True;
        for entry in &conditions {
            holds = holds.and(self.entry(entry, value, shape)?.pass);
        }
        let (mut okay, mut are_skipped) = (Formula::True, Formula::constant(!others.is_empty()));
        for entry in &others {
            let outcome = self.entry(entry, value, shape)?;
            if outcome.own != Formula::False {
                return self.because("a global anchor `<(…)` stands below another anchor");
            }
            okay = okay.and(outcome.okay);
            are_skipped = are_skipped.and(outcome.below);
        }
        // Another anchor that had something to say makes up for what was skipped.
        if !conditions.is_empty() {
            are_skipped = Formula::False;
        }
        let mut rest = Outcome::decided(Formula::True);
        for entry in map.rest.iter().rev() {
            rest = self.entry(entry, value, shape)?.then(rest);
        }
        let goes_on = holds.clone().and(okay.clone()).and(are_skipped.clone().not());
        let fails_condition = holds.not();
        Ok(Outcome {
            pass: goes_on.clone().and(rest.pass),
            own: goes_on.clone().and(rest.own),
            below: fails_condition.clone().or(are_skipped.clone()).or(goes_on.and(rest.below)),
            okay: fails_condition.or(okay.and(are_skipped.or(rest.okay))),
        })
    }

    fn entry(&mut self, entry: &PatternEntry, parent: &str, shape: Shape) -> Made<Outcome> {
        if !entry.is_added {
            self.at.push(Step::Key(entry.raw.clone()));
        }
        let made = match &entry.wild {
            Some(_) => self.wild(entry, parent, shape),
            None => self.keyed(entry, parent, shape),
        };
        if !entry.is_added {
            self.at.pop();
        }
        made
    }

    fn keyed(&mut self, entry: &PatternEntry, parent: &str, around: Shape) -> Made<Outcome> {
        let field = Field { parent, key: &entry.key };
        let shape = around.field(&entry.key);
        let (value, is_there) = (field.value(), field.presence());
        let Some(anchor) = entry.anchor else {
            if entry.wants_any {
                let is_null =
                    if shape.is_any() { Formula::compare(&value, "==", "null") } else { Formula::False };
                return Ok(Outcome::decided(is_there.and(is_null.not())));
            }
            if around.requires(&entry.key) {
                return self.node(&entry.value, &value, shape);
            }
            if let Some(formula) = self.chained(&entry.value, &field.optional(), shape, false)? {
                return Ok(Outcome::decided(formula));
            }
            let outcome = self.node(&entry.value, &value, shape)?;
            return Ok(match &entry.value {
                PatternNode::Leaf(leaf) if leaf::accepts_null(leaf) => outcome.unless(&is_there),
                _ => outcome.if_also(&is_there),
            });
        };
        Ok(match anchor {
            PatternAnchor::Negation => Outcome::decided(is_there.not()),
            PatternAnchor::Existence => {
                Outcome::decided(self.exists(&entry.value, &value, shape)?).unless(&is_there)
            }
            PatternAnchor::Equality => match self.chained(&entry.value, &field.optional(), shape, true)? {
                Some(formula) => Outcome::decided(formula),
                None => self.node(&entry.value, &value, shape)?.unless(&is_there),
            },
            PatternAnchor::Condition => {
                let pass = match self.chained(&entry.value, &field.optional(), shape, false)? {
                    // What is not there fits no condition.
                    Some(formula) if !takes_nothing(&entry.value) => formula,
                    _ => is_there.and(self.node(&entry.value, &value, shape)?.pass),
                };
                Outcome { own: pass.clone().not(), pass, below: Formula::False, okay: Formula::True }
            }
            PatternAnchor::Global => {
                let pass = match self.chained(&entry.value, &field.optional(), shape, true)? {
                    Some(formula) => formula,
                    None => is_there.not().or(self.node(&entry.value, &value, shape)?.pass),
                };
                Outcome { own: pass.clone().not(), pass, below: Formula::False, okay: Formula::True }
            }
        })
    }

    /// Returns a single question with `.?` and `orValue`, where one is enough: is what `optional` leads to as `node`
    /// says, or, if that is wanted, not there?
    fn chained(
        &mut self,
        node: &PatternNode,
        optional: &str,
        shape: Shape,
        may_be_absent: bool,
    ) -> Made<Option<Formula>> {
        match node {
            PatternNode::Shared(node) => self.chained(node, optional, shape, may_be_absent),
            PatternNode::Leaf(leaf) if !shape.is_any() && !shape.is_list() => {
                let fits = may_be_absent || leaf::accepts_null(leaf);
                let Some(stand_in) = leaf::stand_in(leaf, shape, fits) else { return Ok(None) };
                let value = format!("{optional}.orValue({stand_in})");
                let formula = self.said(leaf::fits(leaf, &value, shape))?;
                Ok(matches!(formula, Formula::Atom(_)).then_some(formula))
            }
            PatternNode::Map(map) if shape.is_map() => {
                let (anchors, rest) = (map.anchors.as_slice(), map.rest.as_slice());
                let entry = match (anchors, rest) {
                    ([only], []) if may_be_absent && only.anchor == Some(PatternAnchor::Equality) => only,
                    ([], [only]) if !may_be_absent && only.anchor.is_none() && !only.wants_any => only,
                    _ => return Ok(None),
                };
                if entry.wild.is_some() || takes_nothing(&entry.value) {
                    return Ok(None);
                }
                let field = Field { parent: optional, key: &entry.key }.optional();
                self.chained(&entry.value, &field, shape.field(&entry.key), may_be_absent)
            }
            PatternNode::Each(each) if may_be_absent && shape.is_list() => {
                let list = format!("{optional}.orValue([])");
                let (name, one) = self.for_element(0, |this, name| this.node(each, name, shape.element()))?;
                Ok((!one.can_skip()).then(|| Formula::all(&list, &name, one.okay)))
            }
            _ => Ok(None),
        }
    }

    /// Returns whether the list `value` has what `^( )` asks for.
    fn exists(&mut self, node: &PatternNode, value: &str, shape: Shape) -> Made<Formula> {
        let PatternNode::Exists(Exists::AllOf(wanted)) = node else { return Ok(Formula::False) };
        let mut all = match shape {
            Shape::List(_) => Formula::True,
            Shape::Any => is_a("list", value),
            _ => return Ok(Formula::False),
        };
        for (index, node) in wanted.iter().enumerate() {
            let (name, one) = self.for_element(index, |this, name| this.node(node, name, shape.element()))?;
            all = all.and(Formula::exists(value, &name, one.pass));
        }
        Ok(all)
    }

    /// A key with wildcards, in labels and annotations: one of the keys that fit it must be as the pattern says.
    fn wild(&mut self, entry: &PatternEntry, parent: &str, shape: Shape) -> Made<Outcome> {
        let (PatternNode::Leaf(leaf), Shape::MapOf(below)) = (&entry.value, shape) else {
            if entry.anchor == Some(PatternAnchor::Negation) && !shape.is_any() {
                let fits = leaf::wildcards(&entry.key, "key", Shape::Word);
                return Ok(Outcome::decided(Formula::exists(parent, "key", fits).not()));
            }
            return self.because("a key of the pattern has wildcards where anything may stand");
        };
        let fits = leaf::wildcards(&entry.key, "key", Shape::Word);
        let one = self.said(leaf::fits(leaf, &format!("{parent}[key]"), *below))?;
        let is_there = Formula::exists(parent, "key", fits.clone());
        let pass = Formula::exists(parent, "key", fits.and(one));
        Ok(match entry.anchor {
            None if leaf::accepts_null(leaf) => Outcome::decided(is_there.not().or(pass)),
            None => Outcome::decided(pass),
            Some(PatternAnchor::Equality) => Outcome::decided(is_there.not().or(pass)),
            Some(PatternAnchor::Condition) => {
                Outcome { own: pass.clone().not(), pass, below: Formula::False, okay: Formula::True }
            }
            Some(PatternAnchor::Global) => {
                let pass = is_there.not().or(pass);
                Outcome { own: pass.clone().not(), pass, below: Formula::False, okay: Formula::True }
            }
            Some(PatternAnchor::Negation) => Outcome::decided(is_there.not()),
            Some(PatternAnchor::Existence) => Outcome::decided(is_there.not()),
        })
    }
}

impl Outcome {
    /// Returns what comes of this and, where it passes, of `rest`.
    fn then(self, rest: Self) -> Self {
        let skip = self.skip();
        let also = |formula: Formula| self.pass.clone().and(formula);
        Self {
            own: self.own.clone().or(also(rest.own)),
            below: self.below.clone().or(also(rest.below)),
            okay: match skip {
                Formula::False => also(rest.okay),
                // What goes on is what neither fails nor is skipped.
                skip => self.okay.clone().and(skip.or(rest.okay)),
            },
            pass: also(rest.pass),
        }
    }
}

/// Returns whether `node` is a scalar that nothing at all fits.
fn takes_nothing(node: &PatternNode) -> bool {
    match node {
        PatternNode::Leaf(leaf) => leaf::accepts_null(leaf),
        PatternNode::Shared(node) => takes_nothing(node),
        _ => false,
    }
}

fn is_a(type_name: &str, value: &str) -> Formula {
    Formula::compare(&format!("type({value})"), "==", type_name)
}

/// Returns a key without its anchor.
fn bare(key: &str) -> &str {
    let inner = key.trim().trim_start_matches(['<', '=', 'X', '^', '+']);
    match inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => inner,
        None => key,
    }
}
