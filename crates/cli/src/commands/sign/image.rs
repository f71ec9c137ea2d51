//! Signs an image, or states something about it: into its registry, or into a file of answers for `--world`.

use kubewright_engine::ImageLookup;
use kubewright_files as files;
use kubewright_golib::image::ImageReference;
use kubewright_signatures::sign::{ImageSigningKey, attest_image, sign_image as image_signature};
use kubewright_signatures::{SignatureArtifact, SignatureLayer};
use kubewright_value::{Map, Text, Value};

use super::read_key_text;
use crate::arguments::SignArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{print_stderr, write_file, yaml_text};
use crate::registry_access::RegistryAccess;

/// Signs `image` as `arguments` say.
///
/// # Errors
/// When the image or the key cannot be used, or the registry does not take the signature.
pub(super) fn sign_image(image: &str, arguments: &SignArguments) -> Result<ExitStatus, CommandFailure> {
    let key = ImageSigningKey::from_pem(&read_key_text(&arguments.key)?).map_err(|problem| {
        CommandFailure::usage(format!("cannot use the key `{}`: {problem}", arguments.key))
    })?;
    let reference = ImageReference::parse(image)
        .map_err(|problem| CommandFailure::usage(format!("`{image}` is not an image: {problem}")))?;
    let access = RegistryAccess::new(&arguments.allow_registry)?;
    let repository = reference.repository();
    let digest = match reference.digest.as_str() {
        "" => find_digest(&access, &reference)?,
        digest => digest.to_owned(),
    };
    let layer = signed_layer(&key, (&repository, &digest), arguments)?;
    let (suffix, field) = match arguments.predicate {
        Some(_) => ("att", "attestations"),
        None => ("sig", "signatures"),
    };
    match &arguments.output {
        Some(path) => write_file(path, world_text(image, &digest, field, layer))?,
        None => {
            let tag = format!("{}.{suffix}", digest.replace(':', "-"));
            access
                .store(&repository, &tag, layer)
                .map_err(|why| CommandFailure::usage(format!("cannot store the signature: {why}")))?;
            print_stderr(format_args!("signed {repository}@{digest}"));
        }
    }
    Ok(ExitStatus::Clean)
}

fn find_digest(access: &RegistryAccess, reference: &ImageReference) -> Result<String, CommandFailure> {
    let image = ImageLookup { is_insecure: true, ..ImageLookup::of(reference.to_string()) };
    let wrong =
        |why: String| CommandFailure::usage(format!("cannot find the digest of `{reference}`: {why}"));
    let found = access.describe(&image).map_err(wrong)?;
    let found = found.ok_or_else(|| wrong("the registry has no such image".to_owned()))?;
    Ok(found.str_at(&["digest"]).to_owned())
}

fn signed_layer(
    key: &ImageSigningKey,
    (repository, digest): (&str, &str),
    arguments: &SignArguments,
) -> Result<SignatureLayer, CommandFailure> {
    let Some(path) = &arguments.predicate else {
        let mut annotations: Vec<(Text, Text)> = Vec::new();
        for text in &arguments.annotations {
            let pair = text.split_once('=');
            let (name, value) =
                pair.ok_or_else(|| CommandFailure::usage(format!("`{text}` is not `NAME=VALUE`")))?;
            annotations.push((name.into(), value.into()));
        }
        return Ok(image_signature(key, repository, digest, &annotations));
    };
    let mut problems = Vec::new();
    let found = files::find_files(std::slice::from_ref(path));
    let documents = files::read_documents(&found.inputs, &mut problems);
    let predicate = documents.into_iter().next().map(|document| document.value);
    let predicate =
        predicate.ok_or_else(|| CommandFailure::usage(format!("there is no document in `{path}`")))?;
    let predicate_type = arguments.predicate_type.as_deref().unwrap_or_default();
    Ok(attest_image(key, (repository, digest), predicate_type, predicate))
}

/// Returns a document that answers what a rule asks about the image.
fn world_text(image: &str, digest: &str, field: &'static str, layer: SignatureLayer) -> String {
    let artifact = SignatureArtifact { layers: vec![layer], ..SignatureArtifact::default() };
    let entry = Map::from([
        ("image", Value::from(image)),
        ("digest", digest.into()),
        (field, Value::array(vec![artifact.to_value()])),
    ]);
    let document = Map::from([
        ("apiVersion", Value::from("kubewright.dev/v1alpha1")),
        ("kind", "World".into()),
        ("images", Value::array(vec![entry.into()])),
    ]);
    yaml_text(&document.into())
}
