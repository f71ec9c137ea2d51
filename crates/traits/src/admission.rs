//! Checks of the cluster's admission: workload types that do not match, traits that are not allowed.

use std::fmt;

use kubewright_engine::{Code, Diagnostic};
use kubewright_k8s::WorkloadKind;
use kubewright_value::{Document, Value};

use super::diagnostics as code;
use super::source::{self, OpenChoreoResource, TraitName};

/// The workload type of components that run no containers.
pub(crate) const PROXY: &str = "proxy";

/// A mistake in a list of templates.
#[derive(Debug, Clone)]
pub(crate) struct TemplateProblem {
    pub(crate) code: &'static Code,
    /// The index of the template; `None` for the whole list.
    pub(crate) item: Option<usize>,
    /// The field of the template.
    pub(crate) inside: Vec<&'static str>,
    pub(crate) message: String,
}

/// Returns whether resources of `kind` run containers.
pub(crate) fn is_container_kind(kind: &str) -> bool {
    WorkloadKind::named(kind).is_some_and(WorkloadKind::is_top_level)
}

/// Returns the mistakes in the templates of a component type: each must be a resource, and one of them the workload.
pub(crate) fn check_workload_resources(workload_type: &str, templates: &[&Value]) -> Vec<TemplateProblem> {
    let mut problems = Vec::new();
    let mut fitting = Vec::new();
    for (item, template) in templates.iter().enumerate() {
        problems.extend(template_problems(item, template));
        let Some(kind) = template.get("kind").and_then(Value::as_str) else { continue };
        let mut wrong = |message: String| {
            problems.push(TemplateProblem {
                code: &code::WORKLOAD_MISMATCH,
                item: Some(item),
                inside: vec!["kind"],
                message,
            });
        };
        if workload_type == PROXY {
            if is_container_kind(kind) {
                wrong(format!("a proxy has no workload, and this is a `{kind}`"));
            }
        } else if kind.eq_ignore_ascii_case(workload_type) {
            fitting.push(item);
        } else if is_container_kind(kind) {
            wrong(format!(
                "`{kind}` is a workload and the workload type is `{workload_type}`; there is only one"
            ));
        }
    }
    if workload_type != PROXY && fitting.len() != 1 {
        let whole =
            |item, inside, message| TemplateProblem { code: &code::WORKLOAD_MISMATCH, item, inside, message };
        if fitting.len() > 1 {
            let twice = |item: &usize| {
                let message =
                    format!("one of {} resources of the workload type `{workload_type}`", fitting.len());
                whole(Some(*item), vec!["kind"], message)
            };
            problems.extend(fitting.iter().map(twice));
        }
        let message = match fitting.len() {
            0 => format!("no resource has the kind of the workload type `{workload_type}`"),
            count => format!(
                "{count} resources have the kind of the workload type `{workload_type}`, expected one"
            ),
        };
        problems.push(whole(None, Vec::new(), message));
    }
    problems
}

/// Returns the fields that a template lacks to be a resource.
pub(crate) fn template_problems(item: usize, template: &Value) -> Vec<TemplateProblem> {
    let problem = |inside: Vec<&'static str>, message: String| TemplateProblem {
        code: &code::BAD_TEMPLATE,
        item: Some(item),
        inside,
        message,
    };
    let map = match template {
        // A template that is one expression is checked when it is rendered.
        Value::String(_) => return Vec::new(),
        Value::Object(map) => map,
        Value::Null => return vec![problem(Vec::new(), "the template is missing".to_owned())],
        other => {
            return vec![problem(
                Vec::new(),
                format!("the template is a {}, expected an object", other.kind()),
            )];
        }
    };
    let mut problems = Vec::new();
    for key in ["apiVersion", "kind"] {
        if map.get(key).is_none_or(|value| value.as_str().is_none_or(str::is_empty)) {
            problems.push(problem(vec![key], format!("the template has no `{key}`")));
        }
    }
    let metadata = map.get("metadata");
    if metadata.is_none_or(Value::is_null) {
        problems.push(problem(vec!["metadata"], "the template has no `metadata`".to_owned()));
    } else if metadata
        .and_then(|metadata| metadata.get("name"))
        .is_none_or(|name| name.as_str().is_none_or(str::is_empty))
        && metadata.is_some_and(|metadata| metadata.as_object().is_some())
    {
        problems.push(problem(vec!["metadata", "name"], "the template has no `metadata.name`".to_owned()));
    }
    if let Some(namespace) = metadata.and_then(|metadata| metadata.get("namespace")).and_then(Value::as_str)
        && namespace.replace(' ', "") != "${metadata.namespace}"
    {
        let message = format!("the namespace is `{namespace}`, expected `${{metadata.namespace}}`");
        let mut fixed = problem(vec!["metadata", "namespace"], message);
        fixed.code = &code::FIXED_NAMESPACE;
        problems.push(fixed);
    }
    problems
}

/// Returns why a component type does not allow the traits of a component: traits that are not in `allowedTraits`, and
/// duplicate instance names. A type without `allowedTraits` allows none.
pub(super) fn check_allowed_traits(component_type: &Document, component: &Document) -> Vec<Diagnostic> {
    let (Some(OpenChoreoResource::ComponentType(kind)), _) = source::read_openchoreo_document(component_type)
    else {
        return Vec::new();
    };
    let (Some(OpenChoreoResource::Component(found)), _) = source::read_openchoreo_document(component) else {
        return Vec::new();
    };
    check_trait_uses(&kind, &found, component)
}

/// Returns the same for resources that were already read.
pub(super) fn check_trait_uses(
    kind: &source::ComponentTypeDefinition,
    found: &source::ComponentDefinition,
    component: &Document,
) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for used in &found.traits {
        if !kind.allowed_traits.contains(&used.name) {
            let message = format!("the component type `{}` does not allow {}", kind.metadata.name, used.name);
            let help = match kind.allowed_traits.as_slice() {
                [] => "it allows no traits; add this one to its `allowedTraits`".to_owned(),
                some => format!(
                    "it allows {}",
                    some.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
                ),
            };
            let location = component.locate(&used.path);
            diagnostics.push(Diagnostic::new(&code::TRAIT_NOT_ALLOWED, message, location).help(help));
        }
        if let Some(embedded) = kind.traits.iter().find(|known| known.instance.value == used.instance.value) {
            let message = format!(
                "the instance name `{}` is taken by {} of the component type",
                used.instance.value, embedded.name
            );
            let location = component.locate(&used.instance.path);
            let help = "give it a name of its own";
            diagnostics.push(Diagnostic::new(&code::DUPLICATE_INSTANCE, message, location).help(help));
        }
    }
    diagnostics
}

impl fmt::Display for TraitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_cluster { "ClusterTrait" } else { "Trait" };
        write!(f, "{kind} `{}`", self.name)
    }
}
