//! Reads the `manifests` of a rule: the required signers, and the fields that may differ.

use kubewright_engine::Diagnostic;
use kubewright_golib::pem;
use kubewright_value::{Step, Text};

use super::super::diagnostics as code;
use super::super::manifests::PublicKey;
use kubewright_dialect_kit::fields::{DocumentFields, DocumentReader, Located, child_path};

/// The required signatures.
#[derive(Debug, Clone)]
pub struct ManifestsSource {
    pub(in super::super) path: Vec<Step>,
    /// Every one of them must be satisfied.
    pub(in super::super) attestors: Vec<AttestorSet>,
    /// `annotationDomain`; may be empty.
    pub(in super::super) domain: Text,
    pub(in super::super) ignore_fields: Vec<IgnoreFields>,
    /// `dryRun`, where it is enabled.
    pub(in super::super) dry_run: Option<DryRunSource>,
    /// `repository` is given: the signed text is an image.
    pub(in super::super) is_in_repository: bool,
}

/// Some signers, of which `count` are enough.
#[derive(Debug, Clone)]
pub(in super::super) struct AttestorSet {
    pub(in super::super) count: usize,
    pub(in super::super) entries: Vec<Attestor>,
}

/// One signer, or a set of them.
#[derive(Debug, Clone)]
pub(in super::super) struct Attestor {
    pub(in super::super) path: Vec<Step>,
    /// Further annotations that the object must have.
    pub(in super::super) annotations: Vec<(Text, Text)>,
    pub(in super::super) by: Signer,
}

/// Who signs.
#[derive(Debug, Clone)]
pub(in super::super) enum Signer {
    Key(PublicKey),
    /// The key in a Secret.
    Secret {
        namespace: Text,
        name: Text,
    },
    Set(AttestorSet),
    /// A signer that cannot be verified without a network: `keyless`, `certificates` and others.
    OutOfReach {
        field: &'static str,
    },
}

/// Fields that may differ from the signed manifest.
#[derive(Debug, Clone)]
pub(in super::super) struct IgnoreFields {
    /// None means all objects.
    pub(in super::super) objects: Vec<ObjectReference>,
    /// With `*`.
    pub(in super::super) fields: Vec<Text>,
}

/// The matched objects; an empty field matches all.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct ObjectReference {
    pub(in super::super) group: Text,
    pub(in super::super) version: Text,
    pub(in super::super) kind: Text,
    pub(in super::super) name: Text,
    pub(in super::super) namespace: Text,
}

/// The dry run of the signed manifest on the API server.
#[derive(Debug, Clone)]
pub(in super::super) struct DryRunSource {
    /// Where; may be empty.
    pub(in super::super) namespace: Text,
}

const SIGNERS: [&str; 4] = ["keys", "certificates", "keyless", "attestor"];

/// The names of key management services.
const KEY_SERVICES: [&str; 4] = ["awskms://", "gcpkms://", "azurekms://", "hashivault://"];

/// Reads the field `key` of `fields`.
pub(super) fn read_manifests<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
    key: &str,
) -> Option<ManifestsSource> {
    let fields = reader.object(fields, key)?;
    reader.only(&fields, &["attestors", "annotationDomain", "ignoreFields", "repository", "dryRun"]);
    let sets = reader.objects(&fields, "attestors").unwrap_or_default();
    if sets.is_empty() {
        no_signer(reader, &fields.path, "no signer is named");
    }
    let attestors: Vec<AttestorSet> = sets.iter().map(|set| attestor_set(reader, set)).collect();
    let domain = reader.string(&fields, "annotationDomain").map(|text| text.value).unwrap_or_default();
    let items = reader.objects(&fields, "ignoreFields").unwrap_or_default();
    let ignore_fields = items.iter().map(|item| ignore(reader, item)).collect();
    let dry_run = reader.object(&fields, "dryRun").and_then(|fields| read_dry_run(reader, &fields));
    let is_in_repository = read_repository(reader, &fields);
    Some(ManifestsSource { path: fields.path, attestors, domain, ignore_fields, dry_run, is_in_repository })
}

fn attestor_set<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> AttestorSet {
    reader.only(fields, &["count", "entries"]);
    let items = reader.objects(fields, "entries").unwrap_or_default();
    if items.is_empty() {
        no_signer(reader, &fields.path, "a set without `entries` names no signer");
    }
    let entries: Vec<Attestor> = items.iter().flat_map(|item| attestor(reader, item)).collect();
    let count = reader.integer(fields, "count");
    if let Some(count) = &count
        && !usize::try_from(count.value).is_ok_and(|wanted| (1..=entries.len()).contains(&wanted))
    {
        let location = reader.place(&count.path);
        let message = format!("`count` is {}, and the number of entries is {}", count.value, entries.len());
        let help =
            "give a number from 1 to that of the entries; without `count` all of them must have signed";
        reader.report(Diagnostic::new(&code::SIGNATURE_COUNT, message, location).help(help));
    }
    let count = count.and_then(|count| usize::try_from(count.value).ok());
    AttestorSet { count: count.unwrap_or(entries.len()), entries }
}

/// Reads an entry, which is several when it has several keys.
fn attestor<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Vec<Attestor> {
    let known =
        ["keys", "certificates", "keyless", "attestor", "annotations", "repository", "signatureAlgorithm"];
    // `publicKeys` indented as far as a `keys` without anything in it means those of `keys`.
    let is_flat = reader.any(fields, "keys").is_none() && reader.any(fields, "publicKeys").is_some();
    let known: Vec<&str> = known.into_iter().chain(is_flat.then_some("publicKeys")).collect();
    reader.only(fields, &known);
    let annotations = reader.pairs(fields, "annotations");
    algorithm(reader, fields);
    let is_in_repository = read_repository(reader, fields);
    let given: Vec<&'static str> =
        SIGNERS.into_iter().filter(|key| reader.any(fields, key).is_some()).collect();
    let signers = match given.as_slice() {
        ["keys"] => read_attestor_keys(reader, fields),
        [] if is_flat => {
            reader.string(fields, "publicKeys").map(|text| public_keys(reader, &text)).unwrap_or_default()
        }
        ["attestor"] => {
            let set = reader.object(fields, "attestor").map(|set| attestor_set(reader, &set));
            set.map(Signer::Set).into_iter().collect()
        }
        [field] => vec![out_of_reach(reader, field, &child_path(&fields.path, *field))],
        _ => {
            let message = match given.as_slice() {
                [first, second, ..] => format!("an entry has both `{first}` and `{second}`"),
                _ => "an entry names no signer".to_owned(),
            };
            no_signer(reader, &fields.path, &message);
            Vec::new()
        }
    };
    let signers = signers.into_iter().map(|by| match is_in_repository {
        true => Signer::OutOfReach { field: "repository" },
        false => by,
    });
    let entry = |by| Attestor { path: fields.path.clone(), annotations: annotations.clone(), by };
    signers.map(entry).collect()
}

fn read_attestor_keys<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Vec<Signer> {
    let Some(keys) = reader.object(fields, "keys") else { return Vec::new() };
    reader.only(&keys, &["publicKeys", "signatureAlgorithm", "kms", "secret", "rekor", "ctlog"]);
    algorithm(reader, &keys);
    for log in ["rekor", "ctlog"] {
        if let Some(found) = reader.any(&keys, log) {
            let location = reader.document.locate_key(&found.path);
            let message = format!("`{log}` has no effect: a key is checked without a transparency log");
            reader.report(Diagnostic::new(&code::IGNORED_FIELD, message, location));
        }
    }
    let given: Vec<&'static str> =
        ["publicKeys", "kms", "secret"].into_iter().filter(|key| reader.any(&keys, key).is_some()).collect();
    match given.as_slice() {
        ["publicKeys"] => {
            reader.string(&keys, "publicKeys").map(|text| public_keys(reader, &text)).unwrap_or_default()
        }
        ["secret"] => {
            let secret = reader.object(&keys, "secret");
            secret.and_then(|fields| secret_reference(reader, &fields)).into_iter().collect()
        }
        ["kms"] => vec![out_of_reach(reader, "kms", &child_path(&keys.path, "kms"))],
        _ => {
            let message = match given.as_slice() {
                [first, second, ..] => format!("there are both `{first}` and `{second}`"),
                _ => "there is no key".to_owned(),
            };
            no_signer(reader, &keys.path, &message);
            Vec::new()
        }
    }
}

fn public_keys(reader: &mut DocumentReader<'_>, text: &Located<Text>) -> Vec<Signer> {
    let written = text.value.trim();
    if let Some(name) = written.strip_prefix("k8s://") {
        return match name.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                vec![Signer::Secret { namespace: namespace.into(), name: name.into() }]
            }
            _ => {
                let help = "name a Secret as `k8s://namespace/name`";
                report_bad_public_key(reader, text, format!("`{written}` names no Secret"), help);
                Vec::new()
            }
        };
    }
    if KEY_SERVICES.iter().any(|service| written.starts_with(service)) {
        return vec![out_of_reach(reader, "kms", &text.path)];
    }
    let blocks = match pem::all_blocks(written) {
        Ok(blocks) if !blocks.is_empty() => blocks,
        Ok(_) => {
            let help = "put the key here, from `-----BEGIN PUBLIC KEY-----` on; variables are not put in";
            report_bad_public_key(reader, text, "there is no PEM block".to_owned(), help);
            return Vec::new();
        }
        Err(problem) => {
            report_bad_public_key(reader, text, problem, "copy the whole file of the public key");
            return Vec::new();
        }
    };
    let mut signers = Vec::new();
    for block in blocks {
        match PublicKey::read(&block) {
            Ok(key) => signers.push(Signer::Key(key)),
            Err(problem) => report_bad_public_key(
                reader,
                text,
                problem,
                "use the public key of an ECDSA P-256 pair, such as `cosign generate-key-pair` makes",
            ),
        }
    }
    signers
}

fn report_bad_public_key(reader: &mut DocumentReader<'_>, text: &Located<Text>, message: String, help: &str) {
    let location = reader.place(&text.path);
    reader.report(Diagnostic::new(&code::BAD_PUBLIC_KEY, message, location).help(help));
}

fn secret_reference<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<Signer> {
    reader.only(fields, &["name", "namespace"]);
    let name = reader.required_string(fields, "name");
    let namespace = reader.required_string(fields, "namespace");
    Some(Signer::Secret { name: name?.value, namespace: namespace?.value })
}

/// Checks the algorithm; signatures of manifests are always made with SHA-256.
fn algorithm<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) {
    let Some(text) = reader.string(fields, "signatureAlgorithm").filter(|text| !text.value.is_empty()) else {
        return;
    };
    let words = ["sha224", "sha256", "sha384", "sha512"].map(|word| (word, word));
    if reader.one_of(&text, "signature algorithm", &words).is_some_and(|word| word != "sha256") {
        let location = reader.place(&text.path);
        let message = format!("`{}` has no effect: a signed manifest always has `sha256`", text.value);
        reader.report(Diagnostic::new(&code::IGNORED_FIELD, message, location));
    }
}

fn read_repository<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> bool {
    let Some(text) = reader.string(fields, "repository").filter(|text| !text.value.is_empty()) else {
        return false;
    };
    out_of_reach(reader, "repository", &text.path);
    true
}

fn out_of_reach(reader: &mut DocumentReader<'_>, field: &'static str, path: &[Step]) -> Signer {
    let what = match field {
        "keyless" => "`keyless` needs the certificates and the log of Sigstore",
        "certificates" => "`certificates` need a chain of trust and its revocations",
        "kms" => "a key in `kms` stays in its service",
        _ => "`repository` is an image in a registry",
    };
    let location = reader.document.locate_key(path);
    let message = format!("{what}, which is out of reach offline");
    let help = match field {
        "repository" => "keep the signature in the annotations of the object, as `kubewright sign` does",
        _ => "give the public key itself in `keys.publicKeys`; until then the signature counts as missing",
    };
    reader.report(Diagnostic::new(&code::OUT_OF_REACH, message, location).help(help));
    Signer::OutOfReach { field }
}

fn no_signer(reader: &mut DocumentReader<'_>, path: &[Step], message: &str) {
    let location = reader.document.locate_key(path);
    let help = "give `attestors` with `entries`, each with exactly one of `keys`, `certificates`, `keyless`, `attestor`";
    reader.report(Diagnostic::new(&code::NO_SIGNER, message, location).help(help));
}

fn ignore<'d>(reader: &mut DocumentReader<'d>, item: &DocumentFields<'d>) -> IgnoreFields {
    reader.only(item, &["objects", "fields"]);
    let objects = reader.objects(item, "objects").unwrap_or_default();
    let objects = objects.iter().map(|object| read_object_reference(reader, object)).collect();
    let fields = reader.strings(item, "fields").unwrap_or_default();
    if fields.is_empty() {
        let location = reader.document.locate_key(&item.path);
        let message = "no `fields` are named, so nothing is ignored";
        reader.report(Diagnostic::new(&code::IGNORED_FIELDS, message, location));
    }
    let mut kept = Vec::new();
    for field in fields {
        let written = field.value.trim();
        let message = match written {
            "" => "an empty field would be every field".to_owned(),
            written if written.contains(['[', ']', '$']) => {
                format!("`{written}` matches no field, because brackets are not supported")
            }
            _ => {
                kept.push(Text::new(written));
                continue;
            }
        };
        let location = reader.place(&field.path);
        let help = "write keys and indexes with dots, and `*` for any: `spec.containers.*.image`";
        reader.report(Diagnostic::new(&code::IGNORED_FIELDS, message, location).help(help));
    }
    IgnoreFields { objects, fields: kept }
}

fn read_object_reference<'d>(
    reader: &mut DocumentReader<'d>,
    fields: &DocumentFields<'d>,
) -> ObjectReference {
    reader.only(fields, &["group", "version", "kind", "name", "namespace"]);
    let mut text = |key| reader.string(fields, key).map(|text| text.value).unwrap_or_default();
    ObjectReference {
        group: text("group"),
        version: text("version"),
        kind: text("kind"),
        name: text("name"),
        namespace: text("namespace"),
    }
}

fn read_dry_run<'d>(reader: &mut DocumentReader<'d>, fields: &DocumentFields<'d>) -> Option<DryRunSource> {
    reader.only(fields, &["enable", "namespace"]);
    let namespace = reader.string(fields, "namespace").map(|text| text.value).unwrap_or_default();
    reader.boolean(fields, "enable").unwrap_or(false).then_some(DryRunSource { namespace })
}
