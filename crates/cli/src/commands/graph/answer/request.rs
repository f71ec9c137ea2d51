//! What a request for a picture says.

use kubewright_draw::FollowDirection;
use kubewright_value::{Map, Value};

use super::super::GraphSelection;

/// Above this many boxes each application is one, unless the request says otherwise.
const APPLICATIONS_ABOVE: usize = 150;
/// The most boxes of one picture.
const MAX_BOXES: usize = 3_000;
/// The most edges that are followed from a focus.
const MAX_DEPTH: usize = 20;

/// A request for a picture.
#[derive(Debug, Clone)]
pub(crate) struct GraphRequest {
    /// What is drawn.
    pub(crate) selection: GraphSelection,
    /// Whether patterns are looked for.
    pub(crate) has_findings: bool,
    /// Whether the picture is a file of its own, with its style sheet and legend.
    pub(crate) is_standalone: bool,
}

impl GraphRequest {
    /// Reads `options`, of which each may be absent.
    ///
    /// # Errors
    /// When one has a wrong type or value; the message says which.
    pub(crate) fn read(options: &Value, sources: &str) -> Result<Self, String> {
        let options = Options(options);
        let text = |name| options.text(name).map(|text| (!text.is_empty()).then(|| text.to_owned()));
        let direction = match options.text("direction")? {
            "" | "both" => FollowDirection::Both,
            "in" => FollowDirection::In,
            "out" => FollowDirection::Out,
            other => return Err(format!("`direction` is `{other}`, use in, out or both")),
        };
        let chosen = match options.number("finding", 0)? {
            0 => Vec::new(),
            number => vec![number],
        };
        let selection = GraphSelection {
            focus: text("focus")?,
            depth: options.number("depth", 2)?.min(MAX_DEPTH),
            direction,
            namespaces: options.texts("namespaces")?,
            kinds: options.texts("kinds")?,
            edges: options.texts("edges")?,
            all_edges: options.flag("allEdges", false)?,
            each: options.flag("each", false)?,
            apps_above: options.number("appsAbove", APPLICATIONS_ABOVE)?,
            open: options.texts("open")?,
            max_boxes: options.number("maxBoxes", 1_500)?.min(MAX_BOXES),
            pattern: text("pattern")?,
            chosen,
            near: options.flag("near", false)?,
            sources: sources.to_owned(),
        };
        if selection.pattern.as_ref().is_some_and(|name| super::super::is_file(name)) {
            return Err("`pattern` is the name of a pattern".to_owned());
        }
        let (has_findings, is_standalone) =
            (options.flag("findings", true)?, options.flag("standalone", false)?);
        Ok(Self { selection, has_findings, is_standalone })
    }

    /// Reads the query of an address. Lists are names that are given several times.
    ///
    /// # Errors
    /// When a value is wrong; the message says which.
    pub(crate) fn read_query(query: &[(String, String)], sources: &str) -> Result<Self, String> {
        let mut options = Map::new();
        for (name, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
            let name = match name.as_str() {
                "namespace" => "namespaces",
                "kind" => "kinds",
                "edge" => "edges",
                name => name,
            };
            let value = match name {
                "namespaces" | "kinds" | "edges" | "open" => {
                    let known = options.get(name).and_then(Value::as_array).unwrap_or_default();
                    Value::array(known.iter().cloned().chain([value.as_str().into()]).collect())
                }
                "depth" | "appsAbove" | "maxBoxes" | "finding" => match value.parse::<usize>() {
                    Ok(number) => number.into(),
                    Err(_) => return Err(format!("`{name}` is `{value}`, use a number")),
                },
                "focus" | "direction" | "pattern" => value.as_str().into(),
                _ => (value == "true" || value == "1").into(),
            };
            options.insert(name.into(), value);
        }
        Self::read(&options.into(), sources)
    }
}

/// The options of a request.
struct Options<'v>(&'v Value);

impl<'v> Options<'v> {
    fn text(&self, name: &str) -> Result<&'v str, String> {
        match self.0.get(name).filter(|value| !value.is_null()) {
            None => Ok(""),
            Some(value) => value.as_str().ok_or_else(|| format!("`{name}` is not a text")),
        }
    }

    fn number(&self, name: &str, usual: usize) -> Result<usize, String> {
        match self.0.get(name).filter(|value| !value.is_null()) {
            None => Ok(usual),
            Some(value) => value
                .as_i64()
                .and_then(|number| usize::try_from(number).ok())
                .ok_or_else(|| format!("`{name}` is not a number from 0 on")),
        }
    }

    fn flag(&self, name: &str, usual: bool) -> Result<bool, String> {
        match self.0.get(name).filter(|value| !value.is_null()) {
            None => Ok(usual),
            Some(value) => value.as_bool().ok_or_else(|| format!("`{name}` is neither true nor false")),
        }
    }

    fn texts(&self, name: &str) -> Result<Vec<String>, String> {
        let wrong = || format!("`{name}` is not a list of texts");
        match self.0.get(name).filter(|value| !value.is_null()) {
            None => Ok(Vec::new()),
            Some(value) => value
                .as_array()
                .ok_or_else(wrong)?
                .iter()
                .map(|item| item.as_str().map(str::to_owned).ok_or_else(wrong))
                .collect(),
        }
    }
}
