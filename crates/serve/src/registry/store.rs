//! Storing an artifact: its blobs, then the manifest that names them.

use bytes::Bytes;
use hyper::Method;
use kubewright_value::{Map, Value, json};

use super::exchange::RegistrySending;
use super::reference::{ImageReference, checked_digest};
use super::{Credentials, MAX_MANIFEST_BYTES, Registries, RegistrySession, verify_bytes};
use crate::registry_client::StoredLayer;
use crate::services::url::ServiceUrl;

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG_TYPE: &str = "application/vnd.oci.image.config.v1+json";
const CONFIG: &[u8] = b"{}";

impl Registries {
    /// Stores `layers` as the artifact `tag` in the repository of `reference`, behind those that it has already.
    pub(crate) async fn store(
        &self,
        reference: &str,
        tag: &str,
        layers: &[StoredLayer],
    ) -> Result<(), String> {
        let reference = ImageReference::parse(reference)?;
        let credentials = Credentials::default();
        let mut session = RegistrySession {
            registries: self,
            base: self.base(&reference, true)?,
            repository: &reference.repository,
            credentials: &credentials,
            authorization: None,
        };
        let present = session.manifest(tag, None).await?;
        let present = present.and_then(|found| found.value.get("layers")?.as_array().map(<[Value]>::to_vec));
        let mut all = present.unwrap_or_default();
        let config = session.upload(CONFIG).await?;
        for layer in layers {
            let digest = session.upload(&layer.content).await?;
            let entry = descriptor(&layer.media_type, &digest, layer.content.len());
            let mut entry = entry;
            entry.insert("annotations".into(), layer.annotations.clone());
            let entry = Value::from(entry);
            if !all.contains(&entry) {
                all.push(entry);
            }
        }
        let manifest = Value::from(Map::from([
            ("schemaVersion", Value::from(2_i64)),
            ("mediaType", MANIFEST_TYPE.into()),
            ("config", descriptor(CONFIG_TYPE, &config, CONFIG.len()).into()),
            ("layers", Value::array(all)),
        ]));
        let body = json::to_string(&manifest).into_bytes();
        let url = session.address(&format!("manifests/{tag}"));
        let sent = session.send(Method::PUT, &url, Some(MANIFEST_TYPE), body).await?;
        expect_status(sent.status, 201, "the manifest")
    }
}

impl RegistrySession<'_> {
    fn address(&self, path: &str) -> ServiceUrl {
        ServiceUrl { target: format!("{}{path}", self.base.target), ..self.base.clone() }
    }

    /// Stores a blob and returns its digest.
    async fn upload(&mut self, content: &[u8]) -> Result<String, String> {
        let digest = checked_digest(&verify_bytes(content, None, "blob")?)?;
        let url = self.address("blobs/uploads/");
        let begun = self.send(Method::POST, &url, None, Vec::new()).await?;
        expect_status(begun.status, 202, "a blob")?;
        let place = begun.location.ok_or("the registry names no place for a blob")?;
        let place = match place.strip_prefix('/') {
            Some(_) => ServiceUrl { target: place, ..self.base.clone() },
            None => ServiceUrl::parse(&place)?,
        };
        if !place.is_same_host(&self.base) {
            return Err("the registry names another host for a blob".to_owned());
        }
        let separator = if place.target.contains('?') { '&' } else { '?' };
        let target = format!("{}{separator}digest={digest}", place.target);
        let url = ServiceUrl { target, ..place };
        let sent = self.send(Method::PUT, &url, Some("application/octet-stream"), content.to_vec()).await?;
        expect_status(sent.status, 201, "a blob")?;
        Ok(digest)
    }

    async fn send(
        &mut self,
        method: Method,
        url: &ServiceUrl,
        content_type: Option<&'static str>,
        body: Vec<u8>,
    ) -> Result<super::RegistryAnswer, String> {
        let sending = RegistrySending { method, content_type, body: Bytes::from(body) };
        self.registries.send(url, self.authorization.as_ref(), sending, MAX_MANIFEST_BYTES).await
    }
}

fn expect_status(found: u16, wanted: u16, what: &str) -> Result<(), String> {
    if found == wanted { Ok(()) } else { Err(format!("the registry answers HTTP {found} for {what}")) }
}

fn descriptor(media_type: &str, digest: &str, size: usize) -> Map {
    Map::from([
        ("mediaType", Value::from(media_type)),
        ("digest", digest.into()),
        ("size", Value::from(size)),
    ])
}
