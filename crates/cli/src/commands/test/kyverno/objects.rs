//! The objects of a test.

use std::collections::BTreeSet;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_k8s::{AdmissionRequest, Operation, UserInfo};
use kubewright_value::{Document, Text, Value};

use super::super::library::{CachedFile, SharedFile};
use super::file::{PayloadFixture, WantedResource};
use crate::codes::TEST_VALUE;
use crate::fixtures::FileWorld;
use kubewright_value::CompactSort as _;

/// The objects of a test.
pub(super) struct TestObjects<'b> {
    /// The evaluated objects; of two with the same name the first.
    pub(super) judged: Vec<TestObject<'b>>,
    /// The places of the evaluated objects, in the order of their names.
    by_name: Vec<usize>,
    /// Further objects that rules may look up.
    pub(super) others: Vec<Value>,
}

/// An object of a test.
pub(super) struct TestObject<'b> {
    /// As it is written.
    pub(super) document: &'b Document,
    /// The CREATE request of the object. It is large, and objects are moved into lists.
    pub(super) request: Box<AdmissionRequest>,
    /// The evaluation mode of the policies that evaluate it, if it is a payload.
    pub(super) payload: Option<&'static str>,
}

impl<'b> TestObjects<'b> {
    /// Takes the objects from files.
    pub(super) fn new(
        judged: &'b [SharedFile],
        payloads: &'b [(PayloadFixture, Vec<SharedFile>)],
        others: &'b [SharedFile],
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut seen = BTreeSet::new();
        let documents: Vec<&Document> = cached_documents(judged, problems);
        let judged = documents.into_iter().map(TestObject::new);
        let judged = judged.filter(|object| seen.insert(unique_name(&object.request)));
        let payloads =
            payloads.iter().filter_map(|(payload, loans)| TestObject::payload(payload, loans, problems));
        let judged: Vec<TestObject<'b>> = judged.chain(payloads).collect();
        let mut by_name: Vec<usize> = (0..judged.len()).collect();
        by_name.compact_sort_by_key(|place| judged.get(*place).map(|object| &object.request.name));
        Self { by_name, judged, others: documents_of(others, problems) }
    }

    /// Returns the evaluated objects that `wanted` selects.
    ///
    /// # Errors
    /// When there is none, with the existing ones.
    pub(super) fn find(
        &self,
        wanted: &WantedResource,
        kind: Option<&str>,
    ) -> Result<Vec<&TestObject<'b>>, String> {
        let kind = wanted.kind.as_deref().or(kind);
        let mut found = self.named(&wanted.name);
        // A payload may have the name of its file.
        if wanted.text != wanted.name {
            found.extend(self.named(&wanted.text));
            found.sort_unstable();
        }
        let found = found.into_iter().filter_map(|place| self.judged.get(place));
        let mut found: Vec<&TestObject<'b>> = found.filter(|object| object.is_called(wanted)).collect();
        if found.is_empty() {
            return Err(self.missing(wanted));
        }
        let Some(kind) = kind else { return Ok(found) };
        let is_of_kind = |object: &&TestObject<'b>| object.payload.is_some() || object.kind() == kind;
        if !found.iter().any(is_of_kind) {
            let there: Vec<String> = found.iter().map(|object| format!("`{}`", object.kind())).collect();
            return Err(format!("there is no {kind} `{}`; it is of kind {}", wanted.text, there.join(", ")));
        }
        found.retain(is_of_kind);
        Ok(found)
    }

    /// Returns the places of the objects called `name`, in their order.
    fn named(&self, name: &str) -> Vec<usize> {
        let name_at = |place: &usize| self.judged.get(*place).map_or("", |object| &object.request.name);
        let first = self.by_name.partition_point(|place| name_at(place) < name);
        let behind = self.by_name.get(first..).unwrap_or_default();
        behind.iter().take_while(|place| name_at(place) == name).copied().collect()
    }

    fn missing(&self, wanted: &WantedResource) -> String {
        let has_namespace = wanted.namespace.is_some();
        let names: Vec<String> = self.judged.iter().map(|object| object.name(has_namespace)).collect();
        match nearest_word(&wanted.text, names.iter().map(String::as_str)) {
            Some(near) => format!("there is no resource `{}`; did you mean `{near}`?", wanted.text),
            None if names.is_empty() => format!("there is no resource `{}`; the test has none", wanted.text),
            None => {
                let mut there: Vec<String> = names.iter().take(10).map(|name| format!("`{name}`")).collect();
                if names.len() > there.len() {
                    there.push("…".to_owned());
                }
                format!("there is no resource `{}`; the resources are {}", wanted.text, there.join(", "))
            }
        }
    }
}

impl<'b> TestObject<'b> {
    fn new(document: &'b Document) -> Self {
        Self {
            document,
            request: Box::new(AdmissionRequest::for_stored(document.value.clone(), "default")),
            payload: None,
        }
    }

    /// Returns the payload of a file, named as the test names the file.
    fn payload(
        payload: &PayloadFixture,
        loans: &'b [SharedFile],
        problems: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let mut documents = loans.iter().filter_map(|loan| loan.get()).flat_map(|book| &book.documents);
        let document = documents.find(|document| !document.value.is_null())?;
        if document.value.as_object().is_none() {
            let message = format!("the payload is of type {}, not an object", document.value.kind());
            problems.push(Diagnostic::new(&TEST_VALUE, message, document.locate(&[])));
            return None;
        }
        let name = payload.path.strip_prefix("./").unwrap_or(&payload.path);
        let request = AdmissionRequest::for_payload(document.value.clone(), name);
        Some(Self { document, request: Box::new(request), payload: Some(payload.mode) })
    }

    /// Returns the request for `policy` about the object, with `operation` or the one given in values.
    pub(super) fn asked(
        &self,
        operation: Option<Operation>,
        policy: &str,
        world: &FileWorld,
        user: Option<&UserInfo>,
    ) -> AdmissionRequest {
        let mut request = AdmissionRequest::clone(&self.request);
        let values = world.values();
        let selected = operation.or_else(|| values.operation(Some(policy), &request.name));
        request.set_operation(selected.unwrap_or(Operation::Create));
        values.place(&mut request);
        if let Some(user) = user {
            request.set_user(user);
        }
        request
    }

    /// Returns the kind as it is written.
    pub(super) fn kind(&self) -> &str {
        self.document.value.str_at(&["kind"])
    }

    fn is_called(&self, wanted: &WantedResource) -> bool {
        let (name, is_payload) = (&self.request.name, self.payload.is_some());
        let is_named = *name == wanted.name || (is_payload && *name == wanted.text);
        if !is_named || is_payload {
            return is_named;
        }
        let version = || self.document.value.get("apiVersion").and_then(Value::as_str);
        wanted.namespace.as_ref().is_none_or(|namespace| self.request.namespace == *namespace)
            && wanted.api_version.as_deref().is_none_or(|wanted| version() == Some(wanted))
    }

    fn name(&self, has_namespace: bool) -> String {
        match self.request.namespace.as_str() {
            namespace if has_namespace && !namespace.is_empty() => {
                format!("{namespace}/{}", self.request.name)
            }
            _ => self.request.name.to_string(),
        }
    }
}

/// Returns what no two objects have in common, and first that in which most of them differ.
fn unique_name(request: &AdmissionRequest) -> [Text; 4] {
    let metadata = |key: &str| Text::new(request.object.str_at(&["metadata", key]));
    let kind = &request.kind;
    [metadata("name"), kind.kind.clone(), metadata("namespace"), kind.group.clone()]
}

fn cached_documents<'b>(loans: &'b [SharedFile], problems: &mut Vec<Diagnostic>) -> Vec<&'b Document> {
    let books = loans.iter().filter_map(|loan| loan.get());
    books.flat_map(|book: &CachedFile| book.objects(problems)).collect()
}

fn documents_of(loans: &[SharedFile], problems: &mut Vec<Diagnostic>) -> Vec<Value> {
    cached_documents(loans, problems).into_iter().map(|document| document.value.clone()).collect()
}
