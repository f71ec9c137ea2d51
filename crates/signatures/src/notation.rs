//! Notary signatures: JWS envelopes with the certificates of the signer.

use kubewright_value::{Text, Value};

use crate::chain::verify_chain;
use crate::der_reader::days_since_1970;
use crate::key::{EcdsaForm, HashFunction, PublicVerifier};
use crate::material::SignatureArtifact;
use crate::{SignerCertificate, decode_base64, read_json};

/// The type of artifacts with such signatures.
pub const NOTATION_ARTIFACT_TYPE: &str = "application/vnd.cncf.notary.signature";

/// The media type of envelopes that are read. Those in COSE are not.
pub const JWS_TYPE: &str = "application/jose+json";

const PAYLOAD_TYPE: &str = "application/vnd.cncf.notary.payload.v1+json";
const SIGNING_SCHEME: &str = "io.cncf.notary.signingScheme";
const EXPIRY: &str = "io.cncf.notary.expiry";

/// The headers that are understood.
const UNDERSTOOD: [&str; 4] =
    [SIGNING_SCHEME, EXPIRY, "io.cncf.notary.signingTime", "io.cncf.notary.authenticSigningTime"];

/// How many certificates an envelope may have.
const MAX_CERTIFICATES: usize = 10;

/// A signature that was read, and not yet verified.
#[derive(Debug, Clone)]
pub struct NotationSignature {
    /// The digest of what was signed.
    pub digest: Text,
    /// The annotations of what was signed.
    pub annotations: Value,
    message: Vec<u8>,
    signature: Vec<u8>,
    algorithm: String,
    certificates: Vec<SignerCertificate>,
    expires: Option<i64>,
}

/// Returns the signatures among `artifacts`, and the problems of those that cannot be read.
#[must_use]
pub fn notation_signatures(artifacts: &[SignatureArtifact]) -> (Vec<NotationSignature>, Vec<String>) {
    let (mut found, mut problems) = (Vec::new(), Vec::new());
    let own = artifacts.iter().filter(|artifact| artifact.artifact_type == NOTATION_ARTIFACT_TYPE);
    for layer in own.flat_map(|artifact| &artifact.layers) {
        let read = match layer.media_type.as_str() {
            JWS_TYPE => NotationSignature::read(&layer.content),
            other => Err(format!("an envelope of the type `{other}` is not verified: use JWS")),
        };
        match read {
            Ok(signature) => found.push(signature),
            Err(problem) => problems.push(problem),
        }
    }
    (found, problems)
}

impl NotationSignature {
    /// Reads an envelope.
    ///
    /// # Errors
    /// When it cannot be read, or has parts that are not understood.
    pub fn read(content: &[u8]) -> Result<Self, String> {
        let envelope = read_json(content).ok_or("an envelope is not JSON")?;
        let (payload, protected) = (envelope.str_at(&["payload"]), envelope.str_at(&["protected"]));
        let part = |text: &str, what: &str| {
            decode_base64(text)
                .and_then(|bytes| read_json(&bytes))
                .ok_or(format!("the {what} of an envelope cannot be read"))
        };
        let header = part(protected, "header")?;
        let target = part(payload, "payload")?;
        if header.str_at(&["cty"]) != PAYLOAD_TYPE {
            return Err("an envelope is not a Notary signature".to_owned());
        }
        check_critical(&header)?;
        let scheme = header.str_at(&[SIGNING_SCHEME]);
        if scheme != "notary.x509" {
            return Err(format!("the signing scheme `{scheme}` is not verified"));
        }
        let expires = match header.get(EXPIRY).and_then(Value::as_str) {
            Some(text) => Some(parse_time(text).ok_or("the expiry of an envelope cannot be read")?),
            None => None,
        };
        let target = target.get("targetArtifact").ok_or("an envelope signs nothing")?;
        Ok(Self {
            digest: target.str_at(&["digest"]).into(),
            annotations: target.get("annotations").cloned().unwrap_or_default(),
            message: format!("{protected}.{payload}").into_bytes(),
            signature: decode_base64(envelope.str_at(&["signature"])).ok_or("a signature is not Base64")?,
            algorithm: header.str_at(&["alg"]).to_owned(),
            certificates: header_certificates(&envelope)?,
            expires,
        })
    }

    /// Verifies it with certificates that the rule trusts.
    ///
    /// # Errors
    /// When it is not proven, with the reason.
    pub fn verify(&self, trusted: &[SignerCertificate], now: Option<i64>) -> Result<(), String> {
        let now = now.ok_or("the current time is not known, so that no certificate can be checked")?;
        let (leaf, issuers) = self.certificates.split_first().ok_or("an envelope has no certificate")?;
        if !self.is_by(leaf.key()?) {
            return Err("the signature does not match its certificate".to_owned());
        }
        if self.expires.is_some_and(|end| end <= now) {
            return Err("the signature has expired".to_owned());
        }
        verify_chain(leaf, issuers, trusted, now).map(|_| ())
    }

    fn is_by(&self, key: &PublicVerifier) -> bool {
        let (message, signature) = (&self.message, &self.signature);
        match self.algorithm.as_str() {
            "PS256" => key.has_signed_pss(message, signature, HashFunction::Sha256),
            "PS384" => key.has_signed_pss(message, signature, HashFunction::Sha384),
            "PS512" => key.has_signed_pss(message, signature, HashFunction::Sha512),
            "ES256" => key.has_signed_as(message, signature, HashFunction::Sha256, EcdsaForm::Fixed),
            "ES384" => key.has_signed_as(message, signature, HashFunction::Sha384, EcdsaForm::Fixed),
            _ => false,
        }
    }
}

fn check_critical(header: &Value) -> Result<(), String> {
    let names = header.get("crit").and_then(Value::as_array).unwrap_or_default();
    let unknown = names.iter().find(|name| !name.as_str().is_some_and(|name| UNDERSTOOD.contains(&name)));
    match unknown {
        Some(name) => Err(format!("the header `{}` is not understood", name.as_str().unwrap_or_default())),
        None => Ok(()),
    }
}

fn header_certificates(envelope: &Value) -> Result<Vec<SignerCertificate>, String> {
    let texts = envelope.at(&["header", "x5c"]).and_then(Value::as_array).unwrap_or_default();
    if texts.len() > MAX_CERTIFICATES {
        return Err("an envelope has too many certificates".to_owned());
    }
    let read = |text: &Value| {
        let der = text.as_str().and_then(decode_base64).ok_or("a certificate is not Base64")?;
        SignerCertificate::of_der(&der)
    };
    texts.iter().map(read).collect()
}

/// Reads a time such as `2030-01-31T12:00:00Z`, in seconds since 1970; offsets are read too.
fn parse_time(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| text.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let rest = text.get(19..)?.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let offset = match rest.split_at_checked(1)? {
        ("Z", "") => 0,
        (sign @ ("+" | "-"), time) => {
            let (hours, minutes) = time.split_once(':')?;
            let minutes = hours.parse::<i64>().ok()? * 60 + minutes.parse::<i64>().ok()?;
            if sign == "+" { minutes * 60 } else { -minutes * 60 }
        }
        _ => return None,
    };
    let is_valid = (1..=12).contains(&month) && (1..=31).contains(&day);
    is_valid
        .then(|| days_since_1970(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second - offset)
}
