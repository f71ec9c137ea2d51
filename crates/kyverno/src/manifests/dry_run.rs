//! What the API server would make of what was signed, with its defaults filled in.

use kubewright_engine::{Answer, ApiCall, EvalError, Evaluation, Query};
use kubewright_k8s::{GroupVersionKind, is_cluster_scoped, resource_name};
use kubewright_value::{Text, Value};

use crate::source::manifests;

/// The namespace in which objects are tried, unless a rule says otherwise.
const NAMESPACE: &str = "kyverno-dryrun";

/// That the API server is asked.
pub(super) struct DryRunCheck {
    /// Empty where the rule does not say.
    namespace: Text,
}

impl DryRunCheck {
    pub(super) fn compile(source: &manifests::DryRunSource) -> Self {
        Self { namespace: source.namespace.clone() }
    }

    /// Returns what would be stored if `signed` were created; nothing when there is no API server.
    ///
    /// # Errors
    /// When nobody has asked yet.
    pub(super) fn ask(
        &self,
        signed: &Value,
        object: &Value,
        evaluation: &Evaluation<'_>,
    ) -> Result<Option<Value>, EvalError> {
        let query = self.query(signed, object, evaluation.world.home());
        match evaluation.world.get(&query) {
            Answer::Found(stored) => Ok(Some(stored)),
            Answer::Absent => Ok(None),
            Answer::Unknown => Err(EvalError::unanswered(query)),
            Answer::Failed(why) => Err(EvalError::failed(&query, &why)),
            Answer::Refused(why) => Err(EvalError::refused(&query, &why)),
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
