//! Says what was converted, what was not and why: a line for each rule, and numbers for all.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write as _};

use kubewright_convert::{ConversionNote, UnconvertedRule};
use kubewright_value::{Location, Map, Text, Value, json};

use super::Converted;
use crate::arguments::{ConversionFormat, Conversions};
use crate::output::{ColorChoice, json_place, standard_output, tell};

/// How many names a line lists.
const LISTED: usize = 8;

/// Tells on standard error what was left out, and on standard output what was asked for.
pub(super) fn tell_all(
    converted: &[Converted],
    arguments: &Conversions,
    color: ColorChoice,
) -> io::Result<()> {
    if arguments.output == ConversionFormat::Json {
        return document(converted, arguments.summary);
    }
    if arguments.summary {
        return table(converted);
    }
    lines(converted, color);
    Ok(())
}

/// Lists what was not converted, what is different afterwards, and what nothing proves.
fn lines(converted: &[Converted], color: ColorChoice) {
    let paint = color.paint_errors();
    let place = |location: &Location| format!("{}:{}", location.source.name, location.position.line);
    for one in converted {
        let policy = &one.conversion.policy;
        for UnconvertedRule { rule, why, location } in &one.conversion.refused {
            let what = format!("rule `{rule}` of `{policy}` is not converted: {why}");
            tell(format_args!("{} {}: {what}", paint.yellow("left out"), place(location)));
        }
        for (at, difference) in &one.proof.differences {
            let rules = rules(one, *at);
            let file = &one.document.source.name;
            tell(format_args!(
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
        tell(format_args!("{} {what}: {}", paint.bold("note"), some(&places)));
    }
    let unproven: Vec<&Text> =
        converted.iter().filter(|one| is_unproven(one)).map(|one| &one.conversion.policy).collect();
    if !unproven.is_empty() {
        let names: Vec<String> = unproven.iter().map(|name| format!("`{name}`")).collect();
        let without =
            if unproven.len() == 1 { "has no test that judges it" } else { "have no test that judges them" };
        tell(format_args!(
            "{} {} {without}: not compared with the source",
            paint.yellow("unproven"),
            some(&names)
        ));
    }
}

/// Returns a list that is not too long for a line.
fn some(names: &[String]) -> String {
    let listed = names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => listed,
        more => format!("{listed} and {more} more"),
    }
}

/// Returns whether something of a policy is written that no test has compared with the source.
fn is_unproven(one: &Converted) -> bool {
    (0..one.conversion.written.len()).any(|at| !one.proof.is_refused(at) && !one.proof.is_proven(at))
}

fn rules(one: &Converted, at: usize) -> String {
    let rules = one.conversion.written.get(at).map(|written| written.rules.as_slice()).unwrap_or_default();
    let names: Vec<String> = rules.iter().map(|rule| format!("`{rule}`")).collect();
    format!("{} {}", if names.len() == 1 { "rule" } else { "rules" }, names.join(", "))
}

/// How many policies and rules there are of a sort.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    policies: usize,
    rules: usize,
}

/// The numbers of a run.
#[derive(Debug, Default)]
struct Summary {
    given: Count,
    whole: Count,
    partly: Count,
    none: Count,
    proven: Count,
    /// Rules that differ from their source on a test.
    differing: usize,
    /// Why rules were left out, with how many.
    reasons: Vec<(String, usize)>,
}

impl Summary {
    fn of(converted: &[Converted]) -> Self {
        let mut summary = Self::default();
        let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
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
                *reasons.entry(general(&refused.why)).or_default() += 1;
            }
            for (at, written) in
                one.conversion.written.iter().enumerate().filter(|(at, _)| one.proof.is_refused(*at))
            {
                let is_different = one.proof.differences.iter().any(|(differing, _)| *differing == at);
                summary.differing += if is_different { written.rules.len() } else { 0 };
                let reason =
                    if is_different { "differs from the source on a test" } else { "no test judges it" };
                *reasons.entry(reason.to_owned()).or_default() += written.rules.len();
            }
        }
        summary.reasons = reasons.into_iter().collect();
        summary.reasons.sort_by(|(one, a), (other, b)| b.cmp(a).then_with(|| one.cmp(other)));
        summary
    }
}

impl Count {
    fn add(&mut self, policies: usize, rules: usize) {
        self.policies += policies;
        self.rules += rules;
    }
}

/// Returns a reason without what is only in one policy: what it quotes, unless these are words of every policy.
fn general(why: &str) -> String {
    let is_word = |text: &str| {
        text.len() <= 24 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.: -/".contains(c))
    };
    // An expression that is quoted may have the same quotes in it.
    let (Some(first), Some(last)) = (why.find('`'), why.rfind('`')) else { return why.to_owned() };
    if why.split('`').skip(1).step_by(2).all(is_word) {
        return why.to_owned();
    }
    let (before, after) = (why.get(..first).unwrap_or_default(), why.get(last + 1..).unwrap_or_default());
    format!("{before}`…`{after}")
}

fn table(converted: &[Converted]) -> io::Result<()> {
    let summary = Summary::of(converted);
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
    for (reason, count) in &summary.reasons {
        writeln!(out, "{count:>5}  {reason}")?;
    }
    out.flush()
}

fn document(converted: &[Converted], is_summary: bool) -> io::Result<()> {
    let mut map = Map::new();
    if !is_summary {
        map.insert("policies".into(), Value::array(converted.iter().map(policy).collect()));
    }
    map.insert("summary".into(), summary_value(&Summary::of(converted)));
    let mut out = standard_output();
    writeln!(out, "{}", json::to_shown_pretty(&map.into()))?;
    out.flush()
}

fn policy(one: &Converted) -> Value {
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

fn summary_value(summary: &Summary) -> Value {
    let count = |count: Count| {
        Value::from(Map::from([("policies", Value::from(count.policies)), ("rules", count.rules.into())]))
    };
    let reasons = summary.reasons.iter().map(|(why, rules)| {
        Map::from([("why", Value::from(why.clone())), ("rules", (*rules).into())]).into()
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
