//! Parameter objects, which a rule reads besides the object it evaluates.

use kubewright_engine::{ApiCall, EvalError, Query, QueryAnswer, WorldView};
use kubewright_k8s::{
    AdmissionRequest, GroupVersionKind, ObjectName, is_cluster_scoped, kind_of_resource, resource_name,
};
use kubewright_value::{Budget, Location, Text, Value};

use super::request::{namespace_of, resource_value};
use super::source::{ParamRef, ParamSource};
use kubewright_dialect_kit::selector::WildcardSelector;

/// The wording of errors about parameters.
#[derive(Debug, Clone, Copy)]
pub struct ParamWords {
    /// The start of every error about parameters.
    pub problem: &'static str,
    /// The message where required parameters are missing.
    pub missing: &'static str,
}

/// Which objects.
#[derive(Debug, Clone)]
pub struct Params {
    kind: GroupVersionKind,
    /// Empty for that of the object.
    namespace: Text,
    from: ParamOrigin,
    is_optional: bool,
    /// Where `paramRef` is written.
    location: Option<Location>,
    words: ParamWords,
}

#[derive(Debug, Clone)]
enum ParamOrigin {
    Name(Text),
    Selector(WildcardSelector),
}

impl Params {
    /// Compiles which objects are parameters.
    #[must_use]
    pub fn compile(kind: &GroupVersionKind, reference: &ParamRef, words: ParamWords) -> Self {
        Self {
            kind: kind.clone(),
            namespace: reference.namespace.clone(),
            from: match &reference.from {
                ParamSource::Name(name) => ParamOrigin::Name(name.clone()),
                ParamSource::Selector(selector) => ParamOrigin::Selector(WildcardSelector::compile(selector)),
            },
            is_optional: reference.is_optional,
            location: reference.location.clone(),
            words,
        }
    }

    /// Returns the parameter objects for the object of `request`. An empty list means that the rule does not apply.
    pub fn find(
        &self,
        request: &AdmissionRequest,
        world: WorldView<'_>,
        budget: &mut Budget,
    ) -> Result<Vec<Value>, EvalError> {
        let namespace = namespace_of(request);
        let found = match (is_cluster_scoped(&self.kind), self.namespace.is_empty()) {
            (true, false) => {
                return Err(
                    self.wrong("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
                );
            }
            (true, true) => self.look(&Text::default(), world, budget)?,
            (false, false) => self.look(&self.namespace, world, budget)?,
            (false, true) if namespace.is_empty() && is_built_in_kind(&self.kind) => {
                return Err(self.wrong(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
                ));
            }
            // Whether an unknown kind is namespaced is learnt from its objects. A policy in a namespace
            // sees only those that are.
            (false, true) => {
                let mut found = Vec::new();
                if !namespace.is_empty() {
                    found = self.look(namespace, world, budget)?;
                }
                if found.is_empty() && world.home().is_none() {
                    found = self.look(&Text::default(), world, budget)?;
                }
                found
            }
        };
        if found.is_empty() && !self.is_optional {
            return Err(self.missing(namespace));
        }
        Ok(found)
    }

    /// Returns the error where required parameters are missing.
    fn missing(&self, namespace: &Text) -> EvalError {
        let kind = &self.kind.kind;
        let namespace = if self.namespace.is_empty() { namespace } else { &self.namespace };
        let text = match &self.from {
            ParamOrigin::Name(name) if is_cluster_scoped(&self.kind) || namespace.is_empty() => {
                format!("the parameter of the binding, {kind} {name}, is not given")
            }
            ParamOrigin::Name(name) => {
                format!("the parameter of the binding, {kind} {namespace}/{name}, is not given")
            }
            ParamOrigin::Selector(_) => format!("the selector of `paramRef` fits no {kind}"),
        };
        let failed = self.wrong(self.words.missing).because(text, format!("`--world FILE` with that {kind}"));
        EvalError { location: self.location.clone(), ..failed }
    }

    fn wrong(&self, message: &str) -> EvalError {
        EvalError::new(format!("{}: {message}", self.words.problem))
    }

    fn look(
        &self,
        namespace: &Text,
        world: WorldView<'_>,
        budget: &mut Budget,
    ) -> Result<Vec<Value>, EvalError> {
        let query = self.query(namespace);
        let answer = match world.get(&query) {
            QueryAnswer::Found(answer) => answer,
            QueryAnswer::Absent => return Ok(Vec::new()),
            QueryAnswer::Unknown => return Err(EvalError::unanswered(query)),
            QueryAnswer::Failed(why) => return Err(EvalError::failed(&query, &why)),
            QueryAnswer::Refused(why) => return Err(self.wrong(&EvalError::refused(&query, &why).message)),
        };
        let ParamOrigin::Selector(selector) = &self.from else { return Ok(vec![answer]) };
        let mut found = Vec::new();
        for item in answer.get("items").and_then(Value::as_array).unwrap_or_default() {
            let is_here = ObjectName::of(item).namespace == *namespace;
            let labels = item.at(&["metadata", "labels"]).and_then(Value::as_object);
            if is_here && selector.matches(labels, budget)? {
                found.push(item.clone());
            }
        }
        Ok(found)
    }

    fn query(&self, namespace: &Text) -> Query {
        let GroupVersionKind { group, version, kind } = &self.kind;
        if let ParamOrigin::Name(name) = &self.from {
            return Query::Object(ObjectName {
                group: group.clone(),
                kind: kind.clone(),
                namespace: namespace.clone(),
                name: name.clone(),
            });
        }
        let resource = resource_value(&self.kind);
        let resource = resource.str_at(&["resource"]);
        let root = match group.as_str() {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let url = match namespace.as_str() {
            "" => format!("{root}/{resource}"),
            namespace => format!("{root}/namespaces/{namespace}/{resource}"),
        };
        Query::Api(ApiCall::resource("GET", &url, Text::default()))
    }
}

/// Returns whether it is one of the kinds that every cluster has.
fn is_built_in_kind(kind: &GroupVersionKind) -> bool {
    let is_own = !kind.group.contains('.') || kind.group.ends_with(".k8s.io");
    is_own && kind_of_resource(&resource_name(&kind.kind)).is_some_and(|known| known == kind.kind)
}
