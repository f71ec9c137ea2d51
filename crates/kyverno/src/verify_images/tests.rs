//! Tests of image rules.
