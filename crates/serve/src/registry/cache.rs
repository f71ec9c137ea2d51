//! A cache of images. An image by its digest never changes; a tag may move.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kubewright_engine::ImageLookup;
use kubewright_value::Value;

/// How long a tag is taken to mean the same image.
const TAG_TTL: Duration = Duration::from_secs(30);

/// How long an image by its digest is cached. After a pull secret is revoked the image is readable for this long.
const DIGEST_TTL: Duration = Duration::from_secs(600);

/// How many images are kept.
const MAX_IMAGES: usize = 256;

/// How many bytes all of them were as they were read.
const MAX_CACHED_IMAGE_BYTES: usize = 8 << 20;

/// Images by query and pull secrets, so that one policy never reads what the pull secret of another one opened.
#[derive(Debug, Default)]
pub(super) struct ImageCache(Mutex<CachedImages>);

#[derive(Debug, Default)]
struct CachedImages {
    images: HashMap<ImageLookup, CachedImage>,
    bytes: usize,
}

#[derive(Debug)]
struct CachedImage {
    value: Value,
    size: usize,
    until: Instant,
}

impl ImageCache {
    pub(super) fn get(&self, image: &ImageLookup) -> Option<Value> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.images.get(image).filter(|known| known.until > Instant::now()).map(|known| known.value.clone())
    }

    pub(super) fn put(&self, image: &ImageLookup, is_by_digest: bool, value: &Value, size: usize) {
        let life = if is_by_digest { DIGEST_TTL } else { TAG_TTL };
        let new = CachedImage { value: value.clone(), size, until: Instant::now() + life };
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.images.len() >= MAX_IMAGES || kept.bytes + size > MAX_CACHED_IMAGE_BYTES {
            let now = Instant::now();
            kept.images.retain(|_, known| known.until > now);
            kept.bytes = kept.images.values().map(|known| known.size).sum();
        }
        if kept.images.len() < MAX_IMAGES && kept.bytes + size <= MAX_CACHED_IMAGE_BYTES {
            let before = kept.images.insert(image.clone(), new).map_or(0, |known| known.size);
            kept.bytes = (kept.bytes + size).saturating_sub(before);
        }
    }
}
