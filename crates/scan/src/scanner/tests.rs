//! Tests of the scan.
