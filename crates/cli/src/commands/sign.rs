//! `sign`: signs manifests in their annotations, and images in their registry.
//!
//! All or nothing: when one document cannot be signed, nothing is written.

mod image;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;

use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input};
use kubewright_kyverno::signing::{self, Earlier, ManifestSigningKey, NotSigned, Signed};
use kubewright_value::Document;

use crate::arguments::SignArguments;
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::{ColorChoice, print_stderr, replace_files, standard_output, write_file, yaml_text};
use crate::rule_inputs::print_diagnostics;

/// The largest key file; a file may contain several keys.
const MAX_KEY_BYTES: u64 = 1 << 20;

/// Runs the command.
///
/// # Errors
/// When a manifest or the key cannot be used, or the result cannot be written.
pub(crate) fn run_sign(arguments: &SignArguments, color: ColorChoice) -> Result<ExitStatus, CommandFailure> {
    if let Some(image) = &arguments.image {
        return image::sign_image(image, arguments);
    }
    let manifest = arguments.manifest.as_deref().unwrap_or("-");
    let real = |path: &Path| fs::canonicalize(path).ok();
    let output = arguments.output.as_deref().and_then(real);
    if output.is_some() && output == real(Path::new(&arguments.key)) {
        return Err(CommandFailure::usage(format!(
            "`{}` is the key and would be overwritten",
            arguments.key
        )));
    }
    files::register(Path::new(&arguments.key));
    let key = read_private_key(&arguments.key)?;
    let mut problems = Vec::new();
    let documents = files::read_documents(&[signing_input(manifest)], &mut problems);
    let objects = files::objects_of(documents, &mut problems);
    if print_diagnostics(&problems, color.paint_errors()) || problems.iter().any(Diagnostic::is_error) {
        return Ok(ExitStatus::BadInput);
    }
    if objects.is_empty() {
        return Err(CommandFailure::usage(format!("there is no object in `{manifest}`")));
    }
    let mut text = String::new();
    for object in objects {
        let signed = sign_document(object, &key, arguments)?;
        text.push_str(if text.is_empty() { "" } else { "---\n" });
        text.push_str(&signed);
    }
    match &arguments.output {
        // A manifest that names itself as the output is signed in place; any other file that is read is kept.
        Some(path) if path.as_path() == Path::new(manifest) => {
            replace_files([(path.as_path(), text)])?;
        }
        Some(path) => write_file(path, &text)?,
        None => {
            let mut out = standard_output();
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
    }
    Ok(ExitStatus::Clean)
}

fn sign_document(
    object: Document,
    key: &ManifestSigningKey,
    arguments: &SignArguments,
) -> Result<String, CommandFailure> {
    let place = object.locate(&[]);
    let mut value = object.value;
    let earlier = if arguments.replace { Earlier::Replace } else { Earlier::Keep };
    let signed = signing::sign_manifest(&mut value, key, &arguments.annotation_domain, earlier)
        .map_err(|problem| signing_failure(&format!("{place}: "), &problem))?;
    if signed == Signed::Already {
        print_stderr(format_args!("{place}: has a signature with this key already"));
    }
    Ok(yaml_text(&value))
}

/// Reads the key. No error message quotes its content.
fn read_private_key(path: &str) -> Result<ManifestSigningKey, CommandFailure> {
    let text = read_key_text(path)?;
    ManifestSigningKey::from_pem(&text)
        .map_err(|wrong| signing_failure(&format!("cannot use the key `{path}`: "), &wrong))
}

fn read_key_text(path: &str) -> Result<String, CommandFailure> {
    let problem = |error: String| CommandFailure::usage(format!("cannot read the key `{path}`: {error}"));
    let mut text = String::new();
    let reading = File::open(path).and_then(|file| file.take(MAX_KEY_BYTES + 1).read_to_string(&mut text));
    reading.map_err(|error| problem(files::io_error_text(&error)))?;
    if text.len() as u64 > MAX_KEY_BYTES {
        return Err(problem(format!("it has more than {} KiB", MAX_KEY_BYTES >> 10)));
    }
    Ok(text)
}

fn signing_failure(prefix: &str, problem: &NotSigned) -> CommandFailure {
    CommandFailure::usage(format!("{prefix}{}", problem.message)).help(problem.help)
}

fn signing_input(path: &str) -> Input {
    match path {
        "-" => Input::Standard,
        path => Input::File(path.into()),
    }
}
