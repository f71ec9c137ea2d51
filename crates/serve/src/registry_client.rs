//! Registries for callers without a cluster: asking about images, and storing signatures.

use kubewright_engine::ImageLookup;
use kubewright_value::Value;

use crate::registry::{Credentials, Registries};

/// Asks the registries that its owner allows, without credentials.
#[derive(Debug)]
pub struct RegistryClient {
    registries: Registries,
}

impl RegistryClient {
    /// `hosts` are written `host`, `host:port` or `http://host:port`, which is asked without TLS.
    #[must_use]
    pub fn new(hosts: &[String]) -> Self {
        Self { registries: Registries::new(hosts) }
    }

    /// Returns what the registry says about `image`; nothing where it has no such image.
    ///
    /// # Errors
    /// When the registry may not be asked, does not answer, or says what cannot be.
    pub async fn describe(&self, image: &ImageLookup) -> Result<Option<Value>, String> {
        self.registries.describe(image, &Credentials::default()).await
    }

    /// Stores `layers` (media type, annotations, content) as the artifact `tag` beside the image `reference`, together
    /// with those that are there already.
    ///
    /// # Errors
    /// When the registry may not be asked, does not answer, or does not take it.
    pub async fn store(&self, reference: &str, tag: &str, layers: &[StoredLayer]) -> Result<(), String> {
        self.registries.store(reference, tag, layers).await
    }
}

/// A part of an artifact that is stored.
#[derive(Debug, Clone)]
pub struct StoredLayer {
    /// The type of the content.
    pub media_type: String,
    /// What the manifest says about it: an object of texts.
    pub annotations: Value,
    /// The content.
    pub content: Vec<u8>,
}
