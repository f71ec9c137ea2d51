//! Tests of cleanup policies.
