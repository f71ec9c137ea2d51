//! Tests of formats and of trust.
