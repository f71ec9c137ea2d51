//! `pattern`: scenarios (a pattern, objects, what is found), tables of conditions and filters, documents to lint, and
//! published definitions.
//!
//! Where a scenario says what the contract gives and what the original gave, the contract counts.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use kubewright_engine::Diagnostic;
use kubewright_graph::{Graph, Id, References};
use kubewright_patterns::{
    DetectionSettings, LivePatterns, Pattern, PatternFinding, compile_pattern_document, detect,
};
use kubewright_value::{Budget, Document, Map, Source, Value, json, yaml};

use super::{SuiteCaseResult, SuiteResult, case_list, case_text, json_files, read_suite};

pub(super) fn run_pattern_suites(folder: &Path, prefix: &str) -> Result<Vec<SuiteResult>, String> {
    let (mut results, mut scenarios) = (Vec::new(), suite("pattern/scenarios"));
    for file in json_files(&folder.join("scenarios"))? {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let value = read_suite(&file)?;
        if value.get("pattern").is_some() {
            scenarios.cases.push(SuiteCaseResult { name: stem, failure: scenario(&value).err() });
        } else {
            results.push(run_pattern_table(&format!("pattern/{stem}"), &value));
        }
    }
    results.push(scenarios);
    results.push(run_published_definitions(&folder.join("patterns"))?);
    results.retain(|suite| suite.name.starts_with(prefix) && !suite.cases.is_empty());
    Ok(results)
}

fn suite(name: &str) -> SuiteResult {
    SuiteResult { name: name.to_owned(), cases: Vec::new(), uncounted: 0 }
}

fn scenario(case: &Value) -> Result<(), String> {
    let pattern = compile_pattern_value(case.get("pattern").unwrap_or(&Value::Null))?;
    let graph = Graph::build(case_list(case, "objects").iter().cloned(), &References::default());
    let mut settings = DetectionSettings::default();
    let categories = case.at(&["discovery", "categories"]).and_then(Value::as_object);
    for (category, kinds) in categories.into_iter().flat_map(Map::iter) {
        for kind in kinds.as_array().unwrap_or_default() {
            if let Some((api_version, kind)) = kind.as_str().and_then(|kind| kind.rsplit_once('/')) {
                settings.categories.push((category.clone(), api_version.into(), kind.into()));
            }
        }
    }
    let literal = case.get("expectedLiteralContract");
    let expected = literal.or_else(|| case.get("expected")).unwrap_or(&Value::Null);
    compare_findings(&pattern, &graph, &settings, expected)?;
    if literal.is_some() {
        // The original's result, for a run that ignores an unreachable threshold.
        settings.passes_unreachable = true;
        compare_findings(&pattern, &graph, &settings, case.get("expected").unwrap_or(&Value::Null))?;
    }
    Ok(())
}

fn compare_findings(
    pattern: &Pattern,
    graph: &Graph,
    settings: &DetectionSettings,
    expected: &Value,
) -> Result<(), String> {
    let found = find_pattern(pattern, graph, settings)?;
    let mut wanted: Vec<&Value> = case_list(expected, "detections").iter().collect();
    for finding in &found {
        let place = wanted.iter().position(|wanted| is_detection(finding, graph, wanted));
        match place {
            Some(place) => drop(wanted.remove(place)),
            None => return Err(format!("found {}, which is not expected", describe_finding(finding, graph))),
        }
    }
    match wanted.first() {
        Some(missing) => Err(format!("did not find {missing}")),
        None => Ok(()),
    }
}

fn is_detection(finding: &PatternFinding, graph: &Graph, wanted: &Value) -> bool {
    let message = wanted.get("message").and_then(Value::as_str);
    let severity = wanted.get("severityByContract").and_then(Value::as_str);
    let agrees = message.is_none_or(|message| message == finding.message)
        && severity.is_none_or(|severity| severity == finding.severity.name());
    let is_here = match wanted.get("target").and_then(Value::as_str) {
        Some(target) => {
            finding.roles.first().is_some_and(|(_, id)| object_kind_and_name(graph, *id).1 == target)
        }
        None => {
            let roles = wanted.get("resources").and_then(Value::as_object);
            roles.is_some_and(|roles| {
                roles.len() == finding.roles.len()
                    && finding.roles.iter().all(|(role, id)| {
                        let (namespace, name) = object_kind_and_name(graph, *id);
                        roles.get(role).and_then(Value::as_str) == Some(&format!("{namespace}/{name}"))
                    })
            })
        }
    };
    agrees && is_here
}

fn describe_finding(finding: &PatternFinding, graph: &Graph) -> String {
    let role = |(role, id): &(kubewright_value::Text, Id)| {
        let (namespace, name) = object_kind_and_name(graph, *id);
        format!("{role} {namespace}/{name}")
    };
    let roles: Vec<String> = finding.roles.iter().map(role).collect();
    format!("{} ({})", roles.join(", "), finding.message)
}

fn object_kind_and_name(graph: &Graph, id: Id) -> (&str, &str) {
    graph.node(id).map_or(("", ""), |node| (node.namespace.as_str(), node.name.as_str()))
}

fn find_pattern(
    pattern: &Pattern,
    graph: &Graph,
    settings: &DetectionSettings,
) -> Result<Vec<PatternFinding>, String> {
    let found =
        detect(pattern, graph, settings, &mut Budget::default()).map_err(|error| error.to_string())?;
    compare_live(pattern, graph, settings, &found.findings)?;
    Ok(found.findings)
}

/// Compares what is found with what a live search finds that gets the objects one after the other, without the fields that
/// nothing reads.
fn compare_live(
    pattern: &Pattern,
    graph: &Graph,
    settings: &DetectionSettings,
    found: &[PatternFinding],
) -> Result<(), String> {
    let mut live = LivePatterns::new(vec![pattern.clone()], &References::default(), settings.clone());
    let mut known = BTreeMap::new();
    let objects = graph.ids().filter_map(|id| graph.node(id)?.object.as_ref());
    for object in objects.map(Some).chain([None]) {
        object.into_iter().for_each(|object| live.insert(object));
        let now = if object.is_none() { pattern.lasting_seconds } else { 0 };
        for change in live.refresh(now) {
            match change.finding {
                Some(found) => known.insert(change.actors, describe_finding(&found.finding, live.graph())),
                None => known.remove(&change.actors),
            };
        }
    }
    let mut lived: Vec<String> = known.into_values().collect();
    let mut wanted: Vec<String> = found.iter().map(|finding| describe_finding(finding, graph)).collect();
    lived.sort_unstable();
    wanted.sort_unstable();
    match lived == wanted {
        true => Ok(()),
        false => Err(format!("a live search finds {lived:?}, expected {wanted:?}")),
    }
}

fn run_pattern_table(name: &str, value: &Value) -> SuiteResult {
    let mut result = suite(name);
    for (key, rows) in value.as_object().into_iter().flat_map(Map::iter) {
        for (at, row) in rows.as_array().unwrap_or_default().iter().enumerate() {
            let judged = if row.get("document").is_some() {
                check_lint_row(row)
            } else if row.get("expected").is_some() {
                check_condition_row(value, row)
            } else if row.get("expectedCount").is_some() || row.get("expectedNames").is_some() {
                filter(value, row)
            } else if row.get("key").is_some() {
                check_values_row(value, row)
            } else {
                continue;
            };
            let id =
                row.get("id").and_then(Value::as_str).map_or_else(|| format!("{key}[{at}]"), str::to_owned);
            result.cases.push(SuiteCaseResult { name: id, failure: judged.err() });
        }
    }
    result
}

/// A document that is read or refused.
fn check_lint_row(row: &Value) -> Result<(), String> {
    let is_valid = row.get("valid").and_then(Value::as_bool).unwrap_or(false);
    let reading = yaml::read(&Source::new("case.yaml", case_text(row, "document")));
    let mut problems: Vec<String> = reading.problems.iter().map(|problem| problem.message.clone()).collect();
    for document in &reading.documents {
        problems.extend(pattern_errors(&compile_pattern_document(document).1));
    }
    if reading.documents.is_empty() && problems.is_empty() {
        problems.push("there is no document".to_owned());
    }
    match (is_valid, problems.is_empty()) {
        (true, false) => Err(format!("is refused: {}", problems.join("; "))),
        (false, true) => Err(format!("is read, expected `{}`", case_text(row, "problemHint"))),
        _ => Ok(()),
    }
}

/// A condition that holds for the object of the table, or not.
fn check_condition_row(table: &Value, row: &Value) -> Result<(), String> {
    let expected = row.get("expected").and_then(Value::as_bool).unwrap_or(false);
    let mut condition = Map::new();
    for key in ["key", "operator", "values"] {
        condition.insert(key.into(), row.get(key).cloned().unwrap_or(Value::Null));
    }
    let filters = Map::from([("matchAll", Value::array(vec![condition.into()]))]);
    let pattern = compile_pattern_value(&filter_pattern("Pod", filters.into(), "found"))?;
    let graph = Graph::build(table.get("object").cloned(), &References::default());
    let found = find_pattern(&pattern, &graph, &DetectionSettings::default())?;
    if found.is_empty() == expected { Err(format!("expected {expected}")) } else { Ok(()) }
}

/// The values of a path.
fn check_values_row(table: &Value, row: &Value) -> Result<(), String> {
    let message = format!("{{{{x.{}}}}}", case_text(row, "key"));
    let pattern = compile_pattern_value(&filter_pattern("Pod", Map::new().into(), &message))?;
    let graph = Graph::build(table.get("object").cloned(), &References::default());
    let found = find_pattern(&pattern, &graph, &DetectionSettings::default())?;
    let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let wanted: Vec<String> = case_list(row, "values").iter().map(shown).collect();
    match found.as_slice() {
        [finding] if finding.message == wanted.join(", ") => Ok(()),
        [finding] => Err(format!("expected `{}`, got `{}`", wanted.join(", "), finding.message)),
        _ => Err("the object was not found".to_owned()),
    }
}

/// A filter over the objects of the table or of the row.
fn filter(table: &Value, row: &Value) -> Result<(), String> {
    let own = case_list(row, "objects");
    let objects = if own.is_empty() { case_list(table, "objects") } else { own };
    let kind = match case_text(row, "kind") {
        "" => objects.first().map_or("", |object| case_text(object, "kind")),
        kind => kind,
    };
    let filters = row.get("filters").cloned().unwrap_or(Value::Null);
    let pattern = compile_pattern_value(&filter_pattern(kind, filters, "found"))?;
    let graph = Graph::build(objects.iter().cloned(), &References::default());
    let found = find_pattern(&pattern, &graph, &DetectionSettings::default())?;
    let names: Vec<&str> = found
        .iter()
        .filter_map(|finding| finding.roles.first())
        .map(|(_, id)| object_kind_and_name(&graph, *id).1)
        .collect();
    if let Some(count) = row.get("expectedCount").and_then(Value::as_i64) {
        let agrees = i64::try_from(names.len()) == Ok(count);
        return if agrees { Ok(()) } else { Err(format!("expected {count}, got {names:?}")) };
    }
    let wanted: Vec<&str> = case_list(row, "expectedNames").iter().filter_map(Value::as_str).collect();
    if names == wanted { Ok(()) } else { Err(format!("expected {wanted:?}, got {names:?}")) }
}

/// Returns a pattern that finds the objects of `kind` that pass `filters`.
fn filter_pattern(kind: &str, filters: Value, message: &str) -> Value {
    let resource = Map::from([
        ("resource", kind.into()),
        ("id", "x".into()),
        ("leader", Value::Bool(true)),
        ("filters", filters),
    ]);
    let metadata = [("name", "p"), ("displayName", "P"), ("patternType", "CUSTOM"), ("severity", "INFO")];
    let mut metadata: Map = metadata.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
    metadata.insert("category".into(), "Security".into());
    let spec = Map::from([
        ("message", message.into()),
        ("topology", "SINGLE".into()),
        ("resources", Value::array(vec![resource.into()])),
    ]);
    Value::object(Map::from([
        ("version", "kubepattern.it/v1".into()),
        ("kind", "Pattern".into()),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
    ]))
}

fn compile_pattern_value(pattern: &Value) -> Result<Pattern, String> {
    let source = Source::new("pattern.json", json::to_pretty(pattern));
    let document = json::read(&source).map_err(|problem| problem.message)?;
    let (pattern, diagnostics) = compile_pattern_document(&document);
    pattern.ok_or_else(|| format!("is refused: {}", pattern_errors(&diagnostics).join("; ")))
}

fn pattern_errors(diagnostics: &[Diagnostic]) -> Vec<String> {
    diagnostics.iter().filter(|one| one.is_error()).map(|one| one.message.clone()).collect()
}

/// Published definitions: what is published is read; what was removed since is read or refused with a reason.
fn run_published_definitions(folder: &Path) -> Result<SuiteResult, String> {
    let mut result = suite("pattern/definitions");
    for group in pattern_folders(folder)? {
        for file in pattern_files(&group)? {
            let content =
                std::fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let reading = yaml::read(&Source::new(name.as_str(), content));
            let judged = definition(&reading.documents, name.contains('@'));
            result.cases.push(SuiteCaseResult { name, failure: judged.err() });
        }
    }
    Ok(result)
}

fn definition(documents: &[Document], is_removed: bool) -> Result<(), String> {
    if documents.is_empty() {
        return Err("there is no document".to_owned());
    }
    for document in documents {
        let (pattern, diagnostics) = compile_pattern_document(document);
        let reasons = pattern_errors(&diagnostics);
        match (pattern, reasons.is_empty()) {
            (Some(_), false) => return Err(format!("is read with errors: {}", reasons.join("; "))),
            (None, true) => return Err("is refused without a reason".to_owned()),
            (None, false) if !is_removed => return Err(format!("is refused: {}", reasons.join("; "))),
            _ => {}
        }
    }
    Ok(())
}

fn pattern_folders(folder: &Path) -> Result<Vec<PathBuf>, String> {
    sorted_entries(folder, Path::is_dir)
}

fn pattern_files(folder: &Path) -> Result<Vec<PathBuf>, String> {
    sorted_entries(folder, Path::is_file)
}

fn sorted_entries(folder: &Path, wanted: fn(&Path) -> bool) -> Result<Vec<PathBuf>, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(|error| format!("{}: {error}", folder.display()))?.path();
        if wanted(&path) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
