//! The keys that an expression reads from its input, and rewriting of its paths.
//!
//! Only paths that start at the input count. In `a[?b == c]` that is `a` alone: `b` and `c` are keys of
//! the items of `a`.

use std::cell::Cell;

use kubewright_value::Text;

use super::JmesPathExpression;
use super::ast::{JmesPathExpr, JmesPathNode, JmesPathStep, Projection};

/// The keys that an expression reads from its input.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PathRoots {
    /// The first keys of its paths, without repetitions, in the order of the expression.
    pub names: Vec<Text>,
    /// The keys that its paths start with, up to the first index, function or `*`.
    pub paths: Vec<Vec<Text>>,
    /// Whether it reads the input as a whole, as `@`, `*` and `[0]` do.
    pub takes_all: bool,
    /// Whether its result depends on the time or on a random seed.
    pub is_volatile: bool,
}

impl PathRoots {
    /// Returns whether a path starts with `keys`.
    #[must_use]
    pub fn reads(&self, keys: &[&str]) -> bool {
        let starts =
            |path: &Vec<Text>| path.len() >= keys.len() && path.iter().zip(keys).all(|(a, b)| a == b);
        self.paths.iter().any(starts)
    }
}

/// The change of a path: how many of its first keys are replaced, and by which; nothing for no change.
pub type JmesPathChange = Option<(usize, Vec<Text>)>;

impl JmesPathExpression {
    /// Returns the keys that the expression reads.
    #[must_use]
    pub fn roots(&self) -> PathRoots {
        let mut roots = PathRoots { is_volatile: self.calls.has_volatile, ..PathRoots::default() };
        collect_roots(&self.root, &mut roots);
        roots
    }

    /// Returns the keys of the path, if the expression is a plain path: `a`, `b` for `a.b`.
    #[must_use]
    pub fn plain_path(&self) -> Option<Vec<Text>> {
        match &self.root.node {
            JmesPathNode::Path(first, steps) if matches!(first.node, JmesPathNode::Current) => {
                let keys = leading_keys(steps);
                (keys.len() == steps.len()).then(|| keys.into_iter().map(Text::new).collect())
            }
            _ => None,
        }
    }

    /// Splits a chain of `||` into the alternatives that read the input and the constants behind them, if it has both:
    /// `a || b` and `'x'` for `a || b || 'x'`. The constant ones are the default.
    #[must_use]
    pub fn split_default(&self) -> Option<(Self, Self)> {
        let JmesPathNode::Or(parts) = &self.root.node else { return None };
        let reads = |part: &JmesPathExpr| {
            let mut roots = PathRoots::default();
            collect_roots(part, &mut roots);
            roots != PathRoots::default()
        };
        let count = parts.iter().rposition(reads)? + 1;
        let (before, constant) =
            parts.split_at_checked(count).filter(|(_, constant)| !constant.is_empty())?;
        let made = |parts: &[JmesPathExpr]| {
            let root = match parts {
                [only] => only.clone(),
                parts => JmesPathExpr::new(JmesPathNode::Or(parts.to_vec()), self.root.at),
            };
            Self { source: self.source.clone(), root, calls: self.calls }
        };
        Some((made(before), made(constant)))
    }

    /// Returns the expression with the first keys of its paths replaced, or nothing when no path changes.
    ///
    /// `change` gets the keys that a path starts with, up to the first index, function or `*`. The text of
    /// the expression stays as it was, since positions are places in it.
    #[must_use]
    pub fn rewritten(&self, change: &dyn Fn(&[&str]) -> JmesPathChange) -> Option<Self> {
        let rewriter = JmesPathRewriter { change, has_changed: Cell::new(false) };
        let root = rewriter.expr(&self.root);
        (rewriter.has_changed.get() && !root.shape.is_too_high()).then(|| Self {
            source: self.source.clone(),
            root,
            calls: self.calls,
        })
    }
}

fn leading_keys(steps: &[JmesPathStep]) -> Vec<&str> {
    let key = |step| match step {
        &JmesPathStep::Key(ref key) | &JmesPathStep::RequiredKey(ref key) => Some(key.name.as_str()),
        &(JmesPathStep::Index(_) | JmesPathStep::Slot { .. } | JmesPathStep::Expr(_)) => None,
    };
    steps.iter().map_while(key).collect()
}

fn collect_roots(expr: &JmesPathExpr, roots: &mut PathRoots) {
    match &expr.node {
        JmesPathNode::Current => roots.takes_all = true,
        JmesPathNode::Literal(_) | JmesPathNode::Slot(_) | JmesPathNode::Reference(_) => {}
        JmesPathNode::Path(first, steps) => match (&first.node, steps.first()) {
            (JmesPathNode::Current, Some(JmesPathStep::Key(key) | JmesPathStep::RequiredKey(key))) => {
                if !roots.names.contains(&key.name) {
                    roots.names.push(key.name.clone());
                }
                let path = leading_keys(steps).into_iter().map(Text::new).collect();
                if !roots.paths.contains(&path) {
                    roots.paths.push(path);
                }
            }
            (JmesPathNode::Current, Some(JmesPathStep::Expr(expr))) => collect_roots(expr, roots),
            _ => collect_roots(first, roots),
        },
        JmesPathNode::Projection(projection) => collect_roots(&projection.source, roots),
        JmesPathNode::Pipe(parts) => {
            let starts = parts.iter().take_while(|part| matches!(part.node, JmesPathNode::Current)).count();
            // `@ | a` reads `a`; the parts behind the first one that is not `@` read from its result.
            match parts.get(starts) {
                Some(part) => collect_roots(part, roots),
                None => roots.takes_all = true,
            }
        }
        JmesPathNode::Or(parts)
        | JmesPathNode::And(parts)
        | JmesPathNode::List(parts)
        | JmesPathNode::Call(_, parts) => {
            parts.iter().for_each(|part| collect_roots(part, roots));
        }
        JmesPathNode::Not(operand) => collect_roots(operand, roots),
        JmesPathNode::Compare(_, sides) => {
            collect_roots(&sides.0, roots);
            collect_roots(&sides.1, roots);
        }
        JmesPathNode::Object(members) => members.iter().for_each(|(_, member)| collect_roots(member, roots)),
    }
}

struct JmesPathRewriter<'c> {
    change: &'c dyn Fn(&[&str]) -> JmesPathChange,
    has_changed: Cell<bool>,
}

impl JmesPathRewriter<'_> {
    fn expr(&self, expr: &JmesPathExpr) -> JmesPathExpr {
        let all = |parts: &[JmesPathExpr]| parts.iter().map(|part| self.expr(part)).collect();
        let node = match &expr.node {
            JmesPathNode::Current
            | JmesPathNode::Literal(_)
            | JmesPathNode::Slot(_)
            | JmesPathNode::Reference(_) => {
                return expr.clone();
            }
            JmesPathNode::Path(first, steps) => match (&first.node, steps.split_first()) {
                (JmesPathNode::Current, Some((JmesPathStep::Expr(inner), rest))) => {
                    let steps =
                        std::iter::once(JmesPathStep::Expr(self.expr(inner))).chain(rest.iter().cloned());
                    JmesPathNode::Path(first.clone(), steps.collect())
                }
                (JmesPathNode::Current, _) => match self.steps(steps) {
                    steps if steps.is_empty() => JmesPathNode::Current,
                    steps => JmesPathNode::Path(first.clone(), steps),
                },
                _ => JmesPathNode::Path(Box::new(self.expr(first)), steps.clone()),
            },
            JmesPathNode::Projection(projection) => JmesPathNode::Projection(Box::new(Projection {
                source: self.expr(&projection.source),
                ..(**projection).clone()
            })),
            JmesPathNode::Pipe(parts) => {
                let starts =
                    parts.iter().take_while(|part| matches!(part.node, JmesPathNode::Current)).count();
                let parts = parts.iter().enumerate();
                let parts = parts.map(|(i, part)| if i <= starts { self.expr(part) } else { part.clone() });
                JmesPathNode::Pipe(parts.collect())
            }
            JmesPathNode::Or(parts) => JmesPathNode::Or(all(parts)),
            JmesPathNode::And(parts) => JmesPathNode::And(all(parts)),
            JmesPathNode::List(members) => JmesPathNode::List(all(members)),
            JmesPathNode::Call(function, arguments) => JmesPathNode::Call(function.clone(), all(arguments)),
            JmesPathNode::Not(operand) => JmesPathNode::Not(Box::new(self.expr(operand))),
            JmesPathNode::Compare(comparison, sides) => {
                JmesPathNode::Compare(*comparison, Box::new((self.expr(&sides.0), self.expr(&sides.1))))
            }
            JmesPathNode::Object(members) => {
                let members = members.iter().map(|(key, member)| (key.clone(), self.expr(member)));
                JmesPathNode::Object(members.collect())
            }
        };
        JmesPathExpr::new(node, expr.at)
    }

    fn steps(&self, steps: &[JmesPathStep]) -> Vec<JmesPathStep> {
        let Some((count, replacement)) = (self.change)(&leading_keys(steps)) else { return steps.to_vec() };
        self.has_changed.set(true);
        let is_needed = matches!(steps.first(), Some(JmesPathStep::RequiredKey(_)));
        let made = replacement.into_iter().map(|key| match is_needed {
            true => JmesPathStep::RequiredKey(key.into()),
            false => JmesPathStep::Key(key.into()),
        });
        made.chain(steps.iter().skip(count).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Budget, json};

    use super::*;
    use crate::{JmesPathFunctions, JmesPathLanguage};

    fn parse(text: &str) -> JmesPathExpression {
        JmesPathExpression::parse_as(text, &JmesPathFunctions::standard(), JmesPathLanguage::Forgiving)
            .expect(text)
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
    fn roots_are_the_paths_from_the_input() {
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
            let functions = JmesPathFunctions::kubernetes();
            JmesPathExpression::parse_as(text, &functions, JmesPathLanguage::Forgiving).expect(text).roots()
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
    fn rewritten_path_may_be_the_input_itself() {
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
    fn split_default_separates_constant_alternatives() {
        let split = |text: &str| {
            let evaluate = |e: JmesPathExpression| {
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
    fn plain_path_returns_its_keys() {
        assert_eq!(parse("a.\"b c\"").plain_path(), Some(["a", "b c"].map(Text::new).into()));
        assert_eq!(parse("a.b[0]").plain_path(), None);
        assert_eq!(parse("a.b || c").plain_path(), None);
    }
}
