//! `new`: writes a rule with a test that passes.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::arguments::{NewArguments, ScaffoldKind};
use crate::failure::{CommandFailure, ExitStatus};
use crate::output::standard_output;

/// The word that stands for the name of the rule in templates.
const NAME: &str = "NAME";

/// A file of a template: its name and content.
type TemplateFile = (&'static str, &'static str);

macro_rules! template {
    ($folder:literal, $rule:literal) => {
        [
            ($rule, include_str!(concat!("../../templates/", $folder, "/", $rule))),
            ("objects.yaml", include_str!(concat!("../../templates/", $folder, "/objects.yaml"))),
            (
                "kubewright-test.yaml",
                include_str!(concat!("../../templates/", $folder, "/kubewright-test.yaml")),
            ),
        ]
    };
}

const MODRULE: [TemplateFile; 3] = template!("modrule", "rule.yaml");
const POLICY: [TemplateFile; 3] = template!("policy", "policy.yaml");
const VPOL: [TemplateFile; 3] = template!("vpol", "policy.yaml");
const TRAIT: [TemplateFile; 3] = template!("trait", "trait.yaml");
const PATTERN: [TemplateFile; 3] = template!("pattern", "pattern.yaml");
const TEST: TemplateFile =
    ("kubewright-test.yaml", include_str!("../../templates/test/kubewright-test.yaml"));

/// Runs the command.
///
/// # Errors
/// When a file is there already or cannot be written.
pub(crate) fn run_new(arguments: &NewArguments) -> Result<ExitStatus, CommandFailure> {
    let [rule, objects, _] = POLICY;
    let files = match arguments.kind {
        ScaffoldKind::Modrule => MODRULE,
        ScaffoldKind::Policy => POLICY,
        ScaffoldKind::Vpol => VPOL,
        ScaffoldKind::Trait => TRAIT,
        ScaffoldKind::Pattern => PATTERN,
        ScaffoldKind::Test => [rule, objects, TEST],
    };
    let folder = arguments.dir.as_deref().unwrap_or(Path::new(".")).join(&arguments.name);
    let written = files.map(|(file, text)| (folder.join(file), text.replace(NAME, &arguments.name)));
    write_new_files(&written)?;
    let mut out = standard_output();
    for (path, _) in &written {
        writeln!(out, "{}", path.display())?;
    }
    writeln!(out, "try: kubewright test {}", folder.display())?;
    out.flush()?;
    Ok(ExitStatus::Clean)
}

/// Writes files of which none may be there yet.
///
/// # Errors
/// When one is, and then none is written; or when one cannot be written.
pub(super) fn write_new_files(files: &[(PathBuf, String)]) -> Result<(), CommandFailure> {
    if let Some((path, _)) = files.iter().find(|(path, _)| path.symlink_metadata().is_ok()) {
        let message = format!("`{}` is there already, and is not replaced", path.display());
        return Err(CommandFailure::usage(message).help("remove it, or choose another name or folder"));
    }
    for (path, text) in files {
        if let Some(folder) = path.parent().filter(|folder| *folder != Path::new("")) {
            fs::create_dir_all(folder).map_err(CommandFailure::writing(folder))?;
        }
        let file = fs::OpenOptions::new().write(true).create_new(true).open(path);
        let mut file = file.map_err(CommandFailure::writing(path))?;
        if let Err(error) = file.write_all(text.as_bytes()) {
            // Half of a file would be in the way of the next try.
            let _ = fs::remove_file(path);
            return Err(CommandFailure::writing(path)(error));
        }
    }
    Ok(())
}
