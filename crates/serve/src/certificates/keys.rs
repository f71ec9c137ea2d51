//! The content of the Secret: the serving certificate, and the certificate authority that signed it.
//!
//! While an authority is replaced there are two. `ca.crt` is always the newer one, the only one whose key is stored;
//! `old-ca.crt` stays in the bundle while a replica may still serve a certificate that it signed.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::{Map, Value};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::x509;

/// Texts in PEM; one that is missing is empty.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CertificateKeys {
    /// `tls.crt`: what is served, with what stands between it and an authority.
    pub certificate: String,
    /// `tls.key`.
    pub key: String,
    /// `ca.crt`.
    pub authority: String,
    /// `ca.key`.
    pub authority_key: String,
    /// `old-ca.crt`.
    pub old_authority: String,
}

impl CertificateKeys {
    /// Reads a Secret. What cannot be decoded is missing.
    #[must_use]
    pub fn of(secret: &Value) -> Self {
        let text = |key: &str| {
            let encoded = secret.str_at(&["data", key]);
            STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
        };
        Self {
            certificate: text("tls.crt"),
            key: text("tls.key"),
            authority: text("ca.crt"),
            authority_key: text("ca.key"),
            old_authority: text("old-ca.crt"),
        }
    }

    /// Returns the `data` of a Secret.
    #[must_use]
    pub fn data(&self) -> Value {
        let entries = [
            ("tls.crt", &self.certificate),
            ("tls.key", &self.key),
            ("ca.crt", &self.authority),
            ("ca.key", &self.authority_key),
            ("old-ca.crt", &self.old_authority),
        ];
        let entries = entries.into_iter().filter(|(_, text)| !text.is_empty());
        entries.map(|(key, text)| (key.into(), STANDARD.encode(text).into())).collect::<Map>().into()
    }

    /// Returns the CA bundle that clients of the webhook have to trust.
    #[must_use]
    pub fn bundle(&self) -> String {
        let parts = [&self.authority, &self.old_authority].into_iter();
        parts
            .filter(|text| first_certificate(text).is_some())
            .map(|text| format!("{}\n", text.trim()))
            .collect()
    }

    /// Returns when each certificate of a text in PEM ends, in seconds since 1970.
    #[must_use]
    pub fn ends(pem: &str) -> Vec<i64> {
        let certificates = CertificateDer::pem_slice_iter(pem.as_bytes()).filter_map(Result::ok);
        certificates.filter_map(|one| x509::certificate(&one).map(|parts| parts.not_after)).collect()
    }

    /// Returns what rustls serves, and when it ends in seconds since 1970.
    ///
    /// # Errors
    /// When there is no certificate, or the key is not its key.
    pub fn served(&self) -> Result<(CertifiedKey, i64), String> {
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(self.certificate.as_bytes()).filter_map(Result::ok).collect();
        let ends = chain.first().and_then(|first| x509::certificate(first)).map(|parts| parts.not_after);
        let ends = ends.ok_or("`tls.crt` contains no certificate")?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes())
            .map_err(|error| format!("`tls.key` contains no key: {error}"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let served = CertifiedKey::from_der(chain, key, &provider)
            .map_err(|error| format!("`tls.key` is not the key of `tls.crt`: {error}"))?;
        Ok((served, ends))
    }
}

/// Keys are never written anywhere but into the Secret.
impl std::fmt::Debug for CertificateKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keys").finish_non_exhaustive()
    }
}

/// Returns the first certificate of a PEM text.
pub(super) fn first_certificate(text: &str) -> Option<CertificateDer<'static>> {
    let first = CertificateDer::pem_slice_iter(text.as_bytes()).next()?.ok()?;
    x509::certificate(&first).is_some().then_some(first)
}
