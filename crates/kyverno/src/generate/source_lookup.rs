//! Looks up the objects that copies are made of. A source that is not there is an error, never an empty copy.

use kubewright_engine::{ApiCall, EvalError, Query, QueryAnswer, WorldView};
use kubewright_k8s::{ApiPath, GroupVersionKind, ObjectName, resource_name};
use kubewright_value::{Text, Value};

/// What to do about a source that is not known.
const GIVE_SOURCE: &str = "give it in `cloneSourceResource` of the test, or in a `--world` file";

/// Returns the object called `wanted`.
pub(super) fn find_object(world: WorldView<'_>, wanted: &ObjectName) -> Result<Value, EvalError> {
    let query = Query::Object(wanted.clone());
    match world.get(&query) {
        QueryAnswer::Found(found) => Ok(found),
        QueryAnswer::Absent => {
            Err(EvalError::new(format!("source resource {wanted} not found: {GIVE_SOURCE}")))
        }
        other => Err(unfound(query, other)),
    }
}

/// Returns the objects of `kind` in `namespace`.
pub(super) fn list_objects(
    world: WorldView<'_>,
    kind: &GroupVersionKind,
    namespace: &Text,
) -> Result<Vec<Value>, EvalError> {
    let path = ApiPath {
        group: kind.group.clone(),
        version: kind.version.clone(),
        namespace: namespace.clone(),
        resource: resource_name(&kind.kind).into(),
        ..ApiPath::default()
    };
    let call = ApiCall::resource("GET", &path.to_string(), Text::default());
    let query = Query::Api(call);
    match world.get(&query) {
        QueryAnswer::Found(found) => {
            let items = found.get("items").and_then(Value::as_array);
            Ok(items.map(<[Value]>::to_vec).unwrap_or_default())
        }
        QueryAnswer::Absent => Err(EvalError::new(format!(
            "the {} of namespace `{namespace}` cannot be listed: {GIVE_SOURCE}",
            path.resource
        ))),
        other => Err(unfound(query, other)),
    }
}

fn unfound(query: Query, answer: QueryAnswer) -> EvalError {
    match answer {
        QueryAnswer::Failed(why) => EvalError::failed(&query, &why),
        QueryAnswer::Refused(why) => EvalError::refused(&query, &why),
        QueryAnswer::Found(_) | QueryAnswer::Absent | QueryAnswer::Unknown => {
            let mut error = EvalError::unanswered(query);
            error.message = format!("{}: {GIVE_SOURCE}", error.message);
            error
        }
    }
}
