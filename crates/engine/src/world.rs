//! What a rule may look at besides the request.

mod closed;
mod view;

use std::collections::HashMap;
use std::fmt;

pub use closed::ClosedWorld;
use kubewright_k8s::{AdmissionRequest, ApiPath, ObjectName};
use kubewright_value::{Text, Value};
pub use view::WorldView;

use crate::RuleId;

/// Something that a rule asks for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Query {
    /// An object.
    Object(ObjectName),
    /// What the API server, or a service beside it, answers to a call.
    Api(ApiCall),
    /// The whole response of a service to a call, whether it is a success or not: `statusCode` and `body`.
    Http(ApiCall),
    /// What a registry says about an image.
    Image(ImageLookup),
    /// An entry that the whole cluster shares, by its name.
    Shared(Text),
}

/// An image, and by what right a registry is asked about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageLookup {
    /// The reference as a rule has it: `nginx`, `ghcr.io/a/b:1`, `r/i@sha256:…`.
    pub reference: Text,
    /// The namespace of the policy, in which its pull secrets are; empty for a policy of the cluster.
    pub namespace: Text,
    /// The names of the pull secrets that the rule lists. No other credentials are ever used.
    pub secrets: Vec<Text>,
    /// Whether the rule lets the registry be asked without TLS.
    pub is_insecure: bool,
}

impl ImageLookup {
    /// Asks about an image as anybody may.
    #[must_use]
    pub fn of(reference: impl Into<Text>) -> Self {
        Self { reference: reference.into(), ..Self::default() }
    }
}

/// A call over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiCall {
    /// `GET` or `POST`.
    pub method: Text,
    /// A path of the API server, such as `/api/v1/namespaces`, or the whole address of a service.
    pub url: Text,
    /// What is sent, as JSON; empty for nothing.
    pub data: Text,
    /// The address on the API server, read once; what is sent is this and not `url`. Nothing for a service, and for
    /// an address that could be read in two ways, which nobody may send.
    pub path: Option<ApiPath>,
    /// What only a call of a service has.
    pub service: Option<Box<ServiceCall>>,
}

/// What a call of a service has besides.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceCall {
    /// Headers, by name.
    pub headers: Vec<(Text, Text)>,
    /// The certificates, as PEM, that the service is believed by; empty for those that everybody believes.
    pub ca_bundle: Text,
}

impl ApiCall {
    /// Returns a call of the API server.
    #[must_use]
    pub fn resource(method: &str, url: &str, data: Text) -> Self {
        let path = ApiPath::parse(url).ok();
        Self { method: method.into(), url: url.into(), data, path, service: None }
    }

    /// Returns a call of a service beside the API server.
    #[must_use]
    pub fn service(method: &str, url: &str, data: Text, service: ServiceCall) -> Self {
        let service = Some(Box::new(service));
        Self { method: method.into(), url: url.into(), data, path: None, service }
    }
}

impl Query {
    /// Asks for the namespace called `name`.
    #[must_use]
    pub fn namespace(name: &str) -> Self {
        Self::Object(ObjectName { kind: "Namespace".into(), name: name.into(), ..ObjectName::default() })
    }

    /// Asks for the node called `name`.
    #[must_use]
    pub fn node(name: &str) -> Self {
        Self::Object(ObjectName { kind: "Node".into(), name: name.into(), ..ObjectName::default() })
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(name) => name.fmt(f),
            Self::Api(call) | Self::Http(call) => write!(f, "`{} {}`", call.method, call.url),
            Self::Image(image) => write!(f, "image `{}`", image.reference),
            Self::Shared(name) => write!(f, "global context entry `{name}`"),
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
    /// Somebody has looked and could not find out, and here is why.
    Failed(Text),
    /// The rule may not ask, and here is why. Nobody has looked, and no default stands in for it.
    Refused(Text),
}

/// A read-only view of everything besides the request.
pub trait World: Sync {
    /// Returns what is known about `query`, without waiting for anything.
    fn get(&self, query: &Query) -> Answer;

    /// Returns the variables that the caller sets for `rule` and `request` in place of what the rule would find: names,
    /// which may be dotted paths, and values. Later ones replace earlier ones.
    fn overrides(&self, _rule: &RuleId, _request: &AdmissionRequest) -> Vec<(Text, Value)> {
        Vec::new()
    }
}

/// A world of which only some answers are known yet; everything else is [`Answer::Unknown`].
#[derive(Debug, Default)]
pub struct OpenWorld {
    answers: HashMap<Query, Answer>,
}

impl OpenWorld {
    /// Records the answer to `query`; `None` means that it does not exist.
    pub fn learn(&mut self, query: Query, answer: Option<Value>) {
        self.answers.insert(query, answer.map_or(Answer::Absent, Answer::Found));
    }

    /// Records that the answer to `query` cannot be found out, and why.
    pub fn fail(&mut self, query: Query, why: impl Into<Text>) {
        self.answers.insert(query, Answer::Failed(why.into()));
    }
}

impl World for OpenWorld {
    fn get(&self, query: &Query) -> Answer {
        self.answers.get(query).cloned().unwrap_or(Answer::Unknown)
    }
}
