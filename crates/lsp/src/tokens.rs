//! Semantic tokens inside of expressions: CEL, JMESPath and Go templates.

use lsp_types::{SemanticToken, SemanticTokens};

use crate::embedded::{EmbeddedLanguage, YamlExpression};
use crate::encoding::to_usize;
use crate::workspace::EditorWorkspace;

/// The types of tokens, in the order of their numbers.
pub(crate) const TOKEN_TYPES: [&str; 7] =
    ["function", "variable", "property", "string", "number", "operator", "keyword"];

/// The sort of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TokenSort {
    Function,
    Variable,
    Property,
    Text,
    Number,
    Operator,
    Keyword,
}

/// Words with a meaning of their own.
const KEYWORDS: [&str; 13] = [
    "true",
    "false",
    "null",
    "in",
    "if",
    "else",
    "end",
    "range",
    "with",
    "define",
    "template",
    "block",
    "variables",
];

impl EditorWorkspace {
    /// Returns the tokens of all expressions of a file, in the encoding of the protocol.
    pub(crate) fn semantic_tokens(&self, name: &str) -> SemanticTokens {
        let mut data = Vec::new();
        let mut last = (0, 0);
        if let Some(file) = self.files.get(name) {
            for chunk in file.chunks.iter().filter(|chunk| chunk.is_claimed) {
                let lines: Vec<&str> = chunk.source.text.lines().collect();
                for expression in chunk.expressions() {
                    for (line, range, sort) in expression_tokens(&expression, &lines) {
                        let text = lines.get(to_usize(line)).copied().unwrap_or_default();
                        let start = self.unit.column_of_byte(text, range.start);
                        let end = self.unit.column_of_byte(text, range.end);
                        let line = line.saturating_add(chunk.lines_before);
                        let (before, column) = last;
                        data.push(SemanticToken {
                            delta_line: line.saturating_sub(before),
                            delta_start: if line == before { start.saturating_sub(column) } else { start },
                            length: end.saturating_sub(start),
                            token_type: sort as u32,
                            token_modifiers_bitset: 0,
                        });
                        last = (line, start);
                    }
                }
            }
        }
        SemanticTokens { result_id: None, data }
    }
}

type PlacedToken = (u32, std::ops::Range<usize>, TokenSort);

/// Returns the tokens of an expression, each within a line.
fn expression_tokens(expression: &YamlExpression, lines: &[&str]) -> Vec<PlacedToken> {
    let mut tokens = Vec::new();
    for piece in &expression.pieces {
        let line = lines.get(to_usize(piece.line)).copied().unwrap_or_default();
        let mut at = piece.range.start;
        let mut is_behind_dot = false;
        while let Some(rest) = line.get(at..piece.range.end).filter(|rest| !rest.is_empty()) {
            let (length, sort) = next_token(rest, is_behind_dot, expression.language);
            if let Some(sort) = sort {
                tokens.push((piece.line, at..at + length, sort));
            }
            if !rest.starts_with(char::is_whitespace) {
                is_behind_dot = rest.starts_with('.') || rest.starts_with("?.");
            }
            at += length;
        }
    }
    tokens
}

/// Returns the length of the token that `rest` starts with, and its sort.
fn next_token(rest: &str, is_behind_dot: bool, language: EmbeddedLanguage) -> (usize, Option<TokenSort>) {
    let Some(first) = rest.chars().next() else { return (0, None) };
    let count = |is_part: fn(char) -> bool| rest.find(|one: char| !is_part(one)).unwrap_or(rest.len());
    if first.is_whitespace() {
        return (count(char::is_whitespace), None);
    }
    if first.is_ascii_digit() {
        return (count(|one| one.is_ascii_alphanumeric() || one == '.'), Some(TokenSort::Number));
    }
    if first.is_alphabetic() || first == '_' || first == '$' {
        let length = count(|one| one.is_alphanumeric() || one == '_' || one == '$');
        let word = rest.get(..length).unwrap_or_default();
        let after = rest.get(length..).unwrap_or_default().trim_start();
        let is_called = after.starts_with('(')
            || (language == EmbeddedLanguage::GoTemplate
                && !is_behind_dot
                && language.words().iter().any(|known| known.name == word));
        let sort = match word {
            _ if is_called => TokenSort::Function,
            _ if is_behind_dot => TokenSort::Property,
            word if KEYWORDS.contains(&word) => TokenSort::Keyword,
            _ => TokenSort::Variable,
        };
        return (length, Some(sort));
    }
    if matches!(first, '"' | '\'' | '`') {
        let end = rest.get(1..).and_then(|inner| inner.find(first)).map_or(rest.len(), |at| at + 2);
        return (end, Some(TokenSort::Text));
    }
    let is_operator = "=!<>&|+-*/%?:@".contains(first);
    (first.len_utf8(), is_operator.then_some(TokenSort::Operator))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::LinePiece;

    #[track_caller]
    fn check(language: EmbeddedLanguage, text: &str, want: &str) {
        let pieces = vec![LinePiece { line: 0, range: 0..text.len() }];
        let tokens = expression_tokens(&YamlExpression { language, pieces }, &[text]);
        let shown: Vec<String> =
            tokens.into_iter().map(|(_, range, sort)| format!("{}:{sort:?}", &text[range])).collect();
        assert_eq!(shown.join(" "), want);
    }

    #[test]
    fn words_are_functions_properties_and_variables() {
        check(
            EmbeddedLanguage::Cel,
            "object.spec.all(x, x.a == 'b')",
            "object:Variable spec:Property all:Function x:Variable x:Variable a:Property =:Operator =:Operator 'b':Text",
        );
        check(
            EmbeddedLanguage::GoTemplate,
            " .Target.a | upper ",
            "Target:Property a:Property |:Operator upper:Function",
        );
        check(
            EmbeddedLanguage::JmesPath,
            "length(request.object) > `1`",
            "length:Function request:Variable object:Property >:Operator `1`:Text",
        );
    }
}
