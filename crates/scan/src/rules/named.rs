//! Which kinds rules name.

use kubewright_engine::KindScope;

use super::ScanRules;

impl ScanRules {
    /// Returns whether a rule names `kind`, rather than being about every kind.
    #[must_use]
    pub fn names_kind(&self, kind: &str) -> bool {
        let scopes = self.policies.values().flat_map(|policy| &policy.scopes);
        scopes.into_iter().any(|scope| match &scope.kinds {
            KindScope::Any => false,
            KindScope::Named(kinds) => kinds.iter().any(|named| named == kind),
        })
    }
}
