//! Encryption and passwords.

use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockModeDecrypt as _, BlockModeEncrypt as _, KeyIvInit as _};
use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD};
use sha2::{Digest as _, Sha256};

use super::super::call::{CallResult, FunctionCall};
use super::super::item::TemplateItem;
use super::arguments::{int_argument, text_argument};
use super::encoding::decode_go_base64;
use super::random::charged_random_bytes;
use super::{FunctionAccess, ParameterType, TemplateFunction, fixed_function};

const NO_NETWORK: FunctionAccess = FunctionAccess::Unavailable("a template cannot ask the network");
const TWO: &[ParameterType] = &[ParameterType::Text, ParameterType::Text];

pub(super) const TABLE: &[TemplateFunction] = &[
    fixed_function("decryptAES", TWO, decrypt),
    fixed_function("encryptAES", TWO, encrypt).guarded(FunctionAccess::Unrepeatable),
    fixed_function("bcrypt", &[ParameterType::Text], |call, a| {
        Ok(TemplateItem::text(bcrypt_hash(call, text_argument(a, 0))?))
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function("htpasswd", TWO, |call, a| {
        let user = text_argument(a, 0);
        if user.contains(':') {
            return Ok(TemplateItem::text(format!("invalid username: {user}")));
        }
        Ok(TemplateItem::text(format!("{user}:{}", bcrypt_hash(call, text_argument(a, 1))?)))
    })
    .guarded(FunctionAccess::Unrepeatable),
    fixed_function(
        "derivePassword",
        &[
            ParameterType::Uint32,
            ParameterType::Text,
            ParameterType::Text,
            ParameterType::Text,
            ParameterType::Text,
        ],
        derive_password,
    )
    .guarded(FunctionAccess::Expensive),
    unavailable_function("getHostByName", NO_NETWORK),
];

const fn unavailable_function(name: &'static str, access: FunctionAccess) -> TemplateFunction {
    fixed_function(name, &[], |_, _| Err("not available".into())).guarded(access)
}

const BLOCK_BYTES: usize = 16;

/// The steps charged for the slow functions: about as long as that many steps take.
const SLOW_HASH_STEPS: u64 = 1_000_000;

/// The work factor of bcrypt.
const BCRYPT_COST: u32 = 10;

fn encryption_key(password: &str) -> [u8; 32] {
    let mut key = [0; 32];
    for (place, byte) in key.iter_mut().zip(password.bytes()) {
        *place = byte;
    }
    key
}

fn decrypt(_: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let (password, encrypted) = (text_argument(arguments, 0), text_argument(arguments, 1));
    if encrypted.is_empty() {
        return Ok(TemplateItem::EMPTY);
    }
    let mut bytes = decode_go_base64(encrypted)?;
    if bytes.len() < BLOCK_BYTES {
        let length = bytes.len();
        return Err(format!(
            "runtime error: slice bounds out of range [:{BLOCK_BYTES}] with capacity {length}"
        )
        .into());
    }
    let mut content = bytes.split_off(BLOCK_BYTES);
    if content.len() % BLOCK_BYTES != 0 {
        return Err("crypto/cipher: input not full blocks".into());
    }
    let cipher = cbc::Decryptor::<aes::Aes256>::new_from_slices(&encryption_key(password), &bytes)
        .map_err(|error| error.to_string())?;
    let plain = cipher.decrypt_padded::<NoPadding>(&mut content).map_err(|error| error.to_string())?;
    let padding = usize::from(*plain.last().ok_or("runtime error: index out of range [-1]")?);
    let end = plain.len().checked_sub(padding);
    match end.and_then(|end| plain.get(..end)) {
        Some(plain) => Ok(TemplateItem::bytes(plain.to_vec())),
        None => {
            let end = plain.len() as i64 - padding as i64;
            Err(format!("runtime error: slice bounds out of range [:{end}]").into())
        }
    }
}

fn encrypt(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let (password, plain) = (text_argument(arguments, 0), text_argument(arguments, 1));
    if plain.is_empty() {
        return Ok(TemplateItem::EMPTY);
    }
    let vector = charged_random_bytes(call, BLOCK_BYTES)?;
    let mut content = plain.as_bytes().to_vec();
    let padding = BLOCK_BYTES - content.len() % BLOCK_BYTES;
    content.extend(std::iter::repeat_n(u8::try_from(padding).unwrap_or(0), padding));
    let length = content.len();
    let cipher = cbc::Encryptor::<aes::Aes256>::new_from_slices(&encryption_key(password), &vector)
        .map_err(|error| error.to_string())?;
    let encrypted =
        cipher.encrypt_padded::<NoPadding>(&mut content, length).map_err(|error| error.to_string())?;
    Ok(TemplateItem::text(STANDARD.encode([vector.as_slice(), encrypted].concat())))
}

fn bcrypt_hash(
    call: &mut FunctionCall<'_>,
    password: &str,
) -> Result<String, super::super::call::CallFailure> {
    call.budget.step(SLOW_HASH_STEPS)?;
    let salt: [u8; 16] = charged_random_bytes(call, BLOCK_BYTES)?.try_into().unwrap_or_default();
    if password.len() > 72 {
        return Ok(
            "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes".to_owned()
        );
    }
    let terminated: Vec<u8> = password.bytes().chain([0]).take(72).collect();
    let hash = bcrypt::bcrypt(BCRYPT_COST, salt, &terminated);
    let alphabet = GeneralPurpose::new(&base64::alphabet::BCRYPT, NO_PAD);
    // The last byte of the hash is left out, as everywhere.
    let shown = alphabet.encode(hash.get(..23).unwrap_or_default());
    Ok(format!("$2a${BCRYPT_COST}${}{shown}", alphabet.encode(salt)))
}

const SEED: &[u8] = b"com.lyndir.masterpassword";

/// The patterns of each sort of password; a letter means a set of characters.
const PATTERNS: [(&str, &[&str]); 6] = [
    ("maximum", &["anoxxxxxxxxxxxxxxxxx", "axxxxxxxxxxxxxxxxxno"]),
    (
        "long",
        &[
            "CvcvnoCvcvCvcv",
            "CvcvCvcvnoCvcv",
            "CvcvCvcvCvcvno",
            "CvccnoCvcvCvcv",
            "CvccCvcvnoCvcv",
            "CvccCvcvCvcvno",
            "CvcvnoCvccCvcv",
            "CvcvCvccnoCvcv",
            "CvcvCvccCvcvno",
            "CvcvnoCvcvCvcc",
            "CvcvCvcvnoCvcc",
            "CvcvCvcvCvccno",
            "CvccnoCvccCvcv",
            "CvccCvccnoCvcv",
            "CvccCvccCvcvno",
            "CvcvnoCvccCvcc",
            "CvcvCvccnoCvcc",
            "CvcvCvccCvccno",
            "CvccnoCvcvCvcc",
            "CvccCvcvnoCvcc",
            "CvccCvcvCvccno",
        ],
    ),
    ("medium", &["CvcnoCvc", "CvcCvcno"]),
    ("short", &["Cvcn"]),
    ("basic", &["aaanaaan", "aannaaan", "aaannaaa"]),
    ("pin", &["nnnn"]),
];

fn class_characters(class: u8) -> &'static [u8] {
    match class {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// Makes the password of a site by the Master Password algorithm.
fn derive_password(call: &mut FunctionCall<'_>, arguments: &[TemplateItem]) -> CallResult {
    let sort = text_argument(arguments, 1);
    let (password, user, site) =
        (text_argument(arguments, 2), text_argument(arguments, 3), text_argument(arguments, 4));
    let counter = u32::try_from(int_argument(arguments, 0)).unwrap_or_default();
    let Some((_, patterns)) = PATTERNS.iter().find(|(name, _)| sort == name) else {
        return Ok(TemplateItem::text(format!("cannot find password template {sort}")));
    };
    call.budget.step(SLOW_HASH_STEPS)?;
    let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes();
    let salt = [SEED, &length(user), user.as_bytes()].concat();
    let parameters = scrypt::Params::new(15, 8, 2).map_err(|error| error.to_string())?;
    let mut key = [0; 64];
    scrypt::scrypt(password.as_bytes(), &salt, &parameters, &mut key).map_err(|error| error.to_string())?;
    let seed = hmac_sha256(&key, &[SEED, &length(site), site.as_bytes(), &counter.to_be_bytes()].concat());
    let first = seed.first().copied().unwrap_or_default();
    let pattern = patterns.get(usize::from(first) % patterns.len()).copied().unwrap_or_default();
    let chosen = pattern.bytes().zip(seed.iter().skip(1)).filter_map(|(class, byte)| {
        let set = class_characters(class);
        set.get(usize::from(*byte) % set.len()).copied().map(char::from)
    });
    Ok(TemplateItem::text(chosen.collect::<String>()))
}

/// HMAC with SHA-256, for a key of one block.
fn hmac_sha256(key: &[u8; 64], message: &[u8]) -> Vec<u8> {
    let pad = |with: u8| key.iter().map(|byte| byte ^ with).collect::<Vec<u8>>();
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}
