//! Regular expressions, wildcards, labels and version ranges.

use kubewright_value::semver::{Version, VersionRange};
use kubewright_value::{Budget, Value};

use super::super::eval;
use super::super::function::{Accepts, Argument, Failure, Functions, Signature};
use super::plain_text;
use crate::goregex::{self, Regex};

/// What a pattern may take when it is compiled, and what that costs at least.
const REGEX_SIZE: usize = 1 << 20;
const REGEX_STEPS: u64 = 2_000;

pub(super) fn add_to(functions: Functions) -> Functions {
    let plain = Accepts::STRING | Accepts::NUMBER;
    let matching = || Signature::of([Accepts::STRING, plain]);
    let replacing = || Signature::of([Accepts::STRING, plain, plain]);
    functions
        .with("regex_match", matching(), regex_match)
        .with("regex_replace_all", replacing(), |arguments, budget| {
            regex_replace(arguments, budget, goregex::replace_all)
        })
        .with("regex_replace_all_literal", replacing(), |arguments, budget| {
            regex_replace(arguments, budget, goregex::replace_all_literal)
        })
        .with("pattern_match", matching(), pattern_match)
        .with("label_match", Signature::of([Accepts::OBJECT, Accepts::OBJECT]), label_match)
        .with("semver_compare", Signature::of([Accepts::STRING, Accepts::STRING]), semver_compare)
}

fn regex_match(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [pattern, source] = arguments else { return Ok(Value::Null) };
    let regex = compiled(pattern, budget)?;
    let text = plain_text(source.value()).unwrap_or_default();
    budget.step(regex.cost(&text))?;
    Ok(Value::Bool(regex.is_match(&text)))
}

fn regex_replace(
    arguments: &[Argument<'_>],
    budget: &mut Budget,
    replace: fn(&Regex, &str, &str) -> String,
) -> Result<Value, Failure> {
    let [pattern, source, replacement] = arguments else { return Ok(Value::Null) };
    let regex = compiled(pattern, budget)?;
    let text = plain_text(source.value()).unwrap_or_default();
    let replacement = plain_text(replacement.value()).unwrap_or_default();
    budget.step(regex.cost(&text).saturating_mul(2))?;
    // All matches together are no longer than the text, and each `$` may stand for one.
    let groups = replacement.matches('$').count().saturating_mul(text.len());
    let plain = regex.find_all(&text).count().saturating_mul(replacement.len());
    budget.produce(text.len().saturating_add(groups).saturating_add(plain))?;
    Ok(Value::from(replace(&regex, &text, &replacement)))
}

fn compiled(pattern: &Argument<'_>, budget: &mut Budget) -> Result<Regex, Failure> {
    let pattern = pattern.text();
    budget.step(REGEX_STEPS.saturating_add(pattern.len() as u64 * 64))?;
    let regex = goregex::compile_within(pattern, REGEX_SIZE).map_err(|error| {
        Failure::wrong_value(format!("bad regular expression `{pattern}`: {error}")).about(0)
    })?;
    budget.step(regex.cost("").saturating_mul(64))?;
    Ok(regex)
}

/// `*` stands for any characters, `?` for one; the pattern is the whole text.
fn pattern_match(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [pattern, source] = arguments else { return Ok(Value::Null) };
    let text = plain_text(source.value()).unwrap_or_default();
    let text: Vec<char> = text.chars().collect();
    let pattern: Vec<char> = pattern.text().chars().collect();
    budget.step((text.len() + pattern.len()) as u64 / 8)?;
    let (mut at, mut want) = (0, 0);
    // Where to go on when a try fails: behind the last `*`, one character further.
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        budget.step(1)?;
        match pattern.get(want) {
            Some('*') => {
                want += 1;
                retry = Some((at, want));
            }
            Some(c) if *c == '?' || text.get(at) == Some(c) => {
                at += 1;
                want += 1;
            }
            _ => match retry {
                Some((from, behind)) => {
                    (at, want) = (from + 1, behind);
                    retry = Some((at, behind));
                }
                None => return Ok(Value::Bool(false)),
            },
        }
    }
    Ok(Value::Bool(pattern.iter().skip(want).all(|c| *c == '*')))
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
fn semver_compare(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let [version, range] = arguments else { return Ok(Value::Null) };
    budget.step((version.text().len() + range.text().len()) as u64)?;
    let parsed = VersionRange::parse(range.text()).map_err(|error| {
        Failure::wrong_value(format!("bad version range `{}`: {error}", range.text())).about(1)
    })?;
    let version = Version::parse(version.text()).unwrap_or_else(|_| Version::new(0, 0, 0));
    Ok(Value::Bool(parsed.contains(&version)))
}
