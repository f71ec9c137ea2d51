//! The libraries of the Kubernetes API server, and the environment of its admission policies.

mod authorizer;
mod costs;
mod formats;
mod json_patch;
mod lists;
mod quantities;
mod regexes;
mod urls;
mod versions;

pub use authorizer::{
    AUTHORIZER, AUTHORIZER_CHECK, AUTHORIZER_TYPE, RESOURCE_CHECK_TYPE, authorizer, resource_check,
};
pub use formats::FORMATS;
use json_patch::JSON_PATCH_FIELDS;
pub use json_patch::{JSON_PATCH, JSON_PATCH_TYPE, OBJECT_TYPE};
pub use lists::LISTS;
pub use quantities::QUANTITIES;
pub use regexes::REGEX;
pub use urls::URLS;
pub use versions::VERSIONS;

use super::{
    CelLibrary, OPTIONALS, SETS, STRICT_NETWORK, STRINGS_2, TWO_VARIABLES, opaque_argument, text_argument,
};
use crate::environment::CelEnvironment;

/// The libraries of an admission policy, in the order in which they are added.
const KUBERNETES_LIBRARIES: [&CelLibrary; 14] = [
    &URLS,
    &REGEX,
    &LISTS,
    &AUTHORIZER,
    &OPTIONALS,
    &QUANTITIES,
    &STRINGS_2,
    &SETS,
    &STRICT_NETWORK,
    &FORMATS,
    &TWO_VARIABLES,
    &VERSIONS,
    &super::LISTS,
    &costs::COSTS,
];

impl CelEnvironment {
    /// Returns the environment of validating admission policies in the API server of Kubernetes 1.36,
    /// without variables.
    #[must_use]
    pub fn kubernetes() -> Self {
        let made = KUBERNETES_LIBRARIES.iter().fold(Self::standard(), |made, library| made.with(library));
        made.without_mixed_literals().with_forgiving_optionals()
    }

    /// Returns the same with JSON patches: `JSONPatch{op: 'add', path: '/a', value: 1}`.
    #[must_use]
    pub fn kubernetes_with_patches() -> Self {
        Self::kubernetes().with_patches()
    }

    /// Adds what expressions of mutations have: `JSONPatch{...}`, and `Object{...}` with `Object.spec{...}` and so on for
    /// its parts.
    #[must_use]
    pub fn with_patches(self) -> Self {
        self.with(&JSON_PATCH).structure(JSON_PATCH_TYPE, JSON_PATCH_FIELDS).structure_family(OBJECT_TYPE)
    }
}

#[cfg(test)]
mod tests;
