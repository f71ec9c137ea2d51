//! Expressions inside of YAML texts: which language each is written in, and where its parts are.

use kubewright_value::Step;

use crate::chunk::FileChunk;
use crate::encoding::to_usize;
use crate::outline::{LinePiece, OutlineEntry};

/// A language of expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmbeddedLanguage {
    /// The Common Expression Language.
    Cel,
    /// JMESPath with the functions of Kyverno.
    JmesPath,
    /// Go's templates with the functions of Sprig.
    GoTemplate,
}

/// An expression, which may go over several lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct YamlExpression {
    /// Its language.
    pub(crate) language: EmbeddedLanguage,
    /// Its lines, in the chunk.
    pub(crate) pieces: Vec<LinePiece>,
}

/// Which texts of a kind are expressions.
struct EmbeddingRule {
    /// The API group, or what it ends with after a dot.
    group: &'static str,
    /// The language of whole texts, and the keys that have them.
    whole: &'static [(EmbeddedLanguage, &'static [&'static str])],
    /// The language between marks, with the marks.
    marked: Option<(EmbeddedLanguage, &'static str, &'static str)>,
}

const CEL_KEYS: &[&str] = &["expression", "messageExpression", "valueExpression"];

const EMBEDDING_RULES: &[EmbeddingRule] = &[
    EmbeddingRule { group: "policies.kyverno.io", whole: &[(EmbeddedLanguage::Cel, CEL_KEYS)], marked: None },
    EmbeddingRule {
        group: "kyverno.io",
        whole: &[
            (EmbeddedLanguage::Cel, CEL_KEYS),
            (EmbeddedLanguage::JmesPath, &["jmesPath", "jmespath", "list"]),
        ],
        marked: Some((EmbeddedLanguage::JmesPath, "{{", "}}")),
    },
    EmbeddingRule {
        group: "admissionregistration.k8s.io",
        whole: &[(EmbeddedLanguage::Cel, CEL_KEYS)],
        marked: None,
    },
    EmbeddingRule {
        group: "api.kubemod.io",
        whole: &[],
        marked: Some((EmbeddedLanguage::GoTemplate, "{{", "}}")),
    },
    EmbeddingRule {
        group: "openchoreo.dev",
        whole: &[(EmbeddedLanguage::Cel, &["rule", "includeWhen"])],
        marked: Some((EmbeddedLanguage::Cel, "${", "}")),
    },
];

impl FileChunk {
    /// Returns the expressions in it, in the order of its lines.
    pub(crate) fn expressions(&self) -> Vec<YamlExpression> {
        let group = self.api_version().split('/').next().unwrap_or_default();
        let Some(rule) = EMBEDDING_RULES.iter().find(|rule| rule.group == group) else { return Vec::new() };
        let lines: Vec<&str> = self.source.text.lines().collect();
        let entries = self.outline.entries.iter().filter(|entry| !entry.value.is_empty());
        entries.flat_map(|entry| rule.expressions_of(entry, &lines)).collect()
    }

    /// Returns the expression at a byte of a line, and the byte in its text.
    pub(crate) fn expression_at(&self, line: u32, byte: usize) -> Option<(YamlExpression, usize)> {
        let lines: Vec<&str> = self.source.text.lines().collect();
        self.expressions().into_iter().find_map(|expression| {
            let at = expression.offset_of(&lines, line, byte)?;
            Some((expression, at))
        })
    }
}

impl EmbeddingRule {
    fn expressions_of(&self, entry: &OutlineEntry, lines: &[&str]) -> Vec<YamlExpression> {
        let key = entry.path.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        });
        let whole = self.whole.iter().find(|(_, keys)| key.is_some_and(|key| keys.contains(&key)));
        if let Some((language, _)) = whole {
            let is_marked = entry.value.iter().any(|piece| text_of(piece, lines).contains("{{"));
            if !is_marked {
                return vec![YamlExpression { language: *language, pieces: entry.value.clone() }];
            }
        }
        let Some((language, open, close)) = self.marked else { return Vec::new() };
        let ranges = marked_ranges(&entry.value, lines, (open, close));
        ranges.into_iter().map(|pieces| YamlExpression { language, pieces }).collect()
    }
}

/// Returns the pieces between each pair of marks. An expression that is not closed ends with its line.
fn marked_ranges(value: &[LinePiece], lines: &[&str], marks: (&str, &str)) -> Vec<Vec<LinePiece>> {
    let (open, close) = marks;
    let mut found = Vec::new();
    let mut current: Option<Vec<LinePiece>> = None;
    for piece in value {
        let mut from = piece.range.start;
        let line = lines.get(to_usize(piece.line)).copied().unwrap_or_default();
        while from <= piece.range.end {
            let rest = line.get(from..piece.range.end).unwrap_or_default();
            match &mut current {
                None => match rest.find(open) {
                    Some(at) => {
                        from += at + open.len();
                        current = Some(Vec::new());
                    }
                    None => break,
                },
                Some(pieces) => match rest.find(close) {
                    Some(at) => {
                        pieces.push(LinePiece { line: piece.line, range: from..from + at });
                        found.extend(current.take());
                        from += at + close.len();
                    }
                    None => {
                        pieces.push(LinePiece { line: piece.line, range: from..piece.range.end });
                        break;
                    }
                },
            }
        }
    }
    found.extend(current.map(|pieces| pieces.into_iter().take(1).collect()));
    found
}

fn text_of<'l>(piece: &LinePiece, lines: &[&'l str]) -> &'l str {
    let line = lines.get(to_usize(piece.line)).copied().unwrap_or_default();
    line.get(piece.range.clone()).unwrap_or_default()
}

impl YamlExpression {
    /// Returns its text, with a line break between its lines.
    pub(crate) fn text(&self, lines: &[&str]) -> String {
        let texts: Vec<&str> = self.pieces.iter().map(|piece| text_of(piece, lines)).collect();
        texts.join("\n")
    }

    /// Returns the byte in its text of a byte of a line.
    fn offset_of(&self, lines: &[&str], line: u32, byte: usize) -> Option<usize> {
        let mut before = 0;
        for piece in &self.pieces {
            if piece.line == line && (piece.range.start..=piece.range.end).contains(&byte) {
                return Some(before + byte - piece.range.start);
            }
            before += text_of(piece, lines).len() + 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use kubewright_value::Source;
    use kubewright_value::yaml::StreamChunk;

    use super::*;

    #[track_caller]
    fn check(text: &str, want: &[&str]) {
        let source = Source::new("a.yaml", text);
        let dialects = kubewright_dialects::all_dialects(&kubewright_dialects::DialectOptions::default());
        let chunk = FileChunk::read(&source, &StreamChunk { range: 0..text.len(), line: 1 }, &dialects);
        let lines: Vec<&str> = text.lines().collect();
        let found: Vec<String> = chunk
            .expressions()
            .iter()
            .map(|expression| format!("{:?} {}", expression.language, expression.text(&lines)))
            .collect();
        assert_eq!(found, want);
    }

    #[test]
    fn expressions_are_found_by_key_and_by_marks() {
        check(
            "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nspec:\n  rules:\n  - validate:\n      message: 'a {{ b }} {{ c\n        }}'\n      cel:\n        expressions:\n        - expression: >-\n            object.a\n            == 1\n",
            &["JmesPath  b ", "JmesPath  c\n", "Cel object.a\n== 1"],
        );
        check("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: '{{ b }}'\n", &[]);
        check(
            "apiVersion: api.kubemod.io/v1beta1\nspec:\n  patch:\n  - value: \"{{ .Target.x }}\"\n",
            &["GoTemplate  .Target.x "],
        );
    }
}
