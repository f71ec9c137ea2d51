//! The serving certificate, and the CA bundle of the webhook configurations.
//!
//! Certificates of our own are in a Secret that all replicas share ([`next_certificate_step`] decides about it); others
//! come from a folder. Either way a new certificate is swapped in beneath the listener: open connections stay, and the
//! next handshake uses the new one.

mod folder;
mod issue;
mod keys;
mod reconcile;
mod step;
mod x509;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwapOption;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;
use tokio::time::Instant;

pub use folder::{follow_certificate_folder, read_certificate_folder};
pub use issue::take_certificate_step;
pub use keys::CertificateKeys;
pub use reconcile::reconcile_certificates;
pub use step::{CertificateStep, CertificateTerms, next_certificate_step};

/// What is waited for before reviews are answered.
pub(crate) const CERTIFICATE_CONDITION: &str = "certificate";

/// What is served now, and what the API server should believe.
#[derive(Debug)]
pub struct Certificates {
    served: Arc<Served>,
    bundle: watch::Sender<Option<String>>,
    adopted: watch::Sender<Option<Adopted>>,
    expiry: AtomicI64,
}

/// What the webhook configurations tell the API server to believe, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Adopted {
    bundle: String,
    since: Instant,
}

/// The certificate of the next handshake.
#[derive(Debug, Default)]
struct Served(ArcSwapOption<CertifiedKey>);

impl ResolvesServerCert for Served {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load_full()
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Self {
            served: Arc::default(),
            bundle: watch::Sender::new(None),
            adopted: watch::Sender::new(None),
            expiry: AtomicI64::new(0),
        }
    }
}

impl Certificates {
    /// Serves the certificate of `keys` from the next handshake on.
    ///
    /// # Errors
    /// When they cannot be served; what was served before still is.
    pub fn serve(&self, keys: &CertificateKeys) -> Result<(), String> {
        let (served, expiry) = keys.served()?;
        self.served.0.store(Some(Arc::new(served)));
        self.expiry.store(expiry, Ordering::Relaxed);
        let bundle = Some(keys.bundle()).filter(|bundle| !bundle.is_empty());
        self.bundle.send_if_modified(|known| {
            let is_new = *known != bundle;
            *known = bundle;
            is_new
        });
        Ok(())
    }

    /// Returns whether there is a certificate to serve.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.served.0.load().is_some()
    }

    /// Returns when the certificate ends, in seconds since 1970; 0 while there is none.
    #[must_use]
    pub fn expiry(&self) -> i64 {
        self.expiry.load(Ordering::Relaxed)
    }

    /// Returns the authorities that the API server should believe, in PEM, now and whenever they change. There are
    /// none while there is no certificate, or where it is not for us to say.
    #[must_use]
    pub fn bundle(&self) -> watch::Receiver<Option<String>> {
        self.bundle.subscribe()
    }

    /// The webhook configurations have `bundle` now.
    pub fn adopt(&self, bundle: &str) {
        self.adopted.send_if_modified(|known| {
            let is_new = known.as_ref().is_none_or(|known| known.bundle != bundle);
            if is_new {
                *known = Some(Adopted { bundle: bundle.to_owned(), since: Instant::now() });
            }
            is_new
        });
    }

    /// Returns how long the webhook configurations have had `bundle`; nothing if they have not.
    #[must_use]
    pub fn adopted(&self, bundle: &str) -> Option<Duration> {
        let adopted = self.adopted.borrow();
        adopted.as_ref().filter(|adopted| adopted.bundle == bundle).map(|adopted| adopted.since.elapsed())
    }

    fn adoptions(&self) -> watch::Receiver<Option<Adopted>> {
        self.adopted.subscribe()
    }

    /// Returns what is asked at every handshake.
    #[must_use]
    pub fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        Arc::<Served>::clone(&self.served)
    }
}

/// Returns the seconds since 1970.
pub(crate) fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
