//! CEL functions that query the cluster, a service or a registry through the world.
//!
//! An unknown answer is an error that names the query, never an empty answer; the rule then ends in that error.

mod path;
mod verification;

pub use verification::VerifiedImages;

use kubewright_cel::library::kubernetes::AUTHORIZER_CHECK;
use kubewright_cel::library::policy::{
    EXTRACT_PAYLOAD, GENERATOR_APPLY, GET_IMAGE_DATA, GLOBAL_CONTEXT, HTTP_GET, HTTP_POST, IMAGE_DATA,
    RESOURCE_GET, RESOURCE_LIST, RESOURCE_NAME, RESOURCE_POST, VERIFY_ATTESTATION, VERIFY_IMAGE,
};
use kubewright_cel::{CelErrorKind, CelFailure, Host};
use kubewright_engine::{ApiCall, EvalError, ImageLookup, Query, QueryAnswer, ServiceCall};
use kubewright_k8s::resource_name;
use kubewright_value::{Map, Text, Value, bounded};

use super::scope::ExpressionScope;

/// The API server's path of access reviews.
const ACCESS_REVIEW_PATH: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// The API server's message for an unknown path.
const NO_RESOURCE_MESSAGE: &str = "the server could not find the requested resource";

impl Host for ExpressionScope<'_> {
    fn ask(&self, question: &str, arguments: &[Value]) -> Result<Value, CelFailure> {
        match (question, arguments) {
            (AUTHORIZER_CHECK, [Value::Object(check)]) => self.is_allowed(check),
            (RESOURCE_GET, [version, resource, namespace, name]) => {
                let url = path::api_object_path([version, resource, namespace, name].map(str_or_empty))?;
                Ok(self.call("GET", &url, Text::default())?.unwrap_or_default())
            }
            (RESOURCE_LIST, [version, resource, namespace, labels]) => {
                let url = path::list_path([version, resource, namespace].map(str_or_empty), labels)?;
                self.call("GET", &url, Text::default())?.ok_or_else(|| CelFailure::value(NO_RESOURCE_MESSAGE))
            }
            (RESOURCE_POST, [version, resource, namespace, object]) => {
                let [version, resource, namespace] = [version, resource, namespace].map(str_or_empty);
                // A subresource belongs to an object that already has a name.
                let url = match (resource.contains('/'), object.at(&["metadata", "name"])) {
                    (true, name) => {
                        path::api_object_path([version, resource, namespace, name.map_or("", str_or_empty)])?
                    }
                    (false, _) => path::list_path([version, resource, namespace], &Value::Null)?,
                };
                self.call("POST", &url, self.body(object)?)?
                    .ok_or_else(|| CelFailure::value(NO_RESOURCE_MESSAGE))
            }
            (GENERATOR_APPLY, [namespace, objects]) => self.take_over(namespace, objects),
            (RESOURCE_NAME, [_, kind]) => Ok(resource_name(str_or_empty(kind)).into()),
            (GLOBAL_CONTEXT, [name, projection]) => self.shared(str_or_empty(name), str_or_empty(projection)),
            (HTTP_GET, [url, ..]) => self.response("GET", str_or_empty(url), Text::default()),
            (HTTP_POST, [url, body, ..]) => self.response("POST", str_or_empty(url), self.body(body)?),
            (IMAGE_DATA, [image]) => {
                let found = self.known(Query::Image(ImageLookup::of(str_or_empty(image))))?;
                let missing = || format!("image data for {} not found in the context", str_or_empty(image));
                found.map(cel_image_data).ok_or_else(|| CelFailure::value(missing()))
            }
            (VERIFY_IMAGE, [image, attestors]) => self.verify_image(str_or_empty(image), attestors),
            (VERIFY_ATTESTATION, [image, attestation, attestors]) => {
                self.verify_attestation(str_or_empty(image), attestation, attestors)
            }
            (EXTRACT_PAYLOAD, [image, attestation]) => self.payload(str_or_empty(image), attestation),
            (GET_IMAGE_DATA, [image]) => self.image_data(str_or_empty(image)).map(cel_image_data),
            _ => Err(CelFailure::value(format!("the function `{question}` is not known"))),
        }
    }
}

impl ExpressionScope<'_> {
    /// Returns the world's answer; `None` where the object is known to be absent.
    fn known(&self, query: Query) -> Result<Option<Value>, CelFailure> {
        match self.world.get(&query) {
            QueryAnswer::Found(found) => Ok(Some(found)),
            QueryAnswer::Absent => Ok(None),
            QueryAnswer::Failed(why) => Err(CelFailure::value(EvalError::failed(&query, &why).message)),
            QueryAnswer::Refused(why) => Err(CelFailure::value(EvalError::refused(&query, &why).message)),
            QueryAnswer::Unknown => {
                let how = match &query {
                    Query::Shared(_) => "in `globalContextEntries` of the test or a `--world` file",
                    Query::Image(_) => "in `images` of the test's context or a `--world` file",
                    Query::Http(_) => "in `apiCallResponses` of the test or a `--world` file",
                    Query::Api(_) | Query::Object(_) => "in the test's context or a `--world` file",
                };
                let mut error = EvalError::unanswered(query);
                error.message = format!("{}: give it {how}", error.message);
                Err(self.not_known(error))
            }
        }
    }

    /// Returns the request body as JSON; its size is charged like text that an expression builds.
    fn body(&self, value: &Value) -> Result<Text, CelFailure> {
        self.within(|budget| bounded::to_json(value, budget))
            .map(Text::from)
            .map_err(|exhausted| CelFailure::new(CelErrorKind::Limit, exhausted.to_string()))
    }

    fn call(&self, method: &str, url: &str, data: Text) -> Result<Option<Value>, CelFailure> {
        self.known(Query::Api(ApiCall::resource(method, url, data)))
    }

    /// Returns an entry that the cluster shares, or the part of it that a projection makes.
    fn shared(&self, name: &str, projection: &str) -> Result<Value, CelFailure> {
        if projection.is_empty() {
            return Ok(self.known(Query::Shared(name.into()))?.unwrap_or_default());
        }
        // A cluster answers by the name of the part; a test may give the entry with its parts.
        let part = Query::Shared(format!("{name}.{projection}").into());
        let whole = match self.world.get(&part) {
            QueryAnswer::Unknown | QueryAnswer::Absent => self.world.get(&Query::Shared(name.into())),
            _ => return Ok(self.known(part)?.unwrap_or_default()),
        };
        let missing = || format!("projection \"{projection}\" not found in global context entry \"{name}\"");
        match whole {
            QueryAnswer::Found(Value::Object(parts)) => {
                parts.get(projection).cloned().ok_or_else(|| CelFailure::value(missing()))
            }
            QueryAnswer::Found(Value::Null) | QueryAnswer::Absent => Ok(Value::Null),
            QueryAnswer::Found(_) => {
                Err(CelFailure::value(format!("{}: stored value is not an object", missing())))
            }
            _ => Ok(self.known(part)?.unwrap_or_default()),
        }
    }

    /// Returns a response as expressions read it. The original program puts the fields of a body next to `statusCode` in
    /// a cluster and below `body` in tests. Here they are in both places.
    fn response(&self, method: &str, url: &str, data: Text) -> Result<Value, CelFailure> {
        let call = ApiCall::service(method, url, data, ServiceCall::default());
        let found = self.known(Query::Http(call))?.ok_or_else(|| CelFailure::value("there is no answer"))?;
        let body = found.get("body").cloned().unwrap_or_default();
        let mut response = body.as_object().cloned().unwrap_or_default();
        if response.get("body").is_none() {
            response.insert("body".into(), body);
        }
        response.insert("statusCode".into(), found.get("statusCode").cloned().unwrap_or_default());
        Ok(response.into())
    }

    fn is_allowed(&self, check: &Map) -> Result<Value, CelFailure> {
        let data = self.body(&self.review(check))?;
        let query = Query::Api(ApiCall::resource("POST", ACCESS_REVIEW_PATH, data));
        let review = match self.world.get(&query) {
            QueryAnswer::Found(review) => review,
            QueryAnswer::Refused(why) => {
                return Err(CelFailure::value(EvalError::refused(&query, &why).message));
            }
            QueryAnswer::Absent | QueryAnswer::Failed(_) | QueryAnswer::Unknown => {
                return Err(self.not_known(EvalError::unanswered(query)));
            }
        };
        let status = |key: &str| review.at(&["status", key]).cloned();
        let fields = [("allowed", "allowed"), ("reason", "reason"), ("error", "evaluationError")];
        let answer = fields.iter().filter_map(|(name, key)| Some(((*name).into(), status(key)?)));
        Ok(answer.collect::<Map>().into())
    }

    /// Returns the access review that the API server expects, for the requesting user or for another one.
    fn review(&self, check: &Map) -> Value {
        let mut spec = Map::new();
        match check.get("user") {
            Some(user) => {
                spec.insert("user".into(), user.clone());
            }
            None => {
                for (key, from) in
                    [("user", "username"), ("groups", "groups"), ("uid", "uid"), ("extra", "extra")]
                {
                    if let Some(value) = self.request.user.get(from) {
                        spec.insert(key.into(), value.clone());
                    }
                }
            }
        }
        let what = check.iter().filter(|(key, _)| *key != "user");
        let what: Map = what.map(|(key, value)| (key.clone(), value.clone())).collect();
        let key = if check.get("path").is_some() { "nonResourceAttributes" } else { "resourceAttributes" };
        spec.insert(key.into(), what.into());
        Map::from([
            ("apiVersion", Value::from("authorization.k8s.io/v1")),
            ("kind", "SubjectAccessReview".into()),
            ("spec", spec.into()),
        ])
        .into()
    }
}

fn str_or_empty(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns a registry's answer with CEL's field names; the world uses those of context entries.
fn cel_image_data(said: Value) -> Value {
    let Value::Object(said) = said else { return said };
    let words = [("manifestList", "imageIndex"), ("configData", "config")];
    let word = |key: &Text| {
        let word = words.iter().find(|(from, _)| key == from);
        word.map_or_else(|| key.clone(), |(_, to)| Text::new(to))
    };
    let said = said.iter().filter(|(key, _)| *key != "identifier");
    said.map(|(key, value)| (word(key), value.clone())).collect::<Map>().into()
}
