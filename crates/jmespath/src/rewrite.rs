//! What an expression reads from the value it is evaluated on, and the same expression reading from elsewhere.
//!
//! Only paths that start at that value count. In `a[?b == c]` these are `a` alone: `b` and `c` are keys of
//! the items of `a`.

use std::cell::Cell;

use kubewright_value::Text;

use super::Expression;
use super::ast::{Expr, Node, Projection, Step};

/// What an expression reads from the value it is evaluated on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    /// The first keys of its paths, each once, in the order in which they stand.
    pub names: Vec<Text>,
    /// The keys that its paths start with, up to the first index, function or `*`.
    pub paths: Vec<Vec<Text>>,
    /// Whether it takes the value as a whole, as `@`, `*` and `[0]` do.
    pub takes_all: bool,
    /// Whether its result depends on the time or on a random seed.
    pub is_volatile: bool,
}

impl Roots {
    /// Returns whether a path starts with `keys`.
    #[must_use]
    pub fn reads(&self, keys: &[&str]) -> bool {
        let starts =
            |path: &Vec<Text>| path.len() >= keys.len() && path.iter().zip(keys).all(|(a, b)| a == b);
        self.paths.iter().any(starts)
    }
}

/// How the beginning of a path changes: how many keys are left out, and which ones take their place.
pub type Change = Option<(usize, Vec<Text>)>;

impl Expression {
    /// Returns what the expression reads.
    #[must_use]
    pub fn roots(&self) -> Roots {
        let mut roots = Roots { is_volatile: self.is_volatile, ..Roots::default() };
        collect(&self.root, &mut roots);
        roots
    }

    /// Returns the keys of its path, if it is nothing but that: `a`, `b` for `a.b`.
    #[must_use]
    pub fn plain_path(&self) -> Option<Vec<Text>> {
        match &self.root.node {
            Node::Path(first, steps) if matches!(first.node, Node::Current) => {
                let keys = keys(steps);
                (keys.len() == steps.len()).then(|| keys.into_iter().map(Text::new).collect())
            }
            _ => None,
        }
    }

    /// Returns the alternatives that read something and the constant ones behind them, if both are there:
    /// `a || b` and `'x'` for `a || b || 'x'`. The constant ones count when the others are not true.
    #[must_use]
    pub fn split_default(&self) -> Option<(Self, Self)> {
        let Node::Or(parts) = &self.root.node else { return None };
        let reads = |part: &Expr| {
            let mut roots = Roots::default();
            collect(part, &mut roots);
            roots != Roots::default()
        };
        let count = parts.iter().rposition(reads)? + 1;
        let (before, constant) =
            parts.split_at_checked(count).filter(|(_, constant)| !constant.is_empty())?;
        let made = |parts: &[Expr]| {
            let root = match parts {
                [only] => only.clone(),
                parts => Expr::new(Node::Or(parts.to_vec()), self.root.at),
            };
            Self { source: self.source.clone(), root, is_volatile: self.is_volatile }
        };
        Some((made(before), made(constant)))
    }

    /// Returns the expression with other beginnings of its paths, or nothing when none changes.
    ///
    /// `change` gets the keys that a path starts with, up to the first index, function or `*`. The text of
    /// the expression stays as it was, since positions are places in it.
    #[must_use]
    pub fn rewritten(&self, change: &dyn Fn(&[&str]) -> Change) -> Option<Self> {
        let rewriter = Rewriter { change, has_changed: Cell::new(false) };
        let root = rewriter.expr(&self.root);
        (rewriter.has_changed.get() && !root.shape.is_too_high()).then(|| Self {
            source: self.source.clone(),
            root,
            is_volatile: self.is_volatile,
        })
    }
}

fn keys(steps: &[Step]) -> Vec<&str> {
    let key = |step| match step {
        &Step::Key(ref key) | &Step::NeededKey(ref key) => Some(key.as_str()),
        &(Step::Index(_) | Step::Expr(_)) => None,
    };
    steps.iter().map_while(key).collect()
}

fn collect(expr: &Expr, roots: &mut Roots) {
    match &expr.node {
        Node::Current => roots.takes_all = true,
        Node::Literal(_) | Node::Reference(_) => {}
        Node::Path(first, steps) => match (&first.node, steps.first()) {
            (Node::Current, Some(Step::Key(key) | Step::NeededKey(key))) => {
                if !roots.names.contains(key) {
                    roots.names.push(key.clone());
                }
                let path = keys(steps).into_iter().map(Text::new).collect();
                if !roots.paths.contains(&path) {
                    roots.paths.push(path);
                }
            }
            (Node::Current, Some(Step::Expr(expr))) => collect(expr, roots),
            _ => collect(first, roots),
        },
        Node::Projection(projection) => collect(&projection.source, roots),
        Node::Pipe(parts) => {
            let starts = parts.iter().take_while(|part| matches!(part.node, Node::Current)).count();
            // `@ | a` reads `a`; what stands behind the first real part reads from its result.
            match parts.get(starts) {
                Some(part) => collect(part, roots),
                None => roots.takes_all = true,
            }
        }
        Node::Or(parts) | Node::And(parts) | Node::List(parts) | Node::Call(_, parts) => {
            parts.iter().for_each(|part| collect(part, roots));
        }
        Node::Not(operand) => collect(operand, roots),
        Node::Compare(_, sides) => {
            collect(&sides.0, roots);
            collect(&sides.1, roots);
        }
        Node::Object(members) => members.iter().for_each(|(_, member)| collect(member, roots)),
    }
}

struct Rewriter<'c> {
    change: &'c dyn Fn(&[&str]) -> Change,
    has_changed: Cell<bool>,
}

impl Rewriter<'_> {
    fn expr(&self, expr: &Expr) -> Expr {
        let all = |parts: &[Expr]| parts.iter().map(|part| self.expr(part)).collect();
        let node = match &expr.node {
            Node::Current | Node::Literal(_) | Node::Reference(_) => return expr.clone(),
            Node::Path(first, steps) => match (&first.node, steps.split_first()) {
                (Node::Current, Some((Step::Expr(inner), rest))) => {
                    let steps = std::iter::once(Step::Expr(self.expr(inner))).chain(rest.iter().cloned());
                    Node::Path(first.clone(), steps.collect())
                }
                (Node::Current, _) => match self.steps(steps) {
                    steps if steps.is_empty() => Node::Current,
                    steps => Node::Path(first.clone(), steps),
                },
                _ => Node::Path(Box::new(self.expr(first)), steps.clone()),
            },
            Node::Projection(projection) => Node::Projection(Box::new(Projection {
                source: self.expr(&projection.source),
                ..(**projection).clone()
            })),
            Node::Pipe(parts) => {
                let starts = parts.iter().take_while(|part| matches!(part.node, Node::Current)).count();
                let parts = parts.iter().enumerate();
                let parts = parts.map(|(i, part)| if i <= starts { self.expr(part) } else { part.clone() });
                Node::Pipe(parts.collect())
            }
            Node::Or(parts) => Node::Or(all(parts)),
            Node::And(parts) => Node::And(all(parts)),
            Node::List(members) => Node::List(all(members)),
            Node::Call(function, arguments) => Node::Call(function.clone(), all(arguments)),
            Node::Not(operand) => Node::Not(Box::new(self.expr(operand))),
            Node::Compare(comparison, sides) => {
                Node::Compare(*comparison, Box::new((self.expr(&sides.0), self.expr(&sides.1))))
            }
            Node::Object(members) => {
                let members = members.iter().map(|(key, member)| (key.clone(), self.expr(member)));
                Node::Object(members.collect())
            }
        };
        Expr::new(node, expr.at)
    }

    fn steps(&self, steps: &[Step]) -> Vec<Step> {
        let Some((count, replacement)) = (self.change)(&keys(steps)) else { return steps.to_vec() };
        self.has_changed.set(true);
        let is_needed = matches!(steps.first(), Some(Step::NeededKey(_)));
        let made = replacement.into_iter().map(|key| match is_needed {
            true => Step::NeededKey(key),
            false => Step::Key(key),
        });
        made.chain(steps.iter().skip(count).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Budget, json};

    use super::*;
    use crate::{Functions, Language};

    fn parse(text: &str) -> Expression {
        Expression::parse_as(text, &Functions::standard(), Language::Forgiving).expect(text)
    }

    #[track_caller]
    fn reads(text: &str, want: &str) {
        let roots = parse(text).roots();
        let all = if roots.takes_all { "@" } else { "" };
        let names: Vec<&str> = roots.names.iter().map(Text::as_str).chain([all]).collect();
        assert_eq!(names.join(" ").trim(), want, "{text}");
    }

    /// Rewrites `a.b` to `a.x.y.b`, and evaluates.
    #[track_caller]
    fn finds(text: &str, want: &str) {
        let root =
            json::parse(r#"{"a":{"b":1,"x":{"y":{"b":2,"l":[{"a":{"b":3}}]}},"l":[{"a":{"b":3}}]},"b":9}"#);
        let change = |keys: &[&str]| match keys {
            ["a", "b", ..] => Some((1, ["a", "x", "y"].map(Text::new).into())),
            _ => None,
        };
        let expression = parse(text);
        let expression = expression.rewritten(&change).unwrap_or(expression);
        let found = expression.evaluate(&root.expect("JSON"), &mut Budget::default()).expect(text);
        assert_eq!(found.to_string(), want, "{text}");
    }

    #[test]
    fn only_paths_from_the_root_are_read() {
        reads("a.b.c", "a");
        reads("a[?b == c].d | e", "a");
        reads("a || b.c && !d", "a b d");
        reads("{x: a, y: [b, `1`]}", "a b");
        reads("length(a) == b[0]", "a b");
        reads("sort_by(a, &b)", "a");
        reads("a.[b, c]", "a");
        reads("@ | a", "a");
        reads("keys(@)", "@");
        reads("*.a", "@");
        reads("[0]", "@");
        reads("'a'", "");
    }

    #[test]
    fn roots_know_the_keys_of_paths_and_functions_of_the_time() {
        let roots = |text: &str| {
            let functions = Functions::kubernetes();
            Expression::parse_as(text, &functions, Language::Forgiving).expect(text).roots()
        };
        assert!(roots("length(request.roles)").reads(&["request", "roles"]));
        assert!(!roots("request.object.roles").reads(&["request", "roles"]));
        assert!(roots("a[?b < time_now()]").is_volatile);
        assert!(roots("sort_by(a, &random('x'))").is_volatile);
        assert!(!roots("time_utc(a)").is_volatile);
    }

    #[test]
    fn paths_are_rewritten_where_they_start_at_the_root_and_nowhere_else() {
        finds("a.b", "2");
        finds("b", "9");
        finds("(a).b", "2");
        finds("a.l[].a.b", "[3]");
        finds("a.l[?a.b == `3`] | length(@)", "1");
        finds("@ | a.b", "2");
        finds("[a.b, b]", "[2,9]");
        finds("{k: a.b}", r#"{"k":2}"#);
        finds("to_string(a.b)", r#""2""#);
        finds("z || a.b", "2");
        finds("a.b == `2` && !(a.b == `1`)", "true");
    }

    #[test]
    fn a_path_can_become_the_value_itself() {
        let strip = |keys: &[&str]| keys.starts_with(&["a", "b"]).then(|| (2, Vec::new()));
        let value = json::parse(r#"{"c":[1]}"#).expect("JSON");
        for (text, want) in
            [("a.b", r#"{"c":[1]}"#), ("a.b.c", "[1]"), ("keys(a.b)", r#"["c"]"#), ("a.b.c[]", "[1]")]
        {
            let stripped = parse(text).rewritten(&strip).expect(text);
            assert_eq!(stripped.evaluate(&value, &mut Budget::default()).expect(text).to_string(), want);
        }
    }

    #[test]
    fn constant_alternatives_are_told_apart() {
        let split = |text: &str| {
            let evaluate = |e: Expression| {
                let root = json::parse(r#"{"a":"A","e":""}"#).expect("JSON");
                e.evaluate(&root, &mut Budget::default()).expect(text).to_string()
            };
            parse(text).split_default().map(|(before, constant)| (evaluate(before), evaluate(constant)))
        };
        assert_eq!(split("e || a || 'x'"), Some((r#""A""#.into(), r#""x""#.into())));
        assert_eq!(split("e || `null` || 'x'"), Some((r#""""#.into(), r#""x""#.into())));
        assert_eq!(split("a || e"), None);
        assert_eq!(split("'x' || a"), None);
        assert_eq!(split("'x' || 'y'"), None);
    }

    #[test]
    fn a_plain_path_shows_its_keys() {
        assert_eq!(parse("a.\"b c\"").plain_path(), Some(["a", "b c"].map(Text::new).into()));
        assert_eq!(parse("a.b[0]").plain_path(), None);
        assert_eq!(parse("a.b || c").plain_path(), None);
    }
}
