//! Sprig's functions that make private keys and certificates.
//!
//! All of them follow from the [`KeySource`] that the caller gives, so that one rendering makes the same keys as another
//! with the same source. They are slow, and are charged as much as they cost.

mod certificate;
mod der;
mod pem;
mod private_key;
mod rsa;
mod stream;

use std::collections::BTreeMap;
use std::net::IpAddr;

use kubewright_golib::inputs::KeySource;

use super::super::call::{Call, Failure, Outcome};
use super::super::item::{Item, Of};
use super::arguments::{any, int, text};
use super::encoding::base64_decode;
use super::{Access, Function, Type, function};
use certificate::{Issuer, Subject, issue};
use private_key::PrivateKey;
use rsa::RsaKey;
use stream::ByteStream;

/// Why there are no DSA keys.
const NO_DSA: &str = "DSA keys are not supported, use `rsa`, `ecdsa` or `ed25519`";

/// The steps that an RSA key of 2048 bits is charged. Of other lengths it is more or less by the third power; making one
/// of 4096 bits is charged less than that, so that a rule can have one at all.
const RSA_2048_STEPS: u64 = 1_500_000;
const RSA_4096_STEPS: u64 = 4_500_000;

/// The steps of what is done with a key of an elliptic curve.
const CURVE_STEPS: u64 = 20_000;

/// The steps of a signature with an RSA key of 2048 bits.
const RSA_2048_SIGNATURE_STEPS: u64 = 150_000;

const NAMED: &[Type] = &[Type::Text, Type::Any, Type::Any, Type::Int];

pub(super) const TABLE: &[Function] = &[
    function("genPrivateKey", &[Type::Text], private_key).guarded(Access::Unrepeatable),
    function("genCA", &[Type::Text, Type::Int], |call, a| authority(call, a, None))
        .guarded(Access::Unrepeatable),
    function("genCAWithKey", &[Type::Text, Type::Int, Type::Text], |call, a| {
        authority(call, a, Some(text(a, 2)))
    })
    .guarded(Access::Unrepeatable),
    function("genSelfSignedCert", NAMED, |call, a| self_signed(call, a, None)).guarded(Access::Unrepeatable),
    function(
        "genSelfSignedCertWithKey",
        &[Type::Text, Type::Any, Type::Any, Type::Int, Type::Text],
        |call, a| self_signed(call, a, Some(text(a, 4))),
    )
    .guarded(Access::Unrepeatable),
    function("genSignedCert", &[Type::Text, Type::Any, Type::Any, Type::Int, Type::Any], |call, a| {
        signed(call, a, None)
    })
    .guarded(Access::Unrepeatable),
    function(
        "genSignedCertWithKey",
        &[Type::Text, Type::Any, Type::Any, Type::Int, Type::Any, Type::Text],
        |call, a| signed(call, a, Some(text(a, 5))),
    )
    .guarded(Access::Unrepeatable),
    function("buildCustomCert", &[Type::Text, Type::Text], custom),
];

fn private_key(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let kind = text(arguments, 0);
    let key = match kind.as_str() {
        "" | "rsa" => new_rsa(call, 4096, RSA_4096_STEPS)?,
        "ecdsa" => PrivateKey::new_ecdsa(&mut bytes(call, CURVE_STEPS)?),
        "ed25519" => PrivateKey::new_ed25519(&mut bytes(call, CURVE_STEPS)?),
        "dsa" => return Err(NO_DSA.into()),
        other => return Ok(Item::text(format!("Unknown type {other}"))),
    };
    Ok(Item::text(key.to_pem()))
}

fn authority(call: &mut Call<'_>, arguments: &[Item], key: Option<&str>) -> Outcome {
    let key = given_or_new(call, key)?;
    let mut subject = subject(call, text(arguments, 0), [&Item::Nil, &Item::Nil], int(arguments, 1))?;
    subject.is_authority = true;
    made(call, &subject, &key, None)
}

fn self_signed(call: &mut Call<'_>, arguments: &[Item], key: Option<&str>) -> Outcome {
    let key = given_or_new(call, key)?;
    let lists = [any(arguments, 1), any(arguments, 2)];
    let subject = subject(call, text(arguments, 0), lists, int(arguments, 3))?;
    made(call, &subject, &key, None)
}

fn signed(call: &mut Call<'_>, arguments: &[Item], key: Option<&str>) -> Outcome {
    let authority = any(arguments, 4);
    let part = |name: &str| match authority.entry(name) {
        Some(Item::Text(text)) => Ok(text),
        _ => Err("the certificate authority is not what genCA or buildCustomCert returns"),
    };
    let (certificate, signer) = (part("Cert")?, part("Key")?);
    call.charge(certificate.len())?;
    let issuer = Issuer::of(&certificate)?;
    let signer = read_key(call, &signer, "error parsing private key")?;
    let key = given_or_new(call, key)?;
    let lists = [any(arguments, 1), any(arguments, 2)];
    let subject = subject(call, text(arguments, 0), lists, int(arguments, 3))?;
    made(call, &subject, &key, Some((&issuer, &signer)))
}

fn custom(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    call.charge(text(arguments, 0).len() + text(arguments, 1).len())?;
    let decoded = |index: usize, what: &str| {
        let bytes = base64_decode(text(arguments, index)).ok();
        bytes
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(|| format!("unable to decode base64 {what}"))
    };
    let (certificate, key) = (decoded(0, "certificate")?, decoded(1, "private key")?);
    Issuer::of(&certificate)?;
    read_key(call, &key, "error parsing private key")?;
    pair(&certificate, &key)
}

/// Returns the certificate of `subject`, signed by an authority or by itself, with its key.
fn made(
    call: &mut Call<'_>,
    subject: &Subject,
    key: &PrivateKey,
    authority: Option<(&Issuer, &PrivateKey)>,
) -> Outcome {
    let (issuer, signer) = authority.map_or((None, key), |(issuer, signer)| (Some(issuer), signer));
    call.budget.step(match signer {
        PrivateKey::Rsa(key) => RSA_2048_SIGNATURE_STEPS.saturating_mul(key.bits().pow(3)) / 2048_u64.pow(3),
        _ => CURVE_STEPS,
    })?;
    pair(&issue(subject, key, issuer, signer)?, &key.to_pem())
}

/// Returns a certificate and its key as templates see them: `.Cert` and `.Key`.
fn pair(certificate: &str, key: &str) -> Outcome {
    let entries = BTreeMap::from([("Cert".into(), Item::text(certificate)), ("Key".into(), Item::text(key))]);
    Ok(Item::dict(Of::Any, entries)?)
}

fn given_or_new(call: &mut Call<'_>, pem: Option<&str>) -> Result<PrivateKey, Failure> {
    match pem {
        Some(pem) => read_key(call, pem, "parsing private key"),
        None => new_rsa(call, 2048, RSA_2048_STEPS),
    }
}

fn new_rsa(call: &mut Call<'_>, bits: u64, steps: u64) -> Result<PrivateKey, Failure> {
    Ok(PrivateKey::Rsa(Box::new(RsaKey::generate(bits, &mut bytes(call, steps)?))))
}

fn read_key(call: &mut Call<'_>, pem: &str, complaint: &str) -> Result<PrivateKey, Failure> {
    call.charge(pem.len())?;
    PrivateKey::from_pem(pem).map_err(|error| format!("{complaint}: {error}").into())
}

fn subject(
    call: &mut Call<'_>,
    common_name: &str,
    [addresses, names]: [&Item; 2],
    days: i64,
) -> Result<Subject, Failure> {
    let addresses = texts(call, addresses, "error parsing ip: ")?;
    let address = |text: String| text.parse::<IpAddr>().map_err(|_| format!("error parsing ip: {text}"));
    let mut serial = bytes(call, 1)?.take(16);
    // Never zero, and never more than the 20 bytes that are allowed.
    if let Some(first) = serial.first_mut() {
        *first |= 1;
    }
    Ok(Subject {
        common_name: common_name.to_owned(),
        addresses: addresses.into_iter().map(address).collect::<Result<_, _>>()?,
        names: texts(call, names, "error processing alternate dns name: ")?,
        is_authority: false,
        serial,
        valid_from: i64::try_from(source(call)?.valid_from.div_euclid(1_000_000_000)).unwrap_or_default(),
        days,
    })
}

/// Returns the texts of a list; nil is an empty one.
fn texts(call: &mut Call<'_>, list: &Item, complaint: &str) -> Result<Vec<String>, Failure> {
    if list.is_nil() {
        return Ok(Vec::new());
    }
    let Some(count) = list.list_len() else {
        return Err(
            format!("wrong type for value; expected []interface {{}}; got {}", list.type_name()).into()
        );
    };
    call.charge_list(count)?;
    let mut texts = Vec::with_capacity(count);
    for index in 0..count {
        match list.element(index) {
            Some(Item::Text(text)) => texts.push(text.to_string()),
            other => {
                let shown = call.text_of(&other.unwrap_or(Item::Nil))?;
                return Err(format!("{complaint}{shown} is not a string").into());
            }
        }
    }
    Ok(texts)
}

fn source(call: &Call<'_>) -> Result<KeySource, Failure> {
    call.inputs.keys.ok_or_else(|| "no source of keys was given".into())
}

/// Returns bytes that nothing else of this rendering has, after charging what is done with them.
fn bytes(call: &mut Call<'_>, steps: u64) -> Result<ByteStream, Failure> {
    call.budget.step(steps)?;
    call.streams += 1;
    Ok(ByteStream::new(source(call)?.seed, call.streams))
}

#[cfg(test)]
mod tests;
