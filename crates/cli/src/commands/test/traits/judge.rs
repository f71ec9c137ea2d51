//! Compares the expectations of a case about traits with the rendering.

use std::collections::{HashMap, VecDeque};

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_golib::glob;
use kubewright_k8s::object_title;
use kubewright_patch::Pointer;
use kubewright_patch::path::{PatchPath, PathOp, PathPatchError};
use kubewright_report::text::plural;
use kubewright_traits::{self as traits, Manifest, Plane, RenderContext, Rendering};
use kubewright_value::{Budget, Document, Step, Value, json};

use super::super::difference::object_difference_lines;
use super::file::{ExpectedDiagnostic, ExpectedDiagnostics, ExpectedManifest, TraitCase};
use crate::commands::render::idempotent;

/// The maximum number of names in a message.
const MAX_TOLD_DIAGNOSTICS: usize = 6;

/// The maximum number of reported manifests.
const MAX_MISMATCHES: usize = 30;

/// A case and its result.
pub(super) struct JudgedTraitCase<'a> {
    pub(super) case: &'a TraitCase,
    pub(super) context: &'a RenderContext,
    pub(super) rendering: &'a Rendering,
    /// The result of rendering once more, if `idempotent` is expected.
    pub(super) again: Option<&'a Rendering>,
    /// The manifests that are expected.
    pub(super) expected: Option<Result<Vec<Document>, String>>,
}

impl TraitCase {
    /// Returns whether the rendering should fail.
    pub(super) fn expects_failure(&self) -> bool {
        matches!(self.fails, Some(ExpectedDiagnostics::Something | ExpectedDiagnostics::Each(_)))
    }
}

impl JudgedTraitCase<'_> {
    /// Returns all differences from the expectations.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = self.failure();
        problems.extend(self.warnings());
        if self.rendering.has_failed() || self.case.expects_failure() {
            return problems;
        }
        match &self.expected {
            Some(Ok(expected)) => problems.extend(self.whole(expected)),
            Some(Err(problem)) => problems.push(problem.clone()),
            None => {}
        }
        problems.extend(self.case.expect.iter().flat_map(|expected| self.expectation(expected)));
        if let Some(again) = self.again {
            let differences = idempotent::second_run_differences(self.rendering, again);
            problems.extend(
                differences
                    .iter()
                    .map(|problem| format!("not idempotent: {}", trait_diagnostic_line(problem))),
            );
        }
        problems
    }

    fn failure(&self) -> Vec<String> {
        let errors: Vec<&Diagnostic> =
            self.rendering.diagnostics.iter().filter(|problem| problem.is_error()).collect();
        match &self.case.fails {
            None | Some(ExpectedDiagnostics::Nothing) => errors
                .iter()
                .map(|problem| format!("the rendering fails: {}", trait_diagnostic_line(problem)))
                .collect(),
            Some(_) if errors.is_empty() => {
                vec!["expected the rendering to fail, but it succeeded".to_owned()]
            }
            Some(ExpectedDiagnostics::Something) => Vec::new(),
            Some(ExpectedDiagnostics::Each(findings)) => unmet_expectations(findings, &errors, "an error"),
        }
    }

    fn warnings(&self) -> Vec<String> {
        let warnings: Vec<&Diagnostic> =
            self.rendering.diagnostics.iter().filter(|problem| !problem.is_error()).collect();
        match &self.case.warns {
            None => Vec::new(),
            Some(ExpectedDiagnostics::Nothing) => warnings
                .iter()
                .map(|problem| format!("expected no warning, got {}", trait_diagnostic_line(problem)))
                .collect(),
            Some(ExpectedDiagnostics::Something) if warnings.is_empty() => {
                vec!["expected a warning, got none".to_owned()]
            }
            Some(ExpectedDiagnostics::Something) => Vec::new(),
            Some(ExpectedDiagnostics::Each(findings)) => unmet_expectations(findings, &warnings, "a warning"),
        }
    }

    /// Compares all manifests with those that are expected.
    fn whole(&self, expected: &[Document]) -> Vec<String> {
        let mut problems = Vec::new();
        let mut left: HashMap<ManifestName<'_>, VecDeque<&Manifest>> = HashMap::new();
        for manifest in &self.rendering.manifests {
            left.entry(ManifestName::of(&manifest.object)).or_default().push_back(manifest);
        }
        for expected in expected {
            let name = ManifestName::of(&expected.value);
            let Some(manifest) = left.get_mut(&name).and_then(VecDeque::pop_front) else {
                // The first ones suffice, and searching for similar names is slow.
                let near = (problems.len() < MAX_TOLD_DIAGNOSTICS).then(|| self.nearest(&name.to_string()));
                problems.push(format!("{name} is expected and missing{}", near.unwrap_or_default()));
                continue;
            };
            if manifest.object != expected.value {
                let title = format!("{name} differs from the expected manifest");
                problems.push(object_difference_lines(&title, &expected.value, &manifest.object));
            }
        }
        for manifest in &self.rendering.manifests {
            let name = ManifestName::of(&manifest.object);
            if left.get_mut(&name).and_then(VecDeque::pop_front).is_some() {
                problems.push(format!("{name} is not expected"));
            }
        }
        if self.case.is_ordered && problems.is_empty() {
            problems.extend(self.order(expected));
        }
        let more = problems.len().saturating_sub(MAX_MISMATCHES);
        if more > 0 {
            problems.truncate(MAX_MISMATCHES);
            problems.push(format!("… and {} more", plural(more, "difference")));
        }
        problems
    }

    fn order(&self, expected: &[Document]) -> Option<String> {
        let expected: Vec<String> =
            expected.iter().map(|document| ManifestName::of(&document.value).to_string()).collect();
        let actual = self.names();
        (expected != actual).then(|| {
            format!("the order differs: expected {}; got {}", expected.join(", "), actual.join(", "))
        })
    }

    fn expectation(&self, expected: &ExpectedManifest) -> Vec<String> {
        let found: Vec<&Manifest> =
            self.rendering.manifests.iter().filter(|manifest| expected.is_about(&manifest.object)).collect();
        match (expected.is_present, found.as_slice()) {
            (false, []) => Vec::new(),
            (false, found) => found
                .iter()
                .map(|manifest| format!("{} is there, expected none", ManifestName::of(&manifest.object)))
                .collect(),
            (true, []) => {
                let wanted = expected.to_string();
                vec![format!("there is no {wanted}{}", self.nearest(&wanted))]
            }
            (true, [one]) => self.of_one(expected, one),
            (true, several) => {
                let names: Vec<String> = several
                    .iter()
                    .take(MAX_TOLD_DIAGNOSTICS)
                    .map(|one| ManifestName::of(&one.object).to_string())
                    .collect();
                let more = if several.len() > MAX_TOLD_DIAGNOSTICS { ", …" } else { "" };
                let count = several.len();
                vec![format!("`{expected}` selects {count} manifests: {}{more}", names.join(", "))]
            }
        }
    }

    /// Compares one manifest with its expectations.
    fn of_one(&self, expected: &ExpectedManifest, manifest: &Manifest) -> Vec<String> {
        let name = ManifestName::of(&manifest.object);
        let mut problems = Vec::new();
        let plane = plane_name(manifest);
        if let Some(wanted) = expected.plane.as_deref().filter(|wanted| *wanted != plane) {
            problems.push(format!("{name}: expected on the {wanted}, got the {plane}"));
        }
        for (path, value) in &expected.fields {
            problems
                .extend(field_mismatch(path, value, &manifest.object).map(|why| format!("{name}: {why}")));
        }
        for path in &expected.absent {
            problems.extend(unwanted_field(path, &manifest.object).map(|why| format!("{name}: {why}")));
        }
        for rule in &expected.rules {
            let text = rule.trim();
            match traits::evaluate_assertion(rule, &manifest.object, self.context) {
                Ok(held) if held.holds => {}
                Ok(held) if held.read.is_empty() => {
                    problems.push(format!("{name}: the rule `{text}` does not hold"));
                }
                Ok(held) => {
                    let read = held.read.join(", ");
                    problems.push(format!("{name}: the rule `{text}` does not hold: {read}"));
                }
                Err(why) => problems.push(format!("{name}: the rule `{text}` cannot be evaluated: {why}")),
            }
        }
        problems
    }

    fn names(&self) -> Vec<String> {
        self.rendering
            .manifests
            .iter()
            .map(|manifest| ManifestName::of(&manifest.object).to_string())
            .collect()
    }

    /// Returns a suggestion for an unknown manifest.
    fn nearest(&self, wanted: &str) -> String {
        let manifests = self.rendering.manifests.iter().map(|manifest| ManifestName::of(&manifest.object));
        let all: Vec<ManifestName<'_>> = manifests.collect();
        // Without an expected namespace, none is compared.
        let has_namespace = wanted.contains('/');
        let spelt = |name: &ManifestName<'_>| match has_namespace {
            true => name.to_string(),
            false => format!("{} {}", name.kind, name.name),
        };
        let spellings: Vec<String> = all.iter().map(spelt).collect();
        if let Some(near) = nearest_word(wanted, spellings.iter().map(String::as_str)) {
            return format!("; did you mean {near}?");
        }
        let kind = wanted.split(' ').next().unwrap_or(wanted);
        let is_kind = |name: &&ManifestName<'_>| name.kind == kind;
        let mut told: Vec<String> = all.iter().filter(is_kind).map(ToString::to_string).collect();
        if told.is_empty() {
            told = all.iter().map(ToString::to_string).collect();
        }
        if told.is_empty() {
            return "; there are no manifests".to_owned();
        }
        let more = if told.len() > MAX_TOLD_DIAGNOSTICS { ", …" } else { "" };
        told.truncate(MAX_TOLD_DIAGNOSTICS);
        format!("; there is {}{more}", told.join(", "))
    }
}

/// The identity of a manifest.
#[derive(PartialEq, Eq, Hash)]
struct ManifestName<'m> {
    api_version: &'m str,
    kind: &'m str,
    namespace: &'m str,
    name: &'m str,
}

impl<'m> ManifestName<'m> {
    fn of(object: &'m Value) -> Self {
        let text = |path: &[&str]| object.str_at(path);
        Self {
            api_version: text(&["apiVersion"]),
            kind: text(&["kind"]),
            namespace: text(&["metadata", "namespace"]),
            name: text(&["metadata", "name"]),
        }
    }
}

/// `Deployment shop/web`.
impl std::fmt::Display for ManifestName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&object_title(self.kind, self.namespace, self.name))
    }
}

impl ExpectedManifest {
    fn is_about(&self, object: &Value) -> bool {
        let name = ManifestName::of(object);
        let is =
            |wanted: &Option<String>, found: &str| wanted.as_deref().is_none_or(|wanted| wanted == found);
        // Names may end with a hash, and no name has a `*` of its own.
        let is_named = |wanted: &str| {
            glob::matches_wildcard(wanted, name.name, &mut Budget::default()).unwrap_or_default()
        };
        self.kind == name.kind
            && self.name.as_deref().is_none_or(is_named)
            && is(&self.namespace, name.namespace)
            && is(&self.api_version, name.api_version)
    }
}

/// `Deployment shop/web`, as far as it is said.
impl std::fmt::Display for ExpectedManifest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.kind)?;
        match (&self.namespace, &self.name) {
            (Some(namespace), Some(name)) => write!(f, " {namespace}/{name}")?,
            (None, Some(name)) => write!(f, " {name}")?,
            (Some(namespace), None) => write!(f, " in {namespace}")?,
            (None, None) => {}
        }
        match &self.api_version {
            Some(version) => write!(f, " of {version}"),
            None => Ok(()),
        }
    }
}

/// Returns a diagnostic in one line: `KW-R030: what   where`.
pub(super) fn trait_diagnostic_line(problem: &Diagnostic) -> String {
    format!("{}: {}   {}", problem.code.id, diagnostic_with_help(problem), problem.location)
}

/// Returns the message of a diagnostic, with its suggestion.
pub(super) fn diagnostic_with_help(problem: &Diagnostic) -> String {
    match problem.help.starts_with("did you mean") {
        true => format!("{}; {}", problem.message, problem.help),
        false => problem.message.clone(),
    }
}

/// Returns the expected diagnostics that none of `problems` matches.
fn unmet_expectations(findings: &[ExpectedDiagnostic], problems: &[&Diagnostic], what: &str) -> Vec<String> {
    let is_met = |finding: &&ExpectedDiagnostic| problems.iter().any(|problem| finding.is_met(problem));
    let unmet = findings.iter().filter(|finding| !is_met(finding));
    let got = match problems {
        [] => "none".to_owned(),
        [one] => trait_diagnostic_line(one),
        several => several.iter().map(|problem| format!("\n  {}", trait_diagnostic_line(problem))).collect(),
    };
    unmet.map(|finding| format!("expected {what} {finding}, got {got}")).collect()
}

impl ExpectedDiagnostic {
    fn is_met(&self, problem: &Diagnostic) -> bool {
        self.code.as_deref().is_none_or(|code| code == problem.code.id)
            && self.message.as_deref().is_none_or(|part| problem.message.contains(part))
    }
}

/// ``KW-R030 with `part` in its message``.
impl std::fmt::Display for ExpectedDiagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.code, &self.message) {
            (Some(code), Some(part)) => write!(f, "{code} with `{part}` in it"),
            (Some(code), None) => f.write_str(code),
            (None, part) => write!(f, "with `{}` in it", part.as_deref().unwrap_or_default()),
        }
    }
}

/// Returns how the fields at `path` of `object` differ from `expected`.
fn field_mismatch(path: &PatchPath, expected: &Value, object: &Value) -> Option<String> {
    let places = match matched_places(path, object) {
        Ok(places) => places,
        Err(error) => {
            let near = error.help.filter(|help| help.starts_with("did you mean"));
            let near = near.map(|near| format!("; {near}")).unwrap_or_default();
            let why = error.message;
            return Some(format!("expected {} at `{path}`, got nothing: {why}{near}", shown_json(expected)));
        }
    };
    let wrong = places.iter().find(|place| object.follow(place) != Some(expected))?;
    let found = object.follow(wrong).unwrap_or(&Value::Null);
    let place = Pointer::from_steps(wrong).to_string();
    let at = if path.selects() { format!("`{path}`, which is `{place}`") } else { format!("`{path}`") };
    if found.as_object().is_some() || found.as_array().is_some() {
        return Some(object_difference_lines(
            &format!("the value at {at} differs from the expected one"),
            expected,
            found,
        ));
    }
    Some(format!("expected {} at {at}, got {}", shown_json(expected), shown_json(found)))
}

/// Returns the fields that `path` matches in `object`, at least one.
fn matched_places(path: &PatchPath, object: &Value) -> Result<Vec<Vec<Step>>, PathPatchError> {
    let places = path.expand(object, PathOp::Replace, &mut Budget::default())?;
    if places.is_empty() {
        // Doing it says why nothing is chosen.
        path.apply(PathOp::Replace, &Value::Null, &mut object.clone(), &mut Budget::default())?;
    }
    Ok(places)
}

/// Returns a message if there is a field at `path`.
fn unwanted_field(path: &PatchPath, object: &Value) -> Option<String> {
    // What cannot be reached is not there.
    let places = path.expand(object, PathOp::Remove, &mut Budget::default()).ok()?;
    let found = object.follow(places.first()?)?;
    Some(format!("expected nothing at `{path}`, got {}", shown_json(found)))
}

fn plane_name(manifest: &Manifest) -> &'static str {
    match manifest.plane {
        Plane::Data => "dataplane",
        Plane::Observability => "observabilityplane",
    }
}

fn shown_json(value: &Value) -> String {
    json::to_shown_string(value)
}
