//! Certificates.

use kubewright_golib::x509;
use kubewright_value::Value;

use super::{Library, Macros, text, with_doubles};
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Val};

/// The library of certificates.
pub const CERTIFICATES: Library =
    Library { name: "certificates", functions: add, macros: Macros::NONE, types: &[] };

/// What is told about a certificate; a request tells all.
const FIELDS: [&str; 37] = [
    "AuthorityKeyId",
    "BasicConstraintsValid",
    "CRLDistributionPoints",
    "DNSNames",
    "EmailAddresses",
    "ExcludedDNSDomains",
    "ExcludedEmailAddresses",
    "ExcludedIPRanges",
    "ExcludedURIDomains",
    "ExtKeyUsage",
    "Extensions",
    "ExtraExtensions",
    "IPAddresses",
    "IsCA",
    "Issuer",
    "IssuingCertificateURL",
    "KeyUsage",
    "MaxPathLen",
    "MaxPathLenZero",
    "NotAfter",
    "NotBefore",
    "OCSPServer",
    "PermittedDNSDomains",
    "PermittedDNSDomainsCritical",
    "PermittedEmailAddresses",
    "PermittedIPRanges",
    "PermittedURIDomains",
    "PolicyIdentifiers",
    "PublicKey",
    "PublicKeyAlgorithm",
    "Raw",
    "RawIssuer",
    "RawSubject",
    "RawSubjectPublicKeyInfo",
    "RawTBSCertificate",
    "SerialNumber",
    "Signature",
];

fn add(functions: &mut Functions) {
    functions.add(
        Overload::function("x509.decode", &[Kind::String], Kind::Any, decode)
            .help("what a PEM certificate or certificate request with an RSA key says"),
    );
}

fn decode<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let text = text(arguments, 0)?;
    call.work(text.len().saturating_mul(x509::MAX_BYTES_PER_BYTE / 8))?;
    let found = x509::decode_pem(text).map_err(Failure::value)?;
    let told = match &found {
        Value::Object(map) if map.contains_key("NotAfter") => {
            let kept = map.iter().filter(|(name, _)| FIELDS.contains(&name.as_str()));
            Value::object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => found,
    };
    Ok(Val::from(with_doubles(&told, call)?))
}
