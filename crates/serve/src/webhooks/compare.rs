//! Whether a configuration is as it should be, and what it must become.
//!
//! The whole list of webhooks is compared, because an added matchCondition disables a webhook as well as deleting it
//! does. Of the metadata only our own labels, annotations and owners are compared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_value::{Map, Value};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Returns what is to be put in the place of `actual`, or nothing where it is as `desired` already. Where certificates
/// come from a folder, replicas learn of a new authority at different times, so one may know `more_authorities`.
pub(super) fn repaired_configuration(
    actual: &Value,
    desired: &Value,
    more_authorities: bool,
) -> Option<Value> {
    let (wanted, known) = (array_items(desired.get("webhooks")), array_items(actual.get("webhooks")));
    let webhooks = with_known_bundles(wanted, known, more_authorities);
    let is_equal = array_items(actual.get("webhooks")) == webhooks.as_slice()
        && ["labels", "annotations"]
            .into_iter()
            .all(|part| has_all_entries(metadata_part(actual, part), metadata_part(desired, part)))
        && owner_references(desired).iter().all(|owner| owner_references(actual).contains(owner));
    if is_equal {
        return None;
    }
    let mut new = actual.clone();
    let map = new.as_object_mut()?;
    map.insert("webhooks".into(), Value::array(webhooks));
    let mut meta = actual.get("metadata").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
    for part in ["labels", "annotations"] {
        let wanted = metadata_part(desired, part).and_then(Value::as_object);
        if let Some(wanted) = wanted {
            let mut entries =
                metadata_part(actual, part).and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
            for (key, value) in wanted.iter() {
                entries.insert(key.clone(), value.clone());
            }
            meta.insert(part.into(), entries.into());
        }
    }
    if let Some(owner) = owner_references(desired).first() {
        // One of another time, whose owner is gone, would take the configuration with it.
        let others = owner_references(actual).iter().filter(|other| other.get("kind") != owner.get("kind"));
        let all = others.cloned().chain([owner.clone()]).collect();
        meta.insert("ownerReferences".into(), Value::array(all));
    }
    map.insert("metadata".into(), meta.into());
    Some(new)
}

/// Returns the desired webhooks; one without a `caBundle` keeps the stored one, which cert-manager may have injected.
fn with_known_bundles(desired: &[Value], actual: &[Value], more_authorities: bool) -> Vec<Value> {
    let mut webhooks = desired.to_vec();
    for webhook in &mut webhooks {
        let known = actual.iter().find(|other| other.get("name") == webhook.get("name"));
        let known = known.and_then(|known| known.at(&["clientConfig", "caBundle"])).cloned();
        let wanted = webhook.at(&["clientConfig", "caBundle"]);
        let stays = match (&known, wanted) {
            (_, None) => true,
            (Some(known), Some(wanted)) => more_authorities && has_authorities(known, wanted),
            (None, Some(_)) => false,
        };
        let client = webhook.as_object_mut().and_then(|map| map.get_mut("clientConfig"));
        if let (true, Some(known), Some(client)) = (stays, known, client.and_then(Value::as_object_mut)) {
            client.insert("caBundle".into(), known);
        }
    }
    webhooks
}

/// Whether `known` has all authorities of `wanted`.
fn has_authorities(known: &Value, wanted: &Value) -> bool {
    let read = |bundle: &Value| -> Vec<CertificateDer<'static>> {
        let bytes = STANDARD.decode(bundle.as_str().unwrap_or_default()).unwrap_or_default();
        CertificateDer::pem_slice_iter(&bytes).filter_map(Result::ok).collect()
    };
    let known = read(known);
    read(wanted).iter().all(|authority| known.contains(authority))
}

fn array_items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).unwrap_or_default()
}

fn metadata_part<'v>(object: &'v Value, part: &str) -> Option<&'v Value> {
    object.at(&["metadata", part])
}

fn owner_references(object: &Value) -> &[Value] {
    array_items(metadata_part(object, "ownerReferences"))
}

fn has_all_entries(actual: Option<&Value>, wanted: Option<&Value>) -> bool {
    let Some(wanted) = wanted.and_then(Value::as_object) else { return true };
    wanted.iter().all(|(key, value)| actual.and_then(|actual| actual.get(key)) == Some(value))
}

#[cfg(test)]
mod tests;
