//! Loads context entries: the query of each source, and its result.

use kubewright_engine::{
    ApiCall, EvalError, ImageLookup, OutcomeReason, Query as Asked, QueryAnswer, ServiceCall,
};
use kubewright_k8s::ObjectName;
use kubewright_value::{Exhausted, Map, Text, Value};

use super::super::conditions::LookedAt;
use super::super::gotext;
use super::super::source::RegistryCredentials;
use super::super::template::{VariableQuery, VariableTemplate, compact_text};
use super::entry::{CompiledContextEntry, ContextCall, ContextEntrySource};
use super::given::merge_values;
use super::{ContextView, MAX_LOADED, Sourced, Unresolved, VariableContext};

impl VariableContext<'_> {
    /// Returns the value of the entry at `place`, which is looked for once.
    pub(super) fn load(&mut self, place: usize) -> Result<Sourced, Unresolved> {
        let Some(declared) = self.declared.get(place) else { return Ok(Sourced::own(Value::Null)) };
        if let Some(loaded) = &declared.loaded {
            return loaded.clone();
        }
        let (entry, scope) = (declared.entry, declared.scope);
        self.budget.enter()?;
        let outer = self.view.replace(ContextView { scope, declared: place });
        let loaded = self.load_entry(entry).and_then(|found| self.keep(entry, found, place));
        self.view = outer;
        self.budget.leave();
        if let Some(declared) = self.declared.get_mut(place) {
            declared.loaded = Some(loaded.clone());
        }
        loaded
    }

    fn load_entry(&mut self, entry: &CompiledContextEntry) -> Result<Sourced, Unresolved> {
        match &entry.from {
            ContextEntrySource::Variable { value, query, default, shown } => {
                let parts =
                    VariableEntry { value: value.as_ref(), query: query.as_ref(), default: default.as_ref() };
                self.variable(&entry.name, &parts, shown)
            }
            ContextEntrySource::ConfigMap { name, namespace, shown } => {
                let prefix = format!("failed to retrieve config map for context entry {}: ", entry.name);
                self.config_map(&entry.name, name, namespace.as_ref(), shown)
                    .map_err(|unresolved| unresolved.within(&prefix))
            }
            ContextEntrySource::ApiCall(call) => self.api_call(&entry.name, call),
            ContextEntrySource::Image { reference, credentials, query, shown } => {
                self.image(&entry.name, (reference, credentials), query.as_ref(), shown)
            }
            ContextEntrySource::Shared { name, query } => self.shared(&entry.name, name, query.as_ref()),
        }
    }

    /// Counts the loaded entry. A looked-up value is merged with the earlier value of the same name.
    fn keep(
        &mut self,
        entry: &CompiledContextEntry,
        found: Sourced,
        place: usize,
    ) -> Result<Sourced, Unresolved> {
        let size = json_size(&found.value, 0)?;
        self.budget.step(size as u64 / 16)?;
        self.loaded = self.loaded.saturating_add(size);
        if self.loaded > MAX_LOADED {
            return Err(Unresolved::error(EvalError::limit(format!(
                "context size limit exceeded: {} bytes exceeds limit of {MAX_LOADED} bytes",
                self.loaded
            ))));
        }
        if !entry.is_looked_up() || found.value.as_object().is_none() {
            return Ok(found);
        }
        let ContextView { scope, .. } = self.view();
        let Some(earlier) = self.named(&entry.name, ContextView { scope, declared: place })? else {
            return Ok(found);
        };
        let value = merge_values(&earlier.value, &found.value);
        Ok(Sourced::own(value).tainted(earlier.is_foreign || found.is_foreign))
    }

    fn variable(
        &mut self,
        name: &str,
        parts: &VariableEntry<'_>,
        [shown, shown_default]: &[Text; 2],
    ) -> Result<Sourced, Unresolved> {
        let within =
            |shown: &str| format!("failed to substitute variables in context entry {name} {shown}: ");
        let default = match parts.default {
            Some(default) => {
                let found =
                    default.resolve(self).map_err(|unresolved| unresolved.within(&within(shown_default)))?;
                Some(Sourced::from(found)).filter(|default| !default.value.is_null())
            }
            None => None,
        };
        let found = match (parts.value, parts.query) {
            (Some(value), query) => {
                let value = value.resolve(self).map_err(|unresolved| unresolved.within(&within(shown)))?;
                let value = Sourced::from(value);
                match query {
                    Some(query) => or_default(query, query.find_in(&value, self), default.as_ref())?,
                    None => Some(value),
                }
            }
            (None, Some(query)) => or_default(query, query.find(self), default.as_ref())?
                .filter(|found| !found.value.is_null())
                .or(default),
            (None, None) => default,
        };
        found.filter(|found| !found.value.is_null()).ok_or_else(|| {
            let message =
                format!("failed to add context entry for variable {name} since it evaluated to nil");
            Unresolved::error(EvalError::new(message))
        })
    }

    fn config_map(
        &mut self,
        entry: &Text,
        name: &VariableTemplate,
        namespace: Option<&VariableTemplate>,
        shown: &[Text; 2],
    ) -> Result<Sourced, Unresolved> {
        let [shown_name, shown_namespace] = shown;
        let name = self.plain(entry, "configMap.name", name, shown_name)?;
        let namespace = match namespace {
            Some(namespace) => self.plain(entry, "configMap.namespace", namespace, shown_namespace)?,
            None => Text::default(),
        };
        let namespace = match (namespace.as_str(), self.world.home()) {
            ("", Some(home)) => home.clone(),
            ("", None) => "default".into(),
            _ => namespace,
        };
        let asked = Asked::Object(ObjectName {
            group: Text::default(),
            kind: "ConfigMap".into(),
            namespace: namespace.clone(),
            name: name.clone(),
        });
        match self.world.get(&asked) {
            QueryAnswer::Found(map) => {
                let field = |key: &str| map.get(key).cloned().unwrap_or_default();
                let made = Map::from([("data", field("data")), ("metadata", field("metadata"))]);
                Ok(Sourced::own(made.into()))
            }
            QueryAnswer::Absent => {
                let message =
                    format!("failed to get configmap {namespace}/{name} : configmaps \"{name}\" not found");
                let help = format!("`--world FILE` with that ConfigMap, or `--set {entry}.data.KEY=VALUE`");
                let cause = format!("ConfigMap {namespace}/{name} is not given");
                Err(Unresolved::error(EvalError::new(message).because(cause, help)))
            }
            QueryAnswer::Failed(why) => Err(Unresolved::error(EvalError::failed_lookup(format!(
                "failed to get configmap {namespace}/{name} : {why}"
            )))),
            QueryAnswer::Refused(why) => {
                Err(Unresolved::error(EvalError::new(format!("context entry {entry}: configMap {why}"))))
            }
            QueryAnswer::Unknown => {
                Err(unanswered(entry, asked, "or put the ConfigMap among the known objects"))
            }
        }
    }

    /// Returns a text of an entry.
    fn plain(
        &mut self,
        entry: &str,
        field: &str,
        template: &VariableTemplate,
        shown: &str,
    ) -> Result<Text, Unresolved> {
        let prefix = || format!("failed to substitute variables in context {entry} {field} {shown}: ");
        let found = template.resolve(self).map_err(|unresolved| unresolved.within(&prefix()))?;
        match found.plain().as_ref() {
            Value::String(text) => Ok(text.clone()),
            other => {
                let message = format!("{}expected string, got {}", prefix(), go_type(other));
                Err(Unresolved::error(EvalError::new(message)))
            }
        }
    }

    fn api_call(&mut self, entry: &Text, call: &ContextCall) -> Result<Sourced, Unresolved> {
        const FETCH: &str = "failed to fetch data for APICall: ";
        let asked = self.asked(entry, call).map_err(|unresolved| unresolved.within(FETCH))?;
        let answer = match self.world.get(&Asked::Api(asked.clone())) {
            QueryAnswer::Found(answer) => answer,
            QueryAnswer::Absent | QueryAnswer::Failed(_) if call.default.is_some() => {
                return Ok(Sourced::own(call.default.clone().unwrap_or_default()));
            }
            QueryAnswer::Absent if call.path.is_none() => {
                return Err(Unresolved::error(EvalError::new(format!("{FETCH}HTTP 404 Not Found: "))));
            }
            QueryAnswer::Absent => {
                let message = unfetched(&asked, "the server could not find the requested resource");
                return Err(Unresolved::error(EvalError::new(message)));
            }
            QueryAnswer::Failed(why) => {
                return Err(Unresolved::error(EvalError::failed_lookup(unfetched(&asked, &why))));
            }
            // A default replaces a missing answer, not a forbidden one.
            QueryAnswer::Refused(why) => {
                return Err(Unresolved::error(EvalError::new(format!("{FETCH}{why}"))));
            }
            QueryAnswer::Unknown => {
                let how = "or give the answer in `apiCallResponses` of the test or a `--world` file";
                return Err(unanswered(entry, Asked::Api(asked), how).within(FETCH));
            }
        };
        if self.wants_reason && answer.get("items").and_then(Value::as_array).is_some_and(<[Value]>::is_empty)
        {
            self.empty_lists.push((entry.clone(), Asked::Api(asked).to_string()));
        }
        let answer = Sourced::foreign(answer);
        let Some(query) = &call.query else { return Ok(answer) };
        query.find_in(&answer, self).map_err(|unresolved| {
            let what = format!("failed to apply JMESPath {} for context entry {entry}: ", query.text());
            unresolved.within(&format!("failed to store data for APICall: {what}"))
        })
    }

    /// Returns the call with its variables put in.
    fn asked(&mut self, entry: &str, call: &ContextCall) -> Result<ApiCall, Unresolved> {
        let within = format!("failed to substitute variables in context entry {entry} {}: ", call.shown);
        let mut text = |template: &VariableTemplate| -> Result<Text, Unresolved> {
            template.resolve_text(self).map_err(|unresolved| unresolved.within(&within))
        };
        let path = call.path.as_ref().map(&mut text).transpose()?.unwrap_or_default();
        let service_url = call.service.as_ref().map(&mut text).transpose()?.unwrap_or_default();
        let mut data = Map::new();
        for (key, template) in &call.data {
            let value = template.resolve(self).map_err(|unresolved| unresolved.within(&within))?;
            data.insert(key.clone(), value.plain().into_owned());
        }
        let mut headers = Vec::new();
        for (key, template) in &call.headers {
            let value = template.resolve_text(self).map_err(|unresolved| unresolved.within(&within))?;
            headers.push((key.clone(), value));
        }
        let data = match data.is_empty() {
            true => Text::default(),
            false => compact_text(&data.into(), self.budget)?,
        };
        Ok(if path.is_empty() {
            let service = ServiceCall { headers, ca_bundle: call.ca_bundle.clone() };
            ApiCall::service(&call.method, &service_url, data, service)
        } else {
            ApiCall::resource(&call.method, &path, data)
        })
    }

    fn image(
        &mut self,
        entry: &Text,
        (reference, credentials): (&VariableTemplate, &RegistryCredentials),
        query: Option<&VariableQuery>,
        shown: &str,
    ) -> Result<Sourced, Unresolved> {
        let reference = reference.resolve(self).map_err(|unresolved| {
            unresolved.within(&format!("failed to substitute variables in context entry {entry} {shown}: "))
        })?;
        let Value::String(reference) = reference.plain().into_owned() else {
            let shown = compact_text(&reference.plain(), self.budget)?;
            let message = format!("invalid image reference {shown}, image reference must be a string");
            return Err(Unresolved::error(EvalError::new(message)));
        };
        let asked = Asked::Image(ImageLookup {
            reference: reference.clone(),
            namespace: self.world.home().cloned().unwrap_or_default(),
            secrets: credentials.secrets.clone(),
            is_insecure: credentials.is_insecure,
            ..ImageLookup::default()
        });
        let answer = match self.world.get(&asked) {
            QueryAnswer::Found(answer) => Sourced::foreign(answer),
            QueryAnswer::Absent => {
                let message = format!("failed to fetch image descriptor: {reference}, error: not found");
                return Err(Unresolved::error(EvalError::new(message)));
            }
            QueryAnswer::Failed(why) => {
                let message = format!("failed to fetch image descriptor: {reference}, error: {why}");
                return Err(Unresolved::error(EvalError::failed_lookup(message)));
            }
            QueryAnswer::Refused(why) => {
                let message = format!("failed to fetch image descriptor: {reference}, error: {why}");
                return Err(Unresolved::error(EvalError::new(message)));
            }
            QueryAnswer::Unknown => {
                return Err(unanswered(
                    entry,
                    asked,
                    "or give the registry's answer in `images` of a `--world` file",
                ));
            }
        };
        let Some(query) = query else { return Ok(answer) };
        query.find_in(&answer, self).map_err(|unresolved| {
            let text = query.text();
            unresolved.within(&format!(
                "failed to apply JMESPath ({text}) results to context entry {entry}, error: "
            ))
        })
    }

    fn shared(
        &mut self,
        entry: &Text,
        name: &VariableTemplate,
        query: Option<&VariableQuery>,
    ) -> Result<Sourced, Unresolved> {
        let error = |message: String| Unresolved::error(EvalError::new(message));
        let prefix = format!("failed to marshal APICall data for context entry {entry}: ");
        let name = name.resolve_text(self).map_err(|unresolved| unresolved.within(&prefix))?;
        let mut parts = name.split('.');
        let (shared, projection) = (parts.next().unwrap_or_default(), parts.next());
        // The caller may provide a part of an entry by its own name.
        let part = projection.filter(|projection| !projection.is_empty());
        let part = part.map(|projection| Asked::Shared(format!("{shared}.{projection}").into()));
        let found = part.as_ref().map(|part| self.world.get(part));
        let is_part =
            matches!(found, Some(QueryAnswer::Found(_) | QueryAnswer::Failed(_) | QueryAnswer::Refused(_)));
        let projection = projection.filter(|_| !is_part);
        let asked = Asked::Shared(shared.into());
        let answer = match found.filter(|_| is_part).unwrap_or_else(|| self.world.get(&asked)) {
            QueryAnswer::Found(answer) => answer,
            QueryAnswer::Absent => return Err(error(format!("{prefix}failed to fetch entry key={shared}"))),
            QueryAnswer::Failed(why) => {
                let message = format!("{prefix}failed to fetch entry key={shared}: {why}");
                return Err(Unresolved::error(EvalError::failed_lookup(message)));
            }
            QueryAnswer::Refused(why) => {
                return Err(error(format!(
                    "context entry {entry}: globalReference is not allowed in namespaced policies: {why}"
                )));
            }
            QueryAnswer::Unknown => {
                let how = "or give it in `globalContextEntries` of the test or a `--world` file";
                return Err(unanswered(entry, part.unwrap_or(asked), how).within(&prefix));
            }
        };
        let answer = match projection {
            None | Some("") => answer,
            Some(projection) => answer.get(projection).cloned().ok_or_else(|| {
                error(format!("{prefix}global context mock: projection \"{projection}\" not found"))
            })?,
        };
        let answer = Sourced::own(answer);
        let Some(query) = query else { return Ok(answer) };
        query.find_in(&answer, self).map_err(|unresolved| {
            let what = format!("failed to apply JMESPath {} for context entry {entry}: ", query.text());
            unresolved.within(&format!("{prefix}{what}"))
        })
    }
}

/// The parts of an entry that is made from the rule itself.
struct VariableEntry<'e> {
    value: Option<&'e VariableTemplate>,
    query: Option<&'e VariableQuery>,
    default: Option<&'e VariableTemplate>,
}

/// Returns the value found, or the default if there is none.
fn or_default(
    query: &VariableQuery,
    found: Result<Sourced, Unresolved>,
    default: Option<&Sourced>,
) -> Result<Option<Sourced>, Unresolved> {
    match (found, default) {
        (Ok(found), _) => Ok(Some(found)),
        (Err(unresolved), Some(default)) if unresolved.is_final() => Ok(Some(default.clone())),
        (Err(unresolved), _) => {
            let prefix = format!("failed to apply jmespath {} to variable <nil>: ", query.text());
            Err(unresolved.explained(|reason| explain_entry(reason, query.text())).within(&prefix))
        }
    }
}

/// Returns why the `jmesPath` of a variable has no value, and that a default would help.
fn explain_entry(reason: OutcomeReason, query: &str) -> OutcomeReason {
    if reason.text.is_empty() || !reason.help.is_empty() {
        return reason;
    }
    let read = LookedAt::of(query).filter(|read| !read.is_element);
    OutcomeReason {
        text: format!("the variable reads `{query}`, which has no value: {}", reason.text),
        help: "give the variable a `default`, or write `|| ''` behind its `jmesPath`".to_owned(),
        path: read.map(|read| read.path).unwrap_or_default(),
        ..reason
    }
}

/// Returns why a call has no answer.
fn unfetched(call: &ApiCall, why: &str) -> String {
    let ApiCall { method, url, .. } = call;
    let message = match call.service {
        None => format!("failed to {method} resource with raw url: {url}: {why}"),
        Some(_) => format!("failed to execute HTTP request for APICall {url}: {why}"),
    };
    format!("failed to fetch data for APICall: {message}")
}

/// Returns the unanswered query, and how to provide the answer.
fn unanswered(entry: &str, asked: Asked, how: &str) -> Unresolved {
    let message = format!(
        "context entry {entry} needs {asked}, which is not known here: give `{entry}` a value in the values file, {how}"
    );
    let (cause, help) =
        (format!("{asked} is not known here"), format!("give `{entry}` a value in the values file, {how}"));
    Unresolved::error(EvalError { message, ..EvalError::unanswered(asked) }.because(cause, help))
}

/// How far the size of an entry is counted. More is too much, however much it is.
const MAX_COUNTED_BYTES: usize = 16 * MAX_LOADED;

/// How many levels an entry may have.
const MAX_LEVELS: u32 = 256;

/// Returns how many bytes `value` is as JSON, nearly, or [`MAX_COUNTED_BYTES`] if it is more.
fn json_size(value: &Value, level: u32) -> Result<usize, Exhausted> {
    if level > MAX_LEVELS {
        return Err(Exhausted::Depth(MAX_LEVELS));
    }
    let mut total: usize = match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(_) | Value::Object(_) => 1,
    };
    for item in value.as_array().unwrap_or_default() {
        total = total.saturating_add(json_size(item, level + 1)? + 1);
        if total > MAX_COUNTED_BYTES {
            return Ok(MAX_COUNTED_BYTES);
        }
    }
    for (key, item) in value.as_object().into_iter().flat_map(Map::iter) {
        total = total.saturating_add(key.len() + 4 + json_size(item, level + 1)?);
        if total > MAX_COUNTED_BYTES {
            return Ok(MAX_COUNTED_BYTES);
        }
    }
    Ok(total)
}

/// Returns the type name of a value in messages; here whole numbers are not doubles.
fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Number(number) if number.as_i64().is_some() => "int64",
        other => gotext::go_type_name(other),
    }
}
