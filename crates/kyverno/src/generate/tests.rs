//! Tests of generate rules.
