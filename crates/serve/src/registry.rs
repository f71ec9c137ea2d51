//! What registries say about images: manifest, index and configuration, read over the OCI distribution protocol.
//!
//! Only registries are asked that the operator names (`--allow-registry`), and only with the pull secrets that the policy
//! lists. Everything that is read is bounded and its digest is checked, so that neither a registry nor what it redirects
//! to can say something else than what was pushed. Credentials go to the registry and to the token service that it
//! names, if that is the registry itself or is allowed too; they are in no error and follow no redirect.

mod artifacts;
mod cache;
mod credentials;
mod exchange;
mod reference;
mod store;

use std::sync::OnceLock;

use hyper::header::HeaderValue;
use kubewright_engine::{ImageLookup, ImagePart};
use kubewright_value::{Map, Text, Value, json};
use rustls::ClientConfig;
use sha2::{Digest as _, Sha256};

use crate::services::AllowedHost;
use crate::services::url::ServiceUrl;
use cache::ImageCache;
pub(crate) use credentials::Credentials;
use exchange::RegistryAnswer;
use reference::ImageReference;

/// How large a manifest or an index may be, in bytes: what a rule may load at all.
const MAX_MANIFEST_BYTES: usize = 2 << 20;

/// How large the configuration of an image may be, in bytes: what a rule may load at all.
const MAX_CONFIG_BYTES: usize = 2 << 20;

/// How many redirects lead to the content of a blob.
const MAX_REDIRECTS: usize = 3;

/// What is asked for: an index of images for several platforms, or the manifest of one.
const MANIFEST_TYPES: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// Of an index, the image for this platform is looked at.
const PLATFORM: (&str, &str) = ("linux", "amd64");

/// Asks registries.
#[derive(Debug)]
pub(crate) struct Registries {
    allowed: Vec<AllowedHost>,
    tls: OnceLock<Result<ClientConfig, String>>,
    cache: ImageCache,
}

impl Registries {
    /// `hosts` are written `host`, `host:port` or `https://host`; only with `http://` it may be without TLS.
    pub(crate) fn new(hosts: &[String]) -> Self {
        let host = |host: &String| AllowedHost::parse(&host.replace("://docker.io", "://index.docker.io"));
        let alias =
            |host: &String| if host == "docker.io" { "index.docker.io".to_owned() } else { host.clone() };
        let allowed = hosts.iter().map(alias).filter_map(|one| host(&one)).collect();
        Self { allowed, tls: OnceLock::new(), cache: ImageCache::default() }
    }

    /// Returns what the registry says about `image`; nothing where it has no such image.
    ///
    /// # Errors
    /// When the registry may not be asked, does not answer, or says what cannot be.
    pub(crate) async fn describe(
        &self,
        image: &ImageLookup,
        credentials: &Credentials,
    ) -> Result<Option<Value>, String> {
        let reference = ImageReference::parse(&image.reference)?;
        if let Some(known) = self.cache.get(image) {
            return Ok(Some(known));
        }
        if image.part != ImagePart::Description {
            return self.describe_artifacts(image, &reference, credentials).await;
        }
        let mut session = RegistrySession {
            registries: self,
            base: self.base(&reference, image.is_insecure)?,
            repository: &reference.repository,
            credentials,
            authorization: None,
        };
        let Some(first) = session.manifest(reference.identifier(), reference.digest.as_deref()).await? else {
            return Ok(None);
        };
        let (index, manifest) = match platform_digest(&first.value)? {
            None => (Value::Null, first.clone()),
            Some(digest) => {
                let missing = || format!("the registry has no manifest `{digest}` of its own index");
                let manifest = session.manifest(&digest, Some(&digest)).await?.ok_or_else(missing)?;
                (first.value.clone(), manifest)
            }
        };
        let config = session.config(&manifest.value).await?;
        let size = first.size + manifest.size + config.size;
        let described =
            image_description(image, &reference, &first.digest, [index, manifest.value, config.value]);
        self.cache.put(image, reference.digest.is_some(), &described, size);
        Ok(Some(described))
    }

    /// Returns the signatures or attestations of an image. They are not cached: others may be added to an image.
    async fn describe_artifacts(
        &self,
        image: &ImageLookup,
        reference: &ImageReference,
        credentials: &Credentials,
    ) -> Result<Option<Value>, String> {
        let place = match image.repository.as_str() {
            "" => reference.clone(),
            repository => ImageReference::parse(repository)?,
        };
        let mut session = RegistrySession {
            registries: self,
            base: self.base(&place, image.is_insecure)?,
            repository: &place.repository,
            credentials,
            authorization: None,
        };
        session.artifacts(image, reference).await
    }

    /// Returns the address of the registry, if it may be asked so.
    fn base(&self, reference: &ImageReference, is_insecure: bool) -> Result<ServiceUrl, String> {
        let host = &reference.registry;
        let [safe, plain] = ["https", "http"]
            .map(|scheme| ServiceUrl::parse(&format!("{scheme}://{host}/v2/{}/", reference.repository)));
        let (safe, plain) = (safe?, plain?);
        let is_plain = |one: &&AllowedHost| one.is_plain() && one.is(&plain);
        match (is_insecure, self.allowed.iter().find(is_plain)) {
            (true, Some(_)) => Ok(plain),
            _ if self.allowed.iter().any(|one| !one.is_plain() && one.is(&safe)) => Ok(safe),
            (false, Some(_)) => Err(format!(
                "the registry `{host}` is allowed without TLS alone: the rule must say `allowInsecureRegistry: true`"
            )),
            _ => Err(format!(
                "the registry `{host}` may not be asked: `--allow-registry {host}` would allow it"
            )),
        }
    }
}

/// A document of a registry whose digest was checked.
#[derive(Debug, Clone)]
struct VerifiedDocument {
    value: Value,
    digest: String,
    size: usize,
}

/// One image that is looked at.
struct RegistrySession<'a> {
    registries: &'a Registries,
    base: ServiceUrl,
    repository: &'a str,
    credentials: &'a Credentials,
    /// What the registry wanted to see, once it asked.
    authorization: Option<HeaderValue>,
}

impl RegistrySession<'_> {
    async fn manifest(
        &mut self,
        identifier: &str,
        digest: Option<&str>,
    ) -> Result<Option<VerifiedDocument>, String> {
        let fetched = self.fetch(&format!("manifests/{identifier}"), MAX_MANIFEST_BYTES).await?;
        match fetched.status {
            200 => verify_document(fetched, digest, "manifest").map(Some),
            404 => Ok(None),
            status => Err(format!("the registry answers HTTP {status}")),
        }
    }

    async fn config(&mut self, manifest: &Value) -> Result<VerifiedDocument, String> {
        let digest = manifest.str_at(&["config", "digest"]);
        let digest = reference::checked_digest(digest)?;
        let fetched = self.fetch(&format!("blobs/{digest}"), MAX_CONFIG_BYTES).await?;
        match fetched.status {
            200 => verify_document(fetched, Some(&digest), "configuration"),
            status => Err(format!("the registry answers HTTP {status} for the configuration of the image")),
        }
    }

    /// Reads `path` of the repository, and says who asks where the registry wants to know.
    async fn fetch(&mut self, path: &str, limit: usize) -> Result<RegistryAnswer, String> {
        let url = ServiceUrl { target: format!("{}{path}", self.base.target), ..self.base.clone() };
        let first = self.follow(&url, limit).await?;
        let (401, None) = (first.status, &self.authorization) else { return Ok(first) };
        self.authorization = Some(self.authorize(&first.challenge).await?);
        self.follow(&url, limit).await
    }

    /// Reads `url` and follows redirects. Credentials are sent to the registry only.
    async fn follow(&self, url: &ServiceUrl, limit: usize) -> Result<RegistryAnswer, String> {
        let mut at = url.clone();
        for _ in 0..=MAX_REDIRECTS {
            let is_own = at.is_same_host(url);
            let authorization = self.authorization.as_ref().filter(|_| is_own);
            let fetched = self.registries.get(&at, authorization, MANIFEST_TYPES, limit).await?;
            let Some(location) = &fetched.location else { return Ok(fetched) };
            at = match location.strip_prefix('/').filter(|rest| !rest.starts_with('/')) {
                Some(_) => ServiceUrl { target: location.clone(), ..at },
                None => ServiceUrl::parse(location)
                    .map_err(|_| "the registry redirects to no address".to_owned())?,
            };
            if !at.is_tls && !at.is_same_host(url) {
                return Err("the registry redirects to an address without TLS".to_owned());
            }
        }
        Err(format!("the registry redirects more than {MAX_REDIRECTS} times"))
    }

    /// Returns what the registry wants to see, by what it says about that: a name and password, or a token.
    async fn authorize(&self, challenge: &str) -> Result<HeaderValue, String> {
        let login = self.credentials.of(&self.base.authority());
        if challenge.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic ")) {
            return login.ok_or_else(|| "the registry wants a name and password".to_owned());
        }
        let (realm, service) = exchange::bearer_challenge(challenge)
            .ok_or_else(|| "the registry wants to know who asks in a way that is not known".to_owned())?;
        let url = ServiceUrl::parse(&realm).map_err(|_| "the registry names no token service".to_owned())?;
        let is_listed =
            self.registries.allowed.iter().any(|one| one.is(&url) && one.is_plain() != url.is_tls);
        // A registry that is asked over TLS cannot send a password elsewhere without it.
        let is_safe = url.is_tls || !self.base.is_tls;
        if !(is_safe && (is_listed || url.is_same_host(&self.base))) {
            let host = &url.host;
            return Err(format!(
                "the token service `{host}` may not be asked: `--allow-registry {host}` would allow it"
            ));
        }
        let url = exchange::token_url(&url, &service, self.repository);
        let fetched = self
            .registries
            .get(&url, login.as_ref(), "application/json", exchange::MAX_TOKEN_ANSWER_BYTES)
            .await?;
        exchange::bearer_token(&fetched)
    }
}

/// Returns the document that was read, if it is the one with `digest`.
fn verify_document(
    fetched: RegistryAnswer,
    digest: Option<&str>,
    what: &str,
) -> Result<VerifiedDocument, String> {
    let found = verify_bytes(&fetched.body, digest, what)?;
    let size = fetched.body.len();
    let text = String::from_utf8(fetched.body).map_err(|_| format!("the {what} is no text"))?;
    let value = json::parse(&text).map_err(|error| format!("the {what} is not JSON: {error}"))?;
    Ok(VerifiedDocument { value, digest: found, size })
}

/// Returns the digest of `bytes`, if it is the wanted one.
fn verify_bytes(bytes: &[u8], digest: Option<&str>, what: &str) -> Result<String, String> {
    let hash = Sha256::digest(bytes);
    let found = format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    if digest.is_some_and(|digest| digest != found) {
        return Err(format!("the {what} that the registry sends is not the one that was asked for"));
    }
    Ok(found)
}

/// Returns the digest of the image for our platform, where `document` is an index.
fn platform_digest(document: &Value) -> Result<Option<String>, String> {
    let Some(entries) = document.get("manifests").and_then(Value::as_array) else { return Ok(None) };
    let text = |entry: &Value, key: &str| entry.str_at(&["platform", key]).to_owned();
    let (os, architecture) = PLATFORM;
    let found =
        entries.iter().find(|entry| text(entry, "os") == os && text(entry, "architecture") == architecture);
    let digest = found.and_then(|entry| entry.get("digest")).and_then(Value::as_str);
    let digest = digest.ok_or_else(|| format!("the index has no image for {os}/{architecture}"))?;
    reference::checked_digest(digest).map(Some)
}

/// Returns it in the words of context entries.
fn image_description(
    image: &ImageLookup,
    reference: &ImageReference,
    digest: &str,
    [index, manifest, config]: [Value; 3],
) -> Value {
    let ImageReference { registry, repository, tag, digest: wanted } = reference;
    let mut said = Map::from([
        ("image", Value::from(image.reference.clone())),
        ("resolvedImage", format!("{registry}/{repository}@{digest}").into()),
        ("registry", registry.as_str().into()),
        ("repository", repository.as_str().into()),
        ("identifier", reference.identifier().into()),
        ("digest", digest.into()),
        ("manifestList", index),
        ("manifest", manifest),
        ("configData", config),
    ]);
    if wanted.is_none() {
        said.insert(Text::new("tag"), tag.as_str().into());
    }
    said.into()
}

#[cfg(test)]
mod tests;
