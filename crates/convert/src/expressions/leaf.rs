//! Translates a scalar of a pattern into CEL.
//!
//! Whether a value fits depends on its type, so there is an answer for each type that can be there.

use kubewright_value::{Budget, Value};

use super::formula::Formula;
use super::shape::ValueShape;
use super::text::{double_literal, string_literal};
use kubewright_kyverno::pattern::leaf::Leaf;
use kubewright_kyverno::pattern::leaf::text::{Alternatives, PatternOperator, PatternTerm, TermComparison};

/// A number as texts may write it.
pub(super) const NUMBER_PATTERN: &str = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,2})?$";

/// A duration.
pub(super) const DURATION_PATTERN: &str = r"^[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$";

/// Why a scalar has no equivalent.
pub(super) type LeafResult<T> = Result<T, String>;

/// Returns whether `value`, which exists and is not a list, matches `leaf`.
pub(super) fn leaf_formula(leaf: &Leaf, value: &str, shape: ValueShape) -> LeafResult<Formula> {
    Ok(match shape {
        ValueShape::Map(_) | ValueShape::MapOf(_) | ValueShape::List(_) | ValueShape::Required(_) => {
            Formula::False
        }
        ValueShape::Bool => bool_formula(leaf, value),
        ValueShape::Int => match leaf {
            Leaf::Float(wanted) if wanted.fract() != 0.0 => Formula::False,
            leaf => int_formula(leaf, value)?,
        },
        ValueShape::Word | ValueShape::Text | ValueShape::Amount => text_formula(leaf, value, shape),
        ValueShape::Port => number_formula(value, int_formula(leaf, value)?).or(guarded_leaf(
            "string",
            value,
            text_formula(leaf, value, shape),
        )),
        ValueShape::Any => any_type_formula(leaf, value)?,
    })
}

/// Returns whether no value at all fits.
pub(super) fn accepts_null(leaf: &Leaf) -> bool {
    accepts(leaf, &Value::Null)
}

/// Returns a literal that replaces a missing value, matching or not.
pub(super) fn stand_in(leaf: &Leaf, shape: ValueShape, is_fitting: bool) -> Option<String> {
    let texts = || {
        let operands = match leaf {
            Leaf::Text(text) => operand_texts(text),
            _ => Vec::new(),
        };
        let bare = operands.iter().map(|operand| operand.replace(['*', '?'], ""));
        let operands: Vec<String> = bare.chain(operands.iter().cloned()).collect();
        std::iter::once(String::new())
            .chain(operands)
            .map(|text| (Value::from(text.as_str()), string_literal(&text)))
    };
    let candidates: Vec<(Value, String)> = match shape {
        ValueShape::Bool => {
            vec![(Value::from(false), "false".to_owned()), (Value::from(true), "true".to_owned())]
        }
        ValueShape::Int => [0_i64, 1, -1]
            .into_iter()
            .chain(if let Leaf::Int(wanted) = leaf { Some(*wanted) } else { None })
            .map(|number| (Value::from(number), number.to_string()))
            .collect(),
        ValueShape::Word | ValueShape::Text => texts().collect(),
        ValueShape::Amount => std::iter::once((Value::from("0"), "\"0\"".to_owned()))
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

fn guarded_leaf(type_name: &str, value: &str, formula: Formula) -> Formula {
    match formula {
        Formula::False => Formula::False,
        formula => Formula::compare(&format!("type({value})"), "==", type_name).and(formula),
    }
}

/// Returns `formula` for numbers, where the value is a number or a text. Kyverno passes whole numbers on as doubles.
fn number_formula(value: &str, formula: Formula) -> Formula {
    match formula {
        Formula::False => Formula::False,
        formula => Formula::compare(&format!("type({value})"), "!=", "string").and(formula),
    }
}

fn bool_formula(leaf: &Leaf, value: &str) -> Formula {
    match (accepts(leaf, &Value::from(true)), accepts(leaf, &Value::from(false))) {
        (true, true) => Formula::True,
        (false, false) => Formula::False,
        (wanted, _) => Formula::compare(value, "==", if wanted { "true" } else { "false" }),
    }
}

fn int_formula(leaf: &Leaf, value: &str) -> LeafResult<Formula> {
    Ok(match leaf {
        Leaf::Null => Formula::compare(value, "==", "0"),
        Leaf::Bool(_) => Formula::False,
        Leaf::Int(wanted) => Formula::compare(value, "==", &wanted.to_string()),
        Leaf::Float(wanted) => Formula::compare(value, "==", &double_literal(*wanted)),
        Leaf::Some => Formula::True,
        Leaf::Text(text) => combine_alternatives(text, &mut |comparison| {
            let Some(quantity) = &comparison.quantity else { return number_glob(comparison) };
            Ok(match quantity.as_i64() {
                Some(wanted) => {
                    Formula::compare(value, cel_operator(comparison.operator), &wanted.to_string())
                }
                None => compare_quantities(&format!("string({value})"), comparison),
            })
        })?,
    })
}

fn double_formula(leaf: &Leaf, value: &str) -> LeafResult<Formula> {
    match leaf {
        Leaf::Text(text) => combine_alternatives(text, &mut |comparison| match &comparison.quantity {
            Some(_) => Ok(compare_quantities(&format!("\"%.6f\".format([{value}])"), comparison)),
            None => number_glob(comparison),
        }),
        other => int_formula(other, value),
    }
}

/// Returns whether wildcards fit a number, which is written with an exponent.
fn number_glob(comparison: &TermComparison) -> LeafResult<Formula> {
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

fn text_formula(leaf: &Leaf, value: &str, shape: ValueShape) -> Formula {
    // By hand it may be written as a number, which the API server makes a text of.
    if let (ValueShape::Amount, Leaf::Some) = (shape, leaf) {
        return Formula::True;
    }
    if shape == ValueShape::Amount && !matches!(leaf, Leaf::Text(_)) {
        return text_formula(leaf, &format!("string({value})"), ValueShape::Word);
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
            Formula::call(format!("{value}.matches({})", string_literal(&pattern)))
        }
        Leaf::Float(wanted) => Formula::call(format!("{value}.matches({})", string_literal(NUMBER_PATTERN)))
            .and(Formula::compare(&format!("double({value})"), "==", &format!("{wanted:?}"))),
        Leaf::Some => Formula::compare(value, "!=", "\"\""),
        Leaf::Text(text) => {
            if let Some(words) = text.words() {
                return text_is_one_of(value, &words, unmatched_whole_text(text, shape));
            }
            let formula =
                combine_alternatives(text, &mut |comparison| Ok(text_comparison(comparison, value, shape)));
            let formula = formula.unwrap_or(Formula::False);
            match unmatched_whole_text(text, shape) {
                Some(whole) => Formula::compare(value, "==", &string_literal(whole)).or(formula),
                None => formula,
            }
        }
    }
}

fn text_is_one_of(value: &str, words: &[&str], more: Option<&str>) -> Formula {
    let words: Vec<String> = words.iter().copied().chain(more).map(string_literal).collect();
    match words.as_slice() {
        [only] => Formula::compare(value, "==", only),
        _ => {
            let list = format!("[{}]", words.join(", "));
            Formula::compare(value, "in", &list)
        }
    }
}

fn any_type_formula(leaf: &Leaf, value: &str) -> LeafResult<Formula> {
    let null = Formula::compare(value, "==", "null");
    let text = text_formula(leaf, value, ValueShape::Any);
    Ok(match leaf {
        Leaf::Null => Formula::any_of([
            null,
            Formula::compare(value, "==", "false"),
            Formula::compare(value, "==", "0"),
            Formula::compare(value, "==", "\"\""),
        ]),
        Leaf::Bool(_) => bool_formula(leaf, value),
        Leaf::Int(_) | Leaf::Float(_) => int_formula(leaf, value)?.or(guarded_leaf("string", value, text)),
        Leaf::Some => Formula::compare(value, "!=", "\"\"").and(is_scalar_formula(value)),
        Leaf::Text(written) => {
            let bool = bool_formula(leaf, value);
            let (int, double) = (int_formula(leaf, value)?, double_formula(leaf, value)?);
            let null = if accepts_null(leaf) { null } else { Formula::False };
            if [&bool, &int, &double].iter().all(|formula| **formula == Formula::True) {
                let text = match holds_for_other_types(written, &text) {
                    true => text,
                    false => Formula::compare(&format!("type({value})"), "!=", "string").or(text),
                };
                return Ok(null.or(is_scalar_formula(value).and(text)));
            }
            let text = if written.words().is_some() { text } else { guarded_leaf("string", value, text) };
            let numbers = match int == double {
                true if int == Formula::False => Formula::False,
                true => Formula::compare(&format!("type({value})"), "==", "int")
                    .or(Formula::compare(&format!("type({value})"), "==", "double"))
                    .and(int),
                false => guarded_leaf("int", value, int).or(guarded_leaf("double", value, double)),
            };
            let bool = if bool == Formula::True { guarded_leaf("bool", value, bool) } else { bool };
            Formula::any_of([null, text, numbers, bool])
        }
    })
}

/// Returns whether `value` is a text, a number or a boolean.
fn is_scalar_formula(value: &str) -> Formula {
    let type_of = format!("type({value})");
    Formula::all_of([
        Formula::compare(value, "!=", "null"),
        Formula::compare(&type_of, "!=", "map"),
        Formula::compare(&type_of, "!=", "list"),
    ])
}

/// Compares quantities, of which `text` is one.
fn compare_quantities(text: &str, comparison: &TermComparison) -> Formula {
    let wanted = string_literal(&comparison.operand);
    match comparison.operator {
        PatternOperator::More => Formula::call(format!("quantity({text}).isGreaterThan(quantity({wanted}))")),
        PatternOperator::Less => Formula::call(format!("quantity({text}).isLessThan(quantity({wanted}))")),
        PatternOperator::Equal | PatternOperator::NotEqual => Formula::compare(
            &format!("quantity({text})"),
            cel_operator(comparison.operator),
            &format!("quantity({wanted})"),
        ),
        PatternOperator::MoreEqual | PatternOperator::LessEqual => Formula::compare(
            &format!("quantity({text}).compareTo(quantity({wanted}))"),
            cel_operator(comparison.operator),
            "0",
        ),
    }
}

/// Returns the operator of CEL.
fn cel_operator(operator: PatternOperator) -> &'static str {
    match operator {
        PatternOperator::Equal => "==",
        PatternOperator::NotEqual => "!=",
        PatternOperator::More => ">",
        PatternOperator::Less => "<",
        PatternOperator::MoreEqual => ">=",
        PatternOperator::LessEqual => "<=",
    }
}

/// Returns the formula of a value that matches `alternatives`; `compare` writes each comparison.
fn combine_alternatives(
    alternatives: &Alternatives,
    compare: &mut dyn FnMut(&TermComparison) -> LeafResult<Formula>,
) -> LeafResult<Formula> {
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

fn operand_texts(alternatives: &Alternatives) -> Vec<String> {
    alternatives.comparisons().map(|comparison| comparison.operand.to_string()).collect()
}

/// Returns whether `formula`, built for a text, also holds for other types.
fn holds_for_other_types(alternatives: &Alternatives, formula: &Formula) -> bool {
    let is_unlike = |comparison: &TermComparison| {
        comparison.operator == PatternOperator::NotEqual
            && !comparison.operand.contains(['*', '?'])
            && comparison.duration.is_none()
            && comparison.quantity.is_none()
    };
    *formula == Formula::True || alternatives.comparisons().all(is_unlike)
}

/// Returns the whole text, which matches itself, if its parts do not cover that and it can occur.
fn unmatched_whole_text(alternatives: &Alternatives, shape: ValueShape) -> Option<&str> {
    let is_possible = match shape {
        ValueShape::Word | ValueShape::Port => {
            alternatives.whole.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:@".contains(&byte))
        }
        ValueShape::Amount => false,
        _ => true,
    };
    let fits = alternatives.parts_fit(&Value::String(alternatives.whole.clone()), &mut Budget::default());
    (is_possible && !fits.unwrap_or(false)).then_some(alternatives.whole.as_str())
}

/// Returns the formula of a text `value` that `comparison` accepts.
fn text_comparison(comparison: &TermComparison, value: &str, shape: ValueShape) -> Formula {
    if shape == ValueShape::Amount {
        let text = format!("string({value})");
        return match comparison.quantity {
            Some(_) => compare_quantities(&text, comparison),
            None => text_comparison(comparison, &text, ValueShape::Word),
        };
    }
    let otherwise = match comparison.operator {
        PatternOperator::Equal => wildcard_formula(&comparison.operand, value, shape),
        PatternOperator::NotEqual => wildcard_formula(&comparison.operand, value, shape).not(),
        _ => Formula::False,
    };
    let otherwise = match &comparison.quantity {
        None => otherwise,
        Some(_) => {
            let is_quantity = Formula::call(format!("isQuantity({value})"));
            if_then_else(is_quantity, compare_quantities(value, comparison), incomparable_formula(comparison))
        }
    };
    match &comparison.duration {
        None => otherwise,
        // A port or a percentage is never a duration.
        Some(_) if shape == ValueShape::Port && comparison.quantity.is_some() => otherwise,
        Some(_) => {
            let is_duration = Formula::call(format!("{value}.matches({})", string_literal(DURATION_PATTERN)));
            let compared = Formula::compare(
                &format!("duration({value})"),
                cel_operator(comparison.operator),
                &format!("duration({})", string_literal(&comparison.operand)),
            );
            let otherwise =
                if comparison.quantity.is_some() { otherwise } else { incomparable_formula(comparison) };
            if_then_else(is_duration, compared, otherwise)
        }
    }
}

/// Returns the formula of a text that cannot be compared with the operand.
fn incomparable_formula(comparison: &TermComparison) -> Formula {
    Formula::constant(comparison.operator == PatternOperator::NotEqual)
}

fn if_then_else(condition: Formula, yes: Formula, no: Formula) -> Formula {
    match no {
        Formula::False => condition.and(yes),
        Formula::True => condition.not().or(yes),
        no => condition.clone().and(yes).or(condition.not().and(no)),
    }
}

/// Returns whether wildcards fit a text.
pub(super) fn wildcard_formula(glob: &str, value: &str, shape: ValueShape) -> Formula {
    let is_wild = |text: &str| text.contains(['*', '?']);
    if !is_wild(glob) {
        return Formula::compare(value, "==", &string_literal(glob));
    }
    if glob.bytes().all(|byte| byte == b'*') {
        return Formula::True;
    }
    if matches!(glob, "?*" | "*?") {
        return Formula::compare(value, "!=", "\"\"");
    }
    let method = |name: &str, text: &str| Formula::call(format!("{value}.{name}({})", string_literal(text)));
    let (start, end) = (glob.trim_start_matches('*'), glob.trim_end_matches('*'));
    let both = start.trim_end_matches('*');
    match (start.len() < glob.len(), end.len() < glob.len()) {
        (false, true) if !is_wild(end) => return method("startsWith", end),
        (true, false) if !is_wild(start) => return method("endsWith", start),
        (true, true) if !is_wild(both) => return method("contains", both),
        _ => {}
    }
    let mut pattern = String::from(if shape == ValueShape::Word { "^" } else { "(?s)^" });
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
