//! Whether enough servers run, and survive the loss of a node.

use std::collections::BTreeSet;

use kubewright_value::Value;

use super::finding::DoctorFindings;
use super::view::{ClusterView, view_text};

pub(super) fn check_servers(view: &ClusterView, findings: &mut DoctorFindings) {
    findings.ok(
        "versions",
        format!(
            "this is kubewright {}, the API server {}",
            env!("CARGO_PKG_VERSION"),
            or_unknown(&view.version)
        ),
    );
    match &view.deployment {
        Err(error) => findings.unseen("servers", error),
        Ok(None) => findings.bad(
            "servers",
            format!("there is no Deployment `{}` in `{}`", view.name, view.namespace),
            "`kubewright install | kubectl apply -f -`, or select it with `--namespace` and `--name`",
        ),
        Ok(Some(deployment)) => {
            check_replicas(deployment, findings);
            check_image_tag(deployment, findings);
        }
    }
    check_disruption_budget(view, findings);
    check_spread(view, findings);
}

fn or_unknown(version: &str) -> &str {
    if version.is_empty() { "does not report its version" } else { version }
}

fn check_replicas(deployment: &Value, findings: &mut DoctorFindings) {
    let number = |path: &[&str]| deployment.at(path).and_then(Value::as_i64).unwrap_or_default();
    let (wanted, ready) = (number(&["spec", "replicas"]), number(&["status", "readyReplicas"]));
    let logs = "`kubectl logs` and `kubectl describe pod` show why a replica is not ready";
    match (wanted, ready) {
        (0, _) => findings.bad(
            "servers",
            "scaled to 0 replicas, so no review is answered",
            "`kubectl scale` it to 3",
        ),
        (_, 0) => findings.bad("servers", format!("none of {wanted} replicas is ready"), logs),
        (wanted, ready) if ready < wanted => {
            findings.warn("servers", format!("{ready} of {wanted} replicas are ready"), logs);
        }
        (1, _) => findings.warn(
            "servers",
            "one replica: no review is answered while it moves to another node",
            "run three: `kubewright install --replicas 3`",
        ),
        _ => findings.ok("servers", format!("{ready} of {wanted} replicas are ready")),
    }
}

fn check_image_tag(deployment: &Value, findings: &mut DoctorFindings) {
    let containers = deployment.at(&["spec", "template", "spec", "containers"]).and_then(Value::as_array);
    let image =
        containers.and_then(|all| all.first()).map(|one| view_text(one, &["image"])).unwrap_or_default();
    let tag = image.rsplit_once(':').map_or("", |(_, tag)| tag);
    if image.contains('@') || tag == env!("CARGO_PKG_VERSION") {
        findings.ok("image", format!("runs `{image}`"));
    } else if tag.is_empty() || tag == "latest" {
        let mend = "use a version or a digest with `--image`";
        findings.warn("image", format!("runs `{image}`, a tag that can move"), mend);
    } else {
        let why = format!("runs `{image}`, and this command is version {}", env!("CARGO_PKG_VERSION"));
        findings.warn("image", why, "use the command of the same version, or upgrade the servers");
    }
}

fn check_disruption_budget(view: &ClusterView, findings: &mut DoctorFindings) {
    match &view.budgets {
        Err(error) => findings.unseen("disruption budget", error),
        Ok(budgets) if budgets.is_empty() => findings.warn(
            "disruption budget",
            "there is no PodDisruptionBudget, so a drain may stop all replicas at once",
            "`kubewright install` prints one",
        ),
        Ok(_) => findings.ok("disruption budget", "drains stop one replica at a time"),
    }
}

fn check_spread(view: &ClusterView, findings: &mut DoctorFindings) {
    match &view.pods {
        Err(error) => findings.unseen("spread", error),
        Ok(pods) => {
            let nodes: BTreeSet<&str> = pods
                .iter()
                .map(|pod| view_text(pod, &["spec", "nodeName"]))
                .filter(|node| !node.is_empty())
                .collect();
            if pods.len() > 1 && nodes.len() == 1 {
                let why = format!("all {} replicas run on one node and are lost with it", pods.len());
                findings.warn("spread", why, "add nodes, or delete a Pod so that it is rescheduled");
            } else if !nodes.is_empty() {
                findings.ok("spread", format!("{} replicas run on {} nodes", pods.len(), nodes.len()));
            }
        }
    }
}
