//! A text of which it is known which parts the author of the rule wrote.
//!
//! Only there do separators, operators, spaces around them and wildcards count.

use std::borrow::Cow;

use kubewright_golib::glob::WildcardPattern;

use crate::tainted::TaintedPart;

/// Returns the parts without empty ones, neighbours by the same author as one, so that `>` and `=5` are `>=5`.
pub(super) fn merge_parts(parts: &[TaintedPart]) -> Cow<'_, [TaintedPart]> {
    let is_merged = parts.iter().all(|part| !part.text.is_empty())
        && parts.windows(2).all(|pair| matches!(pair, [a, b] if a.is_own != b.is_own));
    if is_merged {
        return Cow::Borrowed(parts);
    }
    let filled: Vec<&TaintedPart> = parts.iter().filter(|part| !part.text.is_empty()).collect();
    let merged = filled.chunk_by(|a, b| a.is_own == b.is_own).filter_map(|same| {
        let first = same.first()?;
        let text = match same {
            [only] => only.text.clone(),
            several => several.iter().map(|part| part.text.as_str()).collect::<String>().into(),
        };
        Some(TaintedPart { text, is_own: first.is_own })
    });
    Cow::Owned(merged.collect())
}

/// A text in parts, each with whether the author wrote it.
#[derive(Debug, Clone)]
pub(super) struct TaintedText<'t>(Vec<(&'t str, bool)>);

impl<'t> TaintedText<'t> {
    pub(super) fn own(text: &'t str) -> Self {
        Self(vec![(text, true)])
    }

    pub(super) fn foreign(text: &'t str) -> Self {
        Self(vec![(text, false)])
    }

    pub(super) fn of_parts(parts: &'t [TaintedPart]) -> Self {
        Self(parts.iter().map(|part| (part.text.as_str(), part.is_own)).collect())
    }

    /// Returns the whole text, foreign parts included.
    pub(super) fn text(&self) -> Cow<'t, str> {
        match self.0.as_slice() {
            [(only, _)] => Cow::Borrowed(only),
            parts => Cow::Owned(parts.iter().map(|(text, _)| *text).collect()),
        }
    }

    /// Returns whether the author wrote all of it, and it is `text`.
    pub(super) fn is_own(&self, text: &str) -> bool {
        self.0.iter().all(|(_, is_own)| *is_own) && self.text() == text
    }

    /// Returns how many bytes it has.
    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|(text, _)| text.len()).sum()
    }

    /// Splits at every `separator` that the author wrote.
    pub(super) fn split(&self, separator: char) -> Vec<Self> {
        let mut done = Vec::new();
        let mut open = Vec::new();
        for (text, is_own) in &self.0 {
            let mut rest = *text;
            while let Some((before, behind)) = rest.split_once(separator).filter(|_| *is_own) {
                open.push((before, true));
                done.push(Self(std::mem::take(&mut open)));
                rest = behind;
            }
            open.push((rest, *is_own));
        }
        done.push(Self(open));
        done
    }

    /// Trims, at both ends, the author's characters for which `is_space` holds.
    pub(super) fn trim(mut self, is_space: impl Fn(char) -> bool) -> Self {
        while let Some((text, true)) = self.0.first_mut() {
            *text = text.trim_start_matches(&is_space);
            if !text.is_empty() || self.0.len() == 1 {
                break;
            }
            self.0.remove(0);
        }
        while let Some((text, true)) = self.0.last_mut() {
            *text = text.trim_end_matches(&is_space);
            if !text.is_empty() || self.0.len() == 1 {
                break;
            }
            self.0.pop();
        }
        self
    }

    /// Returns the text after `prefix`, if the author wrote that at the start.
    pub(super) fn strip_prefix(&self, prefix: &str) -> Option<Self> {
        let (first, others) = self.0.split_first()?;
        let rest = first.0.strip_prefix(prefix).filter(|_| first.1)?;
        Some(Self(std::iter::once((rest, true)).chain(others.iter().copied()).collect()))
    }

    /// Returns the text before `suffix`, if the author wrote that at the end.
    pub(super) fn strip_suffix(&self, suffix: &str) -> Option<Self> {
        let (last, others) = self.0.split_last()?;
        let rest = last.0.strip_suffix(suffix).filter(|_| last.1)?;
        Some(Self(others.iter().copied().chain(std::iter::once((rest, true))).collect()))
    }

    /// Returns the texts around the author's first `mark` for which `is_wanted` holds.
    pub(super) fn around(
        &self,
        mark: &str,
        is_wanted: impl Fn(&str, &str) -> bool,
    ) -> Option<(String, String)> {
        if !self.0.iter().any(|(text, is_own)| *is_own && text.contains(mark)) {
            return None;
        }
        let whole = self.text();
        let mut start = 0;
        for (text, is_own) in &self.0 {
            for (at, _) in text.match_indices(mark).filter(|_| *is_own) {
                let before = whole.get(..start + at)?;
                let behind = whole.get(start + at + mark.len()..)?;
                if is_wanted(before, behind) {
                    return Some((before.to_owned(), behind.to_owned()));
                }
            }
            start += text.len();
        }
        None
    }

    /// Returns it as wildcards, of which only the author's count.
    pub(super) fn glob(&self) -> WildcardPattern {
        WildcardPattern::of_parts(self.0.iter().copied())
    }

    /// Returns whether the author wrote a wildcard.
    pub(super) fn has_wildcard(&self) -> bool {
        self.0.iter().any(|(text, is_own)| *is_own && kubewright_golib::glob::has_wildcard(text))
    }
}
