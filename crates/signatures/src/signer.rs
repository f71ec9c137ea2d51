//! Who must have signed, and whether a signature is theirs.

use kubewright_value::{Budget, Exhausted, Text};

use crate::SIGNATURE_COST;
use crate::certificate::SignerCertificate;
use crate::chain::verify_chain;
use crate::identity::{WantedIdentity, extension_mismatch, identity_mismatch};
use crate::key::{HashFunction, PublicVerifier};
use crate::log::LogEntry;
use crate::sct;

/// Something with a signature.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SignedItem {
    /// The bytes that the signature covers.
    pub message: Vec<u8>,
    /// The document in these bytes.
    pub payload: Vec<u8>,
    /// The whole envelope; the payload where there is none.
    pub document: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
    /// The certificate of the signer, then those of its issuers; empty for a signature with a key.
    pub certificates: Vec<SignerCertificate>,
    /// The entry in a transparency log, as the signature carries it.
    pub log: Option<LogEntry>,
}

/// Who signs.
#[derive(Debug, Clone)]
pub enum ImageSigner {
    /// The owner of a key.
    Key {
        /// The key.
        key: PublicVerifier,
        /// How messages are hashed.
        hash: HashFunction,
    },
    /// The owner of a certificate, or of one below a chain.
    Certificate {
        /// The certificate; the one that the signature carries where there is none.
        certificate: Option<SignerCertificate>,
        /// Its issuers; may be empty where there is a certificate.
        chain: Vec<SignerCertificate>,
    },
    /// The owner of an identity, which the certificate in the signature proves.
    Keyless {
        /// One of these.
        identities: Vec<WantedIdentity>,
        /// Who may have issued the certificate.
        roots: Vec<SignerCertificate>,
        /// What else the certificate must say.
        extensions: Vec<(Text, Text)>,
    },
}

/// The logs that signatures and certificates must be in.
#[derive(Debug, Clone, Default)]
pub struct LogTrust {
    /// Whether signatures need not be logged.
    pub ignores_log: bool,
    /// The keys of the logs of signatures.
    pub log_keys: Vec<PublicVerifier>,
    /// Whether certificates need not be logged.
    pub ignores_certificate_log: bool,
    /// The keys of the logs of certificates.
    pub certificate_log_keys: Vec<PublicVerifier>,
}

/// Whether something is proven; the text is why it is not.
pub type Proof = Result<(), String>;

impl SignedItem {
    /// Returns whether `der` is the certificate or a key of the signer.
    pub(crate) fn is_signer(&self, der: &[u8]) -> bool {
        match self.certificates.first() {
            Some(certificate) => certificate.der == der,
            // The signature itself was verified with a key; the log must name that key.
            None => PublicVerifier::of_info(der)
                .is_ok_and(|key| key.has_signed(&self.message, &self.signature, HashFunction::Sha256)),
        }
    }
}

impl ImageSigner {
    /// Verifies that this signer signed `item`; `now` is the current time in seconds since 1970, if it is known.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn verify(
        &self,
        item: &SignedItem,
        trust: &LogTrust,
        now: Option<i64>,
        budget: &mut Budget,
    ) -> Result<Proof, Exhausted> {
        budget.step(SIGNATURE_COST)?;
        match self {
            Self::Key { key, hash } => Ok(verify_with_key(key, *hash, item, trust)),
            Self::Certificate { certificate, chain } => {
                budget.step(SIGNATURE_COST)?;
                Ok(verify_with_chain(certificate.as_ref(), chain, item, (trust, now)))
            }
            Self::Keyless { identities, roots, extensions } => {
                budget.step(SIGNATURE_COST)?;
                verify_keyless((identities, roots, extensions), item, (trust, now), budget)
            }
        }
    }
}

const BAD_SIGNATURE: &str = "invalid signature when validating ASN.1 encoded signature";

fn verify_with_key(key: &PublicVerifier, hash: HashFunction, item: &SignedItem, trust: &LogTrust) -> Proof {
    if !key.has_signed(&item.message, &item.signature, hash) {
        return Err(BAD_SIGNATURE.to_owned());
    }
    logged_time(item, trust).map(|_| ())
}

/// Returns when the signature was logged; nothing where it need not be.
fn logged_time(item: &SignedItem, trust: &LogTrust) -> Result<Option<i64>, String> {
    if trust.ignores_log {
        return Ok(None);
    }
    if trust.log_keys.is_empty() {
        return Err("the signature must be in a transparency log, and no key of one is given".to_owned());
    }
    let entry = item.log.as_ref().ok_or("the signature is in no transparency log")?;
    entry.verified_time(item, &trust.log_keys).map(Some)
}

/// Returns the time at which certificates are checked.
fn signing_time(item: &SignedItem, (trust, now): (&LogTrust, Option<i64>)) -> Result<i64, String> {
    let logged = logged_time(item, trust)?;
    logged
        .or(now)
        .ok_or_else(|| "the time of signing is not known, so that no certificate can be checked".to_owned())
}

fn verify_with_chain(
    certificate: Option<&SignerCertificate>,
    chain: &[SignerCertificate],
    item: &SignedItem,
    (trust, now): (&LogTrust, Option<i64>),
) -> Proof {
    let leaf = certificate.or(item.certificates.first()).ok_or("the signature has no certificate")?;
    if !leaf.key()?.has_signed(&item.message, &item.signature, HashFunction::Sha256) {
        return Err(BAD_SIGNATURE.to_owned());
    }
    if chain.is_empty() {
        // Without issuers the certificate is a key that the rule names.
        return match certificate {
            Some(_) => logged_time(item, trust).map(|_| ()),
            None => Err("there is no certificate that the rule trusts".to_owned()),
        };
    }
    let time = signing_time(item, (trust, now))?;
    let issuers = item.certificates.get(1..).unwrap_or_default();
    let issuer = verify_chain(leaf, issuers, chain, time)?;
    check_certificate_log(leaf, issuer, trust)
}

fn verify_keyless(
    (identities, roots, extensions): (&[WantedIdentity], &[SignerCertificate], &[(Text, Text)]),
    item: &SignedItem,
    (trust, now): (&LogTrust, Option<i64>),
    budget: &mut Budget,
) -> Result<Proof, Exhausted> {
    let Some((leaf, issuers)) = item.certificates.split_first() else {
        return Ok(Err("the signature has no certificate".to_owned()));
    };
    if roots.is_empty() {
        return Ok(Err("no certificate authority is given that may vouch for identities".to_owned()));
    }
    let proven = || {
        if !leaf.key()?.has_signed(&item.message, &item.signature, HashFunction::Sha256) {
            return Err(BAD_SIGNATURE.to_owned());
        }
        let time = signing_time(item, (trust, now))?;
        let issuer = verify_chain(leaf, issuers, roots, time)?;
        check_certificate_log(leaf, issuer, trust)
    };
    if let Err(problem) = proven() {
        return Ok(Err(problem));
    }
    let mut mismatch = Some("no identity is wanted, so that anyone could have signed".to_owned());
    for wanted in identities {
        mismatch = identity_mismatch(leaf, wanted, budget)?;
        if mismatch.is_none() {
            break;
        }
    }
    let mismatch = match mismatch {
        Some(mismatch) => Some(mismatch),
        None => extension_mismatch(leaf, extensions, budget)?,
    };
    Ok(mismatch.map_or(Ok(()), Err))
}

fn check_certificate_log(leaf: &SignerCertificate, issuer: &SignerCertificate, trust: &LogTrust) -> Proof {
    if trust.ignores_certificate_log {
        return Ok(());
    }
    if trust.certificate_log_keys.is_empty() {
        return Err("the certificate must be in a certificate log, and no key of one is given".to_owned());
    }
    sct::verify_timestamps(leaf, issuer, &trust.certificate_log_keys)
}
