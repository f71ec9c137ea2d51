//! Reads `attestors`: who must have signed an image.

use kubewright_engine::Diagnostic;
use kubewright_golib::pem;
use kubewright_value::{Step, Text};

use super::super::super::diagnostics as code;
use super::SignatureFormat;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

/// Some signers, of which `count` are enough.
#[derive(Debug, Clone)]
pub(crate) struct SignerSetSource {
    /// All of them, where none is given.
    pub(crate) count: Option<usize>,
    pub(crate) entries: Vec<SignerEntry>,
}

/// A signer, or a set of them.
#[derive(Debug, Clone)]
pub(crate) struct SignerEntry {
    pub(crate) path: Vec<Step>,
    pub(crate) annotations: Vec<(Text, Text)>,
    /// Where its signatures are, if not where those of the others are.
    pub(crate) repository: Text,
    pub(crate) by: ImageSignerSource,
}

/// Who signs an image. Texts may have variables in them.
#[derive(Debug, Clone)]
pub(crate) enum ImageSignerSource {
    /// Public keys in PEM, `k8s://namespace/name`, or a variable.
    Keys { text: Located<Text>, algorithm: Text, log: SignatureLogs },
    /// The key in a Secret.
    Secret { namespace: Text, name: Text, algorithm: Text, log: SignatureLogs },
    /// A key that stays in its service.
    KeyService,
    /// `certificates`
    Certificates { certificate: Option<Located<Text>>, chain: Option<Located<Text>>, log: SignatureLogs },
    /// `keyless`
    Keyless(Box<KeylessSource>),
    /// `attestor`
    Set(SignerSetSource),
}

/// A certificate for an identity.
#[derive(Debug, Clone)]
pub(crate) struct KeylessSource {
    pub(crate) issuer: Text,
    pub(crate) issuer_pattern: Text,
    pub(crate) subject: Text,
    pub(crate) subject_pattern: Text,
    /// Certificates in PEM; may be empty.
    pub(crate) roots: Located<Text>,
    /// What the certificate must say, by the name of the extension.
    pub(crate) extensions: Vec<(Text, Text)>,
    pub(crate) log: SignatureLogs,
}

/// `rekor` and `ctlog`: the logs in which a signature must be.
#[derive(Debug, Clone, Default)]
pub(crate) struct SignatureLogs {
    pub(crate) ignores_log: bool,
    pub(crate) log_key: Text,
    pub(crate) ignores_certificate_log: bool,
    pub(crate) certificate_log_key: Text,
}

const KINDS: [&str; 4] = ["keys", "certificates", "keyless", "attestor"];
const KEY_SERVICES: [&str; 4] = ["awskms://", "gcpkms://", "azurekms://", "hashivault://"];
const ALGORITHMS: [&str; 4] = ["sha224", "sha256", "sha384", "sha512"];

/// Reads the sets of signers under `key`.
pub(super) fn read_signer_sets<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    key: &str,
    format: SignatureFormat,
) -> Vec<SignerSetSource> {
    let sets = reader.objects(item, key).unwrap_or_default();
    sets.iter().map(|set| read_signer_set(reader, set, format)).collect()
}

fn read_signer_set<'d>(
    reader: &mut DocumentReader<'d>,
    set: &DocumentFields<'d>,
    format: SignatureFormat,
) -> SignerSetSource {
    reader.only(set, &["count", "entries"]);
    let items = reader.objects(set, "entries").unwrap_or_default();
    if items.is_empty() {
        report_signer(reader, &set.path, "a set without `entries` names no signer");
    }
    let entries: Vec<SignerEntry> =
        items.iter().filter_map(|item| read_signer_entry(reader, item, format)).collect();
    let count = reader.integer(set, "count");
    let most = entries.iter().map(SignerEntry::weight).sum::<usize>();
    if let Some(count) = &count
        && !usize::try_from(count.value).is_ok_and(|wanted| (1..=most).contains(&wanted))
    {
        let location = reader.place(&count.path);
        let message = format!("`count` is {}, and the number of entries is {most}", count.value);
        let help =
            "give a number from 1 to that of the entries; without `count` all of them must have signed";
        reader.report(Diagnostic::new(&code::SIGNATURE_COUNT, message, location).help(help));
    }
    SignerSetSource { count: count.and_then(|count| usize::try_from(count.value).ok()), entries }
}

impl SignerEntry {
    /// Returns how many entries it counts as: several keys in one text are several entries.
    fn weight(&self) -> usize {
        match &self.by {
            ImageSignerSource::Keys { text, .. } => text.value.matches("-----BEGIN ").count().max(1),
            _ => 1,
        }
    }
}

fn read_signer_entry<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    format: SignatureFormat,
) -> Option<SignerEntry> {
    reader.only(item, &["keys", "certificates", "keyless", "attestor", "annotations", "repository"]);
    let given: Vec<&'static str> = KINDS.into_iter().filter(|key| reader.any(item, key).is_some()).collect();
    let kind = match given.as_slice() {
        [kind] => *kind,
        [first, second, ..] => {
            report_signer(reader, &item.path, &format!("an entry has both `{first}` and `{second}`"));
            return None;
        }
        [] => {
            report_signer(reader, &item.path, "an entry names no signer");
            return None;
        }
    };
    if format == SignatureFormat::Notary && !["certificates", "attestor"].contains(&kind) {
        let location = reader.document.locate_key(&child_path(&item.path, kind));
        let message = format!("`{kind}` cannot be used with the type `Notary`");
        let help = "Notary signatures are verified with `certificates`";
        reader.report(Diagnostic::new(&code::NOTARY_SIGNER, message, location).help(help));
        return None;
    }
    let fields = reader.object(item, kind)?;
    let by = match kind {
        "keys" => read_keys(reader, &fields)?,
        "certificates" => read_certificates(reader, &fields),
        "keyless" => read_keyless(reader, &fields),
        _ => ImageSignerSource::Set(read_signer_set(reader, &fields, format)),
    };
    Some(SignerEntry {
        path: item.path.clone(),
        annotations: reader.pairs(item, "annotations"),
        repository: reader.string(item, "repository").map(|text| text.value).unwrap_or_default(),
        by,
    })
}

fn read_keys<'d>(reader: &mut DocumentReader<'d>, keys: &DocumentFields<'d>) -> Option<ImageSignerSource> {
    reader.only(keys, &["publicKeys", "signatureAlgorithm", "kms", "secret", "rekor", "ctlog"]);
    let log = read_logs(reader, keys);
    let algorithm = read_algorithm(reader, keys);
    let given: Vec<&'static str> =
        ["publicKeys", "kms", "secret"].into_iter().filter(|key| reader.any(keys, key).is_some()).collect();
    match given.as_slice() {
        ["publicKeys"] => {
            let text = reader.string(keys, "publicKeys")?;
            read_public_keys(reader, text, algorithm, log)
        }
        ["secret"] => {
            let secret = reader.object(keys, "secret")?;
            reader.only(&secret, &["name", "namespace"]);
            let (name, namespace) = (reader.filled(&secret, "name"), reader.filled(&secret, "namespace"));
            let (name, namespace) = (name?.value, namespace?.value);
            Some(ImageSignerSource::Secret { namespace, name, algorithm, log })
        }
        ["kms"] => Some(report_key_service(reader, &child_path(&keys.path, "kms"))),
        _ => {
            let message = match given.as_slice() {
                [first, second, ..] => format!("there are both `{first}` and `{second}`"),
                _ => "there is no key".to_owned(),
            };
            report_signer(reader, &keys.path, &message);
            None
        }
    }
}

fn read_public_keys(
    reader: &mut DocumentReader<'_>,
    text: Located<Text>,
    algorithm: Text,
    log: SignatureLogs,
) -> Option<ImageSignerSource> {
    let written = text.value.trim();
    if let Some(name) = written.strip_prefix("k8s://") {
        if let Some((namespace, name)) = name.split_once('/').filter(|(a, b)| !a.is_empty() && !b.is_empty())
        {
            let (namespace, name) = (namespace.into(), name.into());
            return Some(ImageSignerSource::Secret { namespace, name, algorithm, log });
        }
        report_key(reader, &text, format!("`{written}` names no Secret"), "write `k8s://namespace/name`");
        return None;
    }
    if KEY_SERVICES.iter().any(|service| written.starts_with(service)) {
        return Some(report_key_service(reader, &text.path));
    }
    // What a variable is, is known when the rule runs.
    if !written.contains("{{") {
        let help = "put the key here, from `-----BEGIN PUBLIC KEY-----` on, or a variable that holds it";
        let problem = match pem::all_blocks(written) {
            Ok(blocks) if blocks.is_empty() => Some("there is no PEM block".to_owned()),
            Ok(blocks) => {
                blocks.iter().find_map(|block| kubewright_signatures::PublicVerifier::of_block(block).err())
            }
            Err(problem) => Some(problem),
        };
        if let Some(problem) = problem {
            report_key(reader, &text, problem, help);
            return None;
        }
    }
    Some(ImageSignerSource::Keys { text, algorithm, log })
}

fn read_algorithm<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Text {
    let text = reader.string(fields, "signatureAlgorithm").filter(|text| !text.value.is_empty());
    let words = ALGORITHMS.map(|word| (word, word));
    let word = text.and_then(|text| reader.one_of(&text, "signature algorithm", &words));
    word.unwrap_or("sha256").into()
}

fn read_certificates<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> ImageSignerSource {
    reader.only(fields, &["cert", "certChain", "rekor", "ctlog"]);
    let mut text = |key: &str| reader.string(fields, key).filter(|text| !text.value.trim().is_empty());
    let (certificate, chain) = (text("cert"), text("certChain"));
    if certificate.is_none() && chain.is_none() {
        report_signer(reader, &fields.path, "there is neither `cert` nor `certChain`");
    }
    ImageSignerSource::Certificates { certificate, chain, log: read_logs(reader, fields) }
}

fn read_keyless<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> ImageSignerSource {
    reader.only(
        fields,
        &[
            "issuer",
            "issuerRegExp",
            "subject",
            "subjectRegExp",
            "roots",
            "additionalExtensions",
            "rekor",
            "ctlog",
        ],
    );
    let mut text = |key: &str| reader.string(fields, key).map(|text| text.value).unwrap_or_default();
    let (issuer, issuer_pattern) = (text("issuer"), text("issuerRegExp"));
    let (subject, subject_pattern) = (text("subject"), text("subjectRegExp"));
    let nothing = || Located { value: Text::default(), path: fields.path.clone() };
    for (what, text, pattern) in
        [("subject", &subject, &subject_pattern), ("issuer", &issuer, &issuer_pattern)]
    {
        if text.is_empty() && pattern.is_empty() {
            let location = reader.document.locate_key(&fields.path);
            let message = format!("neither `{what}` nor `{what}RegExp` is given, so anyone could sign");
            let help = "name who signs: the identity in the certificate, and who vouches for it";
            reader.report(Diagnostic::new(&code::KEYLESS_IDENTITY, message, location).help(help));
        }
    }
    let roots = reader.string(fields, "roots").unwrap_or_else(nothing);
    let extensions = reader.pairs(fields, "additionalExtensions");
    let log = read_logs(reader, fields);
    let keyless = KeylessSource { issuer, issuer_pattern, subject, subject_pattern, roots, extensions, log };
    ImageSignerSource::Keyless(Box::new(keyless))
}

fn read_logs<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> SignatureLogs {
    let mut logs = SignatureLogs::default();
    if let Some(rekor) = reader.object(fields, "rekor") {
        reader.only(&rekor, &["url", "pubkey", "ignoreTlog"]);
        logs.ignores_log = reader.boolean(&rekor, "ignoreTlog").unwrap_or(false);
        logs.log_key = reader.string(&rekor, "pubkey").map(|text| text.value).unwrap_or_default();
    }
    if let Some(log) = reader.object(fields, "ctlog") {
        reader.only(&log, &["pubkey", "ignoreSCT", "tsaCertChain"]);
        logs.ignores_certificate_log = reader.boolean(&log, "ignoreSCT").unwrap_or(false);
        logs.certificate_log_key = reader.string(&log, "pubkey").map(|text| text.value).unwrap_or_default();
        // Time stamps of an authority are not verified; a signature that has nothing else is not valid.
        reader.string(&log, "tsaCertChain");
    }
    logs
}

/// Reads the older form, in which an entry has one signer.
pub(super) fn read_old_signer<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<SignerSetSource> {
    let by = match reader.string(item, "key").filter(|key| !key.value.is_empty()) {
        Some(key) => read_public_keys(reader, key, "sha256".into(), SignatureLogs::default())?,
        None => {
            let old = ["issuer", "subject", "roots", "additionalExtensions"];
            if !old.iter().any(|key| reader.any(item, key).is_some()) {
                return None;
            }
            read_old_keyless(reader, item)
        }
    };
    let entry =
        SignerEntry { path: item.path.clone(), annotations: Vec::new(), repository: Text::default(), by };
    Some(SignerSetSource { count: None, entries: vec![entry] })
}

fn read_old_keyless<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> ImageSignerSource {
    let mut text = |key: &str| reader.string(item, key).map(|text| text.value).unwrap_or_default();
    let (issuer, subject) = (text("issuer"), text("subject"));
    let nothing = || Located { value: Text::default(), path: item.path.clone() };
    let roots = reader.string(item, "roots").unwrap_or_else(nothing);
    ImageSignerSource::Keyless(Box::new(KeylessSource {
        issuer,
        issuer_pattern: Text::default(),
        subject,
        subject_pattern: Text::default(),
        roots,
        extensions: reader.pairs(item, "additionalExtensions"),
        log: SignatureLogs::default(),
    }))
}

fn report_key_service(reader: &mut DocumentReader<'_>, path: &[Step]) -> ImageSignerSource {
    let location = reader.document.locate_key(path);
    let message = "a key in `kms` stays in its service, which is not asked";
    let help =
        "give the public key itself in `keys.publicKeys`; until then nothing is verified by this entry";
    reader.report(Diagnostic::new(&code::OUT_OF_REACH, message, location).help(help));
    ImageSignerSource::KeyService
}

fn report_key(reader: &mut DocumentReader<'_>, text: &Located<Text>, message: String, help: &str) {
    let location = reader.place(&text.path);
    reader.report(Diagnostic::new(&code::BAD_PUBLIC_KEY, message, location).help(help));
}

fn report_signer(reader: &mut DocumentReader<'_>, path: &[Step], message: &str) {
    let location = reader.document.locate_key(path);
    let help = "each entry has exactly one of `keys`, `certificates`, `keyless`, `attestor`";
    reader.report(Diagnostic::new(&code::NO_SIGNER, message, location).help(help));
}
