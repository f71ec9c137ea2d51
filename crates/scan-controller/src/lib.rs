//! The background scan: every object of a cluster judged, with the results in reports.

pub mod lease;
