//! Which objects of the cluster a scan is about: namespaces, kinds, and its shard.

use kubewright_cluster::ApiResource;
use kubewright_engine::nearest_word;
use kubewright_graph::GraphNode;
use kubewright_patterns::DetectionSettings;
use kubewright_scan::Shard;
use kubewright_value::Text;

use super::cluster::ScanCluster;
use crate::arguments::ScanArguments;
use crate::failure::CommandFailure;

/// Which objects of the cluster a scan is about.
pub(super) struct ScanExtent {
    /// The namespaces; empty for all.
    pub(super) namespaces: Vec<Text>,
    /// The resources; nothing for all.
    kinds: Option<Vec<ApiResource>>,
    shard: Shard,
}

impl ScanExtent {
    /// Returns what `arguments` name.
    ///
    /// # Errors
    /// When the cluster does not serve a kind.
    pub(super) fn new(arguments: &ScanArguments, cluster: &ScanCluster) -> Result<Self, CommandFailure> {
        let mut kinds = Vec::new();
        for name in &arguments.kinds {
            kinds.extend(resources_called(name, cluster)?);
        }
        Ok(Self {
            namespaces: arguments.namespaces.iter().map(|name| name.as_str().into()).collect(),
            kinds: (!arguments.kinds.is_empty()).then_some(kinds),
            shard: arguments.shard.unwrap_or_default(),
        })
    }

    /// Returns whether objects of `resource` are judged.
    pub(super) fn has_kind(&self, resource: &ApiResource) -> bool {
        let is_named = |kinds: &Vec<ApiResource>| {
            kinds.iter().any(|kind| kind.group == resource.group && kind.resource == resource.resource)
        };
        self.kinds.as_ref().is_none_or(is_named)
            && (resource.is_namespaced || self.namespaces.is_empty())
            && (resource.is_namespaced || self.has_namespace(""))
    }

    /// Returns whether objects of a namespace are judged; empty for objects without one.
    pub(super) fn has_namespace(&self, namespace: &str) -> bool {
        self.shard.contains(namespace)
            && (self.namespaces.is_empty() || self.namespaces.iter().any(|name| name == namespace))
    }

    /// Returns whether findings about `leader` are reported.
    pub(super) fn has_leader(&self, leader: &GraphNode) -> bool {
        self.has_object(&leader.namespace, &leader.api_version, &leader.kind)
    }

    /// Returns whether objects of a kind in a namespace are judged; empty for objects without one.
    pub(super) fn has_object(&self, namespace: &str, api_version: &str, kind: &str) -> bool {
        let group = scope_group(api_version);
        let is_named =
            |kinds: &Vec<ApiResource>| kinds.iter().any(|named| named.group == group && named.kind == kind);
        self.has_namespace(namespace) && self.kinds.as_ref().is_none_or(is_named)
    }

    /// Returns the settings for looking for patterns. All leaders are looked at, whichever are reported, so that limits
    /// of findings are reached in the same place in every shard.
    pub(super) fn detection_settings(&self) -> DetectionSettings {
        let namespaces = (!self.namespaces.is_empty()).then(|| self.namespaces.clone());
        DetectionSettings { namespaces, ..DetectionSettings::default() }
    }
}

/// Returns the resources that a user calls `name`: by kind, resource, or resource and group.
fn resources_called(name: &str, cluster: &ScanCluster) -> Result<Vec<ApiResource>, CommandFailure> {
    let served = || cluster.resources.iter().filter(|resource| resource.can("list"));
    let is_called = |resource: &&ApiResource| {
        resource.full_name().eq_ignore_ascii_case(name)
            || resource.resource.eq_ignore_ascii_case(name)
            || resource.kind.eq_ignore_ascii_case(name)
    };
    let found: Vec<ApiResource> = served().filter(is_called).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let failure = CommandFailure::usage(format!("the cluster has no kind `{name}` that can be listed"));
    let names: Vec<&str> =
        served().flat_map(|resource| [resource.kind.as_str(), resource.resource.as_str()]).collect();
    Err(match nearest_word(name, names) {
        Some(near) => failure.help(format!("did you mean `{near}`?")),
        None => failure.help("`kubectl api-resources --verbs=list` shows all"),
    })
}

/// Returns the group of an `apiVersion`.
pub(super) fn scope_group(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}
