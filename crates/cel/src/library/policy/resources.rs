//! `resource.get` and its like, which query the cluster.

use std::any::Any;

use kubewright_value::{Text, Value};

use super::{CelLibrary, MacroSet, ask_host, opaque_argument, text_argument, text_map_argument};
use crate::error::CelFailure;
use crate::function::{CelCallContext, CelFunctions, CelOverload};
use crate::val::{CelKind, Opaque, Val};

/// The library of resources in all namespaces.
pub const RESOURCES: CelLibrary =
    CelLibrary { name: "resources", functions: add_resource_functions, macros: MacroSet::NONE, types: TYPES };

/// The library of resources in one namespace. Its functions do not take a namespace.
pub const NAMESPACED_RESOURCES: CelLibrary = CelLibrary {
    name: "namespaced resources",
    functions: add_namespaced_resource_functions,
    macros: MacroSet::NONE,
    types: TYPES,
};

/// The query for one resource.
pub const RESOURCE_GET: &str = "resource.get";

/// The query for a list of resources.
pub const RESOURCE_LIST: &str = "resource.list";

/// The query that creates a resource, such as a SubjectAccessReview.
pub const RESOURCE_POST: &str = "resource.post";

/// The query for the resource name of a kind.
pub const RESOURCE_NAME: &str = "resource.toGVR";

const TYPES: &[&str] = &["resource.Context", "schema.GroupVersionResource"];
const RESOURCE_CONTEXT: CelKind = CelKind::Opaque("resource.Context");
const GVR: CelKind = CelKind::Opaque("schema.GroupVersionResource");
const STRING: CelKind = CelKind::String;

/// The value of `resource`: the resources of all namespaces or of one.
#[derive(Debug, PartialEq)]
struct ResourceContextVal {
    namespace: Option<Text>,
}

/// A resource type: `apps/v1` and `deployments`.
#[derive(Debug, PartialEq)]
struct GroupVersionResourceVal {
    version: Text,
    resource: Text,
}

impl Opaque for ResourceContextVal {
    fn type_name(&self) -> &'static str {
        RESOURCE_CONTEXT.name()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn equals(&self, other: &dyn Opaque) -> bool {
        other.as_any().downcast_ref() == Some(self)
    }
}

impl Opaque for GroupVersionResourceVal {
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

pub(super) fn unrestricted_resources() -> Val<'static> {
    Val::opaque(ResourceContextVal { namespace: None })
}

pub(super) fn resources_in_namespace(namespace: Text) -> Val<'static> {
    Val::opaque(ResourceContextVal { namespace: Some(namespace) })
}

fn add_resource_functions(functions: &mut CelFunctions) {
    add_resource_overloads(
        functions,
        &[&[RESOURCE_CONTEXT, STRING, STRING, STRING, STRING], &[RESOURCE_CONTEXT, GVR, STRING, STRING]],
        &[
            &[RESOURCE_CONTEXT, STRING, STRING, STRING],
            &[RESOURCE_CONTEXT, STRING, STRING, STRING, CelKind::Map],
            &[RESOURCE_CONTEXT, GVR, STRING],
            &[RESOURCE_CONTEXT, GVR, STRING, CelKind::Map],
        ],
        &[
            &[RESOURCE_CONTEXT, STRING, STRING, STRING, CelKind::Map],
            &[RESOURCE_CONTEXT, STRING, STRING, CelKind::Map],
        ],
    );
}

fn add_namespaced_resource_functions(functions: &mut CelFunctions) {
    add_resource_overloads(
        functions,
        &[&[RESOURCE_CONTEXT, STRING, STRING, STRING], &[RESOURCE_CONTEXT, GVR, STRING]],
        &[
            &[RESOURCE_CONTEXT, STRING, STRING],
            &[RESOURCE_CONTEXT, STRING, STRING, CelKind::Map],
            &[RESOURCE_CONTEXT, GVR],
            &[RESOURCE_CONTEXT, GVR, CelKind::Map],
        ],
        &[&[RESOURCE_CONTEXT, STRING, STRING, CelKind::Map]],
    );
}

type ParameterKinds = &'static [CelKind];

fn add_resource_overloads(
    functions: &mut CelFunctions,
    get: &[ParameterKinds],
    list: &[ParameterKinds],
    post: &[ParameterKinds],
) {
    for name in ["get", "Get"] {
        for parameters in get {
            functions.add(
                CelOverload::method(name, parameters, CelKind::Map, self::get_resource).help(
                    "the resource of a version, a plural, a namespace and a name; null if there is none",
                ),
            );
        }
    }
    for name in ["list", "List"] {
        for parameters in list {
            functions.add(
                CelOverload::method(name, parameters, CelKind::Map, self::list_resources)
                    .values(CelKind::String)
                    .help(
                        "`items`: the resources of a version, a plural and a namespace, perhaps with labels",
                    ),
            );
        }
    }
    for name in ["post", "Post"] {
        for parameters in post {
            functions.add(
                CelOverload::method(name, parameters, CelKind::Map, self::post_resource)
                    .help("the resource that is created from an object, such as a review"),
            );
        }
    }
    for name in ["toGVR", "ToGVR"] {
        functions.add(
            CelOverload::method(name, &[RESOURCE_CONTEXT, STRING, STRING], GVR, resource_of_kind)
                .help("the resource name of a kind, by version and kind"),
        );
    }
}

fn get_resource<'a>(arguments: &[Val<'a>], call: &mut CelCallContext<'_, 'a>) -> Result<Val<'a>, CelFailure> {
    let (question, rest) = resource_location(arguments)?;
    let name = resource_text(text_argument(rest, 0)?);
    ask_host(call, RESOURCE_GET, &[&question[..], &[name]].concat(), "failed to get resource")
}

fn list_resources<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let (question, rest) = resource_location(arguments)?;
    let labels = if rest.is_empty() { Value::Null } else { text_map_argument(rest, 0)? };
    ask_host(call, RESOURCE_LIST, &[&question[..], &[labels]].concat(), "failed to list resource")
}

fn post_resource<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    // A cluster-scoped resource is created without a namespace.
    let (question, object) = match arguments {
        [_, version, resource, object @ Val::Map(_)]
            if opaque_argument::<ResourceContextVal>(arguments, 0)?.namespace.is_none() =>
        {
            let question =
                [optional_json_argument(version)?, optional_json_argument(resource)?, resource_text("")];
            (question, json_object_argument(object)?)
        }
        _ => {
            let (question, rest) = resource_location(arguments)?;
            (question, json_object_argument(rest.first().ok_or_else(CelFailure::mismatch)?)?)
        }
    };
    ask_host(call, RESOURCE_POST, &[&question[..], &[object]].concat(), "failed to create resource")
}

fn resource_of_kind<'a>(
    arguments: &[Val<'a>],
    call: &mut CelCallContext<'_, 'a>,
) -> Result<Val<'a>, CelFailure> {
    let version = Text::new(text_argument(arguments, 1)?);
    let question = [Value::from(version.clone()), resource_text(text_argument(arguments, 2)?)];
    let failed = "failed to map kind to resource";
    match ask_host(call, RESOURCE_NAME, &question, failed)? {
        Val::String(resource) => {
            Ok(Val::opaque(GroupVersionResourceVal { version, resource: resource.into_owned() }))
        }
        _ => Err(CelFailure::value(format!("{failed}: not found"))),
    }
}

/// Returns version, resource and namespace, and the remaining arguments.
fn resource_location<'v, 'a>(arguments: &'v [Val<'a>]) -> Result<([Value; 3], &'v [Val<'a>]), CelFailure> {
    let resources = opaque_argument::<ResourceContextVal>(arguments, 0)?;
    let (version, resource, used) = match arguments.get(1).and_then(Val::as_opaque::<GroupVersionResourceVal>)
    {
        Some(named) => (Value::from(named.version.clone()), Value::from(named.resource.clone()), 2),
        None => (resource_text(text_argument(arguments, 1)?), resource_text(text_argument(arguments, 2)?), 3),
    };
    let (namespace, used) = match &resources.namespace {
        Some(namespace) => (Value::from(namespace.clone()), used),
        None => (resource_text(text_argument(arguments, used)?), used + 1),
    };
    Ok(([version, resource, namespace], arguments.get(used..).unwrap_or_default()))
}

/// Returns a map with string keys as JSON.
fn json_object_argument(argument: &Val<'_>) -> Result<Value, CelFailure> {
    let Val::Map(map) = argument else { return Err(CelFailure::mismatch()) };
    if map.iter().any(|(key, _)| key.as_str().is_none()) {
        return Err(CelFailure::mismatch());
    }
    argument.to_value().map_err(CelFailure::value)
}

fn optional_json_argument(argument: &Val<'_>) -> Result<Value, CelFailure> {
    argument.as_str().map(resource_text).ok_or_else(CelFailure::mismatch)
}

fn resource_text(text: &str) -> Value {
    Value::from(Text::new(text))
}
