//! Literals whose values are known only when an expression is evaluated: it is parsed once, and filled for each evaluation.

use kubewright_value::{Text, Value};

use super::ast::{JmesPathExpr, JmesPathNode, JmesPathStep, ProjectionKind};
use super::{JmesPathExpression, JmesPathFunctions, JmesPathLanguage, JmesPathParseError, parser};

impl JmesPathExpression {
    /// Parses `text`, in which the literals and quoted keys that start at the bytes `slots` stand for values that come
    /// later, in that order. It is evaluated after it was [filled](Self::filled).
    ///
    /// # Errors
    /// As [`JmesPathExpression::parse`], and where a slot is neither a literal nor a key of a path.
    pub fn parse_with_slots(
        text: &str,
        functions: &JmesPathFunctions,
        language: JmesPathLanguage,
        slots: &[usize],
    ) -> Result<Self, JmesPathParseError> {
        let settings = parser::ParserSettings { slots, ..parser::ParserSettings::new(functions, language) };
        Self::parse_by(text, &settings)
    }

    /// Parses `text` for one evaluation: arguments of functions are not compiled ahead, but by the call, which charges it.
    ///
    /// # Errors
    /// As [`JmesPathExpression::parse`].
    pub fn parse_once(
        text: &str,
        functions: &JmesPathFunctions,
        language: JmesPathLanguage,
    ) -> Result<Self, JmesPathParseError> {
        let settings =
            parser::ParserSettings { is_prepared: false, ..parser::ParserSettings::new(functions, language) };
        Self::parse_by(text, &settings)
    }

    /// Returns the expression with `values` in its slots; a slot without a value is null.
    #[must_use]
    pub fn filled(&self, values: &[Value]) -> Self {
        let mut root = self.root.clone();
        fill_expr(&mut root, values);
        Self { source: self.source.clone(), root, calls: self.calls }
    }
}

fn fill_expr(expr: &mut JmesPathExpr, values: &[Value]) {
    let fill_all = |parts: &mut [JmesPathExpr]| parts.iter_mut().for_each(|part| fill_expr(part, values));
    match &mut expr.node {
        JmesPathNode::Slot(slot) => {
            expr.node = JmesPathNode::Literal(values.get(*slot).cloned().unwrap_or_default());
        }
        JmesPathNode::Current | JmesPathNode::Literal(_) => {}
        JmesPathNode::Path(first, steps) => {
            fill_expr(first, values);
            steps.iter_mut().for_each(|step| fill_step(step, values));
        }
        JmesPathNode::Projection(projection) => {
            fill_expr(&mut projection.source, values);
            projection.each.iter_mut().for_each(|each| fill_expr(each, values));
            if let ProjectionKind::Filtered(condition) = &mut projection.over {
                fill_expr(condition, values);
            }
        }
        JmesPathNode::Pipe(parts)
        | JmesPathNode::Or(parts)
        | JmesPathNode::And(parts)
        | JmesPathNode::List(parts)
        | JmesPathNode::Call(_, parts) => fill_all(parts),
        JmesPathNode::Not(operand) | JmesPathNode::Reference(operand) => fill_expr(operand, values),
        JmesPathNode::Compare(_, sides) => {
            fill_expr(&mut sides.0, values);
            fill_expr(&mut sides.1, values);
        }
        JmesPathNode::Object(members) => members.iter_mut().for_each(|(_, one)| fill_expr(one, values)),
    }
}

fn fill_step(step: &mut JmesPathStep, values: &[Value]) {
    match step {
        JmesPathStep::Slot { number, is_required } => {
            let key = Text::from(values.get(*number).and_then(Value::as_str).unwrap_or_default());
            *step = match *is_required {
                true => JmesPathStep::RequiredKey(key.into()),
                false => JmesPathStep::Key(key.into()),
            };
        }
        JmesPathStep::Expr(inner) => fill_expr(inner, values),
        JmesPathStep::Key(_) | JmesPathStep::RequiredKey(_) | JmesPathStep::Index(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::{Budget, json};

    use super::*;

    fn found(text: &str, values: &[&str]) -> String {
        let functions = JmesPathFunctions::kubernetes();
        let places = text.match_indices("''").chain(text.match_indices(r#""?""#));
        let mut slots: Vec<usize> = places.map(|(at, _)| at).collect();
        slots.sort_unstable();
        let parsed =
            JmesPathExpression::parse_with_slots(text, &functions, JmesPathLanguage::Forgiving, &slots);
        let values: Vec<Value> = values.iter().map(|value| Value::from(*value)).collect();
        let root = json::parse(r#"{"a": {"b.c": 1, "d": [{"n": "x'y"}, {"n": "z"}]}}"#).expect("JSON");
        match parsed.map(|parsed| parsed.filled(&values).evaluate(&root, &mut Budget::default())) {
            Ok(Ok(value)) => json::to_string(&value),
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_slot_is_a_value_whatever_is_in_it_and_wherever_it_is() {
        assert_eq!(found("a.d[?n == ''].n", &["x'y"]), r#"["x'y"]"#);
        assert_eq!(found("a.d[?n == ''].n", &["' || '1"]), "[]");
        assert_eq!(found("[regex_match('^x+$', ''), length('')]", &["xx", "`1`"]), "[true,3]");
        assert_eq!(found("map(&join('', [n, '']), a.d)", &["-", "!"]), r#"["x'y-!","z-!"]"#);
        assert_eq!(found(r#"a."?""#, &["b.c"]), "1");
        assert_eq!(found(r#"a."?"[0].n || ''"#, &["d", "none"]), r#""x'y""#);
        assert_eq!(found(r#"a."?" || ''"#, &["e", "none"]), r#""none""#);
    }

    #[test]
    fn a_slot_that_is_no_value_is_an_error() {
        assert!(found(r#"{"?": a}"#, &["k"]).contains("in the place of each slot"));
    }
}
