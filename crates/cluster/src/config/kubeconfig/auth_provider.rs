//! The `auth-provider` of older kubeconfigs, which kubectl has replaced by credential plugins.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kubewright_value::{Value, json};

use super::entry::KubeconfigEntry;
use crate::Error;

/// Returns the token that the `auth-provider` of a user holds.
///
/// # Errors
/// When the provider must be replaced by a plugin, or its token has expired; the text says what to do.
pub(super) fn auth_provider_token(provider: &KubeconfigEntry<'_>) -> Result<String, Error> {
    match provider.text("name")?.unwrap_or_default() {
        "oidc" => oidc_token(provider),
        "gcp" => Err(provider.error(
            "the `auth-provider` `gcp` was removed in Kubernetes 1.26: install gke-gcloud-auth-plugin and run `gcloud \
             container clusters get-credentials`",
        )),
        "azure" => Err(provider.error(
            "the `auth-provider` `azure` was removed in Kubernetes 1.26: install kubelogin and run `kubelogin \
             convert-kubeconfig`",
        )),
        other => Err(provider.error(&format!(
            "the `auth-provider` `{other}` is not supported: use a credential plugin (`exec`) or a token"
        ))),
    }
}

/// Returns the ID token as long as it is good. It is not renewed: a refresh token is often good for one use, and the new
/// one would have to be written into the kubeconfig.
fn oidc_token(provider: &KubeconfigEntry<'_>) -> Result<String, Error> {
    const WAY_OUT: &str = "log in again, or use the credential plugin `kubectl oidc-login`";
    let token = provider.value.str_at(&["config", "id-token"]);
    if token.is_empty() {
        return Err(provider.error(&format!("the `auth-provider` `oidc` has no `id-token`: {WAY_OUT}")));
    }
    if token_expiry(token).is_some_and(|expiry| expiry <= SystemTime::now()) {
        return Err(
            provider.error(&format!("the `id-token` of the `auth-provider` `oidc` has expired: {WAY_OUT}"))
        );
    }
    Ok(token.to_owned())
}

/// Reads `exp` of a JSON Web Token; the API server verifies the rest.
fn token_expiry(token: &str) -> Option<SystemTime> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?.trim_end_matches('=')).ok()?;
    let payload = json::parse(std::str::from_utf8(&payload).ok()?).ok()?;
    let seconds = u64::try_from(payload.get("exp").and_then(Value::as_i64)?).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}
