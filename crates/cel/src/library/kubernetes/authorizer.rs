//! The `authorizer`: checks whether a user may do something.
//!
//! `check` asks [`Host::ask`](crate::Host::ask) the question [`AUTHORIZER_CHECK`] with one object: `verb`,
//! either `path` or `group` and `resource` with, where they are set, `subresource`, `namespace`, `name`,
//! `fieldSelector` and `labelSelector`, and `user` for another user than that of the request. The answer is
//! an object with `allowed`, and with `reason` and `error` where there is one. No answer is an error.

use std::any::Any;

use kubewright_value::{Map, Text, Value};

use super::formats::{is_label_name, is_subdomain_name};
use super::{CelLibrary, opaque_argument, text_argument};
use crate::environment::MacroSet;
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::standard::size_of;
use crate::val::{CelKind, Opaque, Val};

/// The library of the authorizer.
pub const AUTHORIZER: CelLibrary = CelLibrary {
    name: "authorizer",
    functions: add_authorizer_functions,
    macros: MacroSet::NONE,
    types: &[],
};

/// The query of an authorization check.
pub const AUTHORIZER_CHECK: &str = "authorizer.check";

/// The type of the variable `authorizer`.
pub const AUTHORIZER_TYPE: CelKind = CelKind::Opaque("kubernetes.authorization.Authorizer");

/// The type of the variable `authorizer.requestResource`.
pub const RESOURCE_CHECK_TYPE: CelKind = CelKind::Opaque("kubernetes.authorization.ResourceCheck");

const PATH_CHECK: CelKind = CelKind::Opaque("kubernetes.authorization.PathCheck");
const GROUP_CHECK: CelKind = CelKind::Opaque("kubernetes.authorization.GroupCheck");
const DECISION: CelKind = CelKind::Opaque("kubernetes.authorization.Decision");
const RESOURCE: &[CelKind] = &[RESOURCE_CHECK_TYPE, CelKind::String];

/// Returns the value of the variable `authorizer`, which checks the user of the request.
#[must_use]
pub fn authorizer() -> Val<'static> {
    Val::opaque(AuthorizerCheckVal { kind: AUTHORIZER_TYPE, fields: Vec::new() })
}

/// Returns the value of the variable `authorizer.requestResource`. Empty fields are not part of the check.
#[must_use]
pub fn resource_check(
    group: &str,
    resource: &str,
    subresource: &str,
    namespace: &str,
    name: &str,
) -> Val<'static> {
    let question = AuthorizerCheckVal { kind: RESOURCE_CHECK_TYPE, fields: Vec::new() };
    let fields = [("subresource", subresource), ("namespace", namespace), ("name", name)];
    let question = question.with("group", group).with("resource", resource);
    let set = fields.into_iter().filter(|(_, value)| !value.is_empty());
    Val::opaque(set.fold(question, |question, (field, value)| question.with(field, value)))
}

/// An authorization check that is being built.
#[derive(Debug, Clone, PartialEq)]
struct AuthorizerCheckVal {
    kind: CelKind,
    fields: Vec<(&'static str, Text)>,
}

impl AuthorizerCheckVal {
    fn with(mut self, field: &'static str, value: &str) -> Self {
        self.fields.retain(|(known, _)| *known != field);
        self.fields.push((field, Text::new(value)));
        self
    }

    fn to_value(&self, verb: &str) -> Value {
        let fields = self.fields.iter().map(|(field, value)| (Text::new(*field), Value::from(value.clone())));
        let verb = (Text::new("verb"), Value::from(Text::new(verb)));
        Value::object(fields.chain([verb]).collect::<Map>())
    }
}

impl Opaque for AuthorizerCheckVal {
    fn type_name(&self) -> &'static str {
        self.kind.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

#[derive(Debug, Clone, PartialEq)]
struct AuthorizerDecisionVal {
    is_allowed: bool,
    reason: Text,
    error: Option<Text>,
}

impl Opaque for AuthorizerDecisionVal {
    fn type_name(&self) -> &'static str {
        DECISION.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

/// Adds a method that sets one field of a check.
macro_rules! setters {
    ($functions:ident: $($name:literal $parameters:expr => $result:ident $help:literal;)*) => {$(
        $functions.add(
            CelOverload::method($name, $parameters, $result, |arguments, _| {
                let question = opaque_argument::<AuthorizerCheckVal>(arguments, 0)?.clone().with($name, text_argument(arguments, 1)?);
                Ok(Val::opaque(AuthorizerCheckVal { kind: $result, ..question }))
            })
            .help($help),
        );
    )*};
}

fn add_authorizer_functions(functions: &mut CelFunctions) {
    setters! { functions:
        "group" &[AUTHORIZER_TYPE, CelKind::String] => GROUP_CHECK "asks about resources of a group";
        "subresource" RESOURCE => RESOURCE_CHECK_TYPE "asks about a subresource";
        "namespace" RESOURCE => RESOURCE_CHECK_TYPE "asks about resources in a namespace";
        "name" RESOURCE => RESOURCE_CHECK_TYPE "asks about one resource";
        "fieldSelector" RESOURCE => RESOURCE_CHECK_TYPE "asks about resources with certain fields";
        "labelSelector" RESOURCE => RESOURCE_CHECK_TYPE "asks about resources with certain labels";
    }
    for name in ["fieldSelector", "labelSelector"] {
        functions.set_cost(name, selector_cost);
    }
    functions.add(
        CelOverload::method("path", &[AUTHORIZER_TYPE, CelKind::String], PATH_CHECK, |arguments, _| {
            set_check_field(arguments, "path", PATH_CHECK)
        })
        .help("asks about a path of the API server"),
    );
    functions.add(
        CelOverload::method(
            "resource",
            &[GROUP_CHECK, CelKind::String],
            RESOURCE_CHECK_TYPE,
            |arguments, _| set_check_field(arguments, "resource", RESOURCE_CHECK_TYPE),
        )
        .help("asks about a resource, such as `pods`"),
    );
    functions.add(
        CelOverload::method(
            "serviceAccount",
            &[AUTHORIZER_TYPE, CelKind::String, CelKind::String],
            AUTHORIZER_TYPE,
            |arguments, _| check_as_service_account(arguments),
        )
        .help("asks for a service account, by namespace and name"),
    );
    for parameters in [&[PATH_CHECK, CelKind::String], RESOURCE] {
        functions.add(
            CelOverload::method("check", parameters, DECISION, check_authorization)
                .cost(|_, _| 350_000)
                .help("the decision about a verb"),
        );
    }
    add_decision_functions(functions);
}

fn add_decision_functions(functions: &mut CelFunctions) {
    const ONE: &[CelKind] = &[DECISION];
    functions.add(
        CelOverload::method("allowed", ONE, CelKind::Bool, |arguments, _| {
            Ok(Val::Bool(opaque_argument::<AuthorizerDecisionVal>(arguments, 0)?.is_allowed))
        })
        .help("whether it is allowed"),
    );
    functions.add(
        CelOverload::method("reason", ONE, CelKind::String, |arguments, _| {
            Ok(Val::text(opaque_argument::<AuthorizerDecisionVal>(arguments, 0)?.reason.clone()))
        })
        .help("why it is allowed or not"),
    );
    functions.add(
        CelOverload::method("errored", ONE, CelKind::Bool, |arguments, _| {
            Ok(Val::Bool(opaque_argument::<AuthorizerDecisionVal>(arguments, 0)?.error.is_some()))
        })
        .help("whether deciding failed"),
    );
    functions.add(
        CelOverload::method("error", ONE, CelKind::String, |arguments, _| {
            Ok(Val::text(
                opaque_argument::<AuthorizerDecisionVal>(arguments, 0)?.error.clone().unwrap_or_default(),
            ))
        })
        .help("why deciding failed"),
    );
}

/// Returns the cost of a selector, which is parsed to a list of requirements of at least two characters each.
fn selector_cost(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    let size = size_of(arguments, 1);
    10_u64.saturating_add(size.div_ceil(10)).saturating_add(size.div_ceil(2).saturating_mul(50))
}

fn set_check_field<'a>(
    arguments: &[Val<'a>],
    field: &'static str,
    kind: CelKind,
) -> Result<Val<'a>, CelFailure> {
    let value = text_argument(arguments, 1)?;
    if value.trim().is_empty() {
        return Err(CelFailure::value(format!("{field} must not be empty")));
    }
    let question = opaque_argument::<AuthorizerCheckVal>(arguments, 0)?.clone().with(field, value);
    Ok(Val::opaque(AuthorizerCheckVal { kind, ..question }))
}

fn check_as_service_account<'a>(arguments: &[Val<'a>]) -> Result<Val<'a>, CelFailure> {
    let (namespace, name) = (text_argument(arguments, 1)?, text_argument(arguments, 2)?);
    if !is_subdomain_name(name) {
        return Err(CelFailure::value("Invalid service account name"));
    }
    if !is_label_name(namespace) {
        return Err(CelFailure::value("Invalid service account namespace"));
    }
    let user = format!("system:serviceaccount:{namespace}:{name}");
    Ok(Val::opaque(opaque_argument::<AuthorizerCheckVal>(arguments, 0)?.clone().with("user", &user)))
}

fn check_authorization<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let question =
        opaque_argument::<AuthorizerCheckVal>(arguments, 0)?.to_value(text_argument(arguments, 1)?);
    let host = call.host().ok_or_else(|| CelFailure::value("no authorizer is available"))?;
    let answer = host.ask(AUTHORIZER_CHECK, &[question])?;
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(Text::new);
    let Some(is_allowed) = answer.get("allowed").and_then(Value::as_bool) else {
        return Err(CelFailure::value("the authorizer gave no answer"));
    };
    let reason = text("reason").unwrap_or_default();
    Ok(Val::opaque(AuthorizerDecisionVal { is_allowed, reason, error: text("error") }))
}
