//! The users of a kubeconfig: who asks, and on behalf of whom.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::{Map, Value};

use super::super::{ClientIdentity, Exec, Impersonation, InteractiveMode, Login};
use super::auth_provider::auth_provider_token;
use super::entry::KubeconfigEntry;
use crate::Error;

/// The extension of a cluster whose content is for credential plugins.
const EXEC_EXTENSION: &str = "client.authentication.k8s.io/exec";

impl KubeconfigEntry<'_> {
    /// Returns how the user of this entry logs in. As in client-go, a certificate is shown besides a token or a
    /// password, and a plugin is asked only where there is none of them.
    pub(super) fn login(&self, cluster: &KubeconfigEntry<'_>) -> Result<Login, Error> {
        let mut logins = Vec::new();
        if let Some(identity) = self.identity()? {
            logins.push(Login::Certificate(identity));
        }
        logins.extend(self.token_login()?);
        if logins.is_empty() {
            logins.extend(self.exec_login(cluster)?);
        }
        if let (true, Some(provider)) = (logins.is_empty(), self.part("auth-provider")) {
            logins.push(Login::Token(auth_provider_token(&provider)?));
        }
        Ok(match logins.len() {
            0 => Login::Anonymous,
            1 => logins.remove(0),
            _ => Login::Several(logins),
        })
    }

    pub(super) fn impersonation(&self) -> Result<Impersonation, Error> {
        let mut impersonation = Impersonation {
            user: self.text("as")?.unwrap_or_default().to_owned(),
            uid: self.text("as-uid")?.unwrap_or_default().to_owned(),
            groups: self.texts("as-groups")?,
            extra: Vec::new(),
        };
        for (key, _) in
            self.value.get("as-user-extra").and_then(Value::as_object).into_iter().flat_map(Map::iter)
        {
            let values = self.part("as-user-extra").map_or(Ok(Vec::new()), |extra| extra.texts(key))?;
            impersonation.extra.extend(values.into_iter().map(|value| (key.to_string(), value)));
        }
        if impersonation.user.is_empty() && impersonation != Impersonation::default() {
            return Err(self.error("`as-uid`, `as-groups` and `as-user-extra` need `as`, the user to act as"));
        }
        Ok(impersonation)
    }

    /// Returns a field that has fields of its own; errors in it name this entry.
    fn part(&self, key: &str) -> Option<KubeconfigEntry<'_>> {
        let value = self.value.get(key).filter(|value| !value.is_null())?;
        Some(KubeconfigEntry { file: self.file, part: self.part, name: self.name.clone(), value })
    }

    fn identity(&self) -> Result<Option<ClientIdentity>, Error> {
        match (self.pem("client-certificate")?, self.pem("client-key")?) {
            (Some(certificate), Some(key)) => Ok(Some(ClientIdentity { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => {
                Err(self.error("its client certificate has no `client-key` or `client-key-data`"))
            }
            (None, Some(_)) => {
                Err(self.error("its key has no `client-certificate` or `client-certificate-data`"))
            }
        }
    }

    fn token_login(&self) -> Result<Option<Login>, Error> {
        let (token, file) = (self.text("token")?, self.text("tokenFile")?);
        let (username, password) = (self.text("username")?, self.text("password")?);
        if (token.is_some() || file.is_some()) && (username.is_some() || password.is_some()) {
            return Err(self.error("it has both a token and a password: only one of them can be sent"));
        }
        let file = file.map(|file| self.folder().join(file));
        Ok(match (file, token, username) {
            // The file counts where both are there; the token helps out while it cannot be read.
            (Some(file), None, _) => Some(Login::TokenFile(file)),
            (Some(file), Some(_), _) if file.exists() => Some(Login::TokenFile(file)),
            (_, Some(token), _) => Some(Login::Token(token.to_owned())),
            (_, _, Some(name)) => {
                Some(Login::Basic(name.to_owned(), password.unwrap_or_default().to_owned()))
            }
            (None, None, None) if password.is_some() => {
                return Err(self.error("its `password` has no `username`"));
            }
            (None, None, None) => None,
        })
    }

    fn exec_login(&self, cluster: &KubeconfigEntry<'_>) -> Result<Option<Login>, Error> {
        let Some(exec) = self.part("exec") else { return Ok(None) };
        if self.part("auth-provider").is_some() {
            return Err(self.error("`exec` and `auth-provider` exclude each other"));
        }
        let Some(command) = exec.text("command")? else { return Err(self.error("`exec` has no `command`")) };
        // A name without a slash is looked for in PATH; a path is relative to the file.
        let command = if command.contains('/') { self.folder().join(command) } else { command.into() };
        Ok(Some(Login::Exec(Exec {
            command,
            arguments: exec.texts("args")?,
            environment: exec.environment()?,
            api_version: exec.api_version()?,
            install_hint: exec.text("installHint")?.unwrap_or_default().to_owned(),
            interactive_mode: exec.interactive_mode()?,
            cluster: if exec.flag("provideClusterInfo")? { Some(cluster.exec_cluster()?) } else { None },
        })))
    }

    fn environment(&self) -> Result<Vec<(String, String)>, Error> {
        let pair = |item: &Value| {
            let name = item.get("name").and_then(Value::as_str).filter(|name| !name.is_empty())?;
            Some((name.to_owned(), item.str_at(&["value"]).to_owned()))
        };
        let pairs: Option<Vec<_>> = self.items("env")?.iter().map(pair).collect();
        pairs.ok_or_else(|| self.error("each item of `env` of `exec` must have a `name` and a `value`"))
    }

    fn api_version(&self) -> Result<String, Error> {
        match self.text("apiVersion")? {
            Some(version @ ("client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1")) => {
                Ok(version.to_owned())
            }
            Some(other) => Err(self.error(&format!(
                "`exec` has the `apiVersion` `{other}`, but only client.authentication.k8s.io/v1 and v1beta1 exist: update \
                 the plugin and let it write the kubeconfig again"
            ))),
            None => Err(self.error("`exec` has no `apiVersion`")),
        }
    }

    fn interactive_mode(&self) -> Result<InteractiveMode, Error> {
        match self.text("interactiveMode")? {
            Some("Never") => Ok(InteractiveMode::Never),
            Some("Always") => Ok(InteractiveMode::Always),
            Some("IfAvailable") | None => Ok(InteractiveMode::IfAvailable),
            Some(other) => Err(self.error(&format!(
                "`interactiveMode` is `{other}` in place of `Never`, `IfAvailable` or `Always`"
            ))),
        }
    }

    /// Returns what a plugin is told about this cluster; the server is added when it runs.
    fn exec_cluster(&self) -> Result<Value, Error> {
        let mut told = Map::new();
        for key in ["insecure-skip-tls-verify", "tls-server-name", "proxy-url", "disable-compression"] {
            if let Some(value) = self.value.get(key).filter(|value| !value.is_null()) {
                told.insert(key.into(), value.clone());
            }
        }
        if let Some(authority) = self.pem("certificate-authority")? {
            told.insert(
                "certificate-authority-data".into(),
                STANDARD.encode(authority.read()?).as_str().into(),
            );
        }
        let is_for_exec = |item: &&Value| item.str_at(&["name"]) == EXEC_EXTENSION;
        if let Some(config) =
            self.items("extensions")?.iter().find(is_for_exec).and_then(|item| item.get("extension"))
        {
            told.insert("config".into(), config.clone());
        }
        Ok(told.into())
    }

    fn folder(&self) -> &Path {
        self.file.parent().unwrap_or_else(|| Path::new(""))
    }
}
