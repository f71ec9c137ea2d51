//! What a rule may read besides the request.

mod closed;
mod view;

use std::collections::HashMap;
use std::fmt;

pub use closed::ClosedWorld;
use kubewright_k8s::{AdmissionRequest, ApiPath, ObjectName};
use kubewright_value::{Text, Value};
pub use view::WorldView;

use crate::RuleId;

/// A question of a rule to the world.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Query {
    /// An object.
    Object(ObjectName),
    /// The answer of the API server, or of a service, to a call.
    Api(ApiCall),
    /// The whole response of a service to a call, whether it is a success or not: `statusCode` and `body`.
    Http(ApiCall),
    /// What a registry knows about an image.
    Image(ImageLookup),
    /// A cluster-wide shared entry, by name.
    Shared(Text),
}

/// An image, and the credentials for its registry.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ImageLookup {
    /// The reference as written: `nginx`, `ghcr.io/a/b:1`, `r/i@sha256:…`.
    pub reference: Text,
    /// The namespace of the policy, which holds its pull secrets; empty for a cluster-wide policy.
    pub namespace: Text,
    /// The names of the pull secrets that the rule lists. No other credentials are ever used.
    pub secrets: Vec<Text>,
    /// Whether the rule allows a connection to the registry without TLS.
    pub is_insecure: bool,
    /// What is asked about it.
    pub part: ImagePart,
    /// The repository that holds the signatures, such as `ghcr.io/org/signatures`; empty for that of the image.
    pub repository: Text,
}

/// What is asked about an image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ImagePart {
    /// Its manifest, configuration and digest.
    #[default]
    Description,
    /// The signatures that are stored under a tag made of its digest. The reference has the digest.
    Signatures,
    /// The attestations that are stored under a tag made of its digest. The reference has the digest.
    Attestations,
    /// All artifacts that refer to it. The reference has the digest.
    Referrers,
}

impl ImagePart {
    /// Returns the words before the image in messages.
    fn words(self) -> &'static str {
        match self {
            Self::Description => "",
            Self::Signatures => "signatures of ",
            Self::Attestations => "attestations of ",
            Self::Referrers => "referrers of ",
        }
    }
}

impl ImageLookup {
    /// Returns a lookup without credentials.
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
    /// The request body, as JSON; may be empty.
    pub data: Text,
    /// The parsed path on the API server; this is sent and not `url`. Nothing for a service, and for an ambiguous path,
    /// which is never sent.
    pub path: Option<ApiPath>,
    /// Further parts of a call of a service.
    pub service: Option<Box<ServiceCall>>,
}

/// Further parts of a call of a service.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceCall {
    /// Headers, by name.
    pub headers: Vec<(Text, Text)>,
    /// The CA certificates, as PEM; empty for the public ones.
    pub ca_bundle: Text,
}

impl ApiCall {
    /// Returns a call of the API server.
    #[must_use]
    pub fn resource(method: &str, url: &str, data: Text) -> Self {
        let path = ApiPath::parse(url).ok();
        Self { method: method.into(), url: url.into(), data, path, service: None }
    }

    /// Returns a call of another service.
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
            Self::Image(image) => write!(f, "{}image `{}`", image.part.words(), image.reference),
            Self::Shared(name) => write!(f, "global context entry `{name}`"),
        }
    }
}

/// The answer to a query.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryAnswer {
    /// It exists.
    Found(Value),
    /// It does not exist.
    Absent,
    /// It has not been looked up yet; the caller must do so.
    Unknown,
    /// The lookup failed; the text is the reason.
    Failed(Text),
    /// The rule may not ask; the text is the reason. Nothing was looked up, and no default takes its place.
    Refused(Text),
}

/// A read-only view of everything besides the request.
pub trait World: Sync {
    /// Returns what is known about `query`, without waiting for anything.
    fn get(&self, query: &Query) -> QueryAnswer;

    /// Returns the variables that the caller sets for `rule` and `request` in place of what the rule would find: names,
    /// which may be dotted paths, and values. Later ones replace earlier ones.
    fn overrides(&self, _rule: &RuleId, _request: &AdmissionRequest) -> Vec<(Text, Value)> {
        Vec::new()
    }
}

/// A world of which only some answers are known yet; everything else is [`QueryAnswer::Unknown`].
#[derive(Debug, Default)]
pub struct OpenWorld {
    answers: HashMap<Query, QueryAnswer>,
}

impl OpenWorld {
    /// Records the answer to `query`; `None` means that it does not exist.
    pub fn learn(&mut self, query: Query, answer: Option<Value>) {
        self.answers.insert(query, answer.map_or(QueryAnswer::Absent, QueryAnswer::Found));
    }

    /// Records that the lookup of `query` failed, and why.
    pub fn fail(&mut self, query: Query, why: impl Into<Text>) {
        self.answers.insert(query, QueryAnswer::Failed(why.into()));
    }
}

impl World for OpenWorld {
    fn get(&self, query: &Query) -> QueryAnswer {
        self.answers.get(query).cloned().unwrap_or(QueryAnswer::Unknown)
    }
}
