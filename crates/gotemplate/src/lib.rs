//! Go's `text/template` with Sprig's functions, over the shared value.
//!
//! Text is lexed, parsed and looked through once; a [`GoTemplate`] is then rendered any
//! number of times, from several threads if need be. Behaviour is Go's, except that
//! whole JSON numbers print without an exponent, and that functions whose answer
//! depends on the clock, on chance or on the network are refused until allowed.

mod ast;
mod call;
mod context;
mod error;
mod eval;
mod functions;
mod helm;
mod item;
mod lex;
mod literal;
mod parse;
mod print;
mod printf;
mod reads;
mod run;
mod time_methods;
mod truth;

use std::sync::Arc;

pub use kubewright_golib::inputs::{Inputs, KeySource};
use kubewright_value::{Budget, Text};

pub use context::TemplateContext;
pub use error::{GoTemplateError, GoTemplateErrorKind};
pub use functions::{FunctionHelp, FunctionSet};
pub use helm::{HelmTemplates, OutputMark, RenderedTemplate};
pub use reads::RootReads;

use ast::{NamedTemplates, TemplateNode, VariableNames};
use call::{FunctionCall, RegexCache};
use helm::ChartTrees;
use reads::TemplateFacts;
use run::TemplateRun;

/// A parsed template.
#[derive(Debug)]
pub struct GoTemplate {
    name: Text,
    text: Text,
    trees: NamedTemplates,
    names: VariableNames,
    literal: Option<Text>,
    facts: TemplateFacts,
    regexes: RegexCache,
    /// The templates of a chart, for `include` and `tpl`.
    chart: Option<Arc<ChartTrees>>,
}

impl GoTemplate {
    /// Parses `text`; `name` appears in messages and is what `{{ template }}` calls it by.
    ///
    /// # Errors
    /// When the text is not a template, or calls a function that is unknown or refused.
    pub fn parse(name: &str, text: &str, functions: &FunctionSet) -> Result<Self, GoTemplateError> {
        let parse::ParsedTemplate { trees, names } = parse::parse_template(name, text, functions)?;
        let facts = reads::collect_facts(name, &trees);
        let regexes = facts
            .patterns
            .iter()
            .map(|p| (p.clone(), call::compile_or_message(kubewright_golib::regex::compile_regex(p))))
            .collect();
        let literal = trees.get(name).and_then(|nodes| constant_text(nodes));
        let (name, text) = (Text::new(name), Text::new(text));
        Ok(Self { name, text, trees, names, literal, facts, regexes, chart: None })
    }

    /// Renders the template with the fields of `context`.
    ///
    /// # Errors
    /// When the template does not fit the values, or the budget is used up.
    pub fn render(
        &self,
        context: &TemplateContext,
        inputs: &Inputs,
        budget: &mut Budget,
    ) -> Result<String, GoTemplateError> {
        if let Some(text) = self.literal()
            && budget.produce(text.len()).is_ok()
        {
            return Ok(text.to_owned());
        }
        let call = FunctionCall::new(budget, context, inputs, &self.regexes);
        TemplateRun::new(self, call).execute().map_err(|error| *error)
    }

    /// Returns the text if it is the same for every context: it contains no action.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        self.literal.as_deref()
    }

    /// Returns the name it was parsed under.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the text it was parsed from.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what a rendering may read of the context.
    #[must_use]
    pub fn root_reads(&self) -> &RootReads {
        &self.facts.reads
    }

    /// Returns the functions it calls that had to be allowed by name.
    pub fn unrepeatable(&self) -> impl Iterator<Item = &'static str> {
        self.facts.unrepeatable.iter().copied()
    }

    /// Returns the nodes of the template itself.
    fn main_tree(&self) -> Option<&[TemplateNode]> {
        // Most templates define no others, and need not be searched for.
        match self.trees.iter().next() {
            Some((name, nodes)) if *name == self.name => Some(nodes),
            _ => self.tree(&self.name),
        }
    }

    fn tree(&self, name: &str) -> Option<&[TemplateNode]> {
        let own = self.trees.get(name);
        own.or_else(|| self.chart.as_ref()?.trees.get(name)).map(Vec::as_slice)
    }
}

/// Returns the text of statements that are nothing but text.
fn constant_text(nodes: &[TemplateNode]) -> Option<Text> {
    let parts = nodes.iter().map(|node| match node {
        TemplateNode::Text(_, text) => Some(text.as_str()),
        _ => None,
    });
    parts.collect::<Option<String>>().map(Text::from)
}

// The example of the README is a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;
