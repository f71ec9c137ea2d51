//! Compares what a case about a pattern expects with what was found.

use kubewright_dialects::patterns::{self, Checked, Evidence, Finding, Pattern, Phase, Settings, Trace};
use kubewright_engine::{Diagnostic, nearest};
use kubewright_graph::{Graph, Id, Sort};
use kubewright_value::{Budget, Text};

use super::file::{Expected, ExpectedEvidence, Findings, PatternCase};
use crate::words::plural;

/// How many objects or findings are named in a message.
const TOLD: usize = 6;

/// A case and what came of it.
pub(super) struct Judged<'a> {
    pub(super) case: &'a PatternCase,
    /// Nothing where it could not be compiled.
    pub(super) pattern: Option<&'a Pattern>,
    /// What is wrong with the pattern.
    pub(super) wrong: &'a [Diagnostic],
    pub(super) graph: &'a Graph,
    pub(super) found: &'a patterns::Findings,
}

/// Returns what a case expects, in a word or two.
pub(super) fn expected(case: &PatternCase) -> String {
    match &case.findings {
        Some(Findings::Count(count)) => findings(*count),
        Some(Findings::Each(each)) => findings(each.len()),
        None if case.diagnostics.as_ref().is_some_and(|codes| !codes.is_empty()) => "diagnostics".to_owned(),
        None => "discarded".to_owned(),
    }
}

/// Returns the words for so many findings.
pub(super) fn findings(count: usize) -> String {
    if count == 0 { "no findings".to_owned() } else { plural(count, "finding") }
}

/// Returns a diagnostic in one line: `KW-P012: what   where`.
pub(super) fn told(problem: &Diagnostic) -> String {
    format!("{}: {}   {}", problem.code.id, problem.message, problem.location)
}

impl Judged<'_> {
    /// Returns everything that is not as expected.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = self.diagnostics();
        let Some(pattern) = self.pattern else {
            let expects_some = match &self.case.findings {
                Some(Findings::Count(count)) => *count > 0,
                Some(Findings::Each(each)) => !each.is_empty(),
                None => !self.case.discarded.is_empty(),
            };
            if problems.is_empty() && expects_some {
                problems.push("the pattern is refused, so nothing is found".to_owned());
            }
            return problems;
        };
        match &self.case.findings {
            Some(Findings::Each(each)) => problems.extend(self.each(pattern, each)),
            Some(Findings::Count(count)) if *count != self.found.findings.len() => {
                let found = findings(self.found.findings.len());
                problems.push(format!("expected {}, got {found}", findings(*count)));
                let some = self.found.findings.iter().take(TOLD);
                problems.extend(some.map(|finding| format!("  {}", self.roles(finding))));
            }
            Some(Findings::Count(_)) | None => {}
        }
        if let Some(truncated) = self.case.truncated.filter(|truncated| *truncated != self.found.truncated) {
            problems.push(match truncated {
                true => "expected the findings to be truncated, and all are there".to_owned(),
                false => "expected all findings, and some were left out: they are truncated".to_owned(),
            });
        }
        problems
            .extend(self.case.discarded.iter().filter_map(|(leader, phase)| self.discarded(leader, phase)));
        problems
    }

    /// Compares what was said with what should be; a mistake that nobody expects is one of the case.
    fn diagnostics(&self) -> Vec<String> {
        let all = || self.wrong.iter().chain(&self.found.diagnostics);
        let mut problems = Vec::new();
        let expected = self.case.diagnostics.as_deref().unwrap_or_default();
        for code in expected {
            if !all().any(|problem| problem.code.id == code) {
                let got: Vec<String> = all().map(|problem| format!("\n  {}", told(problem))).collect();
                let got = if got.is_empty() { " nothing".to_owned() } else { got.concat() };
                problems.push(format!("expected {code}, got{got}"));
            }
        }
        let expects_none = self.case.diagnostics.as_ref().is_some_and(Vec::is_empty);
        for problem in all().filter(|problem| problem.is_error() || expects_none) {
            if !expected.iter().any(|code| code == problem.code.id) {
                problems.push(match problem.is_error() {
                    true => format!("the pattern is refused: {}", told(problem)),
                    false => format!("expected nothing doubtful, got {}", told(problem)),
                });
            }
        }
        problems
    }

    /// Compares all findings with those that are expected.
    fn each(&self, pattern: &Pattern, expected: &[Expected]) -> Vec<String> {
        let found = &self.found.findings;
        let mut problems = Vec::new();
        for expected in expected {
            problems.extend(unknown_roles(pattern, expected));
        }
        let fits = |expected: &Expected, finding: &Finding| {
            self.has_roles(pattern, expected, finding) && self.differences(expected, finding).is_empty()
        };
        let table: Vec<Vec<bool>> =
            expected.iter().map(|one| found.iter().map(|finding| fits(one, finding)).collect()).collect();
        let mut taken = pairs(&table, found.len());
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
        let unexpected: Vec<&Finding> = found
            .iter()
            .zip(&taken)
            .filter(|(_, taken)| taken.is_none())
            .map(|(finding, _)| finding)
            .collect();
        problems.extend(unexpected.iter().take(TOLD).map(|finding| self.unexpected(finding)));
        if unexpected.len() > TOLD {
            problems.push(format!("… and {} more", plural(unexpected.len() - TOLD, "unexpected finding")));
        }
        problems
    }

    /// Returns whether the objects that are expected in roles are in them.
    fn has_roles(&self, pattern: &Pattern, expected: &Expected, finding: &Finding) -> bool {
        expected.roles.iter().all(|(role, object)| {
            let role = if role.is_empty() { pattern.leader() } else { role };
            finding.roles.iter().any(|(id, bound)| id == role && self.is_called(*bound, object))
        }) && expected.roles.is_empty() == finding.roles.is_empty()
    }

    /// Returns in what a finding with the right roles is not as expected.
    fn differences(&self, expected: &Expected, finding: &Finding) -> Vec<String> {
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
                    found => found.iter().map(|id| name(self.graph, *id)).collect::<Vec<_>>().join(", "),
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

    fn evidence(&self, expected: &ExpectedEvidence, finding: &Finding) -> Option<String> {
        let of_entry: Vec<&Evidence> =
            finding.evidence.iter().filter(|evidence| evidence.entry == expected.entry).collect();
        if of_entry.iter().any(|evidence| self.is_evidence(expected, evidence)) {
            return None;
        }
        Some(match of_entry.as_slice() {
            [] => {
                let ids: Vec<&str> =
                    finding.evidence.iter().map(|evidence| evidence.entry.as_str()).collect();
                match nearest(&expected.entry, ids.iter().copied()) {
                    Some(near) => {
                        format!("there is no relationship `{}`; did you mean `{near}`?", expected.entry)
                    }
                    None => {
                        format!("there is no relationship `{}`; there is {}", expected.entry, ids.join(", "))
                    }
                }
            }
            found => {
                let found: Vec<String> = found.iter().map(|evidence| shown(evidence, self.graph)).collect();
                format!("expected the evidence {}, got {}", wanted(expected), found.join("; "))
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

    /// Says that a finding is not there, and what became of its leader.
    fn missing(&self, pattern: &Pattern, expected: &Expected) -> String {
        let roles: Vec<String> = expected
            .roles
            .iter()
            .map(|(role, object)| {
                format!("{} {object}", if role.is_empty() { pattern.leader() } else { role })
            })
            .collect();
        let roles = if roles.is_empty() { "without any object".to_owned() } else { roles.join(", ") };
        let is_leader = |(role, _): &&(String, String)| role.is_empty() || role == pattern.leader();
        let why = match expected.roles.iter().find(is_leader) {
            Some((_, leader)) => self.fate(leader),
            None => String::new(),
        };
        format!("expected a finding: {roles}\n{why}").trim_end().to_owned()
    }

    /// Returns what became of a leader, one thing a line.
    fn fate(&self, leader: &str) -> String {
        let Some(id) = self.find(leader) else { return format!("  {}", self.unknown(leader)) };
        if let Some(trace) = self.trace(id) {
            return self.story(leader, trace);
        }
        let is_object = self.graph.node(id).is_some_and(|node| node.sort == Sort::Object);
        if !is_object {
            return format!("  {leader} is only named by others and is not among the objects");
        }
        self.left_out(leader, id)
    }

    /// Says which conditions keep an object from leading.
    fn left_out(&self, leader: &str, id: Id) -> String {
        let Some(pattern) = self.pattern else { return String::new() };
        let (settings, mut budget) = (Settings::default(), Budget::default());
        let all = patterns::candidacies(pattern, id, self.graph, &settings, &mut budget).unwrap_or_default();
        let of = pattern.leader();
        let mut lines = match all.iter().find(|one| one.is_leader) {
            None => vec![format!("  {leader} is not of the kind of `{of}`, which leads")],
            Some(one) if one.passes => {
                vec![format!(
                    "  {leader} was not looked at: it is in another namespace, or there were too many findings"
                )]
            }
            Some(one) => {
                let told = |checked: &Checked| {
                    let found = if checked.found.is_empty() {
                        "nothing".to_owned()
                    } else {
                        checked.found.join(", ")
                    };
                    format!(
                        "    {}: {}, there is {found}   {}",
                        checked.list, checked.condition, checked.location
                    )
                };
                let mut lines = vec![format!("  the filter of `{of}` leaves out {leader}:")];
                lines.extend(one.conditions.iter().filter(|checked| checked.discards).map(told));
                lines
            }
        };
        lines.dedup();
        lines.join("\n")
    }

    fn story(&self, leader: &str, trace: &Trace) -> String {
        let mut lines = vec![match trace.phase {
            Phase::Matched => format!("  {leader} leads to {}", trace.reason),
            Phase::Veto | Phase::Threshold => {
                format!("  {leader} was discarded in the {} phase: {}", trace.phase.name(), trace.reason)
            }
        }];
        for step in &trace.steps {
            let mut with = step.with.map(|id| format!(" with {}", name(self.graph, id))).unwrap_or_default();
            if !step.via.is_empty() {
                with.push_str(&format!(" via {}", step.via));
            }
            let held = if step.held { "there" } else { "not there" };
            let points =
                if step.points.is_zero() { String::new() } else { format!(", {} points", step.points) };
            lines.push(format!("    `{}` ({}) is {held}{with}{points}", step.entry, step.rule));
            if let Some(hint) = self.pattern.filter(|_| !step.held).and_then(|pattern| {
                let mut budget = Budget::default();
                patterns::nearest(pattern, &step.entry, trace.leader, self.graph, 1, &mut budget).ok()?
            }) {
                lines.push(format!("      {}", hint.hint(self.graph)));
            }
        }
        lines.join("\n")
    }

    fn unexpected(&self, finding: &Finding) -> String {
        let mut lines = vec![format!("a finding that is not expected: {}", self.roles(finding))];
        lines.push(format!("  {} of {} points: {}", finding.points, finding.maximum, finding.message));
        lines.extend(finding.evidence.iter().map(|evidence| format!("    {}", shown(evidence, self.graph))));
        lines.join("\n")
    }

    fn discarded(&self, leader: &str, phase: &str) -> Option<String> {
        let Some(id) = self.find(leader) else { return Some(self.unknown(leader)) };
        match self.trace(id) {
            Some(trace) if trace.phase.name() == phase => None,
            Some(trace) => {
                Some(format!("expected the {phase} phase to discard {leader}\n{}", self.story(leader, trace)))
            }
            None => Some(format!("expected the {phase} phase to discard {leader}\n{}", self.fate(leader))),
        }
    }

    fn trace(&self, leader: Id) -> Option<&Trace> {
        self.found.trace.iter().find(|trace| trace.leader == leader)
    }

    fn find(&self, object: &str) -> Option<Id> {
        self.graph.ids().find(|id| self.is_called(*id, object))
    }

    fn is_called(&self, id: Id, object: &str) -> bool {
        self.graph.node(id).is_some_and(|node| {
            let full = || format!("{}.{}", node.kind, node.group());
            object == named(&node.kind, node) || object == named(&full(), node)
        })
    }

    fn unknown(&self, object: &str) -> String {
        let names: Vec<String> = self.graph.ids().map(|id| name(self.graph, id)).collect();
        match nearest(object, names.iter().map(String::as_str)) {
            Some(near) => format!("there is no object `{object}`; did you mean `{near}`?"),
            None => format!("there is no object `{object}`"),
        }
    }

    fn roles(&self, finding: &Finding) -> String {
        let roles: Vec<String> =
            finding.roles.iter().map(|(role, id)| format!("{role} {}", name(self.graph, *id))).collect();
        if roles.is_empty() { "without any object".to_owned() } else { roles.join(", ") }
    }
}

/// Returns the ids in `roles` and `witnesses` that the pattern does not have, and says where the leader is missing.
fn unknown_roles(pattern: &Pattern, expected: &Expected) -> Vec<String> {
    let ids: Vec<&str> = pattern.roles().map(Text::as_str).collect();
    let named =
        expected.roles.iter().map(|(role, _)| role).chain(expected.witnesses.iter().map(|(role, _)| role));
    let unknown = named.filter(|role| !role.is_empty() && !ids.contains(&role.as_str()));
    let mut problems: Vec<String> = unknown
        .map(|role| match nearest(role, ids.iter().copied()) {
            Some(near) => format!("the pattern has no resource `{role}`; did you mean `{near}`?"),
            None => format!("the pattern has no resource `{role}`; it has {}", ids.join(", ")),
        })
        .collect();
    let has_leader = expected.roles.iter().any(|(role, _)| role.is_empty() || role == pattern.leader());
    if !has_leader && !expected.roles.is_empty() && problems.is_empty() {
        problems.push(format!("`roles` do not say who is the leader, `{}`", pattern.leader()));
    }
    problems
}

/// Returns for each finding the expectation that it is, so that as many as possible are met.
fn pairs(fits: &[Vec<bool>], findings: usize) -> Vec<Option<usize>> {
    fn place(at: usize, fits: &[Vec<bool>], taken: &mut [Option<usize>], seen: &mut [bool]) -> bool {
        for finding in 0..taken.len() {
            let is_fitting = fits.get(at).and_then(|row| row.get(finding)).copied().unwrap_or_default();
            let Some(is_seen) = seen.get_mut(finding) else { continue };
            if !is_fitting || std::mem::replace(is_seen, true) {
                continue;
            }
            let holder = taken.get(finding).copied().flatten();
            if holder.is_none_or(|holder| place(holder, fits, taken, seen)) {
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
        place(at, fits, &mut taken, &mut vec![false; findings]);
    }
    taken
}

fn name(graph: &Graph, id: Id) -> String {
    graph.node(id).map_or_else(String::new, |node| named(&node.kind, node))
}

fn named(kind: &str, node: &kubewright_graph::Node) -> String {
    match node.namespace.as_str() {
        "" => format!("{kind}/{}", node.name),
        namespace => format!("{kind}/{namespace}/{}", node.name),
    }
}

fn wanted(expected: &ExpectedEvidence) -> String {
    let mut text = format!("`{}`", expected.entry);
    match expected.held {
        Some(true) => text.push_str(" held"),
        Some(false) => text.push_str(" not held"),
        None => {}
    }
    let parts = [
        ("from", expected.from.clone()),
        ("to", expected.to.clone()),
        ("through", expected.through.clone()),
        ("via", expected.via.clone()),
        ("points", expected.points.as_ref().map(ToString::to_string)),
    ];
    for (what, value) in parts {
        if let Some(value) = value {
            text.push_str(&format!(" {what} {value}"));
        }
    }
    text
}

fn shown(evidence: &Evidence, graph: &Graph) -> String {
    let held = if evidence.held { "held" } else { "not held" };
    let mut text = format!("`{}` ({}) {held}", evidence.entry, evidence.rule);
    let parts = [("from", evidence.from), ("to", evidence.to), ("through", evidence.through)];
    for (what, id) in parts {
        if let Some(id) = id {
            text.push_str(&format!(" {what} {}", name(graph, id)));
        }
    }
    if !evidence.via.is_empty() {
        text.push_str(&format!(" via {}", evidence.via));
    }
    if !evidence.points.is_zero() {
        text.push_str(&format!(", {} points", evidence.points));
    }
    text
}
