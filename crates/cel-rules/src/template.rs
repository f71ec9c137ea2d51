//! Objects as YAML with expressions in them: `name: (( variables.name ))-config`.
//!
//! The text is read as YAML once, when the policy is compiled, so that no value can change the structure around it.
//! An expression that is a whole value keeps its type; inside other text it must be a scalar.

use kubewright_cel::Val;
use kubewright_value::{Map, Source, Step, Text, Value, yaml};

use super::compile::{ExpressionCompiler, ExpressionProblem};
use super::generate::GeneratedObject;
use super::scope::{ExpressionFailure, ExpressionScope};
use super::{CelExpression, diagnostics as code};
use kubewright_cel::CelEnvironment;
use kubewright_dialect_kit::fields::Located;

/// Objects with expressions in them.
#[derive(Clone)]
pub struct ObjectTemplate {
    documents: Vec<TemplateNode>,
    path: Vec<Step>,
}

#[derive(Clone)]
enum TemplateNode {
    Constant(Value),
    /// A value that is one expression.
    Whole(CelExpression),
    Text(Vec<TextPiece>),
    List(Vec<TemplateNode>),
    Map(Vec<(Text, TemplateNode)>),
}

#[derive(Clone)]
enum TextPiece {
    Text(Text),
    Expression(CelExpression),
}

/// The parts of a text: what stands there, or an expression.
#[derive(Debug, PartialEq, Eq)]
enum WrittenPiece<'t> {
    Text(String),
    Expression(&'t str),
}

impl ObjectTemplate {
    /// Returns the path of the text in the document.
    pub(super) fn path(&self) -> &[Step] {
        &self.path
    }

    /// Hands over the objects with the values of their expressions.
    pub(super) fn hand_over<'a>(
        &'a self,
        scope: &'a ExpressionScope<'a>,
        place: &str,
    ) -> Result<(), ExpressionFailure> {
        for document in &self.documents {
            let object = document.resolve(scope, place)?;
            if object.as_object().is_none() {
                let message = format!("{place}: an object is wanted, found {}", object.kind());
                return Err(ExpressionFailure::Failed(message));
            }
            let made = GeneratedObject { namespace: None, object };
            scope
                .push_generated(made)
                .map_err(|failure| ExpressionFailure::Failed(failure.message().to_owned()))?;
        }
        Ok(())
    }
}

impl ObjectTemplate {
    /// Returns the expressions in it.
    pub(super) fn expressions(&self) -> Vec<&CelExpression> {
        let mut found = Vec::new();
        self.documents.iter().for_each(|document| document.collect(&mut found));
        found
    }
}

impl TemplateNode {
    fn collect<'n>(&'n self, found: &mut Vec<&'n CelExpression>) {
        match self {
            Self::Constant(_) => {}
            Self::Whole(expression) => found.push(expression),
            Self::Text(pieces) => found.extend(pieces.iter().filter_map(|piece| match piece {
                TextPiece::Text(_) => None,
                TextPiece::Expression(expression) => Some(expression),
            })),
            Self::List(items) => items.iter().for_each(|item| item.collect(found)),
            Self::Map(entries) => entries.iter().for_each(|(_, node)| node.collect(found)),
        }
    }

    fn resolve<'a>(
        &'a self,
        scope: &'a ExpressionScope<'a>,
        place: &str,
    ) -> Result<Value, ExpressionFailure> {
        match self {
            Self::Constant(value) => Ok(value.clone()),
            Self::Whole(expression) => {
                let found = scope.evaluate(expression, || place.to_owned())?;
                found.to_value().map_err(ExpressionFailure::Failed)
            }
            Self::Text(pieces) => {
                let mut text = String::new();
                for piece in pieces {
                    match piece {
                        TextPiece::Text(plain) => text.push_str(plain),
                        TextPiece::Expression(expression) => {
                            let found = scope.evaluate(expression, || place.to_owned())?;
                            text.push_str(&scalar_text(&found, expression)?);
                        }
                    }
                }
                let made = scope.within(|budget| budget.produce(text.len()).map(|()| text));
                made.map(Value::from).map_err(|limit| ExpressionFailure::Error(limit.into()))
            }
            Self::List(items) => {
                let items: Result<Vec<Value>, _> =
                    items.iter().map(|item| item.resolve(scope, place)).collect();
                items.map(Value::array)
            }
            Self::Map(entries) => {
                let mut map = Map::with_capacity(entries.len());
                for (key, node) in entries {
                    map.insert(key.clone(), node.resolve(scope, place)?);
                }
                Ok(map.into())
            }
        }
    }
}

fn scalar_text(found: &Val<'_>, expression: &CelExpression) -> Result<String, ExpressionFailure> {
    let value = found.to_value().map_err(ExpressionFailure::Failed)?;
    match value {
        Value::String(text) => Ok(text.to_string()),
        scalar @ (Value::Bool(_) | Value::Number(_)) => Ok(scalar.to_string()),
        other => Err(ExpressionFailure::Failed(format!(
            "expression '{}' is inside other text and must be a scalar, found {}",
            expression.text.trim(),
            other.kind()
        ))),
    }
}

impl ExpressionCompiler<'_> {
    /// Compiles the objects that `text` writes; with `interpolates`, its expressions too.
    pub fn template(
        &mut self,
        text: &Located<Text>,
        interpolates: bool,
        environment: &CelEnvironment,
    ) -> Option<ObjectTemplate> {
        let read = yaml::read(&Source::new("template.yaml", text.value.as_str()));
        if let Some(problem) = read.problems.first() {
            let message = format!("the template is not YAML: {}", problem.message);
            self.problems.push(ExpressionProblem::about(&code::BAD_TEMPLATE, &text.path, message, ""));
            return None;
        }
        if has_merge_key(&text.value) {
            let message = "a template has no merge keys (`<<`)".to_owned();
            let help = "write the fields out, or put a map in with `(( ))`";
            self.problems.push(ExpressionProblem::about(&code::BAD_TEMPLATE, &text.path, message, help));
            return None;
        }
        let values = read.documents.iter().map(|document| &document.value).filter(|value| !value.is_null());
        let mut documents = Vec::new();
        for value in values {
            documents.push(match interpolates {
                true => self.template_node(value, text, environment)?,
                false => TemplateNode::Constant(value.clone()),
            });
        }
        Some(ObjectTemplate { documents, path: text.path.clone() })
    }

    /// Compiles a value of a template, as deep as the YAML is.
    fn template_node(
        &mut self,
        value: &Value,
        text: &Located<Text>,
        environment: &CelEnvironment,
    ) -> Option<TemplateNode> {
        Some(match value {
            Value::String(written) => self.template_text(written, text, environment)?,
            Value::Array(items) => {
                let items: Option<Vec<TemplateNode>> =
                    items.iter().map(|item| self.template_node(item, text, environment)).collect();
                TemplateNode::List(items?)
            }
            Value::Object(map) => {
                let mut entries = Vec::with_capacity(map.len());
                for (key, item) in map.iter() {
                    if key.contains("((") {
                        let message =
                            format!("the key `{key}` has an expression, and only values can have some");
                        let help = "make the whole map with one expression";
                        self.problems.push(ExpressionProblem::about(
                            &code::BAD_TEMPLATE,
                            &text.path,
                            message,
                            help,
                        ));
                        return None;
                    }
                    entries.push((key.clone(), self.template_node(item, text, environment)?));
                }
                TemplateNode::Map(entries)
            }
            scalar => TemplateNode::Constant(scalar.clone()),
        })
    }

    fn template_text(
        &mut self,
        written: &Text,
        text: &Located<Text>,
        environment: &CelEnvironment,
    ) -> Option<TemplateNode> {
        let pieces = match split_pieces(written) {
            Ok(pieces) => pieces,
            Err(rest) => {
                let message = format!("`{rest}` is never closed by `))`");
                self.problems.push(ExpressionProblem::about(&code::BAD_TEMPLATE, &text.path, message, ""));
                return None;
            }
        };
        if let [WrittenPiece::Expression(expression)] = pieces.as_slice() {
            return Some(TemplateNode::Whole(self.template_expression(expression, text, environment)?));
        }
        if !pieces.iter().any(|piece| matches!(piece, WrittenPiece::Expression(_))) {
            let plain = pieces.into_iter().map(|piece| match piece {
                WrittenPiece::Text(plain) => plain,
                WrittenPiece::Expression(_) => String::new(),
            });
            return Some(TemplateNode::Constant(plain.collect::<String>().into()));
        }
        let mut made = Vec::with_capacity(pieces.len());
        for piece in pieces {
            made.push(match piece {
                WrittenPiece::Text(plain) => TextPiece::Text(plain.into()),
                WrittenPiece::Expression(expression) => {
                    TextPiece::Expression(self.template_expression(expression, text, environment)?)
                }
            });
        }
        Some(TemplateNode::Text(made))
    }
}

/// Splits a text at its expressions; `\((` stands for two brackets.
///
/// # Errors
/// With an expression that is never closed.
fn split_pieces(text: &str) -> Result<Vec<WrittenPiece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("((") {
        if let Some(before) = before.strip_suffix('\\') {
            plain.push_str(before);
            plain.push_str("((");
            rest = behind;
            continue;
        }
        let end = closing(behind).ok_or_else(|| format!("(({behind}"))?;
        plain.push_str(before);
        if !plain.is_empty() {
            pieces.push(WrittenPiece::Text(std::mem::take(&mut plain)));
        }
        pieces.push(WrittenPiece::Expression(behind.get(..end).unwrap_or_default().trim()));
        rest = behind.get(end + 2..).unwrap_or_default();
    }
    plain.push_str(rest);
    if !plain.is_empty() || pieces.is_empty() {
        pieces.push(WrittenPiece::Text(plain));
    }
    Ok(pieces)
}

/// Returns where the `))` stands that closes an expression; brackets and quoted texts in it are passed over.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote, mut is_escaped) = (0_usize, None, false);
    for (place, character) in text.char_indices() {
        match (quote, character) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(open), _) if open == character => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') if depth > 0 => depth -= 1,
            (None, ')') if text.get(place..)?.starts_with("))") => return Some(place),
            (None, _) => {}
        }
    }
    None
}

fn has_merge_key(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_start_matches([' ', '-']);
        line.strip_prefix("<<").is_some_and(|rest| rest.trim_start().starts_with(':'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        let shown = |piece: &WrittenPiece<'_>| match piece {
            WrittenPiece::Text(plain) => format!("text {plain}"),
            WrittenPiece::Expression(expression) => format!("expression {expression}"),
        };
        let found: Vec<String> = split_pieces(text).expect(text).iter().map(shown).collect();
        assert_eq!(found, want, "{text}");
    }

    #[test]
    fn a_text_is_split_at_its_expressions() {
        check("plain", &["text plain"]);
        check("(( a ))", &["expression a"]);
        check("x-(( a.b ))-(( c ))", &["text x-", "expression a.b", "text -", "expression c"]);
        check("(( f(g(x)) ))!", &["expression f(g(x))", "text !"]);
        check("(( ')) ' + \"))\" ))", &["expression ')) ' + \"))\""]);
        check("(( 'it\\'s ))' ))", &["expression 'it\\'s ))'"]);
    }

    #[test]
    fn escaped_brackets_are_text() {
        check(r"a \(( b ))", &["text a (( b ))"]);
        check(r"\(((( a ))", &["text ((", "expression a"]);
    }

    #[test]
    fn an_open_expression_is_an_error() {
        assert_eq!(split_pieces("x (( a )"), Err("(( a )".to_owned()));
    }

    #[test]
    fn merge_keys_are_found() {
        assert!(has_merge_key("a: 1\n  - <<: *b\n"));
        assert!(!has_merge_key("a: << b\n"));
    }
}
