//! What a pattern says about one scalar, in CEL.
//!
//! Whether a value fits depends on its type, so there is an answer for each type that can be there.

use kubewright_value::{Budget, Value};

use super::formula::Formula;
use super::shape::Shape;
use super::text::{double, literal};
use kubewright_kyverno::pattern::leaf::Leaf;
use kubewright_kyverno::pattern::leaf::text::{Alternatives, PatternOperator, PatternTerm, TermComparison};

/// A number as texts may write it.
pub(super) const NUMBER: &str = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,2})?$";

/// A duration.
pub(super) const DURATION: &str = r"^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$";

/// Why a scalar has no equivalent.
pub(super) type Said<T> = Result<T, String>;

/// Returns whether `value`, which is there and is no list, fits `leaf`.
pub(super) fn fits(leaf: &Leaf, value: &str, shape: Shape) -> Said<Formula> {
    Ok(match shape {
        Shape::Map(_) | Shape::MapOf(_) | Shape::List(_) | Shape::Required(_) => Formula::False,
        Shape::Bool => of_bool(leaf, value),
        Shape::Int => match leaf {
            Leaf::Float(wanted) if wanted.fract() != 0.0 => Formula::False,
            leaf => of_int(leaf, value)?,
        },
        Shape::Word | Shape::Text | Shape::Amount => of_text(leaf, value, shape),
        Shape::Port => {
            number(value, of_int(leaf, value)?).or(guarded("string", value, of_text(leaf, value, shape)))
        }
        Shape::Any => of_anything(leaf, value)?,
    })
}

/// Returns whether no value at all fits.
pub(super) fn accepts_null(leaf: &Leaf) -> bool {
    accepts(leaf, &Value::Null)
}

/// Returns a literal for what is not there, which fits or does not.
pub(super) fn stand_in(leaf: &Leaf, shape: Shape, is_fitting: bool) -> Option<String> {
    let texts = || {
        let operands = match leaf {
            Leaf::Text(text) => operands(text),
            _ => Vec::new(),
        };
        let bare = operands.iter().map(|operand| operand.replace(['*', '?'], ""));
        let operands: Vec<String> = bare.chain(operands.iter().cloned()).collect();
        std::iter::once(String::new())
            .chain(operands)
            .map(|text| (Value::from(text.as_str()), literal(&text)))
    };
    let candidates: Vec<(Value, String)> = match shape {
        Shape::Bool => vec![(Value::from(false), "false".to_owned()), (Value::from(true), "true".to_owned())],
        Shape::Int => [0_i64, 1, -1]
            .into_iter()
            .chain(if let Leaf::Int(wanted) = leaf { Some(*wanted) } else { None })
            .map(|number| (Value::from(number), number.to_string()))
            .collect(),
        Shape::Word | Shape::Text => texts().collect(),
        Shape::Amount => std::iter::once((Value::from("0"), "\"0\"".to_owned()))
            .chain(texts().filter(|(value, _)| is_quantity(value)))
            .collect(),
        _ => Vec::new(),
    };
    candidates.into_iter().find(|(value, _)| accepts(leaf, value) == is_fitting).map(|(_, literal)| literal)
}

fn is_quantity(value: &Value) -> bool {
    value.as_str().is_some_and(|text| kubewright_value::quantity::Quantity::parse(text).is_ok())
}

fn accepts(leaf: &Leaf, value: &Value) -> bool {
    leaf.fits(value, &mut Budget::default()).unwrap_or(false)
}

fn guarded(type_name: &str, value: &str, formula: Formula) -> Formula {
    match formula {
        Formula::False => Formula::False,
        formula => Formula::compare(&format!("type({value})"), "==", type_name).and(formula),
    }
}

/// Returns `formula` for numbers, of what is a number or a text. Kyverno hands whole numbers on as doubles.
fn number(value: &str, formula: Formula) -> Formula {
    match formula {
        Formula::False => Formula::False,
        formula => Formula::compare(&format!("type({value})"), "!=", "string").and(formula),
    }
}

fn of_bool(leaf: &Leaf, value: &str) -> Formula {
    match (accepts(leaf, &Value::from(true)), accepts(leaf, &Value::from(false))) {
        (true, true) => Formula::True,
        (false, false) => Formula::False,
        (wanted, _) => Formula::compare(value, "==", if wanted { "true" } else { "false" }),
    }
}

fn of_int(leaf: &Leaf, value: &str) -> Said<Formula> {
    Ok(match leaf {
        Leaf::Null => Formula::compare(value, "==", "0"),
        Leaf::Bool(_) => Formula::False,
        Leaf::Int(wanted) => Formula::compare(value, "==", &wanted.to_string()),
        Leaf::Float(wanted) => Formula::compare(value, "==", &double(*wanted)),
        Leaf::Some => Formula::True,
        Leaf::Text(text) => combined(text, &mut |comparison| {
            let Some(quantity) = &comparison.quantity else { return number_glob(comparison) };
            Ok(match quantity.as_i64() {
                Some(wanted) => Formula::compare(value, sign(comparison.operator), &wanted.to_string()),
                None => amounts(&format!("string({value})"), comparison),
            })
        })?,
    })
}

fn of_double(leaf: &Leaf, value: &str) -> Said<Formula> {
    match leaf {
        Leaf::Text(text) => combined(text, &mut |comparison| match &comparison.quantity {
            Some(_) => Ok(amounts(&format!("\"%.6f\".format([{value}])"), comparison)),
            None => number_glob(comparison),
        }),
        other => of_int(other, value),
    }
}

/// Returns whether wildcards fit a number, which is written with an exponent.
fn number_glob(comparison: &TermComparison) -> Said<Formula> {
    let glob = comparison.operand.as_str();
    let is_negated = match comparison.operator {
        PatternOperator::Equal => false,
        PatternOperator::NotEqual => true,
        _ => return Ok(Formula::False),
    };
    let fits = match glob {
        "*" | "?*" | "*?" => true,
        glob if glob.contains(|c: char| !(c.is_ascii_digit() || "+-.E*?".contains(c))) => false,
        glob if !glob.contains(['*', '?']) => false,
        glob => return Err(format!("the pattern compares numbers with the wildcards `{glob}`")),
    };
    Ok(Formula::constant(fits != is_negated))
}

fn of_text(leaf: &Leaf, value: &str, shape: Shape) -> Formula {
    // By hand it may be written as a number, which the API server makes a text of.
    if let (Shape::Amount, Leaf::Some) = (shape, leaf) {
        return Formula::True;
    }
    if shape == Shape::Amount && !matches!(leaf, Leaf::Text(_)) {
        return of_text(leaf, &format!("string({value})"), Shape::Word);
    }
    match leaf {
        Leaf::Null => Formula::compare(value, "==", "\"\""),
        Leaf::Bool(_) => Formula::False,
        Leaf::Int(wanted) => {
            let digits = wanted.unsigned_abs();
            let sign = match wanted {
                0 => "[-+]?",
                1.. => "\\+?",
                _ => "-",
            };
            let pattern = if digits == 0 { format!("^{sign}0+$") } else { format!("^{sign}0*{digits}$") };
            Formula::call(format!("{value}.matches({})", literal(&pattern)))
        }
        Leaf::Float(wanted) => Formula::call(format!("{value}.matches({})", literal(NUMBER)))
            .and(Formula::compare(&format!("double({value})"), "==", &format!("{wanted:?}"))),
        Leaf::Some => Formula::compare(value, "!=", "\"\""),
        Leaf::Text(text) => {
            if let Some(words) = text.words() {
                return one_of(value, &words, missed_whole(text, shape));
            }
            let formula = combined(text, &mut |comparison| Ok(text_comparison(comparison, value, shape)));
            let formula = formula.unwrap_or(Formula::False);
            match missed_whole(text, shape) {
                Some(whole) => Formula::compare(value, "==", &literal(whole)).or(formula),
                None => formula,
            }
        }
    }
}

fn one_of(value: &str, words: &[&str], more: Option<&str>) -> Formula {
    let words: Vec<String> = words.iter().copied().chain(more).map(literal).collect();
    match words.as_slice() {
        [only] => Formula::compare(value, "==", only),
        _ => {
            let list = format!("[{}]", words.join(", "));
            Formula::compare(value, "in", &list)
        }
    }
}

fn of_anything(leaf: &Leaf, value: &str) -> Said<Formula> {
    let null = Formula::compare(value, "==", "null");
    let text = of_text(leaf, value, Shape::Any);
    Ok(match leaf {
        Leaf::Null => Formula::any_of([
            null,
            Formula::compare(value, "==", "false"),
            Formula::compare(value, "==", "0"),
            Formula::compare(value, "==", "\"\""),
        ]),
        Leaf::Bool(_) => of_bool(leaf, value),
        Leaf::Int(_) | Leaf::Float(_) => of_int(leaf, value)?.or(guarded("string", value, text)),
        Leaf::Some => Formula::compare(value, "!=", "\"\"").and(scalar(value)),
        Leaf::Text(written) => {
            let bool = of_bool(leaf, value);
            let (int, double) = (of_int(leaf, value)?, of_double(leaf, value)?);
            let null = if accepts_null(leaf) { null } else { Formula::False };
            if [&bool, &int, &double].iter().all(|formula| **formula == Formula::True) {
                let text = match is_unlike(written, &text) {
                    true => text,
                    false => Formula::compare(&format!("type({value})"), "!=", "string").or(text),
                };
                return Ok(null.or(scalar(value).and(text)));
            }
            let text = if written.words().is_some() { text } else { guarded("string", value, text) };
            let numbers = match int == double {
                true if int == Formula::False => Formula::False,
                true => Formula::compare(&format!("type({value})"), "==", "int")
                    .or(Formula::compare(&format!("type({value})"), "==", "double"))
                    .and(int),
                false => guarded("int", value, int).or(guarded("double", value, double)),
            };
            let bool = if bool == Formula::True { guarded("bool", value, bool) } else { bool };
            Formula::any_of([null, text, numbers, bool])
        }
    })
}

/// Returns whether `value` is a text, a number or a boolean.
fn scalar(value: &str) -> Formula {
    let type_of = format!("type({value})");
    Formula::all_of([
        Formula::compare(value, "!=", "null"),
        Formula::compare(&type_of, "!=", "map"),
        Formula::compare(&type_of, "!=", "list"),
    ])
}

/// Compares quantities, of which `text` is one.
fn amounts(text: &str, comparison: &TermComparison) -> Formula {
    let wanted = literal(&comparison.operand);
    match comparison.operator {
        PatternOperator::More => Formula::call(format!("quantity({text}).isGreaterThan(quantity({wanted}))")),
        PatternOperator::Less => Formula::call(format!("quantity({text}).isLessThan(quantity({wanted}))")),
        PatternOperator::Equal | PatternOperator::NotEqual => Formula::compare(
            &format!("quantity({text})"),
            sign(comparison.operator),
            &format!("quantity({wanted})"),
        ),
        PatternOperator::MoreEqual | PatternOperator::LessEqual => Formula::compare(
            &format!("quantity({text}).compareTo(quantity({wanted}))"),
            sign(comparison.operator),
            "0",
        ),
    }
}

/// Returns the operator of CEL.
fn sign(operator: PatternOperator) -> &'static str {
    match operator {
        PatternOperator::Equal => "==",
        PatternOperator::NotEqual => "!=",
        PatternOperator::More => ">",
        PatternOperator::Less => "<",
        PatternOperator::MoreEqual => ">=",
        PatternOperator::LessEqual => "<=",
    }
}

/// Returns what holds of a value that fits `alternatives`, of which `compare` writes each comparison.
fn combined(
    alternatives: &Alternatives,
    compare: &mut dyn FnMut(&TermComparison) -> Said<Formula>,
) -> Said<Formula> {
    let mut any = Formula::False;
    for all_of in &alternatives.any_of {
        let mut all = Formula::True;
        for atom in all_of {
            all = all.and(match atom {
                PatternTerm::Compare(comparison) => compare(comparison)?,
                PatternTerm::Within(ends) => {
                    let [low, high] = &**ends;
                    compare(low)?.and(compare(high)?)
                }
                PatternTerm::Outside(ends) => {
                    let [low, high] = &**ends;
                    compare(low)?.or(compare(high)?)
                }
            });
        }
        any = any.or(all);
    }
    Ok(any)
}

fn operands(alternatives: &Alternatives) -> Vec<String> {
    alternatives.comparisons().map(|comparison| comparison.operand.to_string()).collect()
}

/// Returns whether `formula`, made for a text, also holds of whatever is no text.
fn is_unlike(alternatives: &Alternatives, formula: &Formula) -> bool {
    let is_unlike = |comparison: &TermComparison| {
        comparison.operator == PatternOperator::NotEqual
            && !comparison.operand.contains(['*', '?'])
            && comparison.duration.is_none()
            && comparison.quantity.is_none()
    };
    *formula == Formula::True || alternatives.comparisons().all(is_unlike)
}

/// Returns the whole text, which fits itself, if its parts do not say so already and it could be there.
fn missed_whole(alternatives: &Alternatives, shape: Shape) -> Option<&str> {
    let is_possible = match shape {
        Shape::Word | Shape::Port => {
            alternatives.whole.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:@".contains(&byte))
        }
        Shape::Amount => false,
        _ => true,
    };
    let fits = alternatives.parts_fit(&Value::String(alternatives.whole.clone()), &mut Budget::default());
    (is_possible && !fits.unwrap_or(false)).then_some(alternatives.whole.as_str())
}

/// Returns what holds of the text `value` that `comparison` accepts.
fn text_comparison(comparison: &TermComparison, value: &str, shape: Shape) -> Formula {
    if shape == Shape::Amount {
        let text = format!("string({value})");
        return match comparison.quantity {
            Some(_) => amounts(&text, comparison),
            None => text_comparison(comparison, &text, Shape::Word),
        };
    }
    let otherwise = match comparison.operator {
        PatternOperator::Equal => wildcards(&comparison.operand, value, shape),
        PatternOperator::NotEqual => wildcards(&comparison.operand, value, shape).not(),
        _ => Formula::False,
    };
    let otherwise = match &comparison.quantity {
        None => otherwise,
        Some(_) => {
            let is_quantity = Formula::call(format!("isQuantity({value})"));
            choose(is_quantity, amounts(value, comparison), unlike(comparison))
        }
    };
    match &comparison.duration {
        None => otherwise,
        // A port or a percentage is no duration.
        Some(_) if shape == Shape::Port && comparison.quantity.is_some() => otherwise,
        Some(_) => {
            let is_duration = Formula::call(format!("{value}.matches({})", literal(DURATION)));
            let compared = Formula::compare(
                &format!("duration({value})"),
                sign(comparison.operator),
                &format!("duration({})", literal(&comparison.operand)),
            );
            let otherwise = if comparison.quantity.is_some() { otherwise } else { unlike(comparison) };
            choose(is_duration, compared, otherwise)
        }
    }
}

/// Returns what holds of a text that cannot be compared with the operand.
fn unlike(comparison: &TermComparison) -> Formula {
    Formula::constant(comparison.operator == PatternOperator::NotEqual)
}

fn choose(condition: Formula, yes: Formula, no: Formula) -> Formula {
    match no {
        Formula::False => condition.and(yes),
        Formula::True => condition.not().or(yes),
        no => condition.clone().and(yes).or(condition.not().and(no)),
    }
}

/// Returns whether wildcards fit a text.
pub(super) fn wildcards(glob: &str, value: &str, shape: Shape) -> Formula {
    let is_wild = |text: &str| text.contains(['*', '?']);
    if !is_wild(glob) {
        return Formula::compare(value, "==", &literal(glob));
    }
    if glob.bytes().all(|byte| byte == b'*') {
        return Formula::True;
    }
    if matches!(glob, "?*" | "*?") {
        return Formula::compare(value, "!=", "\"\"");
    }
    let method = |name: &str, text: &str| Formula::call(format!("{value}.{name}({})", literal(text)));
    let (start, end) = (glob.trim_start_matches('*'), glob.trim_end_matches('*'));
    let both = start.trim_end_matches('*');
    match (start.len() < glob.len(), end.len() < glob.len()) {
        (false, true) if !is_wild(end) => return method("startsWith", end),
        (true, false) if !is_wild(start) => return method("endsWith", start),
        (true, true) if !is_wild(both) => return method("contains", both),
        _ => {}
    }
    let mut pattern = String::from(if shape == Shape::Word { "^" } else { "(?s)^" });
    let mut last = ' ';
    for character in glob.chars() {
        match character {
            '*' if last == '*' => {}
            '*' => pattern.push_str(".*"),
            '?' => pattern.push('.'),
            other => {
                if !(other.is_alphanumeric() || "-_/:@ ".contains(other)) {
                    pattern.push('\\');
                }
                pattern.push(other);
            }
        }
        last = character;
    }
    pattern.push('$');
    method("matches", &pattern)
}
