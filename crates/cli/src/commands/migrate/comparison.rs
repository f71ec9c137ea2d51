//! Compares converted policies with their sources on objects, and keeps what was found.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use kubewright_dialects::{DialectOptions, all_dialects};
use kubewright_engine::{DecisionSettings, KindScope, Query, Rule, World};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Text};
use std::sync::Arc;

use super::super::conversion::{ConversionPair, ConvertedDocument, PairDecision};
use super::difference::ObjectDifference;

/// How many differences of a policy are kept with their traces.
const MAX_TRACED_DIFFERENCES: usize = 3;

/// How often an object is judged again because rules ask for more.
const MAX_LOOKUP_ROUNDS: usize = 16;

/// The operations that each object is judged for.
const OPERATIONS: [Operation; 3] = [Operation::Create, Operation::Update, Operation::Delete];

/// All pairs of source and result, with what was found about each.
pub(super) struct ObjectComparison {
    pairs: Vec<ComparedPair>,
    proofs: ObjectProofs,
}

/// What was found about the converted policies on objects.
#[derive(Default)]
pub(super) struct ObjectProofs {
    all: Vec<ObjectProof>,
    /// How many objects were read.
    pub(super) objects: usize,
}

/// What was found about one converted policy on objects.
#[derive(Default)]
pub(super) struct ObjectProof {
    policy: usize,
    place: usize,
    /// How many objects the source judges, and the result judges alike.
    pub(super) agreeing: usize,
    /// How many objects they differ on.
    pub(super) differing: usize,
    /// Some of the differences.
    pub(super) differences: Vec<ObjectDifference>,
}

/// What is known about an object.
pub(super) struct ComparedObject<'o> {
    /// The object.
    pub(super) document: &'o Document,
    /// Returns the request of an operation on it.
    pub(super) request: &'o dyn Fn(Operation) -> AdmissionRequest,
    /// What rules may look up.
    pub(super) world: &'o dyn World,
    /// Looks up what the world does not know; returns whether asking again can help.
    pub(super) learn: &'o dyn Fn(Vec<Query>) -> bool,
}

/// What one pair says about an object.
pub(super) struct PairFinding {
    pair: usize,
    difference: Option<Option<ObjectDifference>>,
}

struct ComparedPair {
    policy: usize,
    place: usize,
    pair: ConversionPair,
    /// The kinds that it is about; nothing where it may be about any.
    kinds: Option<HashSet<Text>>,
    traced: AtomicUsize,
}

impl ObjectComparison {
    /// Compiles `converted` and their sources.
    pub(super) fn new(converted: &[ConvertedDocument], options: &DialectOptions) -> Self {
        let dialects = all_dialects(options);
        let mut pairs = Vec::new();
        for (policy, one) in converted.iter().enumerate() {
            for (place, (written, text)) in one.conversion.written.iter().zip(&one.texts).enumerate() {
                let pair = ConversionPair::new(&dialects, &one.document, written, text);
                let kinds = named_kinds(pair.rules());
                pairs.push(ComparedPair { policy, place, pair, kinds, traced: AtomicUsize::new(0) });
            }
        }
        let proof = |pair: &ComparedPair| ObjectProof {
            policy: pair.policy,
            place: pair.place,
            ..ObjectProof::default()
        };
        let proofs = ObjectProofs { all: pairs.iter().map(proof).collect(), objects: 0 };
        Self { pairs, proofs }
    }

    /// Returns all rules, those of the sources and those that replace them.
    pub(super) fn rules(&self) -> Vec<Arc<Rule>> {
        self.pairs.iter().flat_map(|pair| pair.pair.rules()).cloned().collect()
    }

    /// Returns whether there is anything to compare.
    pub(super) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Asks every source and its result about `object`.
    pub(super) fn compare(&self, object: &ComparedObject<'_>) -> Vec<PairFinding> {
        let kind = object.document.value.str_at(&["kind"]);
        let is_about = |pair: &ComparedPair| pair.kinds.as_ref().is_none_or(|kinds| kinds.contains(kind));
        let pairs = self.pairs.iter().enumerate().filter(|(_, pair)| is_about(pair));
        pairs.filter_map(|(at, pair)| pair.compare(at, object)).collect()
    }

    /// Records what was found about one object.
    pub(super) fn record(&mut self, findings: Vec<PairFinding>) {
        self.proofs.objects += 1;
        for finding in findings {
            let Some(proof) = self.proofs.all.get_mut(finding.pair) else { continue };
            match finding.difference {
                None => proof.agreeing += 1,
                Some(difference) => {
                    proof.differing += 1;
                    proof.differences.extend(difference);
                }
            }
        }
    }

    /// Gives what was found to the policies, so that those that differ are not written.
    pub(super) fn finish(self, converted: &mut [ConvertedDocument]) -> ObjectProofs {
        for proof in self.proofs.all.iter().filter(|proof| proof.differing > 0) {
            let Some(one) = converted.get_mut(proof.policy) else { continue };
            let first = proof.differences.first();
            let what = first.map(|difference| difference.what.as_str()).unwrap_or_default();
            one.proof.differences.push((proof.place, format!("differs from the source on {what}")));
        }
        self.proofs
    }
}

impl ObjectProofs {
    /// Returns what was found about the document at `place` of the policy at `policy`.
    pub(super) fn of(&self, policy: usize, place: usize) -> Option<&ObjectProof> {
        self.all.iter().find(|proof| proof.policy == policy && proof.place == place)
    }

    /// Leaves out what neither a test nor an object compares with its source.
    pub(super) fn leave_out_unproven(&self, converted: &mut [ConvertedDocument]) {
        for (policy, one) in converted.iter_mut().enumerate() {
            let agreeing = |place| self.of(policy, place).is_some_and(|proof| proof.agreeing > 0);
            let places = 0..one.conversion.written.len();
            let bare: Vec<usize> =
                places.filter(|place| !one.proof.is_proven(*place) && !agreeing(*place)).collect();
            for place in bare.into_iter().filter(|place| !one.proof.is_refused(*place)).collect::<Vec<_>>() {
                one.proof.differences.push((place, UNPROVEN.to_owned()));
            }
        }
    }
}

/// The difference of a policy that must be proven and is not.
pub(super) const UNPROVEN: &str = "is judged by no test and no object";

impl ComparedPair {
    /// Returns what the pair says about an object; nothing where neither judges it.
    fn compare(&self, at: usize, object: &ComparedObject<'_>) -> Option<PairFinding> {
        let mut is_judged = false;
        // Stored objects are what they are, whatever was done to them last.
        let count = if self.pair.is_about_stored() { 1 } else { OPERATIONS.len() };
        for operation in OPERATIONS.into_iter().take(count) {
            let request = (object.request)(operation);
            if !self.pair.rules().any(|rule| rule.scope.admits(&request)) {
                continue;
            }
            let Some(decision) = self.decide(&request, object, &DecisionSettings::default()) else {
                continue;
            };
            let (before, after) = decision.verdicts();
            if !before.agrees(&after, operation) {
                let what = format!("{operation} {}: {}", request.subject(), before.difference(&after));
                return Some(PairFinding { pair: at, difference: Some(self.trace(what, &request, object)) });
            }
            is_judged |= before.is_judgement();
        }
        is_judged.then_some(PairFinding { pair: at, difference: None })
    }

    /// Asks both until nothing must be looked up; nothing where that has no end.
    fn decide(
        &self,
        request: &AdmissionRequest,
        object: &ComparedObject<'_>,
        settings: &DecisionSettings,
    ) -> Option<PairDecision> {
        for _ in 0..MAX_LOOKUP_ROUNDS {
            let mut decision = self.pair.decide(request, object.world, settings);
            let queries = decision.take_queries();
            if queries.is_empty() {
                return Some(decision);
            }
            if !(object.learn)(queries) {
                return None;
            }
        }
        None
    }

    /// Returns a difference with the traces of both; nothing where there are enough.
    fn trace(
        &self,
        what: String,
        request: &AdmissionRequest,
        object: &ComparedObject<'_>,
    ) -> Option<ObjectDifference> {
        if self.traced.fetch_add(1, Ordering::Relaxed) >= MAX_TRACED_DIFFERENCES {
            return None;
        }
        let settings = DecisionSettings { is_traced: true, ..DecisionSettings::default() };
        let decision = self.decide(request, object, &settings)?;
        Some(ObjectDifference::new(what, object.document, request, decision))
    }
}

/// Returns the kinds that rules name; nothing where one may be about any.
fn named_kinds<'r>(rules: impl Iterator<Item = &'r Arc<Rule>>) -> Option<HashSet<Text>> {
    let mut all = HashSet::new();
    for rule in rules {
        match &rule.scope.kinds {
            KindScope::Any => return None,
            KindScope::Named(kinds) => all.extend(kinds.iter().cloned()),
        }
    }
    Some(all)
}
