//! Reading certificates with RustCrypto's `der`, in the words of Go's `crypto/x509` where something is malformed.

use der::asn1::{AnyRef, BitStringRef, UintRef};
use der::{Decode as _, Tag, TagNumber, Tagged as _};

use crate::time::{self, GoTime};

/// Elements one after the other.
#[derive(Debug, Clone, Copy)]
pub(super) struct CertificateReader<'a>(pub(super) &'a [u8]);

/// One element: its type, its content, and all its bytes.
pub(super) struct DerElement<'a> {
    pub(super) tag: Tag,
    pub(super) content: &'a [u8],
    pub(super) whole: &'a [u8],
}

/// Returns the type of a part that has only a number.
pub(super) const fn primitive_tag(number: u32) -> Tag {
    Tag::ContextSpecific { constructed: false, number: TagNumber(number) }
}

/// Returns the type of a part that has only a number and consists of others.
pub(super) const fn constructed_tag(number: u32) -> Tag {
    Tag::ContextSpecific { constructed: true, number: TagNumber(number) }
}

impl<'a> CertificateReader<'a> {
    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn is_next(self, tag: Tag) -> bool {
        Tag::from_der_partial(self.0).is_ok_and(|(found, _)| found == tag)
    }

    /// Takes the next element.
    pub(super) fn any(&mut self) -> Option<DerElement<'a>> {
        let (element, rest) = AnyRef::from_der_partial(self.0).ok()?;
        let whole = self.0.get(..self.0.len().checked_sub(rest.len())?)?;
        self.0 = rest;
        Some(DerElement { tag: element.tag(), content: element.value(), whole })
    }

    /// Takes the next element if it is of type `tag`; the error names `what` it should be.
    pub(super) fn take(&mut self, tag: Tag, what: &str) -> Result<&'a [u8], String> {
        self.optional(tag, what)?.ok_or_else(|| malformed_der(what))
    }

    /// Takes the next element with its type and length.
    pub(super) fn whole(&mut self, tag: Tag, what: &str) -> Result<&'a [u8], String> {
        let mut ahead = *self;
        let element = ahead.any().filter(|element| element.tag == tag).ok_or_else(|| malformed_der(what))?;
        *self = ahead;
        Ok(element.whole)
    }

    /// Takes the next element if it is of type `tag`, or nothing.
    pub(super) fn optional(&mut self, tag: Tag, what: &str) -> Result<Option<&'a [u8]>, String> {
        if !self.is_next(tag) {
            return Ok(None);
        }
        self.any().map(|element| Some(element.content)).ok_or_else(|| malformed_der(what))
    }

    /// Takes the next element and returns what it consists of.
    pub(super) fn inner(&mut self, tag: Tag, what: &str) -> Result<Self, String> {
        self.take(tag, what).map(Self)
    }

    pub(super) fn boolean(&mut self, what: &str) -> Result<bool, String> {
        let content = self.take(Tag::Boolean, what)?;
        typed_value(Tag::Boolean, content)
            .and_then(|any| any.decode_as().ok())
            .ok_or_else(|| malformed_der(what))
    }

    /// Takes an integer that is not negative, as bytes without leading zeros.
    pub(super) fn natural(&mut self, what: &str) -> Result<&'a [u8], String> {
        unsigned_bytes(self.take(Tag::Integer, what)?).ok_or_else(|| malformed_der(what))
    }

    /// Takes an integer that is not negative and less than 2⁵⁶.
    pub(super) fn small(&mut self, what: &str) -> Result<i64, String> {
        small_integer(self.take(Tag::Integer, what)?).ok_or_else(|| malformed_der(what))
    }

    /// Takes a string of bits: the bytes, and how many bits of the last one do not count.
    pub(super) fn bits(&mut self, what: &str) -> Result<(&'a [u8], u8), String> {
        let content = self.take(Tag::BitString, what)?;
        let bits: Option<BitStringRef<'a>> =
            typed_value(Tag::BitString, content).and_then(|any| any.decode_as().ok());
        let bits = bits.ok_or_else(|| malformed_der(what))?;
        // Go refuses bits that are set and do not count.
        let is_clean =
            bits.raw_bytes().last().is_none_or(|last| last.trailing_zeros() >= u32::from(bits.unused_bits()));
        if is_clean { Ok((bits.raw_bytes(), bits.unused_bits())) } else { Err(malformed_der(what)) }
    }

    pub(super) fn object_identifier(&mut self, what: &str) -> Result<Vec<u64>, String> {
        let id = self.take(Tag::ObjectIdentifier, what)?;
        parse_object_identifier(id).ok_or_else(|| malformed_der(what))
    }

    pub(super) fn time(&mut self) -> Result<GoTime, String> {
        let element = self.any().ok_or("x509: unsupported time format")?;
        let text = std::str::from_utf8(element.content).unwrap_or_default();
        match element.tag {
            Tag::UtcTime => parse_utc_time(text).ok_or_else(|| malformed_der("UTCTime")),
            Tag::GeneralizedTime => {
                time::parse_time("20060102150405Z0700", text).map_err(|_| malformed_der("GeneralizedTime"))
            }
            _ => Err("x509: unsupported time format".to_owned()),
        }
    }
}

fn typed_value(tag: Tag, content: &[u8]) -> Option<AnyRef<'_>> {
    AnyRef::new(tag, content).ok()
}

/// Reads the content of an integer that is not negative.
pub(super) fn unsigned_bytes(content: &[u8]) -> Option<&[u8]> {
    let number: UintRef<'_> = typed_value(Tag::Integer, content)?.decode_as().ok()?;
    // Zero is written as one byte.
    Some(number.as_bytes().strip_prefix(&[0]).unwrap_or(number.as_bytes()))
}

/// Reads the content of an integer that is not negative and less than 2⁵⁶.
pub(super) fn small_integer(content: &[u8]) -> Option<i64> {
    let digits = unsigned_bytes(content).filter(|digits| digits.len() < 8)?;
    Some(digits.iter().fold(0, |number, digit| number << 8 | i64::from(*digit)))
}

/// Reads the numbers of an object identifier.
///
/// `const-oid` has at most 39 bytes and nothing below 2.40, such as 2.999, which Go reads.
pub(super) fn parse_object_identifier(content: &[u8]) -> Option<Vec<u64>> {
    let mut parts = Vec::new();
    let mut part = 0_u64;
    let mut is_open = false;
    for byte in content {
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

/// Reads a time whose year has two digits: from 50 on they are those of the last century.
///
/// `der` wants seconds and `Z`; Go also reads times without seconds and with an offset.
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
