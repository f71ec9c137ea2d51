//! What a rule may look at besides the request.

use std::collections::HashMap;
use std::fmt;

use kubewright_value::{Text, Value};

use crate::GroupVersionKind;

/// One object that a rule asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Query {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The kind.
    pub kind: Text,
    /// The namespace; empty for an object without one.
    pub namespace: Text,
    /// The name.
    pub name: Text,
}

impl Query {
    /// Asks for the namespace called `name`.
    #[must_use]
    pub fn namespace(name: &str) -> Self {
        Self {
            group: Text::default(),
            kind: "Namespace".into(),
            namespace: Text::default(),
            name: name.into(),
        }
    }

    /// Asks for the node called `name`.
    #[must_use]
    pub fn node(name: &str) -> Self {
        Self { group: Text::default(), kind: "Node".into(), namespace: Text::default(), name: name.into() }
    }

    /// Asks for `object` itself.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let kind = GroupVersionKind::of(object);
        let metadata = |key| object.at(&["metadata", key]).and_then(Value::as_str).unwrap_or_default();
        Self {
            group: kind.group,
            kind: kind.kind,
            namespace: metadata("namespace").into(),
            name: metadata("name").into(),
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.namespace.as_str() {
            "" => write!(f, "{} `{}`", self.kind, self.name),
            namespace => write!(f, "{} `{namespace}/{}`", self.kind, self.name),
        }
    }
}

/// What the world says to a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// It is there.
    Found(Value),
    /// It is not there.
    Absent,
    /// Nobody has looked yet; the caller must.
    Unknown,
}

/// A read-only view of everything besides the request.
pub trait World: Sync {
    /// Returns what is known about `query`, without waiting for anything.
    fn get(&self, query: &Query) -> Answer;
}

/// A world in which exactly the given objects exist.
#[derive(Debug, Default)]
pub struct ClosedWorld {
    objects: HashMap<Query, Value>,
}

impl ClosedWorld {
    /// Returns a world with `objects` in it; of two with one name the later one stays.
    #[must_use]
    pub fn new(objects: impl IntoIterator<Item = Value>) -> Self {
        Self { objects: objects.into_iter().map(|object| (Query::of(&object), object)).collect() }
    }
}

impl World for ClosedWorld {
    fn get(&self, query: &Query) -> Answer {
        self.objects.get(query).cloned().map_or(Answer::Absent, Answer::Found)
    }
}

/// A world of which only some answers are known yet; everything else is [`Answer::Unknown`].
#[derive(Debug, Default)]
pub struct OpenWorld {
    answers: HashMap<Query, Option<Value>>,
}

impl OpenWorld {
    /// Records the answer to `query`; `None` means that it does not exist.
    pub fn learn(&mut self, query: Query, answer: Option<Value>) {
        self.answers.insert(query, answer);
    }
}

impl World for OpenWorld {
    fn get(&self, query: &Query) -> Answer {
        match self.answers.get(query) {
            None => Answer::Unknown,
            Some(None) => Answer::Absent,
            Some(Some(object)) => Answer::Found(object.clone()),
        }
    }
}
