//! Texts of a pattern: `a | b & c`, each with an operator, a range, a quantity, a duration or wildcards.

use std::borrow::Cow;
use std::cmp::Ordering;

use kubewright_golib::float;
use kubewright_golib::glob::WildcardPattern;
use kubewright_value::duration::Duration;
use kubewright_value::quantity::Quantity;
use kubewright_value::{Budget, Exhausted, Number, Text, Value};

use crate::pattern::written::TaintedText;

/// A text of a pattern.
#[derive(Debug, Clone)]
pub struct Alternatives {
    /// The text as it is written; an equal value matches, whatever its parts mean.
    pub whole: Text,
    /// The alternatives between `|`, each with its terms between `&`.
    pub any_of: Box<[Box<[PatternTerm]>]>,
}

/// The text between the separators.
#[derive(Debug, Clone)]
pub enum PatternTerm {
    /// An operator and its operand.
    Compare(TermComparison),
    /// `a-b`
    Within(Box<[TermComparison; 2]>),
    /// `a!-b`
    Outside(Box<[TermComparison; 2]>),
}

/// An operator and its operand.
#[derive(Debug, Clone)]
pub struct TermComparison {
    /// How a value is compared.
    pub operator: PatternOperator,
    /// The operand as it is written.
    pub operand: Text,
    /// The operand as a duration, where it is one.
    pub duration: Option<Duration>,
    /// The operand as a quantity, where it is one.
    pub quantity: Option<Quantity>,
    /// The operand as wildcards.
    pub glob: WildcardPattern,
}

/// How a value is compared with the operand of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatternOperator {
    /// No operator.
    Equal,
    /// `!`
    NotEqual,
    /// `>`
    More,
    /// `<`
    Less,
    /// `>=`
    MoreEqual,
    /// `<=`
    LessEqual,
}

/// In the order in which they are looked for.
const OPERATORS: [(&str, PatternOperator); 5] = [
    (">=", PatternOperator::MoreEqual),
    ("<=", PatternOperator::LessEqual),
    (">", PatternOperator::More),
    ("<", PatternOperator::Less),
    ("!", PatternOperator::NotEqual),
];

impl Alternatives {
    pub(in crate::pattern) fn parse(written: &TaintedText<'_>) -> Self {
        let atoms = |part: TaintedText<'_>| part.split('&').into_iter().map(atom).collect();
        Self {
            whole: Text::new(written.text()),
            any_of: written.split('|').into_iter().map(|part| atoms(part.trim(is_pattern_blank))).collect(),
        }
    }

    /// Returns the text as it is written.
    #[must_use]
    pub fn whole(&self) -> &str {
        &self.whole
    }

    /// Returns whether `value` is the whole text or fits its parts.
    pub fn fit(&self, value: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        if value.as_str() == Some(&self.whole) {
            return Ok(true);
        }
        self.parts_fit(value, budget)
    }

    /// Returns whether one of the alternatives fits, as the whole text may not.
    pub fn parts_fit(&self, value: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        let cost = 1 + value.as_str().map_or(0, str::len) as u64 / 64;
        for all_of in &self.any_of {
            let mut fits = true;
            for atom in all_of {
                budget.step(cost)?;
                fits = atom.fits(value, budget)?;
                if !fits {
                    break;
                }
            }
            if fits {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns everything that a value is compared with.
    pub fn comparisons(&self) -> impl Iterator<Item = &TermComparison> {
        self.any_of.iter().flatten().flat_map(|atom| match atom {
            PatternTerm::Compare(comparison) => std::slice::from_ref(comparison).iter(),
            PatternTerm::Within(ends) | PatternTerm::Outside(ends) => ends.as_slice().iter(),
        })
    }

    /// Returns the words of which it requires one, if it requires nothing else.
    #[must_use]
    pub fn words(&self) -> Option<Vec<&str>> {
        self.any_of
            .iter()
            .map(|all_of| match &**all_of {
                [PatternTerm::Compare(only)] => only.word(),
                _ => None,
            })
            .collect()
    }
}

fn atom(part: TaintedText<'_>) -> PatternTerm {
    let part = part.trim(is_pattern_blank);
    if part.len() < 2 {
        return PatternTerm::Compare(TermComparison::of(PatternOperator::Equal, part));
    }
    for (prefix, operator) in OPERATORS {
        if let Some(operand) = part.strip_prefix(prefix) {
            return PatternTerm::Compare(TermComparison::of(operator, operand));
        }
    }
    if let Some((low, high)) = range_ends(&part, "!-") {
        let sides = [
            TermComparison::of(PatternOperator::Less, TaintedText::foreign(&low)),
            TermComparison::of(PatternOperator::More, TaintedText::foreign(&high)),
        ];
        return PatternTerm::Outside(Box::new(sides));
    }
    if let Some((low, high)) = range_ends(&part, "-") {
        let sides = [
            TermComparison::of(PatternOperator::MoreEqual, TaintedText::foreign(&low)),
            TermComparison::of(PatternOperator::LessEqual, TaintedText::foreign(&high)),
        ];
        return PatternTerm::Within(Box::new(sides));
    }
    PatternTerm::Compare(TermComparison::of(PatternOperator::Equal, part))
}

/// Returns the two ends of a range, if `part` is one.
fn range_ends(part: &TaintedText<'_>, mark: &str) -> Option<(String, String)> {
    part.around(mark, |low, high| is_end(low) && is_end(high))
}

/// Returns whether `text` is a number, perhaps with a fraction and a unit of letters.
fn is_end(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let behind = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
    if behind.len() == unsigned.len() {
        return false;
    }
    let unit = match behind.strip_prefix('.') {
        None => behind,
        Some(fraction) => {
            let unit = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if unit.len() == fraction.len() {
                return false;
            }
            unit
        }
    };
    unit.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_pattern_blank(character: char) -> bool {
    character == ' '
}

impl PatternTerm {
    fn fits(&self, value: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        match self {
            Self::Compare(comparison) => comparison.holds(value, budget),
            Self::Within(ends) => {
                let [low, high] = &**ends;
                Ok(low.holds(value, budget)? && high.holds(value, budget)?)
            }
            Self::Outside(ends) => {
                let [low, high] = &**ends;
                Ok(low.holds(value, budget)? || high.holds(value, budget)?)
            }
        }
    }
}

impl TermComparison {
    /// Returns the only text that fits.
    #[must_use]
    pub fn word(&self) -> Option<&str> {
        let is_word = self.operator == PatternOperator::Equal
            && self.duration.is_none()
            && self.quantity.is_none()
            && !self.operand.contains(['*', '?']);
        is_word.then_some(self.operand.as_str())
    }

    fn of(operator: PatternOperator, operand: TaintedText<'_>) -> Self {
        let operand = operand.trim(char::is_whitespace);
        let text = operand.text();
        Self {
            operator,
            operand: Text::new(&text),
            duration: Duration::parse(&text).ok(),
            quantity: Quantity::parse(&text).ok(),
            glob: operand.glob(),
        }
    }

    /// Compares as durations if both are some, else as quantities if both are, else as texts.
    fn holds(&self, value: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        if let (Some(wanted), Some(found)) =
            (self.duration, self.duration.and_then(|_| value_as_duration(value)))
        {
            return Ok(self.operator.accepts(found.cmp(&wanted)));
        }
        if let Some(wanted) = &self.quantity
            && let Some(found) = value_as_quantity(value)
        {
            return Ok(self.operator.accepts(found.cmp(wanted)));
        }
        let is_negated = match self.operator {
            PatternOperator::Equal => false,
            PatternOperator::NotEqual => true,
            _ => return Ok(false),
        };
        match wildcard_text(value) {
            Some(text) => Ok(self.glob.matches(&text, budget)? != is_negated),
            None => Ok(false),
        }
    }
}

impl PatternOperator {
    fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::More => order.is_gt(),
            Self::Less => order.is_lt(),
            Self::MoreEqual => order.is_ge(),
            Self::LessEqual => order.is_le(),
        }
    }
}

/// Returns the duration that `value` is. A number is none, as it has no unit, not even 0.
fn value_as_duration(value: &Value) -> Option<Duration> {
    match value {
        Value::Null => Some(Duration::ZERO),
        Value::String(text) => Duration::parse(text).ok(),
        _ => None,
    }
}

fn value_as_quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::Null => Some(Quantity::from_i64(0)),
        Value::Number(Number::Int(integer)) => Some(Quantity::from_i64(*integer)),
        Value::Number(number) => Quantity::parse(&float::format_float(number.as_f64(), 'f', Some(6))).ok(),
        Value::String(text) => Quantity::parse(text).ok(),
        _ => None,
    }
}

/// Returns a scalar as the text that wildcards are compared with; null has none.
fn wildcard_text(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        // As a double with an exponent, so that 100 is `1E+02`.
        Value::Number(number) => Cow::Owned(float::format_float(number.as_f64(), 'E', None)),
        Value::String(text) => Cow::Borrowed(text.as_str()),
        _ => return None,
    })
}
