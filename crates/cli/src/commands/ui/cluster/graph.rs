//! `/graph` of a cluster: its objects are listed at most every half minute, and what patterns find in them is kept.

use std::ops::ControlFlow;

use kubewright_cluster::Error;
use kubewright_k8s::ApiPath;
use kubewright_ui::{PageContent, PageRequest};
use kubewright_value::{Document, Value};

use super::super::deadline::check_time;
use super::super::graph::{KeptGraph, read_graph_query, refused};
use super::ClusterPage;
use super::masking::masked;
use crate::commands::scan::ScanCluster;
use crate::live_objects::{list_path, live_document, wanted_kinds};
use crate::pattern_inputs::PatternInputs;

/// How many objects are read.
const MAX_GRAPH_OBJECTS: usize = 50_000;
/// How many objects one page of a list has.
const PAGE_OBJECTS: u32 = 500;

impl ClusterPage {
    /// Answers a request for a picture.
    pub(super) fn answer_graph(&self, request: &PageRequest) -> Result<Value, PageContent> {
        let asked = read_graph_query(request, "cluster")?;
        let cluster = self.cluster()?;
        let namespace = Some(self.settings.namespace.as_str()).filter(|name| !name.is_empty());
        self.graph.get(|| read_graph(&cluster, namespace))?.answer(&asked)
    }
}

/// Lists the objects of a cluster, of one namespace if it is given.
fn read_graph(cluster: &ScanCluster, namespace: Option<&str>) -> Result<KeptGraph, PageContent> {
    let kinds = wanted_kinds(&cluster.resources, &[]).map_err(|failure| refused(&failure))?;
    let (mut objects, mut notes) = (Vec::new(), Vec::new());
    for kind in kinds {
        let Some(path) = list_path(&kind, namespace) else { continue };
        if let Err(error) = cluster.block_on(list_into(cluster, &path, &mut objects)) {
            notes.push(format!("`{}` cannot be listed: {error}", kind.full_name()));
        }
        if objects.len() >= MAX_GRAPH_OBJECTS {
            notes.push(format!("the cluster has more objects than the {MAX_GRAPH_OBJECTS} that are drawn"));
            break;
        }
    }
    let inputs = PatternInputs::of(Vec::new(), &objects);
    check_time()?;
    Ok(KeptGraph::new(inputs, notes))
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
