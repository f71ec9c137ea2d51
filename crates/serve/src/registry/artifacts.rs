//! Signatures and attestations of an image: what is stored under a tag made of its digest, and what refers to it.

use kubewright_engine::{ImageLookup, ImagePart};
use kubewright_value::{Map, Value, json};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::reference::{ImageReference, checked_digest};
use super::{MAX_MANIFEST_BYTES, RegistrySession, verify_bytes};

/// How many artifacts of an image are read. More are an error, because the one that counts could be missing.
const MAX_ARTIFACTS: usize = 50;

/// How many layers of an artifact are read.
const MAX_LAYERS: usize = 50;

/// How large all layers together may be, in bytes: what a rule may load at all.
const MAX_ARTIFACT_BYTES: usize = 4 << 20;

/// How the types of artifacts begin that are signatures or attestations. Others that refer to an image are not read.
const ARTIFACT_TYPES: [&str; 5] = [
    "application/vnd.cncf.notary.signature",
    "application/vnd.dev.sigstore.bundle",
    "application/vnd.dev.cosign.",
    "application/vnd.dsse.envelope",
    "application/vnd.in-toto",
];

impl RegistrySession<'_> {
    /// Returns the artifacts of `image`, whose digest is in `reference`; nothing where there are none.
    pub(super) async fn artifacts(
        &mut self,
        image: &ImageLookup,
        reference: &ImageReference,
    ) -> Result<Option<Value>, String> {
        let digest = reference.digest.as_deref().ok_or("signatures are looked up by digest")?;
        let hex = digest.strip_prefix("sha256:").ok_or("signatures are looked up by a sha256 digest")?;
        let mut left = MAX_ARTIFACT_BYTES;
        let artifacts = match image.part {
            ImagePart::Signatures => self.tagged(&format!("sha256-{hex}.sig"), &mut left).await?,
            ImagePart::Attestations => self.tagged(&format!("sha256-{hex}.att"), &mut left).await?,
            ImagePart::Referrers | ImagePart::Description => self.referrers(digest, hex, &mut left).await?,
        };
        Ok(artifacts.map(|list| Map::from([("artifacts", Value::array(list))]).into()))
    }

    async fn tagged(&mut self, tag: &str, left: &mut usize) -> Result<Option<Vec<Value>>, String> {
        let Some(manifest) = self.manifest(tag, None).await? else { return Ok(None) };
        Ok(Some(vec![self.artifact(&manifest.value, left).await?]))
    }

    /// Reads what refers to the image, from the API for that or the tag in its place.
    async fn referrers(
        &mut self,
        digest: &str,
        hex: &str,
        left: &mut usize,
    ) -> Result<Option<Vec<Value>>, String> {
        let fetched = self.fetch(&format!("referrers/{digest}"), MAX_MANIFEST_BYTES).await?;
        let index = match fetched.status {
            200 => std::str::from_utf8(&fetched.body).ok().and_then(|text| json::parse(text).ok()),
            404 => self.manifest(&format!("sha256-{hex}"), None).await?.map(|found| found.value),
            status => return Err(format!("the registry answers HTTP {status} for what refers to the image")),
        };
        let Some(index) = index else { return Ok(None) };
        let entries = index.get("manifests").and_then(Value::as_array).unwrap_or_default();
        let is_known = |entry: &&Value| {
            let kind = entry.str_at(&["artifactType"]);
            kind.is_empty() || ARTIFACT_TYPES.iter().any(|known| kind.starts_with(known))
        };
        let entries: Vec<&Value> = entries.iter().filter(is_known).collect();
        if entries.len() > MAX_ARTIFACTS {
            return Err(format!("more than {MAX_ARTIFACTS} signatures refer to the image"));
        }
        let image_digest = digest;
        let mut artifacts = Vec::with_capacity(entries.len());
        for entry in entries {
            let digest = checked_digest(entry.str_at(&["digest"]))?;
            let missing = || "the registry lacks a manifest that refers to the image".to_owned();
            let manifest = self.manifest(&digest, Some(&digest)).await?.ok_or_else(missing)?;
            let subject = manifest.value.str_at(&["subject", "digest"]);
            if subject.is_empty() || subject == image_digest {
                artifacts.push(self.artifact(&manifest.value, left).await?);
            }
        }
        Ok(Some(artifacts))
    }

    async fn artifact(&mut self, manifest: &Value, left: &mut usize) -> Result<Value, String> {
        let layers = manifest.get("layers").and_then(Value::as_array).unwrap_or_default();
        if layers.len() > MAX_LAYERS {
            return Err(format!("an artifact of the image has more than {MAX_LAYERS} layers"));
        }
        let mut read = Vec::with_capacity(layers.len());
        for layer in layers {
            let digest = checked_digest(layer.str_at(&["digest"]))?;
            let fetched = self.fetch(&format!("blobs/{digest}"), *left).await?;
            if fetched.status != 200 {
                return Err(format!("the registry answers HTTP {} for a signature", fetched.status));
            }
            verify_bytes(&fetched.body, Some(&digest), "signature")?;
            *left = left.saturating_sub(fetched.body.len());
            read.push(Value::from(Map::from([
                ("mediaType", Value::from(layer.str_at(&["mediaType"]))),
                ("annotations", layer.get("annotations").cloned().unwrap_or_default()),
                ("content", STANDARD.encode(&fetched.body).into()),
            ])));
        }
        // The configuration of an artifact has its type where the manifest has none.
        let kind = match manifest.str_at(&["artifactType"]) {
            "" => manifest.str_at(&["config", "mediaType"]),
            kind => kind,
        };
        Ok(Map::from([("artifactType", Value::from(kind)), ("layers", Value::array(read))]).into())
    }
}
