//! Chains of trust: from the certificate of a signer to one that the rule trusts.

use crate::certificate::SignerCertificate;

/// How many certificates a chain may have between the signer and the root.
const MAX_INTERMEDIATES: usize = 8;

/// How many signatures of certificates are checked for one chain.
const MAX_CHAIN_CHECKS: usize = 64;

/// Finds a chain from `leaf` over some of `intermediates` to one of `roots`, valid at `time`.
///
/// Returns the issuer of the leaf; the leaf itself where the rule trusts it directly.
///
/// # Errors
/// When there is no such chain, with the reason.
pub fn verify_chain<'c>(
    leaf: &'c SignerCertificate,
    intermediates: &'c [SignerCertificate],
    roots: &'c [SignerCertificate],
    time: i64,
) -> Result<&'c SignerCertificate, String> {
    if !leaf.is_valid_at(time) {
        return Err("the certificate of the signer was not valid at the time of signing".to_owned());
    }
    if leaf.has_unknown_critical() {
        return Err("the certificate of the signer has a critical extension that is not known".to_owned());
    }
    if !leaf.may_sign_code() || !leaf.has_usage(0) {
        return Err("the certificate of the signer is not for signing".to_owned());
    }
    if roots.iter().any(|root| root.der == leaf.der) {
        return Ok(leaf);
    }
    let mut search = ChainSearch { intermediates, roots, time, checks: 0 };
    search.issuer_of(leaf, 0).ok_or_else(|| "x509: certificate signed by unknown authority".to_owned())
}

struct ChainSearch<'c> {
    intermediates: &'c [SignerCertificate],
    roots: &'c [SignerCertificate],
    time: i64,
    checks: usize,
}

impl<'c> ChainSearch<'c> {
    /// Returns the issuer of `certificate`, above which there is a chain to a root; `below` authorities are under it.
    fn issuer_of(&mut self, certificate: &SignerCertificate, below: usize) -> Option<&'c SignerCertificate> {
        let (roots, intermediates) = (self.roots, self.intermediates);
        if let Some(root) = roots.iter().find(|root| self.has_issued(root, certificate, below)) {
            return Some(root);
        }
        if below >= MAX_INTERMEDIATES {
            return None;
        }
        intermediates.iter().find(|issuer| {
            self.has_issued(issuer, certificate, below) && self.issuer_of(issuer, below + 1).is_some()
        })
    }

    fn has_issued(
        &mut self,
        issuer: &SignerCertificate,
        certificate: &SignerCertificate,
        below: usize,
    ) -> bool {
        let is_candidate = issuer.subject == certificate.issuer
            && issuer.is_valid_at(self.time)
            && !issuer.has_unknown_critical()
            && issuer.may_sign_code()
            && issuer.may_issue(below);
        let Ok(key) = issuer.key() else { return false };
        if !is_candidate || self.checks >= MAX_CHAIN_CHECKS {
            return false;
        }
        self.checks += 1;
        certificate.is_signed_by(key)
    }
}
