//! Reads `verifyImages` of a rule: which images, who must have signed them, and what else must hold.

mod extractors;
mod signers;

pub(in super::super) use extractors::ImageExtractor;
pub(in super::super) use signers::{ImageSignerSource, SignatureLogs, SignerSetSource};

use kubewright_engine::Diagnostic;
use kubewright_value::{Step, Text, Value};

use super::super::diagnostics as code;
use super::rule::read_conditions;
use super::{FailureAction, RegistryCredentials, policy};
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

/// The image checks of a rule.
#[derive(Debug, Clone)]
pub struct ImagesSource {
    /// The path in the document.
    pub path: Vec<Step>,
    /// The entries, each about the images it names.
    pub(in super::super) entries: Vec<ImageEntrySource>,
    /// `imageExtractors`, by kind.
    pub(in super::super) extractors: Vec<(Text, Vec<ImageExtractor>)>,
}

/// One entry of `verifyImages`.
#[derive(Debug, Clone)]
pub(in super::super) struct ImageEntrySource {
    pub(in super::super) path: Vec<Step>,
    pub(in super::super) format: SignatureFormat,
    /// Globs on normalised images.
    pub(in super::super) references: Vec<Text>,
    pub(in super::super) skipped: Vec<Text>,
    /// All of them must be satisfied.
    pub(in super::super) attestors: Vec<SignerSetSource>,
    pub(in super::super) attestations: Vec<AttestationSource>,
    pub(in super::super) annotations: Vec<(Text, Text)>,
    /// Where the signatures are, if not beside the image.
    pub(in super::super) repository: Text,
    /// `cosignOCI11`
    pub(in super::super) uses_referrers: bool,
    pub(in super::super) mutates_digest: bool,
    pub(in super::super) verifies_digest: bool,
    pub(in super::super) is_required: bool,
    pub(in super::super) deny: Option<ImageDenySource>,
    pub(in super::super) credentials: RegistryCredentials,
    pub(in super::super) failure_action: Option<FailureAction>,
}

/// The format of signatures: `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in super::super) enum SignatureFormat {
    #[default]
    Cosign,
    SigstoreBundle,
    Notary,
}

/// A statement about the image that must exist, and what it must say.
#[derive(Debug, Clone)]
pub(in super::super) struct AttestationSource {
    pub(in super::super) predicate_type: Text,
    pub(in super::super) attestors: Vec<SignerSetSource>,
    /// Groups of conditions, as they are written.
    pub(in super::super) conditions: Option<Located<Value>>,
}

/// `validate` of an entry: what is refused although it is verified.
#[derive(Debug, Clone)]
pub(in super::super) struct ImageDenySource {
    pub(in super::super) message: Option<Located<Text>>,
    pub(in super::super) conditions: Option<Located<Value>>,
}

const ENTRY_FIELDS: &[&str] = &[
    "type",
    "imageReferences",
    "skipImageReferences",
    "attestors",
    "attestations",
    "annotations",
    "repository",
    "cosignOCI11",
    "mutateDigest",
    "verifyDigest",
    "required",
    "useCache",
    "validate",
    "imageRegistryCredentials",
    "failureAction",
    "image",
    "key",
    "roots",
    "subject",
    "issuer",
    "additionalExtensions",
];

/// Reads `verifyImages` and `imageExtractors` of `rule`.
pub(super) fn read_images<'d>(
    reader: &mut DocumentReader<'d>,
    rule: &DocumentFields<'d>,
) -> Option<ImagesSource> {
    let items = reader.objects(rule, "verifyImages")?;
    let entries: Vec<ImageEntrySource> = items.iter().map(|item| read_image_entry(reader, item)).collect();
    let mutates = entries.iter().any(|entry| entry.mutates_digest);
    let extractors = extractors::read_extractors(reader, rule, mutates);
    Some(ImagesSource { path: child_path(&rule.path, "verifyImages"), entries, extractors })
}

fn read_image_entry<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> ImageEntrySource {
    reader.only(item, ENTRY_FIELDS);
    let format = read_format(reader, item);
    let credentials = read_image_credentials(reader, item);
    let text = |reader: &mut DocumentReader<'d>, key: &str| {
        reader.string(item, key).map(|text| text.value).unwrap_or_default()
    };
    let mut attestors = signers::read_signer_sets(reader, item, "attestors", format);
    attestors.extend(signers::read_old_signer(reader, item));
    let attestations = reader.objects(item, "attestations").unwrap_or_default();
    ImageEntrySource {
        path: item.path.clone(),
        format,
        references: read_references(reader, item),
        skipped: globs(reader, item, "skipImageReferences"),
        attestors,
        attestations: attestations.iter().filter_map(|one| read_attestation(reader, one, format)).collect(),
        annotations: reader.pairs(item, "annotations"),
        repository: text(reader, "repository"),
        uses_referrers: reader.boolean(item, "cosignOCI11").unwrap_or(false),
        mutates_digest: reader.boolean(item, "mutateDigest").unwrap_or(true),
        verifies_digest: reader.boolean(item, "verifyDigest").unwrap_or(true),
        is_required: reader.boolean(item, "required").unwrap_or(true),
        deny: read_image_deny(reader, item),
        credentials,
        failure_action: policy::action(reader, item, "failureAction"),
    }
}

fn read_format<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> SignatureFormat {
    let words = [
        ("Cosign", SignatureFormat::Cosign),
        ("SigstoreBundle", SignatureFormat::SigstoreBundle),
        ("Notary", SignatureFormat::Notary),
    ];
    let text = reader.string(item, "type").filter(|text| !text.value.is_empty());
    text.and_then(|text| reader.one_of(&text, "signature type", &words)).unwrap_or_default()
}

/// Reads the images of an entry; `image` is the older form of one.
fn read_references<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> Vec<Text> {
    let mut references = globs(reader, item, "imageReferences");
    if let Some(image) = reader.string(item, "image").filter(|image| !image.value.is_empty()) {
        references.push(image.value);
    }
    if references.is_empty() {
        let location = reader.document.locate_key(&item.path);
        let help = "give `imageReferences`, such as `[\"ghcr.io/org/*\"]`";
        let message = "the entry names no image";
        reader.report(Diagnostic::new(&code::IMAGE_REFERENCES, message, location).help(help));
    }
    references
}

fn globs<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>, key: &str) -> Vec<Text> {
    let texts = reader.strings(item, key).unwrap_or_default();
    for text in texts.iter().filter(|text| text.value.contains("{{")) {
        let message = format!("`{key}` has no variables");
        let location = reader.place(&text.path);
        let help = "use `*`, and `preconditions` for what depends on the object";
        reader.report(Diagnostic::new(&code::IMAGE_REFERENCES, message, location).help(help));
    }
    texts.into_iter().map(|text| text.value).collect()
}

fn read_image_credentials<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> RegistryCredentials {
    let Some(given) = reader.object(item, "imageRegistryCredentials") else {
        return RegistryCredentials::default();
    };
    // Providers are programs of a cloud, which are not run here.
    reader.only(&given, &["allowInsecureRegistry", "helpers", "providers", "secrets"]);
    RegistryCredentials {
        is_insecure: reader.boolean(&given, "allowInsecureRegistry").unwrap_or_default(),
        secrets: reader.plain(&given, "secrets"),
    }
}

fn read_attestation<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
    format: SignatureFormat,
) -> Option<AttestationSource> {
    reader.only(item, &["name", "type", "predicateType", "attestors", "conditions"]);
    let attestors = signers::read_signer_sets(reader, item, "attestors", format);
    let conditions = read_conditions(reader, item, "conditions");
    reader.string(item, "name");
    let old = reader.string(item, "predicateType").filter(|text| !text.value.is_empty());
    let written = reader.string(item, "type").filter(|text| !text.value.is_empty());
    if written.is_none() && old.is_none() {
        reader.missing(item, "type");
    }
    let predicate_type = written.or(old)?.value;
    Some(AttestationSource { predicate_type, attestors, conditions })
}

fn read_image_deny<'d>(
    reader: &mut DocumentReader<'d>,
    item: &DocumentFields<'d>,
) -> Option<ImageDenySource> {
    let fields = reader.object(item, "validate")?;
    reader.only(&fields, &["message", "deny"]);
    let message = reader.string(&fields, "message");
    let deny = reader.required_object(&fields, "deny")?;
    reader.only(&deny, &["conditions"]);
    Some(ImageDenySource { message, conditions: read_conditions(reader, &deny, "conditions") })
}
