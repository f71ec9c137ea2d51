//! Tests of DeletingPolicies.
