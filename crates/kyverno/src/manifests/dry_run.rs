//! The dry run of the signed manifest: the API server's result with its defaults filled in.

use kubewright_engine::{ApiCall, EvalError, Evaluation, Query, QueryAnswer};
use kubewright_k8s::{GroupVersionKind, is_cluster_scoped, resource_name};
use kubewright_value::{Text, Value};

use crate::source::manifests;

/// The default namespace of dry runs.
const NAMESPACE: &str = "kyverno-dryrun";

/// The settings of the dry run.
pub(super) struct DryRunCheck {
    /// Empty where the rule has none.
    namespace: Text,
}

impl DryRunCheck {
    pub(super) fn compile(source: &manifests::DryRunSource) -> Self {
        Self { namespace: source.namespace.clone() }
    }

    /// Returns the object that would be stored if `signed` were created; `None` without an API server.
    ///
    /// # Errors
    /// When the answer is not known yet.
    pub(super) fn ask(
        &self,
        signed: &Value,
        object: &Value,
        evaluation: &Evaluation<'_>,
    ) -> Result<Option<Value>, EvalError> {
        let query = self.query(signed, object, evaluation.world.home());
        match evaluation.world.get(&query) {
            QueryAnswer::Found(stored) => Ok(Some(stored)),
            QueryAnswer::Absent => Ok(None),
            QueryAnswer::Unknown => Err(EvalError::unanswered(query)),
            QueryAnswer::Failed(why) => Err(EvalError::failed(&query, &why)),
            QueryAnswer::Refused(why) => Err(EvalError::refused(&query, &why)),
        }
    }

    /// A policy in a namespace tries there, because it sees no other.
    fn query(&self, signed: &Value, object: &Value, home: Option<&Text>) -> Query {
        let kind = GroupVersionKind::of(signed);
        let GroupVersionKind { group, version, .. } = &kind;
        let root = match group.as_str() {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let has_namespace = object.at(&["metadata", "namespace"]).is_some();
        let place = match is_cluster_scoped(&kind) || !has_namespace {
            true => String::new(),
            false if self.namespace.is_empty() => {
                format!("/namespaces/{}", home.map_or(NAMESPACE, Text::as_str))
            }
            false => format!("/namespaces/{}", self.namespace),
        };
        let url = format!("{root}{place}/{}?dryRun=All", resource_name(&kind.kind));
        let mut tried = signed.clone();
        let metadata = tried.as_object_mut().and_then(|map| map.get_mut("metadata"));
        if let Some(metadata) = metadata.and_then(Value::as_object_mut) {
            metadata.remove("namespace");
        }
        Query::Api(ApiCall::resource("POST", &url, tried.to_string().into()))
    }
}
