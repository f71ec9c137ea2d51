//! Reading of References files and the diagnostics of mistakes in them.

use kubewright_value::{Document, Source, yaml};

use super::References;
use crate::{Graph, Id};

fn document(text: &str) -> Document {
    let mut documents = yaml::read(&Source::new("references.yaml", text)).documents;
    documents.remove(0)
}

fn file(references: &str) -> String {
    format!("apiVersion: kubewright.dev/v1\nkind: References\nreferences:\n{references}")
}

/// Checks the edges `type to` of the first object.
#[track_caller]
fn check(references: &str, objects: &str, want: &[&str]) {
    let (references, problems) = References::default().with(&document(&file(references)));
    assert!(problems.is_empty(), "{problems:?}");
    let objects = yaml::read(&Source::new("objects.yaml", objects)).documents;
    let graph = Graph::build(objects.into_iter().map(|document| document.value), &references);
    let name = |id: Id| graph.node(id).map(|node| format!("{}/{}/{}", node.namespace, node.kind, node.name));
    let found: Vec<String> = graph
        .edges()
        .filter(|edge| graph.edge_type_name(edge.kind) != "IS_NAMESPACE_OF")
        .map(|edge| format!("{} {} {}", graph.edge_type_name(edge.kind), name(edge.to).unwrap(), edge.via))
        .collect();
    assert_eq!(found, want);
}

#[track_caller]
fn check_problems(references: &str, want: &[&str]) {
    let (_, problems) = References::default().with(&document(&file(references)));
    let found: Vec<String> = problems
        .iter()
        .map(|problem| format!("{} {} {}", problem.code.id, problem.location.position, problem.message))
        .collect();
    assert_eq!(found, want);
    assert!(problems.iter().all(|problem| !problem.help.is_empty()));
}

const DATABASE: &str = "apiVersion: example.com/v1\nkind: Database\nmetadata: {name: d, namespace: a, annotations: {example.com/owner: bob}}\nspec: {backups: [{storeRef: {kind: ClusterStore, name: s}}, {storeRef: {name: t, namespace: b}}], selector: {app: x}}\n";

#[test]
fn a_reference_may_name_its_kind_and_namespace() {
    check(
        "- {fromKind: Database.example.com, path: 'spec.backups[*].storeRef', toKind: [Store.example.com, ClusterStore.example.com], type: BACKS_UP_TO}",
        DATABASE,
        &[
            "BACKS_UP_TO /ClusterStore/s spec.backups[0].storeRef",
            "BACKS_UP_TO b/Store/t spec.backups[1].storeRef",
        ],
    );
}

#[test]
fn a_reference_may_be_a_bare_name() {
    check(
        "- {fromKind: Database, path: \"metadata.annotations['example.com/owner']\", toKind: User.example.com, namespace: none}",
        DATABASE,
        &["REFERS_TO /User/bob metadata.annotations['example.com/owner']"],
    );
}

#[test]
fn a_reference_of_another_group_or_kind_makes_no_edge() {
    check(
        "- {fromKind: Database.other.com, path: spec.selector, toKind: Store}\n- {fromKind: '*', path: 'spec.backups[*].storeRef', toKind: Elsewhere.other.com, type: X}",
        DATABASE,
        &["X a/Elsewhere/t spec.backups[1].storeRef"].map(|_| "X b/Elsewhere/t spec.backups[1].storeRef"),
    );
}

#[test]
fn a_selector_selects_objects_of_a_kind() {
    let store =
        "---\napiVersion: example.com/v1\nkind: Store\nmetadata: {name: s, namespace: b, labels: {app: x}}\n";
    let reference =
        "- {fromKind: Database, path: spec.selector, toKind: Store, selector: true, type: WATCHES";
    check(&format!("{reference}}}"), &format!("{DATABASE}{store}"), &[]);
    check(
        &format!("{reference}, namespace: any}}"),
        &format!("{DATABASE}{store}"),
        &["WATCHES b/Store/s spec.selector"],
    );
}

#[test]
fn every_mistake_has_its_place() {
    check_problems(
        "- {fromKind: A, path: x, tokind: B}",
        &["KW-G001 4:26 unknown field `tokind`", "KW-G002 4:3 the reference has no `toKind`"],
    );
    check_problems(
        "- {fromKind: A, path: 'x..y', toKind: B}",
        &["KW-G004 4:25 the path `x..y` cannot be read: expected a key"],
    );
    check_problems("- {fromKind: 'A B', path: x, toKind: B}", &["KW-G003 4:14 `A B` is not a kind"]);
    check_problems(
        "- {fromKind: A, path: x, toKind: B, type: uses_sa}",
        &["KW-G003 4:43 `\"uses_sa\"` is not a type: types are written in capitals, digits and `_`"],
    );
    check_problems(
        "- {fromKind: A, path: x, toKind: B, namespace: any}",
        &["KW-G003 4:48 `namespace: any` is for selectors: a name is looked for in one namespace"],
    );
    check_problems(
        "- {fromKind: A, path: x, toKind: B}\n- {fromKind: A, path: x, toKind: B}",
        &["KW-G005 5:3 the reference from `A` at `x` is declared twice"],
    );
    check_problems("- 1", &["KW-G003 4:3 a reference is of type number"]);
}

#[test]
fn what_is_shipped_has_no_mistakes() {
    let text = include_str!("shipped.yaml");
    let (_, problems) = References::of(Vec::new(), true).with(&document(text));
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn every_code_has_a_page() {
    for code in super::codes() {
        assert!(code.page().starts_with(&format!("# {}: {}\n", code.id, code.title)), "{}", code.id);
    }
}
