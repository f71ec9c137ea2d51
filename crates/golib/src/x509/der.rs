//! DER: values that say their type and length. Only what certificates need.

use crate::time::{self, GoTime};

/// The types, as the first byte says them.
pub(super) mod tag {
    pub(in super::super) const BOOLEAN: u8 = 1;
    pub(in super::super) const INTEGER: u8 = 2;
    pub(in super::super) const BIT_STRING: u8 = 3;
    pub(in super::super) const OCTET_STRING: u8 = 4;
    pub(in super::super) const NULL: u8 = 5;
    pub(in super::super) const OBJECT_IDENTIFIER: u8 = 6;
    pub(in super::super) const UTF8_STRING: u8 = 12;
    pub(in super::super) const NUMERIC_STRING: u8 = 18;
    pub(in super::super) const PRINTABLE_STRING: u8 = 19;
    pub(in super::super) const T61_STRING: u8 = 20;
    pub(in super::super) const IA5_STRING: u8 = 22;
    pub(in super::super) const UTC_TIME: u8 = 23;
    pub(in super::super) const GENERALIZED_TIME: u8 = 24;
    pub(in super::super) const BMP_STRING: u8 = 30;
    pub(in super::super) const SEQUENCE: u8 = 0x30;
    pub(in super::super) const SET: u8 = 0x31;

    /// Returns the type of a part that has only a number.
    pub(in super::super) const fn part(number: u8) -> u8 {
        0x80 | number
    }

    /// Returns the type of a part that has only a number and consists of others.
    pub(in super::super) const fn parts(number: u8) -> u8 {
        0xa0 | number
    }
}

/// Values one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct DerReader<'a>(pub(super) &'a [u8]);

impl<'a> DerReader<'a> {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_next(self, tag: u8) -> bool {
        self.0.first() == Some(&tag)
    }

    /// Takes the next value: its type, what it says, and all its bytes.
    pub(super) fn any(&mut self) -> Option<(u8, &'a [u8], &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, mut rest) = rest.split_first()?;
        let length = if *first < 0x80 {
            usize::from(*first)
        } else {
            let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
            rest = after;
            // The shortest form is the only one.
            if digits.is_empty() || digits.len() > 4 || digits.first() == Some(&0) {
                return None;
            }
            let length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
            Some(length).filter(|length| *length >= 0x80)?
        };
        // Types of more than one byte are in no certificate.
        let (value, after) = (tag & 0x1f != 0x1f).then(|| rest.split_at_checked(length))??;
        let whole = self.0.get(..self.0.len() - after.len())?;
        self.0 = after;
        Some((*tag, value, whole))
    }

    /// Takes the next value if it is of type `tag`; `what` it should be is said otherwise.
    pub(super) fn take(&mut self, tag: u8, what: &str) -> Result<&'a [u8], String> {
        self.optional(tag, what)?.ok_or_else(|| malformed_der(what))
    }

    /// Takes the next value with its type and length.
    pub(super) fn whole(&mut self, tag: u8, what: &str) -> Result<&'a [u8], String> {
        let mut ahead = *self;
        match ahead.any() {
            Some((found, _, whole)) if found == tag => {
                *self = ahead;
                Ok(whole)
            }
            _ => Err(malformed_der(what)),
        }
    }

    /// Takes the next value if it is of type `tag`, or nothing.
    pub(super) fn optional(&mut self, tag: u8, what: &str) -> Result<Option<&'a [u8]>, String> {
        if !self.is_next(tag) {
            return Ok(None);
        }
        let (_, value, _) = self.any().ok_or_else(|| malformed_der(what))?;
        Ok(Some(value))
    }

    /// Takes the next value and returns what it consists of.
    pub(super) fn inner(&mut self, tag: u8, what: &str) -> Result<Self, String> {
        self.take(tag, what).map(Self)
    }

    pub(super) fn boolean(&mut self, what: &str) -> Result<bool, String> {
        match self.take(tag::BOOLEAN, what)? {
            [0] => Ok(false),
            [0xff] => Ok(true),
            _ => Err(malformed_der(what)),
        }
    }

    /// Takes an integer that is not negative, as bytes without leading zeros.
    pub(super) fn natural(&mut self, what: &str) -> Result<&'a [u8], String> {
        read_natural(self.take(tag::INTEGER, what)?).ok_or_else(|| malformed_der(what))
    }

    /// Takes an integer that is not negative and not large.
    pub(super) fn small(&mut self, what: &str) -> Result<i64, String> {
        read_small_integer(self.take(tag::INTEGER, what)?).ok_or_else(|| malformed_der(what))
    }

    /// Takes a string of bits: the bytes, and how many bits of the last one do not count.
    pub(super) fn bits(&mut self, what: &str) -> Result<(&'a [u8], u8), String> {
        let (unused, bytes) =
            self.take(tag::BIT_STRING, what)?.split_first().ok_or_else(|| malformed_der(what))?;
        let is_clean = match bytes.last() {
            None => *unused == 0,
            Some(last) => *unused < 8 && last.trailing_zeros() >= u32::from(*unused),
        };
        if is_clean { Ok((bytes, *unused)) } else { Err(malformed_der(what)) }
    }

    pub(super) fn object_identifier(&mut self, what: &str) -> Result<Vec<u64>, String> {
        let id = self.take(tag::OBJECT_IDENTIFIER, what)?;
        read_object_identifier(id).ok_or_else(|| malformed_der(what))
    }

    pub(super) fn time(&mut self) -> Result<GoTime, String> {
        let (tag, value, _) = self.any().ok_or("x509: unsupported time format")?;
        let text = std::str::from_utf8(value).unwrap_or_default();
        match tag {
            tag::UTC_TIME => parse_utc_time(text).ok_or_else(|| malformed_der("UTCTime")),
            tag::GENERALIZED_TIME => {
                time::parse_time("20060102150405Z0700", text).map_err(|_| malformed_der("GeneralizedTime"))
            }
            _ => Err("x509: unsupported time format".to_owned()),
        }
    }
}

/// Reads an integer that is not negative.
pub(super) fn read_natural(bytes: &[u8]) -> Option<&[u8]> {
    match bytes {
        [] => None,
        // A leading zero is only allowed where the first bit would read as a sign.
        [0, second, ..] if *second < 0x80 => None,
        [0, rest @ ..] => Some(rest),
        [first, ..] if *first >= 0x80 => None,
        bytes => Some(bytes),
    }
}

/// Reads an integer that is not negative and not large.
pub(super) fn read_small_integer(bytes: &[u8]) -> Option<i64> {
    let digits = read_natural(bytes).filter(|digits| digits.len() < 8)?;
    Some(digits.iter().fold(0, |number, digit| number << 8 | i64::from(*digit)))
}

/// Reads the numbers of an object identifier.
pub(super) fn read_object_identifier(bytes: &[u8]) -> Option<Vec<u64>> {
    let mut parts = Vec::new();
    let mut part = 0_u64;
    let mut is_open = false;
    for byte in bytes {
        if !is_open && *byte == 0x80 {
            return None;
        }
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

/// Two digits are all that is left of the year: from 50 on they are those of the last century.
fn parse_utc_time(text: &str) -> Option<GoTime> {
    let year: u32 = text.get(..2)?.parse().ok()?;
    let century = if year >= 50 { "19" } else { "20" };
    let full = format!("{century}{text}");
    ["20060102150405Z0700", "200601021504Z0700"]
        .iter()
        .find_map(|layout| time::parse_time(layout, &full).ok())
}

pub(super) fn malformed_der(what: &str) -> String {
    format!("x509: malformed {what}")
}
