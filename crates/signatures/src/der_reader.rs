//! DER elements one after the other.

use der::asn1::AnyRef;
use der::{Decode as _, Tag, TagNumber, Tagged as _};

/// Elements that have not been read yet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DerReader<'a>(pub(crate) &'a [u8]);

/// Returns the tag of a part that has only a number.
pub(crate) const fn context_tag(number: u32, constructed: bool) -> Tag {
    Tag::ContextSpecific { constructed, number: TagNumber(number) }
}

impl<'a> DerReader<'a> {
    pub(crate) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Takes the next element: its tag, its content and all its bytes.
    pub(crate) fn any(&mut self) -> Option<(Tag, &'a [u8], &'a [u8])> {
        let (element, rest) = AnyRef::from_der_partial(self.0).ok()?;
        let whole = self.0.get(..self.0.len().checked_sub(rest.len())?)?;
        self.0 = rest;
        Some((element.tag(), element.value(), whole))
    }

    /// Takes the content of the next element, which must be of type `tag`.
    pub(crate) fn take(&mut self, tag: Tag) -> Option<&'a [u8]> {
        let (found, content, _) = self.any()?;
        (found == tag).then_some(content)
    }

    /// Takes all bytes of the next element, which must be of type `tag`.
    pub(crate) fn whole(&mut self, tag: Tag) -> Option<&'a [u8]> {
        let (found, _, whole) = self.any()?;
        (found == tag).then_some(whole)
    }

    pub(crate) fn inner(&mut self, tag: Tag) -> Option<Self> {
        self.take(tag).map(Self)
    }

    /// Takes the next element if it is of type `tag`.
    pub(crate) fn optional(&mut self, tag: Tag) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let (found, content, _) = ahead.any()?;
        if found != tag {
            return None;
        }
        *self = ahead;
        Some(content)
    }

    /// Takes an integer that is not negative, as bytes without leading zeros.
    pub(crate) fn natural(&mut self) -> Option<&'a [u8]> {
        let content = self.take(Tag::Integer)?;
        if content.first().is_none_or(|first| first & 0x80 != 0) {
            return None;
        }
        let zeros = content.iter().take_while(|byte| **byte == 0).count();
        content.get(zeros..)
    }

    /// Takes a string of whole bytes of bits.
    pub(crate) fn bits(&mut self) -> Option<&'a [u8]> {
        match self.take(Tag::BitString)?.split_first()? {
            (0, bytes) => Some(bytes),
            _ => None,
        }
    }

    pub(crate) fn object_identifier(&mut self) -> Option<Vec<u64>> {
        parse_identifier(self.take(Tag::ObjectIdentifier)?)
    }

    /// Takes a time, in seconds since 1970.
    pub(crate) fn time(&mut self) -> Option<i64> {
        let (tag, content, _) = self.any()?;
        let text = std::str::from_utf8(content).ok()?;
        match tag {
            Tag::UtcTime => {
                let year: i64 = text.get(..2)?.parse().ok()?;
                let century = if year >= 50 { "19" } else { "20" };
                seconds_of(&format!("{century}{text}"))
            }
            Tag::GeneralizedTime => seconds_of(text),
            _ => None,
        }
    }
}

pub(crate) fn parse_identifier(content: &[u8]) -> Option<Vec<u64>> {
    let mut parts = Vec::new();
    let (mut part, mut is_open) = (0_u64, false);
    for byte in content {
        part = part.checked_mul(128)? | u64::from(byte & 0x7f);
        is_open = byte & 0x80 != 0;
        if is_open {
            continue;
        }
        if parts.is_empty() {
            let first = (part / 40).min(2);
            parts.push(first);
            part -= first * 40;
        }
        parts.push(part);
        part = 0;
    }
    (!parts.is_empty() && !is_open).then_some(parts)
}

/// Reads `YYYYMMDDHHMMSSZ`.
fn seconds_of(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('Z').filter(|digits| digits.len() == 14)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number = |from: usize, to: usize| digits.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(8, 10)?, number(10, 12)?, number(12, 14)?);
    let is_valid =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    is_valid.then(|| days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second)
}

/// Returns the number of the day, by the calendar that counts from March.
pub(crate) fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}
