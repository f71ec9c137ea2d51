//! Findings as the custom resources of the two upstream pattern engines: K8sPattern of `kubepattern.it` and Smell of
//! `kubepattern.dev`. The resources are valid for the upstream definitions: a category that those do not list is written
//! into an annotation.

use kubewright_golib::naming;
use kubewright_graph::{Graph, GraphNode, Id};
use kubewright_value::{Map, Text, Value};

use super::finding::PatternFinding;
use super::pattern::{KindRef, Level, Pattern, RelationshipList, Topology};

/// The longest name of a resource.
const MAX_NAME_BYTES: usize = 253;
/// The longest uid that becomes part of a name; those of clusters have 36 characters.
const MAX_UID_BYTES: usize = 63;
/// The categories that the definition of K8sPattern lists.
const K8S_PATTERN_CATEGORIES: [&str; 3] = ["Reliability", "Security", "Performance"];
/// The annotation for a category that the definition does not list.
const CATEGORY_ANNOTATION: &str = "kubewright.dev/category";

/// The namespace of the written resources, and whether this one is suppressed.
#[derive(Debug, Clone, Copy)]
pub struct ResourcePlacement<'a> {
    /// The namespace for all resources.
    pub namespace: &'a str,
    /// Whether each goes into the namespace of its first object, if that has one.
    pub beside_object: bool,
    /// Whether the finding is suppressed.
    pub suppressed: bool,
}

/// Returns `finding` of `pattern` as a K8sPattern.
#[must_use]
pub fn k8s_pattern(
    pattern: &Pattern,
    finding: &PatternFinding,
    graph: &Graph,
    keeping: ResourcePlacement<'_>,
) -> Value {
    let mut metadata = finding_metadata(
        &finding_name(&pattern.name, &finding_digest(finding, graph)),
        finding,
        graph,
        keeping,
    );
    let category = K8S_PATTERN_CATEGORIES.iter().find(|known| known.eq_ignore_ascii_case(&pattern.category));
    if category.is_none() && !pattern.category.is_empty() {
        let category = Map::from([(CATEGORY_ANNOTATION, Value::from(pattern.category.clone()))]);
        metadata.insert("annotations".into(), category.into());
    }
    let resources =
        finding.roles.iter().filter_map(|(role, id)| Some(finding_resource(role, graph.node(*id)?)));
    let scores = finding.scores.iter().map(|(list, points, maximum)| {
        let category = match list {
            RelationshipList::Relationships => "Relationships",
            RelationshipList::Common => "CommonRelationships",
        };
        Map::from([
            ("category", Value::from(category)),
            ("score", rounded_percent(points.percent_of(maximum))),
        ])
    });
    let kind = if pattern.pattern_type.is_empty() { "CUSTOM" } else { pattern.pattern_type.as_str() };
    let mut spec = Map::from([
        ("apiVersion", Value::from(pattern.version.clone())),
        ("name", pattern.name.clone().into()),
        ("type", kind.into()),
        ("message", finding.message.as_str().into()),
        ("severity", three_levels(finding.severity).into()),
        ("confidence", finding.confidence_level().name().into()),
    ]);
    for (key, text) in [
        ("description", pattern.description.as_str()),
        ("referenceLink", pattern.doc_url.as_str()),
        ("category", category.copied().unwrap_or_default()),
    ] {
        if !text.is_empty() {
            spec.insert(key.into(), text.into());
        }
    }
    if keeping.suppressed {
        spec.insert("suppress".into(), true.into());
    }
    spec.insert("scores".into(), scores.collect::<Vec<_>>().into());
    spec.insert("resources".into(), resources.collect::<Vec<_>>().into());
    pattern_resource("kubepattern.it/v1", "K8sPattern", metadata, spec)
}

/// Returns `finding` of `pattern` as a Smell; its target is the leader.
#[must_use]
pub fn smell(
    pattern: &Pattern,
    finding: &PatternFinding,
    graph: &Graph,
    keeping: ResourcePlacement<'_>,
) -> Value {
    let leader = finding.roles.first().and_then(|(_, id)| graph.node(*id));
    let ending = match leader {
        None => "empty".to_owned(),
        Some(node) => {
            let digest = finding_digest(finding, graph);
            match (node.uid.as_str(), pattern.topology) {
                // The uid of a manifest is untrusted text.
                (uid, _) if !is_part_of_name(uid) => digest,
                (uid, Topology::Single) => uid.to_owned(),
                (uid, Topology::LeaderFollower) => format!("{uid}-{digest}"),
            }
        }
    };
    let target = match leader {
        Some(node) => smell_target(node),
        None => Map::from([
            ("apiVersion", Value::from("")),
            ("kind", leader_kind(pattern).into()),
            ("name", "".into()),
            ("uid", "".into()),
        ]),
    };
    let about =
        Map::from([("name", Value::from(pattern.name.clone())), ("version", pattern.version.clone().into())]);
    let mut spec = Map::from([
        ("name", Value::from(pattern.name.clone())),
        ("category", pattern.category.clone().into()),
        ("severity", four_levels(finding.severity).into()),
        ("message", finding.message.as_str().into()),
        ("suppress", keeping.suppressed.into()),
        ("pattern", about.into()),
        ("target", target.into()),
    ]);
    if !pattern.doc_url.is_empty() {
        spec.insert("reference".into(), pattern.doc_url.clone().into());
    }
    let metadata = finding_metadata(&finding_name(&pattern.name, &ending), finding, graph, keeping);
    pattern_resource("kubepattern.dev/v1", "Smell", metadata, spec)
}

fn pattern_resource(api_version: &str, kind: &str, metadata: Map, spec: Map) -> Value {
    Map::from([
        ("apiVersion", Value::from(api_version)),
        ("kind", kind.into()),
        ("metadata", metadata.into()),
        ("spec", spec.into()),
    ])
    .into()
}

fn finding_metadata(
    name: &str,
    finding: &PatternFinding,
    graph: &Graph,
    keeping: ResourcePlacement<'_>,
) -> Map {
    let own = finding.roles.first().and_then(|(_, id)| graph.node(*id)).map(|node| node.namespace.as_str());
    let namespace = own.filter(|own| keeping.beside_object && !own.is_empty()).unwrap_or(keeping.namespace);
    Map::from([("name", Value::from(name)), ("namespace", namespace.into())])
}

/// Returns the name of a resource: that of the pattern as a valid name, and a suffix that is unique for the finding.
fn finding_name(pattern: &str, ending: &str) -> String {
    let plain = |c: char| match c.to_ascii_lowercase() {
        c if c.is_ascii_alphanumeric() || c == '.' => c,
        _ => '-',
    };
    let start: String =
        pattern.chars().map(plain).take(MAX_NAME_BYTES.saturating_sub(ending.len() + 1)).collect();
    format!("{}-{ending}", start.trim_matches(['-', '.']))
}

/// Returns whether `uid` can end the name of a resource.
fn is_part_of_name(uid: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = [uid.bytes().next(), uid.bytes().next_back()];
    uid.len() <= MAX_UID_BYTES
        && uid.bytes().all(|byte| is_plain(byte) || byte == b'-')
        && ends.into_iter().all(|end| end.is_some_and(is_plain))
}

/// Returns eight digits for the objects of a finding, which are the same in every run and in every cluster.
fn finding_digest(finding: &PatternFinding, graph: &Graph) -> String {
    let object = |(role, id): &(Text, Id)| {
        let node = graph.node(*id)?;
        Some(format!("{role}={}/{}/{}/{}", node.group(), node.kind, node.namespace, node.name))
    };
    let mut objects: Vec<String> = finding.roles.iter().filter_map(object).collect();
    objects.sort();
    let digits = naming::sha256_hex(&format!("{}|{}", finding.pattern, objects.join("|")));
    digits.chars().take(8).collect()
}

fn finding_resource(role: &Text, node: &GraphNode) -> Map {
    let mut resource = Map::from([("name", Value::from(node.name.clone()))]);
    if !node.namespace.is_empty() {
        resource.insert("namespace".into(), node.namespace.clone().into());
    }
    resource.insert("role".into(), role.clone().into());
    resource.insert("uid".into(), node.uid.clone().into());
    resource
}

fn smell_target(node: &GraphNode) -> Map {
    let mut target = Map::from([
        ("apiVersion", Value::from(node.api_version.clone())),
        ("kind", node.kind.clone().into()),
        ("name", node.name.clone().into()),
    ]);
    if !node.namespace.is_empty() {
        target.insert("namespace".into(), node.namespace.clone().into());
    }
    target.insert("uid".into(), node.uid.clone().into());
    target
}

/// Returns the first kind that a leader may have.
fn leader_kind(pattern: &Pattern) -> &str {
    let kinds = pattern.roles.get(pattern.leader).map_or(&[][..], |role| role.kinds.as_slice());
    let named = kinds.iter().find_map(|kind| match kind {
        KindRef::Kind { kind, .. } => kind.as_deref(),
        KindRef::Category(_) => None,
    });
    named.unwrap_or_default()
}

/// Returns a share from 0 to 100 as a whole number, a half upwards.
fn rounded_percent(percent: f64) -> Value {
    // A decimal half may be a hair below as a double.
    let percent = (percent * 1e9).round() / 1e9;
    #[expect(clippy::cast_possible_truncation, reason = "within 0 and 100")]
    let whole = (percent + 0.5).floor().clamp(0.0, 100.0) as i64;
    whole.into()
}

fn three_levels(level: Level) -> &'static str {
    match level {
        Level::Info | Level::Low => "INFO",
        Level::Medium | Level::Warning | Level::High => "WARNING",
        Level::Critical => "CRITICAL",
    }
}

fn four_levels(level: Level) -> &'static str {
    match level {
        Level::Info | Level::Low => "LOW",
        Level::Medium | Level::Warning => "MEDIUM",
        Level::High => "HIGH",
        Level::Critical => "CRITICAL",
    }
}

#[cfg(test)]
mod tests;
