//! What every command about patterns needs: the patterns, and the graph of the objects.

use std::collections::HashMap;

use kubewright_dialects::patterns::{self, Pattern};
use kubewright_engine::{Diagnostic, nearest};
use kubewright_graph::{Graph, Id, References};
use kubewright_value::{Document, Location, Text, Value};

use crate::codes::{self, NOTHING_FOUND};
use crate::failure::Failure;
use crate::load::{self, Input, Wanted};
use crate::session::no_objects;
use crate::words::listed;

/// Patterns and objects, nothing looked for yet.
pub(crate) struct Survey {
    /// In the order in which they stand.
    pub(crate) patterns: Vec<Pattern>,
    /// All objects.
    pub(crate) graph: Graph,
    /// Where objects stand.
    places: HashMap<Id, Location>,
    /// What could not be read or compiled.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// How many objects there are.
    pub(crate) objects: usize,
}

impl Survey {
    /// Reads patterns (those that ship where there are no `paths`) and objects, and builds the graph.
    ///
    /// # Errors
    /// When standard input is named twice.
    pub(crate) fn open(paths: &[String], resources: &[String]) -> Result<Self, Failure> {
        if paths.iter().chain(resources).filter(|path| *path == "-").count() > 1 {
            return Err(Failure::usage("`-` stands twice, and standard input can be read only once"));
        }
        let mut diagnostics = Vec::new();
        let documents = documents_of(paths, &mut diagnostics);
        let references = references(&documents, &mut diagnostics);
        let patterns = compiled(&documents, paths, &references, &mut diagnostics);
        let found = load::find(resources);
        diagnostics.extend(found.problems);
        let objects = load::documents(&found.inputs, &mut diagnostics);
        let objects = load::objects_of(objects, &mut diagnostics);
        if objects.is_empty() && !diagnostics.iter().any(Diagnostic::is_error) {
            diagnostics.push(no_objects(resources));
        }
        let places: Vec<Location> = objects.iter().map(|object| object.locate(&[])).collect();
        let values: Vec<Value> = objects.into_iter().map(|object| object.value).collect();
        let graph = Graph::build(values.iter().cloned(), &references);
        let ids = values.iter().map(|value| identity(&graph, value));
        let places = ids.zip(places).filter_map(|(id, place)| Some((id?, place))).collect();
        Ok(Self { patterns, graph, places, diagnostics, objects: values.len() })
    }

    /// Leaves only the patterns called by one of `names`; all of them when there are no names.
    ///
    /// # Errors
    /// When a name fits no pattern.
    pub(crate) fn only(&mut self, names: &[String]) -> Result<(), Failure> {
        for name in names {
            if !self.patterns.iter().any(|pattern| pattern.name == name.as_str()) {
                let failure = Failure::usage(format!("there is no pattern `{name}`"));
                let near = nearest(name, self.patterns.iter().map(|pattern| pattern.name.as_str()));
                return Err(match near {
                    Some(near) => failure.help(format!("did you mean `{near}`?")),
                    None => failure,
                });
            }
        }
        if !names.is_empty() {
            self.patterns.retain(|pattern| names.iter().any(|name| pattern.name == name.as_str()));
        }
        Ok(())
    }

    /// Returns where an object stands.
    pub(crate) fn place(&self, id: Id) -> Option<&Location> {
        self.places.get(&id)
    }
}

fn documents_of(paths: &[String], diagnostics: &mut Vec<Diagnostic>) -> Vec<Document> {
    let found = load::find(paths);
    diagnostics.extend(found.problems);
    let inputs: &[Input] = &found.inputs;
    let documents = load::documents(inputs, diagnostics);
    load::taken(documents, Wanted::Payloads, &mut Vec::new())
}

/// Returns the references that `documents` teach.
fn references(documents: &[Document], diagnostics: &mut Vec<Diagnostic>) -> References {
    let mut references = References::default();
    for document in documents.iter().filter(|document| References::is_one(document)) {
        let (more, wrong) = references.with(document);
        references = more;
        diagnostics.extend(wrong);
    }
    references
}

fn compiled(
    documents: &[Document],
    paths: &[String],
    references: &References,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Pattern> {
    let own_types: Vec<Text> = references.own_types().to_vec();
    let mut compiled = Vec::new();
    let mut any = false;
    for document in documents.iter().filter(|document| patterns::is_pattern(document)) {
        any = true;
        let (pattern, wrong) = patterns::compile_with(document, &own_types);
        compiled.extend(pattern);
        diagnostics.extend(wrong);
    }
    if !any && !paths.is_empty() && !diagnostics.iter().any(Diagnostic::is_error) {
        let message = format!("no patterns found in {}", listed(paths));
        diagnostics.push(
            codes::about_path(&NOTHING_FOUND, &paths.join(" "), message)
                .help("a pattern is a document of kind Pattern"),
        );
    }
    compiled
}

/// Returns the node of an object of the set.
fn identity(graph: &Graph, object: &Value) -> Option<Id> {
    let text = |path: &[&str]| object.at(path).and_then(Value::as_str).unwrap_or_default();
    let group = text(&["apiVersion"]).split_once('/').map_or("", |(group, _)| group);
    graph.find(group, text(&["kind"]), text(&["metadata", "namespace"]), text(&["metadata", "name"]))
}
