//! The items of `match`.

use kubewright_engine::{Diagnostic, KindScope};
use kubewright_jsonpath::{JsonPathExpression, JsonPathLint, JsonPathSelector};
use kubewright_value::{Position, Text, Value};

use super::ModRuleCompiler;
use crate::criterion::{CompiledCriterion, CriterionTest, WantedText};
use crate::diagnostics as code;
use crate::references::REFERENCES;
use crate::shared::{criterion_number, select_number};
use crate::source::SourceCriterion;
use kubewright_dialect_kit::fields::{Located, locate_within};

impl ModRuleCompiler<'_> {
    pub(super) fn criterion(&mut self, source: &SourceCriterion) -> Option<CompiledCriterion> {
        let select = self.expression(&source.select);
        let tests = self.tests(source);
        let select = select?;
        self.lints(&source.select, select.lints());
        self.sees_references |= select.reads_root_key(REFERENCES);
        Some(CompiledCriterion {
            text: source.select.value.clone(),
            number: criterion_number(source, self.dialect.follows_program),
            select_number: select_number(&source.select.value),
            path: JsonPathSelector::parse(&source.select.value).ok(),
            select,
            tests: tests?,
            match_for: source.match_for,
            unwraps_booleans: !self.dialect.follows_program,
            is_negated: source.is_negated,
            location: self.document.locate(&source.select.path),
            unmet: format!("not met: {}", source.select.value).into(),
        })
    }

    fn tests(&mut self, source: &SourceCriterion) -> Option<Vec<CriterionTest>> {
        let regex = match &source.match_regex {
            Some(regex) => Some(self.regex(regex)?),
            None => None,
        };
        self.hint_at_several_tests(source);
        let follows_program = self.dialect.follows_program;
        let wanted = |text: &Located<Text>| WantedText::new(text.value.clone(), !follows_program);
        for text in source.match_value.iter().chain(&source.match_values) {
            if let Some(unquoted) = wanted(text).unquoted() {
                self.report(
                    &code::QUOTED_MATCH,
                    text,
                    format!("`{}` also equals `{unquoted}`, the text without the quotes", text.value),
                    format!("write '{unquoted}' if the quotes are not part of the value"),
                );
            }
        }
        let single = source.match_value.as_ref().map(|text| CriterionTest::Equals(vec![wanted(text)]));
        let several = (!source.match_values.is_empty())
            .then(|| CriterionTest::Equals(source.match_values.iter().map(wanted).collect()));
        let tests = [single, several, regex.map(CriterionTest::Matches)].into_iter().flatten();
        // To KubeMod's program the first one decides alone.
        Some(tests.take(if follows_program { 1 } else { 3 }).collect())
    }

    fn hint_at_several_tests(&mut self, source: &SourceCriterion) {
        let named = [
            ("matchValue", source.match_value.as_ref()),
            ("matchValues", source.match_values.first()),
            ("matchRegex", source.match_regex.as_ref()),
        ];
        let mut named = named.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
        let first = named.next();
        if let (Some((first, _)), Some((second, place))) = (first, named.next()) {
            self.report(
                &code::SEVERAL_TESTS,
                place,
                if self.dialect.follows_program {
                    format!("`{second}` is never looked at, because `{first}` decides alone")
                } else {
                    format!("`{first}` and `{second}` in one criterion: either of them is enough")
                },
                "split it into two criteria if both must hold".to_owned(),
            );
        }
    }

    fn expression(&mut self, text: &Located<Text>) -> Option<JsonPathExpression> {
        let parsed = JsonPathExpression::parse(&text.value);
        parsed.map_err(|error| self.bad_select(text, error.message, error.position, error.length)).ok()
    }

    pub(super) fn lints(&mut self, text: &Located<Text>, lints: Vec<(JsonPathLint, Position)>) {
        for (lint, position) in lints {
            let location = locate_within(self.document, &text.path, position, 1);
            let code = match lint {
                JsonPathLint::PresenceFilter | JsonPathLint::ListFilter => &code::PRESENCE_FILTER,
                _ => &code::ODD_EXPRESSION,
            };
            self.diagnostics.push(Diagnostic::new(code, lint.to_string(), location));
        }
    }
}

/// Returns the kinds outside of which the criteria cannot all be met.
pub(super) fn pinned_kinds(criteria: &[CompiledCriterion]) -> KindScope {
    let pinned = criteria.iter().filter(|criterion| !criterion.is_negated).find_map(|criterion| {
        let is_kind = criterion
            .select
            .plain_path()
            .is_some_and(|steps| matches!(steps, [step] if *step == "kind".into()));
        match criterion.tests.as_slice() {
            tests @ [_, ..] if is_kind => equal_texts(tests),
            _ => criterion.select.pinned().into_iter().find_map(|(steps, value)| {
                match (steps.as_slice(), value) {
                    ([step], Value::String(kind)) if *step == "kind".into() => Some(vec![kind]),
                    _ => None,
                }
            }),
        }
    });
    pinned.map_or(KindScope::Any, KindScope::Named)
}

/// Returns the only texts that can pass one of `tests`, if these all test equality.
fn equal_texts(tests: &[CriterionTest]) -> Option<Vec<Text>> {
    let mut texts = Vec::new();
    for test in tests {
        match test {
            CriterionTest::Equals(wanted) => {
                texts.extend(wanted.iter().flat_map(WantedText::spellings).cloned());
            }
            CriterionTest::Matches(_) => return None,
        }
    }
    Some(texts)
}
