//! One write, and what its answer means.

use std::time::Duration;

use kubewright_cluster::{Client, Error, GroupVersionResource, PatchType};
use kubewright_k8s::ApiPath;
use kubewright_report::cluster_report::{
    FIELD_MANAGER, ObjectResults, PatternObjectChange, ReportApi, ReportObject, report_objects,
};
use kubewright_value::{Map, Text, Value};

use super::ledger::{ReportId, TrackedReport};
use super::ours::{is_ours, labelled};
use super::stored::report_path;
use super::{ClusterReportWriter, WriteStep, first_report_id};
use crate::metrics::{ScanMetric, WriteVerb};

/// How often a write that conflicts is tried before others have their turn.
const MAX_CONFLICTS: usize = 3;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteEnd {
    /// It is as it should be, or cannot be so and is not tried again.
    Done,
    /// This replica may not write now.
    Fenced,
    /// It is to be tried again, after the time that the API server asked for.
    Failed(Option<Duration>),
    /// The API group is not served.
    Unserved,
}

impl ClusterReportWriter {
    /// Brings the reports of `results` to what they should be.
    pub(super) async fn write(&self, api: ReportApi, results: &ObjectResults) -> WriteEnd {
        let reports = match results.results.is_empty() {
            true => Vec::new(),
            false => report_objects(api, results),
        };
        for report in &reports {
            let id = ReportId { namespace: report.namespace.clone(), name: report.name.as_str().into() };
            let is_same =
                self.state().ledger.stored(&id).is_some_and(|stored| stored.digest == report.digest);
            if is_same {
                continue;
            }
            match self.write_one(api, &id, report).await {
                WriteEnd::Done => {}
                other => return other,
            }
        }
        let first = first_report_id(&results.scope, results.source);
        self.state().ledger.delete_parts_from(&first, reports.len());
        WriteEnd::Done
    }

    pub(super) async fn write_one(&self, api: ReportApi, id: &ReportId, report: &ReportObject) -> WriteEnd {
        self.state().ledger.begin_write(id.clone());
        let end = self.try_write(api, id, report).await;
        self.state().ledger.end_write(id);
        end
    }

    async fn try_write(&self, api: ReportApi, id: &ReportId, report: &ReportObject) -> WriteEnd {
        let mut is_known = self.state().ledger.stored(id).is_some();
        for _ in 0..MAX_CONFLICTS {
            if !self.may_write().await {
                return WriteEnd::Fenced;
            }
            let written = match is_known {
                true => self.replace(api, id, report).await,
                false => self.create(api, id, report).await,
            };
            match written {
                Ok(stored) => {
                    let ledger = &mut self.state().ledger;
                    match stored {
                        Some(_) => ledger.written(id.clone(), stored),
                        // That of another program: there is nothing to be done about it.
                        None => ledger.set_stored(id.clone(), None),
                    }
                    return WriteEnd::Done;
                }
                Err(error) if error.is_conflict() => is_known = true,
                Err(error) if error.is_not_found() && is_known => {
                    self.state().ledger.set_stored(id.clone(), None);
                    is_known = false;
                }
                Err(error) => return self.end_of(api, id, &error).await,
            }
        }
        WriteEnd::Failed(None)
    }

    async fn create(
        &self,
        api: ReportApi,
        id: &ReportId,
        report: &ReportObject,
    ) -> Result<Option<TrackedReport>, Error> {
        let all = ApiPath { name: Text::default(), ..report_path(api, id) };
        let created =
            self.client.create(&all, &labelled(report.value.clone(), self.settings.is_compatible)).await?;
        self.written(WriteVerb::Create);
        Ok(Some(TrackedReport::of(&created)))
    }

    /// Replaces a report that is ours. One of another program under our name stays, and nothing is stored of it.
    async fn replace(
        &self,
        api: ReportApi,
        id: &ReportId,
        report: &ReportObject,
    ) -> Result<Option<TrackedReport>, Error> {
        let path = report_path(api, id);
        let before = self.client.get(&path).await?;
        if !is_ours(&before) {
            return Ok(None);
        }
        let known = TrackedReport::of(&before);
        if known.digest == report.digest {
            return Ok(Some(known));
        }
        let wanted = labelled(successor(report, &before), self.settings.is_compatible);
        // The read took time.
        if !self.fence.is_open() {
            return Err(Error::Config("the lease is not held".to_owned()));
        }
        let replaced = self.client.replace(&path, &wanted).await?;
        self.written(WriteVerb::Update);
        Ok(Some(TrackedReport::of(&replaced)))
    }

    pub(super) async fn delete(&self, api: ReportApi, id: &ReportId, report: &TrackedReport) -> WriteEnd {
        if !self.may_write().await {
            return WriteEnd::Fenced;
        }
        let path = report_path(api, id);
        match delete_exactly(&self.client, &path, &report.uid, &report.resource_version).await {
            Ok(()) => {
                self.written(WriteVerb::Delete);
                self.state().ledger.written(id.clone(), None);
                WriteEnd::Done
            }
            Err(error) if error.is_not_found() => {
                self.state().ledger.written(id.clone(), None);
                WriteEnd::Done
            }
            // It was changed: it may not be ours any more.
            Err(error) if error.is_conflict() => match self.client.get(&path).await {
                Ok(found) => {
                    let tracked = is_ours(&found).then(|| TrackedReport::of(&found));
                    let is_ours = tracked.is_some();
                    self.state().ledger.set_stored(id.clone(), tracked);
                    if is_ours { WriteEnd::Failed(None) } else { WriteEnd::Done }
                }
                Err(error) => self.end_of(api, id, &error).await,
            },
            Err(error) => self.end_of(api, id, &error).await,
        }
    }

    /// Deletes a report of ours in the group that is not written.
    pub(super) async fn delete_elsewhere(&self, api: ReportApi, id: &ReportId) -> WriteEnd {
        let path = report_path(api, id);
        match self.client.get(&path).await {
            Ok(found) if is_ours(&found) => self.delete(api, id, &TrackedReport::of(&found)).await,
            Ok(_) => WriteEnd::Done,
            Err(error) if error.is_not_found() => WriteEnd::Done,
            Err(_) => WriteEnd::Failed(None),
        }
    }

    /// Writes or deletes a K8sPattern or Smell. What is refused is tried again with the next look.
    pub(crate) async fn write_pattern_object(
        &self,
        resource: &GroupVersionResource,
        change: &PatternObjectChange<'_>,
    ) -> WriteStep {
        if !self.may_write().await {
            return WriteStep::Fenced;
        }
        let written = match change {
            PatternObjectChange::Apply(object) => {
                let path = resource.named(&object.namespace, &object.name);
                // Fields that others own are not taken over: `suppress` is never among those that are sent.
                let patch = PatchType::Apply { manager: FIELD_MANAGER, force: true };
                self.client.patch(&path, patch, &object.value).await.map(drop)
            }
            PatternObjectChange::Delete(object) => {
                let path = resource.named(&object.namespace, &object.name);
                delete_exactly(&self.client, &path, &object.uid, &object.resource_version).await
            }
        };
        match written {
            Ok(()) => WriteStep::Done,
            // Gone or changed already, or its namespace is: the next look tells.
            Err(error) if matches!(error.code(), Some(403 | 404 | 409 | 422)) => WriteStep::Done,
            Err(error) => WriteStep::Failed(error.retry_after().unwrap_or(super::FIRST_WRITE_BACKOFF)),
        }
    }

    /// Returns what a write means that was answered with `error`.
    async fn end_of(&self, api: ReportApi, id: &ReportId, error: &Error) -> WriteEnd {
        let end = self.end_of_error(api, id, error).await;
        let is_lost = matches!(error.code(), Some(400 | 413 | 422));
        if is_lost {
            self.metrics.count(ScanMetric::ReportWriteErrors);
        }
        if is_lost || matches!(end, WriteEnd::Failed(_)) {
            self.state().problem = Some(format!("{}/{}: {error}", id.namespace, id.name));
        }
        end
    }

    async fn end_of_error(&self, api: ReportApi, id: &ReportId, error: &Error) -> WriteEnd {
        match error.code() {
            // The namespace is gone or about to go, or the whole resource is.
            Some(404 | 403) => match self.place(api, id).await {
                Ok(ReportPlace::Unserved) => WriteEnd::Unserved,
                Ok(ReportPlace::Gone) => {
                    self.state().ledger.set_stored(id.clone(), None);
                    WriteEnd::Done
                }
                Ok(ReportPlace::There) | Err(_) => WriteEnd::Failed(None),
            },
            // Trying again gives the same answer until the results change.
            Some(400 | 413 | 422) => WriteEnd::Done,
            _ if !self.fence.is_open() => WriteEnd::Fenced,
            _ => WriteEnd::Failed(error.retry_after()),
        }
    }

    /// Finds out whether a report could be written at all.
    async fn place(&self, api: ReportApi, id: &ReportId) -> Result<ReportPlace, Error> {
        let resource = api.resource(!id.namespace.is_empty());
        if self.discovery.refreshed().await?.of_resource(api.group(), resource).is_none() {
            return Ok(ReportPlace::Unserved);
        }
        if id.namespace.is_empty() {
            return Ok(ReportPlace::There);
        }
        let namespace = GroupVersionResource::new("", "v1", "namespaces").named("", &id.namespace);
        match self.client.get(&namespace).await {
            Ok(found) if found.at(&["metadata", "deletionTimestamp"]).is_some() => Ok(ReportPlace::Gone),
            Ok(_) => Ok(ReportPlace::There),
            Err(error) if error.is_not_found() => Ok(ReportPlace::Gone),
            Err(error) => Err(error),
        }
    }
}

/// Whether there is a place for a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportPlace {
    There,
    /// Its namespace is gone, or being deleted.
    Gone,
    /// The cluster does not serve the API group.
    Unserved,
}

/// Deletes an object only if it is the known one, in the known version where one is given.
pub(crate) async fn delete_exactly(
    client: &Client,
    path: &ApiPath,
    uid: &Text,
    resource_version: &Text,
) -> Result<(), Error> {
    let mut preconditions = Map::from([("uid", Value::from(uid.clone()))]);
    if !resource_version.is_empty() {
        preconditions.insert("resourceVersion".into(), resource_version.clone().into());
    }
    let options = Map::from([
        ("apiVersion", "v1".into()),
        ("kind", "DeleteOptions".into()),
        ("preconditions", preconditions.into()),
    ]);
    client.raw("DELETE", path, Some(&options.into())).await.map(drop)
}

/// Returns the manifest of `report` as it replaces `before`: rows that were there before keep their timestamps.
fn successor(report: &ReportObject, before: &Value) -> Value {
    let mut report = report.clone();
    report.keep_timestamps(before);
    let version = before.at(&["metadata", "resourceVersion"]).cloned().unwrap_or_default();
    let metadata = report.value.as_object_mut().and_then(|map| map.get_mut("metadata")?.as_object_mut());
    if let Some(metadata) = metadata {
        metadata.insert("resourceVersion".into(), version);
    }
    report.value
}
