//! Texts of a pattern: `a | b & c`, each with an operator, a range, a quantity, a duration or wildcards.

use std::borrow::Cow;
use std::cmp::Ordering;

use kubewright_golib::float;
use kubewright_golib::glob::Glob;
use kubewright_value::duration::Duration;
use kubewright_value::quantity::Quantity;
use kubewright_value::{Budget, Exhausted, Number, Text, Value};

use crate::pattern::written::Written;

/// A text of a pattern.
#[derive(Debug, Clone)]
pub struct Alternatives {
    /// The text as it is written; a value that is the whole of it fits, whatever the parts say.
    pub whole: Text,
    /// What is between `|`, each with what is between `&`.
    pub any_of: Box<[Box<[Atom]>]>,
}

/// What is between the separators.
#[derive(Debug, Clone)]
pub enum Atom {
    /// An operator and its operand.
    Compare(Comparison),
    /// `a-b`
    Within(Box<[Comparison; 2]>),
    /// `a!-b`
    Outside(Box<[Comparison; 2]>),
}

/// An operator and what it compares with.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// How a value is compared.
    pub operator: Operator,
    /// What it compares with, as it is written.
    pub operand: Text,
    /// The operand as a duration, where it is one.
    pub duration: Option<Duration>,
    /// The operand as a quantity, where it is one.
    pub quantity: Option<Quantity>,
    /// The operand as wildcards.
    pub glob: Glob,
}

/// How a value is compared with the operand of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
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
const OPERATORS: [(&str, Operator); 5] = [
    (">=", Operator::MoreEqual),
    ("<=", Operator::LessEqual),
    (">", Operator::More),
    ("<", Operator::Less),
    ("!", Operator::NotEqual),
];

impl Alternatives {
    pub(in crate::pattern) fn parse(written: &Written<'_>) -> Self {
        let atoms = |part: Written<'_>| part.split('&').into_iter().map(atom).collect();
        Self {
            whole: Text::new(written.text()),
            any_of: written.split('|').into_iter().map(|part| atoms(part.trim(is_blank))).collect(),
        }
    }

    /// Returns the text as it is written.
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
    pub fn comparisons(&self) -> impl Iterator<Item = &Comparison> {
        self.any_of.iter().flatten().flat_map(|atom| match atom {
            Atom::Compare(comparison) => std::slice::from_ref(comparison).iter(),
            Atom::Within(ends) | Atom::Outside(ends) => ends.as_slice().iter(),
        })
    }

    /// Returns the words of which it wants one, if that is all it wants.
    #[must_use]
    pub fn words(&self) -> Option<Vec<&str>> {
        self.any_of
            .iter()
            .map(|all_of| match &**all_of {
                [Atom::Compare(only)] => only.word(),
                _ => None,
            })
            .collect()
    }
}

fn atom(part: Written<'_>) -> Atom {
    let part = part.trim(is_blank);
    if part.len() < 2 {
        return Atom::Compare(Comparison::of(Operator::Equal, part));
    }
    for (prefix, operator) in OPERATORS {
        if let Some(operand) = part.strip_prefix(prefix) {
            return Atom::Compare(Comparison::of(operator, operand));
        }
    }
    if let Some((low, high)) = ends(&part, "!-") {
        let sides = [
            Comparison::of(Operator::Less, Written::foreign(&low)),
            Comparison::of(Operator::More, Written::foreign(&high)),
        ];
        return Atom::Outside(Box::new(sides));
    }
    if let Some((low, high)) = ends(&part, "-") {
        let sides = [
            Comparison::of(Operator::MoreEqual, Written::foreign(&low)),
            Comparison::of(Operator::LessEqual, Written::foreign(&high)),
        ];
        return Atom::Within(Box::new(sides));
    }
    Atom::Compare(Comparison::of(Operator::Equal, part))
}

/// Returns the two ends of a range, if `part` is one.
fn ends(part: &Written<'_>, mark: &str) -> Option<(String, String)> {
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

fn is_blank(character: char) -> bool {
    character == ' '
}

impl Atom {
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

impl Comparison {
    /// Returns the only text that fits.
    #[must_use]
    pub fn word(&self) -> Option<&str> {
        let is_word = self.operator == Operator::Equal
            && self.duration.is_none()
            && self.quantity.is_none()
            && !self.operand.contains(['*', '?']);
        is_word.then_some(self.operand.as_str())
    }

    fn of(operator: Operator, operand: Written<'_>) -> Self {
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
        if let (Some(wanted), Some(found)) = (self.duration, self.duration.and_then(|_| duration(value))) {
            return Ok(self.operator.accepts(found.cmp(&wanted)));
        }
        if let Some(wanted) = &self.quantity
            && let Some(found) = quantity(value)
        {
            return Ok(self.operator.accepts(found.cmp(wanted)));
        }
        let is_negated = match self.operator {
            Operator::Equal => false,
            Operator::NotEqual => true,
            _ => return Ok(false),
        };
        match plain(value) {
            Some(text) => Ok(self.glob.matches(&text, budget)? != is_negated),
            None => Ok(false),
        }
    }
}

impl Operator {
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
fn duration(value: &Value) -> Option<Duration> {
    match value {
        Value::Null => Some(Duration::ZERO),
        Value::String(text) => Duration::parse(text).ok(),
        _ => None,
    }
}

fn quantity(value: &Value) -> Option<Quantity> {
    match value {
        Value::Null => Some(Quantity::from_i64(0)),
        Value::Number(Number::Int(integer)) => Some(Quantity::from_i64(*integer)),
        Value::Number(number) => Quantity::parse(&float::format(number.as_f64(), 'f', Some(6))).ok(),
        Value::String(text) => Quantity::parse(text).ok(),
        _ => None,
    }
}

/// Returns a scalar as the text that wildcards are compared with; null has none.
fn plain(value: &Value) -> Option<Cow<'_, str>> {
    Some(match value {
        Value::Bool(true) => Cow::Borrowed("true"),
        Value::Bool(false) => Cow::Borrowed("false"),
        // As a double with an exponent, so that 100 is `1E+02`.
        Value::Number(number) => Cow::Owned(float::format(number.as_f64(), 'E', None)),
        Value::String(text) => Cow::Borrowed(text.as_str()),
        _ => return None,
    })
}
