//! `/objects`: one live object, and the rules that are about it.

use std::sync::Arc;

use kubewright_engine::Rule;
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_ui::{PageContent, PageRequest};
use kubewright_value::{Map, Value};

use super::masking::masked;
use super::{ClusterPage, unreachable};
use crate::output::yaml_text;

/// How many rules are listed.
const MAX_LISTED_RULES: usize = 200;

impl ClusterPage {
    /// Answers a request for one object.
    pub(super) fn answer_object(&self, request: &PageRequest) -> Result<Value, PageContent> {
        let object = self.live_object(request)?;
        let rules = self.rules()?;
        let admission = AdmissionRequest::for_object(object.clone(), Operation::Create, "");
        let about = rules.set.all.iter().filter(|rule| rule.scope.admits(&admission));
        let listed: Vec<Value> = about.take(MAX_LISTED_RULES).map(listed_rule).collect();
        let shown = masked(object);
        let fields =
            [("text", Value::from(yaml_text(&shown))), ("object", shown), ("rules", Value::array(listed))];
        Ok(Map::from(fields).into())
    }

    /// Reads the object that a query names.
    ///
    /// # Errors
    /// When it names none, there is no such kind or object, or it may not be read.
    pub(super) fn live_object(&self, request: &PageRequest) -> Result<Value, PageContent> {
        let [kind, name] = ["kind", "name"].map(|key| request.query_value(key));
        if kind.is_empty() || name.is_empty() {
            return Err(PageContent::error(400, "`kind` and `name` are needed", None));
        }
        let version = request.query_value("apiVersion");
        let group = version.split_once('/').map(|(group, _)| group).unwrap_or_default();
        let cluster = self.cluster()?;
        let known = match version {
            "" => cluster.resources.iter().find(|resource| resource.kind == kind),
            _ => cluster.resources.of_kind(group, kind),
        };
        let Some(resource) = known else {
            return Err(PageContent::error(404, &format!("the cluster has no kind `{kind}`"), None));
        };
        let namespace = if resource.is_namespaced { request.query_value("namespace") } else { "" };
        if resource.is_namespaced && namespace.is_empty() {
            return Err(PageContent::error(400, &format!("`namespace` is needed for a {kind}"), None));
        }
        let path = resource.address().named(namespace, name);
        cluster.get(&path).map_err(|error| unreachable(&error))
    }
}

fn listed_rule(rule: &Arc<Rule>) -> Value {
    let place = &rule.location;
    Map::from([
        ("id", Value::from(rule.id.to_string())),
        ("file", place.source.name.as_str().into()),
        ("line", u64::from(place.position.line).into()),
        ("text", place.source.text.as_str().into()),
    ])
    .into()
}
