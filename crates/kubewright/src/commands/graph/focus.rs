//! Finding the object that somebody names.

use kubewright_draw::short_name;
use kubewright_engine::nearest_word;
use kubewright_graph::{Graph, GraphNode, Id};

use crate::failure::Failure;

/// How many objects are listed where several could be meant.
const LISTED: usize = 12;

/// Returns the object that `KIND/[NAMESPACE/]NAME` means. The kind may be abbreviated, and written in any case.
///
/// # Errors
/// When there is none or more than one.
pub(super) fn find(graph: &Graph, text: &str) -> Result<Id, Failure> {
    let Some((kind, rest)) = text.split_once('/').filter(|(kind, rest)| !kind.is_empty() && !rest.is_empty())
    else {
        return Err(Failure::usage(format!("`{text}` names no object"))
            .help("write KIND/NAME or KIND/NAMESPACE/NAME, as in Service/shop/web"));
    };
    let (namespace, name) = match rest.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, rest),
    };
    let of_kind: Vec<(Id, &GraphNode)> = graph
        .ids()
        .filter_map(|id| Some((id, graph.node(id)?)))
        .filter(|(_, node)| is_called(node, kind))
        .collect();
    let is_here = |node: &GraphNode| namespace.is_none_or(|namespace| node.namespace == namespace);
    let found: Vec<&(Id, &GraphNode)> =
        of_kind.iter().filter(|(_, node)| node.name == name && is_here(node)).collect();
    match found.as_slice() {
        [] => Err(unknown(graph, text, kind, name, &of_kind)),
        [(id, _)] => Ok(*id),
        several => Err(ambiguous(text, several)),
    }
}

/// Returns a node as it is named on the command line.
pub(super) fn named(node: &GraphNode) -> String {
    match node.namespace.is_empty() {
        true => format!("{}/{}", node.kind, node.name),
        false => format!("{}/{}/{}", node.kind, node.namespace, node.name),
    }
}

/// Whether `kind` means the kind of `node`: `Service`, `service`, `services`, `svc`, `Service.serving.knative.dev`.
fn is_called(node: &GraphNode, kind: &str) -> bool {
    if let Some((kind, group)) = kind.split_once('.') {
        return node.group() == group && is_called(node, kind);
    }
    kind.eq_ignore_ascii_case(&node.kind)
        || kind.strip_suffix(['s', 'S']).is_some_and(|one| one.eq_ignore_ascii_case(&node.kind))
        || !kind.is_empty() && kind.eq_ignore_ascii_case(short_name(&node.kind))
}

fn unknown(graph: &Graph, text: &str, kind: &str, name: &str, of_kind: &[(Id, &GraphNode)]) -> Failure {
    let failure = Failure::usage(format!("there is no object `{text}`"));
    if of_kind.is_empty() {
        let kinds = graph.kinds();
        let near = nearest_word(kind, kinds.iter().copied());
        return failure.help(match near {
            Some(near) => format!("no object is of the kind `{kind}`; did you mean `{near}`?"),
            None => format!("no object is of the kind `{kind}`; there are {}", kinds.join(", ")),
        });
    }
    let elsewhere: Vec<&(Id, &GraphNode)> = of_kind.iter().filter(|(_, node)| node.name == name).collect();
    if !elsewhere.is_empty() {
        return failure.help(format!("there is {}", list(&elsewhere)));
    }
    match nearest_word(name, of_kind.iter().map(|(_, node)| node.name.as_str())) {
        Some(near) => {
            let near: Vec<&(Id, &GraphNode)> = of_kind.iter().filter(|(_, node)| node.name == near).collect();
            failure.help(format!("did you mean {}?", list(&near)))
        }
        None => failure.help(format!("there is {}", list(&of_kind.iter().collect::<Vec<_>>()))),
    }
}

fn ambiguous(text: &str, several: &[&(Id, &GraphNode)]) -> Failure {
    Failure::usage(format!("`{text}` could be {} objects", several.len()))
        .help(format!("say which one: {}", list(several)))
}

fn list(nodes: &[&(Id, &GraphNode)]) -> String {
    let mut names: Vec<String> =
        nodes.iter().take(LISTED).map(|(_, node)| format!("`{}`", named(node))).collect();
    if nodes.len() > LISTED {
        names.push(format!("and {} more", nodes.len() - LISTED));
    }
    names.join(", ")
}
