//! What only some rule languages do in a cluster.

use std::time::Duration;

use kubewright_value::{Deadline, Document, Text, Value};

use crate::{ApiCall, Diagnostic, MissingAccess};
use kubewright_k8s::ApiPath;

/// What only some rule languages do in a cluster. Each method has a default that does nothing.
pub trait ClusterExtensions: Send + Sync {
    /// Returns whether it observes Pods being bound to Nodes.
    fn observes_pod_bindings(&self) -> bool {
        false
    }

    /// Returns the merge patch for `pod`, which `binding` binds to a Node.
    fn pod_binding_patch(&self, _binding: &Value, _pod: &Value) -> Option<Value> {
        None
    }

    /// Evaluates the rules and the object in `request` without storing anything, where the language has such requests.
    /// The error is one line for the requester; evaluation stops at `deadline`.
    fn dry_run(&self, _request: &Value, _deadline: Option<Deadline>) -> Option<Result<Value, String>> {
        None
    }

    /// Returns what is wrong with the rule object in `document` only where it is stored: what a cluster does besides the
    /// webhook cannot do what it asks for.
    fn storing_problems(&self, _document: &Document) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Returns what is wrong with replacing the rule object in `old` by that in `document`.
    fn update_problems(&self, _old: &Document, _document: &Document) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Returns what is wrong with where the rule object in `document` makes objects. `is_namespaced` says of a group and a
    /// kind whether its objects are in namespaces, where that is known.
    fn scope_problems(&self, _document: &Document, _is_namespaced: &KindScopes<'_>) -> Vec<Diagnostic> {
        Vec::new()
    }

    /// Returns what is wrong with storing the policy in `document` while the controller lacks rights that a rule needs: an
    /// error refuses the policy, a warning only tells.
    fn access_problem(&self, _document: &Document, _missing: &MissingAccess<'_>) -> Option<Diagnostic> {
        None
    }

    /// Returns when the exception in `document` expires, in nanoseconds since 1970.
    fn exception_expiry(&self, _document: &Document) -> Option<i128> {
        None
    }

    /// Returns the data source of a cluster-wide shared entry (a global context entry).
    ///
    /// # Errors
    /// When the entry has none.
    fn shared_data_source(&self, _document: &Document) -> Result<SharedDataSource, String> {
        Err("nothing is shared in this language".to_owned())
    }

    /// Returns the named parts (projections) that the shared entry in `document` makes of `root`.
    ///
    /// # Errors
    /// When one cannot be computed.
    fn shared_data_parts(&self, _document: &Document, _root: &Value) -> Result<Vec<(Text, Value)>, String> {
        Ok(Vec::new())
    }
}

/// Says of a group and a kind whether its objects are in namespaces, where that is known.
pub type KindScopes<'k> = dyn Fn(&str, &str) -> Option<bool> + 'k;

/// The source of cluster-wide shared data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SharedDataSource {
    /// All objects at a path, which is watched.
    Objects(ApiPath),
    /// The answer to a call, which is repeated after the given time.
    Call(ApiCall, Duration),
}
