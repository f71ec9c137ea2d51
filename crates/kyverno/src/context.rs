//! The variables of a rule: the request, the caller's values, context entries and loop elements.
//!
//! Nothing is built before a variable reads it. An entry is loaded when an expression names it, at most
//! once, and sees only earlier entries. All parts share memory with their sources.

mod entry;
mod given;
mod load;
mod root;
mod sourced;

pub(super) use entry::CompiledContextEntry;
use kubewright_engine::{
    DerivedCache, DerivedName, EvalError, Evaluation, Query, QueryAnswer, RuleId, WorldView,
};
use kubewright_jmespath::{JmesPathError, JmesPathErrorKind, JmesPathExpression, JmesPathLookup, is_truthy};
use kubewright_k8s::{AdmissionRequest, Operation};
use kubewright_value::suggest::nearest_misspelling;
use kubewright_value::{Budget, Map, Text, Value};

use super::images;
use super::tainted::Tainted;
use super::template::{CompiledQuery, QueryAlternatives, VariableQuery, VariableTemplate};
use given::ValueOverrides;
pub(super) use sourced::{Sourced, Unresolved};

/// How many bytes of JSON all context entries of a rule may be together.
const MAX_LOADED: usize = 2 << 20;

/// The values of the variables of one rule, for one request.
pub(super) struct VariableContext<'a> {
    request: &'a AdmissionRequest,
    world: WorldView<'a>,
    budget: &'a mut Budget,
    derived: &'a DerivedCache,
    /// Whether a failure has a reason in plain words.
    pub(super) wants_reason: bool,
    /// Whether a failure has its places in the object and in the rule.
    pub(super) wants_places: bool,
    /// Whether something shows that the rule passes.
    pub(super) wants_pass_message: bool,
    rule: &'a RuleId,
    object: Value,
    /// The object that a rule about others changes.
    target: Option<Value>,
    given: Option<ValueOverrides>,
    images: Option<Result<Option<Value>, Unresolved>>,
    // INVARIANT: never empty; the first one is the rule, each further one an element of a loop in it.
    scopes: Vec<ContextScope>,
    declared: Vec<Declared<'a>>,
    /// The scope whose names count, and how many declarations: all, unless an entry is being loaded.
    view: Option<ContextView>,
    /// How many bytes all entries are that were loaded.
    loaded: usize,
    /// The entries that list objects and found none, with what they ask for.
    empty_lists: Vec<(Text, String)>,
}

struct ContextScope {
    /// The root value of expressions, without context entries; built on first use.
    root: Option<Value>,
    element: Option<ForeachElement>,
    /// How many entries were declared when the scope began.
    first: usize,
    /// Whether someone other than the policy's author may have written its element.
    is_foreign: bool,
    /// Further names, which someone other than the policy's author wrote.
    predicate: Option<Value>,
}

/// The element of a loop.
#[derive(Debug, Clone)]
struct ForeachElement {
    value: Value,
    index: usize,
    /// How many loops the loop is in.
    nesting: usize,
}

impl ForeachElement {
    fn put_into(&self, root: &mut Map) {
        root.insert("element".into(), self.value.clone());
        root.insert(format!("element{}", self.nesting).into(), self.value.clone());
        root.insert("elementIndex".into(), self.index.into());
        root.insert(format!("elementIndex{}", self.nesting).into(), self.index.into());
    }
}

impl ContextScope {
    fn new(first: usize) -> Self {
        Self { root: None, element: None, first, is_foreign: true, predicate: None }
    }
}

struct Declared<'a> {
    entry: &'a CompiledContextEntry,
    scope: usize,
    loaded: Option<Result<Sourced, Unresolved>>,
}

#[derive(Debug, Clone, Copy)]
struct ContextView {
    scope: usize,
    declared: usize,
}

impl<'a> VariableContext<'a> {
    /// Returns the context of `rule` for the request of `evaluation`, whose object is by now `object`.
    pub(super) fn new(evaluation: &'a mut Evaluation<'_>, object: &Value, rule: &'a RuleId) -> Self {
        Self {
            request: evaluation.request,
            world: evaluation.world,
            derived: evaluation.derived(),
            wants_reason: evaluation.wants_reason,
            wants_places: evaluation.wants_places,
            wants_pass_message: evaluation.wants_pass_message,
            budget: evaluation.budget,
            rule,
            object: object.clone(),
            target: None,
            given: None,
            images: None,
            scopes: vec![ContextScope::new(0)],
            declared: Vec::new(),
            view: None,
            loaded: 0,
            empty_lists: Vec::new(),
        }
    }

    /// Continues with another form of the object.
    pub(super) fn set_object(&mut self, object: &Value) {
        self.object = object.clone();
        self.forget();
    }

    /// Sets the value of `target`.
    pub(super) fn set_target(&mut self, target: Option<Value>) {
        self.target = target;
        self.forget();
    }

    /// Forgets what was made of the object.
    fn forget(&mut self) {
        self.images = None;
        self.scopes.iter_mut().for_each(|scope| scope.root = None);
    }

    /// Returns the context of a policy that is about a stored object: no request, only `target`.
    pub(super) fn of_target(evaluation: &'a mut Evaluation<'_>, object: &Value, rule: &'a RuleId) -> Self {
        let mut context = Self::new(evaluation, object, rule);
        let root = Value::from(Map::from([("target", object.clone())]));
        for scope in &mut context.scopes {
            scope.root = Some(root.clone());
        }
        context
    }

    /// Declares context entries; they are loaded when they are named.
    pub(super) fn declare(&mut self, entries: &'a [CompiledContextEntry]) {
        let scope = self.scopes.len().saturating_sub(1);
        for entry in entries {
            // The caller's values replace lookups.
            if entry.is_looked_up() && self.given().has(entry.name()) {
                continue;
            }
            self.declared.push(Declared { entry, scope, loaded: None });
        }
    }

    /// Begins an element of a loop; [`Context::restore`] ends it.
    pub(super) fn checkpoint(&mut self) {
        self.scopes.push(ContextScope::new(self.declared.len()));
    }

    /// Removes the entries and declarations since the last [`Context::checkpoint`].
    pub(super) fn restore(&mut self) {
        if self.scopes.len() > 1
            && let Some(scope) = self.scopes.pop()
        {
            self.declared.truncate(scope.first);
        }
    }

    /// Sets the element of a loop that is `nesting` loops deep.
    pub(super) fn enter_sourced(&mut self, element: &Sourced, index: usize, nesting: usize) {
        let last = self.scopes.len().saturating_sub(1);
        let outer = last.checked_sub(1).and_then(|outer| self.scopes.get(outer));
        // `element0` of an outer loop stays readable, so one that is foreign makes all of them so.
        let is_foreign = element.is_foreign || last > 1 && outer.is_none_or(|outer| outer.is_foreign);
        if let Some(scope) = self.scopes.get_mut(last) {
            scope.root = None;
            scope.element = Some(ForeachElement { value: element.value.clone(), index, nesting });
            scope.is_foreign = is_foreign;
        }
    }

    /// Runs `evaluate` while the fields of `predicate` are names.
    pub(super) fn with_predicate<T>(
        &mut self,
        predicate: &Value,
        evaluate: impl FnOnce(&mut Self) -> T,
    ) -> T {
        self.checkpoint();
        if let Some(scope) = self.scopes.last_mut() {
            scope.predicate = Some(predicate.clone());
        }
        let result = evaluate(self);
        self.restore();
        result
    }

    /// Returns the request.
    pub(super) fn request(&self) -> &'a AdmissionRequest {
        self.request
    }

    /// Returns the world.
    pub(super) fn world(&self) -> WorldView<'a> {
        self.world
    }

    /// Returns the answer to `query`.
    pub(super) fn find(&mut self, query: &VariableQuery) -> Result<Sourced, Unresolved> {
        query.find(self)
    }

    /// Returns the message of a pass; empty where it is not shown. All threads share `message`, and counting those who have
    /// it keeps them waiting for each other.
    pub(super) fn pass_message(&self, message: impl FnOnce() -> Text) -> Text {
        if self.wants_pass_message { message() } else { Text::default() }
    }

    /// Returns the budget.
    pub(super) fn budget(&mut self) -> &mut Budget {
        self.budget
    }

    /// Returns what the world knows about `query`.
    pub(super) fn ask(&self, query: &Query) -> QueryAnswer {
        self.world.get(query)
    }

    /// Returns the namespace of the policy, where it has one.
    pub(super) fn home(&self) -> Option<Text> {
        self.world.home().cloned()
    }

    /// Returns whether the request is a deletion.
    pub(super) fn is_deletion(&self) -> bool {
        self.request.operation == Operation::Delete
    }

    /// Charges for text that was made.
    pub(super) fn charge(&mut self, bytes: usize) -> Result<(), Unresolved> {
        self.budget.step(1)?;
        Ok(self.budget.produce(bytes)?)
    }

    /// Evaluates an expression on everything that it names.
    pub(super) fn search(
        &mut self,
        compiled: &CompiledQuery,
        is_deletion: bool,
    ) -> Result<Sourced, Unresolved> {
        self.search_filled(compiled, &[], is_deletion)
    }

    /// Evaluates an expression with `slots` filled in.
    pub(super) fn search_filled(
        &mut self,
        compiled: &CompiledQuery,
        slots: &[Value],
        is_deletion: bool,
    ) -> Result<Sourced, Unresolved> {
        if let Some(choice) = compiled.on_object()
            && !self.is_deletion()
            && !self.given().has("request")
        {
            return match slots.is_empty() {
                true => {
                    search_object(choice, compiled.shared_number, &self.object, self.derived, self.budget)
                }
                false => search_tainted(choice, slots, (&self.object, true), self.budget),
            };
        }
        let view = self.view();
        if let Some(choice) = compiled.on_element()
            && !self.given().has("element")
            && let Some(scope) = self.scopes.get(view.scope)
            && let Some(element) = &scope.element
        {
            return search_tainted(choice, slots, (&element.value, scope.is_foreign), self.budget);
        }
        let mut root = self.root(view.scope);
        let mut is_foreign = compiled.roots.takes_all;
        let mut parts = None;
        for name in &compiled.roots.names {
            if let Some(found) = self.named(name, view)? {
                is_foreign |= found.is_foreign;
                parts = found.parts;
                if let Some(map) = root.as_object_mut() {
                    map.insert(name.clone(), found.value);
                }
            } else {
                is_foreign |= self.is_foreign(name, view.scope);
            }
        }
        let choice = compiled.choice(is_deletion);
        match parts {
            Some(parts) => self.search_parts(choice, slots, (&root, is_foreign), &parts),
            None => search_tainted(choice, slots, (&root, is_foreign), self.budget),
        }
    }

    /// Evaluates an expression on a value whose parts have known authors, which counts where it is a path into it.
    fn search_parts(
        &mut self,
        choice: &QueryAlternatives,
        slots: &[Value],
        (root, is_foreign): (&Value, bool),
        parts: &Tainted,
    ) -> Result<Sourced, Unresolved> {
        let filled = choice.filled(slots);
        let Some(path) = filled.whole.plain_path() else {
            return search_tainted(choice, slots, (root, is_foreign), self.budget);
        };
        let found = evaluate_jmespath(&filled.whole, root, self.budget)
            .map_err(|unresolved| unresolved.within("JMESPath query failed: "))?;
        let keys = path.get(1..).unwrap_or_default();
        Ok(Sourced::part(parts, keys).unwrap_or_else(|| Sourced::foreign(found)))
    }

    /// Evaluates an expression on `value` alone.
    pub(super) fn search_in(
        &mut self,
        expression: &JmesPathExpression,
        value: &Sourced,
    ) -> Result<Sourced, Unresolved> {
        let found = evaluate_jmespath(expression, &value.value, self.budget)?;
        Ok(Sourced { is_foreign: value.is_foreign, ..Sourced::foreign(found) })
    }

    /// Returns that a variable of `template` lists objects and none was given; empty where that is not so.
    pub(super) fn empty_list_help(&self, template: &VariableTemplate) -> String {
        let reads = |name: &Text| {
            let variables = template.variables();
            let mut roots = variables.iter().filter_map(|variable| variable.roots());
            roots.any(|roots| roots.names.contains(name))
        };
        let found = self.empty_lists.iter().find(|(name, _)| reads(name));
        found.map_or_else(String::new, |(name, asked)| {
            format!(
                "`{name}` is the answer to {asked}, and no such object is given: `--world FILE` gives some"
            )
        })
    }

    /// Returns the key that is probably meant by the first one of the path `text` that is not there.
    pub(super) fn nearest_key(&mut self, text: &str) -> Option<String> {
        let first = text.split('.').next()?;
        if self.declared.iter().any(|declared| declared.entry.name() == first) {
            return None;
        }
        let root = self.root(self.view().scope);
        let mut value = &root;
        for key in text.split('.') {
            match value.get(key) {
                Some(found) => value = found,
                None => {
                    let known = value.as_object()?.keys().map(Text::as_str);
                    return nearest_misspelling(key, known).map(str::to_owned);
                }
            }
        }
        None
    }

    fn view(&self) -> ContextView {
        self.view.unwrap_or(ContextView {
            scope: self.scopes.len().saturating_sub(1),
            declared: self.declared.len(),
        })
    }

    /// Returns the value of a name that is not in the root: a context entry, or the images of the object.
    fn named(&mut self, name: &Text, view: ContextView) -> Result<Option<Sourced>, Unresolved> {
        let seen = self.declared.iter().take(view.declared).enumerate();
        let place = seen.rev().find(|(_, declared)| declared.entry.name() == name).map(|(place, _)| place);
        if let Some(place) = place {
            return self.load(place).map(Some);
        }
        if name != "images" {
            return Ok(None);
        }
        let images = self.images()?;
        Ok(images.map(Sourced::foreign))
    }

    fn images(&mut self) -> Result<Option<Value>, Unresolved> {
        if self.images.is_none() {
            let found = match self.is_deletion() {
                true => Ok(None),
                // Rules of a decision ask for the images of the same object.
                false => self.derived.get_or_derive(
                    (DerivedName { name: "images", expression: &Text::default(), number: 0 }, &self.object),
                    self.budget,
                    images::images_of_object,
                ),
            };
            self.images = Some(found.map(|found| {
                let mut images = found?;
                if let Some(given) = self.root(0).get("images") {
                    images = given::merge_values(given, &images);
                }
                Some(images)
            }));
        }
        self.images.clone().unwrap_or(Ok(None))
    }

    /// Returns whether `name`, which is not a context entry, may be written by someone other than the policy's author.
    fn is_foreign(&mut self, name: &str, scope: usize) -> bool {
        match name {
            "request" | "images" | "image" | "serviceAccountName" | "serviceAccountNamespace" | "target" => {
                true
            }
            name if name.starts_with("element") && scope > 0 => {
                self.scopes.get(scope).is_none_or(|scope| scope.is_foreign)
            }
            name => {
                let scopes = self.scopes.iter().take(scope + 1);
                let mut predicates = scopes.filter_map(|scope| scope.predicate.as_ref());
                predicates.any(|predicate| predicate.get(name).is_some())
            }
        }
    }

    fn root(&mut self, scope: usize) -> Value {
        if let Some(root) = self.scopes.get(scope).and_then(|scope| scope.root.as_ref()) {
            return root.clone();
        }
        let mut root = match scope.checked_sub(1) {
            Some(outer) => self.root(outer),
            None => root::context_root(self.request, &self.object),
        };
        let element = self.scopes.get(scope).and_then(|scope| scope.element.clone());
        match (element, scope) {
            (Some(element), _) => {
                if let Some(map) = root.as_object_mut() {
                    element.put_into(map);
                }
                self.given().put_elements_into(&mut root);
            }
            (None, 0) => {
                if let (Some(map), Some(target)) = (root.as_object_mut(), &self.target) {
                    map.insert("target".into(), target.clone());
                }
                self.given().put_into(&mut root);
            }
            (None, _) => {}
        }
        let predicate = self.scopes.get(scope).and_then(|scope| scope.predicate.clone());
        if let (Some(Value::Object(predicate)), Some(map)) = (&predicate, root.as_object_mut()) {
            for (name, value) in predicate.iter() {
                map.insert(name.clone(), value.clone());
            }
        }
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.root = Some(root.clone());
        }
        root
    }

    fn given(&mut self) -> &ValueOverrides {
        let (world, rule, request) = (self.world, self.rule, self.request);
        self.given.get_or_insert_with(|| ValueOverrides::new(world.overrides(rule, request)))
    }
}

/// Returns `object` with the caller's values for `request.object` or another `key` of the request.
pub(super) fn overlaid(object: &Value, key: &str, given: Vec<(Text, Value)>) -> Value {
    let mut root = Value::from(Map::from([("request", Map::from([(key, object.clone())]).into())]));
    ValueOverrides::new(given).put_into(&mut root);
    root.at(&["request", key]).cloned().unwrap_or_default()
}

/// Evaluates `choice` on `object`. If it is costly and has the `number` of a query that rules share, it is not evaluated again for
/// another rule of the decision: rules about the same kind ask for the same lists.
pub(super) fn search_object(
    choice: &QueryAlternatives,
    number: Option<u64>,
    object: &Value,
    derived: &DerivedCache,
    budget: &mut Budget,
) -> Result<Sourced, Unresolved> {
    let Some(number) = number.filter(|_| choice.is_costly) else {
        return search_tainted(choice, &[], (object, true), budget);
    };
    let name = DerivedName { name: "query", expression: &Text::default(), number };
    let found = derived.get_or_derive((name, object), budget, |object, budget| {
        search_tainted(choice, &[], (object, true), budget).map(|found| Some(found.value))
    });
    found.map(|value| Sourced::foreign(value.unwrap_or_default()))
}

/// Evaluates `choice` on `root`, from which it reads the origin of the values.
pub(super) fn search_tainted(
    choice: &QueryAlternatives,
    slots: &[Value],
    (root, is_foreign): (&Value, bool),
    budget: &mut Budget,
) -> Result<Sourced, Unresolved> {
    let (value, is_default) = evaluate_alternatives(&choice.filled(slots), root, is_foreign, budget)
        .map_err(|unresolved| unresolved.within("JMESPath query failed: "))?;
    Ok(Sourced { is_foreign: is_foreign && !is_default, ..Sourced::foreign(value) })
}

/// Evaluates `choice`, and returns whether the result is one of its constants.
fn evaluate_alternatives(
    choice: &QueryAlternatives,
    root: &Value,
    is_foreign: bool,
    budget: &mut Budget,
) -> Result<(Value, bool), Unresolved> {
    match &choice.split {
        // A missing key is the usual case, so no error is made of it.
        Some((reading, constant)) if is_foreign => match reading.find(root, budget) {
            Ok(JmesPathLookup::Value(value)) if is_truthy(&value) => Ok((value.into_owned(), false)),
            Ok(_) => Ok((evaluate_jmespath(constant, root, budget)?, true)),
            Err(error) => Err(failed_query(error)),
        },
        _ => Ok((evaluate_jmespath(&choice.whole, root, budget)?, false)),
    }
}

/// Evaluates `expression`, with Kyverno's messages for missing values.
fn evaluate_jmespath(
    expression: &JmesPathExpression,
    root: &Value,
    budget: &mut Budget,
) -> Result<Value, Unresolved> {
    match expression.find(root, budget) {
        Ok(JmesPathLookup::Value(value)) => Ok(value.into_owned()),
        Ok(JmesPathLookup::Missing(key)) => {
            let message = format!("Unknown key \"{key}\" in path");
            Err(Unresolved::missing(EvalError::new(message).because(format!("there is no key `{key}`"), "")))
        }
        Err(error) => Err(failed_query(error)),
    }
}

fn failed_query(error: JmesPathError) -> Unresolved {
    Unresolved::error(match error.kind {
        JmesPathErrorKind::Limit => EvalError::limit(error.message),
        _ => EvalError::new(error.message),
    })
}

#[cfg(test)]
mod tests;
