//! Regular expressions, wildcards, labels and version ranges.

use kubewright_golib::glob::WildcardPattern;
use kubewright_golib::regex::{self, Regex};
use kubewright_value::semver::{Version, VersionRange};
use kubewright_value::{Budget, Value};

use super::super::eval;
use super::super::function::{Accepts, Argument, Body, Builtin, Failure, builtin};
use super::text;

/// What a pattern may take when it is compiled, and what that costs at least.
const REGEX_SIZE: usize = 256 << 10;
const REGEX_STEPS: u64 = 2_000;

const PLAIN: Accepts = Accepts::STRING.or(Accepts::NUMBER);
const MATCHING: &[Accepts] = &[Accepts::STRING, PLAIN];
const REPLACING: &[Accepts] = &[Accepts::STRING, PLAIN, PLAIN];

pub(super) const TABLE: &[Builtin] = &[
    builtin(
        "regex_match",
        MATCHING,
        "boolean",
        "whether the regular expression matches somewhere in the text",
        |arguments, budget| regex_match(&compiled(arguments, budget)?, arguments, budget),
    )
    .preparing(|literals| prepare_regex(literals, regex_match)),
    builtin(
        "regex_replace_all",
        REPLACING,
        "string",
        "the text with each match of the expression replaced; `$1` is its first group",
        |arguments, budget| regex_replace_all(&compiled(arguments, budget)?, arguments, budget),
    )
    .preparing(|literals| prepare_regex(literals, regex_replace_all)),
    builtin(
        "regex_replace_all_literal",
        REPLACING,
        "string",
        "the text with each match of the expression replaced; `$` stands for itself",
        |arguments, budget| regex_replace_all_literal(&compiled(arguments, budget)?, arguments, budget),
    )
    .preparing(|literals| prepare_regex(literals, regex_replace_all_literal)),
    builtin(
        "pattern_match",
        MATCHING,
        "boolean",
        "whether the whole text fits the wildcards: `*` is anything, `?` one character",
        |arguments, budget| {
            let pattern = arguments.first().map_or("", Argument::text);
            budget.step(pattern.len() as u64)?;
            pattern_match(&WildcardPattern::parse(pattern), arguments, budget)
        },
    )
    .preparing(|literals| {
        let glob = WildcardPattern::parse(literals.first().copied().flatten()?.as_str()?);
        Some(Box::new(move |arguments, budget| pattern_match(&glob, arguments, budget)))
    }),
    builtin(
        "label_match",
        &[Accepts::OBJECT, Accepts::OBJECT],
        "boolean",
        "whether the second object has every entry of the first",
        label_match,
    ),
    builtin(
        "semver_compare",
        &[Accepts::STRING, Accepts::STRING],
        "boolean",
        "whether the version is in the range, such as `>=1.2.3 <2.0.0`",
        |arguments, budget| semver_compare(&range(arguments, budget)?, arguments, budget),
    )
    .preparing(|literals| {
        let range = VersionRange::parse(literals.get(1).copied().flatten()?.as_str()?).ok()?;
        Some(Box::new(move |arguments, budget| semver_compare(&range, arguments, budget)))
    }),
];

type WithRegex = fn(&Regex, &[Argument<'_>], &mut Budget) -> Result<Value, Failure>;

/// A bad expression is left for the call to complain about.
fn prepare_regex(literals: &[Option<&Value>], call: WithRegex) -> Option<Box<Body>> {
    let pattern = literals.first().copied().flatten()?.as_str()?;
    let regex = regex::compile_regex(pattern).ok()?;
    Some(Box::new(move |arguments, budget| call(&regex, arguments, budget)))
}

fn regex_match(regex: &Regex, arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let text = text(arguments, 1);
    Ok(Value::Bool(regex.is_match(&text, budget)?))
}

fn regex_replace_all(
    regex: &Regex,
    arguments: &[Argument<'_>],
    budget: &mut Budget,
) -> Result<Value, Failure> {
    let (text, replacement) = (text(arguments, 1), text(arguments, 2));
    Ok(Value::from(regex::replace_all(regex, &text, &replacement, budget)?))
}

fn regex_replace_all_literal(
    regex: &Regex,
    arguments: &[Argument<'_>],
    budget: &mut Budget,
) -> Result<Value, Failure> {
    let (text, replacement) = (text(arguments, 1), text(arguments, 2));
    Ok(Value::from(regex::replace_all_literal(regex, &text, &replacement, budget)?))
}

fn compiled(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Regex, Failure> {
    let pattern = arguments.first().map_or("", Argument::text);
    budget.step(REGEX_STEPS.saturating_add(pattern.len() as u64 * 64))?;
    let regex = regex::compile_regex_within(pattern, REGEX_SIZE).map_err(|error| {
        Failure::wrong_value(format!("bad regular expression `{pattern}`: {error}")).about(0)
    })?;
    budget.step(regex.compiling_cost())?;
    Ok(regex)
}

fn pattern_match(
    glob: &WildcardPattern,
    arguments: &[Argument<'_>],
    budget: &mut Budget,
) -> Result<Value, Failure> {
    Ok(Value::Bool(glob.matches(&text(arguments, 1), budget)?))
}

/// Returns whether the second object has every entry of the first.
fn label_match(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [wanted, labels] = arguments else { return Ok(Value::Null) };
    for (key, value) in wanted.value().as_object().into_iter().flat_map(|wanted| wanted.iter()) {
        let is_there = match labels.value().get(key) {
            Some(found) => eval::equal(budget, found, value)?,
            None => false,
        };
        if !is_there {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

/// A text that is no version counts as 0.0.0.
fn semver_compare(
    range: &VersionRange,
    arguments: &[Argument<'_>],
    budget: &mut Budget,
) -> Result<Value, Failure> {
    let version = arguments.first().map_or("", Argument::text);
    budget.step(version.len() as u64)?;
    let version = Version::parse(version).unwrap_or_else(|_| Version::new(0, 0, 0));
    Ok(Value::Bool(range.contains(&version)))
}

fn range(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<VersionRange, Failure> {
    let range = arguments.get(1).map_or("", Argument::text);
    budget.step(range.len() as u64)?;
    VersionRange::parse(range)
        .map_err(|error| Failure::wrong_value(format!("bad version range `{range}`: {error}")).about(1))
}
