//! Makes authorities and certificates. P-256: every Kubernetes knows it, and signing is cheap.

use std::time::Duration;

use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, Error,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};

use super::keys::{CertificateKeys, first_certificate};
use super::step::{CertificateStep, CertificateTerms};
use super::x509;

/// How far before now a certificate starts to count, in seconds, so that clocks may differ.
pub(super) const CLOCK_SKEW_SECONDS: i64 = 600;

/// How many certificates long an authority lives.
const AUTHORITY_LIFE_FACTOR: i64 = 12;

/// The end of the year 9999, after which a certificate cannot say a time.
const MAX_UNIX_SECONDS: i64 = 253_402_300_799;

/// Returns what the Secret holds after `step`, which [`next_certificate_step`](super::next_certificate_step) wanted.
///
/// # Errors
/// When the step does not fit what is there.
pub fn take_certificate_step(
    step: CertificateStep,
    keys: &CertificateKeys,
    now: i64,
    terms: &CertificateTerms,
) -> Result<CertificateKeys, Error> {
    let life = i64::try_from(terms.life.as_secs()).unwrap_or(i64::MAX / 1000).clamp(1, i64::MAX / 1000);
    match step {
        CertificateStep::Make => {
            let (authority, authority_key) = make_authority(now, life)?;
            sign_certificate(
                CertificateKeys { authority, authority_key, ..CertificateKeys::default() },
                now,
                life,
                terms,
            )
        }
        CertificateStep::Announce => {
            let (authority, authority_key) = make_authority(now, life)?;
            Ok(CertificateKeys {
                authority,
                authority_key,
                old_authority: keys.authority.clone(),
                ..keys.clone()
            })
        }
        CertificateStep::Switch | CertificateStep::Renew => sign_certificate(keys.clone(), now, life, terms),
        CertificateStep::Retire => Ok(CertificateKeys { old_authority: String::new(), ..keys.clone() }),
        CertificateStep::Wait(_) => Ok(keys.clone()),
    }
}

/// Returns the name of the authority that was made at `time`. Its parameters are made anew from that whenever
/// something is signed.
pub(super) fn authority_name(time: i64) -> String {
    format!("kubewright CA {time}")
}

/// Returns whether the public key in DER is that of the private key in PEM.
pub(super) fn is_key_of(private: &str, public: &[u8]) -> bool {
    KeyPair::from_pem(private).is_ok_and(|key| public.ends_with(key.public_key_raw()))
}

fn make_authority(now: i64, life: i64) -> Result<(String, String), Error> {
    let key = KeyPair::generate()?;
    let mut parameters = authority_parameters(now)?;
    set_validity(&mut parameters, now - CLOCK_SKEW_SECONDS, now.saturating_add(life * AUTHORITY_LIFE_FACTOR));
    Ok((parameters.self_signed(&key)?.pem(), key.serialize_pem()))
}

fn authority_parameters(made: i64) -> Result<CertificateParams, Error> {
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.distinguished_name = distinguished_name(&authority_name(made));
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(parameters)
}

/// Gives `keys` a new certificate of their authority.
fn sign_certificate(
    keys: CertificateKeys,
    now: i64,
    life: i64,
    terms: &CertificateTerms,
) -> Result<CertificateKeys, Error> {
    let authority = first_certificate(&keys.authority);
    let authority =
        authority.as_deref().and_then(x509::certificate).ok_or(Error::CouldNotParseCertificate)?;
    let signer = KeyPair::from_pem(&keys.authority_key)?;
    let issuer = Issuer::new(authority_parameters(authority.not_before + CLOCK_SKEW_SECONDS)?, signer);
    let key = KeyPair::generate()?;
    let ends = now.saturating_add(life).min(authority.not_after);
    let certificate = issue_certificate(&issuer, &key, (now - CLOCK_SKEW_SECONDS, ends), terms)?;
    Ok(CertificateKeys { certificate: certificate.pem(), key: key.serialize_pem(), ..keys })
}

fn issue_certificate(
    issuer: &Issuer<'_, KeyPair>,
    key: &KeyPair,
    (from, to): (i64, i64),
    terms: &CertificateTerms,
) -> Result<Certificate, Error> {
    let mut parameters = CertificateParams::new(terms.names.clone())?;
    parameters.distinguished_name = distinguished_name("kubewright");
    set_validity(&mut parameters, from, to);
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    parameters.use_authority_key_identifier_extension = true;
    parameters.signed_by(key, issuer)
}

fn distinguished_name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

fn set_validity(parameters: &mut CertificateParams, from: i64, to: i64) {
    // A closure, because the type belongs to a crate that rcgen does not hand on.
    let date = |seconds: i64| {
        let seconds = u64::try_from(seconds.clamp(0, MAX_UNIX_SECONDS)).unwrap_or_default();
        date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    parameters.not_before = date(from);
    parameters.not_after = date(to);
}
