//! What the UI shows of a policy, read from its document.

use kubewright_patterns::Pattern;
use kubewright_value::text::{TextLimit, shorten_text};
use kubewright_value::{Text, Value};

use crate::Severity;
use crate::render::yaml_text;

/// The longest title, category or name of a rule.
const MAX_TITLE_BYTES: usize = 512;
/// The longest description.
const MAX_DESCRIPTION_BYTES: usize = 8 << 10;
/// The longest source.
const MAX_CONTENT_BYTES: usize = 256 << 10;
/// How many rules of a policy are listed.
const MAX_LISTED_RULES: usize = 500;

/// The kinds of policies, by how exceptions from them are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PluginPolicyKind {
    /// `kyverno.io` ClusterPolicy or Policy.
    RulePolicy,
    /// `policies.kyverno.io` ValidatingPolicy.
    ValidatingPolicy,
    /// `policies.kyverno.io` NamespacedValidatingPolicy.
    NamespacedValidatingPolicy,
    /// A pattern.
    Pattern,
    /// A kind without exceptions, such as ValidatingAdmissionPolicy.
    Other,
}

/// A policy or pattern, as the UI shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PluginPolicy {
    /// How exceptions from it are made.
    pub policy_kind: PluginPolicyKind,
    /// Its kind.
    pub kind: Text,
    /// Empty for one without.
    pub namespace: Text,
    /// The name in its namespace.
    pub name: Text,
    /// A title; its name where it has none.
    pub title: Text,
    /// May be empty.
    pub description: Text,
    /// The category; `Other` where it has none, as policy-reporter calls it.
    pub category: Text,
    /// Empty where it has none.
    pub severity: Text,
    /// The kinds of objects that its author says it is about.
    pub subjects: Vec<Text>,
    /// The names of its rules with their messages.
    pub rules: Vec<(Text, Text)>,
    /// Pages about it.
    pub references: Vec<Text>,
    /// Its source in YAML.
    pub content: String,
}

impl PluginPolicy {
    /// Reads the document of a policy. Returns nothing for an object without kind or name.
    #[must_use]
    pub fn read(document: &Value) -> Option<Self> {
        let (kind, name) = (document.str_at(&["kind"]), document.str_at(&["metadata", "name"]));
        if kind.is_empty() || name.is_empty() {
            return None;
        }
        let annotation =
            |key: &str| document.str_at(&["metadata", "annotations", &format!("policies.kyverno.io/{key}")]);
        let or = |text: &str, other: &str| cut(if text.is_empty() { other } else { text }, MAX_TITLE_BYTES);
        Some(Self {
            policy_kind: policy_kind(document.str_at(&["apiVersion"]), kind),
            kind: cut(kind, MAX_TITLE_BYTES),
            namespace: cut(document.str_at(&["metadata", "namespace"]), MAX_TITLE_BYTES),
            name: cut(name, MAX_TITLE_BYTES),
            title: or(annotation("title"), name),
            description: cut(annotation("description").trim(), MAX_DESCRIPTION_BYTES),
            category: or(annotation("category"), "Other"),
            severity: severity_text(annotation("severity")),
            subjects: subjects_of(annotation("subject")),
            rules: rules_of(document),
            references: Vec::new(),
            content: content_of(document),
        })
    }

    /// Returns a pattern whose source is `content`.
    #[must_use]
    pub fn of_pattern(pattern: &Pattern, content: &str) -> Self {
        let links = [&pattern.doc_url, &pattern.git_url];
        let title = if pattern.display_name.is_empty() { &pattern.name } else { &pattern.display_name };
        let category = if pattern.category.is_empty() { "Other" } else { pattern.category.as_str() };
        Self {
            policy_kind: PluginPolicyKind::Pattern,
            kind: "Pattern".into(),
            namespace: Text::default(),
            name: pattern.name.clone(),
            title: cut(title, MAX_TITLE_BYTES),
            description: cut(&pattern.description, MAX_DESCRIPTION_BYTES),
            category: cut(category, MAX_TITLE_BYTES),
            severity: Severity::from(pattern.severity).name().into(),
            subjects: Vec::new(),
            rules: Vec::new(),
            references: links.into_iter().filter(|link| is_link(link)).cloned().collect(),
            content: cut(content, MAX_CONTENT_BYTES).to_string(),
        }
    }

    /// Returns the name in reports: `name`, or `namespace/name`.
    #[must_use]
    pub fn key(&self) -> String {
        match self.namespace.as_str() {
            "" => self.name.to_string(),
            namespace => format!("{namespace}/{}", self.name),
        }
    }
}

fn policy_kind(api_version: &str, kind: &str) -> PluginPolicyKind {
    match (api_version.split('/').next().unwrap_or_default(), kind) {
        ("kyverno.io", "ClusterPolicy" | "Policy") => PluginPolicyKind::RulePolicy,
        ("policies.kyverno.io", "ValidatingPolicy") => PluginPolicyKind::ValidatingPolicy,
        ("policies.kyverno.io", "NamespacedValidatingPolicy") => PluginPolicyKind::NamespacedValidatingPolicy,
        _ => PluginPolicyKind::Other,
    }
}

fn rules_of(document: &Value) -> Vec<(Text, Text)> {
    let rules = document.at(&["spec", "rules"]).and_then(Value::as_array).unwrap_or_default();
    let rule = |rule: &Value| {
        let message = rule.str_at(&["validate", "message"]);
        (cut(rule.str_at(&["name"]), MAX_TITLE_BYTES), cut(message, MAX_TITLE_BYTES))
    };
    rules.iter().take(MAX_LISTED_RULES).map(rule).filter(|(name, _)| !name.is_empty()).collect()
}

fn subjects_of(list: &str) -> Vec<Text> {
    let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.take(MAX_LISTED_RULES).map(|part| cut(part, MAX_TITLE_BYTES)).collect()
}

fn severity_text(name: &str) -> Text {
    let severity = Severity::named(&name.to_ascii_lowercase());
    severity.map(|severity| severity.name().into()).unwrap_or_default()
}

/// Returns the source without what only the API server writes.
fn content_of(document: &Value) -> String {
    let mut document = document.clone();
    if let Some(root) = document.as_object_mut() {
        root.remove("status");
        if let Some(metadata) = root.get_mut("metadata").and_then(Value::as_object_mut) {
            for key in ["managedFields", "uid", "resourceVersion", "generation", "creationTimestamp"] {
                metadata.remove(key);
            }
        }
    }
    cut(&yaml_text(&document), MAX_CONTENT_BYTES).to_string()
}

fn is_link(text: &Text) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

fn cut(text: &str, max_bytes: usize) -> Text {
    shorten_text(text, TextLimit::BytesWithLength(max_bytes)).as_ref().into()
}
