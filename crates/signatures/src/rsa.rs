//! RSA signatures: PKCS #1 v1.5 and PSS. Only public keys, so nothing here is secret.

use num_bigint::BigUint;

use crate::key::HashFunction;

/// The sizes of keys that are used, in bytes: from 2,048 to 8,192 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;

/// How long a public exponent may be, in bytes.
const MAX_EXPONENT_BYTES: usize = 8;

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RsaVerifier {
    modulus: Vec<u8>,
    exponent: Vec<u8>,
}

impl RsaVerifier {
    pub(crate) fn new(modulus: &[u8], exponent: &[u8]) -> Result<Self, String> {
        let is_odd = |number: &[u8]| number.last().is_some_and(|byte| byte % 2 == 1);
        if !MODULUS_BYTES.contains(&modulus.len()) {
            return Err(format!("an RSA key of {} bits is not used", modulus.len() * 8));
        }
        if !is_odd(modulus) || !is_odd(exponent) || exponent.len() > MAX_EXPONENT_BYTES || exponent == [1] {
            return Err("the RSA key cannot be used".to_owned());
        }
        Ok(Self { modulus: modulus.to_vec(), exponent: exponent.to_vec() })
    }

    /// Returns whether `signature` is one of `message` by PKCS #1 v1.5.
    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8], hash: HashFunction) -> bool {
        let payload = [hash.digest_info(), &hash.digest(message)].concat();
        let Some(filling) = self.modulus.len().checked_sub(payload.len() + 3).filter(|filling| *filling >= 8)
        else {
            return false;
        };
        let expected = [&[0x00, 0x01][..], &vec![0xff; filling], &[0x00], &payload].concat();
        self.open(signature).is_some_and(|opened| opened == expected)
    }

    /// Returns whether `signature` is one of `message` by PSS with a salt as long as the hash.
    pub(crate) fn has_signed_pss(&self, message: &[u8], signature: &[u8], hash: HashFunction) -> bool {
        let Some(opened) = self.open(signature) else { return false };
        let bits = self.modulus_bits().saturating_sub(1);
        let length = bits.div_ceil(8);
        let Some(encoded) = opened.get(opened.len().saturating_sub(length)..) else { return false };
        is_pss_encoded(encoded, bits, &hash.digest(message), hash)
            && opened.iter().take(opened.len().saturating_sub(length)).all(|byte| *byte == 0)
    }

    fn modulus_bits(&self) -> usize {
        let first = self.modulus.first().map_or(0, |byte| 8 - byte.leading_zeros() as usize);
        self.modulus.len().saturating_sub(1) * 8 + first
    }

    /// Returns what was signed, as long as the modulus.
    fn open(&self, signature: &[u8]) -> Option<Vec<u8>> {
        let number = BigUint::from_bytes_be;
        let (modulus, signed) = (number(&self.modulus), number(signature));
        if signature.len() != self.modulus.len() || signed >= modulus {
            return None;
        }
        let opened = signed.modpow(&number(&self.exponent), &modulus).to_bytes_be();
        let mut padded = vec![0; self.modulus.len().checked_sub(opened.len())?];
        padded.extend(opened);
        Some(padded)
    }
}

/// EMSA-PSS-VERIFY of RFC 8017.
fn is_pss_encoded(encoded: &[u8], bits: usize, digest: &[u8], hash: HashFunction) -> bool {
    let size = digest.len();
    let Some((&0xbc, rest)) = encoded.split_last() else { return false };
    let Some(split) = rest.len().checked_sub(size) else { return false };
    let (Some(masked), Some(found)) = (rest.get(..split), rest.get(split..)) else { return false };
    let unused = 8 * encoded.len() - bits;
    if masked.first().is_none_or(|first| u32::from(*first) >> (8 - unused) != 0) {
        return false;
    }
    let mut block: Vec<u8> =
        masked.iter().zip(mask_bytes(found, masked.len(), hash)).map(|(byte, mask)| byte ^ mask).collect();
    if let Some(first) = block.first_mut() {
        *first &= 0xff >> unused;
    }
    let Some(filling) = block.len().checked_sub(size + 1) else { return false };
    let is_filled = block.iter().take(filling).all(|byte| *byte == 0) && block.get(filling) == Some(&1);
    let salt = block.get(filling + 1..).unwrap_or_default();
    is_filled && hash.digest(&[&[0; 8][..], digest, salt].concat()) == found
}

/// MGF1 of RFC 8017.
fn mask_bytes(seed: &[u8], length: usize, hash: HashFunction) -> Vec<u8> {
    let mut mask = Vec::with_capacity(length + 64);
    for counter in 0_u32.. {
        if mask.len() >= length {
            break;
        }
        mask.extend(hash.digest(&[seed, &counter.to_be_bytes()].concat()));
    }
    mask.truncate(length);
    mask
}
