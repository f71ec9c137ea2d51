//! Traits and patterns, which are about sets of objects: `render`, `detect`, `trace` and `graph` on the files of a request.

use kubewright_engine::Diagnostic;
use kubewright_ui::{PageBody, PageContent};
use kubewright_value::{Map, Value};

use super::commands::{CommandRun, flagged, run_words};
use super::workspace::PageWorkspace;

/// The maximum number of findings that are drawn.
const MAX_PICTURES: usize = 5;

/// What traits did.
#[derive(Default)]
pub(super) struct RenderedSet {
    pub(super) value: Value,
    pub(super) traces: Vec<Value>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) failure: Option<String>,
}

/// What patterns found.
pub(super) struct FoundSet {
    pub(super) findings: Value,
    pub(super) pictures: Vec<Value>,
    pub(super) traces: Vec<Value>,
    pub(super) diagnostics: Vec<Diagnostic>,
    pub(super) failure: Option<String>,
}

/// Returns what `lint` says about traits and patterns.
pub(super) fn lint_sets(space: &PageWorkspace) -> Result<Vec<Diagnostic>, PageContent> {
    if space.traits.is_empty() && space.patterns.is_empty() {
        return Ok(Vec::new());
    }
    super::checks::lint_diagnostics(space)
}

/// Renders the traits over the objects.
pub(super) fn render_traits(space: &PageWorkspace, body: &PageBody) -> Result<RenderedSet, PageContent> {
    let has_components =
        space.rules.is_empty() && space.patterns.is_empty() && space.languages.contains(&"trait");
    if space.objects.is_empty() || (space.traits.is_empty() && !has_components) {
        return Ok(RenderedSet::default());
    }
    let mut words = vec!["render".to_owned()];
    words.extend(flagged("--file", &space.objects));
    words.extend(flagged("--trait", &space.traits));
    words.extend(space.trait_values.iter().cloned());
    for (flag, field) in
        [("--namespace", "namespace"), ("--component", "component"), ("--environment", "environment")]
    {
        let text = body.text_at(&["request", field]);
        words.extend((!text.is_empty()).then(|| format!("{flag}={text}")));
    }
    let run = |more: &[&str]| {
        let more = more.iter().map(|word| (*word).to_owned());
        run_words(space, &words.iter().cloned().chain(more).collect::<Vec<_>>())
    };
    let (manifests, diff, traced) = (run(&[])?, run(&["--diff"])?, run(&["--trace", "-o", "json"])?);
    let trace = traced.value();
    let operations = trace.get("traits").cloned().unwrap_or_else(|| Value::array(Vec::new()));
    let failure = manifests.failure_text();
    let value = Map::from([
        ("manifests", Value::from(manifests.output)),
        ("diff", diff.output.into()),
        ("operations", operations),
        ("summary", manifests.notes.trim().into()),
        ("written", trace.get("manifests").cloned().unwrap_or_default()),
    ]);
    Ok(RenderedSet { value: value.into(), traces: Vec::new(), diagnostics: manifests.diagnostics, failure })
}

/// Looks for the patterns among the objects.
pub(super) fn find_patterns(space: &PageWorkspace) -> Result<FoundSet, PageContent> {
    let mut found = FoundSet {
        findings: Value::array(Vec::new()),
        pictures: Vec::new(),
        traces: Vec::new(),
        diagnostics: Vec::new(),
        failure: None,
    };
    if space.patterns.is_empty() || space.objects.is_empty() {
        return Ok(found);
    }
    let resources = flagged("--resources", &space.objects);
    let mut words = vec!["detect".to_owned(), "-o".to_owned(), "json".to_owned()];
    words.extend(resources.iter().chain(&space.patterns).cloned());
    let detected = run_words(space, &words)?;
    found.findings = detected.value().get("findings").cloned().unwrap_or_else(|| Value::array(Vec::new()));
    found.failure = detected.failure_text();
    let traced = pattern_traces(space, &resources)?;
    let list = |name: &str| traced.get(name).and_then(Value::as_array).unwrap_or_default();
    found.traces = list("traces").iter().take(super::traced::MAX_TRACES).cloned().collect();
    let names: Vec<&str> = list("patterns").iter().map(|pattern| pattern.str_at(&["pattern"])).collect();
    found.pictures = pictures(space, &resources, &found.findings, &names)?;
    found.diagnostics = detected.diagnostics;
    Ok(found)
}

/// Returns the traces of all candidates, and a summary of each pattern.
fn pattern_traces(space: &PageWorkspace, resources: &[String]) -> Result<Value, PageContent> {
    let mut words = vec!["trace".to_owned(), "-o".to_owned(), "json".to_owned()];
    words.extend(resources.iter().chain(&space.patterns).cloned());
    Ok(run_words(space, &words)?.value())
}

/// Returns the pictures of the first findings, or of the nearest miss of each pattern that finds nothing.
fn pictures(
    space: &PageWorkspace,
    resources: &[String],
    findings: &Value,
    patterns: &[&str],
) -> Result<Vec<Value>, PageContent> {
    let findings = findings.as_array().unwrap_or_default();
    let mut pictures = Vec::new();
    let name = |finding: &Value| finding.str_at(&["pattern"]).to_owned();
    for (number, finding) in findings.iter().take(MAX_PICTURES).enumerate() {
        let earlier = findings.iter().take(number).filter(|other| name(other) == name(finding)).count();
        let chosen = format!("--finding={}", earlier + 1);
        let title = finding.str_at(&["message"]);
        pictures.extend(picture(space, resources, (&name(finding), title), &[chosen])?);
    }
    if findings.is_empty() {
        for pattern in patterns.iter().take(MAX_PICTURES) {
            pictures.extend(picture(
                space,
                resources,
                (pattern, "the nearest miss"),
                &["--near".to_owned()],
            )?);
        }
    }
    Ok(pictures)
}

fn picture(
    space: &PageWorkspace,
    resources: &[String],
    (pattern, title): (&str, &str),
    more: &[String],
) -> Result<Option<Value>, PageContent> {
    let mut words =
        vec!["graph".to_owned(), "-o".to_owned(), "svg".to_owned(), format!("--pattern={pattern}")];
    words.extend(flagged("--patterns", &space.patterns));
    words.extend(resources.iter().chain(more).cloned());
    let drawn: CommandRun = run_words(space, &words)?;
    let value = Map::from([
        ("title", Value::from(title)),
        ("pattern", pattern.into()),
        ("svg", drawn.output.as_str().into()),
    ]);
    Ok((!drawn.output.is_empty()).then(|| value.into()))
}
