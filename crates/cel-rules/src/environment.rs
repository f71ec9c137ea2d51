//! What the expressions of a rule may use.

use kubewright_cel::library::kubernetes::{AUTHORIZER_TYPE, RESOURCE_CHECK_TYPE};
use kubewright_cel::{ANY_STEP, CelEnvironment, CelKind, CelType, Inputs};
use kubewright_value::Text;

/// The environments of the different places where expressions stand.
#[derive(Clone)]
pub struct Environments {
    /// What all of them have.
    base: CelEnvironment,
    /// What no function can know by itself.
    pub inputs: Inputs,
}

/// What an expression may read besides the object and the request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Given {
    /// `namespaceObject`
    pub namespace: bool,
    /// `params`
    pub params: bool,
    /// `authorizer`
    pub authorizer: bool,
}

impl Environments {
    /// Returns what the API server gives expressions.
    #[must_use]
    pub fn admission() -> Self {
        Self::of(CelEnvironment::kubernetes().with_plain_or_value())
    }

    /// Returns what ValidatingPolicies give expressions.
    #[must_use]
    pub fn policies(inputs: Inputs) -> Self {
        Self { inputs, ..Self::of(CelEnvironment::policy()) }.with_exceptions()
    }

    /// Returns what a policy gives expressions that sees the objects of `namespace` only.
    #[must_use]
    pub fn within(&self, namespace: &Text) -> Self {
        Self { inputs: self.inputs, ..Self::of(CelEnvironment::policy_in(namespace.clone())) }
            .with_exceptions()
    }

    /// Returns what a policy gives expressions that answers requests over HTTP.
    #[must_use]
    pub fn http(&self) -> Self {
        Self { base: CelEnvironment::http_check(), inputs: self.inputs }
    }

    /// Returns what a policy gives expressions that answers requests of Envoy.
    #[must_use]
    pub fn envoy(&self) -> Self {
        Self { base: CelEnvironment::envoy_check(), inputs: self.inputs }
    }

    /// Returns what `base` gives, and the request.
    #[must_use]
    pub fn of(base: CelEnvironment) -> Self {
        let base = base.variable("object").variable("oldObject").variable_of("request", request());
        Self { base, inputs: Inputs::default() }
    }

    fn with_exceptions(self) -> Self {
        Self { base: self.base.variable_of("exceptions", CelType::of(CelKind::Map)), ..self }
    }

    /// Returns the environment of expressions that may read what is `given`.
    #[must_use]
    pub fn environment(&self, given: Given) -> CelEnvironment {
        let mut environment = self.base.clone();
        if given.namespace {
            environment = environment.variable_of("namespaceObject", namespace());
        }
        if given.params {
            environment = environment.variable("params");
        }
        if given.authorizer {
            environment = environment
                .variable_of("authorizer", CelType::of(AUTHORIZER_TYPE))
                .variable_of("authorizer.requestResource", CelType::of(RESOURCE_CHECK_TYPE));
        }
        environment
    }
}

fn request() -> CelType {
    let text = || CelType::of(CelKind::String);
    let kind = |last| {
        CelType::of(CelKind::Map).with_fields([("group", text()), ("version", text()), (last, text())])
    };
    let user = CelType::of(CelKind::Map).with_fields([
        ("username", text()),
        ("uid", text()),
        ("groups", CelType::with(CelKind::List, text())),
        ("extra", CelType::with(CelKind::Map, CelType::with(CelKind::List, text()))),
    ]);
    CelType::of(CelKind::Map).with_fields([
        ("kind", kind("kind")),
        ("requestKind", kind("kind")),
        ("resource", kind("resource")),
        ("requestResource", kind("resource")),
        ("subResource", text()),
        ("requestSubResource", text()),
        ("name", text()),
        ("namespace", text()),
        ("operation", text()),
        ("userInfo", user),
        ("dryRun", CelType::of(CelKind::Bool)),
    ])
}

/// It may be null.
fn namespace() -> CelType {
    let text = || CelType::of(CelKind::String);
    let texts = || CelType::with(CelKind::Map, text());
    let names = || CelType::with(CelKind::List, text());
    let metadata = CelType::ANY.with_fields([
        ("name", text()),
        ("generateName", text()),
        ("namespace", text()),
        ("labels", texts()),
        ("annotations", texts()),
        ("resourceVersion", text()),
        ("finalizers", names()),
    ]);
    CelType::ANY.with_fields([
        ("metadata", metadata),
        ("spec", CelType::ANY.with_fields([("finalizers", names())])),
        ("status", CelType::ANY.with_fields([("phase", text())])),
    ])
}

/// The fields of what is known exactly, by the path that leads to them. What is not listed here has any fields.
const FIELDS: &[(&[&str], &[&str])] = &[
    (
        &["request"],
        &[
            "kind",
            "resource",
            "subResource",
            "requestKind",
            "requestResource",
            "requestSubResource",
            "name",
            "namespace",
            "operation",
            "userInfo",
            "dryRun",
            "options",
        ],
    ),
    (&["request", "kind"], &["group", "version", "kind"]),
    (&["request", "requestKind"], &["group", "version", "kind"]),
    (&["request", "resource"], &["group", "version", "resource"]),
    (&["request", "requestResource"], &["group", "version", "resource"]),
    (&["request", "userInfo"], &["username", "uid", "groups", "extra"]),
    (&["namespaceObject"], &["metadata", "spec", "status"]),
    (
        &["namespaceObject", "metadata"],
        &[
            "name",
            "generateName",
            "namespace",
            "labels",
            "annotations",
            "UID",
            "creationTimestamp",
            "deletionGracePeriodSeconds",
            "deletionTimestamp",
            "generation",
            "resourceVersion",
            "finalizers",
        ],
    ),
    (&["namespaceObject", "spec"], &["finalizers"]),
    (&["namespaceObject", "status"], &["conditions", "phase"]),
];

/// Returns the place in `path`, which is behind `variable`, of the first field that does not exist, and those that do.
#[must_use]
pub fn unknown_field(variable: &str, path: &[Text]) -> Option<(usize, &'static [&'static str])> {
    (0..path.len()).find_map(|at| {
        let before = path.get(..at)?;
        let is_it = |known: &[&str]| {
            known.split_first().is_some_and(|(first, rest)| {
                *first == variable && rest.len() == at && rest.iter().zip(before).all(|(a, b)| *a == b)
            })
        };
        let (_, fields) = FIELDS.iter().find(|(known, _)| is_it(known))?;
        let field = path.get(at)?;
        (field != ANY_STEP && !fields.contains(&field.as_str())).then_some((at, *fields))
    })
}
