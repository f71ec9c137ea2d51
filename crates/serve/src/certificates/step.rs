//! The next step for the Secret, decided from its content, the time and the bundle that the API server has.
//!
//! An authority is replaced in three steps, each safe for replicas that have not seen it yet: it is *announced* (both
//! are in the bundle, the certificate is of the old one), then *switched* to, then the old one is *retired*. Every
//! replica decides the same, so no leader is needed; the resourceVersion of the
//! Secret lets only one of them write.

use std::sync::Arc;
use std::time::Duration;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, Error, RootCertStore};

use super::issue::{CLOCK_SKEW_SECONDS, authority_name, is_key_of};
use super::keys::{CertificateKeys, first_certificate};
use super::x509::{self, Certificate};
use crate::ServeSettings;

/// How long an old authority stays in the bundle; less where certificates live shorter.
const OLD_AUTHORITY_SECONDS: i64 = 3600;

/// How old a certificate for other names must be before it is replaced: replicas that are called by different names would
/// otherwise replace each other's without end.
const MIN_RENAME_AGE_SECONDS: i64 = 60;

/// How certificates are to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateTerms {
    /// The names and addresses that the API server calls us by.
    pub names: Vec<String>,
    /// How long a certificate lives; an authority lives twelve times as long.
    pub life: Duration,
    /// How long the API server must have known a new authority before a certificate of its is served.
    pub grace: Duration,
}

impl CertificateTerms {
    /// Returns those of `settings`: for the Service and for the address, if there is one.
    #[must_use]
    pub fn of(settings: &ServeSettings) -> Self {
        let (service, namespace) = (&settings.service, &settings.namespace);
        let mut names = vec![
            format!("{service}.{namespace}.svc"),
            format!("{service}.{namespace}.svc.cluster.local"),
            format!("{service}.{namespace}"),
        ];
        names.extend(settings.url.as_deref().and_then(url_host));
        Self { names, life: settings.certificate_life, grace: settings.certificate_grace }
    }
}

/// Returns the host of an address, without the brackets of IPv6.
fn url_host(url: &str) -> Option<String> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next()?,
        None => authority.split(':').next()?,
    };
    (!host.is_empty()).then(|| host.to_owned())
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertificateStep {
    /// An authority and a certificate: there is nothing to go on with.
    Make,
    /// A new authority beside the old one.
    Announce,
    /// A certificate of the new authority.
    Switch,
    /// Away with the old authority.
    Retire,
    /// A new certificate of the same authority.
    Renew,
    /// Nothing before this time, in seconds since 1970.
    Wait(i64),
}

/// Returns what is to be done to a Secret that holds `keys`. `adopted` is how long the webhook configurations have
/// had the bundle of `keys`; nothing when they do not.
#[must_use]
pub fn next_certificate_step(
    keys: Option<&CertificateKeys>,
    now: i64,
    adopted: Option<Duration>,
    terms: &CertificateTerms,
) -> CertificateStep {
    let Some(keys) = keys else { return CertificateStep::Make };
    let Some(authority_der) = first_certificate(&keys.authority) else { return CertificateStep::Make };
    let Some(authority) = x509::certificate(&authority_der) else { return CertificateStep::Make };
    if now >= authority.not_after {
        return CertificateStep::Make;
    }
    let can_sign = now >= authority.not_before
        && x509::common_name(&authority_name(authority.not_before + CLOCK_SKEW_SECONDS)).as_deref()
            == Some(authority.subject)
        && is_key_of(&keys.authority_key, authority.public_key);
    let old_der = first_certificate(&keys.old_authority);
    let served_der = first_certificate(&keys.certificate);
    let served = served_der.as_deref().and_then(x509::certificate).filter(|_| keys.served().is_ok());
    let (Some(served), Some(served_der)) = (served, &served_der) else {
        return if can_sign { CertificateStep::Renew } else { CertificateStep::Make };
    };

    let trust = certificate_trust(served_der, &served, &authority_der, terms);
    if trust != CertificateTrust::None {
        let old_ends = old_der.as_deref().and_then(x509::certificate).map(|old| old.not_after);
        let old_ends = (!keys.old_authority.is_empty()).then(|| old_ends.unwrap_or(i64::MIN));
        return SettledCertificate { served, authority, old_ends, trust, can_sign }.next(now, terms);
    }
    let is_of_the_old = old_der.is_some_and(|old| {
        self::certificate_trust(served_der, &served, &old, terms) != CertificateTrust::None
    });
    match (can_sign, is_of_the_old) {
        (false, _) => CertificateStep::Make,
        (true, false) => CertificateStep::Renew,
        (true, true) => step_after_announcement(&served, now, adopted, terms),
    }
}

/// The certificate is of the old authority, and the new one is in the bundle.
fn step_after_announcement(
    served: &Certificate<'_>,
    now: i64,
    adopted: Option<Duration>,
    terms: &CertificateTerms,
) -> CertificateStep {
    let is_adopted = adopted.is_some_and(|adopted| adopted >= terms.grace);
    let last_call = served.not_after - (served.not_after - issue_time(served)) / 6;
    if is_adopted || now >= last_call || now < served.not_before {
        CertificateStep::Switch
    } else {
        CertificateStep::Wait(now.saturating_add(1).min(last_call))
    }
}

/// The certificate is of the newest authority.
struct SettledCertificate<'d> {
    served: Certificate<'d>,
    authority: Certificate<'d>,
    /// When the old authority ends, if there is one.
    old_ends: Option<i64>,
    trust: CertificateTrust,
    can_sign: bool,
}

impl SettledCertificate<'_> {
    fn next(&self, now: i64, terms: &CertificateTerms) -> CertificateStep {
        let since = |time: i64| {
            let third = i64::try_from(terms.life.as_secs() / 3).unwrap_or(time);
            issue_time(&self.served).saturating_add(time.min(third))
        };
        let retired = self.old_ends.map_or(i64::MAX, |ends| ends.min(since(OLD_AUTHORITY_SECONDS)));
        let renamed =
            if self.trust == CertificateTrust::OtherNames { since(MIN_RENAME_AGE_SECONDS) } else { i64::MAX };
        if now >= retired {
            return CertificateStep::Retire;
        }
        match self.can_sign {
            true if is_renewal_due(&self.served, now) || now >= renamed => CertificateStep::Renew,
            true if !is_renewal_due(&self.authority, now) => CertificateStep::Wait(
                renewal_time(&self.served).min(renewal_time(&self.authority)).min(retired).min(renamed),
            ),
            // The one that we could sign with no more is still trusted, and has to be until it is replaced.
            _ => CertificateStep::Announce,
        }
    }
}

fn issue_time(certificate: &Certificate<'_>) -> i64 {
    certificate.not_before.saturating_add(CLOCK_SKEW_SECONDS)
}

/// When two thirds of its life are over.
fn renewal_time(certificate: &Certificate<'_>) -> i64 {
    issue_time(certificate) + certificate.not_after.saturating_sub(issue_time(certificate)).max(0) / 3 * 2
}

/// One that is not valid yet, by more than clocks differ, was made by a clock that is wrong.
fn is_renewal_due(certificate: &Certificate<'_>, now: i64) -> bool {
    now >= renewal_time(certificate) || now < certificate.not_before
}

/// Whether a certificate is valid for a client that trusts one authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CertificateTrust {
    All,
    /// It is of that authority, and for other names.
    OtherNames,
    None,
}

/// Verifies the certificate against `authority` alone, at a time when both are valid.
fn certificate_trust(
    der: &CertificateDer<'_>,
    served: &Certificate<'_>,
    authority: &CertificateDer<'_>,
    terms: &CertificateTerms,
) -> CertificateTrust {
    let mut roots = RootCertStore::empty();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let is_added = roots.add(authority.clone().into_owned()).is_ok();
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
    let (true, Ok(verifier), Ok(seconds)) = (is_added, verifier, u64::try_from(served.not_after)) else {
        return CertificateTrust::None;
    };
    let at = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
    let mut trust = CertificateTrust::All;
    for name in &terms.names {
        let Ok(name) = ServerName::try_from(name.as_str()) else { continue };
        match verifier.verify_server_cert(der, &[], &name, &[], at) {
            Ok(_) => {}
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => trust = CertificateTrust::OtherNames,
            Err(_) => return CertificateTrust::None,
        }
    }
    trust
}

#[cfg(test)]
mod tests;
