//! Tokens, with keys that were made for these tests.

use kubewright_value::{Value, json};

use crate::{CelBindings, CelCost, CelEnvironment, CelFailure, CelProgram, Host, Inputs};

const HS256: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsInJvbGUiOiJndWVzdCIsImF1ZCI6InNob3AifQ.oOFJFbxPXzhNII4NmZsArpHAFLo1XS3B6P9DwCSw87c";
const HS384: &str = "eyJhbGciOiJIUzM4NCIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsInJvbGUiOiJndWVzdCIsImF1ZCI6InNob3AifQ.wMs56t74IhMyCgJpveJ6qF0ohlH5STRQVDOa53jc35ErOwICxUpOdO_USQhJHwCy";
const HS512: &str = "eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbGljZSIsInJvbGUiOiJndWVzdCIsImF1ZCI6InNob3AifQ.zRcVvCeVB9ddx89WpnII4o0SDeJaR3zq7R-d8qT0L36mhXsX9jWyH21VknAxhEERZOpi318z84OZnVpTE4VdTQ";
const WITHIN: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjIwMDAsIm5iZiI6MTAwMCwiaWF0IjoiOTAwIn0.o0u1kLpdYzCfy-5aA2sPMYHEewlQsaAGfPK2oWj0Vq0";
const RS256: &str = "eyJhbGciOiJSUzI1NiIsImtpZCI6InJzYSJ9.eyJpc3MiOiJ4In0.yrh9nzYrggaGcidf_-ytea4v4IZujeuy2HWZfFtgHSjqvsBoyh7AMW0cQRQENJkRPoauRe-nIHl_xQ93E1fu_oFqPNaFoEgBTFL4upFMFqrxFmgcLWTx3xLxLrZpal9JBQWyGXIftiq7PycLmFRzXj6XKxcy5BSbcrb5cvss5AUx4gbtT6mfrem22kREeA4HLPw8i-P6gsgqOag4OV8TgmJOJweyUM5HCEo6phYsAxf30NQ-oQZixyTvo1WlfeIGJGp0KX5pUidc9fQHenrWWDr2Qm4UrG3WmBbqzssdq_w9cuWq_RgZmnCSygUTLwNI5tA7T7nRpaTkkR4XAnPM8A";
const ES256: &str = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImVjIn0.eyJpc3MiOiJ4In0.NeoeeCx8uCqaz34pRjc9Vxwh2QeGrNmqPOyZnUR45a1AUN1d5jUTflndaqYi2hwLCTOJNwmuKfVIFHoIX0W9bA";
const NO_KID: &str = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJ4In0.rqsm5kHpwh5J0Pa7iybBsTry2PSUWRLBGHOY2-VxlrfFmcT2NAlpNVKnJzIYYj8J6SbJl8_UIio6gQNcvqHHkQ";
const KEYS: &str = r#"{"keys": [{"kty": "RSA", "kid": "rsa", "alg": "RS256", "use": "sig", "n": "5xriPwEyeeKyLq8cl5I1r9oBy4RYTa7LOHMYpRmcvOh_92LVXIaw-s5z1XvrttobTnay6SclCxGV3tw7C_H8ED2KgPAwaSa6b_XKwntVyVykWYQ2rYxDRaRmE8aKiMX-8hPpxgo-W03sqouCZqZsUZX4k3VObIIs2PjwbqQHb-8QjAZYGKR1Dzt583tR6Pt_Wqdv1DP2BRsPQM9ilADfuBPVErYpp6FTMVsgh6o5WddDj03TqBkkdTDrnIcWD0QrtKm7XWim7MX5MTIwXWlnr8VLEm0xjdF2pxHawcqFieFevrSpTBc9xQCt6RN57Hj8E9OZpwacF0xWe3o2-SaF-Q", "e": "AQAB"}, {"kty": "EC", "crv": "P-256", "kid": "ec", "x": "bkwt5sTwBTavh3W6hAgtVhI3b6BDEvj4FaKExgvZ7Zk", "y": "WgaOS-4d9jgYI-UIOW1b-imqCR61c2OIFSdU9qUERVs"}, {"kty": "oct", "kid": "oct", "k": "c2VjcmV0"}]}"#;

/// Knows one set of keys.
struct Issuer;

impl Host for Issuer {
    fn ask(&self, question: &str, arguments: &[Value]) -> Result<Value, CelFailure> {
        assert_eq!(question, "http.get");
        match arguments.first().and_then(Value::as_str) {
            Some("https://issuer/keys") => Ok(json::parse(KEYS).unwrap()),
            Some("https://issuer/one") => {
                let key =
                    json::parse(KEYS).unwrap().get("keys").and_then(|keys| keys.as_array()?.get(1).cloned());
                Ok(kubewright_value::Map::from([("keys", Value::array(key.into_iter().collect()))]).into())
            }
            Some("https://issuer/page") => Ok(json::parse("{}").unwrap()),
            _ => Err(CelFailure::value("no response")),
        }
    }
}

fn evaluated(text: &str, now: i128) -> Result<String, String> {
    let program = CelProgram::compile(text, &CelEnvironment::http_check())
        .map_err(|errors| errors[0].message.clone())?;
    let inputs = Inputs { now: Some(now * 1_000_000_000), ..Inputs::default() };
    let bindings = CelBindings::new().with_host(&Issuer).with_inputs(inputs);
    program
        .evaluate(&bindings, &mut CelCost::default())
        .map(|found| format!("{found:?}"))
        .map_err(|error| error.message)
}

#[track_caller]
fn gives(text: &str, want: &str) {
    assert_eq!(evaluated(text, 1500), Ok(want.to_owned()), "{text}");
}

#[track_caller]
fn fails(text: &str, want: &str) {
    let found = evaluated(text, 1500).expect_err(text);
    assert!(found.contains(want), "{text}: {found}");
}

#[test]
fn secret_verifies_only_its_own_tokens() {
    for token in [HS256, HS384, HS512] {
        gives(&format!("jwt.Decode('{token}', 'secret').Claims.role"), "\"guest\"");
        fails(&format!("jwt.Decode('{token}', 'Secret')"), "the signature does not match the key");
    }
    gives(&format!("jwt.Decode('{HS256}', 'secret').Valid"), "true");
    gives(&format!("jwt.Decode('{HS256}', 'secret').Claims.aud"), "[\"shop\"]");
    let (signed, _) = HS256.rsplit_once('.').unwrap();
    fails(&format!("jwt.Decode('{signed}.', 'secret')"), "the signature does not match the key");
    fails("jwt.Decode('eyJhbGciOiJub25lIn0.e30.', 'secret')", "does not verify the algorithm `none`");
}

#[test]
fn key_set_verifies_with_the_key_named_by_the_token() {
    let keys = "jwks.Fetch('https://issuer/keys')";
    gives(&format!("jwt.Decode('{RS256}', {keys}).Claims.iss"), "\"x\"");
    gives(&format!("jwt.Decode('{ES256}', {keys}).Claims.iss"), "\"x\"");
    gives(&format!("jwt.Decode('{NO_KID}', jwks.Fetch('https://issuer/one')).Claims.iss"), "\"x\"");
    fails(&format!("jwt.Decode('{NO_KID}', {keys})"), "names no key");
    fails(&format!("jwt.Decode('{RS256}', jwks.Fetch('https://issuer/one'))"), "there is no key `rsa`");
    fails(&format!("jwt.Decode('{ES256}', jwks.Fetch('https://other'))"), "no response");
    fails("jwks.Fetch('https://issuer/page')", "is not a key set");
    let changed = RS256.replace(".ey", ".eZ");
    fails(&format!("jwt.Decode('{changed}', {keys})"), "failed to parse token");
}

#[test]
fn token_is_valid_within_its_times() {
    for (now, want) in [(899, false), (999, false), (1000, true), (1999, true), (2000, false)] {
        let found = evaluated(&format!("jwt.Decode('{WITHIN}', 'secret').Valid"), now);
        assert_eq!(found, Ok(want.to_string()), "{now}");
    }
    gives(&format!("jwt.Decode('{WITHIN}', 'secret').Claims.exp"), "2000.0");
}

#[test]
fn malformed_token_is_an_error() {
    for token in ["", "a", "a.b", "a.b.c", "e30.e30", "....", "e30.W10.AA"] {
        fails(&format!("jwt.Decode('{token}', 'secret')"), "failed to parse token");
    }
}
