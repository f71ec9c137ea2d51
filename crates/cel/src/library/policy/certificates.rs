//! Decoding of X.509 certificates.

use kubewright_golib::x509;
use kubewright_value::Value;

use super::{CelLibrary, MacroSet, numbers_to_doubles, text_argument};
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Val};

/// The library of certificates.
pub const CERTIFICATES: CelLibrary = CelLibrary {
    name: "certificates",
    functions: add_certificate_functions,
    macros: MacroSet::NONE,
    types: &[],
};

/// The fields of a certificate in the result. A certificate request has all its fields.
const CERTIFICATE_FIELDS: [&str; 37] = [
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

fn add_certificate_functions(functions: &mut CelFunctions) {
    functions.add(
        CelOverload::function("x509.decode", &[CelKind::String], CelKind::Any, decode_certificate)
            .help("the fields of a PEM certificate or certificate request with an RSA key"),
    );
}

fn decode_certificate<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let text = text_argument(arguments, 0)?;
    call.work(text.len().saturating_mul(x509::MAX_BYTES_PER_BYTE / 8))?;
    let found = x509::decode_pem(text).map_err(CelFailure::value)?;
    let told = match &found {
        Value::Object(map) if map.contains_key("NotAfter") => {
            let kept = map.iter().filter(|(name, _)| CERTIFICATE_FIELDS.contains(&name.as_str()));
            Value::object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        _ => found,
    };
    Ok(Val::from(numbers_to_doubles(&told, call)?))
}
