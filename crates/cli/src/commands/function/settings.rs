//! Settings that are texts: the data of a ConfigMap, and annotations.

use clap::ValueEnum as _;
use kubewright_engine::{Code, Diagnostic, nearest_word};
use kubewright_value::{Document, Map, Source, Step, Value, yaml};

use super::place;
use crate::arguments::RenderPlane;
use crate::codes::{UNKNOWN_SETTING, WRONG_SETTING};
use crate::commands::render::context::NAMES;
use crate::commands::render::setting::PathSetting;

/// The settings that mean the same in a ConfigMap and elsewhere.
pub(super) const KNOWN: &[&str] = &[
    "parameters",
    "environmentConfigs",
    "context",
    "strict",
    "plane",
    "name",
    "namespace",
    "component",
    "project",
    "environment",
];
/// Those that only a ConfigMap can have.
const OF_MAPS: &[&str] = &["traits", "stack"];

/// A text with a name.
pub(super) struct TextSetting<'d> {
    pub(super) name: String,
    pub(super) text: String,
    document: &'d Document,
    path: Vec<Step>,
}

type SettingProblem = Box<Diagnostic>;

/// Returns the texts of the map at `path` of `document`; numbers and booleans that lack their quotes are taken for texts.
pub(super) fn read_text_settings<'d>(
    document: &'d Document,
    path: &[Step],
    problems: &mut Vec<Diagnostic>,
) -> Vec<TextSetting<'d>> {
    let map = match document.value.follow(path) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(map)) => map,
        Some(other) => {
            let message = format!("settings are a map, this is of type {}", other.kind());
            problems.push(Diagnostic::new(&WRONG_SETTING, message, document.locate(path)));
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for (name, value) in map.iter() {
        let text = match value {
            Value::String(text) => text.to_string(),
            Value::Null => String::new(),
            Value::Array(_) | Value::Object(_) => {
                let path: Vec<Step> = path.iter().cloned().chain([name.as_str().into()]).collect();
                let message = format!("`{name}` is text, this is of type {}", value.kind());
                let problem = Diagnostic::new(&WRONG_SETTING, message, document.locate(&path));
                problems
                    .push(problem.help("write `|` behind its name, and the lines below stay as they are"));
                continue;
            }
            other => other.to_string(),
        };
        let path = path.iter().cloned().chain([name.as_str().into()]).collect();
        found.push(TextSetting { name: name.to_string(), text, document, path });
    }
    found
}

impl TextSetting<'_> {
    /// Returns that this setting, without `prefix`, is none of `known`.
    pub(super) fn unknown(&self, prefix: &str, known: &[&str]) -> Diagnostic {
        let name = self.name.strip_prefix(prefix).unwrap_or(&self.name);
        let help = match nearest_word(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{prefix}{near}`?"),
            None => format!("the settings here are {}", known.join(", ")),
        };
        self.problem(&UNKNOWN_SETTING, format!("unknown setting `{}`", self.name)).help(help)
    }

    /// Returns the parts between commas and line breaks.
    pub(super) fn list(&self) -> impl Iterator<Item = String> {
        let parts = self.text.split([',', '\n']).map(str::trim);
        parts.filter(|part| !part.is_empty()).map(str::to_owned)
    }

    /// Returns whether it is true.
    pub(super) fn flag(&self) -> Result<bool, SettingProblem> {
        self.text.trim().parse().map_err(|_| self.wrong("true or false"))
    }

    /// Returns the plane that it names.
    pub(super) fn plane(&self) -> Result<RenderPlane, SettingProblem> {
        RenderPlane::from_str(self.text.trim(), false)
            .map_err(|_| self.wrong("`dataplane` or `observabilityplane`"))
    }

    /// Returns the map that it is the YAML of.
    pub(super) fn map(&self) -> Result<Document, SettingProblem> {
        let source = Source::new(place::text_of_config(&self.path), self.text.as_str());
        let reading = yaml::read(&source);
        let mut problems = reading.problems.into_iter().map(Diagnostic::from);
        if let Some(problem) = problems.find(Diagnostic::is_error) {
            return Err(Box::new(problem));
        }
        let is_full = |document: &Document| !document.value.is_null();
        match reading.documents.into_iter().filter(is_full).collect::<Vec<_>>().as_slice() {
            [] => Ok(Document::made(Map::new().into(), source)),
            [one] if one.value.as_object().is_some() => Ok(one.clone()),
            _ => Err(self.wrong("the YAML of a map")),
        }
    }

    /// Returns the value at the path that its name is.
    pub(super) fn placed(&self) -> Result<PathSetting, SettingProblem> {
        let root = self.name.split(['.', '[']).next().unwrap_or_default();
        if root == self.name || !NAMES.contains(&root) {
            let known: Vec<&str> = OF_MAPS.iter().chain(KNOWN).copied().collect();
            let mut unknown = self.unknown("", &known);
            if root != self.name {
                unknown.help = match nearest_word(root, NAMES) {
                    Some(near) => {
                        format!("did you mean `{near}{}`?", self.name.get(root.len()..).unwrap_or_default())
                    }
                    None => format!("a path starts with one of {}", NAMES.join(", ")),
                };
            }
            return Err(Box::new(unknown));
        }
        PathSetting::read(&self.name, &self.text).map_err(|why| Box::new(self.problem(&WRONG_SETTING, why)))
    }

    fn wrong(&self, expected: &str) -> SettingProblem {
        Box::new(self.problem(&WRONG_SETTING, format!("`{}` is {expected}", self.name)))
    }

    fn problem(&self, code: &'static Code, message: String) -> Diagnostic {
        Diagnostic::new(code, message, self.document.locate_key(&self.path))
    }
}
