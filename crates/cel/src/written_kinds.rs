//! The kinds of the objects that an expression writes out.

use kubewright_value::Text;

use super::CelProgram;
use super::ast::{CelExpr, CelNode, CelOperator};
use super::val::Val;

impl CelProgram {
    /// Returns `apiVersion` and `kind` of the objects that are written out in the value, or in the last argument of the call
    /// that the expression is: `v1` and `Secret` of `f("a", [{"apiVersion": "v1", "kind": dyn("Secret")}])`.
    #[must_use]
    pub fn written_kinds(&self) -> Vec<(Text, Text)> {
        let mut found = Vec::new();
        match &self.root.node {
            CelNode::Call { target: Some(_), arguments, .. } => {
                arguments.iter().last().into_iter().for_each(|last| add_kinds(last, &mut found));
            }
            _ => add_kinds(&self.root, &mut found),
        }
        found
    }
}

/// Adds the kinds of the objects in `expr`. The height of a tree bounds the recursion.
fn add_kinds(expr: &CelExpr, found: &mut Vec<(Text, Text)>) {
    match &expr.node {
        CelNode::List(elements) => elements.iter().for_each(|one| add_kinds(&one.expr, found)),
        CelNode::Map(entries) => {
            let entry = |name: &str| {
                let is_named = |key: &CelExpr| written_text(key).is_some_and(|text| text == name);
                let entry = entries.iter().find(|(key, _)| is_named(key));
                entry.and_then(|(_, element)| written_text(&element.expr))
            };
            found.extend(entry("apiVersion").zip(entry("kind")));
        }
        CelNode::Conditional(parts) => {
            let (_, this, that) = parts.as_ref();
            add_kinds(this, found);
            add_kinds(that, found);
        }
        CelNode::Chain(first, rest) if rest.iter().all(|(sign, ..)| *sign == CelOperator::Add) => {
            add_kinds(first, found);
            rest.iter().for_each(|(_, operand, _)| add_kinds(operand, found));
        }
        CelNode::Call { target: None, name, arguments } if name == "dyn" => {
            arguments.iter().for_each(|one| add_kinds(one, found));
        }
        _ => {}
    }
}

/// Returns a text that is written out: `"a"`, `dyn("a")`.
fn written_text(expr: &CelExpr) -> Option<Text> {
    match &expr.node {
        CelNode::Literal(Val::String(text)) => Some(text.as_ref().clone()),
        CelNode::Call { target: None, name, arguments } if name == "dyn" || name == "string" => {
            arguments.first().and_then(written_text)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::{CelEnvironment, CelProgram};

    #[track_caller]
    fn check(expression: &str, want: &[&str]) {
        let environment = CelEnvironment::standard().variable("object");
        let program = CelProgram::compile(expression, &environment).expect("an expression");
        let found: Vec<String> =
            program.written_kinds().iter().map(|(version, kind)| format!("{version} {kind}")).collect();
        assert_eq!(found, want, "{expression}");
    }

    #[test]
    fn objects_that_are_written_out_tell_their_kinds() {
        check("[{'apiVersion': dyn('v1'), 'kind': dyn('Secret'), 'data': dyn({'a': 'b'})}]", &["v1 Secret"]);
        let [secret, role] =
            ["{'apiVersion': 'v1', 'kind': 'Secret'}", "{'apiVersion': 'r/v1', 'kind': 'Role'}"];
        check(&format!("object.a ? [{secret}] : [{role}]"), &["v1 Secret", "r/v1 Role"]);
        check(&format!("[{secret}] + [{role}]"), &["v1 Secret", "r/v1 Role"]);
        check("[{'apiVersion': 'v1', 'kind': string(object.kind)}, object]", &[]);
        check(&format!("'a'.startsWith({secret}.kind)"), &[]);
    }
}
