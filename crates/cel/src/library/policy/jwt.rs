//! JSON Web Tokens: `jwt.Decode(token, key)`, and `jwks.Fetch(url)`, which the host answers.
//!
//! A token whose signature does not verify is an error, so that unsigned claims are never read. A token outside
//! its validity (`exp`, `nbf`, `iat`) is decoded with `Valid` false.

mod keys;

use std::any::Any;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use kubewright_value::{Map, Text, Value, json};

use super::http::HTTP_GET;
use super::{CelLibrary, MacroSet, ask_host, numbers_to_doubles, opaque_argument, text_argument};
use crate::environment::FieldTypes;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Opaque, Val};
use keys::VerificationKey;

/// The library of tokens.
pub const TOKENS: CelLibrary =
    CelLibrary { name: "jwt", functions: add_jwt_functions, macros: MacroSet::NONE, types: &[TOKEN] };

pub(super) const TOKEN: &str = "jwt.Token";
pub(super) const TOKEN_FIELDS: FieldTypes = &[("Claims", CelKind::Map), ("Valid", CelKind::Bool)];

const KEY_SET: CelKind = CelKind::Opaque("jwk.Set");

/// The longest token that is decoded, in bytes.
const MAX_TOKEN_BYTES: usize = 64 << 10;

/// The most keys that a set may have.
const MAX_KEYS: usize = 100;

/// The work that is charged for verifying one signature.
const VERIFICATION_WORK: usize = 50_000;

/// The time claims, with whether the token is valid from that time on (not until it).
const TIME_CLAIMS: [(&str, bool); 3] = [("exp", false), ("nbf", true), ("iat", true)];

/// A decoded token.
#[derive(Debug, PartialEq)]
struct JwtTokenVal {
    claims: Value,
    is_valid: bool,
}

impl Opaque for JwtTokenVal {
    fn type_name(&self) -> &'static str {
        TOKEN
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }

    fn field(&self, name: &str) -> Option<Val<'static>> {
        match name {
            "Claims" => Some(Val::from(self.claims.clone())),
            "Valid" => Some(Val::Bool(self.is_valid)),
            _ => None,
        }
    }

    fn to_json(&self) -> Option<Value> {
        Some(Map::from([("Claims", self.claims.clone()), ("Valid", self.is_valid.into())]).into())
    }
}

/// The keys of an issuer, as `{"keys": […]}`.
#[derive(Debug, PartialEq)]
struct JwkSetVal(Value);

impl Opaque for JwkSetVal {
    fn type_name(&self) -> &'static str {
        KEY_SET.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

fn add_jwt_functions(functions: &mut CelFunctions) {
    let help = "the claims of a JSON Web Token whose signature verifies: `Claims` and `Valid`";
    functions.add(
        CelOverload::function(
            "jwt.Decode",
            &[CelKind::String, CelKind::String],
            CelKind::Opaque(TOKEN),
            |arguments, call| {
                let secret = VerificationKey::Secret(text_argument(arguments, 1)?.as_bytes().to_vec());
                decode_jwt(text_argument(arguments, 0)?, |_| Ok(secret), call)
            },
        )
        .help(help),
    );
    functions.add(
        CelOverload::function(
            "jwt.Decode",
            &[CelKind::String, KEY_SET],
            CelKind::Opaque(TOKEN),
            |arguments, call| {
                let keys = &opaque_argument::<JwkSetVal>(arguments, 1)?.0;
                decode_jwt(text_argument(arguments, 0)?, |header| choose_key(keys, header), call)
            },
        )
        .help(help),
    );
    functions.add(
        CelOverload::function("jwks.Fetch", &[CelKind::String], KEY_SET, |arguments, call| {
            let question = [text_argument(arguments, 0)?.into(), Map::new().into(), Value::Null];
            let found = ask_host(call, HTTP_GET, &question, "request failed")?
                .to_value()
                .map_err(CelFailure::value)?;
            match found.get("keys").and_then(Value::as_array) {
                Some(keys) if keys.len() <= MAX_KEYS => Ok(Val::opaque(JwkSetVal(found))),
                Some(_) => Err(CelFailure::value(format!("a key set has at most {MAX_KEYS} keys"))),
                None => Err(CelFailure::value("the response is not a key set: it has no list `keys`")),
            }
        })
        .help("the JSON Web Keys at a URL"),
    );
}

/// Verifies a token with the key that `key` chooses by its header, and decodes it.
fn decode_jwt<'a>(
    token: &str,
    key: impl FnOnce(&Value) -> Result<VerificationKey, CelFailure>,
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let bad = |why: &str| CelFailure::value(format!("failed to parse token: {why}"));
    let token = token.trim();
    if token.len() > MAX_TOKEN_BYTES {
        return Err(bad("it is too long"));
    }
    call.work(VERIFICATION_WORK + token.len())?;
    let (signed, signature) = token.rsplit_once('.').ok_or_else(|| bad("it has no signature"))?;
    let (header, claims) = signed.split_once('.').ok_or_else(|| bad("it has no claims"))?;
    let header = parse_jwt_part(header).ok_or_else(|| bad("its header is not base64-encoded JSON"))?;
    let claims = parse_jwt_part(claims).ok_or_else(|| bad("its claims are not base64-encoded JSON"))?;
    let signature = decode_base64url(signature).ok_or_else(|| bad("its signature is not base64"))?;
    let algorithm = header.str_at(&["alg"]);
    let key = key(&header)?;
    key.verify(algorithm, signed.as_bytes(), &signature).map_err(|why| bad(&why))?;
    let is_valid = are_claims_valid(&claims, call)?;
    let claims = numbers_to_doubles(&audience_as_list(claims), call)?;
    Ok(Val::opaque(JwtTokenVal { claims, is_valid }))
}

/// Returns the JSON object of a part of a token.
fn parse_jwt_part(text: &str) -> Option<Value> {
    let text = String::from_utf8(decode_base64url(text)?).ok()?;
    json::parse(&text).ok().filter(|value| value.as_object().is_some())
}

fn decode_base64url(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

/// Returns the key of a set for a token with this header: the key it names (`kid`), or the only one.
fn choose_key(set: &Value, header: &Value) -> Result<VerificationKey, CelFailure> {
    let keys = set.get("keys").and_then(Value::as_array).unwrap_or_default();
    let name = header.get("kid").and_then(Value::as_str);
    let key = match (name, keys) {
        (Some(name), keys) => keys.iter().find(|key| key.get("kid").and_then(Value::as_str) == Some(name)),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let key = key.ok_or_else(|| match name {
        Some(name) => CelFailure::value(format!("there is no key `{name}` in the set")),
        None => CelFailure::value("the token names no key, and the set does not have exactly one"),
    })?;
    VerificationKey::read(key).map_err(CelFailure::value)
}

/// Returns whether the current time is within the token's validity.
fn are_claims_valid(claims: &Value, call: &CelCallContext<'_, '_>) -> Result<bool, CelFailure> {
    for (name, is_start) in TIME_CLAIMS {
        let Some(claim) = claims.get(name) else { continue };
        let bad = || CelFailure::value(format!("the claim `{name}` is not a time"));
        let time: f64 = match claim {
            Value::String(text) => text.parse().map_err(|_| bad())?,
            Value::Number(number) => number.as_f64(),
            _ => return Err(bad()),
        };
        let now = call.inputs().now.ok_or_else(|| {
            CelFailure::value("the validity of a token needs the current time, which is not set")
        })?;
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact in a double")]
        let now = now.div_euclid(1_000_000_000) as f64;
        if (is_start && now < time.floor()) || (!is_start && now >= time.floor()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the claims with `aud` as a list, also when it is a single string.
fn audience_as_list(mut claims: Value) -> Value {
    if let Some(audience) = claims.get("aud").and_then(Value::as_str).map(Text::new)
        && let Some(map) = claims.as_object_mut()
    {
        map.insert("aud".into(), Value::array(vec![audience.into()]));
    }
    claims
}
