//! `targets`: the objects that a rule changes because of the one under review.
//!
//! A target is looked up in the world. It is returned as an object to be written; nothing is written here.

mod kinds;

use kubewright_engine::{
    ApiCall, Effect, EvalError, EvalErrorKind, ObjectWrite, Query, QueryAnswer, WriteVerb, WrittenPart,
};
use kubewright_golib::glob;
use kubewright_k8s::{ObjectName, is_cluster_scoped};
use kubewright_value::{Step, Text, Value};

use self::kinds::{TargetKind, target_kinds};
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

/// What targets are looked up by.
struct TargetQuery {
    kinds: Vec<TargetKind>,
    /// A part of the objects, such as `scale`; empty for the objects themselves.
    subresource: Text,
    name: Text,
    namespace: Text,
    uid: Text,
    selector: Option<WildcardSelector>,
}

/// An object that is to be changed.
struct FoundTarget {
    object: Value,
    /// What it is a part of.
    part: Option<Box<WrittenPart>>,
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
                    effects.push(Err(target.placed(error)));
                    continue;
                }
            };
            for FoundTarget { object, part } in found {
                context.checkpoint();
                context.set_target(Some(object.clone()));
                notes.open();
                let effect = self.change_target(target, (&object, part), context, notes);
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
        (object, part): (&Value, Option<Box<WrittenPart>>),
        context: &mut VariableContext<'a>,
        notes: &mut TraceNotes,
    ) -> Result<Effect, EvalError> {
        context.declare(&target.entries);
        if let Some(message) =
            crate::evaluate::evaluate_preconditions(target.preconditions.as_ref(), context, notes)?
        {
            return Ok(Effect::Skip { message, exceptions: Vec::new() });
        }
        let patched = self.apply(object, context, notes)?;
        if patched.object == *object {
            return Ok(self.unchanged(&patched, true));
        }
        let changed = patched.object;
        let message = mutated_message(&changed);
        let write = ObjectWrite { part, ..ObjectWrite::new(WriteVerb::Update, changed) };
        Ok(Effect::Write { writes: vec![write], message })
    }
}

impl MutationTarget {
    /// Returns `error` at the place of the entry, unless it has one, with how to answer an open query.
    fn placed(&self, mut error: EvalError) -> EvalError {
        let reason = error.reason.get_or_insert_default();
        if matches!(error.kind, EvalErrorKind::Query(_)) && reason.help.is_empty() {
            reason.help = "give the object with `--world FILE`, or `--world cluster:`".to_owned();
        }
        if reason.at.is_empty() {
            reason.at.clone_from(&self.path);
        }
        error
    }

    /// Returns the objects that the entry names.
    fn find(&self, context: &mut VariableContext<'_>) -> Result<Vec<FoundTarget>, EvalError> {
        let query = self.query(context)?;
        let mut found = Vec::new();
        for kind in &query.kinds {
            for object in query.objects(kind, context)? {
                found.extend(query.part_of(kind, object, context)?);
            }
        }
        Ok(found)
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
        let (kind, subresource) = kind.split_once('/').unwrap_or((&kind, ""));
        let (kinds, subresource) = (target_kinds(&api_version, kind, context)?, Text::new(subresource));
        let namespace = match context.home() {
            Some(home) if namespace.is_empty() => home,
            _ => namespace,
        };
        Ok(TargetQuery { kinds, subresource, name, namespace, uid, selector })
    }

    fn note(&self, object: &Value, effect: &Result<Effect, EvalError>) -> TraceNote {
        let (wanted, verdict) = match effect {
            Ok(Effect::Write { message, .. }) => (message.to_string(), TraceVerdict::Yes),
            Ok(Effect::Skip { message, .. } | Effect::Settled { message, .. }) => {
                (message.to_string(), TraceVerdict::No)
            }
            Ok(_) => (String::new(), TraceVerdict::Done),
            Err(error) => (error.message.clone(), TraceVerdict::Error),
        };
        TraceNote {
            what: format!("target {}", ObjectName::of(object)),
            wanted,
            verdict,
            at: self.path.clone(),
            ..TraceNote::default()
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
    /// Returns the objects of `kind`.
    fn objects(&self, kind: &TargetKind, context: &mut VariableContext<'_>) -> Result<Vec<Value>, EvalError> {
        let is_one = !self.name.is_empty()
            && !glob::has_wildcard(&self.name)
            && !glob::has_wildcard(&self.namespace)
            && self.selector.is_none()
            && (!self.namespace.is_empty() || is_cluster_scoped(&kind.kind));
        let found = match look_up(&self.url(kind, is_one)?, context) {
            // Where all kinds are meant, those that the rule may not read or the cluster does not have are not.
            Err(error) if kind.is_one_of_many && self.kinds.len() > 1 && error.kind.is_final() => Vec::new(),
            Err(error) => return Err(error),
            Ok(None) => Vec::new(),
            Ok(Some(found)) if is_one => vec![found],
            Ok(Some(list)) => list.get("items").and_then(Value::as_array).unwrap_or_default().to_vec(),
        };
        context.budget().step(found.len() as u64)?;
        let mut selected = Vec::new();
        for object in found {
            let object = kind.typed(object);
            if self.selects(&object, context)? {
                selected.push(object);
            }
        }
        Ok(selected)
    }

    /// Returns `object`, or its part if the entry is about one.
    fn part_of(
        &self,
        kind: &TargetKind,
        object: Value,
        context: &mut VariableContext<'_>,
    ) -> Result<Option<FoundTarget>, EvalError> {
        if self.subresource.is_empty() {
            return Ok(Some(FoundTarget { object, part: None }));
        }
        let metadata = |key: &str| Text::from(object.str_at(&["metadata", key]));
        let (name, namespace) = (metadata("name"), metadata("namespace"));
        let url = format!("{}/{}", kind.url(&namespace, &name)?, self.subresource);
        let part = WrittenPart { kind: kind.kind.clone(), subresource: self.subresource.clone() };
        let found = look_up(&url, context)?;
        Ok(found.map(|object| FoundTarget { object, part: Some(Box::new(part)) }))
    }

    /// Returns the path of the object, or of the list that it is in.
    fn url(&self, kind: &TargetKind, is_one: bool) -> Result<String, EvalError> {
        let is_in_one = !glob::has_wildcard(&self.namespace) && !is_cluster_scoped(&kind.kind);
        let namespace = if is_in_one { self.namespace.as_str() } else { "" };
        kind.url(namespace, if is_one { &self.name } else { "" })
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

/// Asks the world for what is at `url`; nothing where there is nothing.
fn look_up(url: &str, context: &mut VariableContext<'_>) -> Result<Option<Value>, EvalError> {
    let asked = Query::Api(ApiCall::resource("GET", url, Text::default()));
    match context.ask(&asked) {
        QueryAnswer::Found(found) => Ok(Some(found)),
        QueryAnswer::Absent => Ok(None),
        QueryAnswer::Unknown => Err(EvalError::unanswered(asked)),
        QueryAnswer::Failed(why) => Err(EvalError::failed(&asked, &why)),
        QueryAnswer::Refused(why) => Err(EvalError::refused(&asked, &why)),
    }
}
