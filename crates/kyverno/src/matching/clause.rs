//! One filter of a `match` or `exclude` entry, such as its `kinds`.

use kubewright_engine::{EvalError, Evaluation, TraceNode};
use kubewright_golib::glob::WildcardPattern;
use kubewright_k8s::{AdmissionRequest, Operation, Operations};
use kubewright_value::{Budget, Exhausted, Map, Step, Text, Value};

use super::kind::{KindSelector, MatchedResource};
use crate::source::{ResourceFilter, SubjectKind};
use kubewright_dialect_kit::fields::{Located, child_path};
use kubewright_dialect_kit::selector::{WildcardSelector, has_pair};

/// One filter.
#[derive(Debug, Clone)]
pub(super) struct Clause {
    pub(super) test: ClauseTest,
    /// The filter as it is written: `kinds Pod, Deployment`.
    pub(super) what: String,
    pub(super) path: Vec<Step>,
}

#[derive(Debug, Clone)]
pub(super) enum ClauseTest {
    Operations(Operations),
    Kinds(Vec<KindSelector>),
    /// `name` and `names`.
    Names(Vec<WildcardPattern>),
    Namespaces(Vec<WildcardPattern>),
    Annotations(Vec<(WildcardPattern, WildcardPattern)>),
    Labels(WildcardSelector),
    Roles(Vec<Text>),
    ClusterRoles(Vec<Text>),
    Subjects(Vec<Who>),
    NamespaceLabels(WildcardSelector),
}

/// The user.
#[derive(Debug, Clone)]
pub(super) enum Who {
    User(WildcardPattern),
    Group(WildcardPattern),
}

/// The inputs of the clauses of one entry.
#[derive(Clone, Copy)]
pub(super) struct ClauseInput<'v> {
    pub(super) object: &'v Value,
    pub(super) operation: Operation,
}

impl Clause {
    /// Returns the clauses of `filter` in the order of evaluation: the cheapest first, those that may need a lookup
    /// last.
    pub(super) fn compile(filter: &ResourceFilter) -> Vec<Self> {
        let mut clauses = Vec::new();
        let mut push =
            |test: ClauseTest, what: String, path: Vec<Step>| clauses.push(Self { test, what, path });
        let below = |key: &str| child_path(&filter.path, key);
        let resources = |key: &str| child_path(&below("resources"), key);
        if !filter.operations.is_empty() {
            let names: Vec<&str> = filter.operations.iter().map(|operation| operation.name()).collect();
            let test = ClauseTest::Operations(filter.operations.iter().copied().collect());
            push(test, format!("operations {}", names.join(", ")), resources("operations"));
        }
        if !filter.kinds.is_empty() {
            let test =
                ClauseTest::Kinds(filter.kinds.iter().map(|kind| KindSelector::parse(&kind.value)).collect());
            push(test, format!("kinds {}", list_of_texts(&filter.kinds)), resources("kinds"));
        }
        if let Some(name) = &filter.name {
            let test = ClauseTest::Names(vec![WildcardPattern::parse(&name.value)]);
            push(test, format!("name {}", name.value), resources("name"));
        }
        if !filter.names.is_empty() {
            push(
                ClauseTest::Names(globs(&filter.names)),
                format!("names {}", list_of_texts(&filter.names)),
                resources("names"),
            );
        }
        if !filter.namespaces.is_empty() {
            let test = ClauseTest::Namespaces(globs(&filter.namespaces));
            push(test, format!("namespaces {}", list_of_texts(&filter.namespaces)), resources("namespaces"));
        }
        if !filter.annotations.is_empty() {
            let pair =
                |(key, value): &(Text, Text)| (WildcardPattern::parse(key), WildcardPattern::parse(value));
            let test = ClauseTest::Annotations(filter.annotations.iter().map(pair).collect());
            push(
                test,
                format!("annotations {}", label_pairs_text(&filter.annotations)),
                resources("annotations"),
            );
        }
        if let Some(selector) = &filter.selector {
            let test = ClauseTest::Labels(WildcardSelector::compile(selector));
            push(test, format!("selector {selector}"), resources("selector"));
        }
        if !filter.roles.is_empty() {
            let test = ClauseTest::Roles(filter.roles.clone());
            push(test, format!("roles {}", filter.roles.join(", ")), below("roles"));
        }
        if !filter.cluster_roles.is_empty() {
            let test = ClauseTest::ClusterRoles(filter.cluster_roles.clone());
            push(test, format!("clusterRoles {}", filter.cluster_roles.join(", ")), below("clusterRoles"));
        }
        if !filter.subjects.is_empty() {
            let names: Vec<&str> = filter.subjects.iter().map(|subject| subject.name.as_str()).collect();
            let test = ClauseTest::Subjects(filter.subjects.iter().map(Who::compile).collect());
            push(test, format!("subjects {}", names.join(", ")), below("subjects"));
        }
        if let Some(selector) = &filter.namespace_selector {
            let test = ClauseTest::NamespaceLabels(WildcardSelector::compile(selector));
            push(test, format!("namespaceSelector {selector}"), resources("namespaceSelector"));
        }
        clauses.shrink_to_fit();
        clauses
    }

    /// Returns whether it filters users.
    pub(super) fn is_about_user(&self) -> bool {
        matches!(self.test, ClauseTest::Roles(_) | ClauseTest::ClusterRoles(_) | ClauseTest::Subjects(_))
    }

    /// Returns whether the filter holds.
    pub(super) fn holds(
        &self,
        asked: ClauseInput<'_>,
        evaluation: &mut Evaluation<'_>,
    ) -> Result<bool, EvalError> {
        let request = evaluation.request;
        let budget = &mut *evaluation.budget;
        let has_any = |wanted: &[Text], found: &[Text]| found.iter().any(|found| wanted.contains(found));
        match &self.test {
            ClauseTest::Operations(operations) => Ok(operations.contains(asked.operation)),
            ClauseTest::Kinds(kinds) => {
                for kind in kinds {
                    if kind.matches(request, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            ClauseTest::Names(names) => Ok(any_fits(names, matched_name(asked.object), budget)?),
            ClauseTest::Namespaces(names) => {
                let name = match is_namespace(request) {
                    true => matched_name(asked.object),
                    false => matched_namespace(request),
                };
                Ok(any_fits(names, name, budget)?)
            }
            ClauseTest::Annotations(wanted) => {
                let found = asked.object.at(&["metadata", "annotations"]).and_then(Value::as_object);
                for (key, value) in wanted {
                    if !has_pair(found, key, value, budget)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            ClauseTest::Labels(selector) => Ok(selector.matches(labels_of(asked.object), budget)?),
            ClauseTest::Roles(roles) => Ok(has_any(roles, &request.roles)),
            ClauseTest::ClusterRoles(roles) => Ok(has_any(roles, &request.cluster_roles)),
            ClauseTest::Subjects(subjects) => {
                for subject in subjects {
                    if subject.asks(&request.user, budget)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            ClauseTest::NamespaceLabels(_) if is_namespace(request) => Ok(false),
            ClauseTest::NamespaceLabels(selector) => {
                Ok(selector.matches(namespace_labels(evaluation)?, evaluation.budget)?)
            }
        }
    }

    /// Returns the reason for an object that fails the filter.
    pub(super) fn reason(&self) -> &'static str {
        match &self.test {
            ClauseTest::Operations(_) => "it is about other operations",
            ClauseTest::Kinds(_) => "it is about other kinds",
            ClauseTest::Names(_) => "it is about other names",
            ClauseTest::Namespaces(_) => "it is about other namespaces",
            ClauseTest::Annotations(_) => "it is about other annotations",
            ClauseTest::Labels(_) => "it is about other labels",
            ClauseTest::Roles(_) => "it is about other roles",
            ClauseTest::ClusterRoles(_) => "it is about other cluster roles",
            ClauseTest::Subjects(_) => "it is about requests of others",
            ClauseTest::NamespaceLabels(_) => "it is about namespaces with other labels",
        }
    }

    /// Returns the path in the object of what the filter looks at.
    pub(super) fn subject(&self, asked: ClauseInput<'_>, request: &AdmissionRequest) -> Vec<Step> {
        let keys: &[&str] = match &self.test {
            ClauseTest::Kinds(_) => &["kind"],
            ClauseTest::Names(_) => &["metadata", "name"],
            ClauseTest::Namespaces(_) if is_namespace(request) => &["metadata", "name"],
            ClauseTest::Namespaces(_) | ClauseTest::NamespaceLabels(_) => &["metadata", "namespace"],
            ClauseTest::Annotations(_) => &["metadata", "annotations"],
            ClauseTest::Labels(_) => &["metadata", "labels"],
            ClauseTest::Operations(_)
            | ClauseTest::Roles(_)
            | ClauseTest::ClusterRoles(_)
            | ClauseTest::Subjects(_) => &[],
        };
        let unmet = match &self.test {
            ClauseTest::Labels(selector) => selector.unmet_key(labels_of(asked.object)),
            _ => None,
        };
        keys.iter().copied().chain(unmet.map(Text::as_str)).map(Step::from).collect()
    }

    /// Returns what to do where the filter does not hold because something is not known.
    pub(super) fn help(&self, asked: ClauseInput<'_>, evaluation: &Evaluation<'_>) -> String {
        let request = evaluation.request;
        let has = |list: &str, key: &str| asked.object.at(&["metadata", list, key]).is_some();
        match &self.test {
            ClauseTest::Labels(selector) => match selector.unmet_key(labels_of(asked.object)) {
                Some(key) if !has("labels", key) && has("annotations", key) => {
                    format!("`{key}` is an annotation of the object, and `selector` is about labels")
                }
                _ => String::new(),
            },
            ClauseTest::Annotations(wanted) => {
                let keys = wanted.iter().filter_map(|(key, _)| key.as_exact());
                let mut mistaken = keys.filter(|key| !has("annotations", key) && has("labels", key));
                mistaken.next().map_or_else(String::new, |key| {
                    format!("`{key}` is a label of the object, and `annotations` is about annotations")
                })
            }
            ClauseTest::NamespaceLabels(_) if !is_namespace(request) => {
                match evaluation.namespace().ok().flatten() {
                    Some(_) => String::new(),
                    None => format!(
                        "nothing says which labels namespace `{}` has: give its manifest with `-r` or `--world`",
                        matched_namespace(request)
                    ),
                }
            }
            ClauseTest::Roles(_) | ClauseTest::ClusterRoles(_) | ClauseTest::Subjects(_)
                if !request.has_user() =>
            {
                "no user is given: `--user`, `--group`, `--role` and `--cluster-role` say who asks".to_owned()
            }
            _ => String::new(),
        }
    }

    /// Returns the note for a trace.
    pub(super) fn found(&self, asked: ClauseInput<'_>, evaluation: &Evaluation<'_>) -> String {
        let request = evaluation.request;
        let show = |value: Option<&Value>| value.map(TraceNode::show).unwrap_or_default();
        match &self.test {
            ClauseTest::Operations(_) => asked.operation.name().to_owned(),
            ClauseTest::Kinds(_) => MatchedResource::of(request).to_string(),
            ClauseTest::Names(_) => matched_name(asked.object).to_owned(),
            ClauseTest::Namespaces(_) if is_namespace(request) => matched_name(asked.object).to_owned(),
            ClauseTest::Namespaces(_) => matched_namespace(request).to_owned(),
            ClauseTest::Annotations(_) => show(asked.object.at(&["metadata", "annotations"])),
            ClauseTest::Labels(_) => show(asked.object.at(&["metadata", "labels"])),
            ClauseTest::Roles(_) => request.roles.join(", "),
            ClauseTest::ClusterRoles(_) => request.cluster_roles.join(", "),
            ClauseTest::Subjects(_) => show(Some(&request.user)),
            ClauseTest::NamespaceLabels(_) => {
                let namespace = evaluation.namespace().ok().flatten();
                match namespace {
                    Some(namespace) => show(namespace.at(&["metadata", "labels"])),
                    None => "labels that are not known".to_owned(),
                }
            }
        }
    }
}

impl Who {
    fn compile(subject: &crate::source::SubjectFilter) -> Self {
        match subject.kind {
            SubjectKind::User => Self::User(WildcardPattern::parse(&subject.name)),
            SubjectKind::Group => Self::Group(WildcardPattern::parse(&subject.name)),
            SubjectKind::ServiceAccount => Self::User(WildcardPattern::parse(&format!(
                "system:serviceaccount:{}:{}",
                subject.namespace, subject.name
            ))),
        }
    }

    fn asks(&self, user: &Value, budget: &mut Budget) -> Result<bool, Exhausted> {
        match self {
            Self::User(name) => name.matches(user.str_at(&["username"]), budget),
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

/// Returns the namespace of the object. A Namespace has none, whatever the API server sends.
pub(super) fn matched_namespace(request: &AdmissionRequest) -> &str {
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

fn matched_name(object: &Value) -> &str {
    let metadata = object.get("metadata");
    let text = |key| metadata.and_then(|metadata| metadata.get(key)).and_then(Value::as_str);
    text("name").filter(|name| !name.is_empty()).or_else(|| text("generateName")).unwrap_or_default()
}

fn any_fits(globs: &[WildcardPattern], text: &str, budget: &mut Budget) -> Result<bool, Exhausted> {
    for glob in globs {
        if glob.matches(text, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn globs(texts: &[Located<Text>]) -> Vec<WildcardPattern> {
    texts.iter().map(|text| WildcardPattern::parse(&text.value)).collect()
}

fn list_of_texts(texts: &[Located<Text>]) -> String {
    texts.iter().map(|text| text.value.as_str()).collect::<Vec<_>>().join(", ")
}

fn label_pairs_text(pairs: &[(Text, Text)]) -> String {
    pairs.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}
