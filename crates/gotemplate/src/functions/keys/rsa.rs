//! RSA: making a key, and PKCS #1 v1.5 signatures with SHA-256.

use num_bigint::BigUint;
use sha2::{Digest as _, Sha256};

use super::der;
use super::stream::ByteStream;

/// The public exponent of every key that is made.
const EXPONENT: u32 = 65_537;

/// Numbers that no candidate may be divisible by are primes below this.
const SIEVE_LIMIT: usize = 1 << 15;

/// The distance from its random start within which a prime is looked for.
const MAX_DISTANCE: u32 = 1 << 18;

/// The number of tests of a number that looks prime. The numbers are random, not chosen by an adversary.
const WITNESSES: [u32; 8] = [2, 3, 5, 7, 11, 13, 17, 19];

/// The longest modulus that is taken, in bits: signing takes time in proportion to its third power.
const MAX_BITS: u64 = 8192;

/// The shortest modulus in which a signature has room, in bits.
const MIN_BITS: u64 = 512;

/// The prefix of a SHA-256 digest in a signature: its algorithm, in DER.
const DIGEST_INFO: [u8; 19] = [
    0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00,
    0x04, 0x20,
];

/// A private key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RsaKey {
    modulus: BigUint,
    public_exponent: BigUint,
    private_exponent: BigUint,
    primes: [BigUint; 2],
}

impl RsaKey {
    /// Makes a key with a modulus of `bits` bits.
    pub(super) fn generate(bits: u64, bytes: &mut ByteStream) -> Self {
        let sieve = small_primes();
        let one = BigUint::from(1_u32);
        let exponent = BigUint::from(EXPONENT);
        loop {
            let primes = [random_prime(bits / 2, bytes, &sieve), random_prime(bits / 2, bytes, &sieve)];
            let [p, q] = &primes;
            let order = (p - &one) * (q - &one);
            if p != q
                && let Some(private_exponent) = exponent.modinv(&order)
            {
                return Self { modulus: p * q, public_exponent: exponent, private_exponent, primes };
            }
        }
    }

    /// Reads a key in the form of PKCS #1.
    pub(super) fn from_pkcs1(bytes: &[u8]) -> Option<Self> {
        let elements = der::only_element(bytes)?.elements(der::SEQUENCE)?;
        let number = |index: usize| {
            elements
                .get(index)?
                .of(der::INTEGER)
                .map(BigUint::from_bytes_be)
                .filter(|number| number.bits() > 0)
        };
        let key = Self {
            modulus: number(1)?,
            public_exponent: number(2)?,
            private_exponent: number(3)?,
            primes: [number(4)?, number(5)?],
        };
        let [p, q] = &key.primes;
        let one = BigUint::from(1_u32);
        // First that nothing is longer than it may be: multiplication takes time.
        let is_key = (MIN_BITS..=MAX_BITS).contains(&key.modulus.bits())
            && [p, q, &key.public_exponent, &key.private_exponent].iter().all(|part| **part < key.modulus)
            && p * q == key.modulus
            && p.bit(0)
            && q.bit(0)
            && *p > one
            && *q > one;
        is_key.then_some(key)
    }

    /// Returns the key in the form of PKCS #1.
    pub(super) fn to_pkcs1(&self) -> Vec<u8> {
        let [p, q] = &self.primes;
        let one = BigUint::from(1_u32);
        let inverse = q.modinv(p).unwrap_or_default();
        let numbers = [
            &BigUint::ZERO,
            &self.modulus,
            &self.public_exponent,
            &self.private_exponent,
            p,
            q,
            &(&self.private_exponent % (p - &one)),
            &(&self.private_exponent % (q - &one)),
            &inverse,
        ];
        der::encode_sequence(&numbers.map(encode_big_integer))
    }

    /// Returns the public key in the form of PKCS #1.
    pub(super) fn public(&self) -> Vec<u8> {
        der::encode_sequence(&[encode_big_integer(&self.modulus), encode_big_integer(&self.public_exponent)])
    }

    /// Returns how long the modulus is.
    pub(super) fn bits(&self) -> u64 {
        self.modulus.bits()
    }

    /// Signs `message`.
    pub(super) fn sign(&self, message: &[u8]) -> Vec<u8> {
        let length = usize::try_from(self.modulus.bits().div_ceil(8)).unwrap_or_default();
        let digest = [DIGEST_INFO.as_slice(), &Sha256::digest(message)].concat();
        let filling = vec![0xff; length.saturating_sub(digest.len() + 3)];
        let padded = [&[0, 1], filling.as_slice(), &[0], digest.as_slice()].concat();
        let signature = BigUint::from_bytes_be(&padded).modpow(&self.private_exponent, &self.modulus);
        let signature = signature.to_bytes_be();
        [vec![0; length.saturating_sub(signature.len())], signature].concat()
    }
}

fn encode_big_integer(number: &BigUint) -> Vec<u8> {
    der::encode_integer(&number.to_bytes_be())
}

fn small_primes() -> Vec<u32> {
    let mut is_composite = vec![false; SIEVE_LIMIT];
    let mut primes = Vec::new();
    for number in 2..SIEVE_LIMIT {
        if is_composite.get(number).copied().unwrap_or(true) {
            continue;
        }
        primes.push(u32::try_from(number).unwrap_or_default());
        is_composite.iter_mut().skip(number * number).step_by(number).for_each(|place| *place = true);
    }
    primes
}

/// Returns a prime of exactly `bits` bits, and so large that the product of two has twice as many.
fn random_prime(bits: u64, bytes: &mut ByteStream, sieve: &[u32]) -> BigUint {
    loop {
        let mut start = BigUint::from_bytes_be(&bytes.take(usize::try_from(bits / 8).unwrap_or_default()));
        for bit in [0, bits - 1, bits - 2] {
            start.set_bit(bit, true);
        }
        if let Some(found) = next_prime(&start, sieve).filter(|found| found.bits() == bits) {
            return found;
        }
    }
}

/// Returns the first prime from the odd number `start` on that is a unit more than no multiple of the exponent.
fn next_prime(start: &BigUint, sieve: &[u32]) -> Option<BigUint> {
    let remainder = |divisor: u32| u32::try_from(start % divisor).unwrap_or_default();
    let remainders: Vec<(u32, u32)> =
        sieve.iter().skip(1).map(|divisor| (*divisor, remainder(*divisor))).collect();
    let exponent_remainder = remainder(EXPONENT);
    (0..MAX_DISTANCE).step_by(2).find_map(|distance| {
        let is_sieved = remainders.iter().any(|(divisor, rest)| (rest + distance) % divisor == 0);
        if is_sieved || (exponent_remainder + distance) % EXPONENT == 1 {
            return None;
        }
        let candidate = start + distance;
        is_prime(&candidate).then_some(candidate)
    })
}

/// The test of Miller and Rabin, for an odd number that no small prime divides.
fn is_prime(number: &BigUint) -> bool {
    let one = BigUint::from(1_u32);
    let last = number - &one;
    let twos = last.trailing_zeros().unwrap_or_default();
    let odd = &last >> twos;
    WITNESSES.iter().all(|witness| {
        let mut power = BigUint::from(*witness).modpow(&odd, number);
        if power == one || power == last {
            return true;
        }
        (1..twos).any(|_| {
            power = &power * &power % number;
            power == last
        })
    })
}
