//! Compares the expectation of a row with the outcomes of its policy.
//!
//! A row holds if every selected outcome is the expected one. A rule without an outcome for an object, because it does not
//! match or has nothing to check, counts as `skip`; a row about something that does not exist fails.

use std::sync::Arc;

use kubewright_engine::{
    ObjectWrite, RuleId, RuleOutcome, RuleStatus, TraceNode, TraceVerdict, WriteVerb, nearest_word,
};
use kubewright_k8s::Operation;
use kubewright_report::{CaseRule, TestCaseResult, path_text};
use kubewright_value::{Document, Step, Text, Value};

use super::super::coverage::ExercisedRules;
use super::CaseSetup;
use super::chain::DecisionChain;
use super::comparison::ExpectedObjects;
use super::file::{ResultRow, WantedResource};
use super::objects::{TestObject, TestObjects};
use super::policies::{TestPolicy, TestPolicyRule};
use crate::rules;

/// A loaded test.
pub(super) struct KyvernoTestRun<'a> {
    pub(super) policies: &'a [TestPolicy],
    pub(super) objects: &'a TestObjects<'a>,
    chain: DecisionChain<'a>,
    /// The test file.
    document: &'a Document,
    /// Whether the places of rows that hold are shown.
    has_places: bool,
    pub(super) has_coverage: bool,
    pub(super) exercised: ExercisedRules,
}

/// The outcome of a rule for an object, or why there is none.
struct RuleVerdict {
    status: RuleStatus,
    message: Text,
    rule: Option<Arc<RuleId>>,
    /// The part of the object that it is about.
    path: Vec<Step>,
    operation: Operation,
}

/// What a rule does to another object than the one it is evaluated for.
struct TargetOutcome {
    object: Value,
    status: RuleStatus,
    operation: Operation,
}

/// Why a row cannot be evaluated.
struct RowRefusal {
    /// What is known of the rule.
    part: TestPolicyRule,
    message: String,
}

impl RowRefusal {
    fn new(part: Option<&TestPolicyRule>, message: String) -> Box<Self> {
        Box::new(Self { part: part.cloned().unwrap_or_default(), message })
    }
}

impl<'a> KyvernoTestRun<'a> {
    pub(super) fn new(
        policies: &'a [TestPolicy],
        objects: &'a TestObjects<'a>,
        chain: DecisionChain<'a>,
        document: &'a Document,
        setup: &CaseSetup<'_>,
    ) -> Self {
        let CaseSetup { has_places, has_coverage, .. } = *setup;
        let exercised = ExercisedRules::default();
        Self { policies, objects, chain, document, has_places, has_coverage, exercised }
    }

    /// Runs one row, which may expect objects; returns a result for each of its resources.
    pub(super) fn run(&mut self, row: &ResultRow, expected: Option<&ExpectedObjects>) -> Vec<TestCaseResult> {
        let place = match self.meant(row) {
            Ok(place) => place,
            Err(refusal) => return self.refused(row, &refusal.part, &refusal.message),
        };
        let part = self.part(place, row);
        if row.resources.is_empty() {
            return self.all(row, place, &part, expected);
        }
        let mut results = Vec::new();
        for wanted in &row.resources {
            results.push(match self.objects.find(wanted, row.kind.as_deref()) {
                Ok(objects) => self.judge(row, (place, &part), &objects, expected),
                Err(message) => match self.target(row, place, wanted) {
                    Some(target) => self.target_result(row, &part, wanted, &target, expected),
                    None => self.failed_row(row, &part, wanted, message),
                },
            });
        }
        results
    }

    /// Returns what the policy does to an object that is not evaluated itself, because of one that is.
    fn target(&mut self, row: &ResultRow, place: usize, wanted: &WantedResource) -> Option<TargetOutcome> {
        let policy = self.policies.get(place)?;
        let kind = wanted.kind.as_deref().or(row.kind.as_deref());
        let is_wanted = |object: &Value| {
            let text = |path: &[&str]| object.str_at(path).to_owned();
            text(&["metadata", "name"]) == wanted.name
                && wanted.namespace.as_ref().is_none_or(|name| text(&["metadata", "namespace"]) == *name)
                && kind.is_none_or(|kind| text(&["kind"]) == kind)
        };
        let objects = self.objects;
        for object in objects.judged.iter().filter(|object| policy.judges(object.payload)) {
            for (operation, decision) in self.chain.decide(row, place, object) {
                let of_row =
                    decision.outcomes.iter().filter(|one| policy.is_meant(row.rule.as_deref(), &one.rule));
                for outcome in of_row {
                    if let Some(write) = outcome.writes.iter().find(|write| is_wanted(&write.object)) {
                        let (object, status) = (write.object.clone(), outcome.status);
                        return Some(TargetOutcome { object, status, operation });
                    }
                }
            }
        }
        None
    }

    /// Returns the index of the policy that a row selects.
    ///
    /// # Errors
    /// When it or its rule does not exist or cannot run, with what is known of the rule.
    fn meant(&self, row: &ResultRow) -> Result<usize, Box<RowRefusal>> {
        let policies = || self.policies.iter().enumerate();
        let mut called = policies().filter(|(_, policy)| policy.is_called(&row.policy));
        let first = called.clone().next();
        // Several may have one name.
        let (place, policy) = called
            .find(|(_, policy)| policy.fits(row.policy_kind, row.rule.as_deref()))
            .or(first)
            .ok_or_else(|| RowRefusal::new(None, self.no_policy(&row.policy)))?;
        let parts = policy.parts(row.rule.as_deref()).map_err(|message| RowRefusal::new(None, message))?;
        if let Some(part) = parts.iter().find(|part| part.unsupported.is_some()) {
            let what = part.unsupported.as_deref().unwrap_or_default();
            return Err(RowRefusal::new(Some(part), format!("not supported yet: {what}")));
        }
        match policy.mistake(&parts) {
            Some(message) => Err(RowRefusal::new(parts.first().copied(), message)),
            None => Ok(place),
        }
    }

    fn part(&self, place: usize, row: &ResultRow) -> TestPolicyRule {
        let parts = self.policies.get(place).and_then(|policy| policy.parts(row.rule.as_deref()).ok());
        parts.and_then(|parts| parts.first().map(|part| TestPolicyRule::clone(part))).unwrap_or_default()
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

    /// Returns the results of a row that cannot be evaluated.
    fn refused(&self, row: &ResultRow, part: &TestPolicyRule, message: &str) -> Vec<TestCaseResult> {
        let nothing = [WantedResource::default()];
        let wanted = if row.resources.is_empty() { nothing.as_slice() } else { &row.resources };
        let refuse = |wanted: &WantedResource| {
            let result = self.failed_row(row, part, wanted, message.to_owned());
            let result = TestCaseResult { is_unsupported: part.unsupported.is_some(), ..result };
            match self.objects.find(wanted, row.kind.as_deref()).ok().and_then(|found| found.first().copied())
            {
                Some(object) => result_about_object(result, object),
                None => result,
            }
        };
        wanted.iter().map(refuse).collect()
    }

    /// Evaluates a row without resources: on all objects for which its rules have an outcome.
    fn all(
        &mut self,
        row: &ResultRow,
        place: usize,
        part: &TestPolicyRule,
        expected: Option<&ExpectedObjects>,
    ) -> Vec<TestCaseResult> {
        let is_meant = |object: &&TestObject<'_>| {
            object.payload.is_some() || row.kind.as_deref().is_none_or(|kind| object.kind() == kind)
        };
        let objects: Vec<&TestObject<'a>> = self.objects.judged.iter().filter(is_meant).collect();
        let mut results = Vec::new();
        for object in objects {
            if !self.outcomes(row, place, object).is_empty() {
                results.push(self.judge(row, (place, part), &[object], expected));
            }
        }
        if results.is_empty() {
            let message = "the policy matches no resource of the test".to_owned();
            let result = self.failed_row(row, part, &WantedResource::default(), message);
            let is_ok = row.result == RuleStatus::Skip.name();
            results.push(TestCaseResult { actual: RuleStatus::Skip.to_string(), is_ok, ..result });
        }
        results
    }

    fn judge(
        &mut self,
        row: &ResultRow,
        (place, part): (usize, &TestPolicyRule),
        objects: &[&TestObject<'a>],
        expected: Option<&ExpectedObjects>,
    ) -> TestCaseResult {
        let mut said: Vec<(RuleVerdict, &TestObject<'a>)> = Vec::new();
        let mut mismatch = None;
        for object in objects {
            let outcomes = self.outcomes(row, place, object);
            if let Some(expected) = expected.filter(|_| !outcomes.is_empty()) {
                mismatch = mismatch.or(self.mismatch(row, place, object, expected));
            }
            said.extend(outcomes.into_iter().map(|outcome| (outcome, *object)));
        }
        if said.is_empty()
            && let Some(object) = objects.first()
        {
            said.push((self.silence(row, place, object), object));
        }
        let wrong = said.iter().filter(|(said, _)| said.status.name() != row.result);
        let wrong = wrong.max_by_key(|(said, _)| status_rank(said.status));
        let is_ok = wrong.is_none() && mismatch.is_none();
        if !is_ok && self.chain.begin_to_place() {
            return self.judge(row, (place, part), objects, expected);
        }
        let is_expected_status = wrong.is_none();
        let Some((said, object)) = wrong.or(said.first()) else {
            let message = "there are no resources to evaluate".to_owned();
            return self.failed_row(row, part, &WantedResource::default(), message);
        };
        let mut message = mismatch.unwrap_or_default();
        if !is_expected_status {
            message = format!("expected {}, got {}", row.result, said.status);
            if !said.message.is_empty() {
                message.push_str(&format!(": {}", said.message));
            }
        }
        let traced = said.rule.as_ref().map(|rule| rule.short());
        let result = TestCaseResult {
            actual: said.status.name().to_owned(),
            is_ok,
            operation: Some(said.operation),
            place: if is_ok && !self.has_places { String::new() } else { said.place(object) },
            ..row_result(row, part, traced, message)
        };
        result_about_object(result, object)
    }

    /// Returns the combined outcome of the selected rules for `object`.
    fn outcomes(&mut self, row: &ResultRow, place: usize, object: &TestObject<'a>) -> Vec<RuleVerdict> {
        let Some(policy) = self.policies.get(place).filter(|policy| policy.judges(object.payload)) else {
            return Vec::new();
        };
        let decisions = self.chain.decide(row, place, object);
        let of_row = |outcome: &&RuleOutcome| policy.is_meant(row.rule.as_deref(), &outcome.rule);
        if self.has_coverage {
            for (_, traced) in self.chain.traced(row, place, object) {
                let outcomes = traced.outcomes.iter().filter(of_row);
                self.exercised.rules.extend(
                    outcomes.clone().filter(|outcome| outcome.is_judged).map(|outcome| outcome.rule.clone()),
                );
                self.exercised.looked_at(outcomes);
            }
        }
        let mut outcomes = Vec::new();
        for (operation, decision) in &decisions {
            outcomes.extend(decision.outcomes.iter().filter(of_row).map(|outcome| (outcome, *operation)));
        }
        let said = |(outcome, operation): &(&RuleOutcome, Operation)| RuleVerdict {
            status: outcome.status,
            message: outcome.message.clone(),
            rule: Some(Arc::clone(&outcome.rule)),
            path: outcome.path.clone(),
            operation: *operation,
        };
        match policy.is_one_rule() {
            // A single-rule policy may be compiled to several rules, but has one result.
            true => {
                outcomes.iter().map(said).max_by_key(|said| status_rank(said.status)).into_iter().collect()
            }
            false => outcomes.iter().map(said).collect(),
        }
    }

    /// Returns why the selected rules have no outcome for `object`.
    fn silence(&mut self, row: &ResultRow, place: usize, object: &TestObject<'a>) -> RuleVerdict {
        let mut reason = String::new();
        let mut operation = Operation::Create;
        if let Some(policy) = self.policies.get(place) {
            let request = self.chain.request(row, policy, object, None);
            operation = request.operation;
            // Nobody asks why where it is expected.
            let is_asked = row.result != RuleStatus::Skip.name();
            let traced = if is_asked { self.chain.traced(row, place, object) } else { Vec::new() };
            let is_meant = |rule: &RuleId| policy.is_meant(row.rule.as_deref(), rule);
            let mut outcomes = traced.iter().flat_map(|(_, decision)| &decision.outcomes);
            let of_row = outcomes.find(|outcome| is_meant(&outcome.rule));
            let rule = policy.engine.rules().iter().find(|rule| is_meant(&rule.id));
            reason = match (of_row, rule) {
                _ if !is_asked => String::new(),
                (Some(outcome), _) => match outcome.trace.as_deref().map(missed_checks) {
                    Some(missed) if !missed.is_empty() => {
                        format!("{} ({})", outcome.message, missed.join("; "))
                    }
                    _ => outcome.message.to_string(),
                },
                (None, Some(rule)) => rules::out_of_scope_reason(rule, &request),
                (None, None) => "it has no rules".to_owned(),
            };
        }
        RuleVerdict {
            status: RuleStatus::Skip,
            message: format!("the rule does not match: {reason}").into(),
            rule: None,
            path: Vec::new(),
            operation,
        }
    }

    /// Returns why what the rules made is not as the row expects: other objects that they write, or the object itself.
    fn mismatch(
        &mut self,
        row: &ResultRow,
        place: usize,
        object: &TestObject<'a>,
        expected: &ExpectedObjects,
    ) -> Option<String> {
        let policy = self.policies.get(place)?;
        let decisions = self.chain.decide(row, place, object);
        let outcomes = decisions.iter().flat_map(|(_, decision)| &decision.outcomes);
        let of_row = outcomes.filter(|outcome| policy.is_meant(row.rule.as_deref(), &outcome.rule));
        let writes: Vec<&ObjectWrite> = of_row.flat_map(|outcome| &outcome.writes).collect();
        let made = writes.iter().filter(|write| write.verb != WriteVerb::Delete);
        if let Some(mismatch) = made.map(|write| expected.mismatch(&write.object)).find(Option::is_some) {
            return mismatch;
        }
        match policy.changing.is_some() {
            true => expected.mismatch(&self.chain.changed_object(row, place, object)?),
            false => None,
        }
    }

    /// Returns the result of a row that fails with `message`.
    fn failed_row(
        &self,
        row: &ResultRow,
        part: &TestPolicyRule,
        wanted: &WantedResource,
        message: String,
    ) -> TestCaseResult {
        let result = row_result(row, part, None, message);
        let case = match wanted.text.as_str() {
            "" => result.rule_text.clone(),
            text => format!("{} on {text}", result.rule_text),
        };
        TestCaseResult {
            case,
            kind: wanted.kind.as_deref().or(row.kind.as_deref()).unwrap_or_default().into(),
            namespace: wanted.namespace.as_deref().unwrap_or_default().into(),
            resource: wanted.name.as_str().into(),
            place: self.document.locate(&row.path).to_string(),
            ..result
        }
    }

    /// Returns the result of a row about a target.
    fn target_result(
        &self,
        row: &ResultRow,
        part: &TestPolicyRule,
        wanted: &WantedResource,
        target: &TargetOutcome,
        expected: Option<&ExpectedObjects>,
    ) -> TestCaseResult {
        let mut message = expected.and_then(|expected| expected.mismatch(&target.object)).unwrap_or_default();
        if target.status.name() != row.result {
            message = format!("expected {}, got {}", row.result, target.status);
        }
        let is_ok = message.is_empty();
        let actual = target.status.to_string();
        let operation = Some(target.operation);
        TestCaseResult { actual, is_ok, operation, ..self.failed_row(row, part, wanted, message) }
    }
}

impl RuleVerdict {
    /// Returns `file:line` of the part of `object` that it is about, and the path.
    fn place(&self, object: &TestObject<'_>) -> String {
        let location = object.document.locate(&self.path);
        let place = format!("{}:{}", location.source.name, location.position.line);
        match path_text(&self.path) {
            path if path.is_empty() => place,
            path => format!("{place}  {path}"),
        }
    }
}

/// Returns the failed checks of a trace, each with its parent.
fn missed_checks(trace: &TraceNode) -> Vec<String> {
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

/// Ranks statuses; the highest is reported.
fn status_rank(status: RuleStatus) -> u8 {
    match status {
        RuleStatus::Error => 4,
        RuleStatus::Fail => 3,
        RuleStatus::Warn => 2,
        RuleStatus::Pass => 1,
        RuleStatus::Skip => 0,
    }
}

/// Returns the result of a row, with the rule that can be `traced` and with `message` where it fails. What it is about is left
/// out.
fn row_result(
    row: &ResultRow,
    part: &TestPolicyRule,
    traced: Option<String>,
    message: String,
) -> TestCaseResult {
    let rule_text = match &row.rule {
        Some(rule) => [&row.policy, "/", rule].concat(),
        None => row.policy.clone(),
    };
    let rule = CaseRule {
        dialect: part.dialect,
        policy: row.policy.as_str().into(),
        rule: row.rule.as_deref().map(Into::into),
        sort: Some(part.sort.clone()).filter(|sort| !sort.is_empty()),
        method: part.method,
        traced: traced.unwrap_or_else(|| rule_text.clone()),
        severity: part.severity.clone(),
        category: part.category.clone(),
    };
    let expected = row.result.clone();
    TestCaseResult { rule_text, rule: Some(rule), expected, message, ..TestCaseResult::default() }
}

/// Returns `result`, about `object`.
fn result_about_object(result: TestCaseResult, object: &TestObject<'_>) -> TestCaseResult {
    TestCaseResult {
        case: [&result.rule_text, " on ", object.request.name.as_str()].concat(),
        kind: object.kind().into(),
        namespace: object.request.namespace.clone(),
        resource: object.request.name.clone(),
        ..result
    }
}
