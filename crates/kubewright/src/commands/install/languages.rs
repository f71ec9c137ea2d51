//! What rule languages add to the manifests: definitions of their documents, and rights.
//!
//! `make chart` writes both into the Helm chart.

use std::fmt::Write as _;

use kubewright_dialects::Options;
use kubewright_engine::{Dialect, InCluster, WatchRole};

/// Returns the CustomResourceDefinitions of the language called `name` as one YAML stream; may be empty.
pub(super) fn definitions(name: &str) -> String {
    let dialects = dialects();
    let dialect = dialects.iter().find(|dialect| dialect.name() == name);
    let texts = dialect.and_then(|dialect| dialect.in_cluster()).map(InCluster::definitions);
    let texts =
        texts.unwrap_or_default().into_iter().map(|text| text.trim().trim_start_matches("---").trim());
    texts.map(|text| format!("{text}\n")).collect::<Vec<_>>().join("---\n")
}

/// Returns the template with the rights that the server needs for each language, as rules of its ClusterRole.
pub(super) fn rights() -> String {
    let mut text = String::from(
        "{{- /* Made from what the rule languages say of themselves: `make chart`. */ -}}\n\
         {{- define \"kubewright.languages\" }}\n",
    );
    for dialect in dialects() {
        let Some(cluster) = dialect.in_cluster() else { continue };
        let _ = writeln!(text, "{{{{- if has \"{}\" .Values.dialects }}}}", dialect.name());
        text.push_str(&rights_of(dialect.name(), cluster));
        text.push_str("{{- end }}\n");
    }
    text.push_str("{{- end }}\n");
    text
}

fn rights_of(name: &str, cluster: &dyn InCluster) -> String {
    let mut text = String::new();
    let watched = |role| cluster.watched().iter().filter(move |watched| watched.role == role);
    let read = ["get", "list", "watch"];
    for watched in watched(WatchRole::Rule) {
        let status = format!("{}/status", watched.resource);
        let _ = writeln!(text, "  # Rules ({name}), and what became of each.");
        text.push_str(&right(watched.group, &[watched.resource], &read));
        text.push_str(&right(watched.group, &[&status], &["patch"]));
    }
    for watched in watched(WatchRole::Shared) {
        text.push_str("  # What rules of the whole cluster share.\n");
        text.push_str(&right(watched.group, &[watched.resource], &read));
    }
    for watched in watched(WatchRole::Exception) {
        text.push_str("{{- if .Values.exceptionsFrom }}\n  # Exceptions from rules.\n");
        text.push_str(&right(watched.group, &[watched.resource], &read));
        text.push_str("{{- end }}\n");
    }
    for wanted in cluster.rights() {
        let mut why = wanted.why.chars();
        let first = why.next().map(|first| first.to_ascii_uppercase());
        let _ = writeln!(text, "  # {}{}.", first.unwrap_or_default(), why.as_str());
        text.push_str(&right(wanted.group, wanted.resources, wanted.verbs));
    }
    if !cluster.originals().is_empty() {
        text.push_str("  # Whether the program that the language comes from is here too.\n");
        let hooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
        text.push_str(&right("admissionregistration.k8s.io", &hooks, &["get"]));
        let _ = writeln!(text, "    resourceNames: [{}]", cluster.originals().join(", "));
    }
    text
}

fn right(group: &str, resources: &[&str], verbs: &[&str]) -> String {
    let group = if group.is_empty() { "\"\"" } else { group };
    let (resources, verbs) = (resources.join(", "), verbs.join(", "));
    format!("  - apiGroups: [{group}]\n    resources: [{resources}]\n    verbs: [{verbs}]\n")
}

fn dialects() -> Vec<Box<dyn Dialect>> {
    kubewright_dialects::all(&Options::default())
}
