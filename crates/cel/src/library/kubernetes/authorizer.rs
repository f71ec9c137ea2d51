//! What a user may do, asked of the world.
//!
//! `check` asks [`Host::ask`](crate::Host::ask) the question [`CHECK`] with one object: `verb`,
//! either `path` or `group` and `resource` with, where they are set, `subresource`, `namespace`, `name`,
//! `fieldSelector` and `labelSelector`, and `user` for another user than the one who asks. The answer is
//! an object with `allowed`, and with `reason` and `error` where there is one. No answer is an error.

use std::any::Any;

use kubewright_value::{Map, Text, Value};

use super::formats::{is_label_name, is_subdomain_name};
use super::{Library, opaque, text};
use crate::environment::Macros;
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::standard::size_of;
use crate::val::{Kind, Opaque, Val};

/// The library of the authorizer.
pub const AUTHORIZER: Library =
    Library { name: "authorizer", functions: add, macros: Macros::NONE, types: &[] };

/// The question that the world is asked.
pub const CHECK: &str = "authorizer.check";

/// The type of the variable `authorizer`.
pub const AUTHORIZER_TYPE: Kind = Kind::Opaque("kubernetes.authorization.Authorizer");

/// The type of the variable `authorizer.requestResource`.
pub const RESOURCE_CHECK_TYPE: Kind = Kind::Opaque("kubernetes.authorization.ResourceCheck");

const PATH_CHECK: Kind = Kind::Opaque("kubernetes.authorization.PathCheck");
const GROUP_CHECK: Kind = Kind::Opaque("kubernetes.authorization.GroupCheck");
const DECISION: Kind = Kind::Opaque("kubernetes.authorization.Decision");
const RESOURCE: &[Kind] = &[RESOURCE_CHECK_TYPE, Kind::String];

/// Returns what the variable `authorizer` is bound to: it asks for the user of the request.
#[must_use]
pub fn authorizer() -> Val<'static> {
    Val::opaque(Question { kind: AUTHORIZER_TYPE, fields: Vec::new() })
}

/// Returns what the variable `authorizer.requestResource` is bound to; what is empty is not asked about.
#[must_use]
pub fn resource_check(
    group: &str,
    resource: &str,
    subresource: &str,
    namespace: &str,
    name: &str,
) -> Val<'static> {
    let question = Question { kind: RESOURCE_CHECK_TYPE, fields: Vec::new() };
    let fields = [("subresource", subresource), ("namespace", namespace), ("name", name)];
    let question = question.with("group", group).with("resource", resource);
    let set = fields.into_iter().filter(|(_, value)| !value.is_empty());
    Val::opaque(set.fold(question, |question, (field, value)| question.with(field, value)))
}

/// A question that is being put together.
#[derive(Debug, Clone, PartialEq)]
struct Question {
    kind: Kind,
    fields: Vec<(&'static str, Text)>,
}

impl Question {
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

impl Opaque for Question {
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
struct Decision {
    is_allowed: bool,
    reason: Text,
    error: Option<Text>,
}

impl Opaque for Decision {
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

/// Adds a method that sets one field of a question.
macro_rules! setters {
    ($functions:ident: $($name:literal $parameters:expr => $result:ident $help:literal;)*) => {$(
        $functions.add(
            Overload::method($name, $parameters, $result, |arguments, _| {
                let question = opaque::<Question>(arguments, 0)?.clone().with($name, text(arguments, 1)?);
                Ok(Val::opaque(Question { kind: $result, ..question }))
            })
            .help($help),
        );
    )*};
}

fn add(functions: &mut Functions) {
    setters! { functions:
        "group" &[AUTHORIZER_TYPE, Kind::String] => GROUP_CHECK "asks about resources of a group";
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
        Overload::method("path", &[AUTHORIZER_TYPE, Kind::String], PATH_CHECK, |arguments, _| {
            not_empty(arguments, "path", PATH_CHECK)
        })
        .help("asks about a path of the API server"),
    );
    functions.add(
        Overload::method("resource", &[GROUP_CHECK, Kind::String], RESOURCE_CHECK_TYPE, |arguments, _| {
            not_empty(arguments, "resource", RESOURCE_CHECK_TYPE)
        })
        .help("asks about a resource, such as `pods`"),
    );
    functions.add(
        Overload::method(
            "serviceAccount",
            &[AUTHORIZER_TYPE, Kind::String, Kind::String],
            AUTHORIZER_TYPE,
            |arguments, _| service_account(arguments),
        )
        .help("asks for a service account, by namespace and name"),
    );
    for parameters in [&[PATH_CHECK, Kind::String], RESOURCE] {
        functions.add(
            Overload::method("check", parameters, DECISION, check)
                .cost(|_, _| 350_000)
                .help("the decision about a verb"),
        );
    }
    decisions(functions);
}

fn decisions(functions: &mut Functions) {
    const ONE: &[Kind] = &[DECISION];
    functions.add(
        Overload::method("allowed", ONE, Kind::Bool, |arguments, _| {
            Ok(Val::Bool(opaque::<Decision>(arguments, 0)?.is_allowed))
        })
        .help("whether it is allowed"),
    );
    functions.add(
        Overload::method("reason", ONE, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Decision>(arguments, 0)?.reason.clone()))
        })
        .help("why it is allowed or not"),
    );
    functions.add(
        Overload::method("errored", ONE, Kind::Bool, |arguments, _| {
            Ok(Val::Bool(opaque::<Decision>(arguments, 0)?.error.is_some()))
        })
        .help("whether deciding failed"),
    );
    functions.add(
        Overload::method("error", ONE, Kind::String, |arguments, _| {
            Ok(Val::text(opaque::<Decision>(arguments, 0)?.error.clone().unwrap_or_default()))
        })
        .help("why deciding failed"),
    );
}

/// A selector becomes a list of structures, one for at least two characters each.
fn selector_cost(arguments: &[Val<'_>], _: &Val<'_>) -> u64 {
    let size = size_of(arguments, 1);
    10_u64.saturating_add(size.div_ceil(10)).saturating_add(size.div_ceil(2).saturating_mul(50))
}

fn not_empty<'a>(arguments: &[Val<'a>], field: &'static str, kind: Kind) -> Result<Val<'a>, Failure> {
    let value = text(arguments, 1)?;
    if value.trim().is_empty() {
        return Err(Failure::value(format!("{field} must not be empty")));
    }
    let question = opaque::<Question>(arguments, 0)?.clone().with(field, value);
    Ok(Val::opaque(Question { kind, ..question }))
}

fn service_account<'a>(arguments: &[Val<'a>]) -> Result<Val<'a>, Failure> {
    let (namespace, name) = (text(arguments, 1)?, text(arguments, 2)?);
    if !is_subdomain_name(name) {
        return Err(Failure::value("Invalid service account name"));
    }
    if !is_label_name(namespace) {
        return Err(Failure::value("Invalid service account namespace"));
    }
    let user = format!("system:serviceaccount:{namespace}:{name}");
    Ok(Val::opaque(opaque::<Question>(arguments, 0)?.clone().with("user", &user)))
}

fn check<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let question = opaque::<Question>(arguments, 0)?.to_value(text(arguments, 1)?);
    let host = call.host().ok_or_else(|| Failure::value("nothing is known about what users may do"))?;
    let answer = host.ask(CHECK, &[question])?;
    let text = |name: &str| answer.get(name).and_then(Value::as_str).map(Text::new);
    let Some(is_allowed) = answer.get("allowed").and_then(Value::as_bool) else {
        return Err(Failure::value("the authorizer gave no answer"));
    };
    let reason = text("reason").unwrap_or_default();
    Ok(Val::opaque(Decision { is_allowed, reason, error: text("error") }))
}
