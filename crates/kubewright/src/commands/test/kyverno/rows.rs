//! Compares what a row expects with what its policy says.
//!
//! A row holds when every outcome that it is about is the expected one. Where a rule says nothing about an object,
//! because it is not about it or has nothing to look at, that counts as `skip`; and what does not exist does not hold.

use std::collections::HashMap;
use std::rc::Rc;

use kubewright_engine::{
    Decision, DecisionSettings, RuleId, RuleOutcome, RuleStatus, TraceNode, TraceVerdict, nearest_word,
};
use kubewright_k8s::{AdmissionRequest, Operation, UserInfo};
use kubewright_report::{CaseResult, CaseRule, path_text};
use kubewright_value::Location;

use super::super::coverage::Exercised;
use super::file::{Row, Wanted};
use super::objects::{Object, Objects};
use super::policies::{Part, Policy};
use crate::fixtures::FileWorld;
use crate::rules;

/// A test, loaded.
pub(super) struct Bench<'a> {
    pub(super) policies: &'a [Policy],
    pub(super) objects: &'a Objects<'a>,
    pub(super) world: &'a FileWorld,
    pub(super) user: Option<&'a UserInfo>,
    pub(super) has_coverage: bool,
    // By policy, object and operation.
    decisions: HashMap<(usize, usize, Operation), Rc<Decision>>,
    pub(super) exercised: Exercised,
}

/// What a rule said about an object, or why it said nothing.
struct Said {
    status: RuleStatus,
    message: String,
    rule: Option<RuleId>,
    /// `file:line`, and the path there.
    place: String,
    operation: Operation,
}

/// Why a row cannot be judged.
struct Refusal {
    /// What is known of the rule.
    part: Part,
    message: String,
}

impl Refusal {
    fn new(part: Option<&Part>, message: String) -> Box<Self> {
        Box::new(Self { part: part.cloned().unwrap_or_default(), message })
    }
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        policies: &'a [Policy],
        objects: &'a Objects<'a>,
        world: &'a FileWorld,
        user: Option<&'a UserInfo>,
        has_coverage: bool,
    ) -> Self {
        let (decisions, exercised) = (HashMap::new(), Exercised::default());
        Self { policies, objects, world, user, has_coverage, decisions, exercised }
    }

    /// Runs one row; it has a result for each resource it names.
    pub(super) fn run(&mut self, row: &Row) -> Vec<CaseResult> {
        let place = match self.meant(row) {
            Ok(place) => place,
            Err(refusal) => return self.refused(row, &refusal.part, &refusal.message),
        };
        let part = self.part(place, row);
        if row.resources.is_empty() {
            return self.all(row, place, &part);
        }
        let mut results = Vec::new();
        for wanted in &row.resources {
            results.push(match self.objects.find(wanted, row.kind.as_deref()) {
                Ok(objects) => self.judge(row, place, &part, &objects),
                Err(message) => failed(row, &part, wanted, &message),
            });
        }
        results
    }

    /// Returns the place of the policy that a row is about.
    ///
    /// # Errors
    /// When it or its rule does not exist or cannot run, with what is known of the rule.
    fn meant(&self, row: &Row) -> Result<usize, Box<Refusal>> {
        let policies = || self.policies.iter().enumerate();
        let mut called = policies().filter(|(_, policy)| policy.is_called(&row.policy));
        let first = called.clone().next();
        // Several may have one name.
        let (place, policy) = called
            .find(|(_, policy)| policy.fits(row.policy_kind, row.rule.as_deref()))
            .or(first)
            .ok_or_else(|| Refusal::new(None, self.no_policy(&row.policy)))?;
        let parts = policy.parts(row.rule.as_deref()).map_err(|message| Refusal::new(None, message))?;
        if let Some(part) = parts.iter().find(|part| part.unsupported.is_some()) {
            let what = part.unsupported.as_deref().unwrap_or_default();
            return Err(Refusal::new(Some(part), format!("not supported yet: {what}")));
        }
        match policy.mistake(&parts) {
            Some(message) => Err(Refusal::new(parts.first().copied(), message)),
            None => Ok(place),
        }
    }

    fn part(&self, place: usize, row: &Row) -> Part {
        let parts = self.policies.get(place).and_then(|policy| policy.parts(row.rule.as_deref()).ok());
        parts.and_then(|parts| parts.first().map(|part| Part::clone(part))).unwrap_or_default()
    }

    fn no_policy(&self, name: &str) -> String {
        let names = || self.policies.iter().map(|policy| policy.name.as_str());
        let short = name.rsplit_once('/').map_or(name, |(_, short)| short);
        match nearest_word(short, names()) {
            Some(near) if near != short => format!("there is no policy `{name}`; did you mean `{near}`?"),
            Some(_) => {
                let known = self.policies.iter().find(|policy| policy.name == short);
                let namespace = known.map_or("", |policy| policy.namespace.as_str());
                match namespace {
                    "" => format!("there is no policy `{name}`; `{short}` is about the whole cluster"),
                    namespace => format!("there is no policy `{name}`; did you mean `{namespace}/{short}`?"),
                }
            }
            None => {
                let names: Vec<String> = names().map(|name| format!("`{name}`")).collect();
                match names.as_slice() {
                    [] => format!("there is no policy `{name}`; the test has none"),
                    names => format!("there is no policy `{name}`; the policies are {}", names.join(", ")),
                }
            }
        }
    }

    /// Returns the results of a row that cannot be judged.
    fn refused(&self, row: &Row, part: &Part, message: &str) -> Vec<CaseResult> {
        let nothing = [Wanted::default()];
        let wanted = if row.resources.is_empty() { nothing.as_slice() } else { &row.resources };
        let refuse = |wanted: &Wanted| {
            let result = failed(row, part, wanted, message);
            let result = CaseResult { is_unsupported: part.unsupported.is_some(), ..result };
            match self.objects.find(wanted, row.kind.as_deref()).ok().and_then(|found| found.first().copied())
            {
                Some(object) => about(result, object),
                None => result,
            }
        };
        wanted.iter().map(refuse).collect()
    }

    /// Judges a row that names no resource: by all objects that its rules say something about.
    fn all(&mut self, row: &Row, place: usize, part: &Part) -> Vec<CaseResult> {
        let is_meant = |object: &&Object<'_>| {
            object.payload.is_some() || row.kind.as_deref().is_none_or(|kind| object.kind() == kind)
        };
        let objects: Vec<&Object<'a>> = self.objects.judged.iter().filter(is_meant).collect();
        let mut results = Vec::new();
        for object in objects {
            if !self.outcomes(row, place, object).is_empty() {
                results.push(self.judge(row, place, part, &[object]));
            }
        }
        if results.is_empty() {
            let message = "the policy says nothing about any resource of the test";
            let result = failed(row, part, &Wanted::default(), message);
            let is_ok = row.result == RuleStatus::Skip.name();
            results.push(CaseResult { actual: RuleStatus::Skip.to_string(), is_ok, ..result });
        }
        results
    }

    fn judge(&mut self, row: &Row, place: usize, part: &Part, objects: &[&Object<'a>]) -> CaseResult {
        let mut said: Vec<(Said, &Object<'a>)> = Vec::new();
        for object in objects {
            let outcomes = self.outcomes(row, place, object);
            said.extend(outcomes.into_iter().map(|outcome| (outcome, *object)));
        }
        if said.is_empty()
            && let Some(object) = objects.first()
        {
            said.push((self.silence(row, place, object), object));
        }
        let wrong = said.iter().filter(|(said, _)| said.status.name() != row.result);
        let wrong = wrong.max_by_key(|(said, _)| badness(said.status));
        let is_ok = wrong.is_none();
        let Some((said, object)) = wrong.or(said.first()) else {
            return failed(row, part, &Wanted::default(), "there is nothing to judge");
        };
        let mut message = String::new();
        if !is_ok {
            message = format!("expected {}, got {}", row.result, said.status);
            if !said.message.is_empty() {
                message.push_str(&format!(": {}", said.message));
            }
        }
        let mut result = failed(row, part, &Wanted::default(), &message);
        if let (Some(rule), Some(name)) = (&said.rule, &mut result.rule) {
            name.traced = rule.short();
        }
        let result = CaseResult {
            actual: said.status.to_string(),
            is_ok,
            operation: Some(said.operation),
            place: said.place.clone(),
            ..result
        };
        CaseResult { place: said.place.clone(), ..about(result, object) }
    }

    /// Returns what the rules that a row is about said about `object`.
    fn outcomes(&mut self, row: &Row, place: usize, object: &Object<'a>) -> Vec<Said> {
        let Some(policy) = self.policies.get(place).filter(|policy| policy.judges(object.payload)) else {
            return Vec::new();
        };
        let request = self.request(row, policy, object);
        let key = (place, std::ptr::from_ref(object) as usize, request.operation);
        let decision = match self.decisions.get(&key) {
            Some(decision) => Rc::clone(decision),
            None => {
                let decision =
                    Rc::new(policy.engine.decide(&request, self.world, &DecisionSettings::default()));
                self.decisions.insert(key, Rc::clone(&decision));
                decision
            }
        };
        let of_row = |outcome: &&RuleOutcome| policy.is_meant(row.rule.as_deref(), &outcome.rule);
        let outcomes: Vec<&RuleOutcome> = decision.outcomes.iter().filter(of_row).collect();
        if self.has_coverage {
            let settings = DecisionSettings { is_traced: true, ..DecisionSettings::default() };
            let traced = policy.engine.decide(&request, self.world, &settings);
            self.exercised.rules.extend(outcomes.iter().map(|outcome| outcome.rule.clone()));
            self.exercised.looked_at(traced.outcomes.iter().filter(of_row));
        }
        let said = |outcome: &&RuleOutcome| {
            let location = object.document.locate(&outcome.path);
            Said {
                status: outcome.status,
                message: outcome.message.to_string(),
                rule: Some(RuleId::clone(&outcome.rule)),
                place: spot(&location, &path_text(&outcome.path)),
                operation: request.operation,
            }
        };
        match policy.is_one_rule() {
            // Whatever it is split into, it is judged as a whole.
            true => outcomes.iter().map(said).max_by_key(|said| badness(said.status)).into_iter().collect(),
            false => outcomes.iter().map(said).collect(),
        }
    }

    /// Says why the rules that a row is about say nothing about `object`.
    fn silence(&self, row: &Row, place: usize, object: &Object<'a>) -> Said {
        let mut reason = String::new();
        let mut operation = Operation::Create;
        if let Some(policy) = self.policies.get(place) {
            let request = self.request(row, policy, object);
            operation = request.operation;
            let settings = DecisionSettings { is_traced: true, ..DecisionSettings::default() };
            let traced = policy.engine.decide(&request, self.world, &settings);
            let is_meant = |rule: &RuleId| policy.is_meant(row.rule.as_deref(), rule);
            let of_row = traced.outcomes.iter().find(|outcome| is_meant(&outcome.rule));
            let rule = policy.engine.rules().iter().find(|rule| is_meant(&rule.id));
            reason = match (of_row, rule) {
                (Some(outcome), _) => match outcome.trace.as_deref().map(missed) {
                    Some(missed) if !missed.is_empty() => {
                        format!("{} ({})", outcome.message, missed.join("; "))
                    }
                    _ => outcome.message.to_string(),
                },
                (None, Some(rule)) => rules::outside(rule, &request),
                (None, None) => "it has no rules".to_owned(),
            };
        }
        Said {
            status: RuleStatus::Skip,
            message: format!("the rule does not match: {reason}"),
            rule: None,
            place: spot(&object.document.locate(&[]), ""),
            operation,
        }
    }

    fn request(&self, row: &Row, policy: &Policy, object: &Object<'a>) -> AdmissionRequest {
        object.asked(row.operation, &policy.name, self.world, self.user)
    }
}

/// Returns what was not as wanted, each with what it belongs to.
fn missed(trace: &TraceNode) -> Vec<String> {
    let mut missed = Vec::new();
    let wrong = |node: &TraceNode| matches!(node.verdict, TraceVerdict::No | TraceVerdict::Error);
    for group in trace.children.iter().filter(|node| wrong(node)).flat_map(|node| &node.children) {
        let leaf = group.children.iter().find(|node| wrong(node) && node.children.is_empty());
        if let Some(leaf) = leaf.filter(|_| wrong(group)) {
            let found = if leaf.found.is_empty() { String::new() } else { format!(", found {}", leaf.found) };
            missed.push(format!("{}: {}{found}", group.what, leaf.what));
        }
    }
    missed
}

/// Returns which of two wrong outcomes is told.
fn badness(status: RuleStatus) -> u8 {
    match status {
        RuleStatus::Error => 4,
        RuleStatus::Fail => 3,
        RuleStatus::Warn => 2,
        RuleStatus::Pass => 1,
        RuleStatus::Skip => 0,
    }
}

/// Returns a place as a person looks for it.
fn spot(location: &Location, path: &str) -> String {
    let place = format!("{}:{}", location.source.name, location.position.line);
    if path.is_empty() { place } else { format!("{place}  {path}") }
}

/// Returns the result of a row that fails with `message`.
fn failed(row: &Row, part: &Part, wanted: &Wanted, message: &str) -> CaseResult {
    let rule_text = match &row.rule {
        Some(rule) => format!("{}/{rule}", row.policy),
        None => row.policy.clone(),
    };
    let case =
        if wanted.text.is_empty() { rule_text.clone() } else { format!("{rule_text} on {}", wanted.text) };
    let rule = CaseRule {
        dialect: part.dialect,
        policy: row.policy.as_str().into(),
        rule: row.rule.as_deref().map(Into::into),
        sort: Some(part.sort.clone()).filter(|sort| !sort.is_empty()),
        method: part.method,
        traced: rule_text.clone(),
    };
    CaseResult {
        case,
        rule_text,
        rule: Some(rule),
        kind: wanted.kind.as_deref().or(row.kind.as_deref()).unwrap_or_default().into(),
        namespace: wanted.namespace.as_deref().unwrap_or_default().into(),
        resource: wanted.name.as_str().into(),
        expected: row.result.clone(),
        place: row.location.to_string(),
        message: message.to_owned(),
        ..CaseResult::default()
    }
}

/// Returns `result`, about `object`.
fn about(result: CaseResult, object: &Object<'_>) -> CaseResult {
    let case = format!("{} on {}", result.rule_text, object.request.name);
    CaseResult {
        case,
        kind: object.kind().into(),
        namespace: object.request.namespace.clone(),
        resource: object.request.name.clone(),
        ..result
    }
}
