//! The variables and functions that the expressions of a rule may use.

use std::sync::{Arc, OnceLock};

use kubewright_cel::library::kubernetes::{AUTHORIZER_TYPE, RESOURCE_CHECK_TYPE};
use kubewright_cel::{ANY_STEP, CelEnvironment, CelKind, CelType, Inputs};
use kubewright_value::Text;

/// The CEL environments of the places where expressions can occur.
#[derive(Clone)]
pub struct Environments {
    /// The shared base environment.
    base: CelEnvironment,
    /// The inputs that functions cannot compute themselves.
    pub inputs: Inputs,
    /// Those that were asked for, by [`AvailableVariables::number`]: policies share them.
    made: Arc<[OnceLock<CelEnvironment>; AvailableVariables::COUNT]>,
    /// The same with patches, once it was asked for.
    patching: Arc<OnceLock<Environments>>,
    /// Whether policies are compiled without what a cluster needs of them, and without the warnings for which the kinds of the
    /// objects must be known.
    pub rules_only: bool,
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

impl AvailableVariables {
    /// How many different ones there are.
    const COUNT: usize = 8;

    fn number(self) -> usize {
        usize::from(self.namespace) + 2 * usize::from(self.params) + 4 * usize::from(self.authorizer)
    }
}

impl Environments {
    fn new(base: CelEnvironment, inputs: Inputs) -> Self {
        Self { base, inputs, made: Arc::default(), patching: Arc::default(), rules_only: false }
    }

    /// Returns the same, in which policies are compiled, where `rules_only`, without what a cluster needs of them and without
    /// warnings about fields of objects.
    #[must_use]
    pub fn with_rules_only(self, rules_only: bool) -> Self {
        Self { rules_only, ..self }
    }

    /// Returns the variables that the API server provides.
    #[must_use]
    pub fn admission() -> Self {
        Self::of(CelEnvironment::kubernetes().with_plain_or_value())
    }

    /// Returns the variables that ValidatingPolicies provide.
    #[must_use]
    pub fn policies(inputs: Inputs) -> Self {
        Self::with_request(CelEnvironment::policy(), inputs).with_exceptions()
    }

    /// Returns the variables of a policy that sees only the objects of `namespace`.
    #[must_use]
    pub fn within(&self, namespace: &Text) -> Self {
        Self::with_request(CelEnvironment::policy_in(namespace.clone()), self.inputs)
            .with_exceptions()
            .with_rules_only(self.rules_only)
    }

    /// Returns the variables of a policy that makes objects: in `namespace` only, where one is given.
    #[must_use]
    pub fn generating(&self, namespace: Option<&Text>) -> Self {
        let base = match namespace {
            Some(namespace) => CelEnvironment::policy_in(namespace.clone()).generating_in_one_namespace(),
            None => CelEnvironment::policy().generating(),
        };
        Self::with_request(base, self.inputs).with_exceptions().with_rules_only(self.rules_only)
    }

    /// Returns the variables that policies about images provide, in one namespace if there is one.
    #[must_use]
    pub fn image_policies(inputs: Inputs, namespace: Option<&Text>) -> Self {
        let base = match namespace {
            Some(namespace) => CelEnvironment::image_policy_in(namespace.clone()),
            None => CelEnvironment::image_policy(),
        };
        let map = |of: CelType| CelType::with(CelKind::Map, of);
        let texts = CelType::with(CelKind::List, CelType::of(CelKind::String));
        let base = base.variable_of("images", map(texts));
        let base = base.variable_of("attestors", map(CelType::ANY));
        let base = base.variable_of("attestations", map(CelType::ANY));
        Self::with_request(base, inputs)
    }

    /// Returns the environment of an expression that also reads `name`.
    #[must_use]
    pub fn environment_with(&self, given: AvailableVariables, name: &'static str) -> CelEnvironment {
        self.environment(given).variable_of(name, CelType::of(CelKind::String))
    }

    /// Returns the variables of a policy that answers HTTP requests.
    #[must_use]
    pub fn http(&self) -> Self {
        Self::new(CelEnvironment::http_check(), self.inputs).with_rules_only(self.rules_only)
    }

    /// Returns the variables of a policy that answers Envoy requests.
    #[must_use]
    pub fn envoy(&self) -> Self {
        Self::new(CelEnvironment::envoy_check(), self.inputs).with_rules_only(self.rules_only)
    }

    /// Returns the variables of `base` and the request.
    #[must_use]
    pub fn of(base: CelEnvironment) -> Self {
        Self::with_request(base, Inputs::default())
    }

    fn with_request(base: CelEnvironment, inputs: Inputs) -> Self {
        let base = base.variable("object").variable("oldObject").variable_of("request", request_type());
        Self::new(base, inputs)
    }

    /// Returns the same for policies that change objects: `Object{...}` and `JSONPatch{...}` can be written.
    #[must_use]
    pub fn with_patches(&self) -> Self {
        let made = self.patching.get_or_init(|| Self::new(self.base.clone().with_patches(), self.inputs));
        made.clone().with_rules_only(self.rules_only)
    }

    fn with_exceptions(self) -> Self {
        Self::new(self.base.variable_of("exceptions", CelType::of(CelKind::Map)), self.inputs)
    }

    /// Returns the environment of expressions that may read `given`.
    #[must_use]
    pub fn environment(&self, given: AvailableVariables) -> CelEnvironment {
        let made = self.made.get(given.number()).map(|made| made.get_or_init(|| self.make(given)).clone());
        made.unwrap_or_else(|| self.make(given))
    }

    fn make(&self, given: AvailableVariables) -> CelEnvironment {
        let mut environment = self.base.clone();
        if given.namespace {
            environment = environment.variable_of("namespaceObject", namespace_type());
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

fn request_type() -> CelType {
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
fn namespace_type() -> CelType {
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

/// Returns whether the expression `text` may read a variable of which [`unknown_variable_field`] knows the fields.
pub(super) fn names_known_variable(text: &str) -> bool {
    let mut variables = KNOWN_VARIABLE_FIELDS.iter().filter_map(|(known, _)| known.first());
    variables.any(|variable| text.contains(variable))
}

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
        (field != ANY_STEP && !fields.contains(&field.as_str())).then_some((at, *fields))
    })
}
