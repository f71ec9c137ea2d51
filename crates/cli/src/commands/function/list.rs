//! The ResourceList that a function is called with.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;

use kubewright_engine::Diagnostic;
use kubewright_files::{self as files, Input};
use kubewright_k8s::ObjectName;
use kubewright_value::{Document, Map, Source, Value};

use super::marks;
use crate::codes::{NO_FUNCTION_CONFIG, NO_RESOURCE_LIST, NOT_A_MANIFEST};
use crate::commands::render::library::is_trait;
use crate::failure::CommandFailure;

const KIND: &str = "ResourceList";
const VERSIONS: [&str; 3] =
    ["config.kubernetes.io/v1", "config.kubernetes.io/v1beta1", "config.kubernetes.io/v1alpha1"];
/// Marks what is for tools and not for a cluster.
pub(super) const LOCAL: &str = "config.kubernetes.io/local-config";
/// Marks what says how another function is called.
const FUNCTION: &str = "config.kubernetes.io/function";
/// The group of what is written for this program.
const OWN_GROUP: &str = "kubewright.dev";

/// A ResourceList, read.
pub(super) struct ResourceList {
    whole: Map,
    /// The `functionConfig`.
    pub(super) config: Document,
    /// In order.
    pub(super) items: Vec<ListItem>,
    /// The manifests among the items, without the marks of those who call functions.
    pub(super) base: Vec<Document>,
}

/// One of its items.
pub(super) struct ListItem {
    pub(super) document: Document,
    pub(super) role: ItemRole,
}

/// What an item is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ItemRole {
    /// To be patched: this one of the base.
    Manifest(usize),
    /// A trait to be applied.
    Trait,
    /// Something that is none of our business.
    Other,
}

/// Reads the list on standard input; nothing where there is none.
///
/// # Errors
/// When standard input is a terminal.
pub(super) fn read_resource_list(
    problems: &mut Vec<Diagnostic>,
) -> Result<Option<ResourceList>, CommandFailure> {
    if io::stdin().is_terminal() {
        return Err(CommandFailure::usage("there is no ResourceList on standard input")
            .help("kustomize and kpt call this as a function; see `kubewright fn --help`"));
    }
    let mut wrong = Vec::new();
    let documents = files::read_documents(&[Input::Standard], &mut wrong);
    let is_readable = !wrong.iter().any(Diagnostic::is_error);
    problems.append(&mut wrong);
    if !is_readable {
        return Ok(None);
    }
    let documents: Vec<Document> =
        documents.into_iter().filter(|document| !document.value.is_null()).collect();
    Ok(parse_resource_list(&documents, problems).map_err(|problem| problems.push(*problem)).ok())
}

impl ResourceList {
    /// Returns the items as they were given.
    pub(super) fn given(&self) -> Vec<Value> {
        self.items.iter().map(|item| item.document.value.clone()).collect()
    }

    /// Returns the traits among the items.
    pub(super) fn traits(&self) -> impl Iterator<Item = &Document> {
        self.items.iter().filter(|item| item.role == ItemRole::Trait).map(|item| &item.document)
    }

    /// Returns this list with other items, and with `results` if there are any.
    pub(super) fn with(&self, items: Vec<Value>, results: Vec<Value>) -> Value {
        let mut whole = self.whole.clone();
        whole.insert("items".into(), Value::array(items));
        whole.remove("results");
        if !results.is_empty() {
            whole.insert("results".into(), Value::array(results));
        }
        whole.into()
    }
}

fn parse_resource_list(
    documents: &[Document],
    problems: &mut Vec<Diagnostic>,
) -> Result<ResourceList, Box<Diagnostic>> {
    let wrong = |message: &str, document: &Document| {
        let problem = Diagnostic::new(&NO_RESOURCE_LIST, message, document.locate(&[]));
        Box::new(problem.help("`kubewright render` takes plain manifests"))
    };
    let document = match documents {
        [one] => one,
        [] => return Err(wrong("standard input is empty, expected a ResourceList", &empty_document())),
        [_, second, ..] => return Err(wrong("there is a second document after the ResourceList", second)),
    };
    let text = |field: &str| document.value.str_at(&[field]);
    let Some(whole) = document.value.as_object().filter(|_| text("kind") == KIND) else {
        return Err(wrong("this is not a ResourceList", document));
    };
    if !VERSIONS.contains(&text("apiVersion")) {
        let message = format!("`{}` is not a known version of ResourceList", text("apiVersion"));
        let problem = Diagnostic::new(&NO_RESOURCE_LIST, message, document.locate(&["apiVersion".into()]));
        return Err(Box::new(problem.help(format!("use one of {}", VERSIONS.join(", ")))));
    }
    if let Some(items) = whole.get("items").filter(|items| !items.is_null() && items.as_array().is_none()) {
        let message = format!("`items` is a list, this is of type {}", items.kind());
        let location = document.locate(&["items".into()]);
        return Err(Box::new(Diagnostic::new(&NO_RESOURCE_LIST, message, location)));
    }
    let config = document.part(&["functionConfig".into()]).filter(|config| !config.value.is_null());
    let Some(config) = config else {
        let message = "the ResourceList has no `functionConfig`, which says what to do";
        let problem = Diagnostic::new(&NO_FUNCTION_CONFIG, message, document.locate(&[]));
        return Err(Box::new(problem.help("give it a TraitStack, a Trait, or a ConfigMap with settings")));
    };
    let (mut items, mut base) = (Vec::new(), Vec::new());
    for item in document.items(&["items".into()]) {
        let role = item_role(&item, &config, base.len(), problems);
        if let ItemRole::Manifest(_) = role {
            base.push(Document::made(marks::without_marks(&item.value), Arc::clone(&item.source)));
        }
        items.push(ListItem { document: item, role });
    }
    Ok(ResourceList { whole: whole.clone(), config, items, base })
}

/// Returns what `item` is there for, as manifest number `number` if it is one.
fn item_role(item: &Document, config: &Document, number: usize, problems: &mut Vec<Diagnostic>) -> ItemRole {
    let text = |field: &str| item.value.str_at(&[field]);
    if text("apiVersion").is_empty() || text("kind").is_empty() {
        let message = "this item has no apiVersion and kind, so no trait looks at it";
        problems.push(Diagnostic::new(&NOT_A_MANIFEST, message, item.locate(&[])));
        return ItemRole::Other;
    }
    let name = ObjectName::of(&item.value);
    let is_local = item.value.at(&["metadata", "annotations", LOCAL]).and_then(Value::as_str) == Some("true");
    // Who calls may put the configuration among the items as well.
    let is_function = item.value.at(&["metadata", "annotations", FUNCTION]).is_some();
    if is_function || name.group == OWN_GROUP || name == ObjectName::of(&config.value) {
        return ItemRole::Other;
    }
    match (is_local, is_trait(item)) {
        (true, true) => ItemRole::Trait,
        (true, false) => ItemRole::Other,
        (false, _) => ItemRole::Manifest(number),
    }
}

fn empty_document() -> Document {
    Document::made(Value::Null, Source::new("-", ""))
}
