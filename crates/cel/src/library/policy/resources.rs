//! Resources of the cluster, asked of the world.

use std::any::Any;

use kubewright_value::{Text, Value};

use super::{Library, Macros, ask, opaque, text, texts};
use crate::error::Failure;
use crate::function::{Call, Functions, Overload};
use crate::val::{Kind, Opaque, Val};

/// The library of resources in all namespaces.
pub const RESOURCES: Library =
    Library { name: "resources", functions: add, macros: Macros::NONE, types: TYPES };

/// The library of resources in one namespace, which the functions therefore do not take.
pub const NAMESPACED_RESOURCES: Library =
    Library { name: "namespaced resources", functions: add_namespaced, macros: Macros::NONE, types: TYPES };

/// The question for one resource.
pub const RESOURCE_GET: &str = "resource.get";

/// The question for resources.
pub const RESOURCE_LIST: &str = "resource.list";

/// The wish for a resource.
pub const RESOURCE_POST: &str = "resource.post";

/// The question for what resources of a kind are called.
pub const RESOURCE_NAME: &str = "resource.toGVR";

const TYPES: &[&str] = &["resource.Context", "schema.GroupVersionResource"];
const SELF: Kind = Kind::Opaque("resource.Context");
const GVR: Kind = Kind::Opaque("schema.GroupVersionResource");
const S: Kind = Kind::String;

/// The resources that can be seen.
#[derive(Debug, PartialEq)]
struct Resources {
    namespace: Option<Text>,
}

/// Resources of a kind: `apps/v1` and `deployments`.
#[derive(Debug, PartialEq)]
struct Named {
    version: Text,
    resource: Text,
}

impl Opaque for Resources {
    fn type_name(&self) -> &'static str {
        SELF.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

impl Opaque for Named {
    fn type_name(&self) -> &'static str {
        GVR.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

pub(super) fn everywhere() -> Val<'static> {
    Val::opaque(Resources { namespace: None })
}

pub(super) fn in_namespace(namespace: Text) -> Val<'static> {
    Val::opaque(Resources { namespace: Some(namespace) })
}

fn add(functions: &mut Functions) {
    add_all(
        functions,
        &[&[SELF, S, S, S, S], &[SELF, GVR, S, S]],
        &[&[SELF, S, S, S], &[SELF, S, S, S, Kind::Map], &[SELF, GVR, S], &[SELF, GVR, S, Kind::Map]],
        &[&[SELF, S, S, S, Kind::Map], &[SELF, S, S, Kind::Map]],
    );
}

fn add_namespaced(functions: &mut Functions) {
    add_all(
        functions,
        &[&[SELF, S, S, S], &[SELF, GVR, S]],
        &[&[SELF, S, S], &[SELF, S, S, Kind::Map], &[SELF, GVR], &[SELF, GVR, Kind::Map]],
        &[&[SELF, S, S, Kind::Map]],
    );
}

type Parameters = &'static [Kind];

fn add_all(functions: &mut Functions, get: &[Parameters], list: &[Parameters], post: &[Parameters]) {
    for name in ["get", "Get"] {
        for parameters in get {
            functions.add(
                Overload::method(name, parameters, Kind::Map, self::get).help(
                    "the resource of a version, a plural, a namespace and a name; null if there is none",
                ),
            );
        }
    }
    for name in ["list", "List"] {
        for parameters in list {
            functions.add(
                Overload::method(name, parameters, Kind::Map, self::list).values(Kind::String).help(
                    "`items`: the resources of a version, a plural and a namespace, perhaps with labels",
                ),
            );
        }
    }
    for name in ["post", "Post"] {
        for parameters in post {
            functions.add(
                Overload::method(name, parameters, Kind::Map, self::post)
                    .help("the resource that is made of an object, such as a review"),
            );
        }
    }
    for name in ["toGVR", "ToGVR"] {
        functions.add(
            Overload::method(name, &[SELF, S, S], GVR, named)
                .help("what resources of a kind are called, by version and kind"),
        );
    }
}

fn get<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let (question, rest) = place(arguments)?;
    let name = value(text(rest, 0)?);
    ask(call, RESOURCE_GET, &[&question[..], &[name]].concat(), "failed to get resource")
}

fn list<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let (question, rest) = place(arguments)?;
    let labels = if rest.is_empty() { Value::Null } else { texts(rest, 0)? };
    ask(call, RESOURCE_LIST, &[&question[..], &[labels]].concat(), "failed to list resource")
}

fn post<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    // What is in no namespace is made without one.
    let (question, object) = match arguments {
        [_, version, resource, object @ Val::Map(_)]
            if opaque::<Resources>(arguments, 0)?.namespace.is_none() =>
        {
            let question = [value_of(version)?, value_of(resource)?, value("")];
            (question, object_of(object)?)
        }
        _ => {
            let (question, rest) = place(arguments)?;
            (question, object_of(rest.first().ok_or_else(Failure::mismatch)?)?)
        }
    };
    ask(call, RESOURCE_POST, &[&question[..], &[object]].concat(), "failed to create resource")
}

fn named<'a>(arguments: &[Val<'a>], call: &mut Call<'_, 'a>) -> Result<Val<'a>, Failure> {
    let version = Text::new(text(arguments, 1)?);
    let question = [Value::from(version.clone()), value(text(arguments, 2)?)];
    let failed = "failed to map kind to resource";
    match ask(call, RESOURCE_NAME, &question, failed)? {
        Val::String(resource) => Ok(Val::opaque(Named { version, resource: resource.into_owned() })),
        _ => Err(Failure::value(format!("{failed}: there is none"))),
    }
}

/// Returns version, resource and namespace, and the arguments behind them.
fn place<'v, 'a>(arguments: &'v [Val<'a>]) -> Result<([Value; 3], &'v [Val<'a>]), Failure> {
    let resources = opaque::<Resources>(arguments, 0)?;
    let (version, resource, used) = match arguments.get(1).and_then(Val::as_opaque::<Named>) {
        Some(named) => (Value::from(named.version.clone()), Value::from(named.resource.clone()), 2),
        None => (value(text(arguments, 1)?), value(text(arguments, 2)?), 3),
    };
    let (namespace, used) = match &resources.namespace {
        Some(namespace) => (Value::from(namespace.clone()), used),
        None => (value(text(arguments, used)?), used + 1),
    };
    Ok(([version, resource, namespace], arguments.get(used..).unwrap_or_default()))
}

/// Returns a map whose keys are texts as JSON.
fn object_of(argument: &Val<'_>) -> Result<Value, Failure> {
    let Val::Map(map) = argument else { return Err(Failure::mismatch()) };
    if map.iter().any(|(key, _)| key.as_str().is_none()) {
        return Err(Failure::mismatch());
    }
    argument.to_value().map_err(Failure::value)
}

fn value_of(argument: &Val<'_>) -> Result<Value, Failure> {
    argument.as_str().map(value).ok_or_else(Failure::mismatch)
}

fn value(text: &str) -> Value {
    Value::from(Text::new(text))
}
