//! Sessions: the credentials and trusted authorities of calls, read again as files change and plugins' tokens expire.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderValue};
use rustls::ClientConfig;
use tokio::sync::Mutex;

use super::tls;
use crate::config::LoginCredentials;
use crate::{Config, Error, ProxyScheme};

/// How long before its expiry a credential is renewed, so that none expires on its way.
const EXPIRY_MARGIN: Duration = Duration::from_secs(10);

/// What one call is sent with.
pub(super) struct ApiSession {
    /// The headers that say who asks.
    pub(super) headers: HeaderMap,
    pub(super) tls: Arc<ClientConfig>,
    /// For a proxy that speaks TLS itself.
    pub(super) proxy_tls: Option<Arc<ClientConfig>>,
    pub(super) server_name: Option<String>,
    shown: LoginCredentials,
    authority: Option<String>,
}

/// The session of the moment.
#[derive(Debug)]
pub(super) struct SessionSource {
    config: Config,
    current: Mutex<Option<CurrentSession>>,
}

#[derive(Debug)]
struct CurrentSession {
    session: Arc<ApiSession>,
    /// When it is read again; `None` for when it is refused.
    stale_at: Option<Instant>,
}

impl std::fmt::Debug for ApiSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

impl SessionSource {
    pub(super) fn new(config: Config) -> Self {
        Self { config, current: Mutex::new(None) }
    }

    /// Waits for a plugin that has to run before the next call; it may ask the user for a password.
    pub(super) async fn logged_in(&self) -> Result<(), Error> {
        if self.config.login.is_exec() {
            self.current().await?;
        }
        Ok(())
    }

    /// Returns the session, read again if it is old. Files that cannot be read again count as they were; credentials of a
    /// plugin have expired by then, so its failure is the answer.
    pub(super) async fn current(&self) -> Result<Arc<ApiSession>, Error> {
        let mut current = self.current.lock().await;
        let old = match &*current {
            Some(CurrentSession { session, stale_at }) => {
                if stale_at.is_none_or(|at| Instant::now() < at) {
                    return Ok(Arc::clone(session));
                }
                Some(Arc::clone(session))
            }
            None => None,
        };
        let session = match (self.read(old.as_ref()).await, old) {
            (Ok(session), _) => session,
            (Err(_), Some(old)) if !self.config.login.is_exec() => old,
            (Err(error), _) => return Err(error),
        };
        *current = Some(self.fresh(&session));
        Ok(session)
    }

    /// Reads the session again because `refused` was refused; `None` if that changes nothing.
    pub(super) async fn renewed(&self, refused: &Arc<ApiSession>) -> Result<Option<Arc<ApiSession>>, Error> {
        let mut current = self.current.lock().await;
        if let Some(CurrentSession { session, .. }) = &*current
            && !Arc::ptr_eq(session, refused)
        {
            return Ok(Some(Arc::clone(session)));
        }
        let session = self.read(Some(refused)).await?;
        let is_new = !Arc::ptr_eq(&session, refused);
        *current = Some(self.fresh(&session));
        Ok(is_new.then_some(session))
    }

    fn fresh(&self, session: &Arc<ApiSession>) -> CurrentSession {
        let life = match self.config.login.is_exec() {
            true => exec_credentials_life(session.shown.expiry, SystemTime::now()),
            false => Some(self.config.read_again_after),
        };
        let stale_at = life.and_then(|life| Instant::now().checked_add(life));
        CurrentSession { session: Arc::clone(session), stale_at }
    }

    async fn read(&self, old: Option<&Arc<ApiSession>>) -> Result<Arc<ApiSession>, Error> {
        let authority = self.config.authority.as_ref().map(crate::PemSource::read).transpose()?;
        let shown = if self.config.login.is_exec() {
            let (login, server) = (self.config.login.clone(), self.config.server.clone());
            let run = tokio::task::spawn_blocking(move || login.show(&server));
            run.await.map_err(|error| Error::Config(error.to_string()))??
        } else {
            self.config.login.show(&self.config.server)?
        };
        if let Some(old) = old
            && old.shown == shown
            && old.authority == authority
        {
            return Ok(Arc::clone(old));
        }
        let mut headers = self.config.impersonation.headers()?;
        if let Some(authorization) = &shown.authorization {
            headers.insert(AUTHORIZATION, sensitive_header(authorization)?);
        }
        let is_insecure = self.config.is_insecure;
        let tls = tls::config(authority.as_deref(), is_insecure, shown.certificate.as_ref())?;
        let has_tls_proxy =
            self.config.proxy.as_ref().is_some_and(|proxy| proxy.scheme == ProxyScheme::Https);
        let proxy_tls =
            has_tls_proxy.then(|| tls::proxy_config(authority.as_deref(), is_insecure)).transpose()?;
        let server_name = self.config.server_name.clone();
        Ok(Arc::new(ApiSession { headers, tls, proxy_tls, server_name, shown, authority }))
    }
}

/// Returns how long what a plugin said is good; `None` for until it is refused.
fn exec_credentials_life(expiry: Option<SystemTime>, now: SystemTime) -> Option<Duration> {
    let left = expiry?.duration_since(now).unwrap_or_default();
    // A clock that is wrong must not run the plugin for every call.
    Some(left.saturating_sub(EXPIRY_MARGIN).max(EXPIRY_MARGIN))
}

fn sensitive_header(authorization: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(authorization)
        .map_err(|_| Error::Config("the token cannot be sent: it is no line of text".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::exec_credentials_life;

    #[test]
    fn a_plugin_runs_again_before_its_credentials_expire() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let life = |expiry| {
            let expiry = SystemTime::UNIX_EPOCH + Duration::from_secs(expiry);
            exec_credentials_life(Some(expiry), now).unwrap().as_secs()
        };
        assert_eq!(exec_credentials_life(None, now), None);
        assert_eq!(life(4600), 3590);
        assert_eq!(life(1005), 10);
        assert_eq!(life(0), 10);
    }
}
