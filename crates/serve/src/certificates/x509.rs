//! The fields of a certificate that we need, read from its DER.
//!
//! rcgen writes certificates and rustls trusts them, but neither tells when one ends. That is six fields in a fixed
//! order, which RustCrypto's `der` reads. Whether a signature holds is for rustls to say.

use ::der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use ::der::{Decode as _, Tag, Tagged as _};

const SEQUENCE: u8 = 0x30;
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
    let mut outer = Walk(der).inside()?;
    let mut fields = outer.inside()?;
    if fields.0.first() == Some(&VERSION) {
        fields.element()?;
    }
    let _serial = fields.element()?;
    let _algorithm = fields.inside()?;
    let issuer = fields.sequence()?.whole;
    let mut validity = fields.inside()?;
    let (not_before, not_after) = (time(validity.element()?.any)?, time(validity.element()?.any)?);
    let subject = fields.sequence()?.whole;
    let public_key = fields.sequence()?.whole;
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
    any: AnyRef<'d>,
    whole: &'d [u8],
}

impl<'d> Walk<'d> {
    fn element(&mut self) -> Option<Element<'d>> {
        let (any, rest) = AnyRef::from_der_partial(self.0).ok()?;
        let whole = self.0.get(..self.0.len() - rest.len())?;
        self.0 = rest;
        Some(Element { any, whole })
    }

    fn sequence(&mut self) -> Option<Element<'d>> {
        self.element().filter(|element| element.any.tag() == Tag::Sequence)
    }

    fn inside(&mut self) -> Option<Walk<'d>> {
        Some(Walk(self.sequence()?.any.value()))
    }
}

/// Returns the seconds since 1970.
fn time(element: AnyRef<'_>) -> Option<i64> {
    let since_1970 = match element.tag() {
        Tag::UtcTime => element.decode_as::<UtcTime>().ok()?.to_unix_duration(),
        Tag::GeneralizedTime => element.decode_as::<GeneralizedTime>().ok()?.to_unix_duration(),
        _ => return None,
    };
    i64::try_from(since_1970.as_secs()).ok()
}

#[cfg(test)]
mod tests;
