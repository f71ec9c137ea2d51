//! The objects that one `generate` block describes, from its data or as copies of others.

use kubewright_engine::EvalError;
use kubewright_k8s::{GroupVersionKind, LabelSelector, ObjectName, is_api_version};
use kubewright_value::{Map, Text, Value};

use super::source_lookup::{find_object, list_objects};
use super::{CompiledDownstream, DownstreamFate, Making};
use crate::context::VariableContext;
use crate::template::compact_text;
use kubewright_cel_rules::{drop_own_metadata, put_downstream_labels};
use kubewright_dialect_kit::fields::article;

/// The key around a block, so that `@` in its data counts from the data on.
pub(crate) const BLOCK_KEY: &str = "generate";

/// The name and the kind of what is made.
struct DownstreamName {
    api_version: Text,
    kind: Text,
    namespace: Text,
    name: Text,
}

impl<'r> Making<'r, '_> {
    /// Returns the objects of `one`, with its variables as they are now.
    pub(super) fn objects(
        &self,
        one: &'r CompiledDownstream,
        context: &mut VariableContext<'r>,
    ) -> Result<Vec<Value>, EvalError> {
        let resolved = one.template.resolve(context);
        let resolved =
            resolved.map_err(|unresolved| unresolved.within("failed to substitute variables: "))?;
        let resolved = resolved.plain();
        let block = resolved.get(BLOCK_KEY).unwrap_or(&Value::Null);
        let made = DownstreamName::of(block, context)?;
        let is_there = |found: &&Value| found.as_object().is_some_and(|map| !map.is_empty());
        if let Some(list) = block.get("cloneList").filter(is_there) {
            return self.copy_list(list, &made, context);
        }
        self.check_home(&made.namespace)?;
        if let Some(source) = block.get("clone").filter(is_there) {
            return Ok(self.copy_one(source, made, context)?.into_iter().collect());
        }
        let data = match block.get("data") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(data)) => data.as_ref().clone(),
            Some(other) => {
                let found = article(other.kind());
                return Err(EvalError::new(format!("`data` must be a map, found {found}")));
            }
        };
        Ok(vec![self.object(&data, made, None)])
    }

    /// Returns the copy of one object; nothing where it would be the object itself.
    fn copy_one(
        &self,
        source: &Value,
        made: DownstreamName,
        context: &mut VariableContext<'r>,
    ) -> Result<Option<Value>, EvalError> {
        let text = |key: &str, context: &mut VariableContext<'r>| text_field(source, key, context);
        let (name, namespace) = (text("name", context)?, text("namespace", context)?);
        if name == made.name && namespace == made.namespace {
            return Ok(None);
        }
        if self.fate == DownstreamFate::Deleted {
            return Ok(Some(self.object(&Map::new(), made, None)));
        }
        let GroupVersionKind { group, .. } = made.group_version();
        let wanted = ObjectName { group, kind: made.kind.clone(), namespace, name };
        let found = find_object(self.world, &wanted)?;
        Ok(Some(self.copy(&found, made)))
    }

    /// Returns the copies of all objects that a list selects, each under its own name.
    fn copy_list(
        &self,
        list: &Value,
        made: &DownstreamName,
        context: &mut VariableContext<'r>,
    ) -> Result<Vec<Value>, EvalError> {
        let from = text_field(list, "namespace", context)?;
        self.check_home(&made.namespace)?;
        let selector = match list.get("selector").filter(|found| !found.is_null()) {
            Some(selector) => LabelSelector::read(selector)
                .ok_or_else(|| EvalError::new("the selector of `cloneList` cannot be read"))?,
            None => LabelSelector::default(),
        };
        let mut copies = Vec::new();
        // A source in the target's namespace would be its own copy.
        let kinds = list.get("kinds").and_then(Value::as_array).unwrap_or_default();
        for kind in kinds.iter().filter_map(Value::as_str) {
            let kind = listed_kind(kind);
            let items = list_objects(self.world, &kind, &from)?;
            context.budget().step(items.len() as u64)?;
            for item in &items {
                let namespace = item.str_at(&["metadata", "namespace"]);
                if namespace == made.namespace || !selector.matches(|key| label_of(item, key)) {
                    continue;
                }
                copies.push(self.listed(item, &kind, made));
            }
        }
        Ok(copies)
    }

    /// Returns the copy of an object of a list.
    fn listed(&self, item: &Value, kind: &GroupVersionKind, made: &DownstreamName) -> Value {
        let api_version = match kind.group.as_str() {
            "" => kind.version.clone(),
            group => format!("{group}/{}", kind.version).into(),
        };
        let mut source = item.as_object().cloned().unwrap_or_default();
        // The items of a list do not say their kind.
        source.insert("apiVersion".into(), api_version.clone().into());
        source.insert("kind".into(), kind.kind.clone().into());
        let name = DownstreamName {
            api_version,
            kind: kind.kind.clone(),
            namespace: made.namespace.clone(),
            name: item.str_at(&["metadata", "name"]).into(),
        };
        match self.fate {
            DownstreamFate::Made => self.copy(&source.into(), name),
            DownstreamFate::Deleted => self.object(&Map::new(), name, None),
        }
    }

    /// Returns a copy of `source`.
    fn copy(&self, source: &Value, made: DownstreamName) -> Value {
        let mut content = source.as_object().cloned().unwrap_or_default();
        let mut metadata = source.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        drop_own_metadata(&mut metadata, &made.namespace);
        content.insert("metadata".into(), metadata.into());
        self.object(&content, made, Some(source))
    }

    /// Returns the object with this content and name. The kind in the content wins over that of the block, the
    /// version of the block over that in the content.
    fn object(&self, content: &Map, made: DownstreamName, source: Option<&Value>) -> Value {
        let kind = match content.get("kind").and_then(Value::as_str) {
            Some(kind) if !kind.is_empty() => kind.into(),
            _ => made.kind,
        };
        let mut metadata = content.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        metadata.insert("name".into(), made.name.into());
        metadata.remove("namespace");
        if !made.namespace.is_empty() {
            metadata.insert("namespace".into(), made.namespace.into());
        }
        put_downstream_labels(&mut metadata, &self.rule.origin, &self.trigger, source);
        let mut object = Map::with_capacity(content.len() + 2);
        object.insert("apiVersion".into(), made.api_version.into());
        object.insert("kind".into(), kind.into());
        object.insert("metadata".into(), metadata.into());
        for (key, value) in content.iter() {
            if !["apiVersion", "kind", "metadata"].contains(&key.as_str()) {
                object.insert(key.clone(), value.clone());
            }
        }
        object.into()
    }

    /// A Policy makes objects in its own namespace only.
    fn check_home(&self, namespace: &Text) -> Result<(), EvalError> {
        match self.rule.origin.namespace.as_str() {
            "" => Ok(()),
            home if namespace == home => Ok(()),
            home => Err(EvalError::new(format!(
                "a policy of namespace {home} generates in that namespace alone, not in `{namespace}`"
            ))),
        }
    }
}

impl DownstreamName {
    fn of(block: &Value, context: &mut VariableContext<'_>) -> Result<Self, EvalError> {
        let api_version = text_field(block, "apiVersion", context)?;
        // Copies of a list have the versions that the list names.
        if !api_version.is_empty() && !is_api_version(&api_version) {
            return Err(EvalError::new(format!("unexpected GroupVersion string: {api_version}")));
        }
        Ok(Self {
            api_version,
            kind: text_field(block, "kind", context)?,
            namespace: text_field(block, "namespace", context)?,
            name: text_field(block, "name", context)?,
        })
    }

    fn group_version(&self) -> GroupVersionKind {
        listed_kind(&format!("{}/{}", self.api_version, self.kind))
    }
}

fn label_of<'i>(item: &'i Value, key: &str) -> Option<&'i str> {
    item.at(&["metadata", "labels", key]).and_then(Value::as_str)
}

/// Reads `v1/Secret` or `apps/v1/Deployment`.
fn listed_kind(text: &str) -> GroupVersionKind {
    let (version, kind) = text.rsplit_once('/').unwrap_or(("v1", text));
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    GroupVersionKind { group: group.into(), version: version.into(), kind: kind.into() }
}

/// Returns the text of a field, which a variable may have made another scalar; empty where it is not there.
fn text_field(block: &Value, key: &str, context: &mut VariableContext<'_>) -> Result<Text, EvalError> {
    match block.get(key) {
        None | Some(Value::Null) => Ok(Text::default()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(scalar @ (Value::Bool(_) | Value::Number(_))) => Ok(compact_text(scalar, context.budget())?),
        Some(other) => {
            Err(EvalError::new(format!("`{key}` must be a text, found {}", article(other.kind()))))
        }
    }
}
