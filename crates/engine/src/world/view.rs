//! What one rule may look up: everything, or only what is in the namespace of its policy.
//!
//! A user who may write a policy in a namespace is trusted with that namespace and with no other, but the server may
//! read far more. So every lookup of a rule goes through a [`WorldView`], which the engine makes of the world and of
//! [`Rule::home`](crate::Rule::home); no rule ever holds the world itself.

use kubewright_value::{Text, Value, json};

use kubewright_k8s::ObjectName;

use super::{ApiCall, Query, QueryAnswer, World};
use crate::RuleId;
use kubewright_k8s::{AdmissionRequest, ApiPath, GroupVersionKind, is_cluster_scoped, kind_of_resource};

/// The world as one rule sees it.
#[derive(Clone, Copy)]
pub struct WorldView<'w> {
    world: &'w dyn World,
    home: Option<&'w Text>,
}

impl<'w> WorldView<'w> {
    /// Returns what a rule sees of `world`: all of it, or what a policy in the namespace `home` may see.
    #[must_use]
    pub fn new(world: &'w dyn World, home: Option<&'w Text>) -> Self {
        Self { world, home }
    }

    /// Returns the namespace of the policy, where it has one.
    #[must_use]
    pub fn home(&self) -> Option<&'w Text> {
        self.home
    }

    /// Returns what is known about `query`, or [`QueryAnswer::Refused`] where the rule may not ask.
    #[must_use]
    pub fn get(&self, query: &Query) -> QueryAnswer {
        match self.home.and_then(|home| refuse_query(query, home)) {
            Some(why) => QueryAnswer::Refused(why.into()),
            None => self.world.get(query),
        }
    }

    /// Returns the variables that the caller sets for `rule` and `request`; see [`World::overrides`].
    #[must_use]
    pub fn overrides(&self, rule: &RuleId, request: &AdmissionRequest) -> Vec<(Text, Value)> {
        self.world.overrides(rule, request)
    }

    /// Returns the Namespace of the object under review, which is part of the request: every rule may read it, also one
    /// of another namespace.
    pub(crate) fn namespace_of_request(&self, name: &str) -> QueryAnswer {
        self.world.get(&Query::namespace(name))
    }
}

/// The reviews of permissions; they name the namespace in the request body.
const ACCESS_REVIEWS: (&str, &str) = ("authorization.k8s.io", "subjectaccessreviews");

/// Returns why a policy in the namespace `home` may not send `query`; nothing where it may.
fn refuse_query(query: &Query, home: &Text) -> Option<String> {
    match query {
        Query::Object(name) => refused_object(name, home),
        Query::Api(call) if call.service.is_some() => Some(refused_service(call, home)),
        Query::Http(call) => Some(refused_service(call, home)),
        Query::Api(call) => refused_path(call, home),
        Query::Shared(name) => Some(format!(
            "the global context entry `{name}` belongs to the whole cluster, and a policy of namespace {home} reads \
             that namespace alone"
        )),
        // Images are not namespaced, but pull secrets are.
        Query::Image(image) if !image.secrets.is_empty() && image.namespace != *home => Some(format!(
            "the pull secrets of image `{}` are in another namespace than the policy, {home}",
            image.reference
        )),
        Query::Image(_) => None,
    }
}

fn refused_object(name: &ObjectName, home: &Text) -> Option<String> {
    let ObjectName { group, kind, namespace, .. } = name;
    let is_own_namespace =
        group.is_empty() && kind == "Namespace" && namespace.is_empty() && name.name == *home;
    let is_in_none = namespace.is_empty() || is_cluster_scoped(&kind_in(group, kind));
    if is_own_namespace {
        None
    } else if is_in_none {
        Some(format!(
            "{kind} `{}` is in no namespace, and a policy of namespace {home} reads that namespace alone",
            name.name
        ))
    } else if namespace != home {
        Some(format!("namespace {namespace} is different from the policy namespace {home}"))
    } else {
        None
    }
}

fn refused_service(call: &ApiCall, home: &Text) -> String {
    format!(
        "`{} {}` calls a service, and a policy of namespace {home} reads that namespace alone",
        call.method, call.url
    )
}

/// Checks the same structure that is sent.
fn refused_path(call: &ApiCall, home: &Text) -> Option<String> {
    let Some(path) = &call.path else { return Some(ApiPath::parse(&call.url).err().unwrap_or_default()) };
    if is_about_access_in(path, call, home) {
        return None;
    }
    let shown = ApiPath { query: Vec::new(), ..path.clone() };
    let ApiPath { group, namespace, resource, .. } = path;
    if namespace.is_empty() {
        return Some(format!(
            "path {shown} does not contain a namespace segment, which is required for namespaced policies"
        ));
    }
    if namespace != home {
        return Some(format!(
            "path {shown} refers to namespace {namespace}, which is different from the policy namespace {home}"
        ));
    }
    let kind = kind_of_resource(resource).unwrap_or_default();
    is_cluster_scoped(&kind_in(group, kind)).then(|| format!("path {shown}: {resource} are in no namespace"))
}

/// Returns whether `call` reviews permissions in the namespace `home`.
fn is_about_access_in(path: &ApiPath, call: &ApiCall, home: &Text) -> bool {
    let is_review = (path.group.as_str(), path.resource.as_str()) == ACCESS_REVIEWS && path.name.is_empty();
    let review = json::parse(&call.data).unwrap_or_default();
    let about = review.at(&["spec", "resourceAttributes", "namespace"]).and_then(Value::as_str);
    is_review
        && call.method == "POST"
        && about == Some(home)
        && review.at(&["spec", "nonResourceAttributes"]).is_none()
}

fn kind_in(group: &Text, kind: &str) -> GroupVersionKind {
    GroupVersionKind { group: group.clone(), version: Text::default(), kind: kind.into() }
}

#[cfg(test)]
mod tests;
