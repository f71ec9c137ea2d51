//! What is said, and where.

use super::{a, patch, rendered, said, says};
use crate::traits::RenderOptions;

const SERVICE: &str = "{apiVersion: v1, kind: Service, metadata: {name: s}}";

fn target(target: &str) -> String {
    format!("patches:\n- target: {target}\n  operations: [{{op: add, path: /x, value: 1}}]")
}

#[test]
fn a_patch_that_hits_nothing_says_why() {
    says(&[SERVICE], &[&target("{group: apps, version: v1, kind: Service}")], &[""]);
}
