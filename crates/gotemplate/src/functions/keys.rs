//! Sprig's functions that make private keys and certificates.
//!
//! All of them follow from the [`KeySource`] that the caller gives, so that one rendering makes the same keys as another
//! with the same source. They are slow, and are charged as much as they cost.

mod certificate;
mod der;
mod private_key;
mod rsa;
mod stream;

use std::collections::BTreeMap;
use std::net::IpAddr;

use kubewright_golib::inputs::KeySource;

use super::super::call::{CallFailure, CallResult, FunctionCall};
use super::super::item::{ElementType, TemplateItem};
use super::arguments::{argument_or_nil, int_argument, text_argument};
use super::encoding::decode_go_base64;
use super::{FunctionAccess, ParameterType, TemplateFunction, fixed_function};
use certificate::{CertificateSubject, Issuer, issue};
use private_key::PrivateKey;
use rsa::RsaKey;
use stream::ByteStream;

/// The error for DSA keys.
const NO_DSA: &str = "DSA keys are not supported, use `rsa`, `ecdsa` or `ed25519`";

/// The steps that an RSA key of 2048 bits is charged. Of other lengths it is more or less by the third power; making one
/// of 4096 bits is charged less than that, so that a rule can have one at all.
const RSA_2048_STEPS: u64 = 1_500_000;
const RSA_4096_STEPS: u64 = 4_500_000;

/// The steps of what is done with a key of an elliptic curve.
const CURVE_STEPS: u64 = 20_000;

/// The steps of a signature with an RSA key of 2048 bits.
const RSA_2048_SIGNATURE_STEPS: u64 = 150_000;

const NAME_PARAMETERS: &[ParameterType] =
    &[ParameterType::Text, ParameterType::Any, ParameterType::Any, ParameterType::Int];

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("genPrivateKey", &[ParameterType::Text], generate_private_key)
        .guarded(FunctionAccess::Unrepeatable),
    fixed_function("genCA", &[ParameterType::Text, ParameterType::Int], |call, a| {
        generate_authority(call, a, None)
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function(
        "genCAWithKey",
        &[ParameterType::Text, ParameterType::Int, ParameterType::Text],
        |call, a| generate_authority(call, a, Some(text_argument(a, 2))),
    )
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("genSelfSignedCert", NAME_PARAMETERS, |call, a| generate_self_signed(call, a, None))
        .guarded(FunctionAccess::Unrepeatable),
    fixed_function(
        "genSelfSignedCertWithKey",
        &[
            ParameterType::Text,
            ParameterType::Any,
            ParameterType::Any,
            ParameterType::Int,
            ParameterType::Text,
        ],
        |call, a| generate_self_signed(call, a, Some(text_argument(a, 4))),
    )
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function(
        "genSignedCert",
        &[
            ParameterType::Text,
            ParameterType::Any,
            ParameterType::Any,
            ParameterType::Int,
            ParameterType::Any,
        ],
        |call, a| generate_signed(call, a, None),
    )
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function(
        "genSignedCertWithKey",
        &[
            ParameterType::Text,
            ParameterType::Any,
            ParameterType::Any,
            ParameterType::Int,
            ParameterType::Any,
            ParameterType::Text,
        ],
        |call, a| generate_signed(call, a, Some(text_argument(a, 5))),
    )
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("buildCustomCert", &[ParameterType::Text, ParameterType::Text], build_custom_pair),
];

fn generate_private_key(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let kind = text_argument(arguments, 0);
    let key = match kind.as_str() {
        "" | "rsa" => new_rsa(call, 4096, RSA_4096_STEPS)?,
        "ecdsa" => PrivateKey::new_ecdsa(&mut key_bytes(call, CURVE_STEPS)?),
        "ed25519" => PrivateKey::new_ed25519(&mut key_bytes(call, CURVE_STEPS)?),
        "dsa" => return Err(NO_DSA.into()),
        other => return Ok(TemplateItem::text(format!("Unknown type {other}"))),
    };
    Ok(TemplateItem::text(key.to_pem()))
}

fn generate_authority(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
    key: Option<&str>,
) -> CallResult {
    let key = given_or_new(call, key)?;
    let mut subject = subject_of_arguments(
        call,
        text_argument(arguments, 0),
        [&TemplateItem::Nil, &TemplateItem::Nil],
        int_argument(arguments, 1),
    )?;
    subject.is_authority = true;
    issue_with_key(call, &subject, &key, None)
}

fn generate_self_signed(
    call: &mut FunctionCall<'_>,
    arguments: &[TemplateItem],
    key: Option<&str>,
) -> CallResult {
    let key = given_or_new(call, key)?;
    let lists = [argument_or_nil(arguments, 1), argument_or_nil(arguments, 2)];
    let subject = subject_of_arguments(call, text_argument(arguments, 0), lists, int_argument(arguments, 3))?;
    issue_with_key(call, &subject, &key, None)
}

fn generate_signed(call: &mut FunctionCall<'_>, arguments: &[TemplateItem], key: Option<&str>) -> CallResult {
    let authority = argument_or_nil(arguments, 4);
    let part = |name: &str| match authority.entry(name) {
        Some(TemplateItem::Text(text)) => Ok(text),
        _ => Err("the certificate authority is not what genCA or buildCustomCert returns"),
    };
    let (certificate, signer) = (part("Cert")?, part("Key")?);
    call.charge(certificate.len())?;
    let issuer = Issuer::of(&certificate)?;
    let signer = read_key(call, &signer, "error parsing private key")?;
    let key = given_or_new(call, key)?;
    let lists = [argument_or_nil(arguments, 1), argument_or_nil(arguments, 2)];
    let subject = subject_of_arguments(call, text_argument(arguments, 0), lists, int_argument(arguments, 3))?;
    issue_with_key(call, &subject, &key, Some((&issuer, &signer)))
}

fn build_custom_pair(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    call.charge(text_argument(arguments, 0).len() + text_argument(arguments, 1).len())?;
    let decoded = |index: usize, what: &str| {
        let bytes = decode_go_base64(text_argument(arguments, index)).ok();
        bytes
            .and_then(|bytes| String::from_utf8(bytes).ok())
            .ok_or_else(|| format!("unable to decode base64 {what}"))
    };
    let (certificate, key) = (decoded(0, "certificate")?, decoded(1, "private key")?);
    Issuer::of(&certificate)?;
    read_key(call, &key, "error parsing private key")?;
    certificate_pair(&certificate, &key)
}

/// Returns the certificate of `subject`, signed by an authority or by itself, with its key.
fn issue_with_key(
    call: &mut FunctionCall<'_>,
    subject: &CertificateSubject,
    key: &PrivateKey,
    authority: Option<(&Issuer, &PrivateKey)>,
) -> CallResult {
    let (issuer, signer) = authority.map_or((None, key), |(issuer, signer)| (Some(issuer), signer));
    call.budget.step(match signer {
        PrivateKey::Rsa(key) => RSA_2048_SIGNATURE_STEPS.saturating_mul(key.bits().pow(3)) / 2048_u64.pow(3),
        _ => CURVE_STEPS,
    })?;
    certificate_pair(&issue(subject, key, issuer, signer)?, &key.to_pem())
}

/// Returns a certificate and its key as templates see them: `.Cert` and `.Key`.
fn certificate_pair(certificate: &str, key: &str) -> CallResult {
    let entries = BTreeMap::from([
        ("Cert".into(), TemplateItem::text(certificate)),
        ("Key".into(), TemplateItem::text(key)),
    ]);
    Ok(TemplateItem::dict(ElementType::Any, entries)?)
}

fn given_or_new(call: &mut FunctionCall<'_>, pem: Option<&str>) -> Result<PrivateKey, CallFailure> {
    match pem {
        Some(pem) => read_key(call, pem, "parsing private key"),
        None => new_rsa(call, 2048, RSA_2048_STEPS),
    }
}

fn new_rsa(call: &mut FunctionCall<'_>, bits: u64, steps: u64) -> Result<PrivateKey, CallFailure> {
    Ok(PrivateKey::Rsa(Box::new(RsaKey::generate(bits, &mut key_bytes(call, steps)?))))
}

fn read_key(call: &mut FunctionCall<'_>, pem: &str, complaint: &str) -> Result<PrivateKey, CallFailure> {
    call.charge(pem.len())?;
    PrivateKey::from_pem(pem).map_err(|error| format!("{complaint}: {error}").into())
}

fn subject_of_arguments(
    call: &mut FunctionCall<'_>,
    common_name: &str,
    [addresses, names]: [&TemplateItem; 2],
    days: i64,
) -> Result<CertificateSubject, CallFailure> {
    let addresses = subject_texts(call, addresses, "error parsing ip: ")?;
    let address = |text: String| text.parse::<IpAddr>().map_err(|_| format!("error parsing ip: {text}"));
    let mut serial = key_bytes(call, 1)?.take(16);
    // Never zero, and never more than the 20 bytes that are allowed.
    if let Some(first) = serial.first_mut() {
        *first |= 1;
    }
    Ok(CertificateSubject {
        common_name: common_name.to_owned(),
        addresses: addresses.into_iter().map(address).collect::<Result<_, _>>()?,
        names: subject_texts(call, names, "error processing alternate dns name: ")?,
        is_authority: false,
        serial,
        valid_from: i64::try_from(key_source(call)?.valid_from.div_euclid(1_000_000_000)).unwrap_or_default(),
        days,
    })
}

/// Returns the texts of a list; nil is an empty one.
fn subject_texts(
    call: &mut FunctionCall<'_>,
    list: &TemplateItem,
    complaint: &str,
) -> Result<Vec<String>, CallFailure> {
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
            Some(TemplateItem::Text(text)) => texts.push(text.to_string()),
            other => {
                let shown = call.text_of(&other.unwrap_or(TemplateItem::Nil))?;
                return Err(format!("{complaint}{shown} is not a string").into());
            }
        }
    }
    Ok(texts)
}

fn key_source(call: &FunctionCall<'_>) -> Result<KeySource, CallFailure> {
    call.inputs.keys.ok_or_else(|| "no source of keys was given".into())
}

/// Returns bytes that nothing else of this rendering has, after charging what is done with them.
fn key_bytes(call: &mut FunctionCall<'_>, steps: u64) -> Result<ByteStream, CallFailure> {
    call.budget.step(steps)?;
    call.streams += 1;
    Ok(ByteStream::new(key_source(call)?.seed, call.streams))
}

#[cfg(test)]
mod tests;
