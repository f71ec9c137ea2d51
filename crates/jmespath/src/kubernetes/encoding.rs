//! Encodings and checksums: base64, SHA, MD5, JSON and YAML.

use base64::Engine as _;
use kubewright_golib::base64::BASE64;
use kubewright_golib::hash::{md5, to_hex};
use kubewright_golib::utf8::decode_utf8_lossy;
use kubewright_value::{Budget, Value, bounded};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::super::function::{
    ArgumentTypes, JmesPathArgument, JmesPathBuiltin, JmesPathFailure, define_builtin,
};

const TEXT: &[ArgumentTypes] = &[ArgumentTypes::STRING];

pub(super) const TABLE: &[JmesPathBuiltin] = &[
    define_builtin("base64_encode", TEXT, "string", "the string in base64", |arguments, budget| {
        Ok(Value::from(BASE64.encode(charge_text_argument(arguments, budget, 2)?)))
    }),
    define_builtin("base64_decode", TEXT, "string", "the text that is encoded in base64", call_base64_decode),
    define_builtin(
        "sha256",
        TEXT,
        "string",
        "the SHA-256 of the string, in hexadecimal",
        |arguments, budget| {
            Ok(Value::from(to_hex(&Sha256::digest(charge_text_argument(arguments, budget, 1)?))))
        },
    ),
    define_builtin("sha1", TEXT, "string", "the SHA-1 of the string, in hexadecimal", |arguments, budget| {
        Ok(Value::from(to_hex(&Sha1::digest(charge_text_argument(arguments, budget, 1)?))))
    }),
    define_builtin("md5", TEXT, "string", "the MD5 of the string, in hexadecimal", |arguments, budget| {
        Ok(Value::from(to_hex(&md5(charge_text_argument(arguments, budget, 1)?.as_bytes()))))
    }),
    define_builtin("parse_json", TEXT, "any", "the value of the JSON text", call_parse_json),
    define_builtin("parse_yaml", TEXT, "any", "the value of the YAML text", call_parse_yaml),
];

/// Decodes base64. Line breaks are skipped, and invalid UTF-8 is replaced.
fn call_base64_decode(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    let text = charge_text_argument(arguments, budget, 2)?.replace(['\n', '\r'], "");
    let bytes = BASE64
        .decode(text)
        .map_err(|error| JmesPathFailure::wrong_value(format!("the text is not base64: {error}")).about(0))?;
    Ok(Value::from(decode_utf8_lossy(&bytes)))
}

fn call_parse_json(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    bounded::parse_bounded_json(charge_text_argument(arguments, budget, 0)?, budget)?
        .map_err(|error| JmesPathFailure::wrong_value(format!("the text is not JSON: {error}")).about(0))
}

fn call_parse_yaml(
    arguments: &[JmesPathArgument<'_>],
    budget: &mut Budget,
) -> Result<Value, JmesPathFailure> {
    bounded::parse_bounded_yaml(charge_text_argument(arguments, budget, 0)?, budget)?
        .map_err(|error| JmesPathFailure::wrong_value(format!("the text is not YAML: {error}")).about(0))
}

/// Returns the first argument after charging for `factor` times its length.
fn charge_text_argument<'a>(
    arguments: &'a [JmesPathArgument<'_>],
    budget: &mut Budget,
    factor: usize,
) -> Result<&'a str, JmesPathFailure> {
    let text = arguments.first().map_or("", JmesPathArgument::text);
    budget.step(text.len() as u64)?;
    budget.produce(text.len().saturating_mul(factor).saturating_add(64))?;
    Ok(text)
}
