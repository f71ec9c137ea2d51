//! What the page shows of a cluster: reports, objects, why a rule says what it says, and the graph. It is asked with GET and
//! writes nothing.
//!
//! Lists are kept for some seconds, so that a page that asks often costs the API server little. Values of Secrets are
//! masked as they arrive.

mod graph;
mod impact;
mod masking;
mod objects;
mod report_csv;
mod report_filter;
mod report_rows;
mod reports;
mod scan_events;
#[cfg(test)]
mod tests;
mod why;

use std::sync::Arc;
use std::time::Duration;

use kubewright_cluster::{Client, Error};
use kubewright_engine::{Query, QueryAnswer, World};
use kubewright_scan_controller::ScanView;
use kubewright_ui::PageContent;
use kubewright_value::{Map, Value};

use self::reports::ClusterReports;
use crate::arguments::{ScanRuleArguments, UiArguments};
use crate::commands::scan::{PassWorld, ScanCluster, ScanRuleSet};
use crate::failure::CommandFailure;
use crate::fixtures::LiveWorld;
use crate::live::find_client;

use super::answers::PageAnswers;
use super::graph::KeptGraph;
use super::kept::Kept;

/// For how long lists of reports are kept.
const REPORTS_AGE: Duration = Duration::from_secs(5);
/// For how long rules, and what they looked up, are kept.
const RULES_AGE: Duration = Duration::from_secs(10);
/// For how long what the cluster serves is kept.
const RESOURCES_AGE: Duration = Duration::from_secs(60);
/// For how long the objects of the graph are kept.
const OBJECTS_AGE: Duration = Duration::from_secs(30);

/// What the page shows of a cluster.
pub(in crate::commands) struct ClusterPage {
    connection: ScanCluster,
    settings: ClusterPageSettings,
    resources: Kept<ScanCluster>,
    rules: Kept<PageRules>,
    reports: Kept<ClusterReports>,
    graph: Kept<KeptGraph>,
    /// The scan of this process, in the controller.
    view: Option<ScanView>,
}

/// How a page of a cluster is made.
#[derive(Debug, Clone, Default)]
pub(in crate::commands) struct ClusterPageSettings {
    /// The namespace that is shown; all if empty.
    pub(in crate::commands) namespace: String,
    /// The context, for people; may be empty.
    pub(in crate::commands) context: String,
    /// The rules by which objects are judged.
    pub(in crate::commands) rules: ScanRuleArguments,
    /// The arguments that name the cluster on the command line.
    pub(in crate::commands) words: Vec<String>,
}

/// The rules of the cluster, and what they looked up lately.
pub(in crate::commands) struct PageRules {
    set: ScanRuleSet,
    world: PassWorld,
}

impl World for PageRules {
    fn get(&self, query: &Query) -> QueryAnswer {
        self.world.get(query)
    }
}

impl LiveWorld for PageRules {
    fn learn(&self, query: Query) {
        self.world.learn(query);
    }
}

impl ClusterPage {
    /// Returns the page of the cluster of `client`. Nothing is asked yet.
    ///
    /// # Errors
    /// When there can be no thread.
    pub(in crate::commands) fn new(
        client: Client,
        settings: ClusterPageSettings,
        view: Option<ScanView>,
    ) -> Result<Self, CommandFailure> {
        Ok(Self {
            connection: ScanCluster::unasked(client)?,
            settings,
            resources: Kept::new(RESOURCES_AGE),
            rules: Kept::new(RULES_AGE),
            reports: Kept::new(REPORTS_AGE),
            graph: Kept::new(OBJECTS_AGE),
            view,
        })
    }

    /// Adds what is asked with GET to `answers`.
    pub(super) fn add_to(self: &Arc<Self>, answers: &mut PageAnswers) {
        let page = |handler: fn(&Self, &kubewright_ui::PageRequest) -> Result<Value, PageContent>| {
            let page = Arc::clone(self);
            move |request: &kubewright_ui::PageRequest| handler(&page, request)
        };
        answers.get("/reports", page(Self::answer_reports));
        answers.get("/objects", page(Self::answer_object));
        answers.get("/why", page(Self::answer_why));
        answers.get("/blocked", page(Self::answer_blocked));
        answers.get("/graph", page(Self::answer_graph));
        self.add_downloads(answers);
        self.add_events(answers);
    }

    /// Adds what works on rules of the user to `answers`.
    pub(super) fn add_impact(self: &Arc<Self>, answers: &mut PageAnswers) {
        let page = Arc::clone(self);
        answers.post("/impact", move |body, _| page.answer_impact(body));
    }

    /// Returns the cluster for people.
    pub(super) fn about(&self) -> Value {
        Map::from([
            ("context", Value::from(self.settings.context.as_str())),
            ("server", self.connection.client.server().into()),
            ("namespace", self.settings.namespace.as_str().into()),
            ("scanning", self.view.is_some().into()),
        ])
        .into()
    }

    /// Returns the cluster as what rules of the user may look up.
    ///
    /// # Errors
    /// When it does not answer.
    pub(super) fn live_world(&self) -> Result<Arc<dyn LiveWorld>, PageContent> {
        self.rules().map(|rules| rules as Arc<dyn LiveWorld>)
    }

    /// Returns the cluster with what it serves.
    fn cluster(&self) -> Result<Arc<ScanCluster>, PageContent> {
        self.resources.get(|| self.connection.asked()).map_err(|error| unreachable(&error))
    }

    /// Returns the rules of the cluster.
    fn rules(&self) -> Result<Arc<PageRules>, PageContent> {
        let cluster = self.cluster()?;
        self.rules.get(|| {
            let set = ScanRuleSet::load(&cluster, &self.settings.rules);
            let world = PassWorld::new(&cluster, &set.options, &set.shared, &self.settings.rules);
            Ok(PageRules { set, world })
        })
    }
}

/// Returns the page of the cluster that `arguments` name, if they name one.
///
/// # Errors
/// When it is not known where the cluster is or who asks.
pub(super) fn open_cluster(arguments: &UiArguments) -> Result<Option<ClusterPage>, CommandFailure> {
    if !arguments.is_live() {
        return Ok(None);
    }
    let inputs = &arguments.cluster;
    let client = find_client(&inputs.cluster_arguments()).map_err(|failure| {
        failure.help("name a kubeconfig with `--kubeconfig`, and a context of it with `--kube-context`")
    })?;
    let file = inputs.kubeconfig.as_ref().map(|path| format!("--kubeconfig={}", path.display()));
    let context = inputs.kube_context.as_ref().map(|name| format!("--kube-context={name}"));
    let settings = ClusterPageSettings {
        namespace: inputs.namespace.clone().unwrap_or_default(),
        context: inputs.kube_context.clone().unwrap_or_default(),
        rules: ScanRuleArguments {
            exceptions_from: inputs.exceptions_from.clone(),
            ..ScanRuleArguments::default()
        },
        words: file.into_iter().chain(context).collect(),
    };
    ClusterPage::new(client, settings, None).map(Some)
}

/// Returns the answer where the cluster has none.
fn unreachable(error: &Error) -> PageContent {
    let status = match error {
        error if error.is_not_found() => 404,
        error if error.is_forbidden() => 403,
        _ => 502,
    };
    PageContent::error(status, &format!("the cluster answers: {error}"), None)
}
