//! The decisions of a test: the rules of one policy see what those before it left of the object.
//!
//! Rules that change objects run first, policy by policy: those of ClusterPolicies, then those of
//! MutatingAdmissionPolicies, then those of MutatingPolicies. A rule that judges sees what the stages before its own left.

use std::collections::BTreeMap;
use std::rc::Rc;

use kubewright_engine::{Decision, DecisionSettings, Engine};
use kubewright_k8s::{AdmissionRequest, Operation, UserInfo};
use kubewright_value::Value;

use super::file::ResultRow;
use super::objects::TestObject;
use super::policies::TestPolicy;
use crate::fixtures::FileWorld;
use kubewright_value::CompactSort as _;

/// The policies and objects of a test, and what was decided so far.
pub(super) struct DecisionChain<'a> {
    policies: &'a [TestPolicy],
    world: &'a FileWorld,
    user: Option<&'a UserInfo>,
    /// The policies that change objects, in the order in which they do.
    changing: Vec<usize>,
    /// Whether failures say where they are. It takes longer, and most tests show none.
    wants_places: bool,
    // By policy, object, operation, and whether it is about changes.
    decisions: BTreeMap<(usize, usize, Operation, bool), Rc<Decision>>,
}

impl<'a> DecisionChain<'a> {
    /// Returns a chain without decisions, in which failures say where they are if `wants_places`.
    pub(super) fn new(
        policies: &'a [TestPolicy],
        world: &'a FileWorld,
        user: Option<&'a UserInfo>,
        wants_places: bool,
    ) -> Self {
        let mut changing: Vec<usize> = (0..policies.len()).collect();
        changing.retain(|place| policies.get(*place).is_some_and(|policy| policy.changing.is_some()));
        changing.compact_sort_by_key(|place| policies.get(*place).map(TestPolicy::stage));
        Self { policies, world, user, changing, wants_places, decisions: BTreeMap::new() }
    }

    /// Lets failures say where they are from now on, and returns whether they did not before, so that what was decided has to be
    /// asked for again.
    pub(super) fn begin_to_place(&mut self) -> bool {
        if self.wants_places {
            return false;
        }
        self.wants_places = true;
        self.decisions.clear();
        true
    }

    /// Returns the decisions of the policy at `place` about `object`, each with the operation that it is about: about changes,
    /// and the judgement of the rest.
    pub(super) fn decide(
        &mut self,
        row: &ResultRow,
        place: usize,
        object: &TestObject<'a>,
    ) -> Vec<(Operation, Rc<Decision>)> {
        let Some(policy) = self.policies.get(place) else { return Vec::new() };
        let mut decisions = Vec::new();
        if policy.changing.is_some() {
            let before = self.object_before(row, place, object);
            let request = self.request(row, policy, object, before);
            let decision = self.changes(place, object, &request);
            decisions.push((request.operation, decision));
        }
        if policy.changing.is_none() || policy.judging.is_some() {
            let before = self.object_after_stage(row, policy, object);
            let request = self.request(row, policy, object, before);
            let decision = self.judgement(place, object, &request);
            decisions.push((request.operation, decision));
        }
        decisions
    }

    /// Returns the engines of the policy at `place`, each with its request, to decide again with other settings.
    pub(super) fn traced(
        &mut self,
        row: &ResultRow,
        place: usize,
        object: &TestObject<'a>,
    ) -> Vec<(AdmissionRequest, Decision)> {
        let settings = DecisionSettings { is_traced: true, ..DecisionSettings::default() };
        let Some(policy) = self.policies.get(place) else { return Vec::new() };
        let mut traced = Vec::new();
        if let Some(engine) = &policy.changing {
            let before = self.object_before(row, place, object);
            let request = self.request(row, policy, object, before);
            let decision = engine.decide(&request, self.world, &settings);
            traced.push((request, decision));
        }
        if let Some(engine) = policy.judging.as_ref().or(policy.changing.is_none().then_some(&policy.engine))
        {
            let before = self.object_after_stage(row, policy, object);
            let request = self.request(row, policy, object, before);
            let decision = engine.decide(&request, self.world, &settings);
            traced.push((request, decision));
        }
        traced
    }

    /// Returns the object with which a row of the policy at `place` compares what it expects: after the policy, or for a
    /// MutatingPolicy after all of them.
    pub(super) fn changed_object(
        &mut self,
        row: &ResultRow,
        place: usize,
        object: &TestObject<'a>,
    ) -> Option<Value> {
        let policy = self.policies.get(place)?;
        if policy.is_compared_at_the_end() {
            return self
                .object_after_stage(row, policy, object)
                .or_else(|| Some(object.request.object.clone()));
        }
        let before = self.object_before(row, place, object);
        let request = self.request(row, policy, object, before);
        match &policy.changing {
            Some(_) => Some(self.changes(place, object, &request).object.clone()),
            None => Some(request.object),
        }
    }

    /// Returns the request of `policy` about `object`, of which `changed` is the present form.
    pub(super) fn request(
        &self,
        row: &ResultRow,
        policy: &TestPolicy,
        object: &TestObject<'a>,
        changed: Option<Value>,
    ) -> AdmissionRequest {
        let mut request = object.asked(row.operation, &policy.name, self.world, self.user);
        if let Some(changed) = changed.filter(|_| request.operation != Operation::Delete) {
            request.object = changed;
        }
        request
    }

    /// Returns the object as the changing policies before the one at `place` left it; nothing where there is none.
    fn object_before(&mut self, row: &ResultRow, place: usize, object: &TestObject<'a>) -> Option<Value> {
        if self.changing.is_empty() {
            return None;
        }
        let earlier: Vec<usize> = self.changing.iter().copied().take_while(|one| *one != place).collect();
        self.object_after(row, &earlier, object)
    }

    /// Returns the object as the rules of `policy` that judge see it; nothing where no policy changes objects.
    pub(super) fn object_after_stage(
        &mut self,
        row: &ResultRow,
        policy: &TestPolicy,
        object: &TestObject<'a>,
    ) -> Option<Value> {
        if self.changing.is_empty() {
            return None;
        }
        let stage = policy.stage();
        let is_earlier = |place: &usize| self.policies.get(*place).is_some_and(|one| one.stage() <= stage);
        let earlier: Vec<usize> = self.changing.iter().copied().filter(is_earlier).collect();
        self.object_after(row, &earlier, object)
    }

    fn object_after(&mut self, row: &ResultRow, places: &[usize], object: &TestObject<'a>) -> Option<Value> {
        let mut changed = None;
        for place in places.iter().filter(|_| object.payload.is_none()) {
            let policy = self.policies.get(*place)?;
            let request = self.request(row, policy, object, changed.clone());
            changed = Some(self.changes(*place, object, &request).object.clone());
        }
        changed
    }

    fn changes(&mut self, place: usize, object: &TestObject<'a>, request: &AdmissionRequest) -> Rc<Decision> {
        self.cached(place, object, request, true)
    }

    fn judgement(
        &mut self,
        place: usize,
        object: &TestObject<'a>,
        request: &AdmissionRequest,
    ) -> Rc<Decision> {
        self.cached(place, object, request, false)
    }

    fn cached(
        &mut self,
        place: usize,
        object: &TestObject<'a>,
        request: &AdmissionRequest,
        is_change: bool,
    ) -> Rc<Decision> {
        let key = (place, std::ptr::from_ref(object) as usize, request.operation, is_change);
        if let Some(decision) = self.decisions.get(&key) {
            return Rc::clone(decision);
        }
        let policy = self.policies.get(place);
        let engine = policy.and_then(|policy| match is_change {
            true => policy.changing.as_ref(),
            false => policy.judging.as_ref().or(Some(&policy.engine)),
        });
        let empty;
        let engine = match engine {
            Some(engine) => engine,
            None => {
                empty = Engine::default();
                &empty
            }
        };
        // Rows show messages, and no reasons in plain words.
        let settings = DecisionSettings {
            leaves_out_reasons: true,
            leaves_out_places: !self.wants_places,
            ..DecisionSettings::default()
        };
        let decision = Rc::new(engine.decide(request, self.world, &settings));
        self.decisions.insert(key, Rc::clone(&decision));
        decision
    }
}
