//! Entries of the global context: where they come from, and their parts.

use std::time::Duration;

use kubewright_engine::{ApiCall, ServiceCall, SharedDataSource};
use kubewright_jmespath::{JmesPathExpression, JmesPathFunctions, JmesPathLanguage};
use kubewright_k8s::ApiPath;
use kubewright_value::duration;
use kubewright_value::{Budget, Document, Map, Text, Value};

/// The refresh interval of an entry that sets none.
const DEFAULT_REFRESH_INTERVAL: Duration = Duration::from_secs(600);
/// How long at least.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Returns where the entry in `document` comes from.
pub(super) fn global_context_source(document: &Document) -> Result<SharedDataSource, String> {
    let spec = document.value.get("spec").cloned().unwrap_or_default();
    if let Some(resource) = spec.get("kubernetesResource") {
        let part = |key: &str| Text::new(entry_text(resource, key));
        let path = ApiPath {
            group: part("group"),
            version: part("version"),
            namespace: part("namespace"),
            resource: part("resource"),
            ..ApiPath::default()
        };
        // Its parts are texts written by users.
        return ApiPath::parse(&path.to_string()).map(SharedDataSource::Objects);
    }
    let Some(call) = spec.get("apiCall") else {
        return Err("the entry has neither `kubernetesResource` nor `apiCall`".to_owned());
    };
    let every = match entry_text(call, "refreshInterval") {
        "" => DEFAULT_REFRESH_INTERVAL,
        text => {
            let read = duration::Duration::parse(text).map_err(|error| error.to_string())?;
            Duration::from_nanos(u64::try_from(read.nanoseconds()).unwrap_or_default())
                .max(MIN_REFRESH_INTERVAL)
        }
    };
    let method = match entry_text(call, "method") {
        "" => "GET",
        method => method,
    };
    let data: Map = entry_pairs(call, "data").collect();
    let data = if data.is_empty() { Text::default() } else { Value::from(data).to_string().into() };
    let called = match (entry_text(call, "urlPath"), call.get("service")) {
        ("", Some(service)) => {
            let headers = entry_pairs(service, "headers");
            let headers = headers.map(|(key, value)| (key, value.as_str().unwrap_or_default().into()));
            let ca_bundle = entry_text(service, "caBundle").into();
            let service_call = ServiceCall { headers: headers.collect(), ca_bundle };
            ApiCall::service(method, entry_text(service, "url"), data, service_call)
        }
        (path, _) => ApiCall::resource(method, path, data),
    };
    Ok(SharedDataSource::Call(called, every))
}

/// Returns the parts of `root` that the entry in `document` makes.
pub(super) fn projected(
    document: &Document,
    root: &Value,
    functions: &JmesPathFunctions,
) -> Result<Vec<(Text, Value)>, String> {
    let projections =
        document.value.at(&["spec", "projections"]).and_then(Value::as_array).unwrap_or_default();
    let mut parts = Vec::new();
    for projection in projections {
        let (name, path) = (entry_text(projection, "name"), entry_text(projection, "jmesPath"));
        let wrong = |why: String| format!("projection `{name}`: {why}");
        let expression = JmesPathExpression::parse_as(path, functions, JmesPathLanguage::Forgiving);
        let expression = expression.map_err(|error| wrong(error.to_string()))?;
        let found = expression.evaluate(root, &mut Budget::default());
        parts.push((name.into(), found.map_err(|error| wrong(error.to_string()))?));
    }
    Ok(parts)
}

fn entry_text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.str_at(&[key])
}

fn entry_pairs<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = (Text, Value)> + 'v {
    let items = value.get(key).and_then(Value::as_array).unwrap_or_default();
    items.iter().map(|item| (entry_text(item, "key").into(), item.get("value").cloned().unwrap_or_default()))
}
