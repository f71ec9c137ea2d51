//! Which resources there are.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kubewright_k8s::ApiPath;
use kubewright_value::{Text, Value};
use tokio::time::Instant;

use crate::{Client, Error, GroupVersionResource};

/// The whole of discovery in one answer; since Kubernetes 1.27.
const AGGREGATED_DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
                          application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

/// How long an answer is reused, however often a refresh is requested.
const MIN_REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Asks the API server which resources there are, and remembers the answer.
#[derive(Debug)]
pub struct Discovery {
    client: Client,
    known: Mutex<Arc<DiscoveredResources>>,
    asked: tokio::sync::Mutex<Option<Instant>>,
}

/// The resources that there are, in the API server's order: within a group the preferred version comes first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DiscoveredResources {
    all: Vec<ApiResource>,
}

/// A resource as the API server describes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiResource {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// The plural name in lower case.
    pub resource: Text,
    /// The kind of its objects.
    pub kind: Text,
    /// Whether its objects are in namespaces.
    pub is_namespaced: bool,
    /// What can be done with it: `get`, `list`, `watch`, `create` and so on.
    pub verbs: Vec<Text>,
    /// Its parts.
    pub subresources: Vec<ApiSubresource>,
}

/// A part of the objects of a resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApiSubresource {
    /// Its name, such as `scale`.
    pub name: Text,
    /// The API group of what is sent to it; that of the resource where the API server names none.
    pub group: Text,
    /// The version of that.
    pub version: Text,
    /// The kind of that.
    pub kind: Text,
    /// What can be done with it.
    pub verbs: Vec<Text>,
}

impl Discovery {
    /// Nothing is asked yet.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client, known: Mutex::default(), asked: tokio::sync::Mutex::default() }
    }

    /// Returns what is known, without asking.
    #[must_use]
    pub fn known(&self) -> Arc<DiscoveredResources> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns what is known, and asks where nothing is.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn resources(&self) -> Result<Arc<DiscoveredResources>, Error> {
        let known = self.known();
        if known.all.is_empty() { self.refreshed().await } else { Ok(known) }
    }

    /// Asks anew, at most once a second; who comes earlier gets what is known.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn refreshed(&self) -> Result<Arc<DiscoveredResources>, Error> {
        let mut asked = self.asked.lock().await;
        if asked.is_some_and(|asked| asked.elapsed() < MIN_REFRESH_INTERVAL) {
            return Ok(self.known());
        }
        let mut all = Vec::new();
        for root in ["api", "apis"] {
            let path = ApiPath { resource: root.into(), ..ApiPath::default() };
            read_discovery(&self.client.get_as(&path, AGGREGATED_DISCOVERY).await?, &mut all)?;
        }
        let resources = Arc::new(DiscoveredResources { all });
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&resources);
        *asked = Some(Instant::now());
        Ok(resources)
    }

    /// Returns the resource of a kind; asks anew where it is not known.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn of_kind(&self, group: &str, kind: &str) -> Result<Option<ApiResource>, Error> {
        if let Some(found) = self.known().of_kind(group, kind) {
            return Ok(Some(found.clone()));
        }
        Ok(self.refreshed().await?.of_kind(group, kind).cloned())
    }

    /// Returns the resource of a name; asks anew where it is not known.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn of_resource(&self, group: &str, resource: &str) -> Result<Option<ApiResource>, Error> {
        if let Some(found) = self.known().of_resource(group, resource) {
            return Ok(Some(found.clone()));
        }
        Ok(self.refreshed().await?.of_resource(group, resource).cloned())
    }
}

impl DiscoveredResources {
    /// Returns these resources.
    #[must_use]
    pub fn of(all: Vec<ApiResource>) -> Self {
        Self { all }
    }

    /// Returns all of them, in every version.
    pub fn iter(&self) -> impl Iterator<Item = &ApiResource> {
        self.all.iter()
    }

    /// Returns the resource of a kind, in the preferred version.
    #[must_use]
    pub fn of_kind(&self, group: &str, kind: &str) -> Option<&ApiResource> {
        self.iter().find(|resource| resource.group == group && resource.kind == kind)
    }

    /// Returns the resource of a name, in the preferred version.
    #[must_use]
    pub fn of_resource(&self, group: &str, name: &str) -> Option<&ApiResource> {
        self.iter().find(|resource| resource.group == group && resource.resource == name)
    }
}

impl ApiResource {
    /// Returns where its objects are.
    #[must_use]
    pub fn address(&self) -> GroupVersionResource {
        GroupVersionResource {
            group: self.group.clone(),
            version: self.version.clone(),
            name: self.resource.clone(),
        }
    }

    /// Returns its name as `kubectl` writes it: `pods`, `deployments.apps`.
    #[must_use]
    pub fn full_name(&self) -> String {
        match self.group.as_str() {
            "" => self.resource.to_string(),
            group => format!("{}.{group}", self.resource),
        }
    }

    /// Returns whether `verb` can be done with it.
    #[must_use]
    pub fn can(&self, verb: &str) -> bool {
        self.verbs.iter().any(|other| other == verb)
    }
}

fn read_discovery(answer: &Value, all: &mut Vec<ApiResource>) -> Result<(), Error> {
    if answer.get("kind").and_then(Value::as_str) != Some("APIGroupDiscoveryList") {
        return Err(Error::Unreadable(
            "it is not aggregated discovery, which Kubernetes 1.27 introduced".to_owned(),
        ));
    }
    for group in discovery_items(answer, "items") {
        let group_name = group.str_at(&["metadata", "name"]);
        for version in discovery_items(group, "versions") {
            for resource in discovery_items(version, "resources") {
                all.push(api_resource(group_name, &discovery_text(version, "version"), resource));
            }
        }
    }
    Ok(())
}

fn api_resource(group: &str, version: &str, resource: &Value) -> ApiResource {
    let sub = |part: &Value| {
        let [other_group, other_version, kind] = response_kind(part);
        // The core group is written as nothing, and so is a kind that is not named at all.
        let is_named = other_version.is_some();
        ApiSubresource {
            name: discovery_text(part, "subresource"),
            group: if is_named { other_group.unwrap_or_default() } else { group }.into(),
            version: other_version.unwrap_or(version).into(),
            kind: kind.unwrap_or_default().into(),
            verbs: discovery_texts(part, "verbs"),
        }
    };
    let [_, _, kind] = response_kind(resource);
    ApiResource {
        group: group.into(),
        version: version.into(),
        resource: discovery_text(resource, "resource"),
        kind: kind.unwrap_or_default().into(),
        is_namespaced: resource.get("scope").and_then(Value::as_str) == Some("Namespaced"),
        verbs: discovery_texts(resource, "verbs"),
        subresources: discovery_items(resource, "subresources").map(sub).collect(),
    }
}

/// The group, the version and the kind of what is sent, each where it is named.
fn response_kind(value: &Value) -> [Option<&str>; 3] {
    ["group", "version", "kind"]
        .map(|key| value.at(&["responseKind", key]).and_then(Value::as_str).filter(|text| !text.is_empty()))
}

fn discovery_items<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value.get(key).and_then(Value::as_array).unwrap_or_default().iter()
}

fn discovery_text(value: &Value, key: &str) -> Text {
    value.str_at(&[key]).into()
}

fn discovery_texts(value: &Value, key: &str) -> Vec<Text> {
    discovery_items(value, key).filter_map(Value::as_str).map(Text::new).collect()
}
