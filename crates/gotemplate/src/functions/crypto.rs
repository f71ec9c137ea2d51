//! Encryption and passwords.

use aes::cipher::block_padding::NoPadding;
use aes::cipher::{BlockModeDecrypt as _, BlockModeEncrypt as _, KeyIvInit as _};
use base64::Engine as _;
use base64::engine::general_purpose::{GeneralPurpose, NO_PAD, STANDARD};
use sha2::{Digest as _, Sha256};

use super::super::call::{Call, Outcome};
use super::super::item::Item;
use super::arguments::{int, text};
use super::encoding::base64_decode;
use super::random::random_bytes;
use super::{Access, Function, Type, function};

const NO_NETWORK: Access = Access::Unavailable("a template cannot ask the network");
const TWO: &[Type] = &[Type::Text, Type::Text];

pub(super) const TABLE: &[Function] = &[
    function("decryptAES", TWO, decrypt),
    function("encryptAES", TWO, encrypt).guarded(Access::Unrepeatable),
    function("bcrypt", &[Type::Text], |call, a| Ok(Item::text(hashed(call, text(a, 0))?)))
        .guarded(Access::Unrepeatable),
    function("htpasswd", TWO, |call, a| {
        let user = text(a, 0);
        if user.contains(':') {
            return Ok(Item::text(format!("invalid username: {user}")));
        }
        Ok(Item::text(format!("{user}:{}", hashed(call, text(a, 1))?)))
    })
    .guarded(Access::Unrepeatable),
    function("derivePassword", &[Type::Uint32, Type::Text, Type::Text, Type::Text, Type::Text], derive)
        .guarded(Access::Expensive),
    unavailable("getHostByName", NO_NETWORK),
];

const fn unavailable(name: &'static str, access: Access) -> Function {
    function(name, &[], |_, _| Err("not available".into())).guarded(access)
}

const BLOCK: usize = 16;

/// What the slow functions are charged: about as long as that many steps take.
const SLOW: u64 = 1_000_000;

/// The work factor of bcrypt.
const COST: u32 = 10;

fn key(password: &str) -> [u8; 32] {
    let mut key = [0; 32];
    for (place, byte) in key.iter_mut().zip(password.bytes()) {
        *place = byte;
    }
    key
}

fn decrypt(_: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let (password, encrypted) = (text(arguments, 0), text(arguments, 1));
    if encrypted.is_empty() {
        return Ok(Item::EMPTY);
    }
    let mut bytes = base64_decode(encrypted)?;
    if bytes.len() < BLOCK {
        let length = bytes.len();
        return Err(
            format!("runtime error: slice bounds out of range [:{BLOCK}] with capacity {length}").into()
        );
    }
    let mut content = bytes.split_off(BLOCK);
    if content.len() % BLOCK != 0 {
        return Err("crypto/cipher: input not full blocks".into());
    }
    let cipher = cbc::Decryptor::<aes::Aes256>::new_from_slices(&key(password), &bytes)
        .map_err(|error| error.to_string())?;
    let plain = cipher.decrypt_padded::<NoPadding>(&mut content).map_err(|error| error.to_string())?;
    let padding = usize::from(*plain.last().ok_or("runtime error: index out of range [-1]")?);
    let end = plain.len().checked_sub(padding);
    match end.and_then(|end| plain.get(..end)) {
        Some(plain) => Ok(Item::bytes(plain.to_vec())),
        None => {
            let end = plain.len() as i64 - padding as i64;
            Err(format!("runtime error: slice bounds out of range [:{end}]").into())
        }
    }
}

fn encrypt(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let (password, plain) = (text(arguments, 0), text(arguments, 1));
    if plain.is_empty() {
        return Ok(Item::EMPTY);
    }
    let vector = random_bytes(call, BLOCK)?;
    let mut content = plain.as_bytes().to_vec();
    let padding = BLOCK - content.len() % BLOCK;
    content.extend(std::iter::repeat_n(u8::try_from(padding).unwrap_or(0), padding));
    let length = content.len();
    let cipher = cbc::Encryptor::<aes::Aes256>::new_from_slices(&key(password), &vector)
        .map_err(|error| error.to_string())?;
    let encrypted =
        cipher.encrypt_padded::<NoPadding>(&mut content, length).map_err(|error| error.to_string())?;
    Ok(Item::text(STANDARD.encode([vector.as_slice(), encrypted].concat())))
}

fn hashed(call: &mut Call<'_>, password: &str) -> Result<String, super::super::call::Failure> {
    call.budget.step(SLOW)?;
    let salt: [u8; 16] = random_bytes(call, BLOCK)?.try_into().unwrap_or_default();
    if password.len() > 72 {
        return Ok(
            "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes".to_owned()
        );
    }
    let terminated: Vec<u8> = password.bytes().chain([0]).take(72).collect();
    let hash = bcrypt::bcrypt(COST, salt, &terminated);
    let alphabet = GeneralPurpose::new(&base64::alphabet::BCRYPT, NO_PAD);
    // The last byte of the hash is left out, as everywhere.
    let shown = alphabet.encode(hash.get(..23).unwrap_or_default());
    Ok(format!("$2a${COST}${}{shown}", alphabet.encode(salt)))
}

const SEED: &[u8] = b"com.lyndir.masterpassword";

/// The patterns of each sort of password; a letter stands for a set of characters.
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

fn characters(class: u8) -> &'static [u8] {
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
fn derive(call: &mut Call<'_>, arguments: &[Item]) -> Outcome {
    let sort = text(arguments, 1);
    let (password, user, site) = (text(arguments, 2), text(arguments, 3), text(arguments, 4));
    let counter = u32::try_from(int(arguments, 0)).unwrap_or_default();
    let Some((_, patterns)) = PATTERNS.iter().find(|(name, _)| sort == name) else {
        return Ok(Item::text(format!("cannot find password template {sort}")));
    };
    call.budget.step(SLOW)?;
    let length = |text: &str| u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes();
    let salt = [SEED, &length(user), user.as_bytes()].concat();
    let parameters = scrypt::Params::new(15, 8, 2).map_err(|error| error.to_string())?;
    let mut key = [0; 64];
    scrypt::scrypt(password.as_bytes(), &salt, &parameters, &mut key).map_err(|error| error.to_string())?;
    let seed = authenticated(&key, &[SEED, &length(site), site.as_bytes(), &counter.to_be_bytes()].concat());
    let first = seed.first().copied().unwrap_or_default();
    let pattern = patterns.get(usize::from(first) % patterns.len()).copied().unwrap_or_default();
    let chosen = pattern.bytes().zip(seed.iter().skip(1)).filter_map(|(class, byte)| {
        let set = characters(class);
        set.get(usize::from(*byte) % set.len()).copied().map(char::from)
    });
    Ok(Item::text(chosen.collect::<String>()))
}

/// HMAC with SHA-256, for a key of one block.
fn authenticated(key: &[u8; 64], message: &[u8]) -> Vec<u8> {
    let pad = |with: u8| key.iter().map(|byte| byte ^ with).collect::<Vec<u8>>();
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}
