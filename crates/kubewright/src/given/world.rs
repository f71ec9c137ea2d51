//! A world made of files: objects, answers to calls, and values of variables.

use std::sync::OnceLock;

use kubewright_engine::{Answer, ApiCall, ClosedWorld, Query, RuleId, World};
use kubewright_k8s::{AdmissionRequest, ObjectName, Operation};
use kubewright_value::{Text, Value};

use super::values::OPERATION;
use super::{Answers, Values};
use crate::load::{self, Input};

/// A world that is known completely, with values of variables.
#[derive(Debug, Default)]
pub(crate) struct GivenWorld {
    objects: ClosedWorld,
    answers: Answers,
    values: Values,
    manifests: Manifests,
    /// What alone answers calls, where the objects are not a whole cluster.
    excerpt: Option<Excerpt>,
    /// Whether nothing but the manifests is known, so that what is missing there may well exist.
    is_alone: bool,
}

/// The part of a cluster that somebody described for those who ask it.
#[derive(Debug, Default)]
struct Excerpt {
    /// Whether anything was described.
    is_given: bool,
    objects: ClosedWorld,
}

/// The manifests that are judged, which a cluster would hold too. They are read only when a rule asks for
/// something that is among them, because there may be very many.
#[derive(Debug, Default)]
struct Manifests {
    inputs: Vec<Input>,
    /// The namespace of those that name none.
    namespace: String,
    /// What exists besides.
    objects: Vec<Value>,
    all: OnceLock<ClosedWorld>,
}

impl GivenWorld {
    /// Returns a world with `objects` in it. Namespaces that the values describe replace those among the objects.
    pub(crate) fn new(objects: impl IntoIterator<Item = Value>, answers: Answers, values: Values) -> Self {
        let namespaces = values.namespaces().cloned().collect::<Vec<_>>();
        let objects: Vec<Value> = objects.into_iter().chain(namespaces).collect();
        let manifests = Manifests { objects: objects.clone(), ..Manifests::default() };
        Self {
            objects: ClosedWorld::new(objects),
            answers,
            values,
            manifests,
            excerpt: None,
            is_alone: false,
        }
    }

    /// Returns this world, in which the objects are not a whole cluster: calls are answered from `described`, if
    /// anything was, and from `others`, and what they have no objects of cannot be listed.
    pub(crate) fn offline(self, described: Option<Vec<Value>>, others: &[Value]) -> Self {
        let is_given = described.is_some();
        let objects = ClosedWorld::new(described.into_iter().flatten().chain(others.iter().cloned()));
        Self { excerpt: Some(Excerpt { is_given, objects }), ..self }
    }

    /// Returns this world, in which an object that is missing may well exist, if `is_alone`.
    pub(crate) fn alone(self, is_alone: bool) -> Self {
        Self { is_alone, ..self }
    }

    /// Returns this world, in which calls and ConfigMaps are also answered from `inputs`; objects there that name no
    /// namespace are in `namespace`.
    pub(crate) fn with(mut self, inputs: &[Input], namespace: &str) -> Self {
        // Standard input can be read only once.
        let files = inputs.iter().filter(|input| matches!(input, Input::File(_)));
        self.manifests.inputs = files.cloned().collect();
        namespace.clone_into(&mut self.manifests.namespace);
        self
    }

    /// Returns the values of variables.
    pub(crate) fn values(&self) -> &Values {
        &self.values
    }
}

impl Excerpt {
    /// A list of what it has nothing of would be taken for an empty one.
    fn get(&self, call: &ApiCall) -> Answer {
        match self.objects.get(&Query::Api(call.clone())) {
            Answer::Found(found) if self.objects.has_any(call) => Answer::Found(found),
            Answer::Absent if self.is_given => Answer::Absent,
            _ => Answer::Unknown,
        }
    }
}

impl Manifests {
    fn all(&self) -> &ClosedWorld {
        self.all.get_or_init(|| {
            // What is wrong with them is told by those who judge them.
            let documents = load::documents(&self.inputs, &mut Vec::new());
            let found = load::objects_of(documents, &mut Vec::new());
            let stored = found
                .iter()
                .map(|found| AdmissionRequest::for_stored(found.value.clone(), &self.namespace).object);
            ClosedWorld::new(stored.chain(self.objects.iter().cloned()))
        })
    }
}

impl World for GivenWorld {
    fn get(&self, query: &Query) -> Answer {
        if let Some(answer) = self.answers.get(query) {
            return answer;
        }
        // Nobody is there who would try to store something.
        if matches!(query, Query::Api(call) if call.method == "POST" && call.url.ends_with("?dryRun=All")) {
            return Answer::Absent;
        }
        if let (Some(excerpt), Query::Api(call)) = (&self.excerpt, query) {
            return excerpt.get(call);
        }
        let is_among_manifests = match query {
            Query::Api(_) => true,
            Query::Object(ObjectName { kind, .. }) => kind == "ConfigMap",
            _ => false,
        };
        let found = match is_among_manifests && !self.manifests.inputs.is_empty() {
            true => self.manifests.all().get(query),
            false => self.objects.get(query),
        };
        match (query, found) {
            (Query::Api(_), Answer::Absent) if self.is_alone => Answer::Unknown,
            (_, found) => found,
        }
    }

    fn overrides(&self, rule: &RuleId, request: &AdmissionRequest) -> Vec<(Text, Value)> {
        let mut given = self.values.given(rule, request);
        // The request says it itself, and may have it from elsewhere; only what no manifest can be about is a mere
        // value.
        let is_selected = |value: &Value| {
            let operation = value.as_str().and_then(Operation::named);
            operation.is_some_and(|operation| operation != Operation::Connect)
        };
        given.retain(|(name, value)| name != OPERATION || !is_selected(value));
        given
    }
}
