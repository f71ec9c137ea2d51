//! What a template reads of its context, found without rendering it.
//!
//! The answer is on the safe side: it may name more than a rendering reads, never less.

use std::collections::BTreeSet;

use kubewright_value::Text;

use super::ast::{Branch, Command, Expression, Node, Pipe, ROOT, Term, Trees};
use super::functions::Access;

/// The parts of the context that a template may read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RootReads {
    everything: bool,
    // INVARIANT: no path is the start of another one's meaning: each stands for the whole value at its end.
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

/// What is known of a template before it runs.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub reads: RootReads,
    pub unrepeatable: BTreeSet<&'static str>,
    pub patterns: BTreeSet<Text>,
}

/// Looks through all templates of a text, of which `main` is the one that is rendered.
pub(super) fn facts(main: &str, trees: &Trees) -> Facts {
    let mut finder = Finder { facts: Facts::default() };
    for (name, nodes) in trees {
        // A defined template can be given anything as its dot.
        finder.nodes(nodes, if name == main { Dot::Root } else { Dot::Unknown });
    }
    finder.facts
}

/// What `.` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dot {
    Root,
    /// A value that some pipeline gave, whose reading was noted there.
    Value,
    /// The argument of a defined template, noted where it is given.
    Unknown,
}

struct Finder {
    facts: Facts,
}

impl Finder {
    fn nodes(&mut self, nodes: &[Node], dot: Dot) {
        for node in nodes {
            match node {
                Node::Text(_) | Node::Break | Node::Continue => {}
                Node::Action(pipe) => self.pipe(pipe, dot),
                Node::Template { pipe, .. } => {
                    if let Some(pipe) = pipe {
                        self.pipe(pipe, dot);
                    }
                }
                Node::If(branch) => self.branch(branch, dot, dot),
                Node::With(branch) | Node::Range(branch) => self.branch(branch, dot, Dot::Value),
            }
        }
    }

    fn branch(&mut self, branch: &Branch, dot: Dot, inner: Dot) {
        self.pipe(&branch.pipe, dot);
        self.nodes(&branch.then, inner);
        self.nodes(branch.otherwise.as_deref().unwrap_or_default(), dot);
    }

    fn pipe(&mut self, pipe: &Pipe, dot: Dot) {
        for command in &pipe.commands {
            self.command(command, dot);
        }
    }

    fn command(&mut self, command: &Command, dot: Dot) {
        if let [
            Expression { kind: Term::Function(function), .. },
            Expression { kind: Term::Text(pattern), .. },
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

    fn expression(&mut self, expression: &Expression, dot: Dot) {
        match &expression.kind {
            Term::Nil | Term::Bool(_) | Term::Text(_) | Term::Number(_) => {}
            Term::Dot => self.whole(dot),
            Term::Field(fields) => self.path(dot, fields),
            // The root variable is the context, except in a defined template.
            Term::Variable(ROOT, fields) if dot == Dot::Unknown || fields.is_empty() => {
                self.facts.reads.everything |= dot != Dot::Unknown;
            }
            Term::Variable(ROOT, fields) => self.path(Dot::Root, fields),
            Term::Variable(..) => {}
            Term::Chain(inner, _) => self.expression(inner, dot),
            Term::Pipe(pipe) => self.pipe(pipe, dot),
            Term::Function(function) => {
                if function.access != Access::Free {
                    self.facts.unrepeatable.insert(function.name);
                }
            }
        }
    }

    fn whole(&mut self, dot: Dot) {
        self.facts.reads.everything |= dot == Dot::Root;
    }

    fn path(&mut self, dot: Dot, fields: &[Text]) {
        if dot == Dot::Root {
            self.facts.reads.paths.insert(fields.to_vec());
        }
    }
}
