//! JSON Web Tokens of requests: `jwt.Decode(token, key)`, and `jwks.Fetch(url)`, which the world answers.
//!
//! A token whose signature does not verify is an error, so that nobody reads claims that nobody signed. One outside of
//! its time (`exp`, `nbf`, `iat`) is decoded with `Valid` false.

mod keys;

use std::any::Any;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use kubewright_value::{Map, Text, Value, json};

use super::http::HTTP_GET;
use super::{Library, Macros, ask, opaque, text, with_doubles};
use crate::environment::Fields;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Opaque, Val};
use keys::Key;

/// The library of tokens.
pub const TOKENS: Library = Library { name: "jwt", functions: add, macros: Macros::NONE, types: &[TOKEN] };

pub(super) const TOKEN: &str = "jwt.Token";
pub(super) const TOKEN_FIELDS: Fields = &[("Claims", Kind::Map), ("Valid", Kind::Bool)];

const KEY_SET: Kind = Kind::Opaque("jwk.Set");

/// The longest token that is decoded.
const MAX_TOKEN_BYTES: usize = 64 << 10;

/// The most keys that a set may have.
const MAX_KEYS: usize = 100;

/// What verifying one signature may take, in items looked at.
const VERIFICATION_WORK: usize = 50_000;

/// Claims that are times, with whether they say when the token begins to be valid.
const TIMES: [(&str, bool); 3] = [("exp", false), ("nbf", true), ("iat", true)];

/// What a token says.
#[derive(Debug, PartialEq)]
struct Token {
    claims: Value,
    is_valid: bool,
}

impl Opaque for Token {
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
struct KeySet(Value);

impl Opaque for KeySet {
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

fn add(functions: &mut Functions) {
    let help = "what a JSON Web Token claims, once its signature is verified: `Claims` and `Valid`";
    functions.add(
        Overload::function(
            "jwt.Decode",
            &[Kind::String, Kind::String],
            Kind::Opaque(TOKEN),
            |arguments, call| {
                let secret = Key::Secret(text(arguments, 1)?.as_bytes().to_vec());
                decode(text(arguments, 0)?, |_| Ok(secret), call)
            },
        )
        .help(help),
    );
    functions.add(
        Overload::function("jwt.Decode", &[Kind::String, KEY_SET], Kind::Opaque(TOKEN), |arguments, call| {
            let keys = &opaque::<KeySet>(arguments, 1)?.0;
            decode(text(arguments, 0)?, |header| chosen(keys, header), call)
        })
        .help(help),
    );
    functions.add(
        Overload::function("jwks.Fetch", &[Kind::String], KEY_SET, |arguments, call| {
            let question = [text(arguments, 0)?.into(), Map::new().into(), Value::Null];
            let found =
                ask(call, HTTP_GET, &question, "request failed")?.to_value().map_err(Failure::value)?;
            match found.get("keys").and_then(Value::as_array) {
                Some(keys) if keys.len() <= MAX_KEYS => Ok(Val::opaque(KeySet(found))),
                Some(_) => Err(Failure::value(format!("a set of keys may have {MAX_KEYS} of them"))),
                None => Err(Failure::value("the answer is no set of keys: it has no list `keys`")),
            }
        })
        .help("the JSON Web Keys at a URL"),
    );
}

/// Verifies and reads a token with the key that `key` chooses by its header.
fn decode<'a>(
    token: &str,
    key: impl FnOnce(&Value) -> Result<Key, Failure>,
    call: &mut Call<'_, 'a>,
) -> Result<Val<'a>, Failure> {
    let bad = |why: &str| Failure::value(format!("failed to parse token: {why}"));
    let token = token.trim();
    if token.len() > MAX_TOKEN_BYTES {
        return Err(bad("it is too long"));
    }
    call.work(VERIFICATION_WORK + token.len())?;
    let (signed, signature) = token.rsplit_once('.').ok_or_else(|| bad("it has no signature"))?;
    let (header, claims) = signed.split_once('.').ok_or_else(|| bad("it has no claims"))?;
    let header = part(header).ok_or_else(|| bad("its header is no JSON in base64"))?;
    let claims = part(claims).ok_or_else(|| bad("its claims are no JSON in base64"))?;
    let signature = bytes(signature).ok_or_else(|| bad("its signature is no base64"))?;
    let algorithm = header.str_at(&["alg"]);
    let key = key(&header)?;
    key.verify(algorithm, signed.as_bytes(), &signature).map_err(|why| bad(&why))?;
    let is_valid = is_valid(&claims, call)?;
    let claims = with_doubles(&listed_audience(claims), call)?;
    Ok(Val::opaque(Token { claims, is_valid }))
}

/// Returns a part of a token, which is an object.
fn part(text: &str) -> Option<Value> {
    let text = String::from_utf8(bytes(text)?).ok()?;
    json::parse(&text).ok().filter(|value| value.as_object().is_some())
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok()
}

/// Returns the key of a set that a token with this header was signed with: the one it names, or the only one.
fn chosen(set: &Value, header: &Value) -> Result<Key, Failure> {
    let keys = set.get("keys").and_then(Value::as_array).unwrap_or_default();
    let name = header.get("kid").and_then(Value::as_str);
    let key = match (name, keys) {
        (Some(name), keys) => keys.iter().find(|key| key.get("kid").and_then(Value::as_str) == Some(name)),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let key = key.ok_or_else(|| match name {
        Some(name) => Failure::value(format!("there is no key `{name}` in the set")),
        None => Failure::value("the token names no key, and the set has not exactly one"),
    })?;
    Key::read(key).map_err(Failure::value)
}

/// Returns whether now is within the times that a token names.
fn is_valid(claims: &Value, call: &Call<'_, '_>) -> Result<bool, Failure> {
    for (name, is_start) in TIMES {
        let Some(claim) = claims.get(name) else { continue };
        let bad = || Failure::value(format!("the claim `{name}` is no time"));
        let time: f64 = match claim {
            Value::String(text) => text.parse().map_err(|_| bad())?,
            Value::Number(number) => number.as_f64(),
            _ => return Err(bad()),
        };
        let now = call.inputs().now.ok_or_else(|| {
            Failure::value(
                "whether a token is valid is not known here: the caller has to give the present moment",
            )
        })?;
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact in a double")]
        let now = now.div_euclid(1_000_000_000) as f64;
        if (is_start && now < time.floor()) || (!is_start && now >= time.floor()) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the claims with a list of audiences, also where there is one.
fn listed_audience(mut claims: Value) -> Value {
    if let Some(audience) = claims.get("aud").and_then(Value::as_str).map(Text::new)
        && let Some(map) = claims.as_object_mut()
    {
        map.insert("aud".into(), Value::array(vec![audience.into()]));
    }
    claims
}
