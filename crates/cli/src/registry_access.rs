//! Registries that a command asks, one call after the other.

use kubewright_engine::ImageLookup;
use kubewright_signatures::SignatureLayer;
use kubewright_value::Value;

use crate::failure::CommandFailure;

/// The registries that the user allows.
#[cfg(feature = "serve")]
#[derive(Debug)]
pub(crate) struct RegistryAccess {
    client: kubewright_serve::RegistryClient,
    runtime: tokio::runtime::Runtime,
}

#[cfg(feature = "serve")]
impl RegistryAccess {
    /// Returns access to the registries `hosts`; nothing is asked yet.
    ///
    /// # Errors
    /// When no connection can be made at all.
    pub(crate) fn new(hosts: &[String]) -> Result<Self, CommandFailure> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { client: kubewright_serve::RegistryClient::new(hosts), runtime })
    }

    /// Returns what the registry says about `image`; nothing where it has no such image.
    ///
    /// # Errors
    /// When the registry may not be asked or does not answer.
    pub(crate) fn describe(&self, image: &ImageLookup) -> Result<Option<Value>, String> {
        self.runtime.block_on(self.client.describe(image))
    }

    /// Stores `layer` as `tag` in `repository`.
    ///
    /// # Errors
    /// When the registry does not take it.
    pub(crate) fn store(&self, repository: &str, tag: &str, layer: SignatureLayer) -> Result<(), String> {
        let SignatureLayer { media_type, annotations, content } = layer;
        let layer =
            kubewright_serve::StoredLayer { media_type: media_type.to_string(), annotations, content };
        self.runtime.block_on(self.client.store(repository, tag, &[layer]))
    }
}

/// No registries: this program was built without what talks to them.
#[cfg(not(feature = "serve"))]
#[derive(Debug)]
pub(crate) struct RegistryAccess;

#[cfg(not(feature = "serve"))]
impl RegistryAccess {
    /// Returns access to no registry.
    ///
    /// # Errors
    /// When one is wanted.
    pub(crate) fn new(hosts: &[String]) -> Result<Self, CommandFailure> {
        match hosts {
            [] => Ok(Self),
            _ => Err(CommandFailure::usage(
                "this program was built without the feature `serve`, and asks no registry",
            )),
        }
    }

    /// Returns that nothing is asked.
    pub(crate) fn describe(&self, _image: &ImageLookup) -> Result<Option<Value>, String> {
        Err("no registry is asked".to_owned())
    }

    /// Returns that nothing is stored.
    pub(crate) fn store(&self, _repository: &str, _tag: &str, _layer: SignatureLayer) -> Result<(), String> {
        Err("no registry is asked".to_owned())
    }
}
