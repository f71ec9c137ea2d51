//! Responses for policy-reporter's UI, which asks a plugin of each source about its policies.
//!
//! Three requests, each answered by a pure function: `GET /v1/policies` by [`policy_list`], `GET /v1/policies/NAME` by
//! [`policy_details`], `POST /v1/policies/exception` by [`policy_exceptions`]. A response is bounded: descriptions and
//! sources are cut, and a request with more than a person would send is refused.

mod document;
mod exceptions;
mod request;
mod responses;

pub use document::{PluginPolicy, PluginPolicyKind};
pub use exceptions::policy_exceptions;
pub use request::{MAX_PLUGIN_REQUEST_BYTES, PluginError};
pub use responses::{policy_details, policy_list};

#[cfg(test)]
mod tests;
