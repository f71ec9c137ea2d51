//! What an expression reads, found without a value: the paths of which it looks at everything, and those of its result.
//!
//! A list counts as its items, so that `a[].b` and `a[0].b` read the path `a.b`. Where it is not known what is read, it is
//! everything.

use kubewright_value::Text;

use super::JmesPathExpression;
use super::ast::{JmesPathExpr, JmesPathNode, JmesPathStep, Projection, ProjectionKind};

/// How many paths are followed before everything counts as read.
const MAX_PATHS: usize = 500;

/// Keys from the value that an expression is evaluated on.
pub type ReadPath = Vec<Text>;

/// What an expression reads.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ExpressionReads {
    /// The paths below which it may look at everything.
    pub looked_at: Vec<ReadPath>,
    /// The paths that its result may be, or consist of.
    pub found: Vec<ReadPath>,
}

impl JmesPathExpression {
    /// Returns what it reads, whatever it is evaluated on.
    #[must_use]
    pub fn reads(&self) -> ExpressionReads {
        let mut reader = PathReader::default();
        let found = reader.expr(&self.root, vec![ReadPath::new()]);
        if reader.is_lost {
            return ExpressionReads { looked_at: vec![ReadPath::new()], found: Vec::new() };
        }
        ExpressionReads { looked_at: reader.looked_at, found }
    }
}

#[derive(Default)]
struct PathReader {
    looked_at: Vec<ReadPath>,
    /// Whether everything counts as read.
    is_lost: bool,
}

impl PathReader {
    /// Returns the paths that `expr` may find where it is evaluated on what is at `current`.
    fn expr(&mut self, expr: &JmesPathExpr, current: Vec<ReadPath>) -> Vec<ReadPath> {
        self.is_lost |= current.len() > MAX_PATHS || self.looked_at.len() > MAX_PATHS;
        if self.is_lost {
            return Vec::new();
        }
        match &expr.node {
            JmesPathNode::Current => current,
            JmesPathNode::Literal(_) | JmesPathNode::Slot(_) => Vec::new(),
            JmesPathNode::Path(first, steps) => {
                let first = self.expr(first, current);
                steps.iter().fold(first, |paths, step| self.step(step, paths))
            }
            JmesPathNode::Projection(projection) => self.projection(projection, current),
            JmesPathNode::Pipe(parts) => parts.iter().fold(current, |paths, part| self.expr(part, paths)),
            // An empty value is another one than none, so everything counts.
            JmesPathNode::Or(parts) | JmesPathNode::And(parts) => self.look_at_all(parts, &current),
            JmesPathNode::Not(operand) => self.look_at_all(std::slice::from_ref(&**operand), &current),
            JmesPathNode::Compare(_, sides) => self.look_at_all([&sides.0, &sides.1], &current),
            JmesPathNode::List(members) => {
                members.iter().flat_map(|member| self.expr(member, current.clone())).collect()
            }
            JmesPathNode::Object(members) => {
                self.look_at_all(members.iter().map(|(_, member)| member), &current)
            }
            // References are evaluated on parts of the other arguments.
            JmesPathNode::Call(_, arguments) => self.look_at_all(arguments, &current),
            JmesPathNode::Reference(_) => Vec::new(),
        }
    }

    /// Looks at everything that `parts` find on `current`. Nothing more can be read of it.
    fn look_at_all<'e>(
        &mut self,
        parts: impl IntoIterator<Item = &'e JmesPathExpr>,
        current: &[ReadPath],
    ) -> Vec<ReadPath> {
        for part in parts {
            let found = self.expr(part, current.to_vec());
            self.looked_at.extend(found);
        }
        Vec::new()
    }

    fn step(&mut self, step: &JmesPathStep, mut paths: Vec<ReadPath>) -> Vec<ReadPath> {
        match step {
            JmesPathStep::Key(key) | JmesPathStep::RequiredKey(key) => {
                paths.iter_mut().for_each(|path| path.push(key.name.clone()));
                paths
            }
            JmesPathStep::Index(_) => paths,
            // The key is not known.
            JmesPathStep::Slot { .. } => {
                self.looked_at.append(&mut paths);
                paths
            }
            JmesPathStep::Expr(expr) => self.expr(expr, paths),
        }
    }

    fn projection(&mut self, projection: &Projection, current: Vec<ReadPath>) -> Vec<ReadPath> {
        let mut items = self.expr(&projection.source, current);
        match &projection.over {
            // Of every key.
            ProjectionKind::Values => self.looked_at.append(&mut items),
            ProjectionKind::Filtered(condition) => {
                let found = self.expr(condition, items.clone());
                self.looked_at.extend(found);
            }
            ProjectionKind::Items | ProjectionKind::Flattened | ProjectionKind::Slice(_) => {}
        }
        match &projection.each {
            Some(each) => self.expr(each, items),
            None => items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JmesPathFunctions, JmesPathLanguage};

    #[track_caller]
    fn check(text: &str, looked_at: &[&str], found: &[&str]) {
        let functions = JmesPathFunctions::kubernetes();
        let expression = JmesPathExpression::parse_as(text, &functions, JmesPathLanguage::Forgiving);
        let reads = expression.expect("an expression").reads();
        let texts =
            |paths: Vec<ReadPath>| -> Vec<String> { paths.iter().map(|path| path.join(".")).collect() };
        assert_eq!((texts(reads.looked_at), texts(reads.found)), (owned(looked_at), owned(found)), "{text}");
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_path_through_lists_is_what_is_found() {
        check("a.b", &[], &["a.b"]);
        check("a[0].b[].c[*].d[1:2].e", &[], &["a.b.c.d.e"]);
        check("a.[b, c.d][].e", &[], &["a.b.e", "a.c.d.e"]);
        check("a | b | @.c", &[], &["a.b.c"]);
        check("a[?b == 'x'].c", &["a.b"], &["a.c"]);
        check("a[?b].c", &["a.b"], &["a.c"]);
        check("'x'", &[], &[]);
        check("@", &[], &[""]);
    }

    #[test]
    fn what_is_compared_or_handed_to_a_function_is_read_whole() {
        check("a || 'x'", &["a"], &[]);
        check("a.b && c", &["a.b", "c"], &[]);
        check("!(a.b)", &["a.b"], &[]);
        check("length(a.b)", &["a.b"], &[]);
        check("a[].keys(@)[]", &["a"], &[]);
        check("a.*.b", &["a"], &[]);
        check("{x: a.b, y: c}", &["a.b", "c"], &[]);
        check("sort_by(a, &b)[0].c", &["a"], &[]);
        check("(a || `[]`)[].b", &["a"], &[]);
        check("a[?b.c > d].[e, length(f)]", &["a.b.c", "a.d", "a.f"], &["a.e"]);
    }

    #[test]
    fn too_many_paths_are_everything() {
        let wide = format!("a{}", "[].[b, c]".repeat(12));
        check(&wide, &[""], &[]);
    }
}
