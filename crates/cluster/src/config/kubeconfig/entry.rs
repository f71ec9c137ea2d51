//! One entry of a kubeconfig: its fields, read by their types.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::Value;

use super::super::{Login, PemSource};
use crate::Error;

/// A context, cluster or user.
pub(super) struct KubeconfigEntry<'f> {
    pub(super) file: &'f Path,
    /// `context`, `cluster` or `user`.
    pub(super) part: &'static str,
    pub(super) name: String,
    pub(super) value: &'f Value,
}

impl KubeconfigEntry<'_> {
    /// Returns an error that names this entry.
    pub(super) fn error(&self, why: &str) -> Error {
        Error::Config(format!("{} `{}` in {}: {why}", self.part, self.name, self.file.display()))
    }

    /// Returns a text that is there and not empty.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Error> {
        match self.value.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text).filter(|text| !text.is_empty())),
                None => Err(self.error(&format!("`{key}` must be a string"))),
            },
        }
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, Error> {
        match self.value.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(value) => {
                value.as_bool().ok_or_else(|| self.error(&format!("`{key}` must be `true` or `false`")))
            }
        }
    }

    /// Returns the items of a list; none where it is absent.
    pub(super) fn items(&self, key: &str) -> Result<&[Value], Error> {
        match self.value.get(key) {
            None | Some(Value::Null) => Ok(&[]),
            Some(value) => value.as_array().ok_or_else(|| self.error(&format!("`{key}` must be a list"))),
        }
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, Error> {
        let text = |item: &Value| item.as_str().map(str::to_owned);
        let texts: Option<Vec<String>> = self.items(key)?.iter().map(text).collect();
        texts.ok_or_else(|| self.error(&format!("`{key}` must be a list of strings")))
    }

    /// Returns what stands in base64 under `key-data`, which may have line breaks, or in the file under `key`.
    pub(super) fn pem(&self, key: &str) -> Result<Option<PemSource>, Error> {
        let data_key = format!("{key}-data");
        if let Some(data) = self.text(&data_key)? {
            let data: String = data.split_whitespace().collect();
            let bytes = STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok());
            let text = bytes.ok_or_else(|| self.error(&format!("`{data_key}` is not PEM in base64")))?;
            return Ok(Some(PemSource::Text(text)));
        }
        let folder = self.file.parent().unwrap_or_else(|| Path::new(""));
        Ok(self.text(key)?.map(|path| PemSource::File(folder.join(path))))
    }

    /// Returns the address of the server. As in kubectl, `host:port` is enough: it is spoken to by TLS where the entry or
    /// the login say something about TLS.
    pub(super) fn server(&self, login: &Login) -> Result<String, Error> {
        let Some(server) = self.text("server")? else { return Err(self.error("it has no `server`")) };
        let has_scheme = ["https://", "http://"]
            .iter()
            .any(|scheme| server.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
        if has_scheme {
            return Ok(server.to_owned());
        }
        if server.contains("://") || !server.contains(':') {
            return Err(self.error(&format!("`server` is `{server}`, which is not a URL with `https://`")));
        }
        let keys = ["certificate-authority", "certificate-authority-data"];
        let is_tls = keys.iter().any(|key| self.value.get(key).is_some())
            || self.flag("insecure-skip-tls-verify")?
            || login.has_certificate();
        Ok(format!("{}://{server}", if is_tls { "https" } else { "http" }))
    }
}
