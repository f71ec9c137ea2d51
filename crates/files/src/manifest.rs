//! Whether a skipped file looks like a manifest that kubectl would create objects from.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The number of bytes of a file that are inspected.
const MAX_SNIFFED_BYTES: u64 = 64 << 10;

/// The groups of files that only tools such as this one read.
const TOOL_GROUPS: [&str; 3] = ["cli.kyverno.io/", "kubewright.dev/", "kustomize.config.k8s.io/"];

/// Returns whether the file at `path` has an object in it that is for a cluster. Nothing of it is kept or shown.
pub(super) fn is_manifest(path: &Path) -> bool {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_SNIFFED_BYTES).read_to_end(&mut text));
    if read.is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&text);
    let mut versions = text.lines().filter_map(api_version);
    let has_kind = text.lines().any(|line| line_field(line, "kind").is_some());
    has_kind && versions.any(|version| !TOOL_GROUPS.iter().any(|group| version.starts_with(group)))
}

fn api_version(line: &str) -> Option<&str> {
    line_field(line, "apiVersion")
}

/// Returns the value of the field called `name` that starts in this line, in YAML or JSON.
fn line_field<'l>(line: &'l str, name: &str) -> Option<&'l str> {
    let quoted = format!("\"{name}\"");
    let rest = match line.find(&quoted) {
        Some(at) => line.get(at + quoted.len()..)?,
        None => line.trim_start_matches(['{', ' ', '-']).strip_prefix(name)?,
    };
    let value = rest.trim_start().strip_prefix(':')?.trim_start();
    Some(value.trim_matches(['"', '\'', ' ', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_in_yaml_and_json() {
        assert_eq!(line_field("apiVersion: v1", "apiVersion"), Some("v1"));
        assert_eq!(line_field("{\"apiVersion\": \"v1\", \"kind\": \"Pod\"}", "kind"), Some("Pod\"}"));
        assert_eq!(line_field("{apiVersion: v1, kind: Pod}", "apiVersion"), Some("v1, kind: Pod}"));
        assert_eq!(line_field("# kind: Pod", "kind"), None);
    }
}
