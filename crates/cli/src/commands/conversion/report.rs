//! The report of a conversion: a line for each rule that was not converted and why, and totals.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write as _};

use kubewright_convert::{ConversionNote, UnconvertedRule};
use kubewright_value::{Location, Map, Text, Value, json};

use super::ConvertedDocument;
use crate::arguments::{ConversionArguments, ConversionFormat};
use crate::output::{ColorChoice, json_place, print_stderr, standard_output, visible};
use kubewright_value::CompactSort as _;

/// The maximum number of names in a line.
const MAX_LISTED_NAMES: usize = 8;

/// The maximum number of places below a note.
const MAX_NOTE_PLACES: usize = 3;
/// The maximum number of expressions below a reason.
const MAX_LISTED_EXPRESSIONS: usize = 5;

/// Writes omissions to standard error, and the requested report to standard output.
pub(super) fn write_conversion_report(
    converted: &[ConvertedDocument],
    arguments: &ConversionArguments,
    color: ColorChoice,
) -> io::Result<()> {
    if arguments.output == ConversionFormat::Json {
        return write_conversion_document(converted, arguments.summary);
    }
    if arguments.summary {
        return write_conversion_table(converted);
    }
    print_conversion_lines(converted, color);
    Ok(())
}

/// Lists rules that were not converted, that differ, and that no test compares.
fn print_conversion_lines(converted: &[ConvertedDocument], color: ColorChoice) {
    let paint = color.paint_errors();
    let place = |location: &Location| format!("{}:{}", location.source.name, location.position.line);
    for one in converted {
        let policy = &one.conversion.policy;
        for UnconvertedRule { rule, why, location } in &one.conversion.refused {
            let what = match rule.as_str() {
                "" => format!("`{policy}` is not converted: {why}"),
                rule => format!("rule `{rule}` of `{policy}` is not converted: {why}"),
            };
            print_stderr(format_args!("{} {}: {what}", paint.yellow("left out"), place(location)));
        }
        for (at, difference) in &one.proof.differences {
            let rules = converted_rules(one, *at);
            let file = &one.document.source.name;
            print_stderr(format_args!(
                "{} {file}: {rules} of `{policy}` is not written: it {difference}",
                paint.red("differs")
            ));
        }
    }
    let mut notes: BTreeMap<&str, Vec<&ConversionNote>> = BTreeMap::new();
    for note in
        converted.iter().filter(|one| one.given_out().count() > 0).flat_map(|one| &one.conversion.notes)
    {
        notes.entry(&note.what).or_default().push(note);
    }
    for (what, about) in notes {
        let mut places: Vec<String> = Vec::new();
        let mut known: HashSet<String> = HashSet::new();
        for note in about {
            let place = if note.about.is_empty() { place(&note.location) } else { note.about.clone() };
            if known.insert(place.clone()) {
                places.push(place);
            }
        }
        print_stderr(format_args!("{} {what}", paint.bold("note")));
        for place in places.iter().take(MAX_NOTE_PLACES) {
            print_stderr(format_args!("       {place}"));
        }
        if places.len() > MAX_NOTE_PLACES {
            print_stderr(format_args!("       and {} more", places.len() - MAX_NOTE_PLACES));
        }
    }
    let unproven: Vec<&Text> =
        converted.iter().filter(|one| is_unproven(one)).map(|one| &one.conversion.policy).collect();
    if !unproven.is_empty() {
        let names: Vec<String> = unproven.iter().map(|name| format!("`{name}`")).collect();
        let without =
            if unproven.len() == 1 { "has no test that judges it" } else { "have no test that judges them" };
        print_stderr(format_args!(
            "{} {} {without}: not compared with the source",
            paint.yellow("unproven"),
            shortened_list(&names)
        ));
    }
}

/// Returns a list that is not too long for a line.
fn shortened_list(names: &[String]) -> String {
    let listed = names.iter().take(MAX_LISTED_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_LISTED_NAMES) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// Returns whether a written document of a policy was not compared with its source by a test.
fn is_unproven(one: &ConvertedDocument) -> bool {
    (0..one.conversion.written.len()).any(|at| !one.proof.is_refused(at) && !one.proof.is_proven(at))
}

fn converted_rules(one: &ConvertedDocument, at: usize) -> String {
    let rules = one.conversion.written.get(at).map(|written| written.rules.as_slice()).unwrap_or_default();
    let names: Vec<String> = rules.iter().map(|rule| format!("`{rule}`")).collect();
    format!("{} {}", if names.len() == 1 { "rule" } else { "rules" }, names.join(", "))
}

/// Numbers of policies and rules in one category.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::commands) struct ReasonCount {
    pub(in crate::commands) policies: usize,
    pub(in crate::commands) rules: usize,
}

/// The totals of a run.
#[derive(Debug, Default)]
pub(in crate::commands) struct ConversionSummary {
    given: ReasonCount,
    whole: ReasonCount,
    partly: ReasonCount,
    none: ReasonCount,
    proven: ReasonCount,
    /// Rules that differ from their source on a test.
    differing: usize,
    /// Reasons for omitted rules, the most frequent first.
    reasons: Vec<OmissionReason>,
}

/// Why rules are omitted.
#[derive(Debug, Default)]
struct OmissionReason {
    /// In words, with `…` in place of expressions that differ between the rules.
    why: String,
    /// How many rules.
    rules: usize,
    /// The expressions, each once.
    expressions: Vec<String>,
}

impl ConversionSummary {
    /// Counts what became of `converted`.
    pub(in crate::commands) fn of(converted: &[ConvertedDocument]) -> Self {
        let mut summary = Self::default();
        let mut reasons: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
        for one in converted {
            let all = one.conversion.rules;
            let given_out: usize = one.given_out().map(|(written, _)| written.rules.len()).sum();
            let proven = one.conversion.written.iter().enumerate().filter(|(at, _)| one.proof.is_proven(*at));
            let proven: usize = proven.map(|(_, written)| written.rules.len()).sum();
            summary.given.add(1, all);
            match given_out {
                0 => summary.none.add(1, 0),
                some if some == all => summary.whole.add(1, all),
                some => summary.partly.add(1, some),
            }
            summary.none.rules += all.saturating_sub(given_out);
            summary.proven.add(usize::from(proven > 0 && proven == given_out), proven);
            for refused in &one.conversion.refused {
                let (why, expression) = general_reason(&refused.why);
                let (count, expressions) = reasons.entry(why).or_default();
                *count += 1;
                if let Some(expression) = expression.filter(|one| !expressions.contains(one)) {
                    expressions.push(expression);
                }
            }
            for (at, written) in
                one.conversion.written.iter().enumerate().filter(|(at, _)| one.proof.is_refused(*at))
            {
                let is_different = one.proof.differences.iter().any(|(differing, _)| *differing == at);
                summary.differing += if is_different { written.rules.len() } else { 0 };
                let reason =
                    if is_different { "differs from the source on a test" } else { "no test judges it" };
                reasons.entry(reason.to_owned()).or_default().0 += written.rules.len();
            }
        }
        let reasons = reasons.into_iter();
        summary.reasons =
            reasons.map(|(why, (rules, expressions))| OmissionReason { why, rules, expressions }).collect();
        summary
            .reasons
            .compact_sort_by(|one, other| other.rules.cmp(&one.rules).then_with(|| one.why.cmp(&other.why)));
        summary
    }
}

impl ReasonCount {
    fn add(&mut self, policies: usize, rules: usize) {
        self.policies += policies;
        self.rules += rules;
    }
}

/// Returns a reason without its quotation, which differs between policies, and the quotation; all of the reason where it
/// quotes only keywords of the language.
fn general_reason(why: &str) -> (String, Option<String>) {
    let is_word = |text: &str| {
        text.len() <= 24 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.: -/".contains(c))
    };
    // An expression that is quoted may have the same quotes in it.
    let (Some(first), Some(last)) = (why.find('`'), why.rfind('`')) else { return (why.to_owned(), None) };
    if why.split('`').skip(1).step_by(2).all(is_word) {
        return (why.to_owned(), None);
    }
    let (before, after) = (why.get(..first).unwrap_or_default(), why.get(last + 1..).unwrap_or_default());
    let quotation = why.get(first..=last).unwrap_or_default();
    (format!("{before}`…`{after}"), Some(quotation.to_owned()))
}

fn write_conversion_table(converted: &[ConvertedDocument]) -> io::Result<()> {
    write_summary_table(&ConversionSummary::of(converted))
}

/// Writes the totals as a table.
pub(in crate::commands) fn write_summary_table(summary: &ConversionSummary) -> io::Result<()> {
    let mut out = standard_output();
    writeln!(out, "{:<36} {:>8} {:>8}", "", "policies", "rules")?;
    for (name, count) in [
        ("given", summary.given),
        ("converted whole", summary.whole),
        ("converted in part", summary.partly),
        ("not converted", summary.none),
        ("proven by tests of their own", summary.proven),
    ] {
        writeln!(out, "{name:<36} {:>8} {:>8}", count.policies, count.rules)?;
    }
    if !summary.reasons.is_empty() {
        writeln!(out, "\n{:>5}  why not", "rules")?;
    }
    for OmissionReason { why, rules, expressions } in &summary.reasons {
        match expressions.as_slice() {
            [only] => writeln!(out, "{rules:>5}  {}", visible(&why.replacen("`…`", only, 1)))?,
            several => {
                writeln!(out, "{rules:>5}  {}", visible(why))?;
                for expression in several.iter().take(MAX_LISTED_EXPRESSIONS) {
                    writeln!(out, "         {}", visible(expression))?;
                }
                if several.len() > MAX_LISTED_EXPRESSIONS {
                    writeln!(out, "         and {} more", several.len() - MAX_LISTED_EXPRESSIONS)?;
                }
            }
        }
    }
    out.flush()
}

fn write_conversion_document(converted: &[ConvertedDocument], is_summary: bool) -> io::Result<()> {
    let mut map = Map::from([("version", Value::from(1_u64))]);
    if !is_summary {
        map.insert("policies".into(), Value::array(converted.iter().map(converted_policy_value).collect()));
    }
    map.insert("summary".into(), summary_value(&ConversionSummary::of(converted)));
    let mut out = standard_output();
    writeln!(out, "{}", json::to_shown_pretty(&map.into()))?;
    out.flush()
}

fn converted_policy_value(one: &ConvertedDocument) -> Value {
    let said = |rule: &Text, key: &str, text: &str, location: &Location| {
        let (file, line, column) = json_place(Some(location));
        let place = [("file", file), ("line", line), ("column", column)];
        let mut map = Map::from([("rule", Value::from(rule.clone())), (key, text.into())]);
        place.into_iter().for_each(|(key, value)| drop(map.insert(key.into(), value)));
        Value::from(map)
    };
    let refused = one.conversion.refused.iter();
    let refused = refused.map(|refused| said(&refused.rule, "why", &refused.why, &refused.location));
    let notes = one.conversion.notes.iter().map(|note| {
        let what = match note.about.as_str() {
            "" => note.what.clone(),
            about => format!("{}: {about}", note.what),
        };
        said(&note.rule, "what", &what, &note.location)
    });
    let written = one.conversion.written.iter().enumerate().map(|(at, written)| {
        let difference = one.proof.differences.iter().find(|(differing, _)| *differing == at);
        let mut map = Map::from([
            ("rules", Value::from(written.rules.clone())),
            ("proven", one.proof.is_proven(at).into()),
        ]);
        match difference {
            Some((_, difference)) => map.insert("difference".into(), difference.clone().into()),
            None if one.proof.is_refused(at) => None,
            None => map.insert("documents".into(), written.documents.clone().into()),
        };
        map.into()
    });
    Map::from([
        ("policy", Value::from(one.conversion.policy.clone())),
        ("file", one.document.source.name.as_str().into()),
        ("rules", one.conversion.rules.into()),
        ("written", Value::array(written.collect())),
        ("leftOut", Value::array(refused.collect())),
        ("notes", Value::array(notes.collect())),
    ])
    .into()
}

/// Returns the totals with stable keys.
pub(in crate::commands) fn summary_value(summary: &ConversionSummary) -> Value {
    let count = |count: ReasonCount| {
        Value::from(Map::from([("policies", Value::from(count.policies)), ("rules", count.rules.into())]))
    };
    let reasons = summary.reasons.iter().map(|reason| {
        let mut value = Map::from([("why", Value::from(reason.why.clone())), ("rules", reason.rules.into())]);
        if !reason.expressions.is_empty() {
            value.insert("expressions".into(), reason.expressions.clone().into());
        }
        value.into()
    });
    Map::from([
        ("given", count(summary.given)),
        ("whole", count(summary.whole)),
        ("inPart", count(summary.partly)),
        ("none", count(summary.none)),
        ("proven", count(summary.proven)),
        ("differing", summary.differing.into()),
        ("reasons", Value::array(reasons.collect())),
    ])
    .into()
}
