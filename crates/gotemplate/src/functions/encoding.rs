//! Base64, base32 and checksums.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::Digest as _;

use super::super::item::TemplateItem;
use super::arguments::{bytes_argument, text_argument};
use super::{ParameterType, TemplateFunction, fixed_function};

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("b64enc", &[ParameterType::Bytes], |_, a| {
        Ok(TemplateItem::text(STANDARD.encode(bytes_argument(a, 0))))
    }),
    fixed_function("b64dec", &[ParameterType::Text], |_, a| {
        Ok(decoded_or_message(decode_go_base64(text_argument(a, 0))))
    }),
    fixed_function("b32enc", &[ParameterType::Bytes], |_, a| {
        Ok(TemplateItem::text(base32_encode(bytes_argument(a, 0))))
    }),
    fixed_function("b32dec", &[ParameterType::Text], |_, a| {
        Ok(decoded_or_message(base32_decode(text_argument(a, 0))))
    }),
    fixed_function("sha1sum", &[ParameterType::Bytes], |_, a| {
        Ok(TemplateItem::text(hex_digits(&sha1::Sha1::digest(bytes_argument(a, 0)))))
    }),
    fixed_function("sha256sum", &[ParameterType::Bytes], |_, a| {
        Ok(TemplateItem::text(hex_digits(&sha2::Sha256::digest(bytes_argument(a, 0)))))
    }),
    fixed_function("sha512sum", &[ParameterType::Bytes], |_, a| {
        Ok(TemplateItem::text(hex_digits(&sha2::Sha512::digest(bytes_argument(a, 0)))))
    }),
    fixed_function("adler32sum", &[ParameterType::Bytes], |_, a| {
        Ok(TemplateItem::text(adler32(bytes_argument(a, 0)).to_string()))
    }),
];

/// Sprig gives the error's text as the result.
fn decoded_or_message(result: Result<Vec<u8>, String>) -> TemplateItem {
    result.map_or_else(TemplateItem::text, TemplateItem::bytes)
}

fn hex_digits(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % MODULUS;
        (a, (b + a) % MODULUS)
    });
    (b << 16) | a
}

/// As Go decodes: line breaks are skipped, the error names the byte at fault.
pub(super) fn decode_go_base64(text: &str) -> Result<Vec<u8>, String> {
    decode_blocks(text, 4, 6, |byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    })
    .map_err(|at| format!("illegal base64 data at input byte {at}"))
}

fn base32_decode(text: &str) -> Result<Vec<u8>, String> {
    decode_blocks(text, 8, 5, |byte| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'2'..=b'7' => Some(byte - b'2' + 26),
        _ => None,
    })
    .map_err(|at| format!("illegal base32 data at input byte {at}"))
}

/// Decodes blocks of `size` digits of `bits` bits, the last padded with `=`.
fn decode_blocks(text: &str, size: usize, bits: u32, digit: fn(u8) -> Option<u8>) -> Result<Vec<u8>, usize> {
    let input: Vec<(usize, u8)> =
        text.bytes().enumerate().filter(|(_, b)| !matches!(b, b'\r' | b'\n')).collect();
    let mut out = Vec::with_capacity(input.len() * bits as usize / 8);
    let mut blocks = input.chunks(size).peekable();
    while let Some(block) = blocks.next() {
        let digits = block.iter().take_while(|(_, b)| *b != b'=').count();
        let (used, padding) = block.split_at(digits);
        let mut buffer = 0_u64;
        for (at, byte) in used {
            let value = digit(*byte).ok_or(*at)?;
            buffer = (buffer << bits) | u64::from(value);
        }
        let whole = digits * bits as usize / 8;
        let spare = digits * bits as usize % 8;
        let position = padding.first().or(block.first()).map_or(text.len(), |(at, _)| *at);
        if block.len() < size {
            return Err(text.len() - if padding.is_empty() { block.len() } else { 0 });
        }
        if let Some((at, _)) = padding.iter().find(|(_, b)| *b != b'=') {
            return Err(*at);
        }
        if !padding.is_empty() && (spare >= bits as usize || digits < 2) {
            return Err(position);
        }
        buffer >>= spare;
        out.extend(buffer.to_be_bytes().iter().skip(8 - whole));
        if !padding.is_empty() && blocks.peek().is_some() {
            let next = blocks.peek().and_then(|b| b.first()).map_or(text.len(), |(at, _)| *at);
            return Err(next);
        }
    }
    Ok(out)
}

fn base32_encode(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    let mut out = String::with_capacity(bytes.len().div_ceil(5) * 8);
    for block in bytes.chunks(5) {
        let buffer = (0..5).fold(0_u64, |sum, i| (sum << 8) | u64::from(block.get(i).copied().unwrap_or(0)));
        let digits = (block.len() * 8).div_ceil(5);
        for i in 0..8 {
            let value = usize::try_from((buffer >> (35 - 5 * i)) & 31).unwrap_or(0);
            let digit = ALPHABET.get(value).copied().unwrap_or(b'=');
            out.push(if i < digits { char::from(digit) } else { '=' });
        }
    }
    out
}
