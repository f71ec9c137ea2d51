//! Compares converted policies with their source, on the tests of the source.
//!
//! A test of a policy is a `kyverno-test.yaml` that names the policy's file, in the folder of the policy or of those it
//! was given with, or below. Both are evaluated on every object of the test. A rule without an outcome and one that
//! skips the object count as the same, because a CEL policy can only skip.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kubewright_convert::ConvertedPolicy;
use kubewright_dialects::DialectOptions;
use kubewright_engine::{DecisionSettings, Dialect, World as _};
use kubewright_files::workers;
use kubewright_files::{self as files, Input};
use kubewright_k8s::AdmissionRequest;
use kubewright_value::{Document, Text};

use super::ConvertedDocument;
use super::pair::ConversionPair;
use crate::commands::test::{CaseSetup, FileCache, RowCases, is_kyverno_test, with_cases};

/// The result of comparing a converted policy with its source on the tests.
#[derive(Debug, Default, Clone)]
pub(in crate::commands) struct ConversionProof {
    /// Converted documents that differ, by index, with the difference.
    pub(in crate::commands) differences: Vec<(usize, String)>,
    /// Converted documents that were evaluated on an object that the source judges, by index.
    proven: Vec<usize>,
    /// Whether documents without tests are left out.
    requires_tests: bool,
}

impl ConversionProof {
    /// Returns whether the document at `place` is left out.
    pub(in crate::commands) fn is_refused(&self, place: usize) -> bool {
        self.differs(place) || (self.requires_tests && !self.is_proven(place))
    }

    /// Returns whether tests have compared the document at `place` with its source and found no difference.
    pub(in crate::commands) fn is_proven(&self, place: usize) -> bool {
        self.proven.contains(&place) && !self.differs(place)
    }

    /// Returns on how many requests of tests the document at `place` was compared with its source.
    #[cfg(feature = "serve")]
    pub(in crate::commands) fn tests(&self, place: usize) -> usize {
        self.proven.iter().filter(|proven| **proven == place).count()
    }

    fn differs(&self, place: usize) -> bool {
        self.differences.iter().any(|(differing, _)| *differing == place)
    }
}

/// A policy as tests name it: its file, and its name.
type PolicyKey = (PathBuf, Text);

/// The comparison of one policy on one test.
struct ProofFinding {
    policy: usize,
    differences: Vec<(usize, String)>,
    proven: Vec<usize>,
}

/// Compares all of `converted` with their sources on the tests below `roots`.
pub(in crate::commands) fn prove_on_tests(
    converted: &mut [ConvertedDocument],
    roots: &[String],
    requires_tests: bool,
    options: &DialectOptions,
) -> io::Result<()> {
    let mut known: HashMap<PolicyKey, usize> = HashMap::new();
    for (place, one) in converted.iter().enumerate().filter(|(_, one)| !one.conversion.written.is_empty()) {
        known.insert(policy_key(&one.document), place);
    }
    // A folder without tests is not an error.
    let tests = files::find_tests(roots, Some("kyverno-test.yaml")).inputs;
    let options = DialectOptions { exceptions: Vec::new(), ..options.clone() };
    let prover = ConversionProver {
        converted,
        known,
        library: FileCache::default(),
        dialects: kubewright_dialects::all_dialects(&options),
        options,
    };
    let findings = workers::run_on_workers(&tests, |test| prover.test(test))?;
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

fn policy_key(document: &Document) -> PolicyKey {
    let path = Path::new(document.source.name.as_str());
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let text = |key| document.value.str_at(&["metadata", key]);
    (path, format!("{}/{}", text("namespace"), text("name")).into())
}

struct ConversionProver<'p> {
    converted: &'p [ConvertedDocument],
    known: HashMap<PolicyKey, usize>,
    library: FileCache,
    options: DialectOptions,
    dialects: Vec<Box<dyn Dialect>>,
}

impl ConversionProver<'_> {
    /// Runs the tests of one file.
    fn test(&self, input: &Input) -> Vec<ProofFinding> {
        let folder = match input {
            Input::File(path) => path.parent().map(Path::to_owned).unwrap_or_default(),
            _ => PathBuf::new(),
        };
        let setup = CaseSetup {
            folder: &folder,
            library: &self.library,
            options: &self.options,
            dialects: &self.dialects,
            has_places: false,
            has_coverage: false,
        };
        let documents = files::read_documents(std::slice::from_ref(input), &mut Vec::new());
        let mut findings = Vec::new();
        for document in documents.iter().filter(|document| is_kyverno_test(document)) {
            let is_wanted = |policy: &Document| self.known.contains_key(&policy_key(policy));
            let found = with_cases(document, &setup, is_wanted, |cases| {
                cases.policies.iter().filter_map(|policy| self.compare(policy, cases, input)).collect()
            });
            findings.extend::<Vec<ProofFinding>>(found.unwrap_or_default());
        }
        findings
    }

    /// Compares a policy with its conversion on the requests of a test.
    fn compare(&self, policy: &Document, cases: &RowCases<'_>, test: &Input) -> Option<ProofFinding> {
        let place = *self.known.get(&policy_key(policy))?;
        let one = self.converted.get(place)?;
        let pair = |(written, text): (&ConvertedPolicy, &String)| {
            ConversionPair::new(&self.dialects, policy, written, text)
        };
        let pairs: Vec<ConversionPair> = one.conversion.written.iter().zip(&one.texts).map(pair).collect();
        let name = policy.value.str_at(&["metadata", "name"]).into();
        // Values that override those of the object are visible to the source only.
        let is_given = |request: &AdmissionRequest| {
            let mut rules = pairs.iter().flat_map(ConversionPair::source_rules);
            rules.any(|rule| !cases.world.overrides(&rule.id, request).is_empty())
        };
        // What was made of the policy reads the object before an update like any other field, so for both of them it is
        // known: an update that changes nothing.
        let known = |request| AdmissionRequest { is_old_object_assumed: false, ..request };
        let requests = cases.requests(&name).into_iter().filter(|request| !is_given(request));
        let requests: Vec<AdmissionRequest> = requests.map(known).collect();
        let made = pairs.iter().enumerate();
        let mut finding = ProofFinding { policy: place, differences: Vec::new(), proven: Vec::new() };
        for (at, pair) in made {
            for request in &requests {
                let decision = pair.decide(request, cases.world, &DecisionSettings::default());
                let (before, after) = decision.verdicts();
                if !before.agrees(&after, request.operation) {
                    let difference = format!(
                        "differs from the source on {}: {} {}: {}",
                        test.name(),
                        request.operation,
                        request.subject(),
                        before.difference(&after),
                    );
                    finding.differences.push((at, difference));
                    break;
                }
                if before.is_judgement() {
                    finding.proven.push(at);
                }
            }
        }
        Some(finding)
    }
}
