//! The parts of its context that a template reads, found without rendering it.
//!
//! The answer is on the safe side: it may name more than a rendering reads, never less.

use std::collections::BTreeSet;

use kubewright_value::Text;

use super::ast::{
    NamedTemplates, Pipe, PipeCommand, ROOT, TemplateBranch, TemplateExpression, TemplateNode, TemplateTerm,
};
use super::functions::FunctionAccess;

/// The parts of the context that a template may read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootReads {
    everything: bool,
    // INVARIANT: no path is the start of another one's meaning: each means the whole value at its end.
    paths: BTreeSet<Vec<Text>>,
}

impl RootReads {
    /// Returns the paths that are read, each with all that is below it.
    pub fn paths(&self) -> impl Iterator<Item = &[Text]> {
        self.paths.iter().map(Vec::as_slice)
    }

    /// Returns whether something at, above or below `path` may be read, so that a change there can be seen.
    #[must_use]
    pub fn may_read(&self, path: &[&str]) -> bool {
        self.everything || self.paths.iter().any(|known| known.iter().zip(path).all(|(a, b)| a == b))
    }
}

/// The facts about a template that are known before it runs.
#[derive(Debug, Default)]
pub(super) struct TemplateFacts {
    pub reads: RootReads,
    pub unrepeatable: BTreeSet<&'static str>,
    pub patterns: BTreeSet<Text>,
}

/// Looks through all templates of a text, of which `main` is the one that is rendered.
pub(super) fn collect_facts(main: &str, trees: &NamedTemplates) -> TemplateFacts {
    let mut finder = FactFinder { facts: TemplateFacts::default() };
    for (name, nodes) in trees {
        // A defined template can be given anything as its dot.
        finder.nodes(nodes, if name == main { DotMeaning::Root } else { DotMeaning::Unknown });
    }
    finder.facts
}

/// The meaning of `.`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DotMeaning {
    Root,
    /// A value that some pipeline gave, whose reading was noted there.
    Value,
    /// The argument of a defined template, noted where it is given.
    Unknown,
}

struct FactFinder {
    facts: TemplateFacts,
}

impl FactFinder {
    fn nodes(&mut self, nodes: &[TemplateNode], dot: DotMeaning) {
        for node in nodes {
            match node {
                TemplateNode::Text(..) | TemplateNode::Break | TemplateNode::Continue => {}
                TemplateNode::Action(pipe) => self.pipe(pipe, dot),
                TemplateNode::Template { pipe, .. } => {
                    if let Some(pipe) = pipe {
                        self.pipe(pipe, dot);
                    }
                }
                TemplateNode::If(branch) => self.branch(branch, dot, dot),
                TemplateNode::With(branch) | TemplateNode::Range(branch) => {
                    self.branch(branch, dot, DotMeaning::Value);
                }
            }
        }
    }

    fn branch(&mut self, branch: &TemplateBranch, dot: DotMeaning, inner: DotMeaning) {
        self.pipe(&branch.pipe, dot);
        self.nodes(&branch.then, inner);
        self.nodes(branch.otherwise.as_deref().unwrap_or_default(), dot);
    }

    fn pipe(&mut self, pipe: &Pipe, dot: DotMeaning) {
        for command in &pipe.commands {
            self.command(command, dot);
        }
    }

    fn command(&mut self, command: &PipeCommand, dot: DotMeaning) {
        if let [
            TemplateExpression { kind: TemplateTerm::Function(function), .. },
            TemplateExpression { kind: TemplateTerm::Text(pattern), .. },
            ..,
        ] = command.words.as_slice()
            && super::functions::takes_pattern(function.name)
        {
            self.facts.patterns.insert(pattern.clone());
        }
        for word in &command.words {
            self.expression(word, dot);
        }
    }

    fn expression(&mut self, expression: &TemplateExpression, dot: DotMeaning) {
        match &expression.kind {
            TemplateTerm::Nil | TemplateTerm::Bool(_) | TemplateTerm::Text(_) | TemplateTerm::Number(_) => {}
            TemplateTerm::Dot => self.whole(dot),
            TemplateTerm::Field(fields) => self.path(dot, fields),
            // The root variable is the context, except in a defined template.
            TemplateTerm::Variable(ROOT, fields) if dot == DotMeaning::Unknown || fields.is_empty() => {
                self.facts.reads.everything |= dot != DotMeaning::Unknown;
            }
            TemplateTerm::Variable(ROOT, fields) => self.path(DotMeaning::Root, fields),
            TemplateTerm::Variable(..) => {}
            TemplateTerm::Chain(inner, _) => self.expression(inner, dot),
            TemplateTerm::Pipe(pipe) => self.pipe(pipe, dot),
            TemplateTerm::Function(function) => {
                if function.access != FunctionAccess::Free {
                    self.facts.unrepeatable.insert(function.name);
                }
            }
        }
    }

    fn whole(&mut self, dot: DotMeaning) {
        self.facts.reads.everything |= dot == DotMeaning::Root;
    }

    fn path(&mut self, dot: DotMeaning, fields: &[Text]) {
        if dot == DotMeaning::Root {
            self.facts.reads.paths.insert(fields.to_vec());
        }
    }
}
