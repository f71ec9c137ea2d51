//! Names and passwords for registries, as pull secrets hold them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;
use kubewright_value::{Value, json};

/// The names and passwords that one rule may use, by registry. Never shown.
#[derive(Default)]
pub(crate) struct Credentials(Vec<(String, HeaderValue)>);

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Credentials").field(&self.0.len()).finish()
    }
}

impl Credentials {
    /// Adds what a Secret of the type `kubernetes.io/dockerconfigjson` or `kubernetes.io/dockercfg` holds.
    ///
    /// # Errors
    /// When it holds neither; what it holds is not in the error.
    pub(crate) fn add(&mut self, secret: &Value) -> Result<(), String> {
        let data = |key: &str| secret.at(&["data", key]).and_then(Value::as_str);
        let text =
            data(".dockerconfigjson").or_else(|| data(".dockercfg")).ok_or("it is not a pull secret")?;
        let bytes = STANDARD.decode(text).map_err(|_| "what it holds is not Base64")?;
        let text = String::from_utf8(bytes).map_err(|_| "its content is not UTF-8")?;
        let config = json::parse(&text).map_err(|_| "what it holds is not JSON")?;
        let entries = config.get("auths").unwrap_or(&config);
        for (host, entry) in entries.as_object().into_iter().flat_map(|entries| entries.iter()) {
            if let Some(login) = basic_login(entry) {
                self.0.push((registry_host(host), login));
            }
        }
        Ok(())
    }

    /// Returns the login for a registry, `host` or `host:port`.
    pub(super) fn of(&self, registry: &str) -> Option<HeaderValue> {
        self.0.iter().find(|(host, _)| host == registry).map(|(_, login)| login.clone())
    }
}

/// Keys are hosts, or addresses of old such as `https://index.docker.io/v1/`.
fn registry_host(key: &str) -> String {
    let rest = key.split_once("://").map_or(key, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default().to_lowercase();
    if host == "docker.io" { "index.docker.io".to_owned() } else { host }
}

fn basic_login(entry: &Value) -> Option<HeaderValue> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let encoded = match (text("auth"), text("username").zip(text("password"))) {
        (_, Some((name, password))) => STANDARD.encode(format!("{name}:{password}")),
        (Some(auth), None) => auth.to_owned(),
        (None, None) => return None,
    };
    let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
    value.set_sensitive(true);
    Some(value)
}
