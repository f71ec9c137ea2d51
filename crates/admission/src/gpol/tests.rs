//! Tests of GeneratingPolicies.
