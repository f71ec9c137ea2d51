//! The objects of a test.

use std::collections::HashSet;

use kubewright_engine::{Diagnostic, nearest_word};
use kubewright_k8s::{AdmissionRequest, ObjectName, Operation, UserInfo};
use kubewright_value::{Document, Value};

use super::super::library::{Book, Loan};
use super::file::{Payload, Wanted};
use crate::codes::TEST_VALUE;
use crate::fixtures::FileWorld;

/// The objects of a test.
pub(super) struct Objects<'b> {
    /// Those that are judged; of two with one name the first.
    pub(super) judged: Vec<Object<'b>>,
    /// Those that rules may look up besides.
    pub(super) others: Vec<Value>,
}

/// An object of a test.
pub(super) struct Object<'b> {
    /// As it is written.
    pub(super) document: &'b Document,
    /// The creation of it, as a cluster would see it.
    pub(super) request: AdmissionRequest,
    /// The evaluation mode of the only policies that judge it, where it is no Kubernetes object.
    pub(super) payload: Option<&'static str>,
}

impl<'b> Objects<'b> {
    /// Takes the objects from files.
    pub(super) fn new(
        judged: &'b [Loan],
        payloads: &'b [(Payload, Vec<Loan>)],
        others: &'b [Loan],
        problems: &mut Vec<Diagnostic>,
    ) -> Self {
        let mut seen = HashSet::new();
        let documents: Vec<&Document> = documents(judged, problems);
        let judged = documents.into_iter().map(Object::new);
        let judged = judged.filter(|object| seen.insert(ObjectName::of(&object.request.object)));
        let payloads =
            payloads.iter().filter_map(|(payload, loans)| Object::payload(payload, loans, problems));
        Self { judged: judged.chain(payloads).collect(), others: documents_of(others, problems) }
    }

    /// Returns the judged objects that `wanted` means.
    ///
    /// # Errors
    /// When there is none, with what there is instead.
    pub(super) fn find(&self, wanted: &Wanted, kind: Option<&str>) -> Result<Vec<&Object<'b>>, String> {
        let kind = wanted.kind.as_deref().or(kind);
        let named: Vec<&Object<'b>> = self.judged.iter().filter(|object| object.is_called(wanted)).collect();
        if named.is_empty() {
            return Err(self.missing(wanted));
        }
        let is_of_kind =
            |object: &&&Object<'b>| object.payload.is_some() || kind.is_none_or(|kind| object.kind() == kind);
        let found: Vec<&Object<'b>> = named.iter().filter(is_of_kind).copied().collect();
        match (found.is_empty(), kind) {
            (true, Some(kind)) => {
                let there: Vec<String> = named.iter().map(|object| format!("`{}`", object.kind())).collect();
                Err(format!("there is no {kind} `{}`; it is of kind {}", wanted.text, there.join(", ")))
            }
            _ => Ok(found),
        }
    }

    fn missing(&self, wanted: &Wanted) -> String {
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

impl<'b> Object<'b> {
    fn new(document: &'b Document) -> Self {
        Self {
            document,
            request: AdmissionRequest::for_stored(document.value.clone(), "default"),
            payload: None,
        }
    }

    /// Returns the payload of a file, which is called as the test calls the file.
    fn payload(payload: &Payload, loans: &'b [Loan], problems: &mut Vec<Diagnostic>) -> Option<Self> {
        let mut documents = loans.iter().filter_map(|loan| loan.get()).flat_map(|book| &book.documents);
        let document = documents.find(|document| !document.value.is_null())?;
        if document.value.as_object().is_none() {
            let message = format!("the payload is of type {}, not an object", document.value.kind());
            problems.push(Diagnostic::new(&TEST_VALUE, message, document.locate(&[])));
            return None;
        }
        let name = payload.path.strip_prefix("./").unwrap_or(&payload.path);
        let request = AdmissionRequest::for_payload(document.value.clone(), name);
        Some(Self { document, request, payload: Some(payload.mode) })
    }

    /// Returns what `policy` is asked about the object: `operation`, or the one that is given for it.
    pub(super) fn asked(
        &self,
        operation: Option<Operation>,
        policy: &str,
        world: &FileWorld,
        user: Option<&UserInfo>,
    ) -> AdmissionRequest {
        let mut request = self.request.clone();
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

    fn is_called(&self, wanted: &Wanted) -> bool {
        if self.payload.is_some() {
            return [wanted.text.as_str(), wanted.name.as_str()].contains(&self.request.name.as_str());
        }
        let version = self.document.value.get("apiVersion").and_then(Value::as_str);
        self.request.name == wanted.name
            && wanted.namespace.as_ref().is_none_or(|namespace| self.request.namespace == *namespace)
            && wanted.api_version.as_deref().is_none_or(|wanted| version == Some(wanted))
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

fn documents<'b>(loans: &'b [Loan], problems: &mut Vec<Diagnostic>) -> Vec<&'b Document> {
    let books = loans.iter().filter_map(|loan| loan.get());
    books.flat_map(|book: &Book| book.objects(problems)).collect()
}

fn documents_of(loans: &[Loan], problems: &mut Vec<Diagnostic>) -> Vec<Value> {
    documents(loans, problems).into_iter().map(|document| document.value.clone()).collect()
}
