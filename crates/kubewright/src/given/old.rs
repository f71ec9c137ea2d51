//! How objects were before they are updated, for rules that compare or that forgive what was wrong already.

use std::collections::HashMap;

use kubewright_engine::Diagnostic;
use kubewright_k8s::{AdmissionRequest, ObjectName, Operation};
use kubewright_value::Value;

use crate::load;

/// Objects by kind, namespace and name.
#[derive(Debug, Default)]
pub(crate) struct OldObjects(HashMap<ObjectName, Value>);

impl OldObjects {
    /// Reads the objects in `paths`; those that name no namespace are in `namespace`.
    pub(crate) fn read(paths: &[String], namespace: &str, problems: &mut Vec<Diagnostic>) -> Self {
        let found = load::find(paths);
        problems.extend(found.problems);
        let documents = load::documents(&found.inputs, problems);
        let objects = load::objects_of(documents, problems).into_iter().map(|document| document.value);
        let named = objects.map(|object| {
            let request = AdmissionRequest::for_object(object, Operation::Create, namespace);
            (name_of(&request), request.object)
        });
        Self(named.collect())
    }

    /// Lets `request`, which updates an object, know how that object was, if it is among these.
    pub(crate) fn place(&self, request: &mut AdmissionRequest) {
        if request.operation == Operation::Update
            && let Some(old) = self.0.get(&name_of(request))
        {
            request.old_object = old.clone();
            request.is_old_object_assumed = false;
        }
    }
}

fn name_of(request: &AdmissionRequest) -> ObjectName {
    ObjectName {
        group: request.kind.group.clone(),
        kind: request.kind.kind.clone(),
        namespace: request.namespace.clone(),
        name: request.name.clone(),
    }
}
