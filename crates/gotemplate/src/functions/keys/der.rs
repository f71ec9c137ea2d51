//! DER, the encoding of keys and certificates: as much of it as these need. It is read with RustCrypto's `der`.

use ::der::Decode as _;
use ::der::asn1::AnyRef;

/// The tag of a sequence.
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;

/// Returns one element.
pub(super) fn encode_element(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match content.len() {
        length @ 0..=0x7f => out.push(u8::try_from(length).unwrap_or_default()),
        length => {
            let bytes: Vec<u8> = length.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
            out.push(0x80 | u8::try_from(bytes.len()).unwrap_or_default());
            out.extend(bytes);
        }
    }
    out.extend_from_slice(content);
    out
}

/// Returns a sequence of elements.
pub(super) fn encode_sequence(elements: &[Vec<u8>]) -> Vec<u8> {
    encode_element(SEQUENCE, &elements.concat())
}

/// Returns a number that is not negative, from its bytes, the highest first.
pub(super) fn encode_integer(bytes: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
    let is_high = digits.first().is_none_or(|first| first & 0x80 != 0);
    let sign: &[u8] = if is_high { &[0] } else { &[] };
    encode_element(INTEGER, &[sign, &digits].concat())
}

/// Returns a string of whole bytes as bits.
pub(super) fn encode_bit_string(bytes: &[u8]) -> Vec<u8> {
    encode_element(BIT_STRING, &[&[0], bytes].concat())
}

/// One element that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadElement<'d> {
    pub(super) tag: u8,
    pub(super) content: &'d [u8],
    /// Tag, length and content.
    pub(super) whole: &'d [u8],
}

impl<'d> ReadElement<'d> {
    /// Returns the elements in it, if it has the tag and nothing else is in it.
    pub(super) fn elements(self, tag: u8) -> Option<Vec<ReadElement<'d>>> {
        (self.tag == tag).then_some(())?;
        let mut rest = self.content;
        let mut elements = Vec::new();
        while !rest.is_empty() {
            let (element, after) = read_element(rest)?;
            elements.push(element);
            rest = after;
        }
        Some(elements)
    }

    /// Returns the content if it has the tag.
    pub(super) fn of(self, tag: u8) -> Option<&'d [u8]> {
        (self.tag == tag).then_some(self.content)
    }
}

/// Reads the only element of `bytes`.
pub(super) fn only_element(bytes: &[u8]) -> Option<ReadElement<'_>> {
    read_element(bytes).filter(|(_, rest)| rest.is_empty()).map(|(element, _)| element)
}

/// Reads the first element of `bytes`; returns it and what is behind it.
fn read_element(bytes: &[u8]) -> Option<(ReadElement<'_>, &[u8])> {
    let (element, after) = AnyRef::from_der_partial(bytes).ok()?;
    let whole = bytes.get(..bytes.len() - after.len())?;
    Some((ReadElement { tag: *bytes.first()?, content: element.value(), whole }, after))
}
