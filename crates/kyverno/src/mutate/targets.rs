//! `targets`: the objects that a rule changes because of the one under review.
//!
//! A target is looked up in the world. It is returned as an object to be written; nothing is written here.

use kubewright_engine::{ApiCall, Effect, EvalError, ObjectWrite, Query, QueryAnswer, WriteVerb};
use kubewright_golib::glob;
use kubewright_k8s::{BUILT_IN_KINDS, GroupVersionKind, ObjectName, is_cluster_scoped, resource_name};
use kubewright_value::{Map, Step, Text, Value};

use super::{Mutation, mutated_message, unresolved_variable};
use crate::conditions::ConditionSet;
use crate::context::{CompiledContextEntry, VariableContext};
use crate::evaluate::Rooted;
use crate::template::VariableTemplate;
use kubewright_dialect_kit::notes::{TraceNote, TraceNotes};
use kubewright_dialect_kit::selector::{SelectorSource, WildcardSelector};
use kubewright_engine::TraceVerdict;

/// A compiled entry of `targets`.
pub(crate) struct MutationTarget {
    pub(crate) path: Vec<Step>,
    pub(crate) api_version: Option<VariableTemplate>,
    pub(crate) kind: VariableTemplate,
    pub(crate) name: Option<VariableTemplate>,
    pub(crate) namespace: Option<VariableTemplate>,
    pub(crate) uid: Option<VariableTemplate>,
    pub(crate) selector: Option<TargetSelector>,
    pub(crate) entries: Vec<CompiledContextEntry>,
    pub(crate) preconditions: Option<Rooted<ConditionSet>>,
}

/// A label selector with variables in the values of its labels.
pub(crate) struct TargetSelector {
    pub(crate) labels: Vec<(Text, VariableTemplate)>,
    pub(crate) source: SelectorSource,
}

/// What a target is looked up by.
struct TargetQuery {
    kind: GroupVersionKind,
    name: Text,
    namespace: Text,
    uid: Text,
    selector: Option<WildcardSelector>,
}

impl Mutation {
    /// Changes every target; returns one effect for each.
    pub(crate) fn change_targets<'a>(
        &'a self,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> Vec<Result<Effect, EvalError>> {
        let mut effects = Vec::new();
        for target in &self.targets {
            let found = match target.find(context) {
                Ok(found) => found,
                Err(error) => {
                    effects.push(Err(error));
                    continue;
                }
            };
            for object in found {
                context.checkpoint();
                context.set_target(Some(object.clone()));
                notes.open();
                let effect = self.change_target(target, &object, context, notes);
                notes.close(|| target.note(&object, &effect));
                context.set_target(None);
                context.restore();
                effects.push(effect);
            }
        }
        effects
    }

    fn change_target<'a>(
        &'a self,
        target: &'a MutationTarget,
        object: &Value,
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        context.declare(&target.entries);
        if let Some(message) = crate::evaluate::precondition(target.preconditions.as_ref(), context, notes)? {
            return Ok(Effect::Skip { message, exceptions: Vec::new() });
        }
        let changed = self.apply(object, context, notes)?;
        if changed == *object {
            let message = self.unchanged_message().into();
            return Ok(Effect::Skip { message, exceptions: Vec::new() });
        }
        let message = mutated_message(&changed);
        Ok(Effect::Write { writes: vec![ObjectWrite { verb: WriteVerb::Update, object: changed }], message })
    }
}

impl MutationTarget {
    /// Returns the objects that the entry names.
    fn find(&self, context: &mut VariableContext<'_>) -> Result<Vec<Value>, EvalError> {
        let query = self.query(context)?;
        let is_one = !query.name.is_empty()
            && !glob::has_wildcard(&query.name)
            && !glob::has_wildcard(&query.namespace)
            && query.selector.is_none()
            && (!query.namespace.is_empty() || is_cluster_scoped(&query.kind));
        let call = ApiCall::resource("GET", &query.url(is_one)?, Text::default());
        let asked = Query::Api(call);
        let found = match context.ask(&asked) {
            QueryAnswer::Found(found) if is_one => vec![found],
            QueryAnswer::Found(list) => {
                list.get("items").and_then(Value::as_array).unwrap_or_default().to_vec()
            }
            QueryAnswer::Absent => Vec::new(),
            QueryAnswer::Unknown => return Err(EvalError::unanswered(asked)),
            QueryAnswer::Failed(why) => return Err(EvalError::failed(&asked, &why)),
            QueryAnswer::Refused(why) => return Err(EvalError::refused(&asked, &why)),
        };
        context.budget().step(found.len() as u64)?;
        let mut selected = Vec::new();
        for object in found {
            let object = query.typed(object);
            if query.selects(&object, context)? {
                selected.push(object);
            }
        }
        Ok(selected)
    }

    fn query(&self, context: &mut VariableContext<'_>) -> Result<TargetQuery, EvalError> {
        let mut text = |template: Option<&VariableTemplate>| match template {
            Some(template) => template.resolve_text(context).map_err(unresolved_variable),
            None => Ok(Text::default()),
        };
        let (api_version, kind) = (text(self.api_version.as_ref())?, text(Some(&self.kind))?);
        let (name, namespace) = (text(self.name.as_ref())?, text(self.namespace.as_ref())?);
        let uid = text(self.uid.as_ref())?;
        let selector = match &self.selector {
            Some(selector) => Some(selector.compile(context)?),
            None => None,
        };
        let kind = target_kind(&api_version, &kind)?;
        let namespace = match context.home() {
            Some(home) if namespace.is_empty() => home,
            _ => namespace,
        };
        Ok(TargetQuery { kind, name, namespace, uid, selector })
    }

    fn note(&self, object: &Value, effect: &Result<Effect, EvalError>) -> TraceNote {
        let (wanted, verdict) = match effect {
            Ok(Effect::Write { message, .. }) => (message.to_string(), TraceVerdict::Yes),
            Ok(Effect::Skip { message, .. }) => (message.to_string(), TraceVerdict::No),
            Ok(_) => (String::new(), TraceVerdict::Done),
            Err(error) => (error.message.clone(), TraceVerdict::Error),
        };
        TraceNote {
            what: format!("target {}", ObjectName::of(object)),
            found: String::new(),
            wanted,
            verdict,
            at: self.path.clone(),
            children: Vec::new(),
        }
    }
}

impl TargetSelector {
    fn compile(&self, context: &mut VariableContext<'_>) -> Result<WildcardSelector, EvalError> {
        let mut labels = Vec::with_capacity(self.labels.len());
        for (key, value) in &self.labels {
            labels.push((key.clone(), value.resolve_text(context).map_err(unresolved_variable)?));
        }
        Ok(WildcardSelector::compile(&SelectorSource { labels, ..self.source.clone() }))
    }
}

impl TargetQuery {
    /// Returns the path of the object, or of the list that it is in.
    fn url(&self, is_one: bool) -> Result<String, EvalError> {
        let GroupVersionKind { group, version, kind } = &self.kind;
        let root = match group.as_str() {
            "" => format!("/api/{version}"),
            group => format!("/apis/{group}/{version}"),
        };
        let is_in_one = !self.namespace.is_empty()
            && !glob::has_wildcard(&self.namespace)
            && !is_cluster_scoped(&self.kind);
        for part in [group, version, kind, &self.namespace, &self.name] {
            if part.contains(['/', '?', '#', '%', ' ']) {
                return Err(EvalError::new(format!("`{part}` is not a name of a target")));
            }
        }
        let namespace = if is_in_one { format!("/namespaces/{}", self.namespace) } else { String::new() };
        let name = if is_one { format!("/{}", self.name) } else { String::new() };
        Ok(format!("{root}{namespace}/{}{name}", resource_name(kind)))
    }

    /// Returns an object with its type, which the elements of a list do not have.
    fn typed(&self, mut object: Value) -> Value {
        let is_typed = object.get("kind").is_some();
        if let Some(map) = object.as_object_mut().filter(|_| !is_typed) {
            let GroupVersionKind { group, version, kind } = &self.kind;
            let api_version =
                if group.is_empty() { version.to_string() } else { format!("{group}/{version}") };
            map.insert("apiVersion".into(), api_version.into());
            map.insert("kind".into(), kind.clone().into());
        }
        object
    }

    fn selects(&self, object: &Value, context: &mut VariableContext<'_>) -> Result<bool, EvalError> {
        let metadata = |key: &str| object.str_at(&["metadata", key]);
        if !self.uid.is_empty() && metadata("uid") != self.uid {
            return Ok(false);
        }
        for (wanted, found) in [(&self.name, metadata("name")), (&self.namespace, metadata("namespace"))] {
            if !wanted.is_empty() && !glob::matches_wildcard(wanted, found, context.budget())? {
                return Ok(false);
            }
        }
        let labels = object.at(&["metadata", "labels"]).and_then(Value::as_object);
        match &self.selector {
            Some(selector) => Ok(selector.matches(labels, context.budget())?),
            None => Ok(true),
        }
    }
}

/// Returns the kind of a target.
fn target_kind(api_version: &str, kind: &str) -> Result<GroupVersionKind, EvalError> {
    if kind.contains('/') {
        return Err(EvalError::new(format!(
            "`{kind}` is a subresource, which cannot be looked up as a target"
        )));
    }
    if glob::has_wildcard(kind) || glob::has_wildcard(api_version) {
        return Err(EvalError::new(format!("`{api_version} {kind}` names no single kind of targets")));
    }
    let made = Map::from([("apiVersion", Value::from(api_version)), ("kind", kind.into())]);
    let mut found = GroupVersionKind::of(&made.into());
    if api_version.is_empty() {
        let known = BUILT_IN_KINDS.iter().find(|(_, _, kinds)| kinds.contains(&kind));
        let (group, version, _) = known
            .ok_or_else(|| EvalError::new(format!("the target of kind `{kind}` has no `apiVersion`")))?;
        (found.group, found.version) = ((*group).into(), (*version).into());
    }
    Ok(found)
}
