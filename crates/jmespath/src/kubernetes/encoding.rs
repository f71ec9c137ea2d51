//! Texts that stand for other texts or values.

use base64::Engine as _;
use kubewright_golib::base64::BASE64;
use kubewright_golib::hash::{md5, to_hex};
use kubewright_golib::utf8::decode_utf8_lossy;
use kubewright_value::{Budget, Value, bounded};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::super::function::{Accepts, Argument, Builtin, Failure, builtin};

const TEXT: &[Accepts] = &[Accepts::STRING];

pub(super) const TABLE: &[Builtin] = &[
    builtin("base64_encode", TEXT, "string", "the string in base64", |arguments, budget| {
        Ok(Value::from(BASE64.encode(charged(arguments, budget, 2)?)))
    }),
    builtin("base64_decode", TEXT, "string", "what the base64 says", base64_decode),
    builtin("sha256", TEXT, "string", "the SHA-256 of the string, in hexadecimal", |arguments, budget| {
        Ok(Value::from(to_hex(&Sha256::digest(charged(arguments, budget, 1)?))))
    }),
    builtin("sha1", TEXT, "string", "the SHA-1 of the string, in hexadecimal", |arguments, budget| {
        Ok(Value::from(to_hex(&Sha1::digest(charged(arguments, budget, 1)?))))
    }),
    builtin("md5", TEXT, "string", "the MD5 of the string, in hexadecimal", |arguments, budget| {
        Ok(Value::from(to_hex(&md5(charged(arguments, budget, 1)?.as_bytes()))))
    }),
    builtin("parse_json", TEXT, "any", "the value that the JSON text says", parse_json),
    builtin("parse_yaml", TEXT, "any", "the value that the YAML text says", parse_yaml),
];

/// Line breaks are skipped; what is not UTF-8 is replaced.
fn base64_decode(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    let text = charged(arguments, budget, 2)?.replace(['\n', '\r'], "");
    let bytes = BASE64
        .decode(text)
        .map_err(|error| Failure::wrong_value(format!("the text is not base64: {error}")).about(0))?;
    Ok(Value::from(decode_utf8_lossy(&bytes)))
}

fn parse_json(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    bounded::parse_bounded_json(charged(arguments, budget, 0)?, budget)?
        .map_err(|error| Failure::wrong_value(format!("the text is not JSON: {error}")).about(0))
}

fn parse_yaml(arguments: &[Argument<'_>], budget: &mut Budget) -> Result<Value, Failure> {
    bounded::parse_bounded_yaml(charged(arguments, budget, 0)?, budget)?
        .map_err(|error| Failure::wrong_value(format!("the text is not YAML: {error}")).about(0))
}

/// Returns the first argument after charging for `factor` times its length.
fn charged<'a>(
    arguments: &'a [Argument<'_>],
    budget: &mut Budget,
    factor: usize,
) -> Result<&'a str, Failure> {
    let text = arguments.first().map_or("", Argument::text);
    budget.step(text.len() as u64)?;
    budget.produce(text.len().saturating_mul(factor).saturating_add(64))?;
    Ok(text)
}
