//! Calls a tool: the texts of the call become files in memory, and the command runs on them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser as _;
use kubewright_files::{self as files, Input, MemoryFiles};
use kubewright_value::{Map, Source, Value};

use super::tools::{McpTool, ParameterUse, TOOLS, ToolParameter};
use crate::arguments::CommandLine;
use crate::commands::run_complete;
use crate::failure::CommandFailure;
use crate::output::{ColorChoice, Paint, capture_output, snippet};

/// The maximum size of a result.
const MAX_RESULT_BYTES: usize = 64 << 10;

/// The maximum number of diagnostics in a result.
const MAX_DIAGNOSTICS: usize = 50;

/// The maximum number of files of one parameter.
const MAX_FILES: usize = 1_000;

/// Calls tools, which may read below a folder.
pub(super) struct ToolCaller {
    root: Option<PathBuf>,
}

/// The files and the words of a command.
struct PreparedCall {
    memory: MemoryFiles,
    words: Vec<String>,
}

impl ToolCaller {
    /// Returns a caller whose tools may read files below `root`.
    ///
    /// # Errors
    /// When `root` is not a folder.
    pub(super) fn new(root: Option<&Path>) -> Result<Self, CommandFailure> {
        let real = |path: &Path| {
            let found = fs::canonicalize(path).ok().filter(|path| path.is_dir());
            found.ok_or_else(|| CommandFailure::usage(format!("`{}` is not a folder", path.display())))
        };
        Ok(Self { root: root.map(real).transpose()? })
    }

    /// Returns whether tools may read files.
    pub(super) fn has_root(&self) -> bool {
        self.root.is_some()
    }

    /// Calls the tool that `params` name. A command that fails is a result that says so.
    ///
    /// # Errors
    /// When there is no such tool, or its arguments are not those that it takes.
    pub(super) fn call(&self, params: &Value) -> Result<Value, String> {
        let name = params.str_at(&["name"]);
        let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or_else(|| {
            let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
            format!("unknown tool `{name}`: the tools are {}", names.join(", "))
        })?;
        let empty = Value::from(Map::new());
        let arguments = params.get("arguments").filter(|arguments| !arguments.is_null()).unwrap_or(&empty);
        let prepared = self.prepare(tool, arguments)?;
        Ok(prepared.run())
    }

    fn prepare(&self, tool: &McpTool, arguments: &Value) -> Result<PreparedCall, String> {
        let given = arguments.as_object().ok_or("`arguments` is not an object")?;
        for name in given.keys() {
            let is_known = |one: &ToolParameter| {
                one.name == name.as_str() || (self.has_root() && one.files_name() == name.as_str())
            };
            if !tool.parameters.iter().any(is_known) {
                return Err(format!("`{}` takes no argument `{name}`", tool.name));
            }
        }
        let mut call = PreparedCall { memory: MemoryFiles::default(), words: vec![tool.name.to_owned()] };
        call.words.extend(fixed_words(tool.name).iter().map(|word| (*word).to_owned()));
        let mut positional = Vec::new();
        for parameter in tool.parameters {
            let text = text_argument(given, parameter)?;
            let paths = self.add_files(&mut call.memory, parameter, given)?;
            let values = match (parameter.use_as, text) {
                (ParameterUse::Word(_), Some(text)) => vec![text.to_owned()],
                (ParameterUse::File(_), Some(text)) => {
                    let path = format!("{}.yaml", parameter.name);
                    call.memory.insert(&path, Source::new(&path, text));
                    vec![path]
                }
                (_, None) if !parameter.fallback.is_empty() => vec![parameter.fallback.to_owned()],
                (_, None) => paths,
            };
            if values.is_empty() && parameter.is_required {
                return Err(format!("`{}` needs `{}`", tool.name, parameter.name));
            }
            let (ParameterUse::File(flag) | ParameterUse::Word(flag)) = parameter.use_as;
            match flag {
                "" => positional.extend(values),
                flag if flag.starts_with("--") => {
                    call.words.extend(values.iter().map(|value| format!("{flag}={value}")));
                }
                flag => call.words.extend(values.iter().flat_map(|value| [flag.to_owned(), value.clone()])),
            }
        }
        call.words.push("--".to_owned());
        call.words.extend(positional);
        Ok(call)
    }

    /// Reads the files that a parameter names, and returns their paths in memory.
    fn add_files(
        &self,
        memory: &mut MemoryFiles,
        parameter: &ToolParameter,
        given: &Map,
    ) -> Result<Vec<String>, String> {
        let Some(root) = self.root.as_ref().filter(|_| matches!(parameter.use_as, ParameterUse::File(_)))
        else {
            return Ok(Vec::new());
        };
        let Some(named) = given.get(&parameter.files_name()) else { return Ok(Vec::new()) };
        let named = named.as_array().ok_or_else(|| format!("`{}` is not a list", parameter.files_name()))?;
        let mut paths = Vec::new();
        for name in named {
            let name =
                name.as_str().ok_or_else(|| format!("`{}` is a list of texts", parameter.files_name()))?;
            let path = fs::canonicalize(root.join(name)).ok().filter(|path| path.starts_with(root));
            let path = path.ok_or_else(|| format!("there is no file `{name}` below the root folder"))?;
            let found = files::find_files(&[path.to_string_lossy().into_owned()]);
            for input in found.inputs.into_iter().take(MAX_FILES) {
                let Input::File(path) = &input else { continue };
                // A link in the folder may lead out of it.
                let is_below = fs::canonicalize(path).is_ok_and(|real| real.starts_with(root));
                let Some(source) = files::read_source(&input).ok().filter(|_| is_below) else { continue };
                let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
                memory.insert(&shown, Source::new(&shown, source.text.as_str()));
                paths.push(shown);
            }
        }
        Ok(paths)
    }
}

/// Returns the text that was given for a parameter.
fn text_argument<'g>(given: &'g Map, parameter: &ToolParameter) -> Result<Option<&'g str>, String> {
    let Some(value) = given.get(parameter.name).filter(|value| !value.is_null()) else { return Ok(None) };
    let text = value.as_str().ok_or_else(|| format!("`{}` is not a text", parameter.name))?;
    if !parameter.values.is_empty() && !parameter.values.contains(&text) {
        let known = parameter.values.join(", ");
        return Err(format!("`{}` is `{text}`, and must be one of {known}", parameter.name));
    }
    Ok(Some(text))
}

/// Returns the flags that a command always has.
fn fixed_words(tool: &str) -> &'static [&'static str] {
    match tool {
        "lint" | "apply" | "trace" => &["-o", "json"],
        _ => &[],
    }
}

impl PreparedCall {
    /// Runs the command on the files in memory.
    fn run(self) -> Value {
        let words = std::iter::once("kubewright").chain(self.words.iter().map(String::as_str));
        let command = match CommandLine::try_parse_from(words).map(|line| line.command) {
            Ok(Some(command)) => command,
            Ok(None) => return result("no command", true),
            Err(error) => return result(error.to_string().trim(), true),
        };
        let memory = Arc::new(self.memory);
        let (done, captured) =
            memory.in_place_of_all(|| capture_output(|| run_complete(command, ColorChoice::Never)));
        let mut text = captured.text();
        for diagnostic in captured.diagnostics.iter().take(MAX_DIAGNOSTICS) {
            text.push_str(&snippet(diagnostic, Paint::OFF).to_string());
            text.push('\n');
        }
        text.push_str(&captured.errors);
        if let Err(failure) = &done {
            text.push_str(&failure.to_string());
        }
        result(&text, done.is_err())
    }
}

/// Returns a result of the protocol, with the first part of a text that is too long.
fn result(text: &str, is_error: bool) -> Value {
    let piece = |text: &str| Value::from(Map::from([("type", Value::from("text")), ("text", text.into())]));
    let mut content = Vec::new();
    match text.len() > MAX_RESULT_BYTES {
        true => {
            let end = text.floor_char_boundary(MAX_RESULT_BYTES);
            content.push(piece(text.get(..end).unwrap_or_default()));
            content.push(piece(&format!("truncated: the first {end} of {} bytes are shown", text.len())));
        }
        false => content.push(piece(text)),
    }
    Map::from([("content", Value::array(content)), ("isError", is_error.into())]).into()
}
