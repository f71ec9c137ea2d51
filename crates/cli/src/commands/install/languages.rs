//! What rule languages add to the manifests: CustomResourceDefinitions and permissions.
//!
//! `make chart` writes both into the Helm chart.

use std::fmt::Write as _;

use kubewright_dialects::DialectOptions;
use kubewright_engine::{ClusterResources, Dialect, WatchRole};

/// Returns the CustomResourceDefinitions of the language called `name` as one YAML stream; may be empty.
pub(super) fn language_crds(name: &str) -> String {
    let dialects = installable_dialects();
    let dialect = dialects.iter().find(|dialect| dialect.name() == name);
    let texts = dialect
        .and_then(|dialect| dialect.cluster_support())
        .map(ClusterResources::custom_resource_definitions);
    let texts =
        texts.unwrap_or_default().into_iter().map(|text| text.trim().trim_start_matches("---").trim());
    texts.map(|text| format!("{text}\n")).collect::<Vec<_>>().join("---\n")
}

/// Returns the template of the permissions that the server needs for each language, as rules of its ClusterRole.
pub(super) fn rbac_template() -> String {
    let mut text = String::from(
        "{{- /* Made from what the rule languages say of themselves: `make chart`. */ -}}\n\
         {{- define \"kubewright.languages\" }}\n",
    );
    for dialect in installable_dialects() {
        let Some(cluster) = dialect.cluster_support() else { continue };
        let _ = writeln!(text, "{{{{- if has \"{}\" .Values.dialects }}}}", dialect.name());
        text.push_str(&language_rbac_rules(dialect.name(), cluster));
        text.push_str("{{- end }}\n");
    }
    text.push_str("{{- end }}\n");
    text
}

/// Returns the template of the namespaces that rules of each language live in and that an installation makes. In a release
/// of Helm, a namespace that is there already, and not of this release, stays as it is.
pub(super) fn namespaces_template(asks_cluster: bool) -> String {
    let mut text = String::from(
        "{{- /* Made from what the rule languages say of themselves: `make chart`. They come and go with the definitions. */ -}}\n\
         {{- if .Values.crds.install }}\n",
    );
    for dialect in installable_dialects() {
        let Some(cluster) = dialect.cluster_support() else { continue };
        let Some(label) = cluster.ignore_label() else { continue };
        for namespace in cluster.ignored_namespaces().iter().filter(|namespace| namespace.is_created) {
            text.push_str(&namespace_template(dialect.name(), namespace.name, label, asks_cluster));
        }
    }
    text.push_str("{{- end }}\n");
    text
}

fn namespace_template(dialect: &str, name: &str, (key, value): (&str, &str), asks_cluster: bool) -> String {
    let (found, is_ours) = if asks_cluster {
        (
            format!(
                "{{{{- $found := lookup \"v1\" \"Namespace\" \"\" \"{name}\" | default dict }}}}\n\
                 {{{{- $owner := dig \"metadata\" \"annotations\" \"meta.helm.sh/release-name\" \"\" $found }}}}\n"
            ),
            " (or (not $found) (eq $owner .Release.Name))",
        )
    } else {
        (String::new(), "")
    };
    let keep = if asks_cluster {
        "  {{- if .Values.crds.keep }}\n  annotations:\n    helm.sh/resource-policy: keep\n  {{- end }}\n"
    } else {
        ""
    };
    format!(
        "{found}{{{{- if and (has \"{dialect}\" .Values.dialects) (ne .Release.Namespace \"{name}\"){is_ours} }}}}\n\
         ---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n{keep}  labels:\n    \
         {{{{ template \"kubewright.labels\" . }}}}\n    {key}: \"{value}\"\n{{{{- end }}}}\n"
    )
}

fn language_rbac_rules(name: &str, cluster: &dyn ClusterResources) -> String {
    let mut text = String::new();
    let watched = |role| cluster.watched_resources().iter().filter(move |watched| watched.role == role);
    let read = ["list", "watch"];
    for watched in watched(WatchRole::Rule) {
        let status = format!("{}/status", watched.resource);
        let _ = writeln!(text, "  # Rules ({name}) and their status.");
        text.push_str(&rbac_rule(watched.group, &[watched.resource], &read));
        text.push_str(&rbac_rule(watched.group, &[&status], &["patch"]));
    }
    for watched in watched(WatchRole::Shared) {
        text.push_str("  # Data that rules share.\n");
        text.push_str(&rbac_rule(watched.group, &[watched.resource], &read));
    }
    for watched in watched(WatchRole::Exception) {
        text.push_str("{{- if .Values.exceptionsFrom }}\n  # Exceptions from rules.\n");
        text.push_str(&rbac_rule(watched.group, &[watched.resource], &read));
        text.push_str("{{- end }}\n");
    }
    for wanted in cluster.policy_rules() {
        let mut why = wanted.why.chars();
        let first = why.next().map(|first| first.to_ascii_uppercase());
        let _ = writeln!(text, "  # {}{}.", first.unwrap_or_default(), why.as_str());
        text.push_str(&rbac_rule(wanted.group, wanted.resources, wanted.verbs));
    }
    if let Some((key, _)) = cluster.ignore_label().filter(|_| !cluster.ignored_namespaces().is_empty()) {
        let _ = writeln!(text, "  # The label {key} of system namespaces, if it is missing.");
        text.push_str(&rbac_rule("", &["namespaces"], &["patch"]));
        let names: Vec<&str> = cluster.ignored_namespaces().iter().map(|namespace| namespace.name).collect();
        let _ = writeln!(text, "    resourceNames: [{}]", names.join(", "));
    }
    if !cluster.upstream_webhooks().is_empty() {
        text.push_str("  # Webhooks of the original program, to detect that it is installed too.\n");
        let hooks = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
        text.push_str(&rbac_rule("admissionregistration.k8s.io", &hooks, &["get"]));
        let _ = writeln!(text, "    resourceNames: [{}]", cluster.upstream_webhooks().join(", "));
    }
    text
}

fn rbac_rule(group: &str, resources: &[&str], verbs: &[&str]) -> String {
    let group = if group.is_empty() { "\"\"" } else { group };
    let (resources, verbs) = (resources.join(", "), verbs.join(", "));
    format!("  - apiGroups: [{group}]\n    resources: [{resources}]\n    verbs: [{verbs}]\n")
}

fn installable_dialects() -> Vec<Box<dyn Dialect>> {
    kubewright_dialects::all_dialects(&DialectOptions::default())
}
