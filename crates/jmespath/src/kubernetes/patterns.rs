//! Regular expressions, wildcards, labels and version ranges.

use kubewright_golib::glob::WildcardPattern;
use kubewright_golib::regex::{self, Regex};
use kubewright_value::semver::{Version, VersionRange};
use kubewright_value::{Budget, Value};

use super::super::eval;
use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, JmesPathFunctionBody, define_builtin,
};
use super::text_or_empty;

/// The largest compiled regular expression, and the minimum steps of compiling one.
const MAX_REGEX_BYTES: usize = 256 << 10;
const REGEX_COMPILE_STEPS: u64 = 2_000;

const PLAIN: ArgumentTypes = ArgumentTypes::STRING.or(ArgumentTypes::NUMBER);
const MATCHING: &[ArgumentTypes] = &[ArgumentTypes::STRING, PLAIN];
const REPLACING: &[ArgumentTypes] = &[ArgumentTypes::STRING, PLAIN, PLAIN];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin(
        "regex_match",
        MATCHING,
        "boolean",
        "whether the regular expression matches somewhere in the text",
        |arguments, budget| call_regex_match(&compile_argument(arguments, budget)?, arguments, budget),
    )
    .preparing(|literals| prepare_regex(literals, call_regex_match)),
    define_builtin(
        "regex_replace_all",
        REPLACING,
        "string",
        "the text with each match of the expression replaced; `$1` is its first group",
        |arguments, budget| call_regex_replace_all(&compile_argument(arguments, budget)?, arguments, budget),
    )
    .preparing(|literals| prepare_regex(literals, call_regex_replace_all)),
    define_builtin(
        "regex_replace_all_literal",
        REPLACING,
        "string",
        "the text with each match of the expression replaced; `$` is not special",
        |arguments, budget| {
            call_regex_replace_all_literal(&compile_argument(arguments, budget)?, arguments, budget)
        },
    )
    .preparing(|literals| prepare_regex(literals, call_regex_replace_all_literal)),
    define_builtin(
        "pattern_match",
        MATCHING,
        "boolean",
        "whether the whole text fits the wildcards: `*` is anything, `?` one character",
        |arguments, budget| {
            let pattern = arguments.first().map_or("", JmesPathArgument::text);
            budget.step(pattern.len() as u64)?;
            call_pattern_match(&WildcardPattern::parse(pattern), arguments, budget)
        },
    )
    .preparing(|literals| {
        let glob = WildcardPattern::parse(literals.first().copied().flatten()?.as_str()?);
        Some(Box::new(move |arguments, budget| call_pattern_match(&glob, arguments, budget)))
    }),
    define_builtin(
        "label_match",
        &[ArgumentTypes::OBJECT, ArgumentTypes::OBJECT],
        "boolean",
        "whether the second object has every entry of the first",
        call_label_match,
    ),
    define_builtin(
        "semver_compare",
        &[ArgumentTypes::STRING, ArgumentTypes::STRING],
        "boolean",
        "whether the version is in the range, such as `>=1.2.3 <2.0.0`",
        |arguments, budget| {
            call_semver_compare(&version_range_argument(arguments, budget)?, arguments, budget)
        },
    )
    .preparing(|literals| {
        let range = VersionRange::parse(literals.get(1).copied().flatten()?.as_str()?).ok()?;
        Some(Box::new(move |arguments, budget| call_semver_compare(&range, arguments, budget)))
    }),
];

type RegexFunction = fn(&Regex, &[JmesPathArgument<'_>], &mut Budget) -> Result<Value, JmesPathFailure>;

/// Compiles a literal regular expression. An invalid one is reported by the call.
fn prepare_regex(literals: &[Option<&Value>], call: RegexFunction) -> Option<Box<JmesPathFunctionBody>> {
    let pattern = literals.first().copied().flatten()?.as_str()?;
    let regex = regex::compile_regex(pattern).ok()?;
    Some(Box::new(move |arguments, budget| call(&regex, arguments, budget)))
}

fn call_regex_match(
    regex: &Regex,
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let text = text_or_empty(arguments, 1);
    Ok(Value::Bool(regex.is_match(&text, budget)?))
}

fn call_regex_replace_all(
    regex: &Regex,
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let (text, replacement) = (text_or_empty(arguments, 1), text_or_empty(arguments, 2));
    Ok(Value::from(regex::replace_all(regex, &text, &replacement, budget)?))
}

fn call_regex_replace_all_literal(
    regex: &Regex,
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let (text, replacement) = (text_or_empty(arguments, 1), text_or_empty(arguments, 2));
    Ok(Value::from(regex::replace_all_literal(regex, &text, &replacement, budget)?))
}

fn compile_argument(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Regex, JmesPathFailure> {
    let pattern = arguments.first().map_or("", JmesPathArgument::text);
    budget.step(REGEX_COMPILE_STEPS.saturating_add(pattern.len() as u64 * 64))?;
    let regex = regex::compile_regex_within(pattern, MAX_REGEX_BYTES).map_err(|error| {
        JmesPathFailure::wrong_value(format!("bad regular expression `{pattern}`: {error}")).about(0)
    })?;
    budget.step(regex.compiling_cost())?;
    Ok(regex)
}

fn call_pattern_match(
    glob: &WildcardPattern,
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    Ok(Value::Bool(glob.matches(&text_or_empty(arguments, 1), budget)?))
}

/// Returns whether the second object has every entry of the first.
fn call_label_match(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let [wanted, labels] = arguments else { return Ok(Value::Null) };
    for (key, value) in wanted.value().as_object().into_iter().flat_map(|wanted| wanted.iter()) {
        let is_there = match labels.value().get(key) {
            Some(found) => eval::equal_within_budget(budget, found, value)?,
            None => false,
        };
        if !is_there {
            return Ok(Value::Bool(false));
        }
    }
    Ok(Value::Bool(true))
}

/// Compares a version with a range. An invalid version counts as 0.0.0.
fn call_semver_compare(
    range: &VersionRange,
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let version = arguments.first().map_or("", JmesPathArgument::text);
    budget.step(version.len() as u64)?;
    let version = Version::parse(version).unwrap_or_else(|_| Version::new(0, 0, 0));
    Ok(Value::Bool(range.contains(&version)))
}

fn version_range_argument(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<VersionRange, JmesPathFailure> {
    let range = arguments.get(1).map_or("", JmesPathArgument::text);
    budget.step(range.len() as u64)?;
    VersionRange::parse(range).map_err(|error| {
        JmesPathFailure::wrong_value(format!("bad version range `{range}`: {error}")).about(1)
    })
}
