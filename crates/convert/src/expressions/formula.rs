//! Boolean formulas about an object, as a tree that is simplified before it is written.
//!
//! The order of the parts is kept: an earlier test guards the later ones, as in CEL itself.

/// Something that is true or false.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Formula {
    True,
    False,
    Atom(AtomicFormula),
    And(Vec<Formula>),
    Or(Vec<Formula>),
    /// `list.all(name, each)`
    All(QuantifiedFormula),
    /// `list.exists(name, each)`
    Exists(QuantifiedFormula),
}

/// A question that CEL answers at once, and its opposite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AtomicFormula {
    pub(super) yes: String,
    pub(super) no: String,
}

/// A test of all elements of a list or keys of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuantifiedFormula {
    pub(super) list: String,
    pub(super) name: String,
    pub(super) each: Box<Formula>,
}

/// The most tests in one expression.
pub(super) const MAX_FORMULA_SIZE: usize = 2000;

/// How wide a line may be.
const LINE_WIDTH: usize = 100;

impl Formula {
    /// A call, a field, or any other operand of `!`.
    pub(super) fn call(text: impl Into<String>) -> Self {
        let yes = text.into();
        Self::Atom(AtomicFormula { no: format!("!{yes}"), yes })
    }

    /// `left operator right`
    pub(super) fn compare(left: &str, operator: &str, right: &str) -> Self {
        let opposite = match operator {
            "==" => "!=",
            "!=" => "==",
            "<" => ">=",
            "<=" => ">",
            ">" => "<=",
            ">=" => "<",
            other => {
                let yes = format!("{left} {other} {right}");
                return Self::Atom(AtomicFormula { no: format!("!({yes})"), yes });
            }
        };
        Self::Atom(AtomicFormula {
            yes: format!("{left} {operator} {right}"),
            no: format!("{left} {opposite} {right}"),
        })
    }

    pub(super) fn constant(is_true: bool) -> Self {
        if is_true { Self::True } else { Self::False }
    }

    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::True, one) | (one, Self::True) => one,
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::And(mut all), Self::And(more)) => {
                all.extend(more);
                Self::And(all)
            }
            (Self::And(mut all), one) => {
                all.push(one);
                Self::And(all)
            }
            (one, Self::And(more)) => Self::And(std::iter::once(one).chain(more).collect()),
            (one, other) => Self::And(vec![one, other]),
        }
    }

    pub(super) fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, one) | (one, Self::False) => one,
            (Self::True, _) | (_, Self::True) => Self::True,
            (Self::Or(mut all), Self::Or(more)) => {
                all.extend(more);
                Self::Or(all)
            }
            (Self::Or(mut all), one) => {
                all.push(one);
                Self::Or(all)
            }
            (one, Self::Or(more)) => Self::Or(std::iter::once(one).chain(more).collect()),
            (one, other) => Self::Or(vec![one, other]),
        }
    }

    pub(super) fn all_of(formulas: impl IntoIterator<Item = Self>) -> Self {
        formulas.into_iter().fold(Self::True, Self::and)
    }

    pub(super) fn any_of(formulas: impl IntoIterator<Item = Self>) -> Self {
        formulas.into_iter().fold(Self::False, Self::or)
    }

    pub(super) fn all(list: &str, name: &str, each: Self) -> Self {
        match each {
            Self::True => Self::True,
            Self::False => Self::compare(&format!("size({list})"), "==", "0"),
            each => Self::All(QuantifiedFormula {
                list: list.to_owned(),
                name: name.to_owned(),
                each: Box::new(each),
            }),
        }
    }

    pub(super) fn exists(list: &str, name: &str, each: Self) -> Self {
        match each {
            Self::False => Self::False,
            Self::True => Self::compare(&format!("size({list})"), "!=", "0"),
            each => Self::Exists(QuantifiedFormula {
                list: list.to_owned(),
                name: name.to_owned(),
                each: Box::new(each),
            }),
        }
    }

    /// Returns the number of tests in it.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::True | Self::False => 1,
            // A question with long names is as much to read as several.
            Self::Atom(atom) => 1 + atom.yes.len() / 256,
            Self::And(terms) | Self::Or(terms) => terms.iter().map(Self::size).sum(),
            Self::All(over) | Self::Exists(over) => 1 + over.each.size(),
        }
    }

    /// Returns the opposite.
    pub(super) fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Atom(AtomicFormula { yes, no }) => Self::Atom(AtomicFormula { yes: no, no: yes }),
            Self::And(all) => Self::any_of(all.into_iter().map(Self::not)),
            Self::Or(any) => Self::all_of(any.into_iter().map(Self::not)),
            Self::All(over) => Self::Exists(over.not()),
            Self::Exists(over) => Self::All(over.not()),
        }
    }

    /// Returns the formula without repeated tests.
    pub(super) fn simplified(self) -> Self {
        self.known(&mut Vec::new())
    }

    /// Returns the formula simplified under `fact`.
    pub(super) fn given(self, fact: &Self) -> Self {
        let mut facts = Vec::new();
        add_facts(&mut facts, fact);
        self.known(&mut facts)
    }

    /// Returns the formula simplified under `facts`.
    fn known(self, facts: &mut Vec<Formula>) -> Self {
        let before = facts.len();
        let left = match self {
            Self::And(all) => {
                let mut left = Self::True;
                for one in all {
                    let one = one.known(facts);
                    add_facts(facts, &one);
                    left = left.and(one);
                    if left == Self::False {
                        break;
                    }
                }
                left
            }
            Self::Or(any) => {
                let mut left = Self::False;
                for one in any {
                    let one = one.known(facts);
                    add_facts(facts, &one.clone().not());
                    left = left.or(one);
                    if left == Self::True {
                        break;
                    }
                }
                left.factored()
            }
            Self::All(over) => Self::all(&over.list, &over.name, over.each.known(facts)),
            Self::Exists(over) => Self::exists(&over.list, &over.name, over.each.known(facts)),
            other => other,
        };
        facts.truncate(before);
        if facts.contains(&left) {
            return Self::True;
        }
        let opposite = left.clone().not();
        if facts.contains(&opposite) { Self::False } else { left }
    }

    /// Returns `a && (b || c)` for `(a && b) || (a && c)`.
    fn factored(self) -> Self {
        let Self::Or(any) = self else { return self };
        let first = match any.first() {
            Some(Self::And(all)) => all.first().cloned(),
            _ => None,
        };
        let Some(first) = first else { return Self::Or(any) };
        let starts = |one: &Self| matches!(one, Self::And(all) if all.first() == Some(&first));
        if !any.iter().all(starts) {
            return Self::Or(any);
        }
        let rest = any.into_iter().map(|one| match one {
            Self::And(all) => Self::all_of(all.into_iter().skip(1)),
            other => other,
        });
        let rest = Self::any_of(rest).simplified();
        first.and(rest)
    }

    /// Returns the formula simplified for a request with `operation`.
    pub(super) fn on(self, operation: &str) -> Self {
        match self {
            Self::Atom(atom) => match atom.on(operation) {
                Some(is_true) => Self::constant(is_true),
                None => Self::Atom(atom),
            },
            Self::And(all) => Self::all_of(all.into_iter().map(|one| one.on(operation))),
            Self::Or(any) => Self::any_of(any.into_iter().map(|one| one.on(operation))),
            other => other,
        }
    }

    /// Returns the expression, on several lines when it is long.
    pub(super) fn written(&self) -> String {
        self.lines(0)
    }

    fn lines(&self, indent: usize) -> String {
        let line = self.line();
        if indent + line.len() <= LINE_WIDTH {
            return line;
        }
        let (terms, operator) = match self {
            Self::And(terms) => (terms, "&&"),
            Self::Or(terms) => (terms, "||"),
            Self::All(over) => return over.lines("all", indent),
            Self::Exists(over) => return over.lines("exists", indent),
            _ => return line,
        };
        let terms: Vec<String> = terms.iter().map(|term| term.bracketed(indent)).collect();
        terms.join(&format!(" {operator}\n{}", " ".repeat(indent)))
    }

    /// Returns the term of another formula on several lines.
    fn bracketed(&self, indent: usize) -> String {
        if matches!(self, Self::And(_) | Self::Or(_)) {
            let line = self.line();
            if indent + line.len() + 2 <= LINE_WIDTH {
                return format!("({line})");
            }
            let pad = " ".repeat(indent);
            return format!("(\n{pad}  {}\n{pad})", self.lines(indent + 2));
        }
        self.lines(indent)
    }

    fn line(&self) -> String {
        let term = |term: &Self| match term {
            Self::And(_) | Self::Or(_) => format!("({})", term.line()),
            other => other.line(),
        };
        let join = |terms: &[Self], operator: &str| {
            terms.iter().map(term).collect::<Vec<_>>().join(&format!(" {operator} "))
        };
        match self {
            Self::True => "true".to_owned(),
            Self::False => "false".to_owned(),
            Self::Atom(atom) => atom.yes.clone(),
            Self::And(terms) => join(terms, "&&"),
            Self::Or(terms) => join(terms, "||"),
            Self::All(over) => format!("{}.all({}, {})", over.list, over.name, over.each.line()),
            Self::Exists(over) => format!("{}.exists({}, {})", over.list, over.name, over.each.line()),
        }
    }
}

impl QuantifiedFormula {
    fn not(self) -> Self {
        Self { each: Box::new(self.each.not()), ..self }
    }

    fn lines(&self, macro_name: &str, indent: usize) -> String {
        let pad = " ".repeat(indent);
        let each = self.each.lines(indent + 2);
        format!("{}.{macro_name}({},\n{pad}  {each}\n{pad})", self.list, self.name)
    }
}

impl AtomicFormula {
    /// Returns its value for a request with `operation`, if it tests nothing else.
    fn on(&self, operation: &str) -> Option<bool> {
        let (question, is_asked) = match self.yes.strip_prefix("!(") {
            Some(inner) => (inner.strip_suffix(')')?, false),
            None => (self.yes.as_str(), true),
        };
        let wanted = question.strip_prefix("request.operation ")?;
        let quoted = format!("\"{operation}\"");
        let holds = match wanted.split_once(' ')? {
            ("==", one) => one == quoted,
            ("!=", one) => one != quoted,
            ("in", list) => list.contains(&quoted),
            _ => return None,
        };
        Some(holds == is_asked)
    }

    /// Returns whether it compares with a constant for being the same.
    pub(super) fn is_equality(&self) -> bool {
        self.yes.contains(" == ") && !self.yes.contains('(')
    }
}

/// Adds the facts that follow from `formula`.
fn add_facts(facts: &mut Vec<Formula>, formula: &Formula) {
    match formula {
        Formula::True | Formula::False => {}
        Formula::And(all) => all.iter().for_each(|one| add_facts(facts, one)),
        other => facts.push(other.clone()),
    }
}
