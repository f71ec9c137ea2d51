//! `sign`: puts a signature into the annotations of manifests.
//!
//! All or nothing: when one document cannot be signed, nothing is written.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;

use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input};
use kubewright_kyverno::signing::{self, Earlier, ManifestSigningKey, NotSigned, Signed};
use kubewright_value::Document;

use crate::arguments::Sign;
use crate::failure::{Exit, Failure};
use crate::output::{ColorChoice, standard_output, tell, write_file, yaml_text};
use crate::rule_inputs::complain;

/// How long a file with a key may be; some have all sorts of keys in them.
const MAX_KEY: u64 = 1 << 20;

/// Runs the command.
///
/// # Errors
/// When a manifest or the key cannot be used, or the result cannot be written.
pub(crate) fn run(arguments: &Sign, color: ColorChoice) -> Result<Exit, Failure> {
    let real = |path: &Path| fs::canonicalize(path).ok();
    let output = arguments.output.as_deref().and_then(real);
    if output.is_some() && output == real(Path::new(&arguments.key)) {
        return Err(Failure::usage(format!("`{}` is the key, and would be written over", arguments.key)));
    }
    files::register(Path::new(&arguments.key));
    let key = private_key(&arguments.key)?;
    let mut problems = Vec::new();
    let documents = files::read_documents(&[input(&arguments.manifest)], &mut problems);
    let objects = files::objects_of(documents, &mut problems);
    if complain(&problems, color.paint_errors()) || problems.iter().any(Diagnostic::is_error) {
        return Ok(Exit::BadInput);
    }
    if objects.is_empty() {
        return Err(Failure::usage(format!("there is no object in `{}`", arguments.manifest)));
    }
    let mut text = String::new();
    for object in objects {
        let signed = sign(object, &key, arguments)?;
        text.push_str(if text.is_empty() { "" } else { "---\n" });
        text.push_str(&signed);
    }
    match &arguments.output {
        // A manifest that names itself as the output is signed in place; any other file that is read is kept.
        Some(path) if path.as_path() == Path::new(&arguments.manifest) => {
            fs::write(path, text).map_err(Failure::writing(path))?;
        }
        Some(path) => write_file(path, &text)?,
        None => {
            let mut out = standard_output();
            out.write_all(text.as_bytes())?;
            out.flush()?;
        }
    }
    Ok(Exit::Clean)
}

fn sign(object: Document, key: &ManifestSigningKey, arguments: &Sign) -> Result<String, Failure> {
    let place = object.locate(&[]);
    let mut value = object.value;
    let earlier = if arguments.replace { Earlier::Replace } else { Earlier::Keep };
    let signed = signing::sign_manifest(&mut value, key, &arguments.annotation_domain, earlier)
        .map_err(|problem| failure(&format!("{place}: "), &problem))?;
    if signed == Signed::Already {
        tell(format_args!("{place}: has a signature with this key already"));
    }
    Ok(yaml_text(&value))
}

/// Reads the key. What is in it is never told.
fn private_key(path: &str) -> Result<ManifestSigningKey, Failure> {
    let problem = |error: String| Failure::usage(format!("cannot read the key `{path}`: {error}"));
    let mut text = String::new();
    let reading = File::open(path).and_then(|file| file.take(MAX_KEY + 1).read_to_string(&mut text));
    reading.map_err(|error| problem(files::io_error_text(&error)))?;
    if text.len() as u64 > MAX_KEY {
        return Err(problem(format!("it has more than {} KiB", MAX_KEY >> 10)));
    }
    ManifestSigningKey::from_pem(&text)
        .map_err(|wrong| failure(&format!("cannot use the key `{path}`: "), &wrong))
}

fn failure(prefix: &str, problem: &NotSigned) -> Failure {
    Failure::usage(format!("{prefix}{}", problem.message)).help(problem.help)
}

fn input(path: &str) -> Input {
    match path {
        "-" => Input::Standard,
        path => Input::File(path.into()),
    }
}
