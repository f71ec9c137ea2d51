//! Test results for people, programs and dashboards.

use std::io::{self, Write as _};
use std::time::Duration;

use kubewright_k8s::{Operation, object_title};
use kubewright_value::{Map, Value, json};

use super::coverage::{Coverage, Missing};
use super::run::CaseResult;
use crate::output::{Paint, cell, short, standard_output, visible, xml};
use crate::words::{grouped, plural, time};

/// Above this many files, those without failures are only counted.
const LISTED: usize = 20;
/// The widest column of rules and branches.
const WIDEST: usize = 70;
/// How much of a branch is shown.
const LONGEST: usize = 60;

/// The results of one test file.
pub(super) struct FileResult {
    /// The name of the file.
    pub(super) file: String,
    /// The words that run `trace` on its rules and resources.
    pub(super) trace: String,
    pub(super) results: Vec<CaseResult>,
}

impl FileResult {
    fn failed(&self) -> impl Iterator<Item = &CaseResult> {
        self.results.iter().filter(|result| !result.is_ok)
    }

    /// Returns the folder, or the file where it has a name of its own.
    fn title(&self) -> &str {
        let folder = crate::load::TEST_FILES.iter().find_map(|name| self.file.strip_suffix(name));
        folder.map_or(&self.file, |folder| {
            let folder = folder.trim_end_matches('/').trim_end_matches(".kyverno-test").trim_end_matches('/');
            if folder.is_empty() { "." } else { folder }
        })
    }
}

/// Returns how many cases hold, and how many do not.
pub(super) fn count(files: &[FileResult]) -> (usize, usize) {
    let failed = files.iter().map(|file| file.failed().count()).sum();
    let all: usize = files.iter().map(|file| file.results.len()).sum();
    (all - failed, failed)
}

/// Writes the results for people.
pub(super) fn table(
    files: &[FileResult],
    coverage: Option<&Coverage>,
    is_quiet: bool,
    elapsed: Duration,
    paint: Paint,
) -> io::Result<()> {
    let mut out = standard_output();
    let is_long = files.len() > LISTED;
    let width = files.iter().map(|file| file.title().chars().count()).max().unwrap_or(0).min(60);
    let mut unlisted = 0;
    for file in files {
        let failed = file.failed().count();
        let all = file.results.len();
        if failed == 0 {
            if is_long || is_quiet {
                unlisted += 1;
            } else {
                writeln!(out, "{} {:width$}  {all:>4}", paint.green("✓"), visible(file.title()))?;
            }
            continue;
        }
        writeln!(out, "{} {:width$}  {:>4} of {all}", paint.red("✗"), visible(file.title()), all - failed)?;
        for result in file.failed().filter(|result| !result.is_unsupported) {
            case(&mut out, result, file, paint)?;
        }
        unsupported(&mut out, file, paint)?;
    }
    if unlisted > 0 && !is_quiet {
        let more = if unlisted < files.len() { "more file" } else { "file" };
        writeln!(out, "{} {}", paint.green("✓"), plural(unlisted, more))?;
    }
    if let Some(coverage) = coverage {
        covered(&mut out, coverage, paint)?;
    }
    let (passed, failed) = count(files);
    if !is_quiet || failed > 0 {
        let passed = format!("{} passed", grouped(passed));
        let failed = if failed == 0 {
            "0 failed".to_owned()
        } else {
            paint.red(&format!("{} failed", grouped(failed)))
        };
        let all = files.iter().flat_map(FileResult::failed);
        let failed = match all.filter(|result| result.is_unsupported).count() {
            0 => failed,
            count => format!("{failed}, {} of them for what is not supported yet", grouped(count)),
        };
        if !files.is_empty() {
            writeln!(out)?;
        }
        writeln!(out, "{passed}, {failed}     {}", paint.dim(&time(elapsed)))?;
    }
    out.flush()
}

/// Says what is not supported yet, once for all cases that need it.
fn unsupported(out: &mut impl io::Write, file: &FileResult, paint: Paint) -> io::Result<()> {
    let mut counts: Vec<(&str, &str, usize)> = Vec::new();
    for result in file.failed().filter(|result| result.is_unsupported) {
        let (rule, message) = (result.rule_text.as_str(), result.message.as_str());
        match counts.iter_mut().find(|known| (known.0, known.1) == (rule, message)) {
            Some((.., count)) => *count += 1,
            None => counts.push((rule, message, 1)),
        }
    }
    for (rule, message, count) in counts {
        let rule = paint.bold(&visible(rule));
        writeln!(out, "    {rule}   {}   {}", visible(message), plural(count, "case"))?;
    }
    Ok(())
}

/// Lists what no case was about.
fn covered(out: &mut impl io::Write, coverage: &Coverage, paint: Paint) -> io::Result<()> {
    let ((rules, exercised), (branches, looked_at)) = (coverage.rules(), coverage.branches());
    let mut summary = format!("{exercised} of {} exercised", plural(rules, "rule"));
    if branches > 0 {
        summary.push_str(&format!(", {looked_at} of {branches} branches"));
    }
    writeln!(out, "\n{summary}")?;
    let missing = coverage.missing();
    // A branch stands below its rule.
    let text = |missing: &Missing<'_>| match missing.branch {
        Some(branch) => format!("    {}", short(branch, LONGEST)),
        None => visible(missing.rule).into_owned(),
    };
    let width = missing.iter().map(|missing| text(missing).chars().count()).max().unwrap_or(0).min(WIDEST);
    let mut rule = "";
    for missing in &missing {
        if missing.branch.is_some() && missing.rule != rule {
            writeln!(out, "  {} {}", paint.yellow("~"), visible(missing.rule))?;
        }
        rule = missing.rule;
        let mark = if missing.branch.is_some() { " ".to_owned() } else { paint.yellow("·") };
        let place = paint.cyan(&visible(&missing.place));
        writeln!(out, "  {mark} {:width$}  {place}", text(missing))?;
    }
    Ok(())
}

fn case(out: &mut impl io::Write, result: &CaseResult, file: &FileResult, paint: Paint) -> io::Result<()> {
    let subject = match result.kind.as_str() {
        "" => result.resource.to_string(),
        kind => object_title(kind, &result.namespace, &result.resource),
    };
    let head = match subject.as_str() {
        "" => visible(&result.rule_text).into_owned(),
        subject => format!("{} on {}", visible(&result.rule_text), visible(subject)),
    };
    let place = paint.cyan(&visible(&result.place));
    if result.is_named {
        writeln!(out, "    {}\n      {head}   {place}", paint.bold(&visible(&result.case)))?;
    } else {
        writeln!(out, "    {}   {place}", paint.bold(&head))?;
    }
    for line in result.message.lines() {
        writeln!(out, "      {}", visible(line))?;
    }
    if let Some(hint) = result.hint.clone().or_else(|| trace_hint(result, file)) {
        writeln!(out, "      {}", paint.dim(&visible(&format!("try: {hint}"))))?;
    }
    Ok(())
}

/// Returns the command that traces the rule of a case.
fn trace_hint(result: &CaseResult, file: &FileResult) -> Option<String> {
    let rule = result.rule.as_ref().filter(|rule| !result.actual.is_empty() && !rule.traced.is_empty())?;
    let mut hint = format!("kubewright trace {} --rule {}", file.trace, rule.traced);
    if let Some(operation) = result.operation.filter(|operation| *operation != Operation::Create) {
        hint.push_str(&format!(" --operation {operation}"));
    }
    Some(hint)
}

/// Writes the results as one JSON document.
pub(super) fn document(files: &[FileResult], coverage: Option<&Coverage>) -> io::Result<()> {
    let mut out = standard_output();
    write!(out, "{{\n  \"results\": [")?;
    // One after the other, because there may be many.
    let mut is_first = true;
    for (file, result) in files.iter().flat_map(|file| file.results.iter().map(move |result| (file, result)))
    {
        let start = if std::mem::take(&mut is_first) { "\n    " } else { ",\n    " };
        write!(out, "{start}{}", indented(&item(result, &file.file), "    "))?;
    }
    let (passed, failed) = count(files);
    let summary = Map::from([("passed", Value::from(passed)), ("failed", failed.into())]);
    let end = if is_first { "]" } else { "\n  ]" };
    write!(out, "{end},\n  \"summary\": {}", indented(&summary.into(), "  "))?;
    if let Some(coverage) = coverage {
        write!(out, ",\n  \"coverage\": {}", indented(&coverage.to_value(), "  "))?;
    }
    writeln!(out, "\n}}")?;
    out.flush()
}

/// Writes the same document as YAML.
pub(super) fn yaml(files: &[FileResult], coverage: Option<&Coverage>) -> io::Result<()> {
    let mut out = standard_output();
    let of_file = |file: &FileResult| {
        file.results.iter().map(|result| item(result, &file.file)).collect::<Vec<Value>>()
    };
    let (passed, failed) = count(files);
    let summary = Map::from([("passed", Value::from(passed)), ("failed", failed.into())]);
    let results = Value::array(files.iter().flat_map(of_file).collect());
    let mut document = Map::from([("results", results), ("summary", summary.into())]);
    if let Some(coverage) = coverage {
        document.insert("coverage".into(), coverage.to_value());
    }
    out.write_all(kubewright_value::yaml::write(&document.into()).as_bytes())?;
    out.flush()
}

/// Writes the results as a table in Markdown.
pub(super) fn markdown(files: &[FileResult]) -> io::Result<()> {
    let mut out = standard_output();
    writeln!(
        out,
        "| | policy | rule | resource | expected | actual | message |\n|---|---|---|---|---|---|---|"
    )?;
    for result in files.iter().flat_map(|file| &file.results) {
        let mark = if result.is_ok { "✓" } else { "✗" };
        let policy = result.rule.as_ref().map_or(result.case.as_str(), |rule| rule.policy.as_str());
        let rule = result.rule.as_ref().and_then(|rule| rule.rule.as_deref()).unwrap_or_default();
        let names = [result.kind.as_str(), &result.namespace, &result.resource];
        let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let resource = names.join("/");
        let texts = [policy, rule, &resource, &result.expected, &result.actual, &result.message];
        writeln!(out, "| {mark} | {} |", texts.map(cell).join(" | "))?;
    }
    let (passed, failed) = count(files);
    writeln!(out, "\n{} passed, {} failed", grouped(passed), grouped(failed))?;
    out.flush()
}

fn indented(value: &Value, by: &str) -> String {
    json::to_shown_pretty(value).replace('\n', &format!("\n{by}"))
}

fn item(result: &CaseResult, file: &str) -> Value {
    let rule = result.rule.as_ref();
    let mut item = Map::from([
        ("file", Value::from(file)),
        ("case", result.case.as_str().into()),
        ("dialect", rule.map(|rule| rule.dialect).into()),
        ("policy", rule.map(|rule| rule.policy.clone()).into()),
        ("rule", rule.and_then(|rule| rule.rule.clone()).into()),
        ("ruleType", rule.and_then(|rule| rule.sort.clone()).into()),
    ]);
    if let Some(method) = rule.and_then(|rule| rule.method) {
        item.insert("method".into(), method.into());
    }
    let rest = [
        ("kind", Value::from(result.kind.clone())),
        ("namespace", result.namespace.clone().into()),
        ("resource", result.resource.clone().into()),
        ("expected", result.expected.as_str().into()),
        ("actual", result.actual.as_str().into()),
        ("ok", result.is_ok.into()),
        ("message", result.message.as_str().into()),
    ];
    for (key, value) in rest {
        item.insert(key.into(), value);
    }
    item.into()
}

/// Writes the results as JUnit XML.
pub(super) fn junit(files: &[FileResult]) -> io::Result<()> {
    let mut out = standard_output();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"kubewright\">")?;
    for file in files {
        let (all, failed) = (file.results.len(), file.failed().count());
        let name = xml(&file.file);
        writeln!(
            out,
            "  <testsuite name=\"{name}\" tests=\"{all}\" failures=\"{failed}\" errors=\"0\" skipped=\"0\">"
        )?;
        for result in &file.results {
            let head = format!(
                "    <testcase name=\"{}\" classname=\"{}\"",
                xml(&result.case),
                xml(&result.rule_text)
            );
            if result.is_ok {
                writeln!(out, "{head}/>")?;
            } else {
                let first = result.message.lines().next().unwrap_or_default();
                writeln!(
                    out,
                    "{head}>\n      <failure message=\"{}\">{}</failure>\n    </testcase>",
                    xml(first),
                    xml(&result.message)
                )?;
            }
        }
        writeln!(out, "  </testsuite>")?;
    }
    writeln!(out, "</testsuites>")?;
    out.flush()
}
