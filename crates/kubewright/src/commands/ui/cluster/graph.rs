//! `/graph` of a cluster: its objects are listed at most every half minute, and what patterns find in them is kept.

use std::ops::ControlFlow;
use std::sync::OnceLock;

use kubewright_cluster::Error;
use kubewright_k8s::ApiPath;
use kubewright_ui::{PageContent, PageRequest};
use kubewright_value::{Document, Value};

use super::super::graph::{bad_option, refused};
use super::ClusterPage;
use super::masking::masked;
use crate::commands::graph::{GraphFindings, GraphRequest, graph_answer};
use crate::commands::scan::ScanCluster;
use crate::live_objects::{list_path, live_document, wanted_kinds};
use crate::pattern_inputs::PatternInputs;

/// How many objects are read.
const MAX_GRAPH_OBJECTS: usize = 50_000;
/// How many objects one page of a list has.
const PAGE_OBJECTS: u32 = 500;

/// The objects of a cluster as a graph.
pub(super) struct ClusterGraph {
    inputs: PatternInputs,
    found: OnceLock<GraphFindings>,
    /// What was left out.
    notes: Vec<String>,
}

impl ClusterPage {
    /// Answers a request for a picture.
    pub(super) fn answer_graph(&self, request: &PageRequest) -> Result<Value, PageContent> {
        let request =
            GraphRequest::read_query(&request.query, "cluster").map_err(|wrong| bad_option(&wrong))?;
        let cluster = self.cluster()?;
        let namespace = Some(self.settings.namespace.as_str()).filter(|name| !name.is_empty());
        let graph = self.graph.get(|| ClusterGraph::read(&cluster, namespace))?;
        let found =
            request.has_findings.then(|| graph.found.get_or_init(|| GraphFindings::find(&graph.inputs)));
        let mut answer = graph_answer(&graph.inputs, found, &request).map_err(|failure| refused(&failure))?;
        if let Some(notes) = answer.as_object_mut().and_then(|map| map.get_mut("notes")) {
            let own = notes.as_array().unwrap_or_default().iter().cloned();
            *notes = Value::array(own.chain(graph.notes.iter().map(|note| note.as_str().into())).collect());
        }
        Ok(answer)
    }
}

impl ClusterGraph {
    fn read(cluster: &ScanCluster, namespace: Option<&str>) -> Result<Self, PageContent> {
        let kinds = wanted_kinds(&cluster.resources, &[]).map_err(|failure| refused(&failure))?;
        let (mut objects, mut notes) = (Vec::new(), Vec::new());
        for kind in kinds {
            let Some(path) = list_path(&kind, namespace) else { continue };
            if let Err(error) = cluster.block_on(list_into(cluster, &path, &mut objects)) {
                notes.push(format!("`{}` cannot be listed: {error}", kind.full_name()));
            }
            if objects.len() >= MAX_GRAPH_OBJECTS {
                notes.push(format!(
                    "the cluster has more objects than the {MAX_GRAPH_OBJECTS} that are drawn"
                ));
                break;
            }
        }
        let inputs = PatternInputs::of(Vec::new(), &objects);
        Ok(Self { inputs, found: OnceLock::new(), notes })
    }
}

async fn list_into(cluster: &ScanCluster, path: &ApiPath, objects: &mut Vec<Document>) -> Result<(), Error> {
    let visit = |object: Value| {
        objects.push(live_document(masked(object)));
        match objects.len() < MAX_GRAPH_OBJECTS {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    };
    cluster.client.visit_list(path, PAGE_OBJECTS, false, visit).await.map(drop)
}
