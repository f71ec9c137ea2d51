//! One thing that an entry of `match` or `exclude` asks for, such as its `kinds`.

use kubewright_engine::{EvalError, Evaluation, TraceNode};
use kubewright_k8s::{AdmissionRequest, Operation, Operations};
use kubewright_lang::glob::Glob;
use kubewright_value::{Budget, Exhausted, Map, Step, Text, Value};

use super::kind::{KindSelector, Subject};
use crate::fields::{Placed, child};
use crate::kyverno::source::{Filter, SubjectKind};
use crate::selector::Selector;
use crate::selector::{WildcardSelector, has_pair};

/// One thing that is asked for.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    pub(super) test: Test,
    /// In the author's words: `kinds Pod, Deployment`.
    pub(super) what: String,
    pub(super) path: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(super) enum Test {
    Operations(Operations),
    Kinds(Vec<KindSelector>),
    /// `name` and `names`.
    Names(Vec<Glob>),
    Namespaces(Vec<Glob>),
    Annotations(Vec<(Glob, Glob)>),
    Labels(WildcardSelector),
    Roles(Vec<Text>),
    ClusterRoles(Vec<Text>),
    Subjects(Vec<Who>),
    NamespaceLabels(WildcardSelector),
}

/// Who asks.
#[derive(Debug, Clone)]
pub(super) enum Who {
    User(Glob),
    Group(Glob),
}

/// What the clauses of one entry look at.
#[derive(Clone, Copy)]
pub(super) struct Asked<'v> {
    pub(super) object: &'v Value,
    pub(super) operation: Operation,
}

impl Clause {
    /// Returns what `filter` asks for, in the order in which it is looked at: what costs least comes first,
    /// what may have to be asked for comes last.
    pub(super) fn compile(filter: &Filter) -> Vec<Self> {
        let mut clauses = Vec::new();
        let mut push = |test: Test, what: String, path: Vec<Step>| clauses.push(Self { test, what, path });
        let below = |key: &str| child(&filter.path, key);
        let resources = |key: &str| child(&below("resources"), key);
        if !filter.operations.is_empty() {
            let names: Vec<&str> = filter.operations.iter().map(|operation| operation.name()).collect();
            let test = Test::Operations(filter.operations.iter().copied().collect());
            push(test, format!("operations {}", names.join(", ")), resources("operations"));
        }
        if !filter.kinds.is_empty() {
            let test =
                Test::Kinds(filter.kinds.iter().map(|kind| KindSelector::parse(&kind.value)).collect());
            push(test, format!("kinds {}", list(&filter.kinds)), resources("kinds"));
        }
        if let Some(name) = &filter.name {
            let test = Test::Names(vec![Glob::parse(&name.value)]);
            push(test, format!("name {}", name.value), resources("name"));
        }
        if !filter.names.is_empty() {
            push(
                Test::Names(globs(&filter.names)),
                format!("names {}", list(&filter.names)),
                resources("names"),
            );
        }
        if !filter.namespaces.is_empty() {
            let test = Test::Namespaces(globs(&filter.namespaces));
            push(test, format!("namespaces {}", list(&filter.namespaces)), resources("namespaces"));
        }
        if !filter.annotations.is_empty() {
            let pair = |(key, value): &(Text, Text)| (Glob::parse(key), Glob::parse(value));
            let test = Test::Annotations(filter.annotations.iter().map(pair).collect());
            push(test, format!("annotations {}", pairs(&filter.annotations)), resources("annotations"));
        }
        if let Some(selector) = &filter.selector {
            let test = Test::Labels(WildcardSelector::compile(selector));
            push(test, format!("selector {}", shown(selector)), resources("selector"));
        }
        if !filter.roles.is_empty() {
            let test = Test::Roles(filter.roles.clone());
            push(test, format!("roles {}", filter.roles.join(", ")), below("roles"));
        }
        if !filter.cluster_roles.is_empty() {
            let test = Test::ClusterRoles(filter.cluster_roles.clone());
            push(test, format!("clusterRoles {}", filter.cluster_roles.join(", ")), below("clusterRoles"));
        }
        if !filter.subjects.is_empty() {
            let names: Vec<&str> = filter.subjects.iter().map(|subject| subject.name.as_str()).collect();
            let test = Test::Subjects(filter.subjects.iter().map(Who::compile).collect());
            push(test, format!("subjects {}", names.join(", ")), below("subjects"));
        }
        if let Some(selector) = &filter.namespace_selector {
            let test = Test::NamespaceLabels(WildcardSelector::compile(selector));
            push(test, format!("namespaceSelector {}", shown(selector)), resources("namespaceSelector"));
        }
        clauses
    }

    /// Returns whether this is about who asks.
    pub(super) fn is_about_user(&self) -> bool {
        matches!(self.test, Test::Roles(_) | Test::ClusterRoles(_) | Test::Subjects(_))
    }

    /// Returns whether what is asked for is so.
    pub(super) fn holds(&self, asked: Asked<'_>, evaluation: &mut Evaluation<'_>) -> Result<bool, EvalError> {
        let request = evaluation.request;
        let budget = &mut *evaluation.budget;
        let has_any = |wanted: &[Text], found: &[Text]| found.iter().any(|found| wanted.contains(found));
        match &self.test {
            Test::Operations(operations) => Ok(operations.contains(asked.operation)),
            Test::Kinds(kinds) => {
                for kind in kinds {
                    if kind.matches(request, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Test::Names(names) => Ok(any_fits(names, name_of(asked.object), budget)?),
            Test::Namespaces(names) => {
                let name = match is_namespace(request) {
                    true => name_of(asked.object),
                    false => namespace_of(request),
                };
                Ok(any_fits(names, name, budget)?)
            }
            Test::Annotations(wanted) => {
                let found = asked.object.at(&["metadata", "annotations"]).and_then(Value::as_object);
                for (key, value) in wanted {
                    if !has_pair(found, key, value, budget)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Test::Labels(selector) => Ok(selector.matches(labels_of(asked.object), budget)?),
            Test::Roles(roles) => Ok(has_any(roles, &request.roles)),
            Test::ClusterRoles(roles) => Ok(has_any(roles, &request.cluster_roles)),
            Test::Subjects(subjects) => {
                for subject in subjects {
                    if subject.asks(&request.user, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Test::NamespaceLabels(_) if is_namespace(request) => Ok(false),
            Test::NamespaceLabels(selector) => {
                Ok(selector.matches(namespace_labels(evaluation)?, evaluation.budget)?)
            }
        }
    }

    /// Returns why the rule is not about an object of which this is not so.
    pub(super) fn reason(&self) -> &'static str {
        match &self.test {
            Test::Operations(_) => "it is about other operations",
            Test::Kinds(_) => "it is about other kinds",
            Test::Names(_) => "it is about other names",
            Test::Namespaces(_) => "it is about other namespaces",
            Test::Annotations(_) => "it is about other annotations",
            Test::Labels(_) => "it is about other labels",
            Test::Roles(_) => "it is about other roles",
            Test::ClusterRoles(_) => "it is about other cluster roles",
            Test::Subjects(_) => "it is about requests of others",
            Test::NamespaceLabels(_) => "it is about namespaces with other labels",
        }
    }

    /// Returns what was looked at, for a trace.
    pub(super) fn found(&self, asked: Asked<'_>, evaluation: &Evaluation<'_>) -> String {
        let request = evaluation.request;
        let show = |value: Option<&Value>| value.map(TraceNode::show).unwrap_or_default();
        match &self.test {
            Test::Operations(_) => asked.operation.name().to_owned(),
            Test::Kinds(_) => Subject::of(request).to_string(),
            Test::Names(_) => name_of(asked.object).to_owned(),
            Test::Namespaces(_) if is_namespace(request) => name_of(asked.object).to_owned(),
            Test::Namespaces(_) => namespace_of(request).to_owned(),
            Test::Annotations(_) => show(asked.object.at(&["metadata", "annotations"])),
            Test::Labels(_) => show(asked.object.at(&["metadata", "labels"])),
            Test::Roles(_) => request.roles.join(", "),
            Test::ClusterRoles(_) => request.cluster_roles.join(", "),
            Test::Subjects(_) => show(Some(&request.user)),
            Test::NamespaceLabels(_) => {
                let namespace = evaluation.namespace().ok().flatten();
                show(namespace.and_then(|namespace| namespace.at(&["metadata", "labels"])))
            }
        }
    }
}

impl Who {
    fn compile(subject: &crate::kyverno::source::Subject) -> Self {
        match subject.kind {
            SubjectKind::User => Self::User(Glob::parse(&subject.name)),
            SubjectKind::Group => Self::Group(Glob::parse(&subject.name)),
            SubjectKind::ServiceAccount => Self::User(Glob::parse(&format!(
                "system:serviceaccount:{}:{}",
                subject.namespace, subject.name
            ))),
        }
    }

    fn asks(&self, user: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        match self {
            Self::User(name) => {
                name.matches(user.get("username").and_then(Value::as_str).unwrap_or_default(), budget)
            }
            Self::Group(name) => {
                let groups = user.get("groups").and_then(Value::as_array).unwrap_or_default();
                for group in groups.iter().filter_map(Value::as_str) {
                    if name.matches(group, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
        }
    }
}

/// Returns the namespace that the object is in. A Namespace is in none, whatever the API server says.
pub(super) fn namespace_of(request: &AdmissionRequest) -> &str {
    if is_namespace(request) { "" } else { &request.namespace }
}

/// Returns the labels of the namespace that the object is in.
pub(super) fn namespace_labels<'e>(evaluation: &Evaluation<'e>) -> Result<Option<&'e Map>, EvalError> {
    if is_namespace(evaluation.request) {
        return Ok(None);
    }
    Ok(evaluation.namespace()?.and_then(labels_of))
}

fn is_namespace(request: &AdmissionRequest) -> bool {
    request.kind.kind == "Namespace"
}

fn labels_of(object: &Value) -> Option<&Map> {
    object.at(&["metadata", "labels"])?.as_object()
}

fn name_of(object: &Value) -> &str {
    let metadata = object.get("metadata");
    let text = |key| metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
    text("name").filter(|name| !name.is_empty()).or_else(|| text("generateName")).unwrap_or_default()
}

fn any_fits(globs: &[Glob], text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
    for glob in globs {
        if glob.matches(text, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn globs(texts: &[Placed<Text>]) -> Vec<Glob> {
    texts.iter().map(|text| Glob::parse(&text.value)).collect()
}

fn list(texts: &[Placed<Text>]) -> String {
    texts.iter().map(|text| text.value.as_str()).collect::<Vec<_>>().join(", ")
}

fn pairs(pairs: &[(Text, Text)]) -> String {
    pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}

fn shown(selector: &Selector) -> String {
    let expressions = selector.expressions.iter().map(|requirement| {
        let values = requirement.values.join(", ");
        match values.as_str() {
            "" => format!("{} {:?}", requirement.key, requirement.operator),
            values => format!("{} {:?} {values}", requirement.key, requirement.operator),
        }
    });
    let labels = selector.labels.iter().map(|(key, value)| format!("{key}={value}"));
    labels.chain(expressions).collect::<Vec<_>>().join(", ")
}
