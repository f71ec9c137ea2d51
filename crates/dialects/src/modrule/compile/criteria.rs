//! The items of `match`.

use kubewright_engine::{Diagnostic, KindScope};
use kubewright_lang::jsonpath::{Expression, Lint, Select};
use kubewright_value::{Position, Text, Value};

use super::Compiler;
use crate::fields::{Placed, within};
use crate::modrule::criterion::{Criterion, Test};
use crate::modrule::diagnostics as code;
use crate::modrule::references::REFERENCES;
use crate::modrule::source::SourceCriterion;

impl Compiler<'_> {
    pub(super) fn criterion(&mut self, source: &SourceCriterion) -> Option<Criterion> {
        let select = self.expression(&source.select);
        let test = self.test(source);
        let select = select?;
        self.lints(&source.select, select.lints());
        self.sees_references |= select.reads_root_key(REFERENCES);
        Some(Criterion {
            text: source.select.value.to_string(),
            path: Select::parse(&source.select.value).ok(),
            select,
            test: test?,
            match_for: source.match_for,
            is_negated: source.is_negated,
            location: self.document.locate(&source.select.path),
            unmet: format!("not met: {}", source.select.value).into(),
        })
    }

    fn test(&mut self, source: &SourceCriterion) -> Option<Test> {
        let regex = match &source.match_regex {
            Some(regex) => Some(self.regex(regex)?),
            None => None,
        };
        let named = [
            ("matchValue", source.match_value.as_ref()),
            ("matchValues", source.match_values.first()),
            ("matchRegex", source.match_regex.as_ref()),
        ];
        let mut named = named.into_iter().filter_map(|(name, value)| value.map(|value| (name, value)));
        let first = named.next();
        if let (Some((first, _)), Some((second, place))) = (first, named.next()) {
            self.report(
                &code::SHADOWED_TEST,
                place,
                format!("`{second}` is never looked at, because `{first}` decides alone"),
                "split it into two criteria".to_owned(),
            );
        }
        for value in source.match_value.iter().chain(&source.match_values) {
            let is_quoted =
                value.value.len() > 1 && value.value.starts_with('"') && value.value.ends_with('"');
            if is_quoted {
                self.report(
                    &code::QUOTED_MATCH,
                    value,
                    format!("only text with quotes in it equals `{}`", value.value),
                    format!("matchValue is compared as it stands; write '{}'", value.value.trim_matches('"')),
                );
            }
        }
        let texts = || source.match_values.iter().map(|value| value.value.clone()).collect();
        Some(match (&source.match_value, source.match_values.is_empty(), regex) {
            (Some(value), _, _) => Test::Equals(value.value.clone()),
            (None, false, _) => Test::OneOf(texts()),
            (None, true, Some(regex)) => Test::Matches(regex),
            (None, true, None) => Test::Present,
        })
    }

    fn expression(&mut self, text: &Placed<Text>) -> Option<Expression> {
        let parsed = Expression::parse(&text.value);
        parsed.map_err(|error| self.bad_select(text, error.message, error.position, error.length)).ok()
    }

    pub(super) fn lints(&mut self, text: &Placed<Text>, lints: Vec<(Lint, Position)>) {
        for (lint, position) in lints {
            let location = within(self.document, &text.path, position, 1);
            let code = match lint {
                Lint::PresenceFilter | Lint::ListFilter => &code::PRESENCE_FILTER,
                _ => &code::ODD_EXPRESSION,
            };
            self.diagnostics.push(Diagnostic::new(code, lint.to_string(), location));
        }
    }
}

/// Returns the kinds outside of which the criteria cannot all be met.
pub(super) fn pinned_kinds(criteria: &[Criterion]) -> KindScope {
    let pinned = criteria.iter().filter(|criterion| !criterion.is_negated).find_map(|criterion| {
        let is_kind = criterion
            .select
            .plain_path()
            .is_some_and(|steps| matches!(steps, [step] if *step == "kind".into()));
        match &criterion.test {
            Test::Equals(kind) if is_kind => Some(vec![kind.clone()]),
            Test::OneOf(kinds) if is_kind => Some(kinds.clone()),
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
