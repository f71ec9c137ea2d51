//! What the health port shows: health, metrics, and what policy-reporter asks a plugin.

use std::sync::Arc;

use kubewright_report::policy_plugin::{PluginPolicy, policy_details, policy_exceptions, policy_list};
use kubewright_serve::health::{HealthPage, HealthPages, Method, Readiness};
use kubewright_value::{Map, Value, json};
use tokio::sync::watch;

use crate::ScanMetrics;
use crate::lease::{Leadership, LeaseFence};
use crate::metrics::ScanMetric;
use crate::rule_source::LoadedRules;
use crate::status::ScanStatus;

/// Where the policies are listed.
const POLICIES_PATH: &str = "/v1/policies";

/// Where an exception is asked for.
const EXCEPTION_PATH: &str = "/v1/policies/exception";

/// The pages of the controller.
pub(crate) struct ScanPages {
    pub(crate) readiness: Arc<Readiness>,
    pub(crate) metrics: Arc<ScanMetrics>,
    pub(crate) status: Arc<ScanStatus>,
    pub(crate) fence: Arc<LeaseFence>,
    pub(crate) rules: watch::Receiver<Option<Arc<LoadedRules>>>,
    /// The namespace from which exceptions are read; empty for that of the object.
    pub(crate) exception_namespace: String,
}

impl HealthPages for ScanPages {
    fn readiness(&self) -> &Readiness {
        &self.readiness
    }

    fn failure(&self) -> Option<String> {
        self.status.is_stalled().then(|| "the scan has made no progress for 10 minutes".to_owned())
    }

    fn exposition(&self) -> String {
        let is_leader = matches!(*self.fence.leadership().borrow(), Leadership::Leader { .. });
        self.metrics.set(ScanMetric::Leader, 0, u64::from(is_leader && self.fence.is_open()));
        self.metrics.exposition()
    }

    fn page(&self, method: &Method, path: &str, body: &[u8]) -> Option<HealthPage> {
        if !path.starts_with(POLICIES_PATH) {
            return None;
        }
        let Some(policies) = self.policies() else {
            return Some(error_page(503, "rules are not loaded yet"));
        };
        let name = path.strip_prefix(POLICIES_PATH)?;
        if *method == Method::POST {
            return (path == EXCEPTION_PATH).then(|| {
                match policy_exceptions(&policies, body, &self.exception_namespace) {
                    Ok(answer) => json_page(200, &answer),
                    Err(error) => error_page(error.status, &error.message),
                }
            });
        }
        match name.trim_matches('/') {
            "" => Some(json_page(200, &policy_list(&policies))),
            name => Some(match policy_details(&policies, &unescaped(name)) {
                Some(details) => json_page(200, &details),
                None => error_page(404, "there is no such policy"),
            }),
        }
    }
}

impl ScanPages {
    fn policies(&self) -> Option<Vec<PluginPolicy>> {
        let rules = self.rules.borrow().clone()?;
        Some(rules.documents.iter().filter_map(|document| PluginPolicy::read(&document.value)).collect())
    }
}

/// Returns `text` with the one escape that a name of a policy can have.
fn unescaped(text: &str) -> String {
    text.replace("%2F", "/").replace("%2f", "/")
}

fn json_page(status: u16, body: &Value) -> HealthPage {
    HealthPage { status, content_type: "application/json", body: json::to_string(body) + "\n" }
}

fn error_page(status: u16, message: &str) -> HealthPage {
    json_page(status, &Map::from([("error", message.into())]).into())
}
