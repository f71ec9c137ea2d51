//! Compares the expectations of a case about a pattern with the findings.

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_graph::{Graph, Id};
use kubewright_patterns::{self as patterns, Evidence, Pattern, PatternFinding};
use kubewright_report::text::plural;
use kubewright_value::Text;

use super::file::{ExpectedEvidence, ExpectedFinding, ExpectedFindings, PatternCase};
use super::words::{case_object_name, evidence_text, expected_evidence_text, kind_object_name};

/// The maximum number of objects or findings in a message.
const MAX_LISTED_DIAGNOSTICS: usize = 6;

/// The maximum number of reassignments when findings are matched with expectations.
const MAX_MATCHING_MOVES: usize = 500;

/// A case and its result.
pub(super) struct JudgedPatternCase<'a> {
    pub(super) case: &'a PatternCase,
    /// `None` if the pattern could not be compiled.
    pub(super) pattern: Option<&'a Pattern>,
    /// Diagnostics of the pattern.
    pub(super) wrong: &'a [Diagnostic],
    pub(super) graph: &'a Graph,
    pub(super) found: &'a patterns::PatternFindings,
}

/// Returns the expectation of a case in a few words.
pub(super) fn expected_findings_text(case: &PatternCase) -> String {
    match &case.findings {
        Some(ExpectedFindings::Count(count)) => finding_count_text(*count),
        Some(ExpectedFindings::Each(each)) => finding_count_text(each.len()),
        None if case.diagnostics.as_ref().is_some_and(|codes| !codes.is_empty()) => "diagnostics".to_owned(),
        None => "discarded".to_owned(),
    }
}

/// Returns a number of findings as text.
pub(super) fn finding_count_text(count: usize) -> String {
    if count == 0 { "no findings".to_owned() } else { plural(count, "finding") }
}

/// Returns a diagnostic in one line: `KW-P012: what   where`.
pub(super) fn pattern_diagnostic_line(problem: &Diagnostic) -> String {
    format!("{}: {}   {}", problem.code.id, problem.message, problem.location)
}

impl JudgedPatternCase<'_> {
    /// Returns all differences from the expectations.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = self.diagnostics();
        let Some(pattern) = self.pattern else {
            let expects_some = match &self.case.findings {
                Some(ExpectedFindings::Count(count)) => *count > 0,
                Some(ExpectedFindings::Each(each)) => !each.is_empty(),
                None => !self.case.discarded.is_empty(),
            };
            if problems.is_empty() && expects_some {
                problems.push("the pattern is invalid, so nothing is found".to_owned());
            }
            return problems;
        };
        match &self.case.findings {
            Some(ExpectedFindings::Each(each)) => problems.extend(self.each(pattern, each)),
            Some(ExpectedFindings::Count(count)) if *count != self.found.findings.len() => {
                let found = finding_count_text(self.found.findings.len());
                problems.push(format!("expected {}, got {found}", finding_count_text(*count)));
                let some = self.found.findings.iter().take(MAX_LISTED_DIAGNOSTICS);
                problems.extend(some.map(|finding| format!("  {}", self.roles(finding))));
            }
            Some(ExpectedFindings::Count(_)) | None => {}
        }
        if let Some(truncated) = self.case.truncated.filter(|truncated| *truncated != self.found.truncated) {
            problems.push(match truncated {
                true => "expected truncated findings, got all of them".to_owned(),
                false => "expected all findings, got truncated ones".to_owned(),
            });
        }
        problems
            .extend(self.case.discarded.iter().filter_map(|(leader, phase)| self.discarded(leader, phase)));
        problems
    }

    /// Compares the diagnostics with the expected ones; an unexpected error fails the case.
    fn diagnostics(&self) -> Vec<String> {
        let all = || self.wrong.iter().chain(&self.found.diagnostics);
        let mut problems = Vec::new();
        let expected = self.case.diagnostics.as_deref().unwrap_or_default();
        for code in expected {
            if !all().any(|problem| problem.code.id == code) {
                let got: Vec<String> =
                    all().map(|problem| format!("\n  {}", pattern_diagnostic_line(problem))).collect();
                let got = if got.is_empty() { " nothing".to_owned() } else { got.concat() };
                problems.push(format!("expected {code}, got{got}"));
            }
        }
        let expects_none = self.case.diagnostics.as_ref().is_some_and(Vec::is_empty);
        for problem in all().filter(|problem| problem.is_error() || expects_none) {
            if !expected.iter().any(|code| code == problem.code.id) {
                problems.push(match problem.is_error() {
                    true => format!("the pattern is invalid: {}", pattern_diagnostic_line(problem)),
                    false => format!("expected no diagnostic, got {}", pattern_diagnostic_line(problem)),
                });
            }
        }
        problems
    }

    /// Compares all findings with those that are expected.
    fn each(&self, pattern: &Pattern, expected: &[ExpectedFinding]) -> Vec<String> {
        let found = &self.found.findings;
        let mut problems = Vec::new();
        for expected in expected {
            problems.extend(unknown_roles(pattern, expected));
        }
        let fits = |expected: &ExpectedFinding, finding: &PatternFinding| {
            self.has_roles(pattern, expected, finding) && self.differences(expected, finding).is_empty()
        };
        let table: Vec<Vec<bool>> =
            expected.iter().map(|one| found.iter().map(|finding| fits(one, finding)).collect()).collect();
        let mut taken = match_expectations(&table, found.len());
        for (at, expected) in expected.iter().enumerate() {
            if taken.contains(&Some(at)) {
                continue;
            }
            let near = found
                .iter()
                .zip(&mut taken)
                .find(|(finding, taken)| taken.is_none() && self.has_roles(pattern, expected, finding));
            match near {
                Some((finding, taken)) => {
                    *taken = Some(at);
                    let differences = self.differences(expected, finding);
                    let who = self.roles(finding);
                    problems.extend(differences.into_iter().map(|why| format!("{who}: {why}")));
                }
                None => problems.push(self.missing(pattern, expected)),
            }
        }
        let unexpected: Vec<&PatternFinding> = found
            .iter()
            .zip(&taken)
            .filter(|(_, taken)| taken.is_none())
            .map(|(finding, _)| finding)
            .collect();
        problems
            .extend(unexpected.iter().take(MAX_LISTED_DIAGNOSTICS).map(|finding| self.unexpected(finding)));
        if unexpected.len() > MAX_LISTED_DIAGNOSTICS {
            problems.push(format!(
                "… and {} more",
                plural(unexpected.len() - MAX_LISTED_DIAGNOSTICS, "unexpected finding")
            ));
        }
        problems
    }

    /// Returns whether the objects that are expected in roles are in them.
    fn has_roles(&self, pattern: &Pattern, expected: &ExpectedFinding, finding: &PatternFinding) -> bool {
        expected.roles.iter().all(|(role, object)| {
            let role = if role.is_empty() { pattern.leader() } else { role };
            finding.roles.iter().any(|(id, bound)| id == role && self.is_called(*bound, object))
        }) && expected.roles.is_empty() == finding.roles.is_empty()
    }

    /// Returns how a finding with the right roles differs from the expected one.
    fn differences(&self, expected: &ExpectedFinding, finding: &PatternFinding) -> Vec<String> {
        let mut differences = Vec::new();
        let mut compare = |what: &str, wanted: Option<String>, got: String| {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != got) {
                differences.push(format!("expected {what} `{wanted}`, got `{got}`"));
            }
        };
        compare("points", expected.points.as_ref().map(ToString::to_string), finding.points.to_string());
        compare(
            "the maximum",
            expected.maximum.as_ref().map(ToString::to_string),
            finding.maximum.to_string(),
        );
        compare("confidence", expected.confidence.clone(), finding.confidence_level().name().to_owned());
        compare("severity", expected.severity.clone(), finding.severity.name().to_owned());
        compare("the message", expected.message.clone(), finding.message.clone());
        if let Some(part) =
            expected.message_contains.as_ref().filter(|part| !finding.message.contains(part.as_str()))
        {
            differences.push(format!("expected `{part}` in the message, got `{}`", finding.message));
        }
        for (role, wanted) in &expected.witnesses {
            let found = finding.witnesses.iter().find(|(id, _)| id == role).map(|(_, ids)| ids.as_slice());
            let found = found.unwrap_or_default();
            let agrees = found.len() == wanted.len()
                && found.iter().zip(wanted).all(|(id, object)| self.is_called(*id, object));
            if !agrees {
                let got = match found {
                    [] => "none".to_owned(),
                    found => found
                        .iter()
                        .map(|id| case_object_name(self.graph, *id))
                        .collect::<Vec<_>>()
                        .join(", "),
                };
                let wanted = if wanted.is_empty() { "none".to_owned() } else { wanted.join(", ") };
                differences.push(format!("expected the witnesses of `{role}` to be {wanted}, got {got}"));
            }
        }
        for wanted in &expected.evidence {
            differences.extend(self.evidence(wanted, finding));
        }
        differences
    }

    fn evidence(&self, expected: &ExpectedEvidence, finding: &PatternFinding) -> Option<String> {
        let of_entry: Vec<&Evidence> =
            finding.evidence.iter().filter(|evidence| evidence.entry == expected.entry).collect();
        if of_entry.iter().any(|evidence| self.is_evidence(expected, evidence)) {
            return None;
        }
        Some(match of_entry.as_slice() {
            [] => {
                let ids: Vec<&str> =
                    finding.evidence.iter().map(|evidence| evidence.entry.as_str()).collect();
                match nearest_word(&expected.entry, ids.iter().copied()) {
                    Some(near) => {
                        format!("there is no relationship `{}`; did you mean `{near}`?", expected.entry)
                    }
                    None => {
                        format!(
                            "there is no relationship `{}`; the relationships are {}",
                            expected.entry,
                            ids.join(", ")
                        )
                    }
                }
            }
            found => {
                let found: Vec<String> =
                    found.iter().map(|evidence| evidence_text(evidence, self.graph)).collect();
                format!(
                    "expected the evidence {}, got {}",
                    expected_evidence_text(expected),
                    found.join("; ")
                )
            }
        })
    }

    fn is_evidence(&self, expected: &ExpectedEvidence, evidence: &Evidence) -> bool {
        let is = |wanted: &Option<String>, id: Option<Id>| {
            wanted.as_ref().is_none_or(|object| id.is_some_and(|id| self.is_called(id, object)))
        };
        expected.held.is_none_or(|held| held == evidence.held)
            && is(&expected.from, evidence.from)
            && is(&expected.to, evidence.to)
            && is(&expected.through, evidence.through)
            && expected.via.as_ref().is_none_or(|via| evidence.via == via.as_str())
            && expected.points.as_ref().is_none_or(|points| *points == evidence.points)
    }

    fn unexpected(&self, finding: &PatternFinding) -> String {
        let mut lines = vec![format!("unexpected finding: {}", self.roles(finding))];
        lines.push(format!("  {} of {} points: {}", finding.points, finding.maximum, finding.message));
        lines.extend(
            finding.evidence.iter().map(|evidence| format!("    {}", evidence_text(evidence, self.graph))),
        );
        lines.join("\n")
    }

    /// Returns the node of an object.
    pub(super) fn find(&self, object: &str) -> Option<Id> {
        self.graph.ids().find(|id| self.is_called(*id, object))
    }

    fn is_called(&self, id: Id, object: &str) -> bool {
        self.graph.node(id).is_some_and(|node| {
            let full = || format!("{}.{}", node.kind, node.group());
            object == kind_object_name(&node.kind, node) || object == kind_object_name(&full(), node)
        })
    }

    /// Describes an unknown object, with a suggestion.
    pub(super) fn unknown(&self, object: &str) -> String {
        let names: Vec<String> = self.graph.ids().map(|id| case_object_name(self.graph, id)).collect();
        match nearest_word(object, names.iter().map(String::as_str)) {
            Some(near) => format!("there is no object `{object}`; did you mean `{near}`?"),
            None => format!("there is no object `{object}`"),
        }
    }

    fn roles(&self, finding: &PatternFinding) -> String {
        let roles: Vec<String> = finding
            .roles
            .iter()
            .map(|(role, id)| format!("{role} {}", case_object_name(self.graph, *id)))
            .collect();
        if roles.is_empty() { "without any object".to_owned() } else { roles.join(", ") }
    }
}

/// Returns the ids in `roles` and `witnesses` that the pattern does not have, and says where the leader is missing.
fn unknown_roles(pattern: &Pattern, expected: &ExpectedFinding) -> Vec<String> {
    let ids: Vec<&str> = pattern.roles().map(Text::as_str).collect();
    let named =
        expected.roles.iter().map(|(role, _)| role).chain(expected.witnesses.iter().map(|(role, _)| role));
    let unknown = named.filter(|role| !role.is_empty() && !ids.contains(&role.as_str()));
    let mut problems: Vec<String> = unknown
        .map(|role| match nearest_word(role, ids.iter().copied()) {
            Some(near) => format!("the pattern has no resource `{role}`; did you mean `{near}`?"),
            None => format!("the pattern has no resource `{role}`; it has {}", ids.join(", ")),
        })
        .collect();
    let has_leader = expected.roles.iter().any(|(role, _)| role.is_empty() || role == pattern.leader());
    if !has_leader && !expected.roles.is_empty() && problems.is_empty() {
        problems.push(format!("`roles` lacks the leader, `{}`", pattern.leader()));
    }
    problems
}

/// Assigns an expectation to each finding, so that as many as possible are met.
fn match_expectations(fits: &[Vec<bool>], findings: usize) -> Vec<Option<usize>> {
    /// Finds a place for `at`; others may move to make room, but not for ever.
    fn place(
        at: usize,
        deeper: usize,
        fits: &[Vec<bool>],
        taken: &mut [Option<usize>],
        seen: &mut [bool],
    ) -> bool {
        for finding in 0..taken.len() {
            let is_fitting = fits.get(at).and_then(|row| row.get(finding)).copied().unwrap_or_default();
            let Some(is_seen) = seen.get_mut(finding) else { continue };
            if !is_fitting || std::mem::replace(is_seen, true) {
                continue;
            }
            let holder = taken.get(finding).copied().flatten();
            if holder.is_none_or(|holder| deeper > 0 && place(holder, deeper - 1, fits, taken, seen)) {
                if let Some(slot) = taken.get_mut(finding) {
                    *slot = Some(at);
                }
                return true;
            }
        }
        false
    }
    let mut taken = vec![None; findings];
    for at in 0..fits.len() {
        place(at, MAX_MATCHING_MOVES, fits, &mut taken, &mut vec![false; findings]);
    }
    taken
}
