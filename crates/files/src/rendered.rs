//! Charts and kustomizations among the inputs, which other programs render.
//!
//! The programs are run without a shell, with a time limit, and only for a folder that the user names.

use std::collections::HashSet;
use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use kubewright_engine::Diagnostic;
use kubewright_value::{Source, yaml};

use crate::chart::{RenderedChart, origins_of_output};
use crate::codes::{self, NOT_RENDERED};
use crate::find::{FoundFiles, Input, find_manifests, io_error_text, is_chart};
use crate::{memory, origins, read_source};

/// How long a program may run.
const RENDER_TIMEOUT: Duration = Duration::from_secs(60);

/// How much a program may write.
const MAX_RENDERED_BYTES: u64 = 1 << 28;

/// The names of the file that makes a folder a kustomization.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The label whose value is the name of the release in most charts.
const INSTANCE_LABEL: &str = "app.kubernetes.io/instance: ";

/// What `helm template` calls a release without a name.
const UNNAMED_RELEASE: &str = "release-name";

/// How charts are rendered and standard input is called.
#[derive(Debug, Clone, Default)]
pub struct RenderOptions {
    /// Files with values.
    pub helm_values: Vec<String>,
    /// Single values: `key=value`.
    pub helm_set: Vec<String>,
    /// The name of the release; by default that of the chart's folder.
    pub helm_name: Option<String>,
    /// The namespace of the release.
    pub helm_namespace: Option<String>,
    /// What standard input is called in messages and reports.
    pub stdin_name: Option<String>,
}

/// Finds the manifests that `paths` name. Charts and kustomizations are rendered, and standard input is read, so that it
/// can be used more than once.
#[must_use]
pub fn find_rendered(paths: &[String], options: &RenderOptions) -> FoundFiles {
    let mut found = FoundFiles::default();
    let mut seen = HashSet::new();
    for path in paths {
        let folder = Path::new(path);
        let rendered = match path.as_str() {
            _ if memory::current_memory().is_some() => None,
            "-" => Some(read_standard(options)),
            _ if folder.is_dir() && is_chart(folder) => Some(render_chart(folder, options)),
            _ if folder.is_dir() && is_kustomization(folder) => Some(build_kustomization(folder)),
            _ => None,
        };
        match rendered {
            None => {
                let part = find_manifests(std::slice::from_ref(path));
                found.inputs.extend(part.inputs.into_iter().filter(|input| seen.insert(input.name())));
                found.problems.extend(part.problems);
            }
            Some(Ok(source)) => found.inputs.push(Input::Text(source)),
            Some(Err(problem)) => found.problems.push(*problem),
        }
    }
    found
}

fn is_kustomization(folder: &Path) -> bool {
    KUSTOMIZATIONS.iter().any(|name| folder.join(name).is_file())
}

fn read_standard(options: &RenderOptions) -> Result<Arc<Source>, Box<Diagnostic>> {
    let source = read_source(&Input::Standard)?;
    let Some(name) = &options.stdin_name else {
        return Ok(trace_pipe(origins::with_written_origins(source, None), options));
    };
    let named =
        yaml::decode(name, source.text.clone().into_bytes()).map_err(|problem| Box::new(problem.into()))?;
    Ok(trace_pipe(origins::with_written_origins(named, None), options))
}

/// Returns the output of Helm with the lines of its templates, if the chart is here and is rendered the same with the options.
fn trace_pipe(source: Arc<Source>, options: &RenderOptions) -> Arc<Source> {
    let Some(folder) = origins::written_chart(&source.text).and_then(origins::find_chart) else {
        return source;
    };
    let instance = source.text.lines().find_map(|line| line.trim().strip_prefix(INSTANCE_LABEL));
    let names = [
        options.helm_name.as_deref(),
        instance.map(|name| name.trim().trim_matches('"')),
        Some(UNNAMED_RELEASE),
    ];
    let mut best = None;
    for name in names.into_iter().flatten() {
        let Ok(chart) = RenderedChart::render(&folder, name, options) else { continue };
        let (origins, traced, _) =
            origins_of_output(&chart, &source.text, &|line| source.origin(line).cloned());
        if best.as_ref().is_none_or(|(most, _)| traced > *most) {
            best = Some((traced, origins));
        }
    }
    match best {
        Some((traced, origins)) if traced > 0 => source.made_from(origins),
        _ => source,
    }
}

/// Runs `helm template`, or renders the chart here if that is not installed.
fn render_chart(folder: &Path, options: &RenderOptions) -> Result<Arc<Source>, Box<Diagnostic>> {
    let rendered = RenderedChart::render(folder, &release_name(folder, options), options);
    let name = folder.to_string_lossy();
    let own = || match &rendered {
        Ok(chart) => chart.output(),
        Err(error) => Err(error.clone()),
    };
    let (text, program) = if find_program("helm").is_some() {
        let arguments = helm_arguments(folder, options);
        (run_program(&[("helm", arguments)], folder, "a Helm chart")?, "helm template")
    } else {
        let text = own().map_err(|error| Box::new(not_rendered(folder, options, &error)))?;
        // One line says which program rendered the chart.
        let _ =
            writeln!(io::stderr(), "note: `helm` is not installed, so kubewright renders `{name}` itself");
        (text.into_bytes(), "rendered")
    };
    let source = made_source(folder, program, text)?;
    let Ok(chart) = rendered else { return Ok(source) };
    let (origins, _, _) = origins_of_output(&chart, &source.text, &|line| source.origin(line).cloned());
    Ok(Arc::clone(&source).made_from(origins))
}

/// Returns the diagnostic about a chart that cannot be rendered without Helm.
fn not_rendered(folder: &Path, options: &RenderOptions, why: &str) -> Diagnostic {
    let path = folder.to_string_lossy();
    let message =
        format!("`helm` is not installed, and kubewright cannot render the chart `{path}` itself: {why}");
    let command = command_line("helm", &helm_arguments(folder, options));
    codes::about_path(&NOT_RENDERED, &path, message)
        .help(format!("run Helm where it is installed: `{command} | kubewright … -r -`"))
}

/// Returns the arguments of helm for a chart.
fn helm_arguments(chart: &Path, options: &RenderOptions) -> Vec<String> {
    let mut arguments = vec!["template".to_owned(), release_name(chart, options), as_argument(chart)];
    if let Some(namespace) = &options.helm_namespace {
        arguments.extend(["--namespace".to_owned(), namespace.clone()]);
    }
    for (flag, values) in [("--values", &options.helm_values), ("--set", &options.helm_set)] {
        arguments.extend(values.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
    }
    arguments
}

/// Returns the name of the release.
fn release_name(chart: &Path, options: &RenderOptions) -> String {
    options.helm_name.clone().unwrap_or_else(|| {
        let folder = std::path::absolute(chart).unwrap_or_else(|_| chart.to_owned());
        let name = folder.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
        let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '-';
        if !name.is_empty() && name.chars().all(is_fit) { name } else { "release".to_owned() }
    })
}

/// Runs `kustomize build` or `kubectl kustomize`.
fn build_kustomization(folder: &Path) -> Result<Arc<Source>, Box<Diagnostic>> {
    let text = run_program(&kustomize_programs(folder), folder, "a kustomization")?;
    let source = made_source(folder, "kustomize build", text)?;
    if source.origin(1).is_some() {
        return Ok(source);
    }
    // The build itself is judged; a second one, which adds annotations, says which file each object is from.
    let annotated = annotated_build(folder).unwrap_or_default();
    let origins = origins::origins_beside(&source.text, &annotated);
    Ok(if origins.is_empty() { source } else { source.made_from(origins) })
}

fn kustomize_programs(folder: &Path) -> [(&'static str, Vec<String>); 2] {
    [
        ("kustomize", vec!["build".to_owned(), as_argument(folder)]),
        ("kubectl", vec!["kustomize".to_owned(), as_argument(folder)]),
    ]
}

/// Builds a kustomization above the one in `folder` that asks for the origin of each object, with paths from the root of the
/// file system; nothing where that is not possible.
fn annotated_build(folder: &Path) -> Option<String> {
    let root =
        fs::canonicalize(std::env::temp_dir()).ok()?.join(format!("kubewright-{}", std::process::id()));
    let target = fs::canonicalize(folder).ok()?;
    // kustomize takes relative paths only.
    let up = "../".repeat(root.components().count().saturating_sub(1));
    let below = target.to_str()?.trim_start_matches('/').to_owned();
    fs::create_dir(&root).ok()?;
    let text = format!(
        "resources: [{}]\nbuildMetadata: [originAnnotations]\n",
        kubewright_value::json::to_string(&format!("{up}{below}").into())
    );
    let built = fs::write(root.join("kustomization.yaml"), text)
        .ok()
        .and_then(|()| {
            let programs = kustomize_programs(&root);
            let (program, arguments) =
                programs.iter().find_map(|(name, arguments)| Some((find_program(name)?, arguments)))?;
            run_limited(&program, arguments).ok()?.ok()
        })
        .and_then(|(built, _)| String::from_utf8(built).ok());
    let _ = fs::remove_dir_all(&root);
    // The paths lead up to the root and down again.
    built.map(|built| built.replace(&up, "/"))
}

/// Returns a path that no program takes for a flag or a name of a repository.
fn as_argument(path: &Path) -> String {
    let text = path.to_string_lossy();
    if path.is_absolute() || text.starts_with('.') { text.into_owned() } else { format!("./{text}") }
}

fn made_source(folder: &Path, program: &str, text: Vec<u8>) -> Result<Arc<Source>, Box<Diagnostic>> {
    let name = format!("{} ({program})", folder.to_string_lossy());
    let source = yaml::decode(&name, text).map_err(|problem| Box::new(problem.into()))?;
    Ok(origins::with_written_origins(source, Some(folder)))
}

/// Runs the first of `programs` that is installed, and returns what it writes.
fn run_program(
    programs: &[(&str, Vec<String>)],
    folder: &Path,
    what: &str,
) -> Result<Vec<u8>, Box<Diagnostic>> {
    let path = folder.to_string_lossy();
    let problem = |message: String| codes::about_path(&NOT_RENDERED, &path, message);
    for (program, arguments) in programs {
        let Some(found) = find_program(program) else { continue };
        let command = command_line(program, arguments);
        return match run_limited(&found, arguments) {
            Ok(Ok((text, said))) => {
                // Warnings of the program, such as about a field that is deprecated.
                let _ = if said.is_empty() { Ok(()) } else { writeln!(io::stderr(), "{said}") };
                Ok(text)
            }
            Ok(Err(said)) => Err(Box::new(problem(format!("`{command}` failed: {said}")))),
            Err(error) => {
                Err(Box::new(problem(format!("cannot run `{command}`: {}", io_error_text(&error)))))
            }
        };
    }
    let Some((program, arguments)) = programs.first() else { return Ok(Vec::new()) };
    let message = format!("`{path}` is {what}, and `{program}` is not installed");
    let help =
        format!("run it where it is installed: `{} | kubewright … -r -`", command_line(program, arguments));
    Err(Box::new(problem(message).help(help)))
}

/// Returns a command as it is typed.
fn command_line(program: &str, arguments: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@".contains(c);
    let quoted = arguments.iter().map(|argument| {
        if !argument.is_empty() && argument.chars().all(is_plain) {
            argument.clone()
        } else {
            format!("'{}'", argument.replace('\'', "'\\''"))
        }
    });
    std::iter::once(program.to_owned()).chain(quoted).collect::<Vec<_>>().join(" ")
}

/// Returns the file of a program in the search path.
fn find_program(name: &str) -> Option<PathBuf> {
    let names = [name.to_owned(), format!("{name}{}", std::env::consts::EXE_SUFFIX)];
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        // The working directory may hold files of others.
        .filter(|folder| folder.is_absolute())
        .flat_map(|folder| names.clone().map(|name| folder.join(name)))
        .find(|file| file.is_file())
}

/// Runs a program; returns what it wrote and the first lines of what it complained about, or only these if it failed.
fn run_limited(program: &Path, arguments: &[String]) -> io::Result<Result<(Vec<u8>, String), String>> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().map(read_aside);
    let complaints = child.stderr.take().map(read_aside);
    let status = wait_limited(&mut child)?;
    let joined = |reader: Option<thread::JoinHandle<Vec<u8>>>| {
        reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
    };
    let (output, complaints) = (joined(output), joined(complaints));
    let complaints = String::from_utf8_lossy(&complaints);
    let said =
        complaints.lines().filter(|line| !line.trim().is_empty()).take(5).collect::<Vec<_>>().join("; ");
    Ok(match status {
        None => Err(format!("it took more than {} seconds", RENDER_TIMEOUT.as_secs())),
        Some(status) if !status.success() && said.is_empty() => Err(status.to_string()),
        Some(status) if !status.success() => Err(said),
        Some(_) if output.len() as u64 > MAX_RENDERED_BYTES => {
            Err(format!("it wrote more than {} MiB", MAX_RENDERED_BYTES >> 20))
        }
        Some(_) => Ok((output, said)),
    })
}

/// Reads a pipe to its end, so that the program never waits for its reader.
fn read_aside(pipe: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.take(MAX_RENDERED_BYTES + 1).read_to_end(&mut bytes);
        bytes
    })
}

/// Waits for a program, and ends it if it takes too long.
fn wait_limited(child: &mut Child) -> io::Result<Option<std::process::ExitStatus>> {
    let deadline = Instant::now() + RENDER_TIMEOUT;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_they_are_typed() {
        let options = RenderOptions {
            helm_values: vec!["my values.yaml".to_owned()],
            helm_set: vec!["a=b".to_owned()],
            helm_namespace: Some("shop".to_owned()),
            ..RenderOptions::default()
        };
        let arguments = helm_arguments(Path::new("charts/shop"), &options);
        assert_eq!(
            command_line("helm", &arguments),
            "helm template shop ./charts/shop --namespace shop --values 'my values.yaml' --set a=b"
        );
    }
}
