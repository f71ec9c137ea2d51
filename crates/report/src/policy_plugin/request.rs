//! The request for an exception, read and checked.

use std::fmt;

use kubewright_value::{Text, Value, json};

/// The longest body of a request.
pub const MAX_PLUGIN_REQUEST_BYTES: usize = 256 << 10;
/// How many policies one exception is about.
const MAX_REQUESTED_POLICIES: usize = 100;
/// How many rules of one policy.
const MAX_REQUESTED_RULES: usize = 200;
/// The longest name.
const MAX_REQUESTED_NAME_BYTES: usize = 253;

/// Why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginError {
    /// The HTTP status.
    pub status: u16,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for PluginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for PluginError {}

impl PluginError {
    pub(super) fn bad_request(message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into() }
    }
}

/// The object that an exception is for, and the policies.
pub(super) struct ExceptionRequest {
    pub(super) api_version: Text,
    pub(super) kind: Text,
    pub(super) namespace: Text,
    pub(super) name: Text,
    pub(super) policies: Vec<RequestedPolicy>,
}

/// A policy, and the rules that the exception is from; all if there are none.
pub(super) struct RequestedPolicy {
    pub(super) name: Text,
    pub(super) rules: Vec<Text>,
}

impl ExceptionRequest {
    /// Reads the body of a request.
    pub(super) fn parse(body: &[u8]) -> Result<Self, PluginError> {
        if body.len() > MAX_PLUGIN_REQUEST_BYTES {
            let message = format!("the body has more than {MAX_PLUGIN_REQUEST_BYTES} bytes");
            return Err(PluginError { status: 413, message });
        }
        let text =
            std::str::from_utf8(body).map_err(|_| PluginError::bad_request("the body is not UTF-8"))?;
        let body = json::parse(text)
            .map_err(|error| PluginError::bad_request(format!("the body is not JSON: {error}")))?;
        let field = |key: &str| Text::from(body.str_at(&["resource", key]));
        let policies = list_at(&body, "policies", MAX_REQUESTED_POLICIES)?;
        if policies.is_empty() {
            return Err(PluginError::bad_request("`policies` is empty"));
        }
        let request = Self {
            api_version: field("apiVersion"),
            kind: field("kind"),
            namespace: field("namespace"),
            name: field("name"),
            policies: policies.iter().map(RequestedPolicy::read).collect::<Result<_, _>>()?,
        };
        check_name("resource.kind", &request.kind, is_kind)?;
        check_name("resource.name", &request.name, is_object_name)?;
        if !request.namespace.is_empty() {
            check_name("resource.namespace", &request.namespace, is_object_name)?;
        }
        if !request.api_version.is_empty() {
            check_name("resource.apiVersion", &request.api_version, is_api_version)?;
        }
        Ok(request)
    }
}

impl RequestedPolicy {
    fn read(policy: &Value) -> Result<Self, PluginError> {
        let name = Text::from(policy.str_at(&["name"]));
        check_name("policies.name", &name, |name| {
            name.split('/').count() <= 2 && name.split('/').all(is_object_name)
        })?;
        let mut rules = Vec::new();
        for rule in list_at(policy, "rules", MAX_REQUESTED_RULES)? {
            let rule = Text::from(rule.str_at(&["name"]));
            // A policy that is one rule has rows without one.
            if !rule.is_empty() {
                check_name("policies.rules.name", &rule, |name| !name.contains(char::is_control))?;
                rules.push(rule);
            }
        }
        Ok(Self { name, rules })
    }
}

fn list_at<'v>(value: &'v Value, key: &str, max_items: usize) -> Result<&'v [Value], PluginError> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) if items.len() <= max_items => Ok(items),
        Some(Value::Array(_)) => {
            Err(PluginError::bad_request(format!("`{key}` has more than {max_items} items")))
        }
        Some(_) => Err(PluginError::bad_request(format!("`{key}` is not a list"))),
    }
}

fn check_name(field: &str, name: &str, is_valid: impl Fn(&str) -> bool) -> Result<(), PluginError> {
    if !name.is_empty() && name.len() <= MAX_REQUESTED_NAME_BYTES && is_valid(name) {
        return Ok(());
    }
    Err(PluginError::bad_request(format!("`{field}` is not a valid name")))
}

fn is_kind(kind: &str) -> bool {
    kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Names of RBAC objects have colons; no name has a quote or a wildcard.
fn is_object_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte);
    !name.is_empty() && name.bytes().all(is_allowed)
}

fn is_api_version(api_version: &str) -> bool {
    api_version.split('/').count() <= 2 && api_version.split('/').all(is_object_name)
}
