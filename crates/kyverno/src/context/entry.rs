//! A context entry with its templates and expressions compiled.

use kubewright_jmespath::JmesPathFunctions;
use kubewright_value::{Budget, Step, Text, Value};

use super::super::source::{ContextEntry, ContextSource, RegistryCredentials};
use super::super::template::{
    TemplateVariable, VariableProblem, VariableQuery, VariableTemplate, compact_text,
};
use kubewright_dialect_kit::fields::Located;
use kubewright_k8s::PodTemplatePath;

/// A name that a rule gives to something it looks up.
#[derive(Debug, Clone)]
pub(in super::super) struct CompiledContextEntry {
    pub(super) name: Text,
    pub(super) from: ContextEntrySource,
}

/// Where its value comes from.
#[derive(Debug, Clone)]
pub(super) enum ContextEntrySource {
    Variable {
        value: Option<VariableTemplate>,
        query: Option<VariableQuery>,
        default: Option<VariableTemplate>,
        shown: [Text; 2],
    },
    ConfigMap {
        name: VariableTemplate,
        namespace: Option<VariableTemplate>,
        shown: [Text; 2],
    },
    ApiCall(Box<ContextCall>),
    Image {
        reference: VariableTemplate,
        credentials: RegistryCredentials,
        query: Option<VariableQuery>,
        shown: Text,
    },
    Shared {
        name: VariableTemplate,
        query: Option<VariableQuery>,
    },
}

/// A call of the API server or of a service.
#[derive(Debug, Clone)]
pub(super) struct ContextCall {
    pub(super) path: Option<VariableTemplate>,
    pub(super) service: Option<VariableTemplate>,
    pub(super) headers: Vec<(Text, VariableTemplate)>,
    pub(super) ca_bundle: Text,
    pub(super) method: Text,
    pub(super) data: Vec<(Text, VariableTemplate)>,
    pub(super) query: Option<VariableQuery>,
    /// Never read for variables.
    pub(super) default: Option<Value>,
    pub(super) shown: Text,
}

impl CompiledContextEntry {
    /// Compiles `entry`. The paths of problems start at the document, as those of the entry do.
    pub(in super::super) fn compile(
        entry: &ContextEntry,
        functions: &JmesPathFunctions,
    ) -> (Self, Vec<VariableProblem>) {
        let mut compiler = ContextEntryCompiler { functions, problems: Vec::new() };
        let from = compiler.source(&entry.from);
        (Self { name: entry.name.value.clone(), from }, compiler.problems)
    }

    pub(in super::super) fn name(&self) -> &Text {
        &self.name
    }

    /// Returns whether its value is looked up outside of the rule.
    pub(super) fn is_looked_up(&self) -> bool {
        !matches!(self.from, ContextEntrySource::Variable { .. })
    }

    /// Returns the same entry for the objects that make Pods.
    pub(in super::super) fn rebased(&self, to: PodTemplatePath) -> Self {
        let template =
            |template: &Option<VariableTemplate>| template.as_ref().map(|template| template.rebased(to));
        let query = |query: &Option<VariableQuery>| query.as_ref().map(|query| query.rebased(to));
        let from = match &self.from {
            ContextEntrySource::Variable { value, query: path, default, shown } => {
                ContextEntrySource::Variable {
                    value: template(value),
                    query: query(path),
                    default: template(default),
                    shown: shown.clone(),
                }
            }
            ContextEntrySource::ConfigMap { name, namespace, shown } => ContextEntrySource::ConfigMap {
                name: name.rebased(to),
                namespace: template(namespace),
                shown: shown.clone(),
            },
            ContextEntrySource::ApiCall(call) => ContextEntrySource::ApiCall(Box::new(ContextCall {
                path: template(&call.path),
                service: template(&call.service),
                headers: call.headers.iter().map(|(key, value)| (key.clone(), value.rebased(to))).collect(),
                data: call.data.iter().map(|(key, value)| (key.clone(), value.rebased(to))).collect(),
                // It is applied to the answer, which has no `request`.
                ..(**call).clone()
            })),
            ContextEntrySource::Image { reference, credentials, query: path, shown } => {
                ContextEntrySource::Image {
                    reference: reference.rebased(to),
                    credentials: credentials.clone(),
                    query: path.clone(),
                    shown: shown.clone(),
                }
            }
            ContextEntrySource::Shared { name, query: path } => {
                ContextEntrySource::Shared { name: name.rebased(to), query: path.clone() }
            }
        };
        Self { name: self.name.clone(), from }
    }

    /// Returns the expression that is applied to the context itself, for checks.
    pub(in super::super) fn query(&self) -> Option<&VariableQuery> {
        match &self.from {
            ContextEntrySource::Variable { value: None, query, .. } => query.as_ref(),
            _ => None,
        }
    }

    /// Returns all other variables in it, for checks. Expressions that are applied to a value of their own are left
    /// out, but the variables in them are not.
    pub(in super::super) fn variables(&self) -> Vec<&TemplateVariable> {
        let mut all = Vec::new();
        match &self.from {
            ContextEntrySource::Variable { value, query, default, .. } => {
                for template in [value, default].into_iter().flatten() {
                    all.extend(template.variables());
                }
                if value.is_some() {
                    all.extend(query.iter().flat_map(VariableQuery::inner_variables));
                }
            }
            ContextEntrySource::ConfigMap { name, namespace, .. } => {
                all.extend(name.variables());
                all.extend(namespace.iter().flat_map(VariableTemplate::variables));
            }
            ContextEntrySource::ApiCall(call) => {
                for template in [&call.path, &call.service].into_iter().flatten() {
                    all.extend(template.variables());
                }
                all.extend(call.headers.iter().chain(&call.data).flat_map(|(_, value)| value.variables()));
                all.extend(call.query.iter().flat_map(VariableQuery::inner_variables));
            }
            ContextEntrySource::Image { reference: template, query, .. }
            | ContextEntrySource::Shared { name: template, query } => {
                all.extend(template.variables());
                all.extend(query.iter().flat_map(VariableQuery::inner_variables));
            }
        }
        all
    }
}

struct ContextEntryCompiler<'f> {
    functions: &'f JmesPathFunctions,
    problems: Vec<VariableProblem>,
}

impl ContextEntryCompiler<'_> {
    fn source(&mut self, from: &ContextSource) -> ContextEntrySource {
        match from {
            ContextSource::Variable { value, jmes_path, default } => ContextEntrySource::Variable {
                value: self.values(value.as_ref()),
                query: self.query(jmes_path.as_ref()),
                default: self.values(default.as_ref()),
                shown: [value, default].map(|value| {
                    value.as_ref().map(|value| policy_value_text(&value.value)).unwrap_or_default()
                }),
            },
            ContextSource::ConfigMap { name, namespace } => ContextEntrySource::ConfigMap {
                name: self.text(name),
                shown: [
                    name.value.clone(),
                    namespace.as_ref().map(|namespace| namespace.value.clone()).unwrap_or_default(),
                ],
                namespace: namespace.as_ref().map(|namespace| self.text(namespace)),
            },
            ContextSource::ApiCall { url_path, service, method, data, jmes_path, default } => {
                ContextEntrySource::ApiCall(Box::new(ContextCall {
                    path: url_path.as_ref().map(|path| self.text(path)),
                    service: service.as_ref().map(|service| self.text(&service.url)),
                    headers: service
                        .iter()
                        .flat_map(|service| &service.headers)
                        .map(|(key, value)| (key.clone(), self.value(value)))
                        .collect(),
                    ca_bundle: service.as_ref().map(|service| service.ca_bundle.clone()).unwrap_or_default(),
                    method: if method.is_empty() { "GET".into() } else { method.clone() },
                    data: data.iter().map(|(key, value)| (key.clone(), self.value(value))).collect(),
                    query: self.query(jmes_path.as_ref()),
                    default: default.as_ref().map(|default| default.value.clone()),
                    shown: url_path.as_ref().map(|path| path.value.clone()).unwrap_or_default(),
                }))
            }
            ContextSource::ImageRegistry { reference, credentials, jmes_path } => ContextEntrySource::Image {
                credentials: credentials.clone(),
                shown: reference.value.clone(),
                reference: self.text(reference),
                query: self.query(jmes_path.as_ref()),
            },
            ContextSource::GlobalReference { name, jmes_path } => {
                ContextEntrySource::Shared { name: self.text(name), query: self.query(jmes_path.as_ref()) }
            }
        }
    }

    fn text(&mut self, text: &Located<Text>) -> VariableTemplate {
        self.value(&Located { value: Value::String(text.value.clone()), path: text.path.clone() })
    }

    fn values(&mut self, value: Option<&Located<Value>>) -> Option<VariableTemplate> {
        value.filter(|value| !value.value.is_null()).map(|value| self.value(value))
    }

    fn value(&mut self, value: &Located<Value>) -> VariableTemplate {
        let (template, problems) = VariableTemplate::parse(&value.value, self.functions);
        self.report(&value.path, problems);
        template
    }

    fn query(&mut self, text: Option<&Located<Text>>) -> Option<VariableQuery> {
        let text = text.filter(|text| !text.value.is_empty())?;
        let (query, problems) = VariableQuery::parse(&text.value, self.functions);
        self.report(&text.path, problems);
        Some(query)
    }

    fn report(&mut self, base: &[Step], problems: Vec<VariableProblem>) {
        self.problems.extend(problems.into_iter().map(|problem| VariableProblem {
            path: base.iter().chain(&problem.path).cloned().collect(),
            ..problem
        }));
    }
}

/// Returns a value of the policy as errors show it; nothing where it is larger than a rule may make.
fn policy_value_text(value: &Value) -> Text {
    compact_text(value, &mut Budget::default()).unwrap_or_default()
}
