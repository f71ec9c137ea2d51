//! Certificates.

use der::Tag;
use kubewright_value::Value;

use super::reader::{CertificateReader, constructed_tag, malformed_der, primitive_tag};
use super::{ObjectFields, bytes_to_base64, extensions, key, list_or_null, name, read_extension};
use crate::time::GoTime;

/// Go writes no zeros at the end of a second.
const LAYOUT: &str = "2006-01-02T15:04:05.999999999Z07:00";

/// What is null in a certificate that has no extensions.
const NULLS: &[&str] = &[
    "Extensions",
    "ExtraExtensions",
    "UnhandledCriticalExtensions",
    "ExtKeyUsage",
    "UnknownExtKeyUsage",
    "SubjectKeyId",
    "AuthorityKeyId",
    "OCSPServer",
    "IssuingCertificateURL",
    "DNSNames",
    "EmailAddresses",
    "IPAddresses",
    "URIs",
    "PermittedDNSDomains",
    "ExcludedDNSDomains",
    "PermittedIPRanges",
    "ExcludedIPRanges",
    "PermittedEmailAddresses",
    "ExcludedEmailAddresses",
    "PermittedURIDomains",
    "ExcludedURIDomains",
    "CRLDistributionPoints",
    "PolicyIdentifiers",
    "Policies",
    "PolicyMappings",
];
const ZEROS: &[&str] =
    &["KeyUsage", "MaxPathLen", "InhibitAnyPolicy", "InhibitPolicyMapping", "RequireExplicitPolicy"];
const FALSES: &[&str] = &[
    "BasicConstraintsValid",
    "IsCA",
    "MaxPathLenZero",
    "PermittedDNSDomainsCritical",
    "InhibitAnyPolicyZero",
    "InhibitPolicyMappingZero",
    "RequireExplicitPolicyZero",
];

/// Reads a certificate.
pub(super) fn decode_certificate(der: &[u8]) -> Result<Value, String> {
    let mut input = CertificateReader(der);
    let raw = input.whole(Tag::Sequence, "certificate")?;
    if !input.is_empty() {
        return Err("x509: trailing data".to_owned());
    }
    let mut outer = CertificateReader(raw).inner(Tag::Sequence, "certificate")?;
    let raw_signed = outer.whole(Tag::Sequence, "tbs certificate")?;
    let mut signed = CertificateReader(raw_signed).inner(Tag::Sequence, "tbs certificate")?;
    let mut fields = ObjectFields::default();
    fields.names(NULLS);
    ZEROS.iter().for_each(|name| fields.set(name, 0_i64));
    FALSES.iter().for_each(|name| fields.set(name, false));
    fields.set("Raw", bytes_to_base64(raw));
    fields.set("RawTBSCertificate", bytes_to_base64(raw_signed));
    let version = read_version(&mut signed)?;
    fields.set("Version", version);
    fields.set("SerialNumber", key::number_of_bytes(signed.natural("serial number")?)?);
    let algorithm = signed.inner(Tag::Sequence, "signature algorithm identifier")?;
    if outer.take(Tag::Sequence, "algorithm identifier")? != algorithm.0 {
        return Err("x509: inner and outer signature algorithm identifiers don't match".to_owned());
    }
    fields.set("SignatureAlgorithm", key::signature_algorithm(algorithm)?);
    let issuer = signed.whole(Tag::Sequence, "issuer")?;
    fields.set("RawIssuer", bytes_to_base64(issuer));
    fields.set("Issuer", name::read_name(issuer)?);
    let mut validity = signed.inner(Tag::Sequence, "validity")?;
    fields.set("NotBefore", format_certificate_time(&validity.time()?));
    fields.set("NotAfter", format_certificate_time(&validity.time()?));
    let subject = signed.whole(Tag::Sequence, "subject")?;
    fields.set("RawSubject", bytes_to_base64(subject));
    fields.set("Subject", name::read_name(subject)?);
    let public_key = signed.whole(Tag::Sequence, "spki")?;
    fields.set("RawSubjectPublicKeyInfo", bytes_to_base64(public_key));
    fields.set("PublicKeyAlgorithm", key::RSA);
    fields.set("PublicKey", key::public_key(public_key)?);
    if version > 1 {
        signed.optional(primitive_tag(1), "issuerUniqueID")?;
        signed.optional(primitive_tag(2), "subjectUniqueID")?;
    }
    if version == 3 {
        read_extensions(&mut signed, &mut fields)?;
    }
    fields.set("Signature", bytes_to_base64(&key::read_signature(&mut outer)?));
    Ok(fields.object())
}

fn read_version(signed: &mut CertificateReader<'_>) -> Result<i64, String> {
    let version = match signed.optional(constructed_tag(0), "version")? {
        Some(version) => CertificateReader(version).small("version")?,
        None => 0,
    };
    if version > 2 { Err("x509: invalid version".to_owned()) } else { Ok(version + 1) }
}

fn read_extensions(signed: &mut CertificateReader<'_>, fields: &mut ObjectFields) -> Result<(), String> {
    let Some(all) = signed.optional(constructed_tag(3), "extensions")? else { return Ok(()) };
    let mut all = CertificateReader(all).inner(Tag::Sequence, "extensions")?;
    let mut found = Vec::new();
    while !all.is_empty() {
        let extension = read_extension(&mut all)?;
        if found.len() == extensions::MAX_EXTENSIONS {
            return Err(malformed_der("extensions: there are too many"));
        }
        found.push(extension);
    }
    for (i, extension) in found.iter().enumerate() {
        if found.iter().skip(i + 1).any(|other| other.id == extension.id) {
            let id = extension.id.iter().map(ToString::to_string).collect::<Vec<_>>().join(".");
            return Err(format!("x509: certificate contains duplicate extension with OID \"{id}\""));
        }
    }
    fields.set("Extensions", list_or_null(found.iter().map(super::CertificateExtension::object).collect()));
    extensions::set_extension_fields(&found, fields)
}

fn format_certificate_time(time: &GoTime) -> String {
    time.format(LAYOUT)
}
