//! Entries of a transparency log, and the promise of the log that it has them.

use kubewright_golib::hash::to_hex;
use kubewright_golib::pem;
use kubewright_value::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::key::{HashFunction, PublicVerifier};
use crate::signer::SignedItem;
use crate::{decode_base64, read_json};

/// An entry, with the promise of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    /// What was logged, in Base64 as the log signed it.
    body: String,
    /// When, in seconds since 1970.
    integrated_time: i64,
    index: i64,
    /// The hash of the log's key, in hexadecimal.
    log_id: String,
    promise: Vec<u8>,
}

impl LogEntry {
    /// Reads the annotation of a signature.
    pub(crate) fn of_annotation(text: &str) -> Option<Self> {
        let value = read_json(text.as_bytes()).filter(|_| !text.is_empty())?;
        let payload = value.get("Payload")?;
        Some(Self {
            body: payload.str_at(&["body"]).to_owned(),
            integrated_time: payload.get("integratedTime")?.as_i64()?,
            index: payload.get("logIndex")?.as_i64()?,
            log_id: payload.str_at(&["logID"]).to_owned(),
            promise: decode_base64(value.str_at(&["SignedEntryTimestamp"]))?,
        })
    }

    /// Reads an entry of a bundle, in which numbers are texts.
    pub(crate) fn of_bundle(entry: &Value) -> Option<Self> {
        let number = |key: &str| {
            let value = entry.get(key)?;
            value.as_i64().or_else(|| value.as_str()?.parse().ok())
        };
        Some(Self {
            body: entry.str_at(&["canonicalizedBody"]).to_owned(),
            integrated_time: number("integratedTime")?,
            index: number("logIndex")?,
            log_id: to_hex(&decode_base64(entry.str_at(&["logId", "keyId"]))?),
            promise: decode_base64(entry.str_at(&["inclusionPromise", "signedEntryTimestamp"]))?,
        })
    }

    /// Returns when `item` was logged, if one of `keys` promises so and the entry is about it.
    ///
    /// # Errors
    /// When it is not proven, with the reason.
    pub(crate) fn verified_time(&self, item: &SignedItem, keys: &[PublicVerifier]) -> Result<i64, String> {
        let is_own = |key: &&PublicVerifier| to_hex(&Sha256::digest(key.info())) == self.log_id;
        let key = keys.iter().find(is_own).ok_or("the signature is in a log whose key is not given")?;
        if !key.has_signed(self.promised_bytes().as_bytes(), &self.promise, HashFunction::Sha256) {
            return Err("the promise of the transparency log is not signed by its key".to_owned());
        }
        let body = decode_base64(&self.body).and_then(|bytes| read_json(&bytes));
        let body = body.ok_or("the entry of the transparency log cannot be read")?;
        if is_entry_about(&body, item) {
            Ok(self.integrated_time)
        } else {
            Err("the entry of the transparency log is about something else".to_owned())
        }
    }

    /// Returns the canonical JSON that the log signs.
    fn promised_bytes(&self) -> String {
        let Self { body, integrated_time, index, log_id, .. } = self;
        let text = |text: &str| json::to_string(&Value::from(text));
        format!(
            r#"{{"body":{},"integratedTime":{integrated_time},"logID":{},"logIndex":{index}}}"#,
            text(body),
            text(log_id)
        )
    }
}

/// Returns whether an entry logs the signature of `item` by its signer.
fn is_entry_about(body: &Value, item: &SignedItem) -> bool {
    let spec = body.get("spec").unwrap_or(&Value::Null);
    let is_key = |text: &str| {
        let pem = decode_base64(text).and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
        let block = pem::all_blocks(&pem).ok().and_then(|blocks| blocks.into_iter().next());
        block.is_some_and(|block| item.is_signer(&block.bytes))
    };
    let is_signature = |text: &str| decode_base64(text).is_some_and(|bytes| bytes == item.signature);
    let is_hash = |path: &[&str], content: &[u8]| {
        let algorithm = spec.str_at(&[path, &["algorithm"]].concat());
        let hash = HashFunction::named(algorithm).unwrap_or_default();
        !spec.str_at(&[path, &["value"]].concat()).is_empty()
            && spec.str_at(&[path, &["value"]].concat()) == to_hex(&hash.digest(content))
    };
    let any_signature = |list: Option<&Value>, test: &dyn Fn(&Value) -> bool| {
        list.and_then(Value::as_array).unwrap_or_default().iter().any(test)
    };
    match body.str_at(&["kind"]) {
        "hashedrekord" => {
            is_hash(&["data", "hash"], &item.message)
                && is_signature(spec.str_at(&["signature", "content"]))
                && is_key(spec.str_at(&["signature", "publicKey", "content"]))
        }
        "dsse" => {
            is_hash(&["payloadHash"], &item.payload)
                && any_signature(spec.get("signatures"), &|one| {
                    is_signature(one.str_at(&["signature"])) && is_key(one.str_at(&["verifier"]))
                })
        }
        "intoto" => {
            let is_envelope =
                is_hash(&["content", "hash"], &item.document) && is_key(spec.str_at(&["publicKey"]));
            let is_listed = any_signature(spec.at(&["content", "envelope", "signatures"]), &|one| {
                is_key(one.str_at(&["publicKey"]))
            });
            is_hash(&["content", "payloadHash"], &item.payload) && (is_envelope || is_listed)
        }
        _ => false,
    }
}
