//! Translates a pattern into CEL: when an object matches it, and when it is skipped.
//!
//! This follows the walk of a pattern over an object to the letter. A part of an object passes, fails, is skipped by a
//! condition of its own, or because something below it was; each of these but failing is a formula here.

use kubewright_value::Step;

use super::formula::{Formula, MAX_FORMULA_SIZE};
use super::leaf;
use super::shape::ValueShape;
use super::text::{MapField, element_name};
use crate::{ConversionRefusal, ConversionResult};
use kubewright_kyverno::pattern::leaf::Leaf;
use kubewright_kyverno::pattern::node::{Exists, MapNode, PatternAnchor, PatternEntry, PatternNode};

/// The formulas of comparing a value with a part of a pattern.
#[derive(Debug, Clone)]
pub(super) struct PatternFormulas {
    /// It matches the pattern.
    pub(super) pass: Formula,
    /// A condition on it does not hold.
    own: Formula,
    /// Everything below it that was looked at was skipped.
    below: Formula,
    /// It does not fail.
    pub(super) okay: Formula,
}

/// How deep patterns are followed.
const MAX_PATTERN_DEPTH: usize = 64;

/// Returns the formulas of comparing `value`, of which only the shape is known, with `node`.
pub(super) fn translate_pattern_node(
    node: &PatternNode,
    value: &str,
    shape: ValueShape,
) -> ConversionResult<PatternFormulas> {
    ValidatePatternTranslator { at: Vec::new(), names: Vec::new() }.node(node, value, shape)
}

impl PatternFormulas {
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

    /// Returns the same where `guard` holds, and failed elsewhere.
    fn if_also(self, guard: &Formula) -> Self {
        let also = |formula: Formula| guard.clone().and(formula);
        Self { pass: also(self.pass), own: also(self.own), below: also(self.below), okay: also(self.okay) }
    }

    /// Returns the same where `guard` holds, and passed elsewhere.
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

struct ValidatePatternTranslator {
    at: Vec<Step>,
    names: Vec<String>,
}

impl ValidatePatternTranslator {
    fn because<T>(&self, why: impl Into<String>) -> ConversionResult<T> {
        Err(ConversionRefusal { why: why.into(), path: self.at.clone() })
    }

    fn said<T>(&self, said: leaf::LeafResult<T>) -> ConversionResult<T> {
        said.or_else(|why| self.because(why))
    }

    fn node(
        &mut self,
        node: &PatternNode,
        value: &str,
        shape: ValueShape,
    ) -> ConversionResult<PatternFormulas> {
        if self.at.len() > MAX_PATTERN_DEPTH {
            return self.because("the pattern is nested too deep");
        }
        let outcome = self.outcome(node, value, shape)?;
        let PatternFormulas { pass, own, below, okay } = &outcome;
        if [pass, own, below, okay].iter().any(|formula| formula.size() > MAX_FORMULA_SIZE) {
            return self.because("the pattern makes an expression that is too long");
        }
        Ok(outcome)
    }

    fn outcome(
        &mut self,
        node: &PatternNode,
        value: &str,
        shape: ValueShape,
    ) -> ConversionResult<PatternFormulas> {
        match node {
            PatternNode::Leaf(leaf) => self.leaf(leaf, value, shape).map(PatternFormulas::decided),
            PatternNode::Shared(node) => self.node(node, value, shape),
            PatternNode::Map(map) => {
                let outcome = self.map(map, value, shape)?;
                Ok(match shape.is_map() {
                    true => outcome,
                    false if shape.is_any() => outcome.if_also(&has_type("map", value)),
                    false => PatternFormulas::decided(Formula::False),
                })
            }
            PatternNode::Each(each) => self.each(each, value, shape),
            PatternNode::EachScalar(leaf) => {
                let formula = self.every(leaf, value, shape)?;
                Ok(PatternFormulas::decided(match shape.is_list() {
                    true => formula,
                    false if shape.is_any() => has_type("list", value).and(formula),
                    false => Formula::False,
                }))
            }
            PatternNode::InOrder(_) => self.because("the pattern has a list in a list"),
            PatternNode::EmptyList => Ok(PatternFormulas::decided(Formula::False)),
            PatternNode::Exists(_) | PatternNode::Ignored => Ok(PatternFormulas::decided(Formula::True)),
            PatternNode::TooDeep => self.because("the pattern is nested too deep"),
        }
    }

    /// Every scalar, and every element of a list, must fit.
    fn leaf(&mut self, leaf: &Leaf, value: &str, shape: ValueShape) -> ConversionResult<Formula> {
        if shape.is_list() {
            return self.every(leaf, value, shape);
        }
        if !shape.is_any() {
            return self.said(leaf::leaf_formula(leaf, value, shape));
        }
        self.every(leaf, &format!("(type({value}) == list ? {value} : [{value}])"), shape)
    }

    /// Returns whether every element of the list `value` fits.
    fn every(&mut self, leaf: &Leaf, value: &str, shape: ValueShape) -> ConversionResult<Formula> {
        let name = self.element();
        let each = self.said(leaf::leaf_formula(leaf, &name, shape.element()))?;
        Ok(Formula::all(value, &name, each))
    }

    /// Returns a name for an element of the list that is looked at.
    fn element(&self) -> String {
        let keys = self.at.iter().rev().filter_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        });
        let key = keys.map(key_without_anchor).next().unwrap_or_default();
        element_name(key, &self.names)
    }

    /// Runs `below` for an element called by a name of its own.
    fn for_element<T>(
        &mut self,
        index: usize,
        below: impl FnOnce(&mut Self, &str) -> ConversionResult<T>,
    ) -> ConversionResult<(String, T)> {
        let name = self.element();
        self.names.push(name.clone());
        self.at.push(Step::Index(index));
        let made = below(self, &name);
        self.at.pop();
        self.names.pop();
        Ok((name, made?))
    }

    fn each(
        &mut self,
        each: &PatternNode,
        value: &str,
        shape: ValueShape,
    ) -> ConversionResult<PatternFormulas> {
        let (name, one) = self.for_element(0, |this, name| this.node(each, name, shape.element()))?;
        let okay = Formula::all(value, &name, one.okay.clone());
        let outcome = match one.can_skip() {
            false => PatternFormulas::decided(okay),
            true => {
                let size = format!("size({value})");
                let is_empty = Formula::compare(&size, "==", "0");
                PatternFormulas {
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
            false if shape.is_any() => outcome.if_also(&has_type("list", value)),
            false => PatternFormulas::decided(Formula::False),
        })
    }

    /// The anchors of a map decide first, and on whether the rest is looked at.
    fn map(&mut self, map: &MapNode, value: &str, shape: ValueShape) -> ConversionResult<PatternFormulas> {
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
                return self.because("a global anchor `<(…)` is below another anchor");
            }
            okay = okay.and(outcome.okay);
            are_skipped = are_skipped.and(outcome.below);
        }
        // Another anchor that was checked makes up for a skipped one.
        if !conditions.is_empty() {
            are_skipped = Formula::False;
        }
        let mut rest = PatternFormulas::decided(Formula::True);
        for entry in map.rest.iter().rev() {
            rest = self.entry(entry, value, shape)?.then(rest);
        }
        let goes_on = holds.clone().and(okay.clone()).and(are_skipped.clone().not());
        let fails_condition = holds.not();
        Ok(PatternFormulas {
            pass: goes_on.clone().and(rest.pass),
            own: goes_on.clone().and(rest.own),
            below: fails_condition.clone().or(are_skipped.clone()).or(goes_on.and(rest.below)),
            okay: fails_condition.or(okay.and(are_skipped.or(rest.okay))),
        })
    }

    fn entry(
        &mut self,
        entry: &PatternEntry,
        parent: &str,
        shape: ValueShape,
    ) -> ConversionResult<PatternFormulas> {
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

    fn keyed(
        &mut self,
        entry: &PatternEntry,
        parent: &str,
        around: ValueShape,
    ) -> ConversionResult<PatternFormulas> {
        let field = MapField { parent, key: &entry.key };
        let shape = around.field(&entry.key);
        let (value, is_there) = (field.value(), field.presence());
        let Some(anchor) = entry.anchor else {
            if entry.wants_any {
                let is_null =
                    if shape.is_any() { Formula::compare(&value, "==", "null") } else { Formula::False };
                return Ok(PatternFormulas::decided(is_there.and(is_null.not())));
            }
            if around.requires(&entry.key) {
                return self.node(&entry.value, &value, shape);
            }
            if let Some(formula) = self.chained(&entry.value, &field.optional(), shape, false)? {
                return Ok(PatternFormulas::decided(formula));
            }
            let outcome = self.node(&entry.value, &value, shape)?;
            return Ok(match &entry.value {
                PatternNode::Leaf(leaf) if leaf::accepts_null(leaf) => outcome.unless(&is_there),
                _ => outcome.if_also(&is_there),
            });
        };
        Ok(match anchor {
            PatternAnchor::Negation => PatternFormulas::decided(is_there.not()),
            PatternAnchor::Existence => {
                PatternFormulas::decided(self.exists(&entry.value, &value, shape)?).unless(&is_there)
            }
            PatternAnchor::Equality => match self.chained(&entry.value, &field.optional(), shape, true)? {
                Some(formula) => PatternFormulas::decided(formula),
                None => self.node(&entry.value, &value, shape)?.unless(&is_there),
            },
            PatternAnchor::Condition => {
                let pass = match self.chained(&entry.value, &field.optional(), shape, false)? {
                    // A missing value meets no condition.
                    Some(formula) if !accepts_missing(&entry.value) => formula,
                    _ => is_there.and(self.node(&entry.value, &value, shape)?.pass),
                };
                PatternFormulas { own: pass.clone().not(), pass, below: Formula::False, okay: Formula::True }
            }
            PatternAnchor::Global => {
                let pass = match self.chained(&entry.value, &field.optional(), shape, true)? {
                    Some(formula) => formula,
                    None => is_there.not().or(self.node(&entry.value, &value, shape)?.pass),
                };
                PatternFormulas { own: pass.clone().not(), pass, below: Formula::False, okay: Formula::True }
            }
        })
    }

    /// Returns a single test with `.?` and `orValue`, where one is enough: does the value of `optional` match `node`,
    /// or, if that is allowed, is it missing?
    fn chained(
        &mut self,
        node: &PatternNode,
        optional: &str,
        shape: ValueShape,
        may_be_absent: bool,
    ) -> ConversionResult<Option<Formula>> {
        match node {
            PatternNode::Shared(node) => self.chained(node, optional, shape, may_be_absent),
            PatternNode::Leaf(leaf) if !shape.is_any() && !shape.is_list() => {
                let fits = may_be_absent || leaf::accepts_null(leaf);
                let Some(stand_in) = leaf::stand_in(leaf, shape, fits) else { return Ok(None) };
                let value = format!("{optional}.orValue({stand_in})");
                let formula = self.said(leaf::leaf_formula(leaf, &value, shape))?;
                Ok(matches!(formula, Formula::Atom(_)).then_some(formula))
            }
            PatternNode::Map(map) if shape.is_map() => {
                let (anchors, rest) = (map.anchors.as_slice(), map.rest.as_slice());
                let entry = match (anchors, rest) {
                    ([only], []) if may_be_absent && only.anchor == Some(PatternAnchor::Equality) => only,
                    ([], [only]) if !may_be_absent && only.anchor.is_none() && !only.wants_any => only,
                    _ => return Ok(None),
                };
                if entry.wild.is_some() || accepts_missing(&entry.value) {
                    return Ok(None);
                }
                let field = MapField { parent: optional, key: &entry.key }.optional();
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

    /// Returns whether the list `value` has an element as `^( )` requires.
    fn exists(&mut self, node: &PatternNode, value: &str, shape: ValueShape) -> ConversionResult<Formula> {
        let PatternNode::Exists(Exists::AllOf(wanted)) = node else { return Ok(Formula::False) };
        let mut all = match shape {
            ValueShape::List(_) => Formula::True,
            ValueShape::Any => has_type("list", value),
            _ => return Ok(Formula::False),
        };
        for (index, node) in wanted.iter().enumerate() {
            let (name, one) = self.for_element(index, |this, name| this.node(node, name, shape.element()))?;
            all = all.and(Formula::exists(value, &name, one.pass));
        }
        Ok(all)
    }

    /// A key with wildcards, in labels and annotations: one of the matching keys must match the pattern.
    fn wild(
        &mut self,
        entry: &PatternEntry,
        parent: &str,
        shape: ValueShape,
    ) -> ConversionResult<PatternFormulas> {
        let (PatternNode::Leaf(leaf), ValueShape::MapOf(below)) = (&entry.value, shape) else {
            if entry.anchor == Some(PatternAnchor::Negation) && !shape.is_any() {
                let fits = leaf::wildcard_formula(&entry.key, "key", ValueShape::Word);
                return Ok(PatternFormulas::decided(Formula::exists(parent, "key", fits).not()));
            }
            return self.because("a key of the pattern has wildcards where any key is possible");
        };
        let fits = leaf::wildcard_formula(&entry.key, "key", ValueShape::Word);
        let one = self.said(leaf::leaf_formula(leaf, &format!("{parent}[key]"), *below))?;
        let is_there = Formula::exists(parent, "key", fits.clone());
        let pass = Formula::exists(parent, "key", fits.and(one));
        Ok(match entry.anchor {
            None if leaf::accepts_null(leaf) => PatternFormulas::decided(is_there.not().or(pass)),
            None => PatternFormulas::decided(pass),
            Some(PatternAnchor::Equality) => PatternFormulas::decided(is_there.not().or(pass)),
            Some(PatternAnchor::Condition) => {
                PatternFormulas { own: pass.clone().not(), pass, below: Formula::False, okay: Formula::True }
            }
            Some(PatternAnchor::Global) => {
                let pass = is_there.not().or(pass);
                PatternFormulas { own: pass.clone().not(), pass, below: Formula::False, okay: Formula::True }
            }
            Some(PatternAnchor::Negation) => PatternFormulas::decided(is_there.not()),
            Some(PatternAnchor::Existence) => PatternFormulas::decided(is_there.not()),
        })
    }
}

impl PatternFormulas {
    /// Returns the formulas of this and, where it passes, of `rest`.
    fn then(self, rest: Self) -> Self {
        let skip = self.skip();
        let also = |formula: Formula| self.pass.clone().and(formula);
        Self {
            own: self.own.clone().or(also(rest.own)),
            below: self.below.clone().or(also(rest.below)),
            okay: match skip {
                Formula::False => also(rest.okay),
                // Only a value that neither fails nor is skipped continues.
                skip => self.okay.clone().and(skip.or(rest.okay)),
            },
            pass: also(rest.pass),
        }
    }
}

/// Returns whether `node` is a scalar that nothing at all fits.
fn accepts_missing(node: &PatternNode) -> bool {
    match node {
        PatternNode::Leaf(leaf) => leaf::accepts_null(leaf),
        PatternNode::Shared(node) => accepts_missing(node),
        _ => false,
    }
}

fn has_type(type_name: &str, value: &str) -> Formula {
    Formula::compare(&format!("type({value})"), "==", type_name)
}

/// Returns a key without its anchor.
fn key_without_anchor(key: &str) -> &str {
    let inner = key.trim().trim_start_matches(['<', '=', 'X', '^', '+']);
    match inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        Some(inner) => inner,
        None => key,
    }
}
