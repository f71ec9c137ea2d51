//! Versions and constraints, as Masterminds' `semver` reads them.

mod constraint;

use std::cmp::Ordering;
use std::fmt;
use std::rc::Rc;

use super::super::item::{IntegerWidth, TemplateItem};
use super::arguments::text_argument;
use super::{ParameterType, TemplateFunction, fixed_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("semver", &[ParameterType::Text], |_, a| {
        Ok(TemplateItem::Version(Rc::new(SprigVersion::parse(text_argument(a, 0))?)))
    }),
    fixed_function("semverCompare", &[ParameterType::Text, ParameterType::Text], |call, a| {
        // Each part is matched with expressions that have many groups.
        call.budget.step(16 * text_argument(a, 0).len() as u64)?;
        let constraint = constraint::VersionConstraints::parse(text_argument(a, 0))?;
        Ok(TemplateItem::Bool(constraint.allows(&SprigVersion::parse(text_argument(a, 1))?)))
    }),
];

/// A version; `1`, `1.2` and `v1.2.3` are fine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct SprigVersion {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
    pub prerelease: String,
    pub metadata: String,
    pub original: String,
}

const INVALID: &str = "Invalid Semantic Version";

impl SprigVersion {
    pub(in super::super) fn parse(text: &str) -> Result<Self, String> {
        let body = text.strip_prefix('v').unwrap_or(text);
        let (body, metadata) = match body.split_once('+') {
            Some((body, metadata)) => (body, Some(metadata)),
            None => (body, None),
        };
        let (numbers, prerelease) = match body.split_once('-') {
            Some((numbers, prerelease)) => (numbers, Some(prerelease)),
            None => (body, None),
        };
        for part in [prerelease, metadata].into_iter().flatten() {
            if !part.split('.').all(is_prerelease_identifier) {
                return Err(INVALID.to_owned());
            }
        }
        if prerelease.is_some_and(|p| p.split('.').any(has_leading_zero)) {
            return Err("Version segment starts with 0".to_owned());
        }
        let parts: Vec<&str> = numbers.split('.').collect();
        if parts.len() > 3 || !parts.iter().all(|part| is_number(part)) {
            return Err(INVALID.to_owned());
        }
        let segment = |index: usize| match parts.get(index) {
            Some(part) => part.parse().map_err(|_| {
                format!(
                    "Error parsing version segment: strconv.ParseUint: parsing {part:?}: value out of range"
                )
            }),
            None => Ok(0),
        };
        Ok(Self {
            major: segment(0)?,
            minor: segment(1)?,
            patch: segment(2)?,
            prerelease: prerelease.unwrap_or_default().to_owned(),
            metadata: metadata.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        })
    }

    /// Orders by precedence; metadata does not count.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        let numbers = |v: &Self| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.prerelease.as_str(), other.prerelease.as_str()) {
                ("", "") => Ordering::Equal,
                ("", _) => Ordering::Greater,
                (_, "") => Ordering::Less,
                (a, b) => order_prerelease(a, b),
            }
        })
    }

    /// Calls a method of Go's `Version`; nothing when it is not one we know.
    pub(in super::super) fn method(
        &self,
        name: &str,
        arguments: &[TemplateItem],
    ) -> Option<Result<TemplateItem, String>> {
        let number = |value: u64| TemplateItem::Int(IntegerWidth::Uint64, value.cast_signed());
        let item = match (name, arguments) {
            ("Major", []) => number(self.major),
            ("Minor", []) => number(self.minor),
            ("Patch", []) => number(self.patch),
            ("Prerelease", []) => TemplateItem::text(self.prerelease.as_str()),
            ("Metadata", []) => TemplateItem::text(self.metadata.as_str()),
            ("Original", []) => TemplateItem::text(self.original.as_str()),
            ("String", []) => TemplateItem::text(self.to_string()),
            ("IncMajor", []) => self.next(|v| (v.major.wrapping_add(1), 0, 0)),
            ("IncMinor", []) => self.next(|v| (v.major, v.minor.wrapping_add(1), 0)),
            ("IncPatch", []) => {
                let step = u64::from(self.prerelease.is_empty());
                self.next(|v| (v.major, v.minor, v.patch.wrapping_add(step)))
            }
            ("Compare", [TemplateItem::Version(other)]) => TemplateItem::int(self.order(other) as i64),
            ("Equal", [TemplateItem::Version(other)]) => TemplateItem::Bool(self.order(other).is_eq()),
            ("LessThan", [TemplateItem::Version(other)]) => TemplateItem::Bool(self.order(other).is_lt()),
            ("GreaterThan", [TemplateItem::Version(other)]) => TemplateItem::Bool(self.order(other).is_gt()),
            _ => return None,
        };
        Some(Ok(item))
    }

    fn next(&self, numbers: impl Fn(&Self) -> (u64, u64, u64)) -> TemplateItem {
        let (major, minor, patch) = numbers(self);
        let mut next = Self {
            major,
            minor,
            patch,
            prerelease: String::new(),
            metadata: String::new(),
            original: String::new(),
        };
        let prefix = if self.original.starts_with('v') { "v" } else { "" };
        next.original = format!("{prefix}{next}");
        TemplateItem::Version(Rc::new(next))
    }
}

impl fmt::Display for SprigVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)?;
        if !self.prerelease.is_empty() {
            write!(f, "-{}", self.prerelease)?;
        }
        if !self.metadata.is_empty() {
            write!(f, "+{}", self.metadata)?;
        }
        Ok(())
    }
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
}

fn is_prerelease_identifier(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn has_leading_zero(part: &str) -> bool {
    part.len() > 1 && part.starts_with('0') && is_number(part)
}

/// Compares part by part: numbers below words, a missing part below all.
pub(super) fn order_prerelease(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.split('.'), b.split('.'));
    loop {
        let order = match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(a), Some(b)) => match (a.parse::<u64>(), b.parse::<u64>()) {
                (Ok(a), Ok(b)) => a.cmp(&b),
                (Ok(_), Err(_)) => Ordering::Less,
                (Err(_), Ok(_)) => Ordering::Greater,
                (Err(_), Err(_)) => a.cmp(b),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}
