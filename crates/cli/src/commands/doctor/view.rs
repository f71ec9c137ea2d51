//! The objects of a cluster that `doctor` checks, as far as the user may read them.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use kubewright_cluster::{DiscoveredResources, Error, GroupVersionResource};
use kubewright_dialects::DialectOptions;
use kubewright_engine::{Dialect, WatchRole, WatchedResource};
use kubewright_k8s::ApiPath;
use kubewright_report::cluster_report::{ReportApi, SUMMARY_REPORT_NAME};
use kubewright_value::{Map, Value};

use crate::live::LiveCluster;

/// The objects that were read, or why they could not be.
pub(super) type ReadResult<T> = Result<T, String>;

/// Objects of one kind of a rule language.
pub(super) struct KindObjects {
    pub(super) watched: WatchedResource,
    /// `None` if the cluster has no such kind.
    pub(super) objects: ReadResult<Option<Vec<Value>>>,
}

/// The objects that the checks need.
pub(super) struct ClusterView {
    pub(super) name: String,
    pub(super) namespace: String,
    /// Seconds since 1970.
    pub(super) now: i64,
    /// The version of the API server.
    pub(super) version: String,
    /// All webhook configurations, kubewright's and others.
    pub(super) configurations: ReadResult<Vec<Value>>,
    pub(super) deployment: ReadResult<Option<Value>>,
    /// The Deployment of the scanner.
    pub(super) scan_deployment: ReadResult<Option<Value>>,
    /// The Lease of the active replica of the scanner.
    pub(super) scan_lease: ReadResult<Option<Value>>,
    /// The report with the totals, which says whether there are more results than reports.
    pub(super) summary_report: ReadResult<Option<Value>>,
    pub(super) pods: ReadResult<Vec<Value>>,
    pub(super) budgets: ReadResult<Vec<Value>>,
    pub(super) role: ReadResult<Option<Value>>,
    pub(super) secret: ReadResult<Option<Value>>,
    pub(super) namespaces: ReadResult<Vec<Value>>,
    pub(super) resources: ReadResult<Arc<DiscoveredResources>>,
    pub(super) kinds: Vec<KindObjects>,
    pub(super) dialects: Vec<Box<dyn Dialect>>,
    /// The response to the dry-run update of a rule; `None` if there is no rule.
    pub(super) answer: Option<Result<(), Error>>,
}

impl ClusterView {
    /// Reads everything.
    ///
    /// # Errors
    /// When the API server does not answer at all.
    pub(super) fn of(live: &LiveCluster, name: &str, namespace: &str) -> Result<Self, Error> {
        let version = live.get(&ApiPath { resource: "version".into(), ..ApiPath::default() });
        if let Err(error @ (Error::Unreachable { .. } | Error::TimedOut(_) | Error::Config(_))) = version {
            return Err(error);
        }
        let version = version.ok().and_then(|value| Some(value.get("gitVersion")?.as_str()?.to_owned()));
        let labels = format!("app.kubernetes.io/name=kubewright,app.kubernetes.io/instance={name}");
        let deployments = GroupVersionResource::new("apps", "v1", "deployments");
        let deployment = seen(live.find_one(&deployments, namespace, name));
        let dialects = served_dialects(deployment.as_ref().ok().and_then(Option::as_ref));
        let kinds = read_kinds(live, &dialects);
        let roles = GroupVersionResource::new("rbac.authorization.k8s.io", "v1", "clusterroles");
        let budgets = GroupVersionResource::new("policy", "v1", "poddisruptionbudgets");
        let leases = GroupVersionResource::new("coordination.k8s.io", "v1", "leases");
        let scan_name = format!("{name}-scan");
        let resources = seen(live.resources());
        let core = |plural| GroupVersionResource::new("", "v1", plural);
        Ok(Self {
            now: seconds_since_epoch(),
            version: version.unwrap_or_default(),
            configurations: read_configurations(live),
            pods: seen(live.list(core("pods").within(namespace), &labels)),
            budgets: seen(live.list(budgets.within(namespace), &labels)),
            role: seen(live.find_one(&roles, "", name)),
            secret: seen(live.find_one(&core("secrets"), namespace, &format!("{name}-tls"))),
            namespaces: seen(live.list(core("namespaces").all(), "")),
            scan_deployment: seen(live.find_one(&deployments, namespace, &scan_name)),
            scan_lease: seen(live.find_one(&leases, namespace, &scan_name)),
            summary_report: read_summary_report(live, resources.as_deref().ok()),
            resources,
            answer: dry_run_update(live, &kinds),
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            deployment,
            kinds,
            dialects,
        })
    }

    /// Returns kubewright's webhooks, each with the kind of its configuration.
    pub(super) fn webhooks(&self) -> Vec<(&str, &Value)> {
        let all = self.configurations.as_deref().unwrap_or_default();
        all.iter().filter(|one| self.is_ours(one)).flat_map(webhooks_of).collect()
    }

    /// Whether kubewright created a webhook configuration.
    pub(super) fn is_ours(&self, configuration: &Value) -> bool {
        view_text(configuration, &["metadata", "name"]) == self.name
    }

    /// Whether there is a webhook configuration with one of these names.
    pub(super) fn has_configuration(&self, names: &[&str]) -> bool {
        let all = self.configurations.as_deref().unwrap_or_default();
        all.iter().any(|one| names.contains(&view_text(one, &["metadata", "name"])))
    }

    /// Returns the values of the server's flag `name`.
    pub(super) fn flag(&self, name: &str) -> Vec<String> {
        container_flag(self.deployment.as_ref().ok().and_then(Option::as_ref), name)
    }

    /// Returns the labels of a namespace, if namespaces could be read.
    pub(super) fn labels(&self, namespace: &str) -> Option<&Value> {
        let all = self.namespaces.as_deref().unwrap_or_default();
        all.iter().find(|one| view_text(one, &["metadata", "name"]) == namespace)?.at(&["metadata", "labels"])
    }

    /// Returns the rule objects that could be read.
    pub(super) fn rules(&self, role: WatchRole) -> impl Iterator<Item = (&WatchedResource, &Value)> {
        let kinds = self.kinds.iter().filter(move |kind| kind.watched.role == role);
        kinds.flat_map(|kind| {
            let objects = kind.objects.as_ref().ok().and_then(Option::as_ref);
            objects.into_iter().flatten().map(move |object| (&kind.watched, object))
        })
    }
}

/// Returns the webhooks of a configuration, each with its kind.
pub(super) fn webhooks_of(configuration: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let webhooks = configuration.get("webhooks").and_then(Value::as_array).unwrap_or_default();
    webhooks.iter().map(|webhook| (view_text(configuration, &["kind"]), webhook))
}

/// Returns the text at `path`, or nothing.
pub(super) fn view_text<'v>(value: &'v Value, path: &[&str]) -> &'v str {
    value.str_at(path)
}

/// Returns a short name of an object: `namespace/name` or `name`.
pub(super) fn short_object_name(object: &Value) -> String {
    match view_text(object, &["metadata", "namespace"]) {
        "" => view_text(object, &["metadata", "name"]).to_owned(),
        namespace => format!("{namespace}/{}", view_text(object, &["metadata", "name"])),
    }
}

fn seen<T>(read: Result<T, Error>) -> ReadResult<T> {
    read.map_err(|error| error.to_string())
}

fn seconds_since_epoch() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Reads the report with the totals from the first group that the cluster serves.
fn read_summary_report(
    live: &LiveCluster,
    resources: Option<&DiscoveredResources>,
) -> ReadResult<Option<Value>> {
    let Some(api) = resources.and_then(served_report_api) else { return Ok(None) };
    let resource = GroupVersionResource::new(api.group(), api.version(), api.resource(false));
    seen(live.find_one(&resource, "", SUMMARY_REPORT_NAME))
}

/// Returns the group in which reports are stored, if the cluster serves one.
pub(super) fn served_report_api(resources: &DiscoveredResources) -> Option<ReportApi> {
    let is_served = |api: &ReportApi| resources.of_resource(api.group(), api.resource(false)).is_some();
    ReportApi::ALL.into_iter().find(is_served)
}

fn read_configurations(live: &LiveCluster) -> ReadResult<Vec<Value>> {
    let mut all = Vec::new();
    for plural in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let resource = GroupVersionResource::new("admissionregistration.k8s.io", "v1", plural);
        all.extend(seen(live.list(resource.all(), ""))?);
    }
    Ok(all)
}

/// Returns the languages that the servers are configured to serve, or all.
fn served_dialects(deployment: Option<&Value>) -> Vec<Box<dyn Dialect>> {
    let named = container_flag(deployment, "dialects");
    let mut options = DialectOptions::default();
    options.modrule.targets = container_flag(deployment, "targets");
    let mut dialects = kubewright_dialects::all_dialects(&options);
    dialects.retain(|dialect| {
        dialect.cluster_support().is_some()
            && (named.is_empty() || named.iter().any(|name| name == dialect.name()))
    });
    dialects
}

fn read_kinds(live: &LiveCluster, dialects: &[Box<dyn Dialect>]) -> Vec<KindObjects> {
    let watched = dialects.iter().filter_map(|dialect| dialect.cluster_support());
    let watched = watched.flat_map(|cluster| cluster.watched_resources());
    watched
        .map(|watched| {
            let resource = GroupVersionResource::new(watched.group, watched.version, watched.resource);
            let objects = match live.list(resource.all(), "") {
                Ok(objects) => Ok(Some(objects)),
                Err(error) if error.is_not_found() => Ok(None),
                Err(error) => Err(error.to_string()),
            };
            KindObjects { watched: *watched, objects }
        })
        .collect()
}

/// Returns the values of a flag in the arguments of the server, which may be repeated and contain commas.
fn container_flag(deployment: Option<&Value>, name: &str) -> Vec<String> {
    let containers = deployment.and_then(|one| one.at(&["spec", "template", "spec", "containers"]));
    let containers = containers.and_then(Value::as_array).unwrap_or_default();
    let arguments =
        containers.iter().flat_map(|one| one.get("args").and_then(Value::as_array).unwrap_or_default());
    let start = format!("--{name}=");
    let values = arguments.filter_map(|argument| argument.as_str()?.strip_prefix(&start));
    values.flat_map(|values| values.split(',')).filter(|value| !value.is_empty()).map(str::to_owned).collect()
}

/// Updates an existing rule with an annotation, as a dry run: the API server must call the webhook for it.
fn dry_run_update(live: &LiveCluster, kinds: &[KindObjects]) -> Option<Result<(), Error>> {
    let rules = kinds.iter().filter(|kind| kind.watched.role == WatchRole::Rule);
    let (watched, rule) = rules
        .filter_map(|kind| Some((kind.watched, kind.objects.as_ref().ok()?.as_ref()?.first()?)))
        .next()?;
    let resource = GroupVersionResource::new(watched.group, watched.version, watched.resource);
    let mut path =
        resource.named(view_text(rule, &["metadata", "namespace"]), view_text(rule, &["metadata", "name"]));
    path.query.push(("dryRun".into(), "All".into()));
    let inside = |key: &str, value: Value| Value::from([(key.into(), value)].into_iter().collect::<Map>());
    let marked = inside("kubewright.dev/asked-by", "doctor".into());
    Some(live.merge(&path, &inside("metadata", inside("annotations", marked))).map(|_| ()))
}
