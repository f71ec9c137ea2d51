//! A world that is known completely.

use std::collections::HashMap;
use std::sync::{OnceLock, RwLock};

use kubewright_value::{Map, Text, Value};

use kubewright_k8s::ObjectName;

use super::{ApiCall, Query, QueryAnswer, World};
use kubewright_k8s::resource_name;

/// A world in which exactly the given objects exist, and in which calls have the given answers.
#[derive(Debug, Default)]
pub struct ClosedWorld {
    /// The objects that it was made with.
    given: Vec<Value>,
    /// All objects, made of `given` for the first question: most rules ask none.
    indexed: OnceLock<IndexedObjects>,
    answers: HashMap<Query, Value>,
    /// Answers to calls, which rules repeat for every object.
    calls: RwLock<HashMap<ApiCall, QueryAnswer>>,
}

/// Objects of which no two have one name.
#[derive(Debug, Default)]
struct IndexedObjects {
    // INVARIANT: `by_name` points to every object.
    objects: Vec<Value>,
    by_name: HashMap<ObjectName, usize>,
}

impl IndexedObjects {
    fn new(objects: &[Value]) -> Self {
        let mut indexed = Self::default();
        objects.iter().for_each(|object| indexed.put(object.clone()));
        indexed
    }

    /// Adds `object`, or replaces the one of its name.
    fn put(&mut self, object: Value) {
        let name = ObjectName::of(&object);
        match self.by_name.get(&name).and_then(|place| self.objects.get_mut(*place)) {
            Some(earlier) => *earlier = object,
            None => {
                self.by_name.insert(name, self.objects.len());
                self.objects.push(object);
            }
        }
    }
}

/// How many answers to calls are cached.
const MAX_CACHED_CALLS: usize = 1000;

impl ClosedWorld {
    /// Returns a world with `objects` in it; of two with one name the later one stays.
    #[must_use]
    pub fn new(objects: impl IntoIterator<Item = Value>) -> Self {
        Self { given: objects.into_iter().collect(), ..Self::default() }
    }

    /// Adds `object`, or replaces the one of its name.
    pub fn put(&mut self, object: Value) {
        self.calls = RwLock::default();
        self.indexed();
        if let Some(indexed) = self.indexed.get_mut() {
            indexed.put(object);
        }
    }

    fn indexed(&self) -> &IndexedObjects {
        self.indexed.get_or_init(|| IndexedObjects::new(&self.given))
    }

    /// Returns whether there is any object, in whatever namespace, of the resource that `call` is about.
    #[must_use]
    pub fn has_any(&self, call: &ApiCall) -> bool {
        let Some(path) = ObjectPath::of(call) else { return false };
        let path = ObjectPath { namespace: None, name: None, labels: Vec::new(), ..path };
        self.indexed().objects.iter().any(|object| path.selects(object))
    }

    /// Sets the answer to `query`, whatever objects exist.
    pub fn answer(&mut self, query: Query, answer: Value) {
        self.answers.insert(query, answer);
    }
}

impl World for ClosedWorld {
    fn get(&self, query: &Query) -> QueryAnswer {
        if let Some(answer) = self.answers.get(query) {
            return QueryAnswer::Found(answer.clone());
        }
        match query {
            Query::Object(name) => {
                let indexed = self.indexed();
                let object = indexed.by_name.get(name).and_then(|place| indexed.objects.get(*place));
                object.cloned().map_or(QueryAnswer::Absent, QueryAnswer::Found)
            }
            Query::Api(call) => self.cached_call(call),
            Query::Http(_) | Query::Image(_) | Query::Shared(_) => QueryAnswer::Unknown,
        }
    }
}

impl ClosedWorld {
    fn cached_call(&self, call: &ApiCall) -> QueryAnswer {
        if let Some(answer) = self.calls.read().ok().and_then(|calls| calls.get(call).cloned()) {
            return answer;
        }
        let answer = self.call(call);
        if let Ok(mut calls) = self.calls.write()
            && calls.len() < MAX_CACHED_CALLS
        {
            calls.insert(call.clone(), answer.clone());
        }
        answer
    }

    /// Answers as an API server that holds exactly these objects; calls of services are unknown.
    fn call(&self, call: &ApiCall) -> QueryAnswer {
        let Some(path) = ObjectPath::of(call) else { return QueryAnswer::Unknown };
        if call.method != "GET" {
            return QueryAnswer::Unknown;
        }
        let mut found = self.indexed().objects.iter().filter(|object| path.selects(object)).cloned();
        match path.name {
            Some(_) => found.next().map_or(QueryAnswer::Absent, QueryAnswer::Found),
            None => QueryAnswer::Found(list_value(found.collect())),
        }
    }
}

fn list_value(items: Vec<Value>) -> Value {
    Map::from([("apiVersion", Value::from("v1")), ("kind", "List".into()), ("items", Value::array(items))])
        .into()
}

/// The parts of a path on the API server.
struct ObjectPath<'p> {
    group: &'p str,
    namespace: Option<&'p str>,
    resource: &'p str,
    name: Option<&'p str>,
    labels: Vec<(&'p str, &'p str)>,
}

impl<'p> ObjectPath<'p> {
    fn of(call: &'p ApiCall) -> Option<Self> {
        let path = call.path.as_ref().filter(|path| path.is_resource() && path.subresource.is_empty())?;
        let some = |text: &'p Text| Some(text.as_str()).filter(|text| !text.is_empty());
        let labels = path.query.iter().filter(|(key, _)| key == "labelSelector");
        let labels = labels
            .flat_map(|(_, text)| text.split(','))
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        Some(Self {
            group: &path.group,
            namespace: some(&path.namespace),
            resource: &path.resource,
            name: some(&path.name),
            labels: labels.collect(),
        })
    }

    fn selects(&self, object: &Value) -> bool {
        let name = ObjectName::of(object);
        let label = |key: &str| object.at(&["metadata", "labels", key]).and_then(Value::as_str);
        name.group == self.group
            && resource_name(&name.kind) == self.resource
            && self.namespace.is_none_or(|namespace| name.namespace == namespace)
            && self.name.is_none_or(|wanted| name.name == wanted)
            && self.labels.iter().all(|(key, value)| label(key) == Some(*value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubewright_value::json;

    #[test]
    fn a_call_finds_the_objects_that_the_api_server_would_list() {
        let object = |text: &str| json::parse(text).expect("JSON");
        let world = ClosedWorld::new([
            object(
                r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"x","labels":{"l":"1"}}}"#,
            ),
            object(r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"y"}}"#),
            object(
                r#"{"apiVersion":"networking.k8s.io/v1","kind":"NetworkPolicy","metadata":{"name":"n","namespace":"x"}}"#,
            ),
        ]);
        let count = |url: &str| match world.get(&Query::Api(ApiCall::resource("GET", url, Text::default()))) {
            QueryAnswer::Found(found) => found.get("items").and_then(Value::as_array).map_or(1, <[_]>::len),
            _ => 99,
        };
        assert_eq!(count("/api/v1/pods"), 2);
        assert_eq!(count("/api/v1/namespaces/x/pods"), 1);
        assert_eq!(count("/api/v1/pods?labelSelector=l=1"), 1);
        assert_eq!(count("/api/v1/namespaces/x/pods/a"), 1);
        assert_eq!(count("/api/v1/namespaces/x/pods/zz"), 99);
        assert_eq!(count("/apis/networking.k8s.io/v1/namespaces/x/networkpolicies"), 1);
        assert_eq!(count("http://svc/x"), 99);
    }

    #[test]
    fn of_two_objects_with_one_name_the_later_one_stays() {
        let object = |data: &str| {
            json::parse(&format!(r#"{{"kind":"ConfigMap","metadata":{{"name":"a"}},"data":"{data}"}}"#))
                .expect("JSON")
        };
        let query = Query::Object(ObjectName::of(&object("")));
        let data = |world: &ClosedWorld| match world.get(&query) {
            QueryAnswer::Found(found) => found.str_at(&["data"]).to_owned(),
            _ => String::new(),
        };
        let mut world = ClosedWorld::new([object("1"), object("2")]);
        assert_eq!(data(&world), "2");
        world.put(object("3"));
        assert_eq!(data(&world), "3");
        let mut unasked = ClosedWorld::new([object("1")]);
        unasked.put(object("2"));
        assert_eq!(data(&unasked), "2");
    }
}
