//! Sessions: the credentials and trusted authorities of calls, read again as files change.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hyper::header::HeaderValue;
use rustls::ClientConfig;
use tokio::sync::Mutex;

use super::tls;
use crate::config::LoginCredentials;
use crate::{Config, Error, Login};

/// How long what a program said is good, unless the API server refuses it before.
const EXEC_CREDENTIALS_TTL: Duration = Duration::from_secs(600);

/// What one call is sent with.
pub(super) struct ApiSession {
    pub(super) authorization: Option<HeaderValue>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) server_name: Option<String>,
    shown: LoginCredentials,
    authority: Option<String>,
}

/// The session of the moment.
#[derive(Debug)]
pub(super) struct SessionSource {
    config: Config,
    current: Mutex<Option<(Arc<ApiSession>, Instant)>>,
    is_logged_in: AtomicBool,
}

impl std::fmt::Debug for ApiSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

impl SessionSource {
    pub(super) fn new(config: Config) -> Self {
        Self { config, current: Mutex::new(None), is_logged_in: AtomicBool::new(false) }
    }

    /// Waits for the first session, if there was none yet.
    pub(super) async fn logged_in(&self) -> Result<(), Error> {
        if !self.is_logged_in.load(Ordering::Relaxed) {
            self.current().await?;
            self.is_logged_in.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Returns the session, read again if it is old. What cannot be read again stays as it was.
    pub(super) async fn current(&self) -> Result<Arc<ApiSession>, Error> {
        let mut current = self.current.lock().await;
        let life = match self.config.login {
            Login::Exec(_) => EXEC_CREDENTIALS_TTL,
            _ => self.config.read_again_after,
        };
        match &mut *current {
            Some((session, since)) if since.elapsed() < life => Ok(Arc::clone(session)),
            Some((session, since)) => {
                *since = Instant::now();
                if let Ok(new) = self.read(Some(session)).await {
                    *session = new;
                }
                Ok(Arc::clone(session))
            }
            none => {
                let session = self.read(None).await?;
                *none = Some((Arc::clone(&session), Instant::now()));
                Ok(session)
            }
        }
    }

    /// Reads the session again because `refused` was refused; `None` if that changes nothing.
    pub(super) async fn renewed(&self, refused: &Arc<ApiSession>) -> Result<Option<Arc<ApiSession>>, Error> {
        let mut current = self.current.lock().await;
        if let Some((session, _)) = &*current
            && !Arc::ptr_eq(session, refused)
        {
            return Ok(Some(Arc::clone(session)));
        }
        let session = self.read(Some(refused)).await?;
        let is_new = !Arc::ptr_eq(&session, refused);
        *current = Some((Arc::clone(&session), Instant::now()));
        Ok(is_new.then_some(session))
    }

    async fn read(&self, old: Option<&Arc<ApiSession>>) -> Result<Arc<ApiSession>, Error> {
        let authority = self.config.authority.as_ref().map(crate::PemSource::read).transpose()?;
        let shown = match &self.config.login {
            Login::Exec(_) => {
                let (login, server) = (self.config.login.clone(), self.config.server.clone());
                let run = tokio::task::spawn_blocking(move || login.show(&server));
                run.await.map_err(|error| Error::Config(error.to_string()))??
            }
            quick => quick.show(&self.config.server)?,
        };
        if let Some(old) = old
            && old.shown == shown
            && old.authority == authority
        {
            return Ok(Arc::clone(old));
        }
        let authorization = shown.token.as_deref().map(bearer_header).transpose()?;
        let tls = tls::config(authority.as_deref(), self.config.is_insecure, shown.certificate.as_ref())?;
        let server_name = self.config.server_name.clone();
        Ok(Arc::new(ApiSession { authorization, tls, server_name, shown, authority }))
    }
}

fn bearer_header(token: &str) -> Result<HeaderValue, Error> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
        .map_err(|_| Error::Config("the token cannot be sent: it is no line of text".to_owned()))?;
    value.set_sensitive(true);
    Ok(value)
}
