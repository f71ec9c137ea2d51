//! `/lint`, `/convert`, `/fix` and `/test-file`.

use kubewright_engine::{DecisionSettings, Diagnostic};
use kubewright_files as files;
use kubewright_report::render::hunks;
use kubewright_ui::{PageBody, PageContent, PageRequest, TextRole};
use kubewright_value::{Map, Value};

use super::attempt::{apply_arguments, object_words};
use super::commands::{CommandRun, flagged, parse_command, run_words};
use super::deadline::check_time;
use super::traced::diagnostic_values;
use super::workspace::{PageWorkspace, restored};
use crate::arguments::{ApplyArguments, CliCommand, ConvertArguments, LintArguments};
use crate::commands::conversion::{ConversionPair, ConvertedFiles, convert_files};
use crate::commands::convert::conversion_target;
use crate::commands::fix::{FoundFixes, find_fixes};
use crate::commands::lint::check_rules;
use crate::commands::test::scaffold::{current_cases, no_cases, test_text};
use crate::failure::CommandFailure;
use crate::output::{Columns, DiagnosticCounts, Paint};
use crate::rule_inputs::RuleInputs;

/// The maximum number of differences that a proof lists.
const MAX_LISTED_DIFFERENCES: usize = 20;

/// Answers `/lint`.
///
/// # Errors
/// When the body is not what the API describes.
pub(super) fn answer_lint(body: &PageBody, _request: &PageRequest) -> Result<Value, PageContent> {
    let space = PageWorkspace::new(&body.files);
    let mut diagnostics = lint_diagnostics(&space)?;
    diagnostics.iter_mut().for_each(|one| space.restore_names(one));
    let counts = DiagnosticCounts::of(&diagnostics);
    let summary = Map::from([
        ("errors", Value::from(counts.errors)),
        ("warnings", counts.warnings.into()),
        ("hints", counts.hints.into()),
    ]);
    let values = Value::array(diagnostic_values(&diagnostics));
    Ok(Map::from([("diagnostics", values), ("summary", summary.into())]).into())
}

/// Returns what `lint` says about all rules, traits and patterns.
pub(super) fn lint_diagnostics(space: &PageWorkspace) -> Result<Vec<Diagnostic>, PageContent> {
    if space.programs().next().is_none() {
        return Ok(Vec::new());
    }
    check_time()?;
    let arguments = lint_arguments(space)?;
    let (run, checked) = CommandRun::of(space, || Ok(check_rules(&arguments)));
    let mut diagnostics = run.diagnostics;
    if let Some(checked) = checked {
        diagnostics.extend(checked.diagnostics);
        diagnostics.extend(checked.unreadable);
    }
    Ok(diagnostics)
}

fn lint_arguments(space: &PageWorkspace) -> Result<LintArguments, PageContent> {
    let mut words = vec!["lint".to_owned()];
    words.extend(flagged("--exceptions", &space.exceptions));
    words.extend(space.programs().cloned());
    match parse_command(&words)? {
        CliCommand::Lint(arguments) => Ok(arguments),
        _ => Err(wrong_command("lint")),
    }
}

pub(super) fn wrong_command(name: &str) -> PageContent {
    PageContent::error(500, &format!("not the arguments of `{name}`"), None)
}

/// Answers `/convert`: the text of the command, and whether source and result agree on the objects of the request.
///
/// # Errors
/// When the body is not what the API describes.
pub(super) fn answer_convert(body: &PageBody, _request: &PageRequest) -> Result<Value, PageContent> {
    let space = PageWorkspace::new(&body.files);
    let to = Some(body.text_at(&["to"])).filter(|to| !to.is_empty()).unwrap_or("auto");
    let mut words = vec!["convert".to_owned(), format!("--to={to}")];
    if to == "vap" {
        words.extend(flagged("--exceptions", &space.exceptions));
    }
    words.push("--".to_owned());
    words.extend(space.rules.iter().cloned());
    if space.rules.is_empty() {
        return Ok(convert_answer("", Vec::new(), Value::Null, &[]));
    }
    let run = run_words(&space, &words)?;
    check_time()?;
    let CliCommand::Convert(arguments) = parse_command(&words)? else { return Err(wrong_command("convert")) };
    let objects = apply_arguments(&space, body)?;
    let settings = DecisionSettings { is_as_written: true, ..DecisionSettings::default() };
    let (_, proof) = CommandRun::of(&space, || prove(&arguments, &objects, &settings));
    let proof = proof.unwrap_or_default();
    let mut notes = whole_notes(&run.notes);
    // The command says that nothing was compared, because it knows no tests. Here the objects are compared.
    if proof.get("cases").and_then(Value::as_i64).is_some_and(|cases| cases > 0) {
        notes.retain(|note| !note.starts_with("unproven "));
    }
    notes.extend(run.failure_text());
    Ok(convert_answer(&run.output, notes, proof, &run.diagnostics))
}

/// Returns each note with its place, which the command writes on an indented line of its own.
fn whole_notes(text: &str) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for line in text.lines() {
        match notes.last_mut() {
            Some(last) if line.starts_with(' ') => {
                last.push_str(" · ");
                last.push_str(line.trim());
            }
            _ => notes.push(line.to_owned()),
        }
    }
    notes
}

fn convert_answer(text: &str, notes: Vec<String>, proof: Value, diagnostics: &[Diagnostic]) -> Value {
    Map::from([
        ("text", Value::from(text)),
        ("notes", notes.into()),
        ("proof", proof),
        ("diagnostics", Value::array(diagnostic_values(diagnostics))),
    ])
    .into()
}

/// Compares the converted policies with their sources on the objects.
fn prove(
    arguments: &ConvertArguments,
    objects: &ApplyArguments,
    settings: &DecisionSettings,
) -> Result<Value, CommandFailure> {
    let target = conversion_target(arguments)?;
    let policies = &arguments.conversions.policies;
    let ConvertedFiles { converted, options, .. } = convert_files(policies, &arguments.exceptions, target)?;
    if objects.objects.resources.is_empty() {
        return Ok(Value::Null);
    }
    let inputs = RuleInputs::open(&objects.rules, &objects.objects)?;
    let reviewer = inputs.reviewer(Columns::default());
    let documents = files::read_documents(&inputs.manifests, &mut Vec::new());
    let documents = files::wanted_objects(documents, inputs.wanted(), &mut Vec::new());
    let requests: Vec<_> = documents.iter().map(|document| reviewer.request(document)).collect();
    let dialects = kubewright_dialects::all_dialects(&options);
    let (mut cases, mut details) = (0, Vec::new());
    for one in &converted {
        // The client that waited for it is gone.
        if check_time().is_err() {
            break;
        }
        for (written, text) in one.conversion.written.iter().zip(&one.texts) {
            let pair = ConversionPair::new(&dialects, &one.document, written, text);
            let (judged, differences) = pair.compare(&requests, reviewer.world, settings);
            cases += judged;
            details.extend(differences);
        }
    }
    let differ = details.len();
    details.truncate(MAX_LISTED_DIFFERENCES);
    Ok(Map::from([
        ("cases", Value::from(cases)),
        ("agree", cases.saturating_sub(differ).into()),
        ("differ", differ.into()),
        ("details", details.into()),
    ])
    .into())
}

/// Answers `/fix`.
///
/// # Errors
/// When the body is not what the API describes.
pub(super) fn answer_fix(body: &PageBody, _request: &PageRequest) -> Result<Value, PageContent> {
    let space = PageWorkspace::new(&body.files);
    let mut words = vec!["fix".to_owned()];
    words.extend(object_words(&space, body));
    words.extend(space.rules.iter().cloned());
    let CliCommand::Fix(arguments) = parse_command(&words)? else { return Err(wrong_command("fix")) };
    let (run, found) = CommandRun::of(&space, || match space.rules.is_empty() || space.objects.is_empty() {
        true => Ok(None),
        false => find_fixes(&arguments).map(Some),
    });
    let edits = found.flatten().map(|found| edit_values(&found)).unwrap_or_default();
    let failure = run.failure_text().into();
    Ok(Map::from([("edits", Value::array(edits)), ("failure", failure)]).into())
}

fn edit_values(found: &FoundFixes) -> Vec<Value> {
    let edit = |(name, before, after): (&String, &kubewright_value::Source, &kubewright_value::Source)| {
        let (before, after) = (restored(&before.text), restored(&after.text));
        let of_file =
            || found.reports.iter().filter(|report| report.file == *name && report.changes.is_some());
        let titles: Vec<&str> = of_file().filter_map(|report| report.changes.as_deref()).collect();
        let rules: Vec<Value> =
            of_file().flat_map(|report| &report.rules).map(|rule| rule.as_str().into()).collect();
        Map::from([
            ("file", Value::from(name.as_str())),
            ("diff", hunks(&before, &after, Paint::OFF).into()),
            ("text", after.into()),
            ("title", titles.join("; ").into()),
            ("rules", Value::array(rules)),
        ])
        .into()
    };
    found.changed().map(edit).collect()
}

/// Answers `/test-file`: a test of what the rules do now, beside the files that it names.
///
/// # Errors
/// When the body is not what the API describes.
pub(super) fn answer_test_file(body: &PageBody, _request: &PageRequest) -> Result<Value, PageContent> {
    let space = PageWorkspace::new(&body.files);
    let arguments = apply_arguments(&space, body)?;
    let (run, made) = CommandRun::of(&space, || {
        let (cases, _) = current_cases(RuleInputs::open(&arguments.rules, &arguments.objects)?)?;
        if cases.is_empty() { Err(no_cases()) } else { Ok(test_text(test_fields(body), cases)) }
    });
    let Some(text) = made else {
        let message = run.failure_text().unwrap_or_default();
        return Err(PageContent::error(422, &message, None));
    };
    let file =
        |name: &str, text: &str| Value::from(Map::from([("name", Value::from(name)), ("text", text.into())]));
    let mut made = vec![file("kubewright-test.yaml", &text)];
    let kept = [TextRole::Rules, TextRole::Objects, TextRole::World];
    made.extend(
        body.files.iter().filter(|text| kept.contains(&text.role)).map(|text| file(&text.name, &text.text)),
    );
    Ok(Map::from([("files", Value::array(made))]).into())
}

/// Returns the fields of a test that name files and the request.
fn test_fields(body: &PageBody) -> Vec<(&'static str, Value)> {
    let names =
        |role| Value::array(body.with_role(role).map(|text| Value::from(text.name.as_str())).collect());
    let mut fields = vec![("rules", names(TextRole::Rules)), ("resources", names(TextRole::Objects))];
    if body.with_role(TextRole::World).next().is_some() {
        fields.push(("world", names(TextRole::World)));
    }
    for field in ["operation", "namespace"] {
        let text = body.text_at(&["request", field]);
        if !text.is_empty() {
            fields.push((field, text.into()));
        }
    }
    fields
}
