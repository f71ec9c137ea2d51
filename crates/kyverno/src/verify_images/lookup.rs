//! What registries say, through the world.

use kubewright_engine::{EvalError, ImageLookup, ImagePart, Query, QueryAnswer};
use kubewright_golib::image::ImageReference;
use kubewright_signatures::{SignatureArtifact, read_material};
use kubewright_value::{Text, Value};

use super::extract::ObjectImage;
use super::{ImageEntry, ImageProblem};
use crate::context::VariableContext;
use crate::source::RegistryCredentials;

/// An image whose digest is known.
pub(super) struct VerificationTarget {
    /// As messages name it.
    pub(super) name: String,
    pub(super) digest: Text,
    reference: ImageReference,
}

impl VerificationTarget {
    /// Finds the digest of `image`.
    pub(super) fn find(
        entry: &ImageEntry,
        image: &ObjectImage,
        context: &VariableContext<'_>,
    ) -> Result<Self, ImageProblem> {
        let name = image.reference.to_string();
        let digest = match image.reference.digest.as_str() {
            "" => find_digest(&name, &entry.credentials, context)?,
            digest => digest.into(),
        };
        Ok(Self { name, digest, reference: image.reference.clone() })
    }

    /// Fetches the artifacts of one `part`; `repository` holds them, or that of the image if it is empty.
    pub(super) fn artifacts(
        &self,
        part: ImagePart,
        repository: &str,
        credentials: &RegistryCredentials,
        context: &VariableContext<'_>,
    ) -> Result<Vec<SignatureArtifact>, ImageProblem> {
        let query = Query::Image(ImageLookup {
            reference: format!("{}@{}", self.reference.repository(), self.digest).into(),
            part,
            repository: repository.into(),
            ..image_lookup(credentials, context)
        });
        match ask(&query, context)? {
            Some(answer) => read_material(&answer)
                .map_err(|problem| ImageProblem::Error(EvalError::failed_lookup(problem))),
            None => Ok(Vec::new()),
        }
    }
}

fn find_digest(
    name: &str,
    credentials: &RegistryCredentials,
    context: &VariableContext<'_>,
) -> Result<Text, ImageProblem> {
    let query = Query::Image(ImageLookup { reference: name.into(), ..image_lookup(credentials, context) });
    let digest = ask(&query, context)?.map(|answer| Text::from(answer.str_at(&["digest"])));
    match digest {
        Some(digest) if digest.starts_with("sha256:") || digest.starts_with("sha512:") => Ok(digest),
        Some(_) => Err(ImageProblem::Error(EvalError::new(format!(
            "failed to update digest: the digest of {name} is not known"
        )))),
        None => Err(ImageProblem::Unproven(format!(
            "failed to verify image {name}: the registry has no such image"
        ))),
    }
}

fn image_lookup(credentials: &RegistryCredentials, context: &VariableContext<'_>) -> ImageLookup {
    ImageLookup {
        namespace: context.world().home().cloned().unwrap_or_default(),
        secrets: credentials.secrets.clone(),
        is_insecure: credentials.is_insecure,
        ..ImageLookup::default()
    }
}

fn ask(query: &Query, context: &VariableContext<'_>) -> Result<Option<Value>, ImageProblem> {
    let error = match context.world().get(query) {
        QueryAnswer::Found(answer) => return Ok(Some(answer)),
        QueryAnswer::Absent => return Ok(None),
        QueryAnswer::Failed(why) => EvalError::failed(query, &why),
        QueryAnswer::Refused(why) => EvalError::refused(query, &why),
        QueryAnswer::Unknown => {
            let message = format!(
                "{query} is not known here: give it in `images` of a `--world` file, or allow the registry with `--allow-registry`"
            );
            EvalError { message, ..EvalError::unanswered(query.clone()) }
        }
    };
    Err(ImageProblem::Error(error))
}
