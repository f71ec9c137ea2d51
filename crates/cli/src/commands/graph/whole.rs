//! A picture of all objects, or of those near one.

use std::collections::BTreeMap;

use kubewright_draw::{Class, GraphPicture, Picture, PictureScope};
use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_graph::{EdgeType, Graph, Id};
use kubewright_report::text::plural;
use kubewright_value::Text;
use kubewright_value::suggest::did_you_mean;

use super::overlay::Overlay;
use super::{GraphSelection, focus, words_as_texts};
use crate::codes;
use crate::failure::CommandFailure;
use crate::pattern_inputs::PatternInputs;

/// Returns the picture, and a diagnostic where it shows a part of the graph.
///
/// # Errors
/// When no object has the given edge type, kind or namespace.
pub(super) fn graph_picture(
    selection: &GraphSelection,
    inputs: &PatternInputs,
    focus: Option<Id>,
    overlay: &Overlay,
) -> Result<(Picture, Option<Diagnostic>), CommandFailure> {
    let graph = &inputs.graph;
    let types: Vec<EdgeType> =
        selection.edges.iter().map(|name| edge_type(graph, name)).collect::<Result<_, _>>()?;
    known(&selection.namespaces, "namespace", &graph_namespaces(graph))?;
    known(&selection.kinds, "kind", &graph.kinds())?;
    let choice = PictureScope {
        types,
        everything: selection.all_edges,
        namespaces: words_as_texts(&selection.namespaces),
        kinds: words_as_texts(&selection.kinds),
        keep: focus.into_iter().chain(overlay.leaders()).collect(),
        focus,
    };
    let GraphPicture { mut picture, places, left_out, edges_left_out, is_cut } = Picture::of(graph, &choice);
    picture.open = words_as_texts(&selection.open);
    overlay.mark(&mut picture, &places);
    if let Some((focus, place)) = focus.and_then(|focus| Some((focus, *places.get(&focus)?))) {
        if let Some(node) = picture.nodes.get_mut(place) {
            node.class = Class::Focus;
        }
        picture = picture.around(&[place], selection.depth, selection.direction);
        if let Some(node) = graph.node(focus) {
            picture.title = focus::node_argument(node);
        }
    }
    if !selection.all_edges && selection.edges.is_empty() {
        picture.simplify();
    }
    picture.legend.extend(overlay.sentences());
    if focus.is_none() {
        picture.legend.extend(sentence(&left_out, &edges_left_out));
    }
    if is_cut {
        picture.legend.push("There are more relationships than can be drawn.".to_owned());
    }
    Ok((picture, is_cut.then(|| too_much_drawn(selection))))
}

/// Returns the diagnostic of a graph with more relationships than can be drawn.
fn too_much_drawn(selection: &GraphSelection) -> Diagnostic {
    let message = "there are more relationships than can be drawn, and the picture shows the first ones";
    let help = "choose what is drawn with --focus, --namespace, --kind or --edge";
    codes::about_path(&codes::TOO_MUCH_DRAWN, &selection.sources, message).help(help)
}

/// Returns a sentence about edges that were left out because they say little.
fn sentence(nodes: &BTreeMap<Text, usize>, edges: &BTreeMap<Text, usize>) -> Option<String> {
    let mut parts: Vec<String> = nodes.iter().map(|(kind, count)| plural(*count, kind)).collect();
    parts.extend(edges.iter().map(|(name, count)| plural(*count, &format!("{name} line"))));
    (!parts.is_empty()).then(|| format!("Left out: {}. --all-edges draws them.", parts.join(", ")))
}

fn edge_type(graph: &Graph, name: &str) -> Result<EdgeType, CommandFailure> {
    let upper = name.to_ascii_uppercase().replace('-', "_");
    if let Some(kind) = graph.edge_type(name).or_else(|| graph.edge_type(&upper)) {
        return Ok(kind);
    }
    let names: Vec<&str> = graph.edge_types().map(|kind| graph.edge_type_name(kind)).collect();
    Err(CommandFailure::usage(format!("there is no edge type `{name}`")).help(
        match nearest_word(&upper, names.iter().copied()) {
            Some(near) => did_you_mean(near),
            None => format!("use one of {}", names.join(", ")),
        },
    ))
}

/// Refuses a word that is not among `all`, whatever its case.
fn known(words: &[String], what: &str, all: &[&str]) -> Result<(), CommandFailure> {
    let is_strange = |word: &&String| !all.iter().any(|one| one.eq_ignore_ascii_case(word));
    let Some(word) = words.iter().find(is_strange) else { return Ok(()) };
    Err(CommandFailure::usage(format!("no object has the {what} `{word}`")).help(
        match nearest_word(word, all.iter().copied()) {
            Some(near) => did_you_mean(near),
            None => format!("there are {}", all.join(", ")),
        },
    ))
}

fn graph_namespaces(graph: &Graph) -> Vec<&str> {
    let nodes = graph.ids().filter_map(|id| graph.node(id));
    let mut all: Vec<&str> =
        nodes.map(|node| node.namespace.as_str()).filter(|name| !name.is_empty()).collect();
    all.dedup();
    all
}
