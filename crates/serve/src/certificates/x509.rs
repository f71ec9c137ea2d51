//! The fields of a certificate that we need, read from its DER.
//!
//! rcgen writes certificates and rustls trusts them, but neither tells when one ends. That is six fields in a fixed
//! order, so they are walked here: lengths are checked before anything is taken, nothing recurses, and what is not
//! exactly as DER wants it is no certificate. Whether a signature holds is for rustls to say.

const SEQUENCE: u8 = 0x30;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
/// The explicit tag around the version of a certificate, which version 1 leaves out.
const VERSION: u8 = 0xa0;

/// What a certificate says. Times are seconds since 1970; the rest is DER.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Certificate<'d> {
    pub(super) issuer: &'d [u8],
    pub(super) not_before: i64,
    pub(super) not_after: i64,
    pub(super) subject: &'d [u8],
    pub(super) public_key: &'d [u8],
}

/// Reads the certificate in `der`; nothing if it is none.
pub(super) fn certificate(der: &[u8]) -> Option<Certificate<'_>> {
    let mut outer = Walk(der).inside(SEQUENCE)?;
    let mut fields = outer.inside(SEQUENCE)?;
    if fields.0.first() == Some(&VERSION) {
        fields.element()?;
    }
    let _serial = fields.element()?;
    let _algorithm = fields.inside(SEQUENCE)?;
    let issuer = fields.element_of(SEQUENCE)?.whole;
    let mut validity = fields.inside(SEQUENCE)?;
    let (not_before, not_after) = (time(&validity.element()?)?, time(&validity.element()?)?);
    let subject = fields.element_of(SEQUENCE)?.whole;
    let public_key = fields.element_of(SEQUENCE)?.whole;
    Some(Certificate { issuer, not_before, not_after, subject, public_key })
}

/// Returns a distinguished name that is a common name only.
pub(super) fn common_name(name: &str) -> Option<Vec<u8>> {
    // Shorter than 128 bytes with all around it, so that every length is one byte.
    let length = u8::try_from(name.len()).ok().filter(|length| *length < 100)?;
    let mut bytes = vec![SEQUENCE, length + 11, 0x31, length + 9, SEQUENCE, length + 7];
    bytes.extend([0x06, 0x03, 0x55, 0x04, 0x03, 0x0c, length]);
    bytes.extend(name.as_bytes());
    Some(bytes)
}

/// What is left to be read.
struct Walk<'d>(&'d [u8]);

struct Element<'d> {
    tag: u8,
    whole: &'d [u8],
    content: &'d [u8],
}

impl<'d> Walk<'d> {
    fn element(&mut self) -> Option<Element<'d>> {
        let (&[tag, first], rest) = self.0.split_first_chunk::<2>()?;
        let (length, header) = match first {
            0..=0x7f => (usize::from(first), 2),
            // 0x80 is a length without end, which DER does not know.
            0x81..=0x84 => {
                let digits = usize::from(first & 0x7f);
                let bytes = rest.get(..digits)?;
                let length = bytes.iter().try_fold(0_usize, |length, byte| {
                    length.checked_mul(256)?.checked_add(usize::from(*byte))
                })?;
                (length, 2 + digits)
            }
            _ => return None,
        };
        let (whole, rest) = self.0.split_at_checked(length.checked_add(header)?)?;
        self.0 = rest;
        Some(Element { tag, whole, content: whole.get(header..)? })
    }

    fn element_of(&mut self, tag: u8) -> Option<Element<'d>> {
        self.element().filter(|element| element.tag == tag)
    }

    fn inside(&mut self, tag: u8) -> Option<Walk<'d>> {
        Some(Walk(self.element_of(tag)?.content))
    }
}

fn time(element: &Element<'_>) -> Option<i64> {
    let text = std::str::from_utf8(element.content).ok()?.strip_suffix('Z')?;
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (year, rest) = match (element.tag, text.len()) {
        (UTC_TIME, 12) => {
            let (year, rest) = text.split_at(2);
            let year: i64 = year.parse().ok()?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        (GENERALIZED_TIME, 14) => {
            let (year, rest) = text.split_at(4);
            (year.parse().ok()?, rest)
        }
        _ => return None,
    };
    let part = |at: usize| rest.get(at..at + 2)?.parse::<i64>().ok();
    let (month, day) = (part(0)?, part(2)?);
    let (hour, minute, second) = (part(4)?, part(6)?, part(8)?);
    let is_real =
        (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 61;
    is_real.then(|| days(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Returns the days from 1970 to a date of the Gregorian calendar, with years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let before = year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    before + of_year - 719_468
}

#[cfg(test)]
mod tests;
