//! Compares what was written with its source, on the tests of the source.
//!
//! A test of a policy is a `kyverno-test.yaml` that names the policy's file, in the folder of the policy or of those it
//! was given with, or below. Both are asked about every object of the test. A rule that says nothing about an
//! object and one that skips it are the same: a condition of a policy in CEL knows no other way to be silent.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubewright_dialects::DialectOptions;
use kubewright_engine::{Decision, DecisionSettings, Dialect, Engine, RuleOutcome, RuleStatus, World as _};
use kubewright_files::workers;
use kubewright_files::{self as files, Input};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::{Document, Text};

use super::Converted;
use crate::commands::test::{CaseSetup, Cases, Library, is_meant, with_cases};
use crate::fixtures::is_rule;

/// What the tests of a policy say about what was made of it.
#[derive(Debug, Default, Clone)]
pub(super) struct Proof {
    /// What was written and differs, by its place, with what it differs in.
    pub(super) differences: Vec<(usize, String)>,
    /// What was written and was asked about an object that the source judges, by its place.
    proven: Vec<usize>,
    /// Whether what has no tests is not given out.
    requires_tests: bool,
}

impl Proof {
    /// Returns whether what stands at `place` is not given out.
    pub(super) fn is_refused(&self, place: usize) -> bool {
        self.differs(place) || (self.requires_tests && !self.is_proven(place))
    }

    /// Returns whether tests have compared what stands at `place` with its source and found no difference.
    pub(super) fn is_proven(&self, place: usize) -> bool {
        self.proven.contains(&place) && !self.differs(place)
    }

    fn differs(&self, place: usize) -> bool {
        self.differences.iter().any(|(differing, _)| *differing == place)
    }
}

/// A policy as tests name it: its file, and its name.
type Key = (PathBuf, Text);

/// What a test says about one policy.
struct Finding {
    policy: usize,
    differences: Vec<(usize, String)>,
    proven: Vec<usize>,
}

/// Compares all of `converted` with their sources on the tests below `roots`.
pub(super) fn prove(
    converted: &mut [Converted],
    roots: &[String],
    requires_tests: bool,
    options: &DialectOptions,
) -> io::Result<()> {
    let mut known: HashMap<Key, usize> = HashMap::new();
    for (place, one) in converted.iter().enumerate().filter(|(_, one)| !one.conversion.written.is_empty()) {
        known.insert(key(&one.document), place);
    }
    // A folder without tests is no mistake.
    let tests = files::find_tests(roots, Some("kyverno-test.yaml")).inputs;
    let options = DialectOptions { exceptions: Vec::new(), ..options.clone() };
    let prover = Prover {
        converted,
        known,
        library: Library::default(),
        dialects: kubewright_dialects::all_dialects(&options),
        options,
    };
    let findings = workers::each(&tests, |test| prover.test(test))?;
    for one in converted.iter_mut() {
        one.proof.requires_tests = requires_tests;
    }
    for finding in findings.into_iter().flatten() {
        if let Some(one) = converted.get_mut(finding.policy) {
            one.proof.differences.extend(finding.differences);
            one.proof.proven.extend(finding.proven);
        }
    }
    Ok(())
}

fn key(document: &Document) -> Key {
    let path = Path::new(document.source.name.as_str());
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let text = |key| document.value.str_at(&["metadata", key]);
    (path, format!("{}/{}", text("namespace"), text("name")).into())
}

struct Prover<'p> {
    converted: &'p [Converted],
    known: HashMap<Key, usize>,
    library: Library,
    options: DialectOptions,
    dialects: Vec<Box<dyn Dialect>>,
}

impl Prover<'_> {
    /// Runs the tests of one file.
    fn test(&self, input: &Input) -> Vec<Finding> {
        let folder = match input {
            Input::File(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
            Input::Standard => PathBuf::new(),
        };
        let setup = CaseSetup {
            folder: &folder,
            library: &self.library,
            options: &self.options,
            dialects: &self.dialects,
            has_coverage: false,
        };
        let documents = files::read_documents(std::slice::from_ref(input), &mut Vec::new());
        let mut findings = Vec::new();
        for document in documents.iter().filter(|document| is_meant(document)) {
            let is_wanted = |policy: &Document| self.known.contains_key(&key(policy));
            let found = with_cases(document, &setup, is_wanted, |cases| {
                cases.policies.iter().filter_map(|policy| self.compare(policy, cases, input)).collect()
            });
            findings.extend::<Vec<Finding>>(found.unwrap_or_default());
        }
        findings
    }

    /// Compares a policy with what was made of it, on what a test asks.
    fn compare(&self, policy: &Document, cases: &Cases<'_>, test: &Input) -> Option<Finding> {
        let place = *self.known.get(&key(policy))?;
        let one = self.converted.get(place)?;
        let source = self.engine(std::slice::from_ref(policy));
        let name = policy.value.str_at(&["metadata", "name"]).into();
        // Values that are given in place of the object's own are given to the source alone.
        let is_given = |request: &AdmissionRequest| {
            source.rules().iter().any(|rule| !cases.world.overrides(&rule.id, request).is_empty())
        };
        // What was made of the policy reads the object before an update like any other field, so for both of them it is
        // known: an update that changes nothing.
        let known = |request| AdmissionRequest { is_old_object_assumed: false, ..request };
        let requests = cases.requests(&name).into_iter().filter(|request| !is_given(request));
        let requests: Vec<AdmissionRequest> = requests.map(known).collect();
        let made = one.conversion.written.iter().zip(&one.texts).enumerate();
        let mut finding = Finding { policy: place, differences: Vec::new(), proven: Vec::new() };
        for (at, (written, text)) in made {
            let engine = self.read_back(text);
            let is_meant = |rule: &Text, name: &Text| match written.covers_controllers {
                true => is_rule(rule, name),
                false => rule == name,
            };
            let is_about =
                |outcome: &&RuleOutcome| written.rules.iter().any(|name| is_meant(&outcome.rule.rule, name));
            for request in &requests {
                let before = source.decide(request, cases.world, &DecisionSettings::default());
                let before = Said::of(&before, is_about);
                let after =
                    Said::of(&engine.decide(request, cases.world, &DecisionSettings::default()), |_| true);
                // What was as bad before is skipped there and let through here.
                let is_forgiven = request.operation == Operation::Update
                    && before.status == Some(RuleStatus::Skip)
                    && after.status == Some(RuleStatus::Pass);
                if !is_forgiven && !before.is_same(&after) {
                    let difference = format!(
                        "differs from the source on {}: {} {}: the source says {}, the converted one {}",
                        test.name(),
                        request.operation,
                        request.subject(),
                        before.text(),
                        after.text(),
                    );
                    finding.differences.push((at, difference));
                    break;
                }
                if before.status.is_some_and(|status| status != RuleStatus::Skip) {
                    finding.proven.push(at);
                }
            }
        }
        Some(finding)
    }

    fn engine(&self, documents: &[Document]) -> Engine {
        Engine::new(kubewright_dialects::load_documents(&self.dialects, documents).rules)
    }

    /// Returns the engine of what was written, as somebody would load it.
    fn read_back(&self, text: &str) -> Engine {
        self.engine(&files::parse_documents("converted", text))
    }
}

/// What rules say about an object together.
#[derive(Debug, Clone)]
struct Said {
    /// The worst of it.
    status: Option<RuleStatus>,
    is_refusal: bool,
    message: Text,
}

impl Said {
    fn of(decision: &Decision, is_about: impl Fn(&&RuleOutcome) -> bool) -> Self {
        let rank = |status: RuleStatus| match status {
            RuleStatus::Skip => 0,
            RuleStatus::Pass => 1,
            RuleStatus::Warn => 2,
            RuleStatus::Error => 3,
            RuleStatus::Fail => 4,
        };
        let about: Vec<&RuleOutcome> = decision.outcomes.iter().filter(is_about).collect();
        let worst = about.iter().max_by_key(|outcome| rank(outcome.status));
        Self {
            status: worst.map(|outcome| outcome.status),
            is_refusal: about.iter().any(|outcome| outcome.is_refusal),
            message: worst.map(|outcome| outcome.message.clone()).unwrap_or_default(),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        // A violation that does not count is a warning.
        let plain = |status: Option<RuleStatus>| match status {
            None => RuleStatus::Skip,
            Some(RuleStatus::Warn) => RuleStatus::Fail,
            Some(status) => status,
        };
        match (plain(self.status), plain(other.status)) {
            // A variable that leads nowhere is an error there and a violation here.
            (RuleStatus::Fail | RuleStatus::Error, RuleStatus::Fail) => self.is_refusal == other.is_refusal,
            (one, other) => one == other,
        }
    }

    fn text(&self) -> String {
        let status = self.status.map_or("nothing", RuleStatus::name);
        let refusal = if self.is_refusal { " and refuses it" } else { "" };
        match (self.status, self.message.as_str()) {
            (Some(RuleStatus::Error), message) if !message.is_empty() => format!("{status} ({message})"),
            _ => format!("{status}{refusal}"),
        }
    }
}
