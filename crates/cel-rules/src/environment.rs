//! The variables and functions that the expressions of a rule may use.

use kubewright_cel::library::kubernetes::{AUTHORIZER_TYPE, RESOURCE_CHECK_TYPE};
use kubewright_cel::{ANY, Environment, Inputs, Kind, Type};
use kubewright_value::Text;

/// The CEL environments of the places where expressions can occur.
#[derive(Clone)]
pub struct Environments {
    /// The shared base environment.
    base: Environment,
    /// The inputs that functions cannot compute themselves.
    pub inputs: Inputs,
}

/// The variables an expression may read besides the object and the request.
#[derive(Debug, Clone, Copy, Default)]
pub struct AvailableVariables {
    /// `namespaceObject`
    pub namespace: bool,
    /// `params`
    pub params: bool,
    /// `authorizer`
    pub authorizer: bool,
}

impl Environments {
    /// Returns the variables that the API server provides.
    #[must_use]
    pub fn admission() -> Self {
        Self::of(Environment::kubernetes().with_plain_or_value())
    }

    /// Returns the variables that ValidatingPolicies provide.
    #[must_use]
    pub fn policies(inputs: Inputs) -> Self {
        Self { inputs, ..Self::of(Environment::policy()) }.with_exceptions()
    }

    /// Returns the variables of a policy that sees only the objects of `namespace`.
    #[must_use]
    pub fn within(&self, namespace: &Text) -> Self {
        Self { inputs: self.inputs, ..Self::of(Environment::policy_in(namespace.clone())) }.with_exceptions()
    }

    /// Returns the variables of a policy that answers HTTP requests.
    #[must_use]
    pub fn http(&self) -> Self {
        Self { base: Environment::http_check(), inputs: self.inputs }
    }

    /// Returns the variables of a policy that answers Envoy requests.
    #[must_use]
    pub fn envoy(&self) -> Self {
        Self { base: Environment::envoy_check(), inputs: self.inputs }
    }

    /// Returns the variables of `base` and the request.
    #[must_use]
    pub fn of(base: Environment) -> Self {
        let base = base.variable("object").variable("oldObject").variable_of("request", request_type());
        Self { base, inputs: Inputs::default() }
    }

    fn with_exceptions(self) -> Self {
        Self { base: self.base.variable_of("exceptions", Type::of(Kind::Map)), ..self }
    }

    /// Returns the environment of expressions that may read `given`.
    #[must_use]
    pub fn environment(&self, given: AvailableVariables) -> Environment {
        let mut environment = self.base.clone();
        if given.namespace {
            environment = environment.variable_of("namespaceObject", namespace_type());
        }
        if given.params {
            environment = environment.variable("params");
        }
        if given.authorizer {
            environment = environment
                .variable_of("authorizer", Type::of(AUTHORIZER_TYPE))
                .variable_of("authorizer.requestResource", Type::of(RESOURCE_CHECK_TYPE));
        }
        environment
    }
}

fn request_type() -> Type {
    let text = || Type::of(Kind::String);
    let kind =
        |last| Type::of(Kind::Map).with_fields([("group", text()), ("version", text()), (last, text())]);
    let user = Type::of(Kind::Map).with_fields([
        ("username", text()),
        ("uid", text()),
        ("groups", Type::with(Kind::List, text())),
        ("extra", Type::with(Kind::Map, Type::with(Kind::List, text()))),
    ]);
    Type::of(Kind::Map).with_fields([
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
        ("dryRun", Type::of(Kind::Bool)),
    ])
}

/// It may be null.
fn namespace_type() -> Type {
    let text = || Type::of(Kind::String);
    let texts = || Type::with(Kind::Map, text());
    let names = || Type::with(Kind::List, text());
    let metadata = Type::ANY.with_fields([
        ("name", text()),
        ("generateName", text()),
        ("namespace", text()),
        ("labels", texts()),
        ("annotations", texts()),
        ("resourceVersion", text()),
        ("finalizers", names()),
    ]);
    Type::ANY.with_fields([
        ("metadata", metadata),
        ("spec", Type::ANY.with_fields([("finalizers", names())])),
        ("status", Type::ANY.with_fields([("phase", text())])),
    ])
}

/// The fields of the fully described variables, by path. A path that is not listed may have any fields.
const KNOWN_VARIABLE_FIELDS: &[(&[&str], &[&str])] = &[
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
pub fn unknown_variable_field(variable: &str, path: &[Text]) -> Option<(usize, &'static [&'static str])> {
    (0..path.len()).find_map(|at| {
        let before = path.get(..at)?;
        let is_it = |known: &[&str]| {
            known.split_first().is_some_and(|(first, rest)| {
                *first == variable && rest.len() == at && rest.iter().zip(before).all(|(a, b)| *a == b)
            })
        };
        let (_, fields) = KNOWN_VARIABLE_FIELDS.iter().find(|(known, _)| is_it(known))?;
        let field = path.get(at)?;
        (field != ANY && !fields.contains(&field.as_str())).then_some((at, *fields))
    })
}
