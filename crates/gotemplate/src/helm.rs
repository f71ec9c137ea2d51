//! Templates of a Helm chart: several files that share their named templates, and what was printed by what.
//!
//! Each piece of the output is marked with the place in the file whose rendering it is part of: what a named template prints
//! is marked where that file calls it. So every line of a manifest has a line of its own template.

use std::collections::HashMap;
use std::sync::Arc;

use kubewright_value::{Budget, Text, Value};

use super::ast::{NamedTemplates, Pipe, ROOT, TemplateExpression, TemplateTerm, VariableNames};
use super::call::{FunctionCall, RegexCache};
use super::eval::CommandArguments;
use super::item::TemplateItem;
use super::reads::TemplateFacts;
use super::run::{Run1, TemplateRun};
use super::{FunctionSet, GoTemplate, GoTemplateError, Inputs, TemplateContext, parse};

/// The field of the root with the values of the chart.
const VALUES: &str = "Values";

/// All templates of a chart.
#[derive(Debug)]
pub struct HelmTemplates {
    chart: Arc<ChartTrees>,
}

/// The templates of all files by name. The template of a file has the name of the file.
#[derive(Debug, Default)]
pub(super) struct ChartTrees {
    pub(super) trees: NamedTemplates,
    texts: HashMap<Text, Text>,
}

/// What a template printed.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RenderedTemplate {
    /// The text.
    pub text: String,
    /// What printed its parts, in the order of the text.
    pub marks: Vec<OutputMark>,
}

/// What printed a part of a text, up to the next mark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputMark {
    /// Where the part starts in the output.
    pub start: usize,
    /// Where it comes from in the text of the template.
    pub at: usize,
    /// Whether the part is text of the template, so that each byte of it has its own place.
    pub is_text: bool,
    /// The path to the value that an action prints.
    pub value: Option<Vec<String>>,
}

impl HelmTemplates {
    /// Parses all files of a chart, each a name and a text. Named templates of later files replace those of earlier ones.
    /// Also returns why files are left out that are not templates, or call a function that is not known here.
    #[must_use]
    pub fn parse(files: &[(String, String)]) -> (Self, Vec<GoTemplateError>) {
        let mut chart = ChartTrees::default();
        let mut errors = Vec::new();
        for (name, text) in files {
            match parse::parse_template(name, text, &FunctionSet::helm()) {
                Ok(parsed) => {
                    chart.trees.extend(parsed.trees);
                    chart.texts.insert(name.as_str().into(), text.as_str().into());
                }
                Err(error) => errors.push(error),
            }
        }
        (Self { chart: Arc::new(chart) }, errors)
    }

    /// Returns whether the file `name` was parsed.
    #[must_use]
    pub fn has_file(&self, name: &str) -> bool {
        self.chart.texts.contains_key(name)
    }

    /// Renders the file `name` with `root` as its dot.
    ///
    /// # Errors
    /// When the template does not fit the values, or the budget is used up.
    pub fn render(
        &self,
        name: &str,
        root: &Value,
        budget: &mut Budget,
    ) -> Result<RenderedTemplate, GoTemplateError> {
        let text = self.chart.texts.get(name).cloned().unwrap_or_default();
        let template = chart_template(name.into(), text, NamedTemplates::new(), Arc::clone(&self.chart));
        let (context, inputs) = (TemplateContext::new(), Inputs::default());
        let call = FunctionCall::new(budget, &context, &inputs, &template.regexes);
        let mut run = TemplateRun::new(&template, call);
        let root = TemplateItem::json(root);
        run.root = root.clone();
        run.tracker = Some(OutputTracker { dot: Some(Vec::new()), ..OutputTracker::default() });
        run.execute_on(&root).map_err(|error| *error)
    }
}

/// Returns a template that sees the templates of `chart`.
fn chart_template(name: Text, text: Text, trees: NamedTemplates, chart: Arc<ChartTrees>) -> GoTemplate {
    GoTemplate {
        name,
        text,
        trees,
        names: VariableNames::new(),
        literal: None,
        facts: TemplateFacts::default(),
        regexes: RegexCache::new(),
        chart: Some(chart),
    }
}

/// Records what prints the output.
#[derive(Debug, Default)]
pub(super) struct OutputTracker {
    marks: Vec<OutputMark>,
    /// The path from the root to the dot, if the dot is a part of it.
    dot: Option<Vec<String>>,
    /// Where the file calls the named template that is being executed.
    frame: Option<(usize, Option<Vec<String>>)>,
    /// The paths of variables, by their place on the stack, ascending.
    variables: Vec<(usize, Vec<String>)>,
}

impl OutputTracker {
    /// Forgets the variables from `place` of the stack on.
    fn forget_variables(&mut self, place: usize) {
        self.variables.retain(|(known, _)| *known < place);
    }

    fn mark(&mut self, start: usize, at: usize, is_text: bool, value: Option<Vec<String>>) {
        let mark = match &self.frame {
            Some((at, value)) => OutputMark { start, at: *at, is_text: false, value: value.clone() },
            None => OutputMark { start, at, is_text, value },
        };
        self.marks.push(mark);
    }
}

impl<'a> TemplateRun<'a> {
    /// Executes the main template on `dot`; returns what it printed and what printed it.
    fn execute_on(mut self, dot: &TemplateItem) -> Run1<RenderedTemplate> {
        let template = self.template;
        let Some(nodes) = template.tree(&template.name) else { return Ok(RenderedTemplate::default()) };
        self.all_nodes(nodes, dot)?;
        let marks = self.tracker.take().map(|tracker| tracker.marks).unwrap_or_default();
        Ok(RenderedTemplate { text: std::mem::take(&mut self.out), marks })
    }

    pub(super) fn mark_text(&mut self, at: u32) {
        let start = self.out.len();
        if let Some(tracker) = &mut self.tracker {
            tracker.mark(start, at as usize, true, None);
        }
    }

    pub(super) fn mark_action(&mut self, pipe: &Pipe) {
        let start = self.out.len();
        let value = self.value_path(pipe);
        if let Some(tracker) = &mut self.tracker {
            tracker.mark(start, pipe.at as usize, false, value);
        }
    }

    /// Makes what `pipe` reads the dot, or the element of it at `index`; returns the dot before.
    pub(super) fn enter_dot(
        &mut self,
        pipe: Option<&Pipe>,
        index: Option<&TemplateItem>,
    ) -> Option<Vec<String>> {
        let found = pipe.and_then(|pipe| self.value_path(pipe));
        let depth = self.stack.len();
        let tracker = self.tracker.as_mut()?;
        let Some(pipe) = pipe else { return tracker.dot.clone() };
        let path = found.and_then(|mut path| {
            match index {
                None => {}
                Some(TemplateItem::Text(key)) => path.push(key.as_str().to_owned()),
                Some(TemplateItem::Int(_, number)) => path.push(number.to_string()),
                Some(_) => return None,
            }
            Some(path)
        });
        // The variables of a loop are on top of the stack, the element last.
        if index.is_some() && !pipe.variables.is_empty() && !pipe.is_assign {
            tracker.forget_variables(depth.saturating_sub(pipe.variables.len()));
            let element = path.clone().map(|path| (depth.saturating_sub(1), path));
            tracker.variables.extend(element);
        }
        std::mem::replace(&mut tracker.dot, path)
    }

    /// Remembers what the variable that was just declared on top of the stack holds.
    pub(super) fn declare_variable(&mut self, pipe: &Pipe) {
        let path = self.value_path(pipe);
        let place = self.stack.len().saturating_sub(1);
        if let Some(tracker) = &mut self.tracker {
            tracker.forget_variables(place);
            tracker.variables.extend(path.map(|path| (place, path)));
        }
    }

    /// Returns the path from the root to the first value that `pipe` reads.
    fn value_path(&self, pipe: &Pipe) -> Option<Vec<String>> {
        let tracker = self.tracker.as_ref()?;
        let mut words = pipe.commands.iter().flat_map(|command| &command.words);
        words.find_map(|word| self.term_path(word, tracker))
    }

    fn term_path(&self, word: &TemplateExpression, tracker: &OutputTracker) -> Option<Vec<String>> {
        let below = |start: &[String], fields: &[Text]| {
            let mut path = start.to_vec();
            path.extend(fields.iter().map(|field| field.as_str().to_owned()));
            (path.first().map(String::as_str) == Some(VALUES)).then_some(path)
        };
        match &word.kind {
            TemplateTerm::Dot => below(tracker.dot.as_ref()?, &[]),
            TemplateTerm::Field(fields) => below(tracker.dot.as_ref()?, fields),
            TemplateTerm::Variable(ROOT, fields) => below(&[], fields),
            TemplateTerm::Variable(variable, fields) => {
                let place = self.stack.iter().rposition(|(name, _)| name == variable)?;
                let (_, start) = tracker.variables.iter().find(|(known, _)| *known == place)?;
                below(start, fields)
            }
            TemplateTerm::Pipe(pipe) => self.value_path(pipe),
            _ => None,
        }
    }

    pub(super) fn leave_dot(&mut self, outer: Option<Vec<String>>) {
        if let Some(tracker) = &mut self.tracker {
            tracker.dot = outer;
        }
    }

    /// Marks what a named template prints where the file calls it; returns whether this is the call of the file.
    pub(super) fn enter_template(&mut self, pipe: Option<&Pipe>) -> bool {
        let Some(tracker) = &mut self.tracker else { return false };
        if tracker.frame.is_some() {
            return false;
        }
        let at = pipe.map_or(0, |pipe| pipe.at as usize);
        tracker.frame = Some((at, None));
        true
    }

    pub(super) fn leave_template(&mut self, is_outermost: bool) {
        if let Some(tracker) = self.tracker.as_mut().filter(|_| is_outermost) {
            tracker.frame = None;
        }
    }

    /// Runs `include` and `tpl`; nothing for other functions.
    pub(super) fn chart_function(
        &mut self,
        name: &str,
        values: &[TemplateItem],
    ) -> Option<Run1<TemplateItem>> {
        let chart = self.template.chart.as_ref()?;
        let (Some(TemplateItem::Text(text)), Some(value)) = (values.first(), values.get(1)) else {
            return None;
        };
        match name {
            "include" => {
                let template = self.template;
                let found = template
                    .trees
                    .get_key_value(text)
                    .or_else(|| template.chart.as_ref().and_then(|chart| chart.trees.get_key_value(text)));
                Some(match found {
                    Some((name, nodes)) => self.printed(name, nodes, value).map(TemplateItem::text),
                    None => Err(self.error(&format!("template {text:?} not defined"))),
                })
            }
            "tpl" => {
                let chart = Arc::clone(chart);
                Some(self.render_text(text, value, chart))
            }
            _ => None,
        }
    }

    /// Renders a text that is a template itself.
    fn render_text(
        &mut self,
        text: &Text,
        value: &TemplateItem,
        chart: Arc<ChartTrees>,
    ) -> Run1<TemplateItem> {
        let name = Text::new_static("tpl");
        let parsed = parse::parse_template(&name, text, &FunctionSet::helm()).map_err(Box::new)?;
        let template = chart_template(name, text.clone(), parsed.trees, chart);
        self.nested(|run| {
            let call =
                FunctionCall::new(run.call.budget, run.call.context, run.call.inputs, &template.regexes);
            let mut inner = TemplateRun::new(&template, call);
            inner.root = value.clone();
            Ok(TemplateItem::text(inner.execute_on(value)?.text))
        })
    }

    /// Calls `.Capabilities.APIVersions.Has` or `.Files.Get`.
    pub(super) fn chart_method(
        &mut self,
        receiver: &TemplateItem,
        name: &Text,
        arguments: Option<CommandArguments<'a, '_>>,
    ) -> Run1<TemplateItem> {
        let values = self.argument_values(arguments)?;
        let Some(TemplateItem::Text(wanted)) = values.first() else {
            return Err(self.error(&format!("wrong type of argument for {name}")));
        };
        Ok(match (receiver, name.as_str()) {
            (TemplateItem::Array(items), "Has") => {
                TemplateItem::Bool(items.iter().any(|item| item.as_str() == Some(wanted.as_str())))
            }
            (TemplateItem::Object(files), "Get") => {
                TemplateItem::text(files.get(wanted).and_then(Value::as_str).unwrap_or_default())
            }
            _ => {
                return Err(
                    self.error(&format!("can't evaluate field {name} in type {}", receiver.type_name()))
                );
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn rendered(files: &[(&str, &str)], root: &str) -> RenderedTemplate {
        let files: Vec<(String, String)> =
            files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let (templates, errors) = HelmTemplates::parse(&files);
        assert!(errors.is_empty(), "{errors:?}");
        let root = kubewright_value::json::parse(root).expect("a root");
        templates.render("main", &root, &mut Budget::default()).expect("a text")
    }

    #[track_caller]
    fn prints(text: &str, root: &str, want: &str) {
        let helpers = "{{ define \"name\" }}{{ .Values.name | default \"web\" }}{{ end }}";
        assert_eq!(rendered(&[("_helpers.tpl", helpers), ("main", text)], root).text, want, "{text}");
    }

    #[test]
    fn functions_of_helm_are_there() {
        prints("a: {{ include \"name\" . }}", "{\"Values\":{}}", "a: web");
        prints(
            "a:{{ toYaml .Values.x | nindent 2 }}",
            "{\"Values\":{\"x\":{\"b\":[1],\"a\":\"y\"}}}",
            "a:\n  a: \"y\"\n  b:\n  - 1",
        );
        prints("{{ tpl .Values.t . }}", "{\"Values\":{\"t\":\"{{ include \\\"name\\\" . }}!\"}}", "web!");
        prints("{{ .Values.no.where }}|{{ .Values.nothing }}", "{\"Values\":{\"no\":{}}}", "|");
        prints(
            "{{ .Capabilities.APIVersions.Has \"v1\" }}",
            "{\"Capabilities\":{\"APIVersions\":[\"v1\"]}}",
            "true",
        );
        prints("{{ .Files.Get \"a.txt\" }}", "{\"Files\":{\"a.txt\":\"b\"}}", "b");
        prints("{{ if (lookup \"v1\" \"Pod\" \"a\" \"b\") }}x{{ else }}y{{ end }}", "{}", "y");
        prints("{{ required \"needed\" .Values.a }}", "{\"Values\":{\"a\":1}}", "1");
    }

    /// Returns the paths of the values that are printed, in order.
    fn values(found: &RenderedTemplate) -> Vec<String> {
        found.marks.iter().filter_map(|mark| Some(mark.value.as_ref()?.join("."))).collect()
    }

    #[test]
    fn each_part_of_the_output_has_its_place_and_value() {
        let text = "a: 1\n{{- range .Values.list }}\n- {{ .name }}\n{{- end }}\nb: {{ .Values.b | quote }}\n";
        let root = "{\"Values\":{\"list\":[{\"name\":\"x\"},{\"name\":\"y\"}],\"b\":2}}";
        let found = rendered(&[("main", text)], root);
        assert_eq!(found.text, "a: 1\n- x\n- y\nb: \"2\"\n");
        assert_eq!(values(&found), ["Values.list.0.name", "Values.list.1.name", "Values.b"]);
        let of = |part: &str| {
            let at = found.text.find(part).expect("a part");
            found.marks.iter().rev().find(|mark| mark.start <= at).map(|mark| mark.at)
        };
        assert_eq!(of("\"2\"").and_then(|at| text.get(at..at + 9)), Some(".Values.b"));
    }

    #[test]
    fn variables_keep_the_path_of_their_value() {
        let text = "{{ $x := .Values.b }}{{ range $k, $v := .Values.m }}{{ $k }}={{ $v.n }}{{ $x }}{{ end }}";
        let found = rendered(&[("main", text)], "{\"Values\":{\"m\":{\"p\":{\"n\":1}},\"b\":2}}");
        assert_eq!(values(&found), ["Values.m.p.n", "Values.b"]);
    }
}
