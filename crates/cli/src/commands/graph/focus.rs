//! Finds the object of `--focus`.

use kubewright_draw::short_name;
use kubewright_engine::nearest_word;
use kubewright_graph::{Graph, GraphNode, Id};

use crate::failure::CommandFailure;

/// The maximum number of objects listed in an error.
const MAX_LISTED_OBJECTS: usize = 12;

/// Returns the object called `KIND/[NAMESPACE/]NAME`. The kind may be abbreviated, in any case.
///
/// # Errors
/// When there is none or more than one.
pub(super) fn find_focus(graph: &Graph, text: &str) -> Result<Id, CommandFailure> {
    let Some((kind, rest)) = text.split_once('/').filter(|(kind, rest)| !kind.is_empty() && !rest.is_empty())
    else {
        return Err(CommandFailure::usage(format!("`{text}` is not an object name"))
            .help("write KIND/NAME or KIND/NAMESPACE/NAME, as in Service/shop/web"));
    };
    let (namespace, name) = match rest.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, rest),
    };
    let of_kind: Vec<(Id, &GraphNode)> = graph
        .ids()
        .filter_map(|id| Some((id, graph.node(id)?)))
        .filter(|(_, node)| is_kind_called(node, kind))
        .collect();
    let is_here = |node: &GraphNode| namespace.is_none_or(|namespace| node.namespace == namespace);
    let found: Vec<&(Id, &GraphNode)> =
        of_kind.iter().filter(|(_, node)| node.name == name && is_here(node)).collect();
    match found.as_slice() {
        [] => Err(unknown_focus(graph, text, kind, name, &of_kind)),
        [(id, _)] => Ok(*id),
        several => Err(ambiguous_focus(text, several)),
    }
}

/// Returns a node as it is named on the command line.
pub(super) fn node_argument(node: &GraphNode) -> String {
    match node.namespace.is_empty() {
        true => format!("{}/{}", node.kind, node.name),
        false => format!("{}/{}/{}", node.kind, node.namespace, node.name),
    }
}

/// Whether `kind` means the kind of `node`: `Service`, `service`, `services`, `svc`, `Service.serving.knative.dev`.
fn is_kind_called(node: &GraphNode, kind: &str) -> bool {
    if let Some((kind, group)) = kind.split_once('.') {
        return node.group() == group && is_kind_called(node, kind);
    }
    kind.eq_ignore_ascii_case(&node.kind)
        || kind.strip_suffix(['s', 'S']).is_some_and(|one| one.eq_ignore_ascii_case(&node.kind))
        || !kind.is_empty() && kind.eq_ignore_ascii_case(short_name(&node.kind))
}

fn unknown_focus(
    graph: &Graph,
    text: &str,
    kind: &str,
    name: &str,
    of_kind: &[(Id, &GraphNode)],
) -> CommandFailure {
    let failure = CommandFailure::usage(format!("there is no object `{text}`"));
    if of_kind.is_empty() {
        let kinds = graph.kinds();
        let near = nearest_word(kind, kinds.iter().copied());
        return failure.help(match near {
            Some(near) => format!("no object has the kind `{kind}`; did you mean `{near}`?"),
            None => format!("no object has the kind `{kind}`; the kinds are {}", kinds.join(", ")),
        });
    }
    let elsewhere: Vec<&(Id, &GraphNode)> = of_kind.iter().filter(|(_, node)| node.name == name).collect();
    if !elsewhere.is_empty() {
        return failure.help(format!("there is {}", node_list(&elsewhere)));
    }
    match nearest_word(name, of_kind.iter().map(|(_, node)| node.name.as_str())) {
        Some(near) => {
            let near: Vec<&(Id, &GraphNode)> = of_kind.iter().filter(|(_, node)| node.name == near).collect();
            failure.help(format!("did you mean {}?", node_list(&near)))
        }
        None => failure.help(format!("there is {}", node_list(&of_kind.iter().collect::<Vec<_>>()))),
    }
}

fn ambiguous_focus(text: &str, several: &[&(Id, &GraphNode)]) -> CommandFailure {
    CommandFailure::usage(format!("`{text}` matches {} objects", several.len()))
        .help(format!("use one of {}", node_list(several)))
}

fn node_list(nodes: &[&(Id, &GraphNode)]) -> String {
    let mut names: Vec<String> =
        nodes.iter().take(MAX_LISTED_OBJECTS).map(|(_, node)| format!("`{}`", node_argument(node))).collect();
    if nodes.len() > MAX_LISTED_OBJECTS {
        names.push(format!("and {} more", nodes.len() - MAX_LISTED_OBJECTS));
    }
    names.join(", ")
}
